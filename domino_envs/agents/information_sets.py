"""Search where something is hidden: one tree over what the player at the root may come to see.

Source: single-observer information-set search (Cowling, Powley and Whitehouse 2012). Each simulation first deals anew
what the player to move cannot see, then goes down by the moves that are legal in that deal. A node stands for a line of
moves, told apart by what they are (``Game.move_text``), whatever was drawn in between. A move's exploration counts how
often it could have been chosen. As a position may offer hundreds of moves, a node takes in more of them only as its
visits grow (progressive widening); at the root those that look best come first.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bits import borrow, mix_uint64, random_below
from ..games import Game
from ..games.kernels import describe, moves, play
from ..jit import int64, kernel
from .search_tree import SearchTree, Settings
from .skills import CERTAIN, has_skill, rate, resample, rollout
from .tree import deal_result

__all__ = ["CODE_BITS", "DEEPEST", "InformationSetTree", "slot_of"]

_NODE = np.dtype(
    [
        ("key", np.int64),  # parent << 40 | code of the move that leads here
        ("visits", np.int32),
        ("available", np.int32),  # how often its move was legal when its parent was visited
        ("total", np.float64),  # sum of the results of its simulations, from seat 0's view
    ],
    align=True,
)
CODE_BITS = 40  # of a move, in a node's key
DEEPEST = 128  # nodes on a path


@kernel
def slot_of(nodes: Any, slots: Any, key: int) -> int:
    """Return the place of a key in the hash table, or the free one where it belongs."""
    mask = len(slots) - 1
    slot = int64(mix_uint64(np.uint64(key)) & np.uint64(mask))
    while slots[slot] and nodes[slots[slot]]["key"] != key:
        slot = (slot + 1) & mask
    return slot


@kernel
def _fill_slots(nodes: Any, used: int, slots: Any) -> None:
    """Enter the nodes in use into an empty hash table."""
    for index in range(1, used):
        slots[slot_of(nodes, slots, nodes[index]["key"])] = index


@kernel
def _simulate(
    nodes: Any,
    used: int,
    slots: Any,
    root: Any,
    scratch: Any,
    rngs: Any,
    lane: int,
    actions: Any,
    ratings: Any,
    path: Any,
    simulations: int,
    exploration: float,
    widening: float,
    scale: float,
) -> tuple[int, int]:
    """Run simulations until the nodes are used up; return how many, and the number of nodes in use.

    ``ratings`` are those of the root's moves, in their order.
    """
    nodes, slots, root, scratch = borrow(nodes), borrow(slots), borrow(root), borrow(scratch)
    rngs, actions, path = borrow(rngs), borrow(actions), borrow(path)
    seat = int64(root[0]["mover"])
    for done in range(simulations):
        if used == len(nodes):
            return done, used
        scratch[0] = root[0]
        state = scratch[0]
        resample(state, seat, rngs, lane)
        index, depth = int64(0), 0
        path[0] = 0
        new = False
        while not (new or state["deal_over"] or depth == DEEPEST - 1):
            sign = 1.0 if state["mover"] == 0 else -1.0
            known, others = 0, 0
            chosen, other, child = int64(-1), int64(-1), int64(-1)
            best, foremost = -1e9, -1e9
            for i in range(moves(state, actions)):
                found = int64(slots[slot_of(nodes, slots, index << CODE_BITS | describe(state, int64(actions[i])))])
                if found:
                    known += 1
                    node = nodes[found]
                    node["available"] += 1
                    visits = float(node["visits"])
                    bound = sign * node["total"] / visits + exploration * sqrt(log(float(node["available"])) / visits)
                    if bound > best:
                        best, chosen, child = bound, int64(actions[i]), found
                elif depth > 0:
                    others += 1
                    if random_below(rngs, lane, others) == 0:
                        other = int64(actions[i])
                else:
                    others += 1
                    if ratings[i] > foremost:
                        foremost, other = ratings[i], int64(actions[i])
            if others and known <= widening * sqrt(float(nodes[index]["visits"])):
                new = True
                chosen, child = other, int64(used)
                key = index << CODE_BITS | describe(state, chosen)
                slots[slot_of(nodes, slots, key)] = used
                node = nodes[used]
                node["key"] = key
                node["visits"], node["available"], node["total"] = 0, 1, 0.0
                used += 1
            play(state, chosen)
            index = child
            depth += 1
            path[depth] = index
        if not state["deal_over"]:
            rollout(state, rngs, lane, actions)
        result = deal_result(state) / scale
        for i in range(depth + 1):
            nodes[path[i]]["visits"] += 1
            nodes[path[i]]["total"] += result
    return simulations, used


@kernel
def _rate_root(root: Any, actions: Any, ratings: Any, spare: Any, rngs: Any, lane: int) -> int:
    """Rate the root's moves, equal ones in random order; return their number."""
    count = moves(root[0], actions)
    rate(root[0], actions, count, ratings, spare)
    for i in range(count):
        ratings[i] += 1e-6 * random_below(rngs, lane, 1000)
    return count


