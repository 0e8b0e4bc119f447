"""The table of Third Level: the state record and the kernels that lay, lift and look, without turns or hands.

The table has no edge, but the formation spans at most ``MAX_SPAN`` rows or columns: a way from its top to its bottom
has at most 42 cells, and as a column holds at most 7 of them, at least 5 steps lead aside. It lives in a *frame* of
``FRAME`` x ``FRAME`` cells and is moved back to the middle when it comes within ``MARGIN`` cells of the frame's edge. A
row of the frame is one ``int64``, bit = column. Laying and lifting on upper levels never changes what is seen from
above, so the pips that show are always those of the ground tiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bits import trailing_zeros
from ..jit import int64, kernel
from ..tiles import DOUBLE_SIX_WITHOUT_DOUBLES as TILES
from .kernels import HEADER

__all__ = ["BONUS", "CODE", "FITTING", "FRAME", "FURTHER", "HEIGHT_SHIFT", "HIGH", "LOW", "MARGIN", "MAX_SPAN", "MOVE",
           "NUM_TILES", "PIP", "POOL", "STATE", "WINNING_LEVEL", "cells_of", "cover", "lay_on_ground", "liftable",
           "next_place", "rebuild", "take_from_ground", "window"]  # fmt: skip

NUM_TILES = 21
POOL = NUM_TILES - 1  # tiles that are not the starter
WINNING_LEVEL = 3
MAX_SPAN = 37
MARGIN = 3  # two cells that a tile may reach beyond the formation, and one to look at
FRAME = MAX_SPAN + 2 * MARGIN
MOVE, BONUS, FURTHER = 0, 1, 2
LOW = TILES.low
HIGH = TILES.high
ROW_STEP = np.array([0, 1, 0, -1], dtype=np.int8)  # east, south, west, north
COLUMN_STEP = np.array([1, 0, -1, 0], dtype=np.int8)

#: Cell codes: 0 empty, else 1 + 2 * ground tile + half (1 = high), plus 64 at height 2, less 128 at height 3.
CODE = 63
HEIGHT_SHIFT = 6  # code >> 6: 0 at height 1, 1 at height 2, -2 at height 3
_RAISED = np.array([0, 0, 64, -128], dtype=np.int8)
#: The pip that shows on a cell with this code, its height left out.
PIP = np.array([-1] + [pip for t in range(NUM_TILES) for pip in (LOW[t], HIGH[t])], dtype=np.int8)
#: The tile that fits on two cells with these codes (heights left out), -1 where there is none.
FITTING = np.array([[-1 if min(a, b) < 0 else TILES.number[a, b] for b in PIP] for a in PIP], dtype=np.int8)

STATE = np.dtype(
    [
        *HEADER,
        ("hand_size", np.int8),
        ("board_size", np.int8),
        ("phase", np.int8),  # MOVE, BONUS or FURTHER
        ("bonus_tile", np.int8),  # the tile that earned the running bonus, else -1
        ("passes", np.int8),  # in succession
        ("pool_next", np.int8),  # tiles drawn from the pool
        ("pool_size", np.int8),  # tiles in the pool at the start
        ("pool", np.int8, (POOL,)),  # in draw order, -1 after the last
        ("outside_window", np.int16),  # placements of the mover on the ground that the window cuts off
        ("hands", np.int32, (2,)),  # bit sets of tile numbers, as the next four
        ("ground", np.int32),  # tiles that lie on the ground
        ("covered", np.int32),  # tiles with a covered half
        ("removable", np.int32),  # tiles on the ground without which the others there stay in one piece
        ("second", np.int32),  # tiles that lie on the second level
        ("links", np.int32, (NUM_TILES,)),  # for a tile on the ground: those that it touches there
        ("tile_level", np.int8, (NUM_TILES,)),  # 1 to 3, 0 while not on the table
        ("tile_row", np.int8, (NUM_TILES,)),  # frame cell of the low half
        ("tile_column", np.int8, (NUM_TILES,)),
        ("tile_direction", np.int8, (NUM_TILES,)),  # of the high half from the low one: east, south, west, north
        ("origin_row", np.int8),  # frame cell where the starter's low half was laid
        ("origin_column", np.int8),
        ("min_row", np.int8),  # bounding box of the formation in the frame
        ("max_row", np.int8),
        ("min_column", np.int8),
        ("max_column", np.int8),
        ("row_used", np.int64, (7,)),  # by pip: bit set of the rows that hold it
        ("column_used", np.int64, (7,)),
        ("occupied", np.int64, (FRAME,)),
        # Two empty cells side by side ([0]: and the one to the east, [1]: and the one to the south) that together
        # touch the formation, by the cell in the north-west:
        ("pairs", np.int64, (2, FRAME)),
        ("cells", np.int8, (FRAME, FRAME)),  # cell codes
    ],
    align=True,
)


@kernel
def cells_of(state: Any, tile: int) -> tuple[int, int, int, int]:
    """Return the row and column of the low half, then of the high half, of a tile on the table."""
    row, column = int64(state["tile_row"][tile]), int64(state["tile_column"][tile])
    direction = int64(state["tile_direction"][tile])
    return row, column, row + int64(ROW_STEP[direction]), column + int64(COLUMN_STEP[direction])


@kernel
def _find_pairs(state: Any, first: int, last: int) -> None:
    """Work out ``pairs`` anew where a change of the rows ``first`` to ``last`` matters."""
    occupied = state["occupied"]
    pairs = state["pairs"]
    for row in range(first - 2, last + 2):
        above, here, below, beyond = occupied[row - 1], occupied[row], occupied[row + 1], occupied[row + 2]
        beside = here << 1 | here >> 1 | above | below
        beside_below = below << 1 | below >> 1 | here | beyond
        taken = here | here >> 1
        pairs[0, row] = ~taken & (beside | beside >> 1)
        pairs[1, row] = ~(here | below) & (beside | beside_below)


@kernel
def _find_removable(state: Any) -> None:
    """Find the ground tiles that are no cut vertices of the graph of touching tiles."""
    links = state["links"]
    ground = int64(state["ground"])
    removable = int64(0)
    tiles = ground
    while tiles:
        tile = trailing_zeros(tiles)
        tiles &= tiles - 1
        wanted = int64(links[tile])
        rest = ground & ~(int64(1) << tile)
        reached = wanted & -wanted
        waiting = reached
        while waiting and wanted & ~reached:
            new = int64(links[trailing_zeros(waiting)]) & rest & ~reached
            waiting = waiting & (waiting - 1) | new
            reached |= new
        if wanted & ~reached == 0:
            removable |= int64(1) << tile
    state["removable"] = removable


@kernel
def _put(state: Any, tile: int) -> None:
    """Enter a ground tile, its place known, in all but ``pairs``, ``removable`` and the bounding box."""
    row, column, high_row, high_column = cells_of(state, tile)
    cells = state["cells"]
    links = state["links"]
    bit = int64(1) << tile
    mine = int64(0)
    for half in range(2):
        r, c = (high_row, high_column) if half else (row, column)
        for direction in range(4):
            code = int64(cells[r + ROW_STEP[direction], c + COLUMN_STEP[direction]]) & CODE
            if code:
                other = (code - 1) >> 1
                links[other] |= bit
                mine |= int64(1) << other
    links[tile] = mine
    for half in range(2):
        r, c, pip = (high_row, high_column, HIGH[tile]) if half else (row, column, LOW[tile])
        cells[r, c] = 1 + 2 * tile + half
        state["occupied"][r] |= int64(1) << c
        state["row_used"][pip] |= int64(1) << r
        state["column_used"][pip] |= int64(1) << c
    state["ground"] |= bit


@kernel
def cover(state: Any, tile: int) -> None:
    """Enter a tile of an upper level, its place known, on top of the cells where it lies."""
    level = int64(state["tile_level"][tile])
    row, column, high_row, high_column = cells_of(state, tile)
    cells = state["cells"]
    for half in range(2):
        r, c = (high_row, high_column) if half else (row, column)
        code = int64(cells[r, c]) & CODE
        cells[r, c] = code + int64(_RAISED[level])
        state["covered"] |= int64(1) << ((code - 1) >> 1)
    if level == 2:
        state["second"] |= int64(1) << tile
        return
    for other in range(NUM_TILES):  # the game is over: which tiles of the second level does it lie on?
        if state["tile_level"][other] == 2:
            r, c, high_r, high_c = cells_of(state, other)
            if cells[r, c] < 0 or cells[high_r, high_c] < 0:
                state["covered"] |= int64(1) << other


@kernel
def rebuild(state: Any) -> None:
    """Work out all that follows from the tiles' levels and places, the formation moved to the middle of the frame."""
    level = state["tile_level"]
    top, left, bottom, right = int64(127), int64(127), int64(-128), int64(-128)
    for tile in range(NUM_TILES):
        if level[tile] == 1:
            row, column, high_row, high_column = cells_of(state, tile)
            top, bottom = min(top, row, high_row), max(bottom, row, high_row)
            left, right = min(left, column, high_column), max(right, column, high_column)
    down = (FRAME - (bottom - top + 1)) // 2 - top
    east = (FRAME - (right - left + 1)) // 2 - left
    for tile in range(NUM_TILES):
        if level[tile]:
            state["tile_row"][tile] += down
            state["tile_column"][tile] += east
    state["origin_row"] += down
    state["origin_column"] += east
    state["min_row"], state["max_row"] = top + down, bottom + down
    state["min_column"], state["max_column"] = left + east, right + east
    state["ground"] = state["covered"] = state["second"] = 0
    for pip in range(7):
        state["row_used"][pip] = state["column_used"][pip] = 0
    for tile in range(NUM_TILES):
        state["links"][tile] = 0
    for row in range(FRAME):
        state["occupied"][row] = state["pairs"][0, row] = state["pairs"][1, row] = 0
        for column in range(FRAME):
            state["cells"][row, column] = 0
    for wanted in range(1, 4):
        for tile in range(NUM_TILES):
            if level[tile] == wanted:
                if wanted == 1:
                    _put(state, tile)
                else:
                    cover(state, tile)
    _find_pairs(state, top + down, bottom + down)
    _find_removable(state)


