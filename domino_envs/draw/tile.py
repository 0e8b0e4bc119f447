"""One domino tile: a rounded body, a line across the middle, and pips as on a real one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from .svg import Canvas, number
from .theme import Theme

__all__ = ["draw_back", "draw_outline", "draw_tile"]

_A, _B, _C = 0.24, 0.5, 0.76
#: Where the pips of a half lie, in halves, on an upright tile. Lying tiles show them turned by a quarter.
_SPOTS: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((_B, _B),),
    ((_A, _A), (_C, _C)),
    ((_A, _A), (_B, _B), (_C, _C)),
    ((_A, _A), (_C, _A), (_A, _C), (_C, _C)),
    ((_A, _A), (_C, _A), (_B, _B), (_A, _C), (_C, _C)),
    ((_A, _A), (_C, _A), (_A, _B), (_C, _B), (_A, _C), (_C, _C)),
    ((_A, _A), (_C, _A), (_A, _B), (_B, _B), (_C, _B), (_A, _C), (_C, _C)),
    ((_A, _A), (_B, _A), (_C, _A), (_A, _B), (_C, _B), (_A, _C), (_B, _C), (_C, _C)),
    ((_A, _A), (_B, _A), (_C, _A), (_A, _B), (_B, _B), (_C, _B), (_A, _C), (_B, _C), (_C, _C)),
)
_PIP_SIZE = 0.19  # of a half; the dots are lines of no length with round ends
_ROUND = 0.14


@cache
def _faded(theme: Theme) -> Theme:
    """Return a theme with tiles half-way to the ground: cheaper to rasterise than transparency."""

    def mix(color: str) -> str:
        pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(theme.panel[1:]), strict=True)
        return "#" + bytes((a + b) // 2 for a, b in pairs).hex()

    return replace(
        theme,
        shade=mix(theme.shade),
        levels=(mix(theme.levels[0]), mix(theme.levels[1]), mix(theme.levels[2])),
        pips=tuple(map(mix, theme.pips)),
    )


def _size(half: float, upright: bool) -> tuple[float, float]:
    return (half, 2 * half) if upright else (2 * half, half)


def _pips(canvas: Canvas, x: float, y: float, half: float, pips: int, upright: bool, theme: Theme) -> None:
    if pips == 0:
        return
    spots = _SPOTS[pips] if upright else [(v, 1 - u) for u, v in _SPOTS[pips]]
    dots = "".join(f"M{number(x + u * half)} {number(y + v * half)}h0" for u, v in spots)
    canvas.path(dots, stroke=theme.pips[pips], stroke_width=_PIP_SIZE * half, stroke_linecap="round", fill="none")


def draw_tile(
    canvas: Canvas,
    x: float,
    y: float,
    half: float,
    first: int,
    second: int,
    theme: Theme,
    *,
    upright: bool = False,
    level: int = 1,
    mark: str | None = None,
    faded: bool = False,
) -> None:
    """Draw a tile.

    Args:
        canvas: what to draw on.
        x: its left edge.
        y: its upper edge.
        half: side of one half, so that the tile is ``2 * half`` long.
        first: pips of the left half, or of the upper one if upright.
        second: pips of the other half.
        theme: colours.
        upright: whether the tile stands, else it lies.
        level: 1 to 3: the colour of the face.
        mark: colour of a ring around the tile.
        faded: as a tile that cannot be used now.
    """
    width, height = _size(half, upright)
    radius = _ROUND * half
    edge = max(1.0, 0.05 * half)
    if faded:
        theme = _faded(theme)
    with canvas.group():
        if mark:
            gap = max(2.0, 0.09 * half)
            box = (x - gap / 2, y - gap / 2, width + gap, height + gap + edge)
            canvas.rect(box, radius + gap / 2, fill=mark, stroke=mark, stroke_width=gap)
        canvas.rect((x, y + edge, width, height), radius, fill=theme.shade)
        canvas.rect(
            (x + 0.5, y + 0.5, width - 1, height - 1),
            radius,
            fill=theme.levels[level - 1],
            stroke=theme.shade,
            stroke_width=1,
        )
        inset = 0.16 * half
        if upright:
            middle = f"M{number(x + inset)} {number(y + half)}h{number(half - 2 * inset)}"
        else:
            middle = f"M{number(x + half)} {number(y + inset)}v{number(half - 2 * inset)}"
        canvas.path(middle, stroke=theme.shade, stroke_width=max(1.0, 0.04 * half))
        _pips(canvas, x, y, half, first, upright, theme)
        if upright:
            _pips(canvas, x, y + half, half, second, upright, theme)
        else:
            _pips(canvas, x + half, y, half, second, upright, theme)


def draw_back(canvas: Canvas, x: float, y: float, half: float, theme: Theme, *, upright: bool = False) -> None:
    """Draw a tile that lies face down; arguments as of :func:`draw_tile`."""
    width, height = _size(half, upright)
    radius = _ROUND * half
    canvas.rect((x, y + max(1.0, 0.05 * half), width, height), radius, fill=theme.shade)
    canvas.rect((x + 0.5, y + 0.5, width - 1, height - 1), radius, fill=theme.back, stroke=theme.shade, stroke_width=1)
    inset = 0.14 * half
    box = (x + inset, y + inset, width - 2 * inset, height - 2 * inset)
    canvas.rect(box, radius / 2, fill="none", stroke=theme.panel, stroke_opacity=0.5, stroke_width=1)


def draw_outline(
    canvas: Canvas, x: float, y: float, half: float, color: str, *, upright: bool = False, width: float = 1.0
) -> None:
    """Draw the dashed outline of a place for a tile; arguments as of :func:`draw_tile`."""
    long, high = _size(half, upright)
    canvas.rect(
        (x + 1, y + 1, long - 2, high - 2),
        _ROUND * half,
        fill="none",
        stroke=color,
        stroke_width=width,
        stroke_dasharray="3 3",
    )
