"""Mate: each rule and each reading in a deal made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from domino_envs import mate_v0
from domino_envs.tiles import DOUBLE_SIX_WITHOUT_DOUBLES as TILES
from playing import first_legal


def tiles(names: str) -> list[int]:
    return [TILES.names.index(name) for name in names.split()]


def order(opener_hand: str, starter: str) -> list[int]:
    hand = tiles(opener_hand)
    (middle,) = tiles(starter)
    return [*hand, *(tile for tile in range(21) if tile not in hand and tile != middle), middle]


MIXED = order("0-2 0-3 0-4 0-5 0-6 2-3 2-4 2-5 1-6 3-5", "0-1")
ALL_SIXES = order("0-6 1-6 2-6 3-6 4-6 5-6 2-3 2-4 2-5 3-4", "0-1")
DEAD = order("2-3 2-4 2-5 2-6 3-4 3-5 3-6 4-5 4-6 5-6", "0-1")


def start(*orders: list[int], opener: int = 0, **kwargs: Any) -> Any:
    env = mate_v0.raw_env(**kwargs)
    env.reset(seed=0, options={"orders": list(orders), "opener": f"player_{opener}"})
    return env


def legal(env: Any) -> set[str]:
    return {env.game.notation(env.position, int(action)) for action in env.game.legal_actions(env.position)}


def play(env: Any, *moves: str) -> None:
    for move in moves:
        env.step(env.game.parse(env.position, move))


@pytest.mark.parametrize("opener", [0, 1])
def test_the_deal(opener: int) -> None:
    env = start(MIXED, opener=opener, episode="deal")
    assert env.agent_selection == f"player_{opener}"
    mine = env.game.layout.decode(env.observe(f"player_{opener}")["observation"])
    assert np.flatnonzero(mine["my_hand"]).tolist() == sorted(MIXED[:10])
    assert np.flatnonzero(mine["their_hand"]).tolist() == sorted(MIXED[10:20])
    assert np.flatnonzero(mine["starter"]).tolist() == [0]
    assert np.flatnonzero(mine["open_pips"]).tolist() == [0, 1]
    assert (mine["table_count"], mine["opened"], mine["deals_left"]) == (1, 1, 0)
    theirs = env.game.layout.decode(env.observe(f"player_{1 - opener}")["observation"])
    assert np.flatnonzero(theirs["my_hand"]).tolist() == sorted(MIXED[10:20])
    assert theirs["opened"] == 0


def test_the_opener_may_play_to_either_half_and_then_the_line_grows_one_way() -> None:
    env = start(MIXED, episode="deal")
    assert legal(env) == {"0-2", "0-3", "0-4", "0-5", "0-6", "1-6"}
    play(env, "1-6")
    assert legal(env) == {"6-2", "6-3", "6-4", "6-5"}  # nothing to the starter's 0
    play(env, "6-3")
    assert legal(env) == {"3-0", "3-2", "3-5"}
    layout = env.game.layout.decode(env.observe("player_0")["observation"])
    assert np.flatnonzero(layout["my_played"]).tolist() == tiles("1-6")
    assert np.flatnonzero(layout["their_played"]).tolist() == tiles("3-6")
    assert np.flatnonzero(layout["open_pips"]).tolist() == [3]
    assert layout["table_count"] == 3


def test_action_numbers() -> None:
    env = start(MIXED, episode="deal")
    (low_first,) = tiles("1-6")
    assert env.game.notation(env.position, 2 * low_first) == "1-6"
    assert env.game.notation(env.position, 2 * low_first + 1) == "6-1"
    assert 2 * low_first in env.game.legal_actions(env.position)
    play(env, "1-6")
    assert 2 * tiles("3-6")[0] + 1 in env.game.legal_actions(env.position)
    assert env.game.num_actions == 42


def test_points_count_the_starter_r6() -> None:
    env = start(ALL_SIXES, episode="deal", reward="points")
    play(env, "0-6")  # and no 6 to answer with
    assert env.terminations["player_0"]
    assert env.infos["player_1"]["deal_results"] == [{"deal": 0, "winner": "player_0", "points": 2 * 6}]
    assert env.rewards == {"player_0": 12.0, "player_1": -12.0}
    assert env.infos["player_0"]["scores"] == {"player_0": 12, "player_1": 0}


def test_the_responder_wins_by_the_last_tile() -> None:
    env = start(MIXED, opener=1, episode="deal", reward="points")
    moves = 0
    while not env.terminations["player_0"]:
        env.step(first_legal(env.observe(env.agent_selection)["action_mask"]))
        moves += 1
    (result,) = env.infos["player_0"]["deal_results"]
    last = env.infos["player_0"]["move"]
    assert result["winner"] == env.infos["player_0"]["move_by"]
    assert result["points"] == (moves + 1) * (int(last[0]) + int(last[2]))


def test_an_opener_that_cannot_play_has_lost_r7() -> None:
    env = start(DEAD, MIXED, opener=0, reward="points")
    assert env.infos["player_0"]["move"] is None
    assert env.infos["player_0"]["deal_results"] == [
        {"deal": 0, "winner": "player_1", "points": 1},  # 1 x the pips of 0-1
        {"deal": 1, "winner": "player_0", "points": 1},  # the hands exchanged, and the other opens
    ]
    assert env.rewards == {"player_0": 0.0, "player_1": 0.0}
    assert (env.position["deal"][0], env.agent_selection) == (2, "player_1")
    for orders, episode in (([DEAD], "deal"), ([DEAD], "set"), ([DEAD, DEAD], "match")):
        with pytest.raises(ValueError, match="leave no decision in the whole episode"):
            start(*orders, episode=episode)


def test_in_a_set_the_hands_are_exchanged_and_the_other_opens() -> None:
    env = start(ALL_SIXES, opener=0, episode="set")
    play(env, "0-6")
    assert not env.terminations["player_0"]
    assert env.agent_selection == "player_1"
    seen = env.game.layout.decode(env.observe("player_1")["observation"])
    assert np.flatnonzero(seen["my_hand"]).tolist() == sorted(ALL_SIXES[:10])
    assert np.flatnonzero(seen["starter"]).tolist() == [0]
    assert (seen["deal"], seen["deals_left"], seen["their_points_low"]) == (1, 0, 12)
    play(env, "1-6")
    assert env.infos["player_0"]["scores"] == {"player_0": 12, "player_1": 14}
    assert env.rewards == {"player_0": -1.0, "player_1": 1.0}


def test_openers_of_a_match_r8_and_more_points_win() -> None:
    env = start(ALL_SIXES, ALL_SIXES, opener=1)
    openers = []
    for move in ("0-6", "1-6", "0-6", "0-6"):  # of players 1, 0, 0, 1
        assert env.rewards == {"player_0": 0.0, "player_1": 0.0}
        openers.append(env.agent_selection)
        play(env, move)
    assert openers == ["player_1", "player_0", "player_0", "player_1"]
    assert env.infos["player_0"]["scores"] == {"player_0": 14 + 12, "player_1": 12 + 12}
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}


def test_equal_points_draw_the_match() -> None:
    env = start(ALL_SIXES, ALL_SIXES)
    play(env, "0-6", "0-6", "1-6", "1-6")
    assert env.infos["player_0"]["scores"] == {"player_0": 26, "player_1": 26}
    assert env.terminations["player_1"]
    assert env.rewards == {"player_0": 0.0, "player_1": 0.0}


def test_large_scores_are_split_without_loss() -> None:
    env = start(MIXED)
    for points in (0, 127, 128, 255, 300, 924):
        state = env.get_state()
        state["_states"]["scores"][0] = points, 924 - points
        env.set_state(state)
        play(env, sorted(legal(env))[0])
        for seat, expected in ((0, points), (1, 924 - points)):
            seen = env.observe(f"player_{seat}")
            assert seen in env.observation_space("player_0")
            parts = env.game.layout.decode(seen["observation"].astype(int))
            assert 128 * parts["my_points_high"] + parts["my_points_low"] == expected
            assert 128 * parts["their_points_high"] + parts["their_points_low"] == 924 - expected
        env.set_state(start(MIXED).get_state())