@kernel
def lay_on_ground(state: Any, tile: int, row: int, column: int, direction: int) -> None:
    """Lay a tile on two empty cells next to the formation; ``row`` and ``column`` are its low half's."""
    state["tile_level"][tile] = 1
    state["tile_row"][tile] = row
    state["tile_column"][tile] = column
    state["tile_direction"][tile] = direction
    row, column, high_row, high_column = cells_of(state, tile)
    first, last = min(row, high_row), max(row, high_row)
    top, bottom = min(int64(state["min_row"]), first), max(int64(state["max_row"]), last)
    left = min(int64(state["min_column"]), column, high_column)
    right = max(int64(state["max_column"]), column, high_column)
    if min(top, left) < MARGIN or max(bottom, right) >= FRAME - MARGIN:
        rebuild(state)
        return
    state["min_row"], state["max_row"] = top, bottom
    state["min_column"], state["max_column"] = left, right
    _put(state, tile)
    _find_pairs(state, first, last)
    _find_removable(state)


@kernel
def take_from_ground(state: Any, tile: int) -> None:
    """Take an uncovered tile from the ground, where others are left; its level is still to be set."""
    row, column, high_row, high_column = cells_of(state, tile)
    occupied = state["occupied"]
    for half in range(2):
        r, c, pip = (high_row, high_column, HIGH[tile]) if half else (row, column, LOW[tile])
        state["cells"][r, c] = 0
        occupied[r] &= ~(int64(1) << c)
        state["row_used"][pip] &= ~(int64(1) << r)  # a row or column holds a pip once
        state["column_used"][pip] &= ~(int64(1) << c)
    bit = int64(1) << tile
    touching = int64(state["links"][tile])
    while touching:
        state["links"][trailing_zeros(touching)] &= ~bit
        touching &= touching - 1
    state["links"][tile] = 0
    state["ground"] &= ~bit
    top, bottom = int64(state["min_row"]), int64(state["max_row"])
    while occupied[top] == 0:
        top += 1
    while occupied[bottom] == 0:
        bottom -= 1
    columns = int64(0)
    for r in range(top, bottom + 1):
        columns |= occupied[r]
    right = int64(state["max_column"])
    while (columns >> right) & 1 == 0:
        right -= 1
    state["min_row"], state["max_row"] = top, bottom
    state["min_column"], state["max_column"] = trailing_zeros(columns), right
    _find_pairs(state, min(row, high_row), max(row, high_row))
    _find_removable(state)