@kernel
def _read_root(nodes: Any, slots: Any, root: Any, actions: Any, count: int, visits: Any, totals: Any) -> None:
    for i in range(count):
        found = slots[slot_of(nodes, slots, describe(root[0], int64(actions[i])))]
        if found:
            visits[i] = nodes[found]["visits"]
            totals[i] = nodes[found]["total"]


class InformationSetTree(SearchTree):
    """A tree for a game with hidden tiles; what the player to move cannot see of a record has no influence.

    It starts anew at each move: what was drawn meanwhile is not in the tree.
    """

    def __init__(self, game: Game, streams: NDArray[np.uint64], settings: Settings | None = None) -> None:
        if not has_skill(game.dtype, "resample"):
            raise ValueError(f"search does not know how to draw what is hidden in {game.name}")
        super().__init__(game, streams, settings)
        self._nodes = np.zeros(1024, dtype=_NODE)
        self._slots = np.zeros(2048, dtype=np.int32)  # index of a node, 0 where free
        self._scratch = np.zeros(1, dtype=game.dtype)
        self._actions = np.zeros(2 * game.num_actions, dtype=np.int32)
        self._ratings = np.zeros(game.num_actions)
        self._path = np.zeros(DEEPEST, dtype=np.int32)

    def start(self, state: NDArray[Any]) -> None:
        """Forget everything and start from a position, a record of shape ``(1,)``."""
        self._root = state.copy()
        self._nodes[0] = (-1, 0, 0, 0.0)
        self._slots[:] = 0
        self._used = 1
        spare = np.zeros(2, dtype=self.game.dtype)
        self._count = _rate_root(self._root, self._actions, self._ratings, spare, self.streams, 0)
        self._legal = self._actions[: self._count].copy()
        self._winning = self._legal[self._ratings[: self._count] >= CERTAIN]

    def advance(self, state: NDArray[Any], played: int | None = None) -> bool:
        """Start from a position; return False, as nothing is kept."""
        self.start(state)
        return False

    @property
    def solved(self) -> bool:
        """Whether the player to move wins in this turn; with hidden tiles nothing else is proven."""
        return len(self._winning) > 0

    def _simulate(self, simulations: int) -> None:
        left = simulations
        while left > 0 and not self.solved:
            done, self._used = _simulate(
                self._nodes,
                self._used,
                self._slots,
                self._root,
                self._scratch,
                self.streams,
                0,
                self._actions,
                self._ratings,
                self._path,
                min(left, 256),
                self.settings.exploration,
                self.settings.widening,
                self.settings.scale,
            )
            left -= done
            if self._used == len(self._nodes):
                self._make_room()

    def _make_room(self) -> None:
        """Double the array of nodes, and the hash table with it."""
        self._nodes = np.concatenate([self._nodes, np.zeros_like(self._nodes)])
        self._slots = np.zeros(2 * len(self._nodes), dtype=np.int32)
        _fill_slots(self._nodes, self._used, self._slots)

    def report(self, visits: NDArray[np.int32], values: NDArray[np.float32]) -> float:
        """Write visits and values by action, as in ``SearchResult``, and return the root's value."""
        if self.solved:
            visits[self._winning] = 1
            values[self._winning] = self.settings.scale
            return self.settings.scale
        counts, totals = np.zeros(self._count, dtype=np.int32), np.zeros(self._count)
        _read_root(self._nodes, self._slots, self._root, self._legal, self._count, counts, totals)
        sign = self.settings.scale * (1 - 2 * int(self._root["mover"][0]))
        visits[self._legal] = counts
        values[self._legal] = np.where(counts > 0, sign * totals / np.maximum(counts, 1), np.nan)
        return float(sign * self._nodes["total"][0] / self._nodes["visits"][0])
