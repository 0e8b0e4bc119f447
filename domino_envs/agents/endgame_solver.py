"""Endgames of Domaster and Five Bridges solved: win, draw or loss, when few enough tiles are left.

Alpha-beta search with a transposition table and an explicit stack. A position is packed into a few integers. What helps
most is to see a result two moves ahead: a chain that lacks one tile is finished by whoever moves next and has a tile
for it, and nothing can be done against that, so such chains and the pips at their open ends decide at once.

Positions that differ by the order of chains, of columns, or of the two sides of a chain share an entry of the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bits import bit_count, trailing_zeros
from ..games.domaster import CHAINS, COLUMNS, NEW_CHAIN, PASS, REACH, ROWS, SLOTS, STATE
from ..games.kernels import aligned, moves, play
from ..jit import int64, kernel
from .endgame_position import (
    COLUMN,
    FRAME,
    ONE_LEFT,
    apply,
    decisive_pip,
    load,
    open_slots,
    playable_pips,
    tiles_on_table,
)

__all__ = ["NO_VALUE", "UNKNOWN", "EndgameSolver", "tiles_on_table"]

#: Stands in :meth:`EndgameSolver.values` where an action is not legal, and where the budget was too small.
NO_VALUE, UNKNOWN = -128, -127

_DEEPEST = 120  # actions: 54 tiles, and no two passes without a tile between them
_ENTRY = np.dtype([("key", np.int64), ("low", np.int8), ("high", np.int8), ("move", np.int16)], align=True)


@kernel
def _urgency(frame: Any, mover: int, column: int, slot: int, bits: int, columns: Any) -> int:
    """Rate a move for its place in the order, lower is earlier: leave the opponent little to play. Found by trial."""
    left = (frame["lefts"] >> 2 * (COLUMNS * mover + column)) & 3
    tile, below = columns[mover, column, left], columns[mover, column, left - 1]
    urgency = bit_count(bits)
    if left > 1:
        urgency -= bit_count(open_slots(frame, below["low"]) | open_slots(frame, below["high"]))
    if slot == NEW_CHAIN:
        return urgency + 5
    grown, other = (frame["grown"] >> 3 * slot) & 7, (frame["grown"] >> 3 * (slot ^ 1)) & 7
    pip = (frame["ends"] >> 4 * slot) & 15
    free = tile["low"] + tile["high"] - pip
    stays_open = int64(grown + 1 < REACH)
    for i in range(COLUMNS):
        theirs = columns[1 - mover, i, (frame["lefts"] >> 2 * (COLUMNS * (1 - mover) + i)) & 3]["pips"]
        mine = columns[mover, i, (frame["lefts"] >> 2 * (COLUMNS * mover + i)) & 3]["pips"]
        urgency += 3 * (stays_open & theirs >> free) - 3 * (theirs >> pip & 1)
        urgency -= (stays_open & mine >> free) - (mine >> pip & 1)
    if grown + other + 1 == ONE_LEFT - 1:
        urgency -= 3
    return urgency


@kernel
def _list_moves(frame: Any, mover: int, columns: Any, first: int, order: Any) -> int:
    """Write the moves worth a search into the frame, best first.

    Returns:
        1 if a move wins, -1 if every move loses, 0 for a draw by passing, each seen at once; else 2.
    """
    theirs = playable_pips(frame, 1 - mover, columns, -1)
    new_chain = 1 << NEW_CHAIN if frame["chains"] < CHAINS else 0
    legal, count = 0, int64(0)
    for column in range(COLUMNS):
        left = (frame["lefts"] >> 2 * (COLUMNS * mover + column)) & 3
        if left == 0:
            continue
        low, high = columns[mover, column, left]["low"], columns[mover, column, left]["high"]
        fitting = open_slots(frame, low) | open_slots(frame, high)
        if fitting | new_chain == 0:
            continue
        mine = playable_pips(frame, mover, columns, column) | columns[mover, column, left - 1]["pips"]
        bits = fitting | new_chain
        while bits:
            slot = trailing_zeros(bits)
            bits &= bits - 1
            legal += 1
            decisive = frame["decisive"]
            if slot != NEW_CHAIN:
                last = decisive_pip(frame, slot, low + high)
                if last >= 0:
                    if (theirs >> last) & 1:
                        continue
                    decisive |= int64(1) << last
            if decisive & mine:
                return 1
            action = SLOTS * column + slot
            urgency = -1000 if action == first else _urgency(frame, mover, column, slot, fitting, columns)
            i = count
            while i > 0 and order[i - 1] > urgency:
                order[i] = order[i - 1]
                frame["moves"][i] = frame["moves"][i - 1]
                i -= 1
            order[i] = urgency
            frame["moves"][i] = action
            count += 1
    if legal == 0:
        if frame["passed"]:
            return 0
        frame["moves"][0] = PASS
        count = int64(1)
    frame["count"] = count
    frame["next"] = 0
    return 2 if count else -1


@kernel
def _enter(frame: Any, mover: int, columns: Any, table: Any, order: Any) -> int:
    """Prepare a frame for the search; return the position's value, or 2 if that needs it."""
    if frame["decisive"]:
        if frame["decisive"] & playable_pips(frame, mover, columns, -1):
            return 1
        if frame["decisive"] & playable_pips(frame, 1 - mover, columns, -1):
            return -1
    key = 4 * frame["hash"] + 2 * mover + frame["passed"]
    frame["key"] = key
    entry = table[(key ^ key >> 22) & (len(table) - 1)]
    first = int64(-1)
    if entry["key"] == key:
        first = int64(entry["move"])
        if entry["low"] >= frame["beta"] or entry["low"] == entry["high"]:
            return int64(entry["low"])
        if entry["high"] <= frame["alpha"]:
            return int64(entry["high"])
        frame["alpha"] = max(frame["alpha"], int64(entry["low"]))
        frame["beta"] = min(frame["beta"], int64(entry["high"]))
    frame["alpha_at_entry"] = frame["alpha"]
    frame["best"] = -1
    return _list_moves(frame, mover, columns, first, order)


