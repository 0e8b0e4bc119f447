"""The search tree as one NumPy array of nodes, and the steps of UCT over it: select, expand, back up.

Source: UCT (Kocsis and Szepesvári 2006) with score-bounded proofs (Cazenave and Saffidine 2010), which settle won, lost
and drawn subtrees. Results are those of the running deal, divided by a scale, from seat 0's view.

Children of a node lie side by side. A node holds no position: each simulation plays from the root's record down.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np

from ..bits import borrow, random_below
from ..games.kernels import moves, play
from ..jit import int64, kernel
from .skills import assess, rollout

__all__ = ["NODE", "back_up", "deal_result", "expand", "keep_subtree", "new_node", "simulate"]

_BEYOND = 1e9
_NOISE = 1e-7  # times up to 1000: the order among children of equal priors

NODE = np.dtype(
    [
        ("parent", np.int32),  # -1 for the root
        ("first", np.int32),  # index of the first child, -1 while not expanded
        ("count", np.int32),  # children
        ("action", np.int32),  # that leads here
        ("visits", np.int32),
        ("total", np.float64),  # sum of the results of its simulations
        ("low", np.float32),  # proven bounds of the result
        ("high", np.float32),
        ("seat", np.int32),  # to move
        ("prior", np.float32),  # result expected before any simulation
    ],
    align=True,
)


@kernel
def deal_result(state: Any) -> float:
    """Return the points of a finished deal from seat 0's view."""
    last = state["finished"] - 1
    winner = state["winners"][last]
    if winner < 0:
        return 0.0
    points = float(state["points"][last])
    return points if winner == 0 else -points


@kernel
def new_node(tree: Any, index: int, parent: int, action: int, limit: float) -> None:
    """Write a node that has not been visited; no result is beyond ``limit``."""
    node = tree[index]
    node["parent"] = parent
    node["first"] = -1
    node["count"] = node["visits"] = 0
    node["action"] = action
    node["total"] = node["prior"] = 0.0
    node["low"], node["high"] = -limit, limit


@kernel
def _tighten(tree: Any, index: int) -> bool:
    """Work out a node's bounds from its children's; return whether they have changed."""
    node = tree[index]
    low, high = tree[node["first"]]["low"], tree[node["first"]]["high"]
    for i in range(node["first"] + 1, node["first"] + node["count"]):
        if node["seat"] == 0:
            low, high = max(low, tree[i]["low"]), max(high, tree[i]["high"])
        else:
            low, high = min(low, tree[i]["low"]), min(high, tree[i]["high"])
    if low == node["low"] and high == node["high"]:
        return False
    node["low"], node["high"] = low, high
    return True


@kernel
def tighten_upwards(tree: Any, index: int) -> None:
    """Work out the bounds of a node and of those above it, as far up as they change."""
    top = int64(index)
    while top >= 0 and _tighten(tree, top):
        top = int64(tree[top]["parent"])


@kernel
def expand(
    tree: Any,
    index: int,
    used: int,
    state: Any,
    spare: Any,
    rngs: Any,
    lane: int,
    actions: Any,
    scale: float,
    limit: float,
) -> int:
    """Write the children of a node, one for each legal action; return the number of nodes used thereafter.

    What is plain of their results is entered as proven, and from there up. ``spare`` is a record to try moves on.
    """
    count = moves(state, actions)
    for i in range(count):
        action = int64(actions[i])
        new_node(tree, used + i, index, action, limit)
        spare[0] = state
        after = spare[0]
        play(after, action)
        child = tree[used + i]
        child["seat"] = after["mover"]
        if after["deal_over"]:
            child["low"] = child["high"] = deal_result(after) / scale
        else:
            estimate = assess(after)
            if after["mover"] != 0:
                estimate = -estimate
            if abs(estimate) == 1.0:
                child["low"] = child["high"] = estimate
            child["prior"] = estimate + _NOISE * random_below(rngs, lane, 1000)
    node = tree[index]
    node["first"] = used
    node["count"] = count
    tighten_upwards(tree, index)
    return used + count


