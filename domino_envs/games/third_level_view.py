"""Third Level as the seats see it: the layout of observations, and the kernels that write them."""

from __future__ import annotations

from typing import Any

from ..bits import bit_count
from ..jit import int64, kernel
from .layout import Field, Layout
from .third_level_board import (
    CODE,
    FITTING,
    HEIGHT_SHIFT,
    HIGH,
    LOW,
    NUM_TILES,
    POOL,
    WINNING_LEVEL,
    cells_of,
    liftable,
    next_place,
    window,
)

__all__ = ["HIDDEN", "make_layout", "observe", "reveal"]

MAX_PLACES = 10  # five other tiles hold the low pip, and each of these halves has the high one at most once a line
ALL_TILES = (1 << NUM_TILES) - 1


def make_layout(hand_size: int, board_size: int) -> Layout:
    """Return the fields of an observation."""
    board = (board_size, board_size)
    tiles = (NUM_TILES,)
    return Layout(
        [
            Field("pips", board, 0, 7, "1 + the pips that show in a cell of the window, 0 where it is empty"),
            Field("height", board, 0, 3, "tiles on top of each other in the cell"),
            Field(
                "ground_link",
                board,
                0,
                4,
                "side of the other half of its ground tile: 1 east, 2 south, 3 west, 4 north",
            ),
            Field("upper_link", board, 0, 4, "the same for the tile of the second level"),
            Field("my_hand", tiles, 0, 1, "tiles in my hand"),
            Field("unseen", tiles, 0, 1, "tiles neither on the table nor in my hand"),
            Field("tile_level", tiles, 0, 3, "level on which the tile lies, 0 if not on the table"),
            Field("tile_row", tiles, 0, board_size, "1 + window row of its low half, 0 if not on the table"),
            Field("tile_column", tiles, 0, board_size, "1 + window column of its low half, 0 if not on the table"),
            Field("tile_direction", tiles, 0, 4, "its high half from there: 1 east, 2 south, 3 west, 4 north"),
            Field("liftable", tiles, 0, 1, "1 if uncovered, and not needed to hold the ground together"),
            Field("places_2", tiles, 0, MAX_PLACES, "places on the second level that would carry the tile"),
            Field("places_3", tiles, 0, MAX_PLACES, "places on the third level that would carry the tile"),
            Field("bonus_tile", tiles, 0, 1, "one-hot tile that earned the running bonus"),
            Field("phase", (3,), 0, 1, "one-hot: move, bonus, further move"),
            Field("my_turn", (), 0, 1, "1 if I am to move"),
            Field("their_hand_count", (), 0, hand_size, "tiles in the opponent's hand"),
            Field("pool_count", (), 0, max(1, POOL - 2 * hand_size), "tiles left in the pool"),
            Field("passed", (), 0, 1, "1 if the last turn was a pass"),
            Field("opened", (), 0, 1, "1 if I opened the game"),
        ]
    )


HIDDEN = Layout(
    [
        Field("their_hand", (NUM_TILES,), 0, 1, "tiles in the hand of the other seat"),
        Field("pool", (POOL,), 0, NUM_TILES, "1 + tile, for the tiles left in the pool in draw order, then 0"),
    ]
)


@kernel
def observe(state: Any, seat: int, vector: Any) -> None:
    """Write what a seat may know: the board is the same for both."""
    size = int64(state["board_size"])
    area = size * size
    top, left = window(state)
    facts = 4 * area
    my_turn = facts + 10 * NUM_TILES + 3
    vector[: my_turn + 5] = 0
    mine = int64(state["hands"][seat])
    lift = liftable(state)
    for tile in range(NUM_TILES):
        fact = facts + tile
        level = state["tile_level"][tile]
        if level:
            row, column, high_row, high_column = cells_of(state, tile)
            row -= top
            column -= left
            direction = int64(state["tile_direction"][tile])
            low = row * size + column
            high = (high_row - top) * size + high_column - left
            if level == 1:
                vector[low] = LOW[tile] + 1
                vector[high] = HIGH[tile] + 1
            if level < WINNING_LEVEL:
                vector[(level + 1) * area + low] = direction + 1
                vector[(level + 1) * area + high] = (direction + 2) % 4 + 1
            vector[area + low] = max(vector[area + low], level)
            vector[area + high] = max(vector[area + high], level)
            vector[fact + 2 * NUM_TILES] = level
            vector[fact + 3 * NUM_TILES] = row + 1
            vector[fact + 4 * NUM_TILES] = column + 1
            vector[fact + 5 * NUM_TILES] = direction + 1
            vector[fact + 6 * NUM_TILES] = (lift >> tile) & 1
        elif (mine >> tile) & 1:
            vector[fact] = 1
        else:
            vector[fact + NUM_TILES] = 1
    code = next_place(state, ALL_TILES, 0)
    while code >= 0:
        direction, row, column = code >> 12, (code >> 6) & 63, code & 63
        here = int64(state["cells"][row, column])
        there = int64(state["cells"][row + direction, column + 1 - direction])
        vector[facts + (7 + (here >> HEIGHT_SHIFT)) * NUM_TILES + FITTING[here & CODE, there & CODE]] += 1
        code = next_place(state, ALL_TILES, code + 1)
    if state["bonus_tile"] >= 0:
        vector[facts + 9 * NUM_TILES + state["bonus_tile"]] = 1
    vector[my_turn - 3 + state["phase"]] = 1
    vector[my_turn] = state["mover"] == seat and not state["deal_over"]
    vector[my_turn + 1] = bit_count(int64(state["hands"][1 - seat]))
    vector[my_turn + 2] = state["pool_size"] - state["pool_next"]
    vector[my_turn + 3] = state["passes"] > 0
    vector[my_turn + 4] = state["opener"] == seat


@kernel
def reveal(state: Any, vector: Any) -> None:
    """Write the hand of seat 1 and the pool."""
    theirs = int64(state["hands"][1])
    for tile in range(NUM_TILES):
        vector[tile] = (theirs >> tile) & 1
    drawn = int64(state["pool_next"])
    for i in range(POOL):
        vector[NUM_TILES + i] = state["pool"][drawn + i] + 1 if drawn + i < POOL else 0
