"""Positions to try agents on: openings of random deals, and what random play makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bits import random_below
from ..engine import LOT, lane_streams, play_episode_action, start_episode
from ..games import Game
from ..games.kernels import moves
from ..jit import int64, kernel

__all__ = ["opening_positions", "random_positions"]

_LONGEST = 512  # actions in an episode; the longest, five deals of Domaster, have 280 at most


@kernel
def _openings(template: Any, states: Any, rngs: Any, orders: Any, num_orders: Any) -> None:
    for lane in range(len(states)):
        start_episode(template, states, rngs, orders, num_orders, lane, LOT)


@kernel
def _walks(template: Any, states: Any, rngs: Any, orders: Any, num_orders: Any, trace: Any, actions: Any) -> None:
    """Leave in each lane a uniform choice among the positions that one random episode goes through."""
    for lane in range(len(states)):
        start_episode(template, states, rngs, orders, num_orders, lane, LOT)
        count = 0
        while count < len(trace) and not states[lane]["over"]:
            trace[count] = states[lane]
            count += 1
            action = int64(actions[random_below(rngs, lane, moves(states[lane], actions))])
            play_episode_action(states, rngs, orders, num_orders, lane, action, False)
        states[lane] = trace[random_below(rngs, lane, count)]


def _lanes(game: Game, count: int, seed: int | None, episode: str) -> tuple[Any, Any, Any, Any, Any]:
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
        raise ValueError(f"count must be a non-negative whole number, got {count!r}")
    orders = np.zeros((count, game.num_orders(episode), game.num_tiles), dtype=np.int8)
    states = np.zeros(count, dtype=game.dtype)
    return game.start_record(episode), states, lane_streams(seed, count), orders, np.zeros(count, dtype=np.int8)


def opening_positions(game: Game, count: int, seed: int | None = None, *, episode: str = "deal") -> NDArray[Any]:
    """Return the first positions of ``count`` random episodes, records of shape ``(count,)``; openers by lot.

    Raises:
        ValueError: for a wrong count, seed or episode.
    """
    lanes = _lanes(game, count, seed, episode)
    _openings(*lanes)
    states: NDArray[Any] = lanes[1]
    return states


def random_positions(game: Game, count: int, seed: int | None = None, *, episode: str = "deal") -> NDArray[Any]:
    """Return one position from each of ``count`` random episodes, records of shape ``(count,)``.

    Each is a uniform choice among the positions with a decision that uniformly random play of its episode meets.

    Raises:
        ValueError: for a wrong count, seed or episode.
    """
    lanes = _lanes(game, count, seed, episode)
    trace = np.zeros(_LONGEST, dtype=game.dtype)
    actions = np.zeros(game.num_actions, dtype=np.int32)
    _walks(*lanes, trace, actions)
    states: NDArray[Any] = lanes[1]
    return states
