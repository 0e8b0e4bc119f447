"""The opponent that plays the end of Domaster and Five Bridges without mistake."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..games import Game
from ..games.domaster import STATE
from .base import Agent
from .endgame_position import tiles_on_table
from .endgame_solver import UNKNOWN, EndgameSolver
from .greedy import best_rated

__all__ = ["MAX_NODES", "SOLVED_FROM", "EndgameAgent"]

#: Tiles on the table from which the agent tries to solve the position. With 28 there it succeeds nearly always,
#: with 26 in four of five positions, with 24 in a little more than half of them.
SOLVED_FROM = 24
#: Positions that it searches for a move at most: about a second on one core.
MAX_NODES = 2_500_000


class EndgameAgent(Agent):
    """Plays as ``greedy``, from :data:`SOLVED_FROM` tiles on the table exactly where :data:`MAX_NODES` suffice.

    Among moves of equal result it prefers what ``greedy`` would.

    Raises:
        ValueError: for another game than Domaster and Five Bridges.
    """

    name = "endgame"
    needs_states = True

    def __init__(self, game: Game, *, seed: int | None = None, mode: str = "sample") -> None:
        if game.dtype != STATE:
            raise ValueError(f"'endgame' plays domaster and five_bridges, not {game.name!r}")
        super().__init__(game, seed=seed, mode=mode)

    def reseed(self, seed: int | None) -> None:
        """Start the random choices anew, and forget what has been solved: it decides how far the nodes go."""
        super().reseed(seed)
        self._solver = EndgameSolver()

    def probabilities(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.float32]:
        """Return the uniform distribution over each position's preferred moves, ``float32 (n, 100)``."""
        states = self.checked_states(states, len(action_masks))
        allowed = action_masks.copy()
        for row in range(len(states)):
            if tiles_on_table(states[row]) >= SOLVED_FROM and action_masks[row].sum() > 1:
                values = self._solver.values(states[row : row + 1], MAX_NODES)[0]
                best = values.max()
                if best == 1 or not (values == UNKNOWN).any():
                    allowed[row] = values == best
        return best_rated(self.game, states, allowed)

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Return a preferred move for each position."""
        return self.choose(self.probabilities(observations, action_masks, states))