@kernel
def window(state: Any) -> tuple[int, int]:
    """Return the frame row and column of the window's first cell."""
    size = int64(state["board_size"])
    top, left = int64(state["min_row"]), int64(state["min_column"])
    rows = int64(state["max_row"]) - top + 1
    columns = int64(state["max_column"]) - left + 1
    return top - (size - rows) // 2, left - (size - columns) // 2


@kernel
def liftable(state: Any) -> int:
    """Return the bit set of the tiles that may be taken up: uncovered, the ground left in one piece."""
    return (int64(state["removable"]) | int64(state["second"])) & ~int64(state["covered"])


@kernel
def next_place(state: Any, tiles: int, code: int) -> int:
    """Return the first place of an upper level, at or after ``code``, that carries one of ``tiles``; -1 for none.

    A place is two cells side by side of equal height that show the tile's pips; a tile on the table goes only to a
    higher level than its own and not onto its own cells. Code: ``direction << 12 | row << 6 | column`` of the
    north-western cell in the frame, direction 0 = east, 1 = south.
    """
    occupied = state["occupied"]
    cells = state["cells"]
    direction, row, column = code >> 12, (code >> 6) & 63, code & 63
    first, last = int64(state["min_row"]), int64(state["max_row"])
    if row < first:
        row, column = first, int64(0)
    while direction < 2:
        while row <= last:
            beside = occupied[row + 1] if direction else occupied[row] >> 1
            bits = (occupied[row] & beside) >> column << column
            while bits:
                column = trailing_zeros(bits)
                bits &= bits - 1
                here = int64(cells[row, column])
                there = int64(cells[row + direction, column + 1 - direction])
                tile = int64(FITTING[here & CODE, there & CODE])
                if here >> HEIGHT_SHIFT == there >> HEIGHT_SHIFT and (tiles >> tile) & 1:
                    level = int64(state["tile_level"][tile])
                    if level == 0:
                        return direction << 12 | row << 6 | column
                    if (here >> HEIGHT_SHIFT) + 2 > level:
                        r, c, high_r, high_c = cells_of(state, tile)
                        low, high = r << 6 | c, high_r << 6 | high_c
                        near = row << 6 | column
                        far = (row + direction) << 6 | (column + 1 - direction)
                        if low != near and low != far and high != near and high != far:
                            return direction << 12 | near
            row += 1
            column = int64(0)
        direction += 1
        row = first
    return -1
