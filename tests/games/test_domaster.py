"""Domaster and Five Bridges: each rule and each reading in a deal made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from domino_envs import domaster_v0, five_bridges_v0
from domino_envs.engine import look
from domino_envs.games.domaster import PASS
from domino_envs.tiles import DOUBLE_NINE as TILES

IN_ORDER = list(range(55))


def start(module: Any = domaster_v0, order: list[int] = IN_ORDER, opener: int = 0, **kwargs: Any) -> Any:
    env = module.raw_env(**{"episode": "deal", **kwargs})
    env.reset(seed=0, options={"orders": [order], "opener": f"player_{opener}"})
    return env


def legal(env: Any) -> set[str]:
    return {env.game.notation(env.position, int(action)) for action in env.game.legal_actions(env.position)}


def play(env: Any, *moves: str) -> None:
    for move in moves:
        env.step(env.game.parse(env.position, move))


def changed(env: Any, **fields: Any) -> Any:
    """The environment with fields of its position set, and the mover's view worked out anew."""
    state = env.get_state()
    for name, value in fields.items():
        state["_states"][name][0] = value
    env.set_state(state)
    look(env._states, env._observation, env._mask, env._actions)
    return env


def rows(env: Any, seat: int) -> list[list[str]]:
    """The tiles of a seat as they lie, the farthest row first."""
    state = env.position[0]
    laid = state["columns"][seat]
    return [[TILES.names[tile] for tile in laid[:, row] if tile >= 0] for row in range(3)]


def test_the_deal_r5() -> None:
    env = start(opener=1)
    assert env.agent_selection == "player_1"
    assert rows(env, 1)[0] == ["0-1", "0-3", "0-5", "0-7", "0-9", "1-2", "1-4", "1-6", "1-8"]
    assert rows(env, 0)[0] == ["0-2", "0-4", "0-6", "0-8", "1-1", "1-3", "1-5", "1-7", "1-9"]
    assert rows(env, 1)[2] == ["4-7", "4-9", "5-6", "5-8", "6-6", "6-8", "7-7", "7-9", "8-9"]
    # The starter is 0-0, and of the opener's nine playable tiles none has a 0.
    assert legal(env) == {f"{c + 1}:{name} new" for c, name in enumerate(rows(env, 1)[2])}


def test_the_deal_of_five_bridges_r4() -> None:
    env = start(five_bridges_v0)
    state = env.position[0]
    assert state["chains"] == 5
    assert state["left"].tolist() == [[3] * 7 + [2] * 2] * 2
    assert rows(env, 0)[2] == ["5-6", "5-8", "6-6", "6-8", "7-7", "7-9", "8-9"]
    assert rows(env, 0)[0][7:] == ["2-2", "2-4"]
    assert rows(env, 0)[1][7:] == ["4-7", "4-9"]
    assert legal(env) == {"8:4-7 5R", "9:4-9 5R"}  # the starters are 0-0 to 0-4, low halves to the left


def test_both_ends_and_the_tile_behind() -> None:
    # The starter is 2-5; the opener's column 1 holds 5-9, 1-2, 2-2, the responder's 5-5 in front.
    front = {0: ["2-2", "3-5"], 1: ["5-5", "2-6"]}
    order = place(starter="2-5", fronts=front)
    env = start(order=order)
    assert {m for m in legal(env) if "new" not in m} == {"1:2-2 1L", "2:3-5 1R"}
    play(env, "1:2-2 1L")  # a double is an ordinary tile: the end stays a 2
    assert {m for m in legal(env) if "new" not in m} == {"1:5-5 1R", "2:2-6 1L"}
    play(env, "2:2-6 1L")
    assert env.position["ends"][0, 0].tolist() == [6, 5]
    assert env.position["left"][0].tolist() == [[2, *[3] * 8], [3, 2, *[3] * 7]]
    behind = rows(env, 0)[1][0]
    assert any(m.startswith(f"1:{behind} ") for m in legal(env))
    assert not any("2-2" in m for m in legal(env))


def place(starter: str, fronts: dict[int, list[str]]) -> list[int]:
    """A draw order with this starter and these tiles nearest in columns 1, 2, ... of the opener (0) and responder (1).

    No other tile that fits the starter lies in front.
    """
    (first,) = [TILES.names.index(starter)]
    order = [-1] * 55
    order[0] = first
    wanted = {}
    for seat, names in fronts.items():
        for column, name in enumerate(names):
            wanted[1 + 2 * (18 + column) + seat] = TILES.names.index(name)
    for index, tile in wanted.items():
        order[index] = tile
    pips = {int(starter[0]), int(starter[2])}
    rest = [tile for tile in range(55) if tile != first and tile not in wanted.values()]
    rest.sort(key=lambda tile: not pips & {TILES.low[tile], TILES.high[tile]})  # fitting ones go to the back rows
    free = [index for index in range(55) if order[index] < 0]
    for index, tile in zip(free, rest, strict=True):
        order[index] = tile
    return order


def test_new_chains_take_the_next_number_and_there_are_five() -> None:
    env = start()
    for number in range(2, 6):
        move = next(m for m in sorted(legal(env)) if m.endswith("new"))
        play(env, move)
        chain = env.position[0]["ends"][number - 1].tolist()
        assert chain == [int(move[2]), int(move[4])]  # low half to the left
        assert env.position["chains"][0] == number
    assert not any(m.endswith("new") for m in legal(env))


