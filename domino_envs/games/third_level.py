"""Third Level: a growing formation on an endless table, a bonus for its ground floor, a win on its third level.

Source: the game's Polish description; readings R9 to R13 are stated on the page of :mod:`domino_envs.third_level_v0`.
The table itself is in :mod:`.third_level_board`, what the seats see of it in :mod:`.third_level_view`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bits import bit_count, trailing_zeros
from ..jit import int64, kernel
from .game import Game
from .kernels import NOBODY, Kernels, finish_deal, register
from .third_level_board import (
    BONUS,
    CODE,
    FITTING,
    FRAME,
    FURTHER,
    HEIGHT_SHIFT,
    HIGH,
    LOW,
    MOVE,
    NUM_TILES,
    PIP,
    POOL,
    STATE,
    WINNING_LEVEL,
    cover,
    lay_on_ground,
    liftable,
    next_place,
    rebuild,
    take_from_ground,
    window,
)
from .third_level_text import END, GROUND, LIFT, UPPER, move_text, text
from .third_level_view import HIDDEN, make_layout, observe, reveal

__all__ = ["STATE", "make_game"]


@kernel
def _span(first: int, length: int) -> int:
    """Return the bits ``first`` to ``first + length - 1`` that lie in the frame."""
    return (int64(1) << min(first + length, int64(FRAME))) - (int64(1) << max(first, int64(0)))


@kernel
def _near_rows(state: Any) -> int:
    """Return the rows in which the north-western cell of a tile that touches the formation may lie."""
    first = int64(state["min_row"]) - 2
    return _span(first, int64(state["max_row"]) + 2 - first)


@kernel
def _fits(state: Any, tile: int, direction: int) -> tuple[int, int]:
    """Return the rows and the columns (bit sets) of the north-western cell where the tile repeats no pip (R9)."""
    low, high = LOW[tile], HIGH[tile]
    if direction >= 2:  # the high half lies in the north-west
        low, high = high, low
    rows, columns = state["row_used"], state["column_used"]
    if direction & 1:
        return ~(rows[low] | rows[high] >> 1), ~(columns[low] | columns[high])
    return ~(rows[low] | rows[high]), ~(columns[low] | columns[high] >> 1)


@kernel
def _can_lay(state: Any, hand: int) -> bool:
    """Whether a tile of the hand can be laid anywhere in the window."""
    top, left = window(state)
    size = int64(state["board_size"])
    inside = _near_rows(state)
    pairs = state["pairs"]
    bits = hand
    while bits:
        tile = trailing_zeros(bits)
        bits &= bits - 1
        for direction in range(4):
            south = direction & 1
            rows, columns = _fits(state, tile, direction)
            rows &= _span(top, size - south) & inside
            columns &= _span(left, size - 1 + south)
            while rows:
                if pairs[south, trailing_zeros(rows)] & columns:
                    return True
                rows &= rows - 1
    return next_place(state, hand, 0) >= 0


@kernel
def _count_outside(state: Any, hand: int) -> int:
    """Count the placements on the ground that the window cuts off."""
    top, left = window(state)
    size = int64(state["board_size"])
    first, last = int64(state["min_row"]) - 2, int64(state["max_row"]) + 1
    if (
        top <= first
        and last + 1 < top + size
        and left <= int64(state["min_column"]) - 2
        and int64(state["max_column"]) + 2 < left + size
    ):
        return 0
    count = 0
    while hand:
        tile = trailing_zeros(hand)
        hand &= hand - 1
        for direction in range(4):
            south = direction & 1
            rows, columns = _fits(state, tile, direction)
            inside = _span(top, size - south)
            inside_columns = _span(left, size - 1 + south)
            for row in range(first, last + 1):
                if (rows >> row) & 1:
                    found = state["pairs"][south, row] & columns
                    if (inside >> row) & 1:
                        found &= ~inside_columns
                    count += bit_count(found)
    return count


@kernel
def _settle(state: Any) -> None:
    """Go on to the next decision or to the end of the game."""
    while True:
        phase = state["phase"]
        mover = int64(state["mover"])
        if phase == BONUS:
            candidates = liftable(state) & ~(int64(1) << int64(state["bonus_tile"]))  # R11
            if next_place(state, candidates, 0) >= 0:
                state["outside_window"] = 0
                return
        else:
            hand = int64(state["hands"][mover])
            if _can_lay(state, hand):
                state["outside_window"] = _count_outside(state, hand)
                return
            if phase == MOVE:
                state["passes"] += 1
                if state["passes"] == 2:  # R13
                    state["outside_window"] = 0
                    finish_deal(state, NOBODY, 0)
                    return
        _next_turn(state)


@kernel
def _next_turn(state: Any) -> None:
    state["mover"] = 1 - state["mover"]
    state["phase"] = MOVE
    state["bonus_tile"] = -1


@kernel
def _deal(state: Any, order: Any) -> None:
    opener = int64(state["opener"])
    hand_size = int64(state["hand_size"])
    for tile in range(NUM_TILES):
        state["tile_level"][tile] = 0
        state["tile_row"][tile] = 0
        state["tile_column"][tile] = 0
        state["tile_direction"][tile] = 0
    state["origin_row"] = 0
    state["origin_column"] = 0
    state["tile_level"][order[0]] = 1
    rebuild(state)
    state["hands"][0] = 0
    state["hands"][1] = 0
    for i in range(2 * hand_size):
        seat = opener if i % 2 == 0 else 1 - opener
        state["hands"][seat] |= int64(1) << int64(order[1 + i])
    state["pool_next"] = 0
    state["pool_size"] = POOL - 2 * hand_size
    for i in range(POOL):
        state["pool"][i] = order[1 + 2 * hand_size + i] if i < POOL - 2 * hand_size else -1
    state["mover"] = opener
    state["phase"] = MOVE
    state["bonus_tile"] = -1
    state["passes"] = 0
    _settle(state)


@kernel
def _moves(state: Any, actions: Any) -> int:
    top, left = window(state)
    size = int64(state["board_size"])
    phase = state["phase"]
    upper_planes = 4 * int64(state["hand_size"])
    count = 0
    if phase == BONUS:
        tiles = liftable(state) & ~(int64(1) << int64(state["bonus_tile"]))
    else:
        tiles = int64(state["hands"][state["mover"]])
        pairs = state["pairs"]
        inside = _near_rows(state)
        plane = int64(0)
        bits = tiles
        while bits:
            tile = trailing_zeros(bits)
            bits &= bits - 1
            for direction in range(4):
                south = direction & 1
                turned = direction >> 1  # the low half lies in the south-east
                rows, columns = _fits(state, tile, direction)
                rows &= _span(top, size - south) & inside
                columns &= _span(left, size - 1 + south)
                base = (plane * size - top + (turned & south)) * size - left + (turned & ~south)
                plane += 1
                while rows:
                    row = trailing_zeros(rows)
                    rows &= rows - 1
                    found = pairs[south, row] & columns
                    start = base + row * size
                    while found:
                        actions[count] = start + trailing_zeros(found)
                        found &= found - 1
                        count += 1
    code = next_place(state, tiles, 0)
    while code >= 0:
        plane = upper_planes + (code >> 12)
        actions[count] = (plane * size + ((code >> 6) & 63) - top) * size + (code & 63) - left
        count += 1
        code = next_place(state, tiles, code + 1)
    if phase != MOVE:
        actions[count] = (upper_planes + 2) * size * size
        count += 1
    return count


@kernel
def _low_half(tile: int, code: int) -> bool:
    """Whether a cell with this code, its height left out, shows the tile's low pip."""
    return PIP[code] == LOW[tile]


