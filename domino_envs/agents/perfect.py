"""The perfect player of Mate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..games import Game
from .base import Agent
from .mate_solver import mate_values

__all__ = ["PerfectAgent"]


class PerfectAgent(Agent):
    """Plays a move of the best value, for the most points of the running game: a random one of them, or the lowest.

    Raises:
        ValueError: for another game than Mate.
    """

    name = "perfect"
    needs_states = True

    def __init__(self, game: Game, *, seed: int | None = None, mode: str = "sample") -> None:
        if game.name != "mate":
            raise ValueError(f"'perfect' plays mate alone, it is not small enough to solve {game.name!r}")
        super().__init__(game, seed=seed, mode=mode)

    def probabilities(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.float32]:
        """Return the uniform distribution over each position's best moves, ``float32 (n, 42)``."""
        values = mate_values(self.checked_states(states, len(action_masks)))
        best = values == values.max(axis=1, keepdims=True)
        return (best / best.sum(axis=1, keepdims=True)).astype(np.float32)

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Return a best move for each position."""
        return self.choose(self.probabilities(observations, action_masks, states))
