"""Mate solved: the exact value of any position and of each of its moves.

Mate hides nothing and has no chance after the deal, so alpha-beta search gives its value outright. What is still to be
won depends on the two hands, the pip to touch and the number of tiles on the table, so that tuple keys a transposition
table; the move that leaves the opponent the fewest replies is searched first. The stack is explicit, because Numba
cannot cache recursive functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bits import bit_count, mix_uint64, trailing_zeros
from ..games.kernels import aligned, moves, play
from ..games.mate import HIGH, LOW, STATE, TILES_WITH_PIP
from ..jit import int64, kernel

__all__ = ["NO_VALUE", "mate_value", "mate_values"]

#: Stands in :func:`mate_values` where an action is not legal.
NO_VALUE = -(2**15)

_BEYOND = 1000  # more than any game is worth: 21 tiles on the table, 11 pips on the last
_PIPS = (LOW + HIGH).astype(np.int64)
_OTHER_PIP = np.array([[LOW[t] + HIGH[t] - pip for t in range(21)] for pip in range(7)], dtype=np.int64)
_TABLE_SIZE = 1 << 13
_EXACT, _AT_LEAST, _AT_MOST = 0, 1, 2

_FRAME = np.dtype(
    [
        ("mine", np.int64),  # hands as bit sets, from the view of the player to move
        ("theirs", np.int64),
        ("pip", np.int64),  # to be touched
        ("waiting", np.int64),  # moves still to be searched
        ("alpha", np.int64),
        ("beta", np.int64),
        ("alpha_at_entry", np.int64),
        ("best", np.int64),
        ("key", np.int64),
    ]
)
_ENTRY = np.dtype([("key", np.int64), ("value", np.int32), ("bound", np.int32)])


@kernel
def _slot(key: int) -> int:
    return int64(mix_uint64(np.uint64(key)) & np.uint64(_TABLE_SIZE - 1))


@kernel
def _fewest_replies(waiting: int, theirs: int, pip: int) -> int:
    chosen, fewest = int64(0), int64(7)
    while waiting:
        tile = trailing_zeros(waiting)
        waiting &= waiting - 1
        replies = bit_count(theirs & TILES_WITH_PIP[_OTHER_PIP[pip, tile]])
        if replies < fewest:
            chosen, fewest = tile, replies
    return chosen


@kernel
def _search(state: Any, alpha: int, beta: int, stack: Any, table: Any) -> int:
    """Return the value for the mover, exact if between the bounds; not for a first move, a move must be possible."""
    mover = int64(state["mover"])
    start = int64(state["count"])
    frame = stack[0]
    frame["mine"], frame["theirs"] = state["hands"][mover], state["hands"][1 - mover]
    frame["pip"] = state["open_pip"]
    frame["alpha"], frame["beta"] = alpha, beta
    depth = 0
    entering = True
    value = int64(0)
    while True:
        frame = stack[depth]
        theirs, pip = frame["theirs"], frame["pip"]
        if entering:
            count = start + depth
            key = frame["mine"] | theirs << 21 | pip << 42 | count << 45
            entry = table[_slot(key)]
            known = False
            if entry["key"] == key:
                value = int64(entry["value"])
                bound = entry["bound"]
                known = (
                    bound == _EXACT
                    or (bound == _AT_LEAST and value >= frame["beta"])
                    or (bound == _AT_MOST and value <= frame["alpha"])
                )
            if not known:
                best = int64(-_BEYOND)
                waiting = int64(0)
                candidates = frame["mine"] & TILES_WITH_PIP[pip]
                while candidates:
                    tile = trailing_zeros(candidates)
                    candidates &= candidates - 1
                    if theirs & TILES_WITH_PIP[_OTHER_PIP[pip, tile]]:
                        waiting |= int64(1) << tile
                    else:
                        best = max(best, (count + 1) * _PIPS[tile])
                value = best
                known = waiting == 0 or best >= frame["beta"]
                frame["key"] = key
                frame["waiting"] = waiting
                frame["best"] = best
                frame["alpha_at_entry"] = frame["alpha"]
                frame["alpha"] = max(frame["alpha"], best)
        else:
            best = max(frame["best"], value)
            frame["best"] = best
            frame["alpha"] = max(frame["alpha"], best)
            value = best
            known = best >= frame["beta"] or frame["waiting"] == 0
            if known:
                entry = table[_slot(frame["key"])]
                entry["key"] = frame["key"]
                entry["value"] = best
                entry["bound"] = (
                    _AT_LEAST if best >= frame["beta"] else _AT_MOST if best <= frame["alpha_at_entry"] else _EXACT
                )
        if known:
            if depth == 0:
                return value
            value = -value
            depth -= 1
            entering = False
            continue
        tile = _fewest_replies(frame["waiting"], theirs, pip)
        frame["waiting"] &= ~(int64(1) << tile)
        child = stack[depth + 1]
        child["mine"], child["theirs"] = theirs, frame["mine"] & ~(int64(1) << tile)
        child["pip"] = _OTHER_PIP[pip, tile]
        child["alpha"], child["beta"] = -frame["beta"], -frame["alpha"]
        depth += 1
        entering = True


@kernel
def _solve(states: Any, all_moves: bool, values: Any, child: Any, actions: Any, stack: Any, table: Any) -> None:
    for row in range(len(states)):
        best = int64(-_BEYOND)
        for i in range(moves(states[row], actions)):
            child[0] = states[row]
            state = child[0]
            play(state, int64(actions[i]))
            if state["deal_over"]:
                value = int64(state["points"][state["finished"] - 1])
            else:
                value = -_search(state, -_BEYOND, _BEYOND if all_moves else -best, stack, table)
            if all_moves:
                values[row, actions[i]] = value
            best = max(best, value)
        if not all_moves:
            values[row, 0] = best


def _run(states: NDArray[Any], all_moves: bool, values: NDArray[np.int16]) -> NDArray[np.int16]:
    if not isinstance(states, np.ndarray) or states.dtype != STATE or states.ndim != 1:
        raise ValueError(f"states must be records of Mate, shape (n,), got {getattr(states, 'dtype', type(states))}")
    ended = np.flatnonzero(states["deal_over"])
    if len(ended):
        raise ValueError(f"states[{ended[0]}] has no move to value: its game is over")
    states = aligned(states, STATE)
    table = np.zeros(_TABLE_SIZE, dtype=_ENTRY)  # no position has key 0
    child, actions = np.zeros(1, dtype=STATE), np.zeros(42, dtype=np.int32)
    _solve(states, all_moves, values, child, actions, np.zeros(24, dtype=_FRAME), table)
    return values


def mate_values(states: NDArray[Any]) -> NDArray[np.int16]:
    """Return what each legal move is worth when both go on to play for the most points.

    Args:
        states: records of Mate, shape ``(n,)``, each with its game not over.

    Returns:
        ``int16 (n, 42)``: the running game's points, for the mover positive, by action; :data:`NO_VALUE` where the
        action is not legal.

    Raises:
        ValueError: for records of another game, and where the game is over.
    """
    return _run(states, True, np.full((len(states), 42), NO_VALUE, dtype=np.int16))


def mate_value(states: NDArray[Any]) -> NDArray[np.int16]:
    """Return what each position is worth to its mover, ``int16 (n,)``; see :func:`mate_values`."""
    return _run(states, False, np.zeros((len(states), 1), dtype=np.int16))[:, 0]