@kernel
def _describe(state: Any, action: int) -> int:
    """Return ``kind | tile + 1 | direction | row + 128 | column + 128`` in 2, 5, 2, 8 and 8 bits, for ``move_text``."""
    size = int64(state["board_size"])
    top, left = window(state)
    plane = action // (size * size)
    row = action // size - plane * size + top
    column = action % size + left
    upper = plane - 4 * int64(state["hand_size"])
    if upper == 2:
        return int64(END) << 23
    tile = int64(-1)
    if upper >= 0:
        kind = LIFT if state["phase"] == BONUS else UPPER
        direction = upper
        inside = row >= 0 and row + upper < FRAME and column >= 0 and column + 1 - upper < FRAME
        here = int64(state["cells"][row, column]) & CODE if inside else 0
        there = int64(state["cells"][row + upper, column + 1 - upper]) & CODE if inside else 0
        if here and there:
            tile = int64(FITTING[here, there])
            if not _low_half(tile, here):
                row += upper
                column += 1 - upper
                direction += 2
    else:
        kind = GROUND
        direction = plane & 3
        hand = int64(state["hands"][state["mover"]])
        for _ in range(plane >> 2):
            hand &= hand - 1
        if hand:
            tile = trailing_zeros(hand)
    row += 128 - int64(state["origin_row"])
    column += 128 - int64(state["origin_column"])
    return kind << 23 | (tile + 1) << 18 | direction << 16 | row << 8 | column


