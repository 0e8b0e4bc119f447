"""What holds in every deal and after every move, whichever: searched for counterexamples by Hypothesis."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from domino_envs.games import SEATS
from domino_envs.tiles import DOUBLE_NINE, DOUBLE_SIX_WITHOUT_DOUBLES
from playing import GAMES, face

ENVS = {game: face(game).raw_env(reward="points") for game in GAMES}
MIRRORS = {game: face(game).raw_env(reward="points") for game in GAMES}

games = st.sampled_from(GAMES)
choices = st.lists(st.integers(0, 10**4), min_size=4, max_size=40)
openers = st.sampled_from(SEATS)
checked = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def given_orders(draw: Any, game: str) -> list[list[int]]:
    table = ENVS[game].game
    count = table.num_orders("match")
    return [draw(st.permutations(range(table.num_tiles))) for _ in range(count)]


def start(env: Any, orders: list[list[int]], opener: str) -> bool:
    """Reset; False if nobody could ever decide anything."""
    try:
        env.reset(options={"orders": orders, "opener": opener})
    except ValueError as error:
        if "leave no decision" not in str(error):
            raise
        return False
    return True


def choose(env: Any, number: int) -> int:
    legal = env.game.legal_actions(env.position)
    assert len(legal)
    return int(legal[number % len(legal)])


def tiles_by_place(game: str, state: Any) -> list[int]:
    """All tiles of a position, from its record, place by place."""
    if game == "mate":
        held = [t for seat in range(2) for t in range(21) if int(state["hands"][seat]) >> t & 1]
        return [*held, int(state["starter"]), *(int(a) // 2 for a in state["line"] if a >= 0)]
    if game == "third_level":
        held = [t for seat in range(2) for t in range(21) if int(state["hands"][seat]) >> t & 1]
        pool = state["pool"][state["pool_next"] : state["pool_size"]].tolist()
        return [*held, *pool, *np.flatnonzero(state["tile_level"]).tolist()]
    held = [
        int(state["columns"][seat, column, row])
        for seat in range(2)
        for column in range(9)
        for row in range(state["left"][seat, column])
    ]
    return [*held, *(int(code) // 2 for code in state["table"].ravel() if code >= 0)]


def assert_chains_fit(state: Any) -> None:
    for chain in range(5):
        codes = [int(code) for code in state["table"][chain] if code >= 0]
        halves = [(DOUBLE_NINE.low[c // 2], DOUBLE_NINE.high[c // 2])[:: -1 if c % 2 else 1] for c in codes]
        for left, right in pairwise(halves):
            assert left[1] == right[0]
        assert len(codes) == (1 + state["grown"][chain].sum() if chain < state["chains"] else 0)
        if codes:
            assert state["ends"][chain].tolist() == [halves[0][0], halves[-1][1]]


def assert_line_fits(state: Any) -> None:
    line = [int(action) for action in state["line"] if action >= 0]
    pips = {DOUBLE_SIX_WITHOUT_DOUBLES.low[state["starter"]], DOUBLE_SIX_WITHOUT_DOUBLES.high[state["starter"]]}
    for action in line:
        tile, k = divmod(action, 2)
        ends = [DOUBLE_SIX_WITHOUT_DOUBLES.low[tile], DOUBLE_SIX_WITHOUT_DOUBLES.high[tile]]
        assert ends[k] in pips
        pips = {ends[1 - k]}
    assert state["count"] == len(line) + 1


@checked
@given(data=st.data(), game=games, opener=openers, numbers=choices)
def test_tiles_are_conserved_and_lie_as_they_should(data: Any, game: str, opener: str, numbers: list[int]) -> None:
    env = ENVS[game]
    if not start(env, data.draw(given_orders(game)), opener):
        return
    for number in numbers:
        state = env.position[0]
        assert sorted(tiles_by_place(game, state)) == list(range(env.game.num_tiles))
        for agent in SEATS:
            assert env.observe(agent) in env.observation_space(agent)
        if game == "mate":
            assert_line_fits(state)
        elif game != "third_level":
            assert_chains_fit(state)
        env.step(choose(env, number))
        if env.terminations["player_0"]:
            break


@checked
@given(data=st.data(), game=games, numbers=choices)
def test_mirrored_deals_mirror(data: Any, game: str, numbers: list[int]) -> None:
    """With the seats exchanged, the same actions show each agent what the other saw, and pay it the same."""
    env, mirror = ENVS[game], MIRRORS[game]
    orders = data.draw(given_orders(game))
    if not start(env, orders, "player_0"):
        assert not start(mirror, orders, "player_1")
        return
    assert start(mirror, orders, "player_1")
    other = dict(zip(SEATS, reversed(SEATS), strict=True))
    for number in numbers:
        assert mirror.agent_selection == other[env.agent_selection]
        for agent in SEATS:
            here, there = env.observe(agent), mirror.observe(other[agent])
            assert (here["observation"] == there["observation"]).all()
            assert (here["action_mask"] == there["action_mask"]).all()
            assert env.rewards[agent] == mirror.rewards[other[agent]]
            assert env.terminations[agent] == mirror.terminations[other[agent]]
            assert env.infos[agent]["move"] == mirror.infos[other[agent]]["move"]
            assert env.infos[agent]["scores"][agent] == mirror.infos[other[agent]]["scores"][other[agent]]
        if env.terminations["player_0"]:
            break
        action = choose(env, number)
        env.step(action)
        mirror.step(action)


@checked
@given(data=st.data(), game=games, opener=openers, numbers=choices)
def test_the_legal_moves_are_written_differently_and_read_back(
    data: Any, game: str, opener: str, numbers: list[int]
) -> None:
    env = ENVS[game]
    if not start(env, data.draw(given_orders(game)), opener):
        return
    for number in numbers[:12]:
        legal = env.game.legal_actions(env.position).tolist()
        assert legal == sorted(set(legal))
        written = [env.game.notation(env.position, action) for action in legal]
        assert max(Counter(written).values()) == 1
        action = legal[number % len(legal)]
        assert env.game.parse(env.position, written[number % len(legal)]) == action
        env.step(action)
        if env.terminations["player_0"]:
            break


@checked
@given(data=st.data(), game=st.sampled_from(["mate", "domaster", "five_bridges"]), opener=openers)
def test_an_episode_ends_in_time(data: Any, game: str, opener: str) -> None:
    """No line of play goes on for ever: each move lays a tile, and two passes end a deal."""
    env = ENVS[game]
    if not start(env, data.draw(given_orders(game)), opener):
        return
    limit = {"mate": 4 * 20}.get(game, 5 * 2 * 55)
    number = data.draw(st.integers(0, 10**4))
    for _ in range(limit):
        env.step(choose(env, number))
        if env.terminations["player_0"]:
            return
    raise AssertionError(f"still running after {limit} moves")
