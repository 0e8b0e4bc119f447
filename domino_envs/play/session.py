"""A game in progress, as one request sees it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from ..arena.clock import Clock
from ..arena.record import FLAG, GameRecord, Replay
from ..games import Game
from .document import Document

__all__ = ["Conflict", "Session"]


class Conflict(ValueError):
    """A request that comes at the wrong moment: not your turn, too late, after the end."""


@dataclass(frozen=True)
class Session:
    """A document, replayed.

    Attributes:
        document: as the page holds it.
        record: the same game with all draw orders, also those that are still secret.
        replayed: its positions.
    """

    document: Document
    record: GameRecord
    replayed: Replay

    @property
    def game(self) -> Game:
        """The game."""
        return self.replayed.game

    @property
    def states(self) -> NDArray[Any]:
        """The position, a record of shape ``(1,)``."""
        return self.replayed.states[-1:]

    @property
    def over(self) -> bool:
        """Whether the episode is finished."""
        return self.replayed.over

    @property
    def mover(self) -> int:
        """Seat to move."""
        return int(self.states["mover"][0])

    @property
    def clock(self) -> Clock | None:
        """The chess clock's settings."""
        return None if self.record.clock is None else Clock.parse(self.record.clock)

    @cached_property
    def left(self) -> tuple[float, float]:
        """Seconds that each seat has left in the running deal, the running turn not counted."""
        assert self.clock is not None
        left = [self.clock.budget] * 2
        deal = 0
        states = self.replayed.states
        for i, (move, spent) in enumerate(zip(self.record.moves, self.record.times or (), strict=True)):
            if states["finished"][i] != deal:
                deal = int(states["finished"][i])
                left = [self.clock.budget] * 2
            left[states["mover"][i]] -= spent
            if move != FLAG:
                left[states["mover"][i]] += self.clock.increment
        if not self.over and states["finished"][-1] != deal:
            left = [self.clock.budget] * 2
        return max(0.0, left[0]), max(0.0, left[1])
