"""What is measured of our own environments: decisions per second, and memory."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import numpy as np

from ..batch import BatchGame
from ..engine import lane_streams
from ..games import get_game
from .timing import rates

__all__ = ["batch_memory", "batch_rates", "play_aec", "sb3_rates", "single_rates"]

_CHUNK = 200  # decisions between two looks at the clock


def play_aec(env: Any, rng: np.random.Generator) -> int:
    """Take random legal actions in any PettingZoo AEC environment with masks; at an end, start anew."""
    for _ in range(_CHUNK):
        seen, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.reset()
            continue
        legal = seen["action_mask"].nonzero()[0]
        env.step(legal[rng.integers(len(legal))])
    return _CHUNK


def single_rates(game: str, seconds: float, repeats: int) -> list[float]:
    """Decisions per second of the PettingZoo environment, as ``env()`` makes it."""
    env = importlib.import_module(f"domino_envs.{game}_v0").env()
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    return rates(lambda: play_aec(env, rng), seconds, repeats)


def batch_rates(game: str, num_lanes: int, threads: int, seconds: float, repeats: int) -> list[float]:
    """Decisions per second of a batch: a random legal action for every lane, one step, auto-reset."""
    batch = BatchGame(get_game(game), num_lanes, seed=0, threads=threads)
    streams, actions = lane_streams(1, num_lanes), np.zeros(num_lanes, dtype=np.int64)
    steps = max(1, _CHUNK // num_lanes)

    def work() -> int:
        for _ in range(steps):
            batch.sample_actions(streams, actions)
            batch.step(actions)
        return steps * num_lanes

    found = rates(work, seconds, repeats)
    batch.close()
    return found


def sb3_rates(game: str, num_envs: int, seconds: float, repeats: int) -> list[float]:
    """Decisions per second of a learner on the SB3 environment against the random opponent, masks fetched."""
    from sb3_contrib.common.maskable.utils import get_action_masks

    from ..vector import sb3_vec_env

    env = sb3_vec_env(game, num_envs, seed=0)
    env.reset()
    streams, actions = lane_streams(1, num_envs), np.zeros(num_envs, dtype=np.int64)

    def work() -> int:
        get_action_masks(env)
        env.players.batch.sample_actions(streams, actions)
        env.step(actions)
        return num_envs

    return rates(work, seconds, repeats)


def _resident_bytes() -> int | None:
    """Return how much memory the process uses, where the system tells (Linux)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def batch_memory(game: str, num_lanes: int) -> float:
    """Bytes that a batch takes up: what the process grows by while it plays, at least the size of its arrays."""
    table = get_game(game)
    batch_rates(game, 2, 1, 0.0, 1)  # loads the kernels
    before = _resident_bytes()
    batch = BatchGame(table, num_lanes, seed=0)
    streams, actions = lane_streams(1, num_lanes), np.zeros(num_lanes, dtype=np.int64)
    for _ in range(3):
        batch.sample_actions(streams, actions)
        batch.step(actions)
    after = _resident_bytes()
    arrays = sum(array.nbytes for array in batch.arrays().values())
    if before is None or after is None:
        return float(arrays)
    return float(max(arrays, after - before))  # a process may have had freed memory in hand
