"""Search guided by a policy where something is hidden: one tree over what the player at the root may come to see.

As in :mod:`domino_envs.agents.information_sets` each simulation first deals anew what the player to move cannot see.
Whoever is to move in it is asked for by the policy, which sees what that player would see in that deal; its
probabilities choose with PUCT (Silver et al. 2017), its value judges the leaf. Simulations go down side by side, with
virtual losses, so that the policy is asked in batches.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bits import borrow
from ..engine import write_mask
from ..games import Game
from ..games.kernels import describe, moves, observe, play
from ..jit import int64, kernel
from .information_sets import CODE_BITS, DEEPEST, InformationSetTree, slot_of
from .policy_search import EXPLORATION, Judge, probabilities_from
from .search_tree import Settings
from .skills import resample
from .tree import deal_result

__all__ = ["PolicyInformationSetTree"]

SIDE_BY_SIDE = 16  # simulations


@kernel
def _begin(root: Any, states: Any, rngs: Any, paths: Any, depths: Any, fresh: Any) -> None:
    """Deal anew for each simulation what the mover of ``root[0]`` cannot know."""
    root, rngs = borrow(root), borrow(rngs)
    for i in range(len(states)):
        states[i] = root[0]
        resample(states[i], int64(root[0]["mover"]), rngs, 0)
        paths[i, 0] = 0
        depths[i] = 0
        fresh[i] = False


@kernel
def _look(states: Any, active: Any, count: int, seen: Any, masks: Any, actions: Any) -> None:
    """Write what the movers of the active simulations see."""
    for k in range(count):
        lane = int64(active[k])
        observe(states[lane], states[lane]["mover"], seen[k])
        write_mask(states, lane, masks[k], actions)


@kernel
def _back_up(nodes: Any, path: Any, signs: Any, depth: int, result: float) -> None:
    """Enter a result, and take back the losses that were entered on the way down."""
    nodes[0]["visits"] += 1
    nodes[0]["total"] += result
    for d in range(1, depth + 1):
        nodes[path[d]]["total"] += result + signs[d]


@kernel
def _advance(
    nodes: Any,
    used: int,
    slots: Any,
    states: Any,
    active: Any,
    count: int,
    priors: Any,
    values: Any,
    paths: Any,
    signs: Any,
    depths: Any,
    fresh: Any,
    actions: Any,
    exploration: float,
    scale: float,
) -> tuple[int, int]:
    """Let each active simulation end, if its node is new, or make its next move.

    ``priors`` and ``values`` (the mover's) have a row for each active simulation.

    Returns:
        Nodes in use, and simulations still active, the first of ``active``.
    """
    nodes, slots, states, actions = borrow(nodes), borrow(slots), borrow(states), borrow(actions)
    remaining = 0
    for k in range(count):
        lane = int64(active[k])
        state = states[lane]
        sign = 1.0 if state["mover"] == 0 else -1.0
        depth = int64(depths[lane])
        if fresh[lane]:
            _back_up(nodes, paths[lane], signs[lane], depth, sign * values[k])
            continue
        index = int64(paths[lane, depth])
        visits = float(nodes[index]["visits"])
        unseen = sign * nodes[index]["total"] / max(1.0, visits)  # a child not visited counts as its parent does
        explore = exploration * sqrt(visits + 1.0)
        best, chosen = -1e9, int64(-1)
        for i in range(moves(state, actions)):
            action = int64(actions[i])
            found = int64(slots[slot_of(nodes, slots, index << CODE_BITS | describe(state, action))])
            times, value = 0.0, unseen
            if found:
                times = float(nodes[found]["visits"])
                value = sign * nodes[found]["total"] / times
            bound = value + explore * priors[k, action] / (1.0 + times)
            if bound > best:
                best, chosen = bound, action
        key = index << CODE_BITS | describe(state, chosen)
        slot = slot_of(nodes, slots, key)
        if slots[slot] == 0:
            slots[slot] = used
            node = nodes[used]
            node["key"] = key
            node["visits"], node["available"], node["total"] = 0, 0, 0.0
            used += 1
            fresh[lane] = True
        child = int64(slots[slot])
        nodes[child]["visits"] += 1
        nodes[child]["total"] -= sign  # a loss for now
        depth += 1
        depths[lane] = depth
        paths[lane, depth] = child
        signs[lane, depth] = sign
        play(state, chosen)
        if state["deal_over"]:
            _back_up(nodes, paths[lane], signs[lane], depth, deal_result(state) / scale)
        elif depth == DEEPEST - 1:
            _back_up(nodes, paths[lane], signs[lane], depth, 0.0)
        else:
            active[remaining] = lane
            remaining += 1
    return used, remaining


class PolicyInformationSetTree(InformationSetTree):
    """A tree for a game with hidden tiles that a policy guides; arguments as for ``PolicyTree``."""

    def __init__(
        self,
        game: Game,
        streams: NDArray[np.uint64],
        judge: Judge,
        value_points: float = 1.0,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(game, streams, settings)
        self.judge = judge
        self._value_scale = value_points / self.settings.scale
        self._states = np.zeros(SIDE_BY_SIDE, dtype=game.dtype)
        self._seen = np.zeros((SIDE_BY_SIDE, game.layout.size), dtype=np.int8)
        self._masks = np.zeros((SIDE_BY_SIDE, game.num_actions), dtype=np.int8)
        self._paths = np.zeros((SIDE_BY_SIDE, DEEPEST), dtype=np.int32)
        self._signs = np.zeros((SIDE_BY_SIDE, DEEPEST))
        self._depths = np.zeros(SIDE_BY_SIDE, dtype=np.int64)
        self._fresh = np.zeros(SIDE_BY_SIDE, dtype=np.bool_)
        self._active = np.zeros(SIDE_BY_SIDE, dtype=np.int64)

    def start(self, state: NDArray[Any]) -> None:
        """Forget everything and start from a position, a record of shape ``(1,)``."""
        super().start(state)
        self._root_priors: NDArray[np.float32] | None = None

    def _judge(self, count: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return priors and values of the active simulations."""
        _look(self._states, self._active, count, self._seen, self._masks, self._actions)
        masks = self._masks[:count]
        logits, values = self.judge(self._seen[:count], masks)
        limit = self.settings.limit
        return probabilities_from(logits, masks), np.clip(values * self._value_scale, -limit, limit)

    def _simulate(self, simulations: int) -> None:
        left = simulations
        while left > 0 and not self.solved:
            wanted = min(left, SIDE_BY_SIDE)
            self._descend(wanted)
            left -= wanted

    def _descend(self, wanted: int) -> None:
        """Run that many simulations side by side."""
        while self._used + wanted * 2 > len(self._nodes):
            self._make_room()
        _begin(self._root, self._states[:wanted], self.streams, self._paths, self._depths, self._fresh)
        self._active[:wanted] = np.arange(wanted)
        active = wanted
        if self._root_priors is None:  # the root looks the same in every deal
            self._root_priors = self._judge(1)[0]
        priors = np.repeat(self._root_priors, wanted, axis=0)
        values = np.zeros(wanted, dtype=np.float32)
        while active:
            self._used, active = _advance(
                self._nodes,
                self._used,
                self._slots,
                self._states,
                self._active,
                active,
                priors,
                values,
                self._paths,
                self._signs,
                self._depths,
                self._fresh,
                self._actions,
                EXPLORATION,
                self.settings.scale,
            )
            if active:
                priors, values = self._judge(active)