@kernel
def _remember(frame: Any, table: Any) -> None:
    entry = table[(frame["key"] ^ frame["key"] >> 22) & (len(table) - 1)]
    best = frame["best"]
    low = best if best > frame["alpha_at_entry"] else int64(-1)
    high = best if best < frame["beta"] else int64(1)
    if entry["key"] == frame["key"]:
        low, high = max(low, int64(entry["low"])), min(high, int64(entry["high"]))
    entry["key"] = frame["key"]
    entry["low"], entry["high"] = low, high
    entry["move"] = frame["moves"][frame["next"] - 1]


@kernel
def _solve(state: Any, max_nodes: int, stack: Any, columns: Any, table: Any, order: Any) -> tuple[int, int]:
    """Return the value for the mover and the number of positions searched; UNKNOWN after ``max_nodes``."""
    load(state, stack[0], columns)
    stack[0]["alpha"], stack[0]["beta"] = -1, 1
    opener = int64(state["mover"])
    depth, nodes = 0, int64(0)
    entering = True
    value = int64(0)
    while True:
        frame = stack[depth]
        mover = opener ^ (depth & 1)
        if entering:
            nodes += 1
            if nodes > max_nodes:
                return UNKNOWN, nodes
            value = _enter(frame, mover, columns, table, order)
            known = value != 2
        else:
            frame["best"] = max(frame["best"], value)
            frame["alpha"] = max(frame["alpha"], frame["best"])
            known = frame["best"] >= frame["beta"] or frame["next"] == frame["count"]
            if known:
                value = frame["best"]
                _remember(frame, table)
        if known:
            if depth == 0:
                return value, nodes
            value = -value
            depth -= 1
            entering = False
            continue
        action = int64(frame["moves"][frame["next"]])
        frame["next"] += 1
        child = stack[depth + 1]
        apply(frame, child, mover, action, columns)
        child["alpha"], child["beta"] = -frame["beta"], -frame["alpha"]
        depth += 1
        entering = True


