"""One call that draws a position of any game."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from ..games import SEATS, Game
from .plain import draw as draw_plain
from .scene import LAYOUTS, Scene, View
from .theme import get_theme

__all__ = ["add_drawing", "draw_svg", "finish", "last_tile", "make_scene", "shared_extent"]

#: Game by name to ``(view) -> Scene``, or the module of this package that has it as ``draw``.
_DRAWINGS: dict[str, str | Callable[[View], Scene]] = {
    "domaster": "domaster",
    "five_bridges": "domaster",
    "mate": "mate",
    "third_level": "third_level",
}


def add_drawing(name: str, function: Callable[[View], Scene]) -> None:
    """Give a game of your own a drawing; without one it is drawn as its text."""
    _DRAWINGS[name] = function


def last_tile(game: Game, move: str | None) -> int:
    """Return the number of the tile that a move in notation laid, -1 for a move without a tile or None."""
    found = re.search(r"(?<![@\d-])(\d)-(\d)(?!\d)", move or "")
    if not found:
        return -1
    low, high = sorted(map(int, found.groups()))
    return _tile_numbers(game).get((low, high), -1)


def _tile_numbers(game: Game) -> dict[tuple[int, int], int]:
    from .. import tiles

    for tile_set in (tiles.DOUBLE_NINE, tiles.DOUBLE_SIX_WITHOUT_DOUBLES):
        if tile_set.num_tiles == game.num_tiles:
            return {(int(a), int(b)): i for i, (a, b) in enumerate(zip(tile_set.low, tile_set.high, strict=True))}
    return {}


def shared_extent(game: Game, positions: Sequence[NDArray[Any]]) -> Any:
    """Return how much of the table all these positions need, for games whose table has no edge; else None."""
    module = _DRAWINGS.get(game.name)
    if not isinstance(module, str):
        return None
    extent = getattr(importlib.import_module(f".{module}", __package__), "extent", None)
    return extent(positions) if extent else None


def make_scene(
    game: Game,
    states: NDArray[Any],
    *,
    seat: int | None = None,
    names: tuple[str, str] = SEATS,
    theme: str = "light",
    layout: str = "wide",
    last: str | None = None,
    with_moves: bool = False,
    extent: Any = None,
) -> Scene:
    """Return the drawing of a position without overlays; arguments as of :func:`draw_svg`."""
    if seat not in (None, 0, 1):
        raise ValueError(f"seat must be 0, 1 or None, got {seat!r}")
    if layout not in LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(map(repr, LAYOUTS))}, got {layout!r}")
    if states.dtype != game.dtype or states.shape != (1,):
        raise ValueError(f"expected one position of {game.title} as a record array of shape (1,), got {states!r}")
    tile = last_tile(game, last)
    view = View(game, states, seat, names, get_theme(theme), layout, tile, with_moves, extent)
    draw = _DRAWINGS.get(game.name, draw_plain)
    if isinstance(draw, str):
        draw = importlib.import_module(f".{draw}", __package__).draw
    return draw(view)


def draw_svg(
    game: Game,
    states: NDArray[Any],
    *,
    seat: int | None = None,
    names: tuple[str, str] = SEATS,
    theme: str = "light",
    layout: str = "wide",
    last: str | None = None,
    legal: bool = False,
    values: Mapping[int, float] | None = None,
    value_format: str = "{:+.2f}",
    extent: Any = None,
) -> str:
    """Return a position as SVG.

    Args:
        game: the game.
        states: the position's record, shape ``(1,)``, as ``env.position`` gives it.
        seat: 0 or 1: seen from there, what that seat cannot know lies face down; None shows everything.
        names: what the seats are called.
        theme: ``"light"`` or ``"dark"``.
        layout: ``"wide"`` or, for a phone, ``"tall"``.
        last: the last move in notation (as ``infos`` has it): its tile is marked.
        legal: mark the tiles that can be played and the places where.
        values: a number for each action (legal ones; some may be missing): probabilities of a policy, exact or
            searched values. Tiles and places show the best of theirs.
        value_format: how a number is written.
        extent: what :func:`shared_extent` says, so that the table stays in place from one picture to the next.

    Raises:
        ValueError: for a seat, theme or layout that does not exist, a record of another game, or a value of an action
            that is not legal.
    """
    with_moves = legal or values is not None
    scene = make_scene(
        game,
        states,
        seat=seat,
        names=names,
        theme=theme,
        layout=layout,
        last=last,
        with_moves=with_moves,
        extent=extent,
    )
    if values:
        wrong = set(values) - set(map(int, game.legal_actions(states)))
        if wrong:
            raise ValueError(f"values has action {min(wrong)}, which is not legal in the position")
    if legal:
        scene.show_legal()
    if values and scene.view.actions():
        scene.show_values(values, value_format)
    return finish(scene)


def finish(scene: Scene, *, fixed_size: bool = True) -> str:
    """Return a drawing as SVG, the table behind it."""
    view = scene.view
    background = f'<rect width="100%" height="100%" fill="{view.theme.board}"/>'
    scene.canvas.parts.insert(0, background)
    return scene.canvas.document(scene.width, scene.height, f"{view.game.title}, a position", fixed_size=fixed_size)
