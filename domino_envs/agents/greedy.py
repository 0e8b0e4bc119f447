"""The greedy opponent: looks one move ahead, and one reply."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..games import Game
from ..games.kernels import moves
from ..jit import kernel
from .base import Agent
from .skills import rate

__all__ = ["GreedyAgent", "best_rated"]


@kernel
def _mark_best(states: Any, allowed: Any, best: Any, actions: Any, ratings: Any, spare: Any) -> None:
    for row in range(len(states)):
        count = moves(states[row], actions)
        rate(states[row], actions, count, ratings, spare)
        highest = -1e9
        for i in range(count):
            if allowed[row, actions[i]]:
                highest = max(highest, ratings[i])
        for i in range(count):
            if allowed[row, actions[i]] and ratings[i] == highest:
                best[row, actions[i]] = 1


def best_rated(game: Game, states: NDArray[Any], allowed: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the uniform distribution over the highest rated of the allowed moves.

    Args:
        game: the game.
        states: records of shape ``(n,)``.
        allowed: ``int8 (n, num_actions)``, 1 for the legal actions to choose from, at least one in each row.

    Returns:
        ``float32 (n, num_actions)``.
    """
    size = game.num_actions
    best = np.zeros((len(states), size), dtype=np.float32)
    actions, ratings = np.zeros(2 * size, dtype=np.int32), np.zeros(size)
    _mark_best(states, allowed, best, actions, ratings, np.zeros(2, dtype=game.dtype))
    return best / best.sum(axis=1, keepdims=True)


class GreedyAgent(Agent):
    """Takes a win, denies the opponent's win next move where it can, else follows a rule of thumb.

    The rule is the kernel ``rate`` of the game; see :mod:`domino_envs.agents.skills`. Among equals the move is random,
    or in mode ``"best"`` the lowest.
    """

    name = "greedy"
    needs_states = True

    def probabilities(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.float32]:
        """Return the uniform distribution over each position's best-rated moves, ``float32 (n, num_actions)``."""
        return best_rated(self.game, self.checked_states(states, len(action_masks)), action_masks)

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Return a best-rated move for each position."""
        return self.choose(self.probabilities(observations, action_masks, states))
