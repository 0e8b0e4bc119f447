"""The drawing of Third Level: the formation from above, its upper levels raised and of another colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..games.kernels import describe
from ..games.third_level_board import BONUS, COLUMN_STEP, FURTHER, HIGH, LOW, MOVE, NUM_TILES, ROW_STEP
from ..games.third_level_text import END, GROUND
from .scene import Placement, Scene, View, bits, draw_panel
from .svg import Box, Canvas
from .theme import Theme
from .tile import draw_back, draw_outline, draw_tile

__all__ = ["draw", "extent"]

Extent = tuple[int, int, int, int]
_ROOM = 2  # cells around the formation: as far as a tile can reach
_RISE = 0.085  # of a cell, for each level
_LEVEL_NAMES = ("ground", "2nd level", "3rd level")
_PHASES = {MOVE: "to move", BONUS: "may lift a tile", FURTHER: "may lay another"}


def extent(positions: Sequence[NDArray[Any]]) -> Extent:
    """Return the first row and column and the last ones that all these formations need, relative to the start."""
    boxes = []
    for states in positions:
        state = states[0]
        top, left = int(state["origin_row"]), int(state["origin_column"])
        boxes.append(
            (
                int(state["min_row"]) - top,
                int(state["min_column"]) - left,
                int(state["max_row"]) - top,
                int(state["max_column"]) - left,
            )
        )
    tops, lefts, bottoms, rights = zip(*boxes, strict=True)
    return min(tops), min(lefts), max(bottoms), max(rights)


@dataclass(frozen=True)
class _Grid:
    """Cells in pixels; rows and columns are those of the notation, relative to the starter's low half."""

    x: float
    y: float
    cell: float
    first_row: int
    first_column: int
    rows: int
    columns: int

    def corner(self, row: int, column: int) -> tuple[float, float]:
        return self.x + (column - self.first_column) * self.cell, self.y + (row - self.first_row) * self.cell


@dataclass(frozen=True)
class _Lying:
    """A tile on the table: north-western cell, pips there and on the other cell, direction of the two."""

    row: int
    column: int
    first: int
    second: int
    upright: bool

    @classmethod
    def of(cls, tile: int, row: int, column: int, direction: int) -> _Lying:
        """Return the tile whose low half lies on (row, column) and whose high one a step away in the direction."""
        low, high = int(LOW[tile]), int(HIGH[tile])
        if direction < 2:
            return cls(row, column, low, high, direction == 1)
        return cls(row + int(ROW_STEP[direction]), column + int(COLUMN_STEP[direction]), high, low, direction == 3)


def draw(view: View) -> Scene:
    """Draw a position: the ground ivory, the second level blue, the third golden, each raised above the last."""
    scene = Scene(view, 390, 668) if view.tall else Scene(view, 960, 744)
    scene.from_table = bool(view.state["phase"] == BONUS)
    margin = 6.0 if view.tall else 14.0
    height = 104.0 if view.tall else 72.0
    width = scene.width - 2 * margin
    lower = scene.height - margin - height
    for seat, y in ((1 - view.bottom, margin), (view.bottom, lower)):
        draw_panel(scene, seat, (margin, y, width, height), [], _PHASES[int(view.state["phase"])])
        _draw_hand(scene, seat, y)
    strip = margin + height + 20
    _draw_strip(scene, margin + 4, scene.width - margin - 4, strip)
    area = (margin, strip + 9, width, lower - strip - 19)
    grid = _fit(view, area)
    _draw_grid(scene.canvas, grid, area, view.theme)
    _draw_formation(scene, grid)
    for action in view.actions():
        placement = _placement(view, grid, action)
        if placement:
            scene.placements.append(placement)
    scene.corner = (margin + 4.0, area[1] + area[3] - 12)
    return scene


def _draw_hand(scene: Scene, seat: int, panel_top: float) -> None:
    view, canvas = scene.view, scene.canvas
    state = view.state
    size = int(state["hand_size"])
    if view.tall:
        half, left, y = min(30.0, 366 / size - 6), 14.0, panel_top + 36
        step = half + 6
    else:
        half, left, y, step = 34.0, 200.0, panel_top + 19, 73.0
    upright = view.tall
    open_hand = view.sees(seat)
    tiles = bits(state["hands"][seat])
    for slot in range(size):
        x = left + slot * step
        if slot >= len(tiles):
            draw_outline(canvas, x, y, half, view.theme.line, upright=upright)
        elif not open_hand:
            draw_back(canvas, x, y, half, view.theme, upright=upright)
        else:
            tile = tiles[slot]
            low, high = int(LOW[tile]), int(HIGH[tile])
            draw_tile(canvas, x, y, half, low, high, view.theme, upright=upright)
            if state["mover"] == seat and state["phase"] != BONUS:
                box = (x, y, half, 2 * half) if upright else (x, y, 2 * half, half)
                scene.sources[f"tile-{tile}"] = (box, f"{low}-{high}")


def _draw_strip(scene: Scene, left: float, right: float, y: float) -> None:
    """Draw what the colours of the levels mean, and the pool."""
    view, canvas = scene.view, scene.canvas
    state, theme = view.state, view.theme
    x = left
    for color, name in zip(theme.levels, _LEVEL_NAMES, strict=True):
        canvas.rect((x, y - 10, 18.0, 11.0), 2.5, fill=color, stroke=theme.shade, stroke_width=1)
        canvas.text(x + 23, y, name, 12, theme.muted)
        x += 92
    left_in_pool = int(state["pool_size"]) - int(state["pool_next"])
    canvas.text(right, y, f"pool: {left_in_pool}", 12.5, theme.muted, text_anchor="end")


