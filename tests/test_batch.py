"""BatchGame: many games at once are the games of the PettingZoo environment, lane by lane."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domino_envs.batch import BatchGame
from domino_envs.engine import lane_streams
from domino_envs.games import SEATS, get_game
from playing import GAMES, face

all_games = pytest.mark.parametrize("game", GAMES)


def random_actions(masks: Any, rng: np.random.Generator) -> np.ndarray:
    """A legal action for each row, 0 where there is none."""
    return np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in masks], dtype=np.int64)


def random_orders(game: str, episode: str, rng: np.random.Generator) -> list[list[int]]:
    table = get_game(game)
    return [rng.permutation(table.num_tiles).tolist() for _ in range(table.num_orders(episode))]


def plain_record(record: Any) -> dict[str, Any]:
    return {name: record[name].tolist() for name in record.dtype.names}


def assert_lane_equals(batch: BatchGame, lane: int, env: Any) -> None:
    """All that the batch shows of a lane is what the PettingZoo environment in the same position shows."""
    over = env.terminations[SEATS[0]]
    assert plain_record(batch.states[lane]) == plain_record(env.position[0])
    assert batch.dones[lane] == over
    assert batch.rewards[lane].tolist() == [env.rewards[agent] for agent in SEATS]
    for seat, agent in enumerate(SEATS):
        seen = env.observe(agent)
        assert batch.observe([seat], [lane])[0].tolist() == seen["observation"].tolist()
        if not over and agent == env.agent_selection:
            assert batch.movers[lane] == seat
            assert batch.observations[lane].tolist() == seen["observation"].tolist()
            assert batch.action_masks[lane].tolist() == seen["action_mask"].tolist()
    assert batch.action_masks[lane].any() == (not over)


@pytest.mark.parametrize("reward", ["win", "points"])
@pytest.mark.parametrize(
    ("game", "episode"),
    [(game, "match") for game in GAMES] + [("mate", "set"), ("mate", "deal"), ("domaster", "deal")],
)
def test_every_lane_is_a_game_of_the_pettingzoo_environment(game: str, episode: str, reward: str) -> None:
    rng = np.random.default_rng(5)
    lanes = 4
    envs = [face(game).raw_env(episode=episode, reward=reward) for _ in range(lanes)]
    batch = BatchGame(get_game(game), lanes, episode=episode, reward=reward, auto_reset=False)
    orders = [random_orders(game, episode, rng) for _ in range(lanes)]
    openers = [SEATS[lane % 2] for lane in range(lanes)]
    batch.reset(orders=orders, openers=openers)
    for env, given, opener in zip(envs, orders, openers, strict=True):
        env.reset(options={"orders": given, "opener": opener})
    live = np.arange(lanes)
    while len(live):
        for lane in live:
            assert_lane_equals(batch, lane, envs[lane])
        actions = random_actions(batch.action_masks[live], rng)
        batch.step(actions, live)
        for lane, action in zip(live, actions, strict=True):
            envs[lane].step(int(action))
            assert_lane_equals(batch, lane, envs[lane])
        live = live[~batch.dones[live]]


@all_games
def test_lane_0_is_the_environment_with_that_seed(game: str) -> None:
    """Episode after episode: auto-reset goes on as ``reset()`` without a seed does."""
    env = face(game).raw_env(episode="deal")
    batch = BatchGame(get_game(game), 2, episode="deal", seed=31)
    env.reset(seed=31)
    rng = np.random.default_rng(0)
    ends = 0
    while ends < 3:
        actions = random_actions(batch.action_masks, rng)
        batch.step(actions)
        env.step(int(actions[0]))
        if batch.dones[0]:
            assert env.terminations == dict.fromkeys(SEATS, True)
            assert batch.rewards[0].tolist() == [env.rewards[agent] for agent in SEATS]
            assert plain_record(batch.states[0])["ply"] == 0
            env.reset()
            ends += 1
        else:
            assert batch.rewards[0].tolist() == [0, 0]
        assert plain_record(batch.states[0]) == plain_record(env.position[0])
        assert batch.action_masks[0].any()
    batch.reset(31)
    env.reset(seed=31)
    assert plain_record(batch.states[0]) == plain_record(env.position[0])


def played(game: str, lanes: int, steps: int, threads: int = 1) -> list[Any]:
    """What the first three lanes of a batch go through in random play."""
    batch = BatchGame(get_game(game), lanes, episode="deal", seed=8, threads=threads)
    streams, actions = lane_streams(9, lanes), np.zeros(lanes, dtype=np.int64)
    found = []
    for _ in range(steps):
        batch.sample_actions(streams, actions)
        batch.step(actions)
        shown = (batch.observations, batch.action_masks, batch.movers, batch.rewards, batch.dones, actions)
        found.append([array[:3].tolist() for array in shown])
    batch.close()
    return found


@all_games
def test_a_lane_depends_on_the_seed_and_its_number_alone(game: str) -> None:
    steps = 60
    few = played(game, 3, steps)
    assert any(any(done) for *_, done, _ in few) or game == "third_level"
    assert few == played(game, 150, steps)
    assert few == played(game, 150, steps, threads=2)
    assert few == played(game, 3, steps, threads=2)


def test_lanes_and_seeds_differ() -> None:
    game = get_game("domaster")
    first = BatchGame(game, 50, seed=1)
    assert len({row.tobytes() for row in first.observations}) == 50
    assert not (first.observations == BatchGame(game, 50, seed=2).observations).all(axis=1).any()
    before = first.observations.copy()
    first.reset()
    assert not (first.observations == before).all(axis=1).any()
    assert not (BatchGame(game, 50).observations == BatchGame(game, 50).observations).all(axis=1).any()
    assert {int(seat) for seat in first.movers} == {0, 1}


@all_games
def test_the_mover_always_has_an_action_and_may_move_twice(game: str) -> None:
    batch = BatchGame(get_game(game), 16, seed=3)
    streams, actions = lane_streams(4, 16), np.zeros(16, dtype=np.int64)
    again = 0
    for _ in range(50):
        before = batch.movers.copy()
        batch.sample_actions(streams, actions)
        assert batch.action_masks[np.arange(16), actions].all()
        batch.step(actions)
        assert batch.action_masks.any(axis=1).all()
        again += int(((batch.movers == before) & ~batch.dones & (batch.states["ply"] > 1)).sum())
    assert (again > 0) == (game == "third_level")


def test_sampled_actions_are_uniform_over_the_legal_ones() -> None:
    batch = BatchGame(get_game("domaster"), 1, seed=0)
    streams, actions = lane_streams(1, 1), np.zeros(1, dtype=np.int64)
    counts = np.zeros(batch.game.num_actions, dtype=int)
    legal = np.flatnonzero(batch.action_masks[0])
    assert len(legal) > 3
    for _ in range(300 * len(legal)):
        batch.sample_actions(streams, actions)
        counts[actions[0]] += 1
    assert counts.sum() == counts[legal].sum()
    assert np.abs(counts[legal] - 300).max() < 90  # five standard deviations


def everything(batch: BatchGame) -> dict[str, Any]:
    return {name: array.copy() for name, array in batch.arrays().items()}


def changed_lanes(before: dict[str, Any], batch: BatchGame) -> set[int]:
    return {
        lane
        for name, array in batch.arrays().items()
        for lane in range(batch.num_lanes)
        if not np.array_equal(array[lane], before[name][lane])
    }


@all_games
def test_steps_and_resets_of_some_lanes_leave_the_others_alone(game: str) -> None:
    batch = BatchGame(get_game(game), 6, seed=2, auto_reset=False)
    rng = np.random.default_rng(1)
    for _ in range(4):
        before = everything(batch)
        lanes = [4, 1]  # in any order
        batch.step(random_actions(batch.action_masks[lanes], rng), lanes)
        assert changed_lanes(before, batch) == {1, 4}
    before = everything(batch)
    batch.reset(lanes=[5, 4])
    assert changed_lanes(before, batch) == {4, 5}
    assert batch.states["ply"][[1, 4, 5]].tolist() == [before["states"].view(batch.game.dtype)["ply"][1, 0], 0, 0]
    before = everything(batch)
    batch.step(np.zeros(0, dtype=np.int64), [])
    batch.reset(lanes=[])
    assert changed_lanes(before, batch) == set()


def test_a_lane_that_is_over_waits_for_its_reset() -> None:
    batch = BatchGame(get_game("mate"), 2, episode="deal", seed=6, auto_reset=False)
    rng = np.random.default_rng(0)
    while not batch.dones[0]:
        batch.step(random_actions(batch.action_masks[:1], rng), [0])
    assert batch.states["over"].tolist() == [1, 0]
    assert not batch.action_masks[0].any()
    assert sorted(batch.rewards[0].tolist()) == [-1, 1]
    with pytest.raises(ValueError, match="lane 0: the episode is over"):
        batch.step(np.array([3, int(np.flatnonzero(batch.action_masks[1])[0])]))
    streams, actions = lane_streams(0, 2), np.full(2, 99, dtype=np.int64)
    batch.sample_actions(streams, actions)
    assert actions[0] == 0
    batch.reset(lanes=[0])
    assert (batch.dones[0], batch.rewards[0].tolist()) == (False, [0, 0])
    assert batch.action_masks[0].any()


BAD_STEPS: dict[str, tuple[Any, Any, str]] = {
    "illegal": ([None, "illegal", None], None, r"lane 1: action \d+ \(\d-\d\) is not legal for player_[01]"),
    "too large": ([42, None, None], None, "lane 0: action must be from 0 to 41, got 42"),
    "negative": ([None, None, -1], None, "lane 2: action must be from 0 to 41, got -1"),
    "beyond 64 bits": (np.array([2**63, 0, 0], dtype=np.uint64), None, "lane 0: action must be from 0 to 41"),
    "floats": (np.zeros(3), None, "whole numbers"),
    "too few": ([None, None], None, r"shape \(3,\)"),
    "one axis more": (np.zeros((3, 1), dtype=np.int64), None, r"shape \(3,\)"),
    "no such lane": ([None], [3], "from 0 to 2, got 3"),
    "negative lane": ([None], [-1], "from 0 to 2, got -1"),
    "lane twice": ([None, None], [1, 1], "one is repeated"),
    "lanes as a mask": ([None], np.array([True, False, False]), "list of lane numbers"),
}


@pytest.mark.parametrize("case", BAD_STEPS)
def test_a_bad_step_changes_nothing(case: str) -> None:
    actions, lanes, message = BAD_STEPS[case]
    batch = BatchGame(get_game("mate"), 3, seed=5)
    if isinstance(actions, list):
        legal, illegal = (np.flatnonzero(batch.action_masks[1] == x)[0] for x in (1, 0))
        first = {lane: int(np.flatnonzero(batch.action_masks[lane])[0]) for lane in range(3)}
        actions = [first[i] if a is None else illegal if a == "illegal" else a for i, a in enumerate(actions)]
        assert legal != illegal
    before = everything(batch)
    with pytest.raises(ValueError, match=message):
        batch.step(actions, lanes)
    assert changed_lanes(before, batch) == set()


def dead_order() -> list[int]:
    """Mate: the opener has neither 0 nor 1 of the starter 0-1 (R7)."""
    low_tiles = {tile for tile in range(21) if get_game("mate").code_text(2 * tile)[0] in "01"}
    hand = [tile for tile in range(21) if tile not in low_tiles]
    return [*hand, *sorted(low_tiles - {0}), 0]


BAD_RESETS: dict[str, tuple[dict[str, Any], str]] = {
    "seed": ({"seed": -1}, "seed must be"),
    "lane": ({"lanes": [0, 9]}, "got 9"),
    "orders of two lanes": ({"orders": [[], []]}, "one entry for each of the 3 lanes, got 2"),
    "order": ({"lanes": [1], "orders": [[[0] * 21]]}, "repeats tile 0"),
    "opener": ({"openers": ["player_0", "me", None]}, "opener must be"),
    "no decision": ({"seed": 3, "orders": [[], [dead_order()], []]}, "lane 1 leave no decision"),
}


@pytest.mark.parametrize("case", BAD_RESETS)
def test_a_bad_reset_changes_nothing(case: str) -> None:
    arguments, message = BAD_RESETS[case]
    batch = BatchGame(get_game("mate"), 3, episode="deal", seed=5)
    batch.step(random_actions(batch.action_masks, np.random.default_rng(0)))
    before = everything(batch)
    with pytest.raises(ValueError, match=message):
        batch.reset(**arguments)
    assert changed_lanes(before, batch) == set()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_lanes": 0}, "num_lanes must be at least 1, got 0"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"reward": "fame"}, "reward must be one of 'win', 'points', got 'fame'"),
        ({"episode": "week"}, "episode must be one of 'match', 'set', 'deal', got 'week'"),
        ({"seed": 1.5}, "seed must be"),
    ],
)
def test_bad_settings(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BatchGame(get_game("mate"), **{"num_lanes": 2, **arguments})


def test_bad_arrays_to_sample_into() -> None:
    batch = BatchGame(get_game("mate"), 3, seed=0)
    with pytest.raises(ValueError, match=r"rngs must be uint64 \(3,\), got uint64 \(2,\)"):
        batch.sample_actions(lane_streams(0, 2), np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match=r"actions must be int64 \(3,\), got int32 \(3,\)"):
        batch.sample_actions(lane_streams(0, 3), np.zeros(3, dtype=np.int32))
    with pytest.raises(ValueError, match="seats must be 0 or 1"):
        batch.observe([2], [0])
    with pytest.raises(ValueError, match="got 3"):
        batch.observe([0], [3])


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int32, np.int64, list])
def test_any_kind_of_whole_numbers_is_an_action(kind: Any) -> None:
    batch, twin = (BatchGame(get_game("mate"), 3, seed=5) for _ in range(2))
    actions = random_actions(batch.action_masks, np.random.default_rng(0))
    batch.step(actions)
    twin.step(actions.tolist() if kind is list else np.repeat(actions.astype(kind), 2)[::2])
    assert changed_lanes(everything(batch), twin) == set()


@pytest.mark.parametrize("threads", [1, 2])
def test_arrays_are_reused(threads: int) -> None:
    """Whoever holds an array, or a view of one, sees the next step in it."""
    batch = BatchGame(get_game("mate"), 128, seed=0, threads=threads)
    held = batch.arrays()
    batch.step(random_actions(batch.action_masks, np.random.default_rng(0)))
    batch.reset(3)
    batch.reset(lanes=[1], orders=[[list(range(21))]])
    batch.step(random_actions(batch.action_masks, np.random.default_rng(0)))
    for name, array in batch.arrays().items():
        assert np.shares_memory(array, held[name]), name
    assert batch.observations is held["observations"]
    batch.close()


@all_games
def test_saved_arrays_written_back_go_on_in_the_same_way(game: str) -> None:
    batch = BatchGame(get_game(game), 3, seed=4)
    streams, actions = lane_streams(1, 3), np.zeros(3, dtype=np.int64)

    def go_on() -> dict[str, Any]:
        rngs = streams.copy()
        for _ in range(40):
            batch.sample_actions(rngs, actions)
            batch.step(actions)
        return everything(batch)

    go_on()
    saved = everything(batch)
    first = go_on()
    for name, array in batch.arrays().items():
        array[...] = saved[name]
    assert all(np.array_equal(array, first[name]) for name, array in go_on().items())


def test_given_orders_are_for_one_episode() -> None:
    batch = BatchGame(get_game("domaster"), 1, episode="deal", seed=4)
    order = list(range(55))
    batch.reset(orders=[[order]], openers=["player_1"])
    starts = [plain_record(batch.states[0])]
    rng = np.random.default_rng(2)
    while len(starts) < 4:
        batch.step(random_actions(batch.action_masks, rng))
        if batch.dones[0]:
            starts.append(plain_record(batch.states[0]))
    assert starts[0]["opener"] == 1
    assert starts[0]["ends"][0] == [0, 0]
    assert len({str(start["columns"]) for start in starts}) == 4


@pytest.mark.parametrize("auto_reset", [True, False])
def test_a_deal_ended_from_outside(auto_reset: bool) -> None:
    batch = BatchGame(get_game("mate"), 3, episode="set", reward="points", seed=1, auto_reset=auto_reset)
    before = everything(batch)
    batch.end_deal(1, "player_1", 7)
    assert changed_lanes(before, batch) == {1}
    assert (batch.rewards[1].tolist(), batch.dones[1], batch.states["deal"][1]) == ([-7, 7], False, 1)
    batch.end_deal(1, None)
    assert (batch.rewards[1].tolist(), batch.dones[1], batch.states["over"][1]) == ([0, 0], True, not auto_reset)
    assert batch.action_masks[1].any() == auto_reset
    if not auto_reset:
        with pytest.raises(ValueError, match="lane 1: the episode is over"):
            batch.end_deal(1, "player_0")
    with pytest.raises(ValueError, match="got 3"):
        batch.end_deal(3, "player_0")
    with pytest.raises(ValueError, match="must be one of 'player_0', 'player_1', got 'nobody'"):
        batch.end_deal(0, "nobody")


# Nim in two deals, the first of which is over before its first decision.
EARLY_POINTS = """
import sys
sys.path.insert(0, "tests/agents")
from dataclasses import replace
import nim
import numpy as np
from domino_envs.batch import BatchGame
from domino_envs.games.kernels import Kernels, finish_deal, record_dtype, register

