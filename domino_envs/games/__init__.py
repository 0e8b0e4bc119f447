"""The rules of the games, and nothing else: no PettingZoo, no Gymnasium, no drawing, no files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from . import domaster, mate, third_level
from .game import SEATS, Game

__all__ = ["SEATS", "Game", "add_game", "as_game", "game_names", "get_game"]

_MAKERS: dict[str, Callable[..., Game]] = {
    "domaster": domaster.make_domaster,
    "five_bridges": domaster.make_five_bridges,
    "mate": mate.make_game,
    "third_level": third_level.make_game,
}
_OURS = frozenset(_MAKERS)
_TABLES: dict[tuple[str, tuple[tuple[str, Any], ...]], Game] = {}


def game_names() -> tuple[str, ...]:
    """Return the names that :func:`get_game` knows."""
    return tuple(_MAKERS)


def add_game(name: str, maker: Callable[..., Game]) -> None:
    """Make a game of your own known by name to every layer: environments, training, arena.

    Adding it again under its name replaces it, so that a notebook's cell can be run twice; tables that exist stay.

    Raises:
        ValueError: if the name is that of one of the package's games.
    """
    if name in _OURS:
        raise ValueError(f"there is a game {name!r} already, choose another name")
    _MAKERS[name] = maker
    for key in [key for key in _TABLES if key[0] == name]:
        del _TABLES[key]


def _table(name: str, parameters: tuple[tuple[str, Any], ...]) -> Game:
    key = name, parameters
    if key not in _TABLES:
        try:
            inspect.signature(_MAKERS[name]).bind(**dict(parameters))
        except TypeError as error:
            raise TypeError(f"the game {name!r} {error}") from None
        game = _MAKERS[name](**dict(parameters))
        full = tuple(sorted(game.parameters.items()))
        # One object, whether defaults are given or not.
        _TABLES[key] = game if full == parameters else _table(name, full)
    return _TABLES[key]


def get_game(name: str, parameters: Mapping[str, Any] | None = None) -> Game:
    """Return the table of a game; equal arguments give the same object.

    Raises:
        ValueError: for an unknown name or a parameter out of range.
        TypeError: for a parameter that the game does not have.
    """
    if name not in _MAKERS:
        raise ValueError(f"unknown game {name!r}, expected one of {', '.join(map(repr, _MAKERS))}")
    return _table(name, tuple(sorted((parameters or {}).items())))


def as_game(game: str | Game) -> Game:
    """Return the table that is meant: a table as it is, or that of the name, with default parameters.

    Raises:
        ValueError: for anything else.
    """
    return game if isinstance(game, Game) else get_game(game)
