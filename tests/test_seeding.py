"""What a seed decides, and what goes on without one."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

from domino_envs.games import SEATS
from domino_envs.single import DominoSinglePlayerEnv
from playing import GAMES, face, first_legal, plain, play_on, random_legal, snapshot, trace, turns

all_games = pytest.mark.parametrize("game", GAMES)


@all_games
def test_equal_seeds_and_actions_give_equal_episodes(game: str) -> None:
    """Also the episodes after the first, whatever the environment has been used for before."""
    fresh, used = face(game).raw_env(), face(game).env()
    used.reset(seed=1)
    play_on(used, 9)
    fresh.reset(seed=12)
    used.reset(seed=12)
    assert trace(fresh, episodes=3) == trace(used, episodes=3)


@all_games
def test_seeds_differ_and_so_do_resets_without_one(game: str) -> None:
    env = face(game).raw_env()
    drawn = set()
    for seed in range(20):
        env.reset(seed=seed)
        drawn.add(tuple(env.orders[0]))
    for _ in range(20):
        env.reset()
        drawn.add(tuple(env.orders[0]))
    assert len(drawn) == 40
    starts = set()
    for _ in range(5):
        env = face(game).raw_env()
        env.reset()  # fresh entropy
        starts.add(tuple(env.orders[0]))
    assert len(starts) == 5


@pytest.mark.parametrize("seed", [0, 2**31, 2**64, 10**30, np.int64(7), np.uint8(7)])
def test_any_whole_number_is_a_seed(seed: Any) -> None:
    env, twin = face("mate").raw_env(), face("mate").raw_env()
    env.reset(seed=seed)
    twin.reset(seed=int(seed))
    assert snapshot(env) == snapshot(twin)


def test_lots_and_shuffles_are_fair() -> None:
    """Openers, and the tile in each place of the draw order, over the first 2,100 seeds."""
    env = face("mate").raw_env(episode="deal")
    openers: Counter[str] = Counter()
    places = np.zeros((21, 21))
    for seed in range(2_100):
        env.reset(seed=seed)
        openers[env.agent_selection] += 1
        places[np.arange(21), env.orders[0]] += 1
    assert abs(openers["player_0"] - 1_050) < 4 * (2_100 / 4) ** 0.5
    chi_square = ((places - 100) ** 2 / 100).sum()  # 400 degrees of freedom
    assert abs(chi_square - 400) < 5 * (2 * 400) ** 0.5


@all_games
def test_openers_alternate(game: str) -> None:
    for seed in range(4):
        env = face(game).raw_env()
        env.reset(seed=seed)
        openers = {}
        for agent in turns(env, np.random.default_rng(seed)):
            state = env.position[0]
            openers.setdefault(int(state["deal"]), SEATS[state["opener"]])
            if state["ply"] == 0:
                assert agent == openers[int(state["deal"])]
        a, b = openers[0], SEATS[1 - SEATS.index(openers[0])]
        expected = {"mate": [a, b, b, a], "third_level": [a]}.get(game, [a, b, a, b, a])  # R8 in Mate
        assert [openers[deal] for deal in range(len(expected))] == expected


@all_games
def test_given_orders_and_opener(game: str) -> None:
    """An episode is a pure function of its draw orders, its opener and the actions."""
    env, twin = face(game).raw_env(), face(game).raw_env()
    for seed in range(3):
        env.reset(seed=seed)
        opener = env.agent_selection
        expected = trace(env)
        twin.reset(seed=99, options={"orders": env.orders, "opener": opener})
        assert trace(twin) == expected
        assert twin.orders == env.orders
        twin.reset(options={"orders": np.array(env.orders), "opener": opener})  # arrays do as well
        assert trace(twin) == expected


@pytest.mark.parametrize("game", ["mate", "domaster", "five_bridges"])
def test_missing_orders_come_from_the_seed(game: str) -> None:
    env = face(game).raw_env()
    first = list(range(env.game.num_tiles))
    drawn = []
    for seed in (1, 1, 2):
        env.reset(seed=seed, options={"orders": [first]})
        trace(env)
        assert env.orders[0] == first
        assert len(env.orders) == env.game.num_orders("match")
        drawn.append(env.orders[1:])
    assert drawn[0] == drawn[1] != drawn[2]


@all_games
def test_the_gymnasium_view_repeats(game: str) -> None:
    """Deals, lots, seats and the random opponent's choices, in this episode and in those after it."""

    def play(env: DominoSinglePlayerEnv) -> list[Any]:
        rng = np.random.default_rng(0)
        found: list[Any] = []
        for episode in range(3):
            result: tuple[Any, ...] = env.reset(seed=None if episode else 8)
            found.append(plain(result))
            terminated = False
            while not terminated:
                result = env.step(random_legal(result[-1]["action_mask"], rng))
                terminated = result[2]
                found.append(plain(result))
        return found

    used = DominoSinglePlayerEnv(game, opponent="random")
    _, info = used.reset(seed=3)
    used.step(first_legal(info["action_mask"]))
    expected = play(used)
    assert play(DominoSinglePlayerEnv(game, opponent="random")) == expected
    assert play(used) == expected


def test_the_gymnasium_view_deals_what_pettingzoo_deals() -> None:
    env, zoo = DominoSinglePlayerEnv("domaster"), face("domaster").raw_env()
    seats = Counter()
    for seed in range(40):
        _, info = env.reset(seed=seed)
        zoo.reset(seed=seed)
        assert env.aec_env.orders == zoo.orders
        assert bool(info["moves"]) == (zoo.agent_selection != info["seat"])
        seats[info["seat"], zoo.agent_selection] += 1
    assert len(seats) == 4  # each seat opens and answers
    assert {env.reset()[1]["seat"] for _ in range(20)} == set(SEATS)
    for seat in SEATS:
        fixed = DominoSinglePlayerEnv("mate", seat=seat)
        assert {fixed.reset(seed=seed)[1]["seat"] for seed in range(10)} == {seat}
        other = SEATS[1 - SEATS.index(seat)]
        assert fixed.reset(options={"seat": other})[1]["seat"] == other
        assert fixed.reset()[1]["seat"] == seat


def digest_of_play() -> str:
    """A number for the whole course of one deal of each game."""
    found = []
    for game in GAMES:
        env = face(game).raw_env(episode="deal")
        env.reset(seed=6)
        found.append(trace(env))
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


@pytest.mark.parametrize("plain_python", [True, False], ids=["plain Python", "from the cache"])
def test_another_process_plays_the_same(plain_python: bool) -> None:
    """Kernels as plain Python, and kernels that a second process finds in the cache."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if plain_python:
        environment["NUMBA_DISABLE_JIT"] = "1"
    code = "import test_seeding; print(test_seeding.digest_of_play())"
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (result.stderr, result.stdout.strip()) == ("", digest_of_play())
