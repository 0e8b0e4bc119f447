"""The chess clock: a time budget for each player and deal, and an increment for each move.

Domaster's source asks for one in tournament play. Who has not moved when the budget is used up loses the deal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..games import Game
from ..tiles import DOUBLE_SIX_WITHOUT_DOUBLES

__all__ = ["Clock", "points_on_time"]

_NUMBER = r"\d+(?:\.\d+)?"


@dataclass(frozen=True)
class Clock:
    """Settings of a chess clock.

    Attributes:
        budget: seconds for each player at the start of each deal, above 0.
        increment: seconds added after each move, not negative.
    """

    budget: float
    increment: float = 0.0

    def __post_init__(self) -> None:
        if not self.budget > 0 or not self.increment >= 0:
            raise ValueError(f"a clock needs a budget above 0 and an increment of at least 0, got {self}")

    @classmethod
    def parse(cls, text: str) -> Clock:
        """Return the clock written ``60`` or ``60+0.5`` (seconds, seconds a move).

        Raises:
            ValueError: for anything else.
        """
        match = re.fullmatch(rf"({_NUMBER})(?:\+({_NUMBER}))?", text.strip())
        if match is None or float(match[1]) <= 0:
            raise ValueError(f"a clock is written SECONDS or SECONDS+INCREMENT, such as 60+0.5, got {text!r}")
        return cls(float(match[1]), float(match[2] or 0))

    def __str__(self) -> str:
        return f"{self.budget:g}+{self.increment:g}"


def points_on_time(game: Game, state: Any) -> int:
    """Return what a deal is worth to the opponent of the player to move whose time is up.

    In Mate as if that player had no tile to play (tiles on the table times pips on the last one); elsewhere 1.
    """
    if game.name != "mate":
        return 1
    count = int(state["count"])
    tile = int(state["starter"]) if count == 1 else int(state["line"][count - 2]) // 2
    return count * int(DOUBLE_SIX_WITHOUT_DOUBLES.low[tile] + DOUBLE_SIX_WITHOUT_DOUBLES.high[tile])
