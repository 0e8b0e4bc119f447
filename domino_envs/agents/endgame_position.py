"""Positions of Domaster and Five Bridges packed for the endgame solver.

A position is a few integers in a frame of the solver's stack. Positions that differ by the order of chains, of columns,
or of the two sides of a chain have the same hash.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bits import mix_uint64
from ..games.domaster import COLUMNS, HIGH, LOW, NEW_CHAIN, PASS, PIPS, REACH, SLOTS
from ..jit import int64, kernel

__all__ = [
    "COLUMN",
    "FRAME",
    "ONE_LEFT",
    "apply",
    "decisive_pip",
    "load",
    "open_slots",
    "playable_pips",
    "tiles_on_table",
]

_BITS = 12  # of a pip's slots, five pips to an integer
ONE_LEFT = 2 * REACH - 1  # tiles laid to a chain's first when one is missing
_CLOSED = PIPS * REACH  # code of a side that takes no more tiles; else pip * REACH + grown


def _symmetric_keys() -> NDArray[np.int64]:
    keys = np.random.default_rng(55).integers(1, 1 << 56, (_CLOSED + 1, _CLOSED + 1), dtype=np.int64)
    return np.tril(keys) + np.tril(keys, -1).T


#: Keys of 56 bits, so that those of five chains and 18 columns add up without overflow.
_CHAIN_KEYS = _symmetric_keys()

FRAME = np.dtype(
    [
        ("lefts", np.int64),  # tiles left, 2 bits for each seat and column
        ("ends", np.int64),  # pip, 4 bits for each slot
        ("grown", np.int64),  # tiles laid, 3 bits for each slot
        ("slots", np.int64, (2,)),  # slots open to pips 0 to 4, and to pips 5 to 9
        ("chains", np.int64),
        ("passed", np.int64),
        ("decisive", np.int64),  # pips at the open ends of chains that lack one tile
        ("hash", np.int64),  # sum of the keys of chains and columns
        ("key", np.int64),
        ("alpha", np.int64),
        ("beta", np.int64),
        ("alpha_at_entry", np.int64),
        ("best", np.int64),
        ("count", np.int64),
        ("next", np.int64),
        ("moves", np.int16, (COLUMNS * SLOTS + 1,)),
    ],
    align=True,
)
#: Of each seat's columns, by tiles left: the playable tile's pips, as numbers and as bits, and the column's key.
COLUMN = np.dtype([("low", np.int64), ("high", np.int64), ("pips", np.int64), ("key", np.int64)])


@kernel
def tiles_on_table(state: Any) -> int:
    """Return the number of tiles in chains."""
    count = int64(state["chains"])
    for chain in range(state["chains"]):
        count += int64(state["grown"][chain, 0]) + int64(state["grown"][chain, 1])
    return count


@kernel
def _chain_key(ends: int, grown: int, chain: int) -> int:
    left, right = (grown >> 6 * chain) & 7, (grown >> (6 * chain + 3)) & 7
    left_code = ((ends >> 8 * chain) & 15) * REACH + left if left < REACH else _CLOSED
    right_code = ((ends >> (8 * chain + 4)) & 15) * REACH + right if right < REACH else _CLOSED
    return _CHAIN_KEYS[left_code, right_code]


@kernel
def open_slots(frame: Any, pip: int) -> int:
    """Return the bit set of the slots that take a tile with this pip."""
    return (frame["slots"][pip // 5] >> (_BITS * (pip % 5))) & ((1 << _BITS) - 1)


@kernel
def _flip_slot(frame: Any, pip: int, slot: int) -> None:
    frame["slots"][pip // 5] ^= int64(1) << (_BITS * (pip % 5) + slot)


@kernel
def load(state: Any, frame: Any, columns: Any) -> None:
    """Pack a record into a frame, and what its columns hold into a table ``(2, COLUMNS, ROWS + 1)``."""
    frame["lefts"] = frame["ends"] = frame["grown"] = frame["decisive"] = frame["hash"] = 0
    frame["slots"][0] = frame["slots"][1] = 0
    frame["chains"], frame["passed"] = state["chains"], state["passed"]
    for seat in range(2):
        for column in range(COLUMNS):
            content = int64(60 + seat)  # no tile has such a number
            columns[seat, column, 0]["low"] = columns[seat, column, 0]["high"] = 0
            columns[seat, column, 0]["pips"] = columns[seat, column, 0]["key"] = 0
            left = int64(state["left"][seat, column])
            for row in range(left):
                tile = int64(state["columns"][seat, column, row])
                entry = columns[seat, column, row + 1]
                entry["low"], entry["high"] = LOW[tile], HIGH[tile]
                entry["pips"] = int64(1) << int64(LOW[tile]) | int64(1) << int64(HIGH[tile])
                content = content * 64 + tile + 1
                entry["key"] = int64(mix_uint64(np.uint64(content)) >> np.uint64(8))
            frame["lefts"] |= left << (2 * (COLUMNS * seat + column))
            frame["hash"] += columns[seat, column, left]["key"]
    for slot in range(2 * int64(state["chains"])):
        pip = int64(state["ends"][slot >> 1, slot & 1])
        grown = int64(state["grown"][slot >> 1, slot & 1])
        frame["ends"] |= pip << (4 * slot)
        frame["grown"] |= grown << (3 * slot)
        if grown < REACH:
            _flip_slot(frame, pip, slot)
            if grown + state["grown"][slot >> 1, 1 - (slot & 1)] == ONE_LEFT:
                frame["decisive"] |= int64(1) << pip
    for chain in range(state["chains"]):
        frame["hash"] += _chain_key(frame["ends"], frame["grown"], chain)


@kernel
def apply(frame: Any, child: Any, mover: int, action: int, columns: Any) -> None:
    """Write the position after an action into the next frame."""
    child["lefts"], child["ends"], child["grown"] = frame["lefts"], frame["ends"], frame["grown"]
    child["slots"][0], child["slots"][1] = frame["slots"][0], frame["slots"][1]
    child["chains"], child["decisive"], child["hash"] = frame["chains"], frame["decisive"], frame["hash"]
    child["passed"] = int64(action == PASS)
    if action == PASS:
        return
    column, slot = action // SLOTS, action % SLOTS
    shift = 2 * (COLUMNS * mover + column)
    left = (frame["lefts"] >> shift) & 3
    low, high = columns[mover, column, left]["low"], columns[mover, column, left]["high"]
    child["hash"] += columns[mover, column, left - 1]["key"] - columns[mover, column, left]["key"]
    child["lefts"] -= int64(1) << shift
    if slot == NEW_CHAIN:
        chain = frame["chains"]
        child["ends"] |= (low | high << 4) << (8 * chain)
        _flip_slot(child, low, 2 * chain)
        _flip_slot(child, high, 2 * chain + 1)
        child["chains"] += 1
    else:
        chain = slot >> 1
        child["hash"] -= _chain_key(frame["ends"], frame["grown"], chain)
        pip = (frame["ends"] >> 4 * slot) & 15
        free = low + high - pip
        child["ends"] ^= (pip ^ free) << (4 * slot)
        child["grown"] += int64(1) << (3 * slot)
        _flip_slot(child, pip, slot)
        if (child["grown"] >> 3 * slot) & 7 < REACH:
            _flip_slot(child, free, slot)
        last = decisive_pip(frame, slot, low + high)
        if last >= 0:
            child["decisive"] |= int64(1) << last
    child["hash"] += _chain_key(child["ends"], child["grown"], chain)


@kernel
def decisive_pip(frame: Any, slot: int, pips: int) -> int:
    """Return the pip that ends the game once a tile with this sum of pips is laid on a slot; -1 for none."""
    grown, other = (frame["grown"] >> 3 * slot) & 7, (frame["grown"] >> 3 * (slot ^ 1)) & 7
    if grown + 1 + other != ONE_LEFT:
        return -1
    if grown + 1 < REACH:
        return pips - ((frame["ends"] >> 4 * slot) & 15)
    return (frame["ends"] >> 4 * (slot ^ 1)) & 15


@kernel
def playable_pips(frame: Any, seat: int, columns: Any, without: int) -> int:
    """Return the pips of the seat's playable tiles as a bit set, those of one column left out."""
    found = int64(0)
    for column in range(COLUMNS):
        if column != without:
            found |= columns[seat, column, (frame["lefts"] >> 2 * (COLUMNS * seat + column)) & 3]["pips"]
    return found
