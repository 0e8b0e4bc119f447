"""Domaster and Five Bridges: five chains, the double-nine set, everything open.

Source: the game's Polish description (invented by Andrzej Lewicki); readings R1 to R5 are stated on the pages of
:mod:`domino_envs.domaster_v0` and :mod:`domino_envs.five_bridges_v0`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..bits import copy_16, trailing_zeros
from ..jit import int64, kernel
from ..tiles import DOUBLE_NINE as TILES
from .game import Game
from .kernels import HEADER, NOBODY, Kernels, finish_deal, register
from .layout import Field, Layout

__all__ = ["STATE", "make_domaster", "make_five_bridges"]

NUM_TILES = 55
COLUMNS = 9
ROWS = 3
CHAINS = 5
REACH = 5  # tiles on each side of a chain's first
SLOTS = 11  # per column: two ends of each chain, a new chain
NEW_CHAIN = 10
PASS = 99
PIPS = 10
LOW = TILES.low
HIGH = TILES.high

STATE = np.dtype(
    [
        *HEADER,
        ("starters", np.int8),  # 1 in Domaster, 5 in Five Bridges
        ("columns", np.int8, (2, COLUMNS, ROWS)),  # tiles by seat, in the order laid: the last one left is playable
        ("left", np.int8, (2, COLUMNS)),  # tiles left in each column
        ("chains", np.int8),  # chains started
        ("ends", np.int8, (CHAINS, 2)),  # pip at each end, -1 while the chain is not started
        ("grown", np.int8, (CHAINS, 2)),  # tiles laid on each side of the first
        ("slots", np.int16, (PIPS,)),  # bit set of the slots 2 * chain + side open to each pip
        ("passed", np.int8),  # the last action was a pass
        ("table", np.int8, (CHAINS, 2 * REACH + 1)),  # 2 * tile + turned, left to right, -1 where none
    ],
    align=True,
)

LAYOUT = Layout(
    [
        Field(
            "my_columns", (COLUMNS, ROWS, PIPS), 0, 2, "halves with each pip on my tiles by column; row 0 is playable"
        ),
        Field("their_columns", (COLUMNS, ROWS, PIPS), 0, 2, "the same for the opponent's tiles"),
        Field("end_pips", (CHAINS, 2, PIPS), 0, 1, "one-hot pip at each end (left, right) that still takes a tile"),
        Field("end_grown", (CHAINS, 2), 0, REACH, "tiles laid on that side of the chain's first"),
        Field("chain_started", (CHAINS,), 0, 1, "1 if the chain has its first tile"),
        Field("passed", (), 0, 1, "1 if the last action of this deal was a pass"),
        Field("deal", (), 0, 4, "number of this deal in the episode"),
        Field("deals_left", (), 0, 4, "deals still to come after this one"),
        Field("opened", (), 0, 1, "1 if I opened this deal"),
        Field("my_deals", (), 0, 5, "deals that I have won"),
        Field("their_deals", (), 0, 5, "deals that the opponent has won"),
    ]
)
#: Halves with each pip by tile, padded to 16; the last row is no tile.
HALVES = np.zeros((NUM_TILES + 1, 16), dtype=np.int8)
np.add.at(HALVES, (np.arange(NUM_TILES), LOW), 1)
np.add.at(HALVES, (np.arange(NUM_TILES), HIGH), 1)
_END_PIPS = LAYOUT.start("end_pips")
_END_GROWN = LAYOUT.start("end_grown")
_STARTED = LAYOUT.start("chain_started")
_REST = LAYOUT.start("passed")
_SIZE = LAYOUT.size


@kernel
def _start_chain(state: Any, tile: int) -> None:
    chain = int64(state["chains"])
    state["chains"] = chain + 1
    state["ends"][chain, 0] = LOW[tile]
    state["ends"][chain, 1] = HIGH[tile]
    state["slots"][LOW[tile]] |= 1 << (2 * chain)
    state["slots"][HIGH[tile]] |= 1 << (2 * chain + 1)
    state["table"][chain, REACH] = 2 * tile


@kernel
def _deal(state: Any, order: Any) -> None:
    state["chains"] = 0
    state["passed"] = 0
    for pip in range(PIPS):
        state["slots"][pip] = 0
    for chain in range(CHAINS):
        for side in range(2):
            state["ends"][chain, side] = -1
            state["grown"][chain, side] = 0
        for place in range(2 * REACH + 1):
            state["table"][chain, place] = -1
    for seat in range(2):
        for column in range(COLUMNS):
            state["left"][seat, column] = 0
            for row in range(ROWS):
                state["columns"][seat, column, row] = -1
    starters = int64(state["starters"])
    opener = int64(state["opener"])
    for i in range(starters):
        _start_chain(state, order[i])
    for i in range(NUM_TILES - starters):
        seat = opener if i % 2 == 0 else 1 - opener
        place = i // 2
        state["columns"][seat, place % COLUMNS, place // COLUMNS] = order[starters + i]
        state["left"][seat, place % COLUMNS] += 1
    state["mover"] = opener


@kernel
def _moves(state: Any, actions: Any) -> int:
    mover = int64(state["mover"])
    new_chain = 1 << NEW_CHAIN if state["chains"] < CHAINS else 0
    count = 0
    for column in range(COLUMNS):
        left = state["left"][mover, column]
        if left:
            tile = state["columns"][mover, column, left - 1]
            bits = int64(state["slots"][LOW[tile]] | state["slots"][HIGH[tile]] | new_chain)
            while bits:
                actions[count] = SLOTS * column + trailing_zeros(bits)
                bits &= bits - 1
                count += 1
    if count == 0:
        actions[0] = PASS
        count = 1
    return count


@kernel
def _describe(state: Any, action: int) -> int:
    """Return ``action + 128 * (tile + 1)``; no tile for a pass and an empty column."""
    if action == PASS:
        return action
    column = action // SLOTS
    left = state["left"][state["mover"], column]
    if left == 0:
        return action
    return action + 128 * (int64(state["columns"][state["mover"], column, left - 1]) + 1)


@kernel
def _play(state: Any, action: int) -> None:
    mover = int64(state["mover"])
    state["mover"] = 1 - mover
    if action == PASS:
        if state["passed"]:
            finish_deal(state, NOBODY, 0)  # R2
        state["passed"] = 1
        return
    state["passed"] = 0
    column = action // SLOTS
    slot = action % SLOTS
    left = state["left"][mover, column] - 1
    state["left"][mover, column] = left
    tile = int64(state["columns"][mover, column, left])
    if slot == NEW_CHAIN:
        _start_chain(state, tile)
        return
    chain, side = slot >> 1, slot & 1
    pip = state["ends"][chain, side]
    low_touches = LOW[tile] == pip
    free = HIGH[tile] if low_touches else LOW[tile]
    grown = state["grown"][chain, side] + 1
    state["grown"][chain, side] = grown
    state["ends"][chain, side] = free
    bit = int64(1) << slot
    state["slots"][pip] &= ~bit
    if side == 0:
        state["table"][chain, REACH - grown] = 2 * tile + (1 if low_touches else 0)
    else:
        state["table"][chain, REACH + grown] = 2 * tile + (0 if low_touches else 1)
    if grown < REACH:
        state["slots"][free] |= bit
    elif state["grown"][chain, 1 - side] == REACH:
        finish_deal(state, mover, 1)


@kernel
def _observe(state: Any, seat: int, vector: Any) -> None:
    at = 0
    for view in range(2):
        columns = state["columns"][seat if view == 0 else 1 - seat]
        lefts = state["left"][seat if view == 0 else 1 - seat]
        for column in range(COLUMNS):
            for row in range(ROWS):
                place = lefts[column] - 1 - row
                tile = int64(columns[column, place]) if place >= 0 else NUM_TILES
                copy_16(HALVES, tile, vector, at)  # its last six bytes are overwritten by what follows
                at += PIPS
    for i in range(at, _SIZE):
        vector[i] = 0
    for chain in range(state["chains"]):
        for side in range(2):
            grown = state["grown"][chain, side]
            if grown < REACH:
                vector[_END_PIPS + (2 * chain + side) * PIPS + int64(state["ends"][chain, side])] = 1
            vector[_END_GROWN + 2 * chain + side] = grown
        vector[_STARTED + chain] = 1
    vector[_REST] = state["passed"]
    vector[_REST + 1] = state["deal"]
    vector[_REST + 2] = state["deals"] - 1 - state["deal"]
    vector[_REST + 3] = state["opener"] == seat
    vector[_REST + 4] = state["scores"][seat]
    vector[_REST + 5] = state["scores"][1 - seat]


@kernel
def _reveal(state: Any, vector: Any) -> None:
    pass  # everything is open


def _move_text(code: int) -> str:
    action = code % 128
    if action == PASS:
        return "pass"
    column, slot = divmod(action, SLOTS)
    tile = TILES.names[code // 128 - 1] if code >= 128 else "none"
    where = "new" if slot == NEW_CHAIN else f"{slot // 2 + 1}{'LR'[slot % 2]}"
    return f"{column + 1}:{tile} {where}"


def _chain_text(state: Any, chain: int) -> str:
    halves = []
    for code in state["table"][chain]:
        if code >= 0:
            low, high = LOW[code // 2], HIGH[code // 2]
            halves.append(f"[{high}|{low}]" if code % 2 else f"[{low}|{high}]")
    left, right = state["grown"][chain]
    return f"  {chain + 1}: {''.join(halves)}   room: {REACH - left} left, {REACH - right} right"


def _columns_text(state: Any, seat: int) -> list[str]:
    rows = []
    for row in range(ROWS):
        depth = ROWS - 1 - row  # 0 = playable
        cells = []
        for column in range(COLUMNS):
            left = int(state["left"][seat, column])
            cells.append(TILES.names[state["columns"][seat, column, left - 1 - depth]] if depth < left else "   ")
        rows.append("  " + ("> " if depth == 0 else "  ") + "  ".join(cells))
    return rows


def _text(state: Any, seat: int | None = None) -> str:
    """Draw the chains and both layouts; the tiles that may be played stand in the row marked ``>``."""
    lines = [
        f"Deal {state['deal'] + 1} of {state['deals']}, opened by player_{state['opener']}; "
        f"won: player_0 {state['scores'][0]}, player_1 {state['scores'][1]}",
        "Chains:",
        *(_chain_text(state, chain) for chain in range(state["chains"])),
    ]
    for seat in range(2):
        lines += [
            f"player_{seat}:",
            "    " + "  ".join(f" {c + 1} " for c in range(COLUMNS)),
            *_columns_text(state, seat),
        ]
    lines.append("Over" if state["over"] else f"player_{state['mover']} to move")
    return "\n".join(lines)


register(STATE, Kernels(_deal, _moves, _describe, _play, _observe, _reveal))


def _make(name: str, title: str, starters: int) -> Game:
    template = np.zeros(1, dtype=STATE)
    template["starters"] = starters
    return Game(
        name=name,
        title=title,
        rules_version=1,
        parameters={},
        template=template,
        num_tiles=NUM_TILES,
        num_actions=COLUMNS * SLOTS + 1,
        layout=LAYOUT,
        hidden=Layout([]),
        episodes={"match": 5, "deal": 1},
        deals_per_order=1,
        move_text=_move_text,
        text=_text,
    )


def make_domaster() -> Game:
    """Return Domaster's table."""
    return _make("domaster", "Domaster", 1)


def make_five_bridges() -> Game:
    """Return the table of Five Bridges, Domaster's variant with five starters."""
    return _make("five_bridges", "Five Bridges", 5)
