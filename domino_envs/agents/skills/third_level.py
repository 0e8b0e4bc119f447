"""Skills in Third Level. Nothing here looks at tiles that the mover cannot see."""

from __future__ import annotations

from typing import Any

from ...bits import bit_count, random_below, trailing_zeros
from ...games.kernels import finish_deal, moves, play
from ...games.third_level_board import (
    BONUS,
    CODE,
    COLUMN_STEP,
    FITTING,
    FURTHER,
    HEIGHT_SHIFT,
    ROW_STEP,
    STATE,
    cells_of,
    liftable,
)
from ...jit import int64, kernel
from .registry import CERTAIN, LOSES, WINS, Skills, add_skills

__all__ = ["third_level_tiles"]

_ALL_TILES = (1 << 21) - 1
_SOON = 1000.0  # rating of a win in the next turn, if it comes to that


@kernel
def _unseen(state: Any, seat: int) -> int:
    """Return the tiles that are hidden from a seat: the other's hand and the pool."""
    tiles = int64(state["hands"][1 - seat])
    for i in range(int64(state["pool_next"]), int64(state["pool_size"])):
        tiles |= int64(1) << int64(state["pool"][i])
    return tiles


@kernel
def _conceal(state: Any, seat: int) -> None:
    """Make the record the same whatever the seat cannot see: the other holds every unseen tile, nobody draws."""
    state["hands"][1 - seat] = _unseen(state, seat)
    state["pool_next"] = state["pool_size"]


@kernel
def _resample(state: Any, seat: int, rngs: Any, lane: int) -> None:
    """Deal the unseen tiles anew, uniformly, to the other's hand and the pool."""
    unseen = _unseen(state, seat)
    left = bit_count(unseen)
    held = bit_count(int64(state["hands"][1 - seat]))
    hand = int64(0)
    place = int64(state["pool_next"])
    while left:
        rest = unseen
        for _ in range(random_below(rngs, lane, left)):
            rest &= rest - 1
        tile = trailing_zeros(rest)
        unseen &= ~(int64(1) << tile)
        if held:
            hand |= int64(1) << tile
            held -= 1
        else:
            state["pool"][place] = tile
            place += 1
        left -= 1
    state["hands"][1 - seat] = hand


@kernel
def third_level_tiles(state: Any) -> int:
    """Return the tiles that fit a place on the third level; whether one may be taken there is another question."""
    found = int64(0)
    cells = state["cells"]
    second = int64(state["second"])
    waiting = second
    while waiting:
        tile = trailing_zeros(waiting)
        waiting &= waiting - 1
        row, column, high_row, high_column = cells_of(state, tile)
        for half in range(2):
            r, c = (high_row, high_column) if half else (row, column)
            for direction in range(4):
                near_r, near_c = r + ROW_STEP[direction], c + COLUMN_STEP[direction]
                other = int64(cells[near_r, near_c])
                if (
                    other >> HEIGHT_SHIFT == 1
                    and not (near_r == row and near_c == column)
                    and not (near_r == high_row and near_c == high_column)
                ):
                    fitting = int64(FITTING[int64(cells[r, c]) & CODE, other & CODE])
                    if fitting < 0 or fitting == tile:
                        continue
                    if (second >> fitting) & 1:  # it may not be lifted onto itself
                        a_r, a_c, b_r, b_c = cells_of(state, fitting)
                        if (a_r == near_r and a_c == near_c) or (b_r == near_r and b_c == near_c):
                            continue
                    found |= int64(1) << fitting
    return found


@kernel
def _can_lift_to_win(state: Any) -> bool:
    """Whether the running bonus wins: at once, or after a lift by a tile laid from the hand."""
    bonus_tile = int64(1) << int64(state["bonus_tile"])
    return third_level_tiles(state) & liftable(state) & ~bonus_tile != 0


@kernel
def _wins_after_lift(state: Any, mover: int, replies: Any, spare: Any) -> bool:
    """Whether some lift makes a place on the third level for a tile of the hand."""
    if state["second"] == 0:
        return False
    for i in range(moves(state, replies) - 1):  # the last ends the turn
        spare[0] = state
        after = spare[0]
        play(after, int64(replies[i]))
        if after["phase"] == FURTHER and third_level_tiles(after) & int64(after["hands"][mover]):
            return True
    return False


@kernel
def _rate(state: Any, actions: Any, count: int, ratings: Any, spare: Any) -> None:
    """Win in this turn if the tiles in hand can; else leave the opponent no place on the third level."""
    mover = int64(state["mover"])
    unseen = _unseen(state, mover)
    share = 0.0
    if unseen:
        share = bit_count(int64(state["hands"][1 - mover])) / bit_count(unseen)
    replies = actions[count:]
    for i in range(count):
        spare[0] = state
        child = spare[0]
        _conceal(child, mover)
        play(child, int64(actions[i]))
        if child["deal_over"]:
            ratings[i] = WINS if child["winners"][0] == mover else 0.0
            continue
        hand = int64(child["hands"][mover])
        tiles = third_level_tiles(child)
        lifted = tiles & liftable(child)
        ratings[i] = -_SOON * share * bit_count(tiles & unseen)
        if child["mover"] == mover:
            if child["phase"] == BONUS:
                if _can_lift_to_win(child):
                    ratings[i] = WINS / 2
                elif _wins_after_lift(child, mover, replies, spare[1:]):
                    ratings[i] = CERTAIN
            elif tiles & hand:
                ratings[i] = WINS / 2
            elif lifted and hand:  # lay a tile on the ground, then lift
                ratings[i] = WINS / 8
        else:
            ratings[i] += _SOON * bit_count(tiles & hand)
        if lifted and ratings[i] < _SOON:
            ratings[i] += LOSES / 2


@kernel
def _rollout(state: Any, rngs: Any, lane: int, actions: Any) -> None:
    """Take a place on the third level where there is one for the mover, else a random move."""
    while not state["deal_over"]:
        second = int64(state["second"])
        if second & (second - 1):  # a place on the third level lies on two tiles of the second
            mover = int64(state["mover"])
            if state["phase"] == BONUS:
                usable = liftable(state) & ~(int64(1) << int64(state["bonus_tile"]))
            else:
                usable = int64(state["hands"][mover])
            if third_level_tiles(state) & usable:
                finish_deal(state, mover, 1)
                return
        play(state, int64(actions[random_below(rngs, lane, moves(state, actions))]))


add_skills(STATE, Skills(rate=_rate, rollout=_rollout, resample=_resample))
