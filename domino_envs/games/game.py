"""Game: the table that every layer above the rules reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernels import describe, moves
from .layout import Field, Layout

__all__ = ["SEATS", "Game"]

#: The agents' names by seat.
SEATS = ("player_0", "player_1")


@dataclass(frozen=True, eq=False)
class Game:
    """A game: one record dtype with compiled kernels, and the facts that generic code needs.

    Attributes:
        name: short name, as in ``domino_envs.<name>_v0``.
        title: name for people.
        rules_version: changes when a rule changes; saved policies and records name it.
        parameters: what tells variants of a game apart (``hand_size``, ``board_size``); saved policies name them.
        template: record (shape ``(1,)``) of a state before the first deal, parameters set, nothing else.
        num_tiles: length of a draw order.
        num_actions: size of the ``Discrete`` action space.
        layout: the fields of an observation.
        hidden: the fields of what neither seat may know, which ``state()`` shows.
        episodes: number of deals by episode name; the first is the default.
        deals_per_order: how many deals in a row are laid out from one draw order.
        move_text: ``code -> str``, the notation of what the kernel ``describe`` says of an action.
        text: ``(record, seat=None) -> str``, a drawing to play from, without colours; as a seat sees it, or all.
        mover_info: ``(record) -> dict``, what ``info`` tells the player to move besides; None for nothing.
    """

    name: str
    title: str
    rules_version: int
    parameters: Mapping[str, int]
    template: NDArray[Any]
    num_tiles: int
    num_actions: int
    layout: Layout
    hidden: Layout
    episodes: Mapping[str, int]
    deals_per_order: int
    move_text: Callable[[int], str]
    text: Callable[..., str]
    mover_info: Callable[[Any], dict[str, Any]] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """The record dtype of a state."""
        return self.template.dtype

    @cached_property
    def state_layout(self) -> Layout:
        """The fields of the full-information vector: the mover, seat 0's observation, what that hides."""
        mover = Field("mover", (2,), 0, 1, "one-hot seat to move, all zero when the episode is over")
        return Layout([mover, *self.layout.fields, *self.hidden.fields])

    def num_orders(self, episode: str) -> int:
        """Return how many draw orders an episode uses."""
        return -(-self.num_deals(episode) // self.deals_per_order)

    def num_deals(self, episode: str) -> int:
        """Return how many deals an episode has.

        Raises:
            ValueError: for an unknown episode.
        """
        if episode not in self.episodes:
            raise ValueError(f"episode must be one of {', '.join(map(repr, self.episodes))}, got {episode!r}")
        return self.episodes[episode]

    def start_record(self, episode: str) -> NDArray[Any]:
        """Return a copy of the template, shape ``(1,)``, for this episode."""
        record = np.empty_like(self.template)
        # Byte by byte: NumPy copies fields, and leaves what lies between them as it happens to be.
        record.view(np.uint8)[:] = self.template.view(np.uint8)
        record["deals"] = self.num_deals(episode)
        record["deals_per_order"] = self.deals_per_order
        return record

    @cached_property
    def move_texts(self) -> dict[int, str]:
        """The notation of the codes met so far."""
        return {}

    def code_text(self, code: int) -> str:
        """Return the notation of a code that the kernel ``describe`` gave."""
        text = self.move_texts.get(code)
        if text is None:
            text = self.move_texts[code] = self.move_text(code)
        return text

    def notation(self, states: NDArray[Any], action: int, lane: int = 0) -> str:
        """Return an action of ``states[lane]`` in notation (readable also if it is not legal there).

        Raises:
            ValueError: for a number outside of the action space.
        """
        if not 0 <= action < self.num_actions:
            raise ValueError(f"action must be from 0 to {self.num_actions - 1}, got {action!r}")
        return self.code_text(describe(states[lane], action))

    def legal_actions(self, states: NDArray[Any], lane: int = 0) -> NDArray[np.int32]:
        """Return the legal action numbers of ``states[lane]`` in ascending order."""
        actions = np.empty(self.num_actions, dtype=np.int32)
        return actions[: moves(states[lane], actions)]

    def parse(self, states: NDArray[Any], text: str, lane: int = 0) -> int:
        """Return the legal action of ``states[lane]`` with this notation.

        Raises:
            ValueError: if no legal action is written so.
        """
        wanted = " ".join(text.split())
        written = {self.notation(states, int(a), lane): int(a) for a in self.legal_actions(states, lane)}
        if wanted not in written:
            raise ValueError(f"{text!r} is no legal move here; legal: {', '.join(written) or 'none'}")
        return written[wanted]

    def draw_orders(self, orders: Any, episode: str) -> NDArray[np.int8]:
        """Check draw orders given by a user and return them as ``int8 (count, num_tiles)``.

        Raises:
            ValueError: if there are too many, or one is not a permutation of the tile numbers.
        """
        limit = self.num_orders(episode)
        if isinstance(orders, (str, bytes)) or not hasattr(orders, "__len__"):
            raise ValueError(f"orders must be a list of draw orders, got {orders!r}")
        if len(orders) > limit:
            raise ValueError(f"{self.title}, episode {episode!r}, uses at most {limit} draw orders, got {len(orders)}")
        checked = np.empty((len(orders), self.num_tiles), dtype=np.int8)
        for i, order in enumerate(orders):
            try:
                numbers = np.asarray(order)
            except ValueError as error:
                raise ValueError(f"draw order {i} is not a list of tile numbers: {order!r}") from error
            if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
                raise ValueError(f"draw order {i} must be a flat list of whole tile numbers, got {order!r}")
            if len(numbers) != self.num_tiles:
                raise ValueError(f"draw order {i} must have {self.num_tiles} tile numbers, got {len(numbers)}")
            outside = numbers[(numbers < 0) | (numbers >= self.num_tiles)]
            if len(outside):
                raise ValueError(f"draw order {i} has tile {outside[0]}, expected 0 to {self.num_tiles - 1}")
            values, counts = np.unique(numbers, return_counts=True)
            if len(values) < self.num_tiles:
                raise ValueError(f"draw order {i} repeats tile {values[counts > 1][0]}")
            checked[i] = numbers
        return checked

    def __reduce__(self) -> tuple[Any, ...]:
        from . import get_game

        return get_game, (self.name, dict(self.parameters))

    def __repr__(self) -> str:
        arguments = "".join(f", {k}={v}" for k, v in self.parameters.items())
        return f"Game({self.name}{arguments})"
