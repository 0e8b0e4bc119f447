"""What the engine thinks of each move: exact in Mate, searched elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..games import Game

__all__ = ["SIMULATIONS", "Hint", "hint"]

SIMULATIONS = 4000


@dataclass(frozen=True)
class Hint:
    """Values of moves.

    Attributes:
        values: by action, higher is better for the mover; moves that were not looked at are missing.
        best: the action to take.
        template: how a value is written.
        source: what the values are.
    """

    values: dict[int, float]
    best: int
    template: str
    source: str


def hint(game: Game, states: NDArray[Any], simulations: int = SIMULATIONS, seed: int = 0) -> Hint:
    """Return the values of the legal moves, from what the mover may know.

    Args:
        game: the game.
        states: the position's record, shape ``(1,)``.
        simulations: of the search.
        seed: decides the search's random choices.

    Raises:
        ValueError: if the deal is over.
    """
    if game.name == "mate":
        from ..agents.mate_solver import mate_values

        exact = mate_values(states)[0]
        values = {int(action): float(exact[action]) for action in game.legal_actions(states)}
        return Hint(values, max(values, key=lambda action: values[action]), "{:+.0f}", "exact points of this game")
    from ..agents.search import search

    found = search(game, states, simulations=simulations, seed=seed)
    values = {
        int(action): float(found.values[0, action])
        for action in game.legal_actions(states)
        if not math.isnan(found.values[0, action])
    }
    best = max(values, key=lambda action: (int(found.visits[0, action]), values[action]))
    if found.solved[0]:
        best = max(values, key=lambda action: values[action])
    source = "proven" if found.solved[0] else f"expected result, -1 to +1, by {simulations} simulations"
    return Hint(values, best, "{:+.2f}", source)