def lay_out(state, order):
    nim._deal(state, order)
    if state["deal"] == 0:
        finish_deal(state, 1, 5)

STATE = record_dtype([("heap", np.int8)])
register(STATE, Kernels(lay_out, nim._moves, nim._describe, nim._play, nim._observe, nim._reveal))
game = replace(nim.NIM, episodes={"match": 2}, template=np.zeros(1, dtype=STATE))
batch = BatchGame(game, 1, reward="points", seed=0)
for episode in range(2):
    brought = []
    while not brought or not batch.dones[0]:
        batch.step([0])
        brought.append(float(batch.rewards[0, 0]))
    assert brought[0] == -5 and set(brought[1:-1]) == {0} and abs(brought[-1]) == 1, brought
"""

# Steps of every game, as plain Python or compiled.
PLAY_ALL = """
import hashlib
import numpy as np
from domino_envs.batch import BatchGame
from domino_envs.engine import lane_streams
from domino_envs.games import get_game

digest = hashlib.sha256()
for name in ("mate", "domaster", "third_level"):
    batch = BatchGame(get_game(name), 3, episode="deal", seed=1)
    streams, actions = lane_streams(2, 3), np.zeros(3, dtype=np.int64)
    for _ in range(45 if name != "third_level" else 15):
        batch.sample_actions(streams, actions)
        batch.step(actions)
        for array in (batch.observations, batch.action_masks, batch.movers, batch.rewards, batch.dones, actions):
            digest.update(array.tobytes())
print(digest.hexdigest())
"""


def run_script(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_points_before_the_first_decision_count_to_the_first_step() -> None:
    run_script(EARLY_POINTS, NUMBA_DISABLE_JIT="1")


def test_plain_python_and_compiled_kernels_play_the_same_games() -> None:
    assert run_script(PLAY_ALL, NUMBA_DISABLE_JIT="1") == run_script(PLAY_ALL, NUMBA_DISABLE_JIT="0")
