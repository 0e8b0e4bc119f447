"""Search guided by a policy: its probabilities say where to look, its value judges the leaves, asked in batches.

Source: PUCT as in AlphaZero (Silver et al. 2017), with virtual losses so that the leaves of a batch differ, and the
proofs of :mod:`domino_envs.agents.tree`: no simulation goes where the value is proven, and no node counts for more or
less than what is proven of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bits import borrow
from ..engine import write_mask
from ..games import Game
from ..games.kernels import observe, play
from ..jit import int64, kernel
from .endgame_solver import UNKNOWN
from .search_tree import SOLVED_FROM, SearchTree, Settings
from .tree import back_up, expand, tighten_upwards

__all__ = ["EXPLORATION", "Judge", "PolicyTree", "grow_together", "probabilities_from"]

#: Logits ``(n, actions)`` and values ``(n,)`` from observations and action masks.
Judge = Callable[[NDArray[np.int8], NDArray[np.int8]], tuple[NDArray[np.float32], NDArray[np.float32]]]

EXPLORATION = 0.8  # found by trial in Domaster
BATCH = 4  # leaves of a tree that the policy judges at once: with more, virtual losses mislead a small search
TOGETHER = 64  # trees
NOISE_SPREAD = 10.0  # of the noise at the root: Dirichlet, this much shared by the actions
_BEYOND = 1e9


@kernel
def _select(tree: Any, index: int, exploration: float) -> int:
    """Return the child of the highest PUCT bound among those of which more is to be learned.

    That is not where the value is proven, nor where it is proven to be no better than what the mover has for sure.
    """
    node = tree[index]
    first = int64(node["first"])
    sign = 1.0 if node["seat"] == 0 else -1.0
    secure = node["low"] if node["seat"] == 0 else -node["high"]
    unseen = sign * node["total"] / max(1, node["visits"])  # a child not visited counts as its parent does
    explore = exploration * sqrt(float(node["visits"]))
    best, chosen = -_BEYOND, first
    for i in range(first, first + node["count"]):
        child = tree[i]
        low, high = (child["low"], child["high"]) if node["seat"] == 0 else (-child["high"], -child["low"])
        if high <= secure or low == high:
            continue
        value = sign * child["total"] / child["visits"] if child["visits"] > 0 else unseen
        value = min(max(value, low), high)
        bound = value + explore * child["prior"] / (1.0 + child["visits"])
        if bound > best:
            best, chosen = bound, i
    return chosen


@kernel
def _lose_for_now(tree: Any, leaf: int, sign: float) -> None:
    """Enter a loss for whoever moved to each node on the way to a leaf (``sign`` 1), or take it back (-1)."""
    index = leaf
    while index >= 0:
        parent = int64(tree[index]["parent"])
        tree[index]["visits"] += int64(sign)
        if parent >= 0:
            tree[index]["total"] -= sign if tree[parent]["seat"] == 0 else -sign
        index = parent


@kernel
def _find_leaves(
    tree: Any,
    used: int,
    root: Any,
    scratch: Any,
    rngs: Any,
    actions: Any,
    wanted: int,
    exploration: float,
    scale: float,
    limit: float,
    leaves: Any,
    states: Any,
    observations: Any,
    masks: Any,
) -> tuple[int, int, int]:
    """Descend up to ``wanted`` times, and write the leaves to be judged: node, record, what the mover sees.

    It ends early where a descent meets a leaf of the same batch, and when the root is solved or the array is full.

    Returns:
        Descents made, leaves among them that wait for a judgement, nodes in use.
    """
    tree, root, scratch, rngs, actions = borrow(tree), borrow(root), borrow(scratch), borrow(rngs), borrow(actions)
    observations, masks, states = borrow(observations), borrow(masks), borrow(states)
    room = len(tree) - len(actions)
    tree[0]["seat"] = root[0]["mover"]
    waiting = 0
    for done in range(wanted):
        if tree[0]["low"] == tree[0]["high"] or used > room:
            return done, waiting, used
        scratch[0] = root[0]
        state = scratch[0]
        index = int64(0)
        while True:
            node = tree[index]
            if node["low"] == node["high"]:
                back_up(tree, index, float(node["low"]), True)
                break
            if node["first"] < 0:
                used = expand(tree, index, used, state, scratch[1:], rngs, 0, actions, scale, limit)
                if node["low"] == node["high"]:
                    continue
                leaves[waiting] = index
                states[waiting] = state
                observe(state, state["mover"], observations[waiting])
                write_mask(scratch, 0, masks[waiting], actions)
                _lose_for_now(tree, index, 1.0)
                waiting += 1
                break
            for i in range(waiting):
                if leaves[i] == index:
                    return done, waiting, used
            index = _select(tree, index, exploration)
            play(state, int64(tree[index]["action"]))
    return wanted, waiting, used


@kernel
def _prove(tree: Any, leaves: Any, waiting: int, results: Any) -> None:
    """Enter the results of leaves for their movers, where they are not UNKNOWN, and what follows from them."""
    for i in range(waiting):
        if results[i] != UNKNOWN:
            leaf = int64(leaves[i])
            node = tree[leaf]
            node["low"] = node["high"] = results[i] if node["seat"] == 0 else -results[i]
            tighten_upwards(tree, int64(node["parent"]))


@kernel
def _enter_judgements(tree: Any, leaves: Any, waiting: int, probabilities: Any, values: Any) -> None:
    """Give the leaves' children their priors, and back the movers' values up."""
    for i in range(waiting):
        leaf = int64(leaves[i])
        node = tree[leaf]
        for child in range(node["first"], node["first"] + node["count"]):
            tree[child]["prior"] = probabilities[i, tree[child]["action"]]
        _lose_for_now(tree, leaf, -1.0)
        back_up(tree, leaf, float(values[i]) if node["seat"] == 0 else -float(values[i]), True)


def probabilities_from(logits: NDArray[np.float32], masks: NDArray[np.int8]) -> NDArray[np.float32]:
    """Return the softmax over the legal actions, ``float32 (n, actions)``."""
    weights = np.exp(logits - logits.max(axis=1, keepdims=True)) * masks
    probabilities: NDArray[np.float32] = weights / weights.sum(axis=1, keepdims=True)
    return probabilities


class PolicyTree(SearchTree):
    """A tree that a policy guides.

    Args:
        game: the game.
        streams: random stream, ``uint64 (1,)``.
        judge: judges the leaves.
        value_points: what its values are counted in, in points of a deal.
        settings: None for the game's own; only scale and limit are used.
        noise: share of random noise in the priors at the root, for learning to look elsewhere too.
    """

    solver_nodes = 150
    leaf_nodes = 3000  # of the endgame solver, for each leaf

    def __init__(
        self,
        game: Game,
        streams: NDArray[np.uint64],
        judge: Judge,
        value_points: float = 1.0,
        settings: Settings | None = None,
        noise: float = 0.0,
    ) -> None:
        super().__init__(game, streams, settings)
        self.judge = judge
        self.noise = noise
        self._value_scale = value_points / self.settings.scale
        self._leaves = np.zeros(BATCH, dtype=np.int64)
        self._leaf_states = np.zeros(len(self._leaves), dtype=game.dtype)
        self._seen = np.zeros((BATCH, game.layout.size), dtype=np.int8)
        self._masks = np.zeros((BATCH, game.num_actions), dtype=np.int8)
        self._waiting = 0

    def find_leaves(self, wanted: int, seen: NDArray[np.int8], masks: NDArray[np.int8]) -> tuple[int, int]:
        """Descend up to ``wanted`` times, and write what is seen at the leaves that wait for a judgement.

        Returns:
            Descents made and leaves that wait; :meth:`enter_judgements` must follow.
        """
        done, self._waiting, self._used = _find_leaves(
            self._nodes,
            self._used,
            self._root,
            self._scratch,
            self.streams,
            self._actions,
            wanted,
            EXPLORATION,
            self.settings.scale,
            self.settings.limit,
            self._leaves,
            self._leaf_states,
            seen,
            masks,
        )
        if done == 0 and not self.solved:
            self._make_room()
        if self._solver is not None and self._waiting:
            results = self._solver.results(self._leaf_states[: self._waiting], self.leaf_nodes, SOLVED_FROM)
            _prove(self._nodes, self._leaves, self._waiting, results)
        return done, self._waiting

    def enter_judgements(
        self, logits: NDArray[np.float32], values: NDArray[np.float32], masks: NDArray[np.int8]
    ) -> None:
        """Enter what the judge says of the leaves found last, a row for each."""
        if not self._waiting:
            return
        probabilities = probabilities_from(logits, masks)
        if self.noise and self._leaves[0] == 0:
            legal = np.flatnonzero(masks[0])
            rng = np.random.default_rng(int(self.streams[0]))
            noise = rng.dirichlet(np.full(len(legal), NOISE_SPREAD / len(legal)))
            probabilities[0, legal] += self.noise * (noise - probabilities[0, legal])
        values = np.clip(values * self._value_scale, -self.settings.limit, self.settings.limit)
        _enter_judgements(self._nodes, self._leaves, self._waiting, probabilities, values)

    def _simulate(self, simulations: int) -> None:
        left = simulations
        while left > 0 and not self.solved:
            done, waiting = self.find_leaves(min(left, BATCH), self._seen, self._masks)
            left -= done
            if waiting:
                masks = self._masks[:waiting]
                self.enter_judgements(*self.judge(self._seen[:waiting], masks), masks)

    def report(self, visits: NDArray[np.int32], values: NDArray[np.float32]) -> float:
        """Write visits and values by action, as in ``SearchResult``, and return the root's value.

        Once a result is certain, only moves that promise more are visited; those that did not keep the promise count
        no longer.
        """
        value = super().report(visits, values)
        if not self.solved:
            children, sign = self._children, 1 - 2 * int(self._root["mover"][0])
            certain = children["low"] if sign > 0 else -children["high"]
            actions = children["action"]
            worse = values[actions] < self.settings.scale * certain.max()
            if worse.any():
                visits[actions[worse]] = 0
                safe = int(actions[certain.argmax()])
                visits[safe] = max(1, visits[safe])
        return value


def grow_together(trees: Sequence[PolicyTree], simulations: int, judge: Judge) -> None:
    """Let trees grow side by side, each by that many simulations, and ask the judge about the leaves of all at once.

    Each must have been started. In larger batches a network may round otherwise, so the findings may differ in the
    last digits from those of a tree that grows alone.
    """
    game = trees[0].game
    seen = np.zeros((len(trees) * BATCH, game.layout.size), dtype=np.int8)
    masks = np.zeros((len(trees) * BATCH, game.num_actions), dtype=np.int8)
    left = [simulations] * len(trees)
    growing = list(range(len(trees)))
    while growing:
        spans = []
        count = 0
        for i in growing:
            done, waiting = trees[i].find_leaves(min(left[i], BATCH), seen[count:], masks[count:])
            left[i] -= done
            spans.append((i, count, count + waiting))
            count += waiting
        if count:
            logits, values = judge(seen[:count], masks[:count])
            for i, start, end in spans:
                trees[i].enter_judgements(logits[start:end], values[start:end], masks[start:end])
        growing = [i for i in growing if left[i] > 0 and not trees[i].solved]