@kernel
def _solve_all(
    states: Any, max_nodes: int, values: Any, actions: Any, child: Any, stack: Any, columns: Any, table: Any, order: Any
) -> None:
    for row in range(len(states)):
        mover = states[row]["mover"]
        left = int64(max_nodes)
        for i in range(moves(states[row], actions)):
            child[0] = states[row]
            play(child[0], int64(actions[i]))
            if child[0]["deal_over"]:
                winner = child[0]["winners"][child[0]["finished"] - 1]
                value = 0 if winner < 0 else 1 if winner == mover else -1
            else:
                value, nodes = _solve(child[0], left, stack, columns, table, order)
                left -= min(nodes, left)
                if value != UNKNOWN:
                    value = -value
            values[row, actions[i]] = value


@kernel
def _solve_each(
    states: Any, max_nodes: int, solved_from: int, values: Any, stack: Any, columns: Any, table: Any, order: Any
) -> None:
    for row in range(len(states)):
        values[row] = UNKNOWN
        if tiles_on_table(states[row]) >= solved_from:
            values[row] = _solve(states[row], max_nodes, stack, columns, table, order)[0]


class EndgameSolver:
    """Solves positions of Domaster and Five Bridges; what it has found out helps with later ones.

    Args:
        table_size: entries of the transposition table, 16 bytes each; a power of 2.
    """

    def __init__(self, table_size: int = 1 << 20) -> None:
        if table_size < 1 or table_size & (table_size - 1):
            raise ValueError(f"table_size must be a power of 2, got {table_size!r}")
        self._table = np.zeros(table_size, dtype=_ENTRY)  # no position has key 0
        self._stack = np.zeros(_DEEPEST, dtype=FRAME)
        self._columns = np.zeros((2, COLUMNS, ROWS + 1), dtype=COLUMN)
        self._order = np.zeros(COLUMNS * SLOTS + 1, dtype=np.int64)
        self._actions = np.zeros(COLUMNS * SLOTS + 1, dtype=np.int32)
        self._child = np.zeros(1, dtype=STATE)

    def values(self, states: NDArray[Any], max_nodes: int = 2_000_000) -> NDArray[np.int8]:
        """Return the result of each legal move under perfect play.

        Args:
            states: records of Domaster or Five Bridges, shape ``(n,)``, each with its deal not over.
            max_nodes: positions searched for each of them at most; a million takes about half a second.

        Returns:
            ``int8 (n, 100)``: 1 if the mover wins the deal, 0 for a draw, -1 if it loses; :data:`UNKNOWN` where the
            search ran out of nodes, :data:`NO_VALUE` where the action is not legal.

        Raises:
            ValueError: for records of another game, and where the deal is over.
        """
        if not isinstance(states, np.ndarray) or states.dtype != STATE or states.ndim != 1:
            raise ValueError(
                f"states must be records of Domaster, shape (n,), got {getattr(states, 'dtype', type(states))}"
            )
        ended = np.flatnonzero(states["deal_over"])
        if len(ended):
            raise ValueError(f"states[{ended[0]}] has no move to value: its deal is over")
        values = np.full((len(states), COLUMNS * SLOTS + 1), NO_VALUE, dtype=np.int8)
        _solve_all(
            aligned(states, STATE),
            max_nodes,
            values,
            self._actions,
            self._child,
            self._stack,
            self._columns,
            self._table,
            self._order,
        )
        return values

    def results(self, states: NDArray[Any], max_nodes: int, solved_from: int) -> NDArray[np.int8]:
        """Return the movers' results under perfect play, ``int8 (n,)``; :data:`UNKNOWN` where the nodes ran out.

        Args:
            states: as for :meth:`values`.
            max_nodes: positions searched for each of them at most.
            solved_from: tiles on the table from which it is tried.
        """
        values = np.empty(len(states), dtype=np.int8)
        _solve_each(states, max_nodes, solved_from, values, self._stack, self._columns, self._table, self._order)
        return values