@kernel
def _draw(state: Any, seat: int) -> None:
    """Fill the hand up from the pool."""
    held = bit_count(int64(state["hands"][seat]))
    while held < state["hand_size"] and state["pool_next"] < state["pool_size"]:
        state["hands"][seat] |= int64(1) << int64(state["pool"][state["pool_next"]])
        state["pool_next"] += 1
        held += 1


@kernel
def _play_upper(state: Any, row: int, column: int, south: int) -> None:
    """Lay the tile that fits on a cell and its neighbour there, from the hand or by a lift."""
    mover = int64(state["mover"])
    here = int64(state["cells"][row, column])
    there = int64(state["cells"][row + south, column + 1 - south])
    tile = int64(FITTING[here & CODE, there & CODE])
    level = (here >> HEIGHT_SHIFT) + 2
    old_level = int64(state["tile_level"][tile])
    if old_level == 0:
        state["hands"][mover] &= ~(int64(1) << tile)
    elif old_level == 1:
        take_from_ground(state, tile)
    low_here = _low_half(tile, here & CODE)
    state["tile_level"][tile] = level
    state["tile_row"][tile] = row if low_here else row + south
    state["tile_column"][tile] = column if low_here else column + 1 - south
    state["tile_direction"][tile] = south if low_here else south + 2
    if level == WINNING_LEVEL:
        rebuild(state)  # the tile may have uncovered others
        state["outside_window"] = 0
        finish_deal(state, mover, 1)
        return
    cover(state, tile)
    if old_level == 0:
        _draw(state, mover)
        _next_turn(state)
    else:
        state["phase"] = FURTHER
        state["bonus_tile"] = -1
    _settle(state)


@kernel
def _play(state: Any, action: int) -> None:
    size = int64(state["board_size"])
    top, left = window(state)
    plane = action // (size * size)
    row = action // size - plane * size + top
    column = action % size + left
    upper = plane - 4 * int64(state["hand_size"])
    state["passes"] = 0
    if upper == 2:  # end
        _next_turn(state)
        _settle(state)
    elif upper >= 0:
        _play_upper(state, row, column, upper)
    else:
        mover = int64(state["mover"])
        hand = int64(state["hands"][mover])
        for _ in range(plane >> 2):
            hand &= hand - 1
        tile = trailing_zeros(hand)
        state["hands"][mover] &= ~(int64(1) << tile)
        lay_on_ground(state, tile, row, column, plane & 3)
        _draw(state, mover)
        state["phase"] = BONUS
        state["bonus_tile"] = tile
        _settle(state)


def _mover_info(state: Any) -> dict[str, Any]:
    return {"outside_window": int(state["outside_window"])}


register(STATE, Kernels(_deal, _moves, _describe, _play, observe, reveal))


def _check(name: str, value: Any, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not low <= value <= high:
        raise ValueError(f"{name} must be a whole number from {low} to {high}, got {value!r}")
    return int(value)


def make_game(hand_size: int = 3, board_size: int = 23) -> Game:
    """Return the table of Third Level.

    Args:
        hand_size: tiles in a hand, 1 to 10.
        board_size: rows and columns of the window through which actions and observations see the table, 7 to 41.

    Raises:
        ValueError: for a parameter out of range.
    """
    hand_size = _check("hand_size", hand_size, 1, 10)
    board_size = _check("board_size", board_size, 7, 41)
    template = np.zeros(1, dtype=STATE)
    template["hand_size"] = hand_size
    template["board_size"] = board_size
    return Game(
        name="third_level",
        title="Third Level",
        rules_version=1,
        parameters={"hand_size": hand_size, "board_size": board_size},
        template=template,
        num_tiles=NUM_TILES,
        num_actions=(4 * hand_size + 2) * board_size**2 + 1,
        layout=make_layout(hand_size, board_size),
        hidden=HIDDEN,
        episodes={"match": 1, "deal": 1},
        deals_per_order=1,
        move_text=move_text,
        text=text,
        mover_info=_mover_info,
    )
