"""Skills in Domaster and Five Bridges."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...bits import bit_count, random_below, trailing_zeros
from ...games.domaster import CHAINS, COLUMNS, HIGH, LOW, NEW_CHAIN, PIPS, REACH, STATE
from ...games.kernels import NOBODY, finish_deal, moves, play
from ...jit import int64, kernel
from .registry import LOSES, WINS, Skills, add_skills

__all__ = ["finishing_slots", "playable_slots"]

_SLOPE, _LIMIT = 0.06, 0.95  # of the estimate by mobility; found by trial
_NO_PIP = PIPS  # of an empty column


@kernel
def finishing_slots(state: Any) -> int:
    """Return the bit set of the slots where a tile would be the eleventh of its chain."""
    found = int64(0)
    for chain in range(state["chains"]):
        left, right = state["grown"][chain, 0], state["grown"][chain, 1]
        if left + right == 2 * REACH - 1:
            found |= int64(1) << (2 * chain + (1 if left == REACH else 0))
    return found


@kernel
def playable_slots(state: Any, seat: int, column: int) -> int:
    """Return the bit set of the slots of chains that a column's playable tile fits."""
    left = state["left"][seat, column]
    if left == 0:
        return 0
    tile = state["columns"][seat, column, left - 1]
    return int64(state["slots"][LOW[tile]]) | int64(state["slots"][HIGH[tile]])


@kernel
def _wins_now(state: Any) -> bool:
    finishing = finishing_slots(state)
    if finishing:
        mover = int64(state["mover"])
        for column in range(COLUMNS):
            if playable_slots(state, mover, column) & finishing:
                return True
    return False


@kernel
def _mobility(state: Any, seat: int) -> int:
    """Return the number of (column, end of a chain) pairs where the seat could lay a tile."""
    count = 0
    for column in range(COLUMNS):
        count += bit_count(playable_slots(state, seat, column))
    return count


@kernel
def _foretell(state: Any) -> int:
    """Return 1 if the mover can finish a chain, -1 if, since nothing prevents it, the other can in its next move."""
    open_pips = int64(0)
    for chain in range(state["chains"]):
        left, right = state["grown"][chain, 0], state["grown"][chain, 1]
        if left + right == 2 * REACH - 1:
            open_pips |= int64(1) << int64(state["ends"][chain, 1 if left == REACH else 0])
    if open_pips == 0:
        return 0
    mover = int64(state["mover"])
    for player in range(2):
        seat = mover if player == 0 else 1 - mover
        for column in range(COLUMNS):
            left = state["left"][seat, column]
            if left:
                tile = state["columns"][seat, column, left - 1]
                if (open_pips >> int64(LOW[tile]) | open_pips >> int64(HIGH[tile])) & 1:
                    return 1 - 2 * player
    return 0


@kernel
def _assess(state: Any) -> float:
    sign = _foretell(state)
    if sign:
        return sign
    mover = int64(state["mover"])
    return min(max(_SLOPE * (_mobility(state, mover) - _mobility(state, 1 - mover)), -_LIMIT), _LIMIT)


@kernel
def _has_safe_reply(state: Any, replies: Any, spare: Any) -> bool:
    """Whether the mover has a move after which the other cannot win at once."""
    for i in range(moves(state, replies)):
        spare[0] = state
        play(spare[0], int64(replies[i]))
        if spare[0]["deal_over"] or not _wins_now(spare[0]):
            return True
    return False


@kernel
def _rate(state: Any, actions: Any, count: int, ratings: Any, spare: Any) -> None:
    """Leave the opponent only replies that lose at once, else much mobility to oneself and little to the other."""
    mover = int64(state["mover"])
    for i in range(count):
        spare[0] = state
        child = spare[0]
        play(child, int64(actions[i]))
        if child["deal_over"]:
            winner = child["winners"][child["finished"] - 1]
            ratings[i] = WINS if winner == mover else 0.0
            continue
        ratings[i] = _mobility(child, mover) - _mobility(child, 1 - mover)
        if _wins_now(child):
            ratings[i] += LOSES
        elif not _has_safe_reply(child, actions[count:], spare[1:]):
            ratings[i] += WINS / 8


@kernel
def _rollout(state: Any, rngs: Any, lane: int, actions: Any) -> None:
    """Finish a chain where possible, else play a random move; of the record only what tells the result is kept."""
    lows, highs = np.empty(2 * COLUMNS, dtype=np.int64), np.empty(2 * COLUMNS, dtype=np.int64)  # playable tiles
    slots = np.empty(PIPS + 1, dtype=np.int64)  # open to each pip, new chain included
    ends, grown = np.empty(2 * CHAINS, dtype=np.int64), np.empty(2 * CHAINS, dtype=np.int64)
    columns, lefts = state["columns"], state["left"]
    chains = int64(state["chains"])
    for seat in range(2):
        for column in range(COLUMNS):
            left = lefts[seat, column]
            tile = columns[seat, column, left - 1]
            lows[seat * COLUMNS + column] = LOW[tile] if left else _NO_PIP
            highs[seat * COLUMNS + column] = HIGH[tile] if left else _NO_PIP
    for pip in range(PIPS):
        slots[pip] = int64(state["slots"][pip]) | (1 << NEW_CHAIN if chains < CHAINS else 0)
    slots[_NO_PIP] = 0
    for slot in range(2 * CHAINS):
        ends[slot], grown[slot] = state["ends"][slot >> 1, slot & 1], state["grown"][slot >> 1, slot & 1]
    finishing = finishing_slots(state)
    mover = int64(state["mover"])
    passed = state["passed"] != 0
    while True:
        first = mover * COLUMNS
        total = int64(0)
        anywhere = int64(0)
        for i in range(first, first + COLUMNS):
            bits = slots[lows[i]] | slots[highs[i]]
            anywhere |= bits
            total += bit_count(bits)
        if anywhere & finishing:
            finish_deal(state, mover, 1)
            return
        if total == 0:
            if passed:
                finish_deal(state, NOBODY, 0)
                return
            passed = True
            mover = 1 - mover
            continue
        passed = False
        skip = random_below(rngs, lane, total)
        i = first
        bits = slots[lows[i]] | slots[highs[i]]
        while skip >= bit_count(bits):
            skip -= bit_count(bits)
            i += 1
            bits = slots[lows[i]] | slots[highs[i]]
        for _ in range(skip):
            bits &= bits - 1
        slot = trailing_zeros(bits)
        low, high = lows[i], highs[i]
        column = i - first
        left = int64(lefts[mover, column]) - 1
        lefts[mover, column] = left
        tile = int64(columns[mover, column, left - 1])
        lows[i] = LOW[tile] if left else _NO_PIP
        highs[i] = HIGH[tile] if left else _NO_PIP
        if slot == NEW_CHAIN:
            slots[low] |= int64(1) << (2 * chains)
            slots[high] |= int64(1) << (2 * chains + 1)
            ends[2 * chains], ends[2 * chains + 1] = low, high
            chains += 1
            if chains == CHAINS:
                for pip in range(PIPS):
                    slots[pip] &= ~(1 << NEW_CHAIN)
        else:
            bit = int64(1) << slot
            pip = ends[slot]
            free = low + high - pip
            ends[slot] = free
            grown[slot] += 1
            slots[pip] &= ~bit
            if grown[slot] < REACH:
                slots[free] |= bit
            if grown[slot] + grown[slot ^ 1] == 2 * REACH - 1:
                finishing |= bit if grown[slot] < REACH else int64(1) << (slot ^ 1)
        mover = 1 - mover


add_skills(STATE, Skills(rate=_rate, rollout=_rollout, assess=_assess))