def _fit(view: View, area: Box) -> _Grid:
    top, left, bottom, right = view.extent or extent([view.states])
    rows, columns = bottom - top + 1 + 2 * _ROOM, right - left + 1 + 2 * _ROOM
    x, y, width, height = area
    cell = min(46.0, width / columns, height / rows)
    return _Grid(
        x + (width - columns * cell) / 2,
        y + (height - rows * cell) / 2,
        cell,
        top - _ROOM,
        left - _ROOM,
        rows,
        columns,
    )


def _draw_grid(canvas: Canvas, grid: _Grid, area: Box, theme: Theme) -> None:
    """Draw the squares of the table, and the numbers of rows and columns as the notation has them."""
    x, y, width, height = area
    cell = grid.cell
    canvas.rect(area, 10.0, fill=theme.panel, fill_opacity=0.55)
    start_x = grid.x - cell * int((grid.x - x) / cell)
    start_y = grid.y - cell * int((grid.y - y) / cell)
    lines = "".join(
        f"M{start_x + i * cell:.1f} {y:.1f}v{height:.1f}" for i in range(int((x + width - start_x) / cell) + 1)
    ) + "".join(f"M{x:.1f} {start_y + i * cell:.1f}h{width:.1f}" for i in range(int((y + height - start_y) / cell) + 1))
    canvas.path(lines, stroke=theme.line, stroke_width=0.7, stroke_opacity=0.45, fill="none")
    size = min(11.0, 0.4 * cell + 2)
    for i in range(_ROOM, grid.columns - _ROOM):
        number_x = grid.x + (i + 0.5) * cell
        canvas.text(number_x, y + size + 2, str(grid.first_column + i), size, theme.muted, text_anchor="middle")
    for i in range(_ROOM, grid.rows - _ROOM):
        number_y = grid.y + (i + 0.5) * cell + 0.35 * size
        canvas.text(x + 5, number_y, str(grid.first_row + i), size, theme.muted)


def _lying(state: Any, tile: int) -> _Lying:
    row = int(state["tile_row"][tile]) - int(state["origin_row"])
    column = int(state["tile_column"][tile]) - int(state["origin_column"])
    return _Lying.of(tile, row, column, int(state["tile_direction"][tile]))


def _draw_formation(scene: Scene, grid: _Grid) -> None:
    view = scene.view
    state, theme, cell = view.state, view.theme, grid.cell
    levels = state["tile_level"]
    for level in (1, 2, 3):
        # From the north-west, so that a raised tile's side is not covered by its neighbour's; the marked one last.
        lying = sorted(
            ((_lying(state, t), t) for t in range(NUM_TILES) if levels[t] == level),
            key=lambda pair: (pair[1] == view.last, pair[0].row + pair[0].column, pair[0].row),
        )
        for place, tile in lying:
            x, y = grid.corner(place.row, place.column)
            rise = (level - 1) * _RISE * cell
            if rise:
                _draw_side(scene.canvas, x, y, cell, place.upright, rise, theme)
            mark = theme.last if tile == view.last else None
            draw_tile(
                scene.canvas,
                x - rise + 0.5,
                y - rise,
                cell - 0.5,
                place.first,
                place.second,
                theme,
                upright=place.upright,
                level=level,
                mark=mark,
            )
            if state["phase"] == BONUS and not state["deal_over"]:
                width, height = (cell, 2 * cell) if place.upright else (2 * cell, cell)
                scene.sources[f"tile-{tile}"] = ((x - rise, y - rise, width, height), f"{LOW[tile]}-{HIGH[tile]}")


def _draw_side(canvas: Canvas, x: float, y: float, cell: float, upright: bool, rise: float, theme: Theme) -> None:
    """Draw the side of a raised tile, down to where it stands."""
    width, height = (cell, 2 * cell) if upright else (2 * cell, cell)
    steps = max(2, round(rise))
    for i in range(steps):
        shift = rise * i / steps
        canvas.rect((x - shift + 1, y - shift + 2, width - 2, height - 1), 0.14 * cell, fill=theme.shade)


def _placement(view: View, grid: _Grid, action: int) -> Placement | None:
    code = describe(view.state, action)
    kind = code >> 23
    if kind == END:
        return None
    tile, direction = (code >> 18 & 31) - 1, code >> 16 & 3
    row, column = (code >> 8 & 255) - 128, (code & 255) - 128
    place = _Lying.of(tile, row, column, direction)
    cell = grid.cell
    x, y = grid.corner(place.row, place.column)
    if kind != GROUND:  # its pips leave it one way to lie
        zone = (x, y, cell, 2 * cell) if place.upright else (x, y, 2 * cell, cell)
    else:  # it can be turned, and the middles of tiles that lie the same way never overlap
        zone = (x, y + cell / 2, cell, cell) if place.upright else (x + cell / 2, y, cell, cell)
    frame_row, frame_column = place.row + int(view.state["origin_row"]), place.column + int(view.state["origin_column"])
    level = 1
    if kind != GROUND:
        level = 2 if int(view.state["cells"][frame_row, frame_column]) in range(1, 64) else 3
    rise = (level - 1) * _RISE * cell
    return Placement(
        action,
        f"tile-{tile}",
        zone,
        x - rise,
        y - rise,
        cell,
        place.first,
        place.second,
        place.upright,
        direction if kind == GROUND else None,
        level,
    )