@kernel
def _select(tree: Any, index: int, exploration: float, weight: float) -> int:
    """Return the child of the highest upper confidence bound; its prior counts for ``weight`` visits.

    Children proven to be no better for the mover than what it has for sure are left out; there must be others.
    """
    node = tree[index]
    first = int64(node["first"])
    sign = 1.0 if node["seat"] == 0 else -1.0
    secure = node["low"] if node["seat"] == 0 else -node["high"]
    explore = exploration * sqrt(log(float(node["visits"] + 1)))
    best, chosen = -_BEYOND, first
    for i in range(first, first + node["count"]):
        child = tree[i]
        most = child["high"] if node["seat"] == 0 else -child["low"]
        if most <= secure:
            continue
        visits = float(child["visits"]) + weight
        bound = sign * (child["total"] + weight * child["prior"]) / visits + explore / sqrt(visits)
        if bound > best:
            best, chosen = bound, i
    return chosen


@kernel
def back_up(tree: Any, leaf: int, result: float, bounded: bool) -> None:
    """Enter a simulation's result from the leaf up; if ``bounded``, at each node not beyond what is proven there."""
    index = leaf
    while index >= 0:
        node = tree[index]
        if bounded:
            result = min(max(result, float(node["low"])), float(node["high"]))
        node["visits"] += 1
        node["total"] += result
        index = int64(node["parent"])


@kernel
def simulate(
    tree: Any,
    used: int,
    root: Any,
    scratch: Any,
    rngs: Any,
    lane: int,
    actions: Any,
    simulations: int,
    exploration: float,
    weight: float,
    estimate_share: float,
    scale: float,
    limit: float,
    grow: bool,
) -> tuple[int, int]:
    """Run simulations from the root's record ``root[0]``.

    A leaf's result is the mean of its prior, with ``estimate_share``, and of a rollout. They end early when the root is
    solved, and with ``grow`` when the array is full; without it a full tree grows no
    more. ``used`` counts the nodes in use; node 0 is the root. ``scratch`` are two records to play on.

    Returns:
        The number of simulations run, and of nodes in use.
    """
    tree, root, scratch, rngs, actions = borrow(tree), borrow(root), borrow(scratch), borrow(rngs), borrow(actions)
    room = len(tree) - len(actions)
    tree[0]["seat"] = root[0]["mover"]
    for done in range(simulations):
        if tree[0]["low"] == tree[0]["high"] or (grow and used > room):
            return done, used
        scratch[0] = root[0]
        state = scratch[0]
        index = int64(0)
        while True:
            node = tree[index]
            if node["low"] == node["high"]:
                result = float(node["low"])
                break
            if node["first"] < 0:
                if (node["visits"] == 0 and index > 0) or used > room:
                    result = estimate_share * float(node["prior"])
                    if estimate_share < 1.0:
                        rollout(state, rngs, lane, actions)
                        result += (1.0 - estimate_share) * deal_result(state) / scale
                    break
                used = expand(tree, index, used, state, scratch[1:], rngs, lane, actions, scale, limit)
                continue
            index = _select(tree, index, exploration, weight)
            play(state, int64(tree[index]["action"]))
        back_up(tree, index, result, False)
    return simulations, used


@kernel
def keep_subtree(tree: Any, index: int, other: Any) -> int:
    """Copy a node and all below it to the start of another array, as its root; return the number of nodes."""
    other[0] = tree[index]
    other[0]["parent"] = -1
    used = int64(1)
    done = int64(0)
    while done < used:
        first = int64(other[done]["first"])
        if first >= 0:
            other[done]["first"] = used
            for i in range(other[done]["count"]):
                other[used] = tree[first + i]
                other[used]["parent"] = done
                used += 1
        done += 1
    return used
