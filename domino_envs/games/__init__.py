"""The rules of the games, and nothing else: no PettingZoo, no Gymnasium, no drawing, no files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from . import domaster, mate, third_level
from .game import SEATS, Game

__all__ = ["SEATS", "Game", "add_game", "game_names", "get_game"]

_MAKERS: dict[str, Callable[..., Game]] = {
    "domaster": domaster.make_domaster,
    "five_bridges": domaster.make_five_bridges,
    "mate": mate.make_game,
    "third_level": third_level.make_game,
}


def game_names() -> tuple[str, ...]:
    """Return the names that :func:`get_game` knows."""
    return tuple(_MAKERS)


def add_game(name: str, maker: Callable[..., Game]) -> None:
    """Make a game of your own known by name to every layer: environments, training, arena.

    Raises:
        ValueError: if the name is taken by another game.
    """
    if _MAKERS.get(name, maker) is not maker:
        raise ValueError(f"there is a game {name!r} already")
    _MAKERS[name] = maker


@cache
def _cached_game(name: str, parameters: tuple[tuple[str, Any], ...]) -> Game:
    game = _MAKERS[name](**dict(parameters))
    full = tuple(sorted(game.parameters.items()))
    return game if full == parameters else _cached_game(name, full)  # one object, whether defaults are given or not


def get_game(name: str, parameters: Mapping[str, Any] | None = None) -> Game:
    """Return the table of a game; equal arguments give the same object.

    Raises:
        ValueError: for an unknown name or a parameter out of range.
        TypeError: for a parameter that the game does not have.
    """
    if name not in _MAKERS:
        raise ValueError(f"unknown game {name!r}, expected one of {', '.join(map(repr, _MAKERS))}")
    return _cached_game(name, tuple(sorted((parameters or {}).items())))
