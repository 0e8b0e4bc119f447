"""The random opponent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bits import borrow, count_ones, index_of_one, random_below
from ..engine import lane_streams
from ..jit import kernel
from .base import Agent

__all__ = ["RandomAgent", "choose_legal"]


@kernel
def choose_legal(masks: Any, rngs: Any, actions: Any) -> None:
    """Draw a uniform legal action for each row of ``masks``; all rows use the stream ``rngs[0]``."""
    masks, rngs = borrow(masks), borrow(rngs)
    for row in range(masks.shape[0]):
        actions[row] = index_of_one(masks[row], random_below(rngs, 0, count_ones(masks[row])))


class RandomAgent(Agent):
    """Plays a uniformly random legal action, in either mode."""

    name = "random"

    def reseed(self, seed: int | None) -> None:
        """Start the random choices anew."""
        self._rngs = lane_streams(seed, 1)

    def probabilities(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.float32]:
        """Return the uniform distribution over each position's legal actions, ``float32 (n, num_actions)``."""
        return (action_masks / action_masks.sum(axis=1, keepdims=True)).astype(np.float32)

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Return a random legal action for each position."""
        actions = np.zeros(len(action_masks), dtype=np.int64)
        choose_legal(np.ascontiguousarray(action_masks), self._rngs, actions)
        return actions