def test_action_numbers() -> None:
    env = start(order=place("2-5", {0: ["2-2", "3-5"], 1: ["5-5", "2-6"]}))
    game, position = env.game, env.position
    assert game.parse(position, "1:2-2 1L") == 0
    assert game.parse(position, "2:3-5 1R") == 11 + 1
    assert game.notation(position, 11 * 8 + 10).endswith(" new")
    assert game.notation(position, 11 * 3 + 2 * 4 + 1).endswith(" 5R")
    assert game.notation(position, PASS) == "pass"
    assert game.num_actions == 100


@pytest.mark.parametrize("side", [0, 1])
def test_a_side_takes_five_tiles_and_the_eleventh_of_a_chain_wins(side: int) -> None:
    env = start(order=place("2-5", {0: ["2-2", "5-5"], 1: ["2-3", "3-5"]}))
    ends, grown = np.full((5, 2), -1), np.zeros((5, 2), dtype=int)
    ends[0] = 2, 5
    slots = np.zeros(10, dtype=int)
    # One side is full: it takes no more tiles.
    grown[0, side], grown[0, 1 - side] = 5, 3
    slots[ends[0, 1 - side]] = 1 << (1 - side)
    changed(env, ends=ends, grown=grown, slots=slots)
    seen = env.game.layout.decode(env.observe("player_0")["observation"])
    assert not seen["end_pips"][0, side].any()
    assert seen["end_pips"][0, 1 - side].argmax() == ends[0, 1 - side]
    on = "RL"[side]
    (move,) = [m for m in legal(env) if "new" not in m]
    assert move.endswith(f" 1{on}")
    play(env, move)
    assert not env.terminations["player_0"]  # ten
    (move,) = [m for m in legal(env) if "new" not in m]
    play(env, move)
    assert env.terminations["player_0"]  # eleven
    assert env.infos["player_0"]["deal_results"] == [{"deal": 0, "winner": "player_1", "points": 1}]
    assert env.rewards == {"player_0": -1.0, "player_1": 1.0}


def test_who_can_move_must_and_two_passes_draw_r1_r2() -> None:
    env = start()
    assert PASS not in env.game.legal_actions(env.position)
    # All five chains begun with doubles of 0, and both players without a 0 in front.
    closed = {"chains": 5, "ends": np.zeros((5, 2)), "slots": [0b1111111111, *[0] * 9]}
    changed(env, **closed)
    assert legal(env) == {"pass"}
    play(env, "pass")
    assert env.game.layout.decode(env.observe("player_1")["observation"])["passed"] == 1
    assert env.agent_selection == "player_1"
    assert legal(env) == {"pass"}
    play(env, "pass")
    assert env.terminations["player_0"]
    assert env.infos["player_0"]["deal_results"] == [{"deal": 0, "winner": None, "points": 0}]
    assert env.rewards == {"player_0": 0.0, "player_1": 0.0}


def test_a_move_between_two_passes() -> None:
    env = changed(start(), chains=5, ends=np.full((5, 2), 4), slots=[0, 0, 0, 0, 0b1111111111, *[0] * 5])
    left = env.position["left"][0]
    left[0] = 0  # player_0 has nothing left
    changed(env, left=left)
    play(env, "pass")
    moves = legal(env)
    assert "pass" not in moves
    play(env, sorted(moves)[0])
    assert legal(env) == {"pass"}
    play(env, "pass")
    assert not env.terminations["player_0"]
    assert env.position["passed"][0] == 1


def let_win(env: Any, winner: int) -> None:
    """Give a seat a chain of ten and a tile that fits, after a pass of the other if that is to move."""
    if env.position["mover"][0] != winner:
        left = env.position["left"][0]
        left[1 - winner] = 0
        play(changed(env, left=left), "pass")
    low, high = (pips[env.position["columns"][0, winner, 0, 2]] for pips in (TILES.low, TILES.high))
    ends, grown, slots = np.full((5, 2), -1), np.zeros((5, 2)), np.zeros(10)
    ends[0], grown[0], slots[low] = (low, high), (4, 5), 0b01
    changed(env, chains=1, ends=ends, grown=grown, slots=slots)
    play(env, next(move for move in sorted(legal(env)) if move.endswith(" 1L")))


@pytest.mark.parametrize("module", [domaster_v0, five_bridges_v0])
def test_all_five_deals_are_played_r3(module: Any) -> None:
    env = start(module, episode="match")
    for deal, winner in enumerate([0, 0, 0, 1, 1]):
        assert env.position["deal"][0] == deal
        assert env.agent_selection == f"player_{deal % 2}"  # the openers alternate
        let_win(env, winner)
        scores = [min(deal + 1, 3), max(deal - 2, 0)]
        assert list(env.infos["player_0"]["scores"].values()) == scores
        assert env.terminations["player_0"] == (deal == 4)
        assert env.rewards["player_0"] == (1.0 if deal == 4 else 0.0)


def test_as_many_deals_won_draw_the_match() -> None:
    env = start(episode="match")
    for winner in (0, 1, 1, 0):
        let_win(env, winner)
    left = env.position["left"][0]
    play(changed(env, left=np.zeros_like(left)), "pass", "pass")
    assert [result["winner"] for result in env.infos["player_0"]["deal_results"]] == [None]
    assert env.terminations["player_0"]
    assert env.rewards == {"player_0": 0.0, "player_1": 0.0}
