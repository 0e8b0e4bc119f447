"""Exact best responses in Mate, and so how far any policy can be exploited.

A best response knows the policy and the deal. From the opening all positions are listed layer by layer (tile by tile;
lines that lead to the same hands and pip meet again), the policy is asked once for the whole layer, and the values are
folded back: the mean over the policy's probabilities where it moves, the best where its opponent does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..games import get_game
from ..games.kernels import moves, observe, play
from ..games.mate import STATE
from ..jit import int64, kernel
from .base import Agent
from .mate_solver import mate_value

__all__ = ["Exploitability", "Policy", "exploitability"]

#: ``(observations, action_masks, states) -> probabilities``: ``int8 (n, 120)``, ``int8 (n, 42)``, records ``(n,)``;
#: floats ``(n, 42)``.
Policy = Callable[[NDArray[np.int8], NDArray[np.int8], NDArray[Any]], NDArray[Any]]

_DEALS_AT_ONCE = 64
_NOT_ENDED = -(2**15)


@dataclass(frozen=True)
class Exploitability:
    """How many points a deal a policy gives away to a best response, by seat.

    Attributes:
        values: value of each deal under perfect play, for the player who moves first, ``int16 (n,)``.
        as_first: what the policy loses against it as the player who moves first and meets a best response,
            ``float64 (n,)``, at least 0.
        as_second: the same as the player who moves second.
    """

    values: NDArray[np.int16]
    as_first: NDArray[np.float64]
    as_second: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Points a deal, over both seats and all deals."""
        return float((self.as_first + self.as_second).mean() / 2)

    @property
    def standard_error(self) -> float:
        """Standard error of :attr:`mean` over the deals; NaN for fewer than two."""
        count = len(self.values)
        return float(((self.as_first + self.as_second) / 2).std(ddof=1) / np.sqrt(count)) if count > 1 else float("nan")


@kernel
def _list_moves(states: Any, masks: Any, observations: Any, counts: Any, actions: Any) -> None:
    for row in range(len(states)):
        counts[row] = moves(states[row], actions)
        for i in range(counts[row]):
            masks[row, actions[i]] = 1
        observe(states[row], int64(states[row]["mover"]), observations[row])


@kernel
def _play_moves(states: Any, masks: Any, children: Any, keys: Any, deals: Any, points: Any) -> None:
    """Make every move of every state; ``points`` says what the mover has won by it, or that the game goes on."""
    edge = 0
    for row in range(len(states)):
        deal = deals[row]
        for action in range(masks.shape[1]):
            if masks[row, action]:
                children[edge] = states[row]
                child = children[edge]
                play(child, action)
                if child["deal_over"]:
                    points[edge] = child["points"][child["finished"] - 1]
                    keys[edge] = -1
                else:
                    points[edge] = _NOT_ENDED
                    hands = int64(child["hands"][0]) | int64(child["hands"][1]) << 21
                    keys[edge] = deal << 45 | int64(child["open_pip"]) << 42 | hands
                edge += 1


@dataclass
class _Layer:
    """Positions with equally many tiles on the table; edges are their moves, in order."""

    first_edge: NDArray[np.int64]
    probabilities: NDArray[np.float64]  # of each edge
    values: NDArray[np.float64]  # (edges, 2): of each edge for the first player, see _fold
    goes_on: NDArray[np.bool_]  # by edge
    target: NDArray[np.int64]  # position of the next layer, for the edges that go on


def _checked(answer: Any, masks: NDArray[np.int8]) -> NDArray[np.float64]:
    probabilities = np.asarray(answer, dtype=np.float64)
    if probabilities.shape != masks.shape:
        raise ValueError(f"the policy must return probabilities of shape {masks.shape}, got {probabilities.shape}")
    if not (probabilities >= 0).all():
        raise ValueError("the policy's probabilities must not be negative or NaN")
    if (probabilities[masks == 0] > 0).any():
        raise ValueError("the policy gives illegal actions a positive probability")
    sums = probabilities.sum(axis=1, keepdims=True)
    if (abs(sums - 1) > 1e-3).any():
        raise ValueError(f"the policy's probabilities must sum to 1 in each row, got {sums[abs(sums - 1) > 1e-3][0]}")
    return probabilities / sums


def _expand(states: NDArray[Any], deals: NDArray[np.int64], policy: Policy, sign: int) -> tuple[_Layer, Any, Any]:
    """Return the layer of these positions, and the next one's positions with the deals that they belong to."""
    game = get_game("mate")
    count = len(states)
    masks = np.zeros((count, game.num_actions), dtype=np.int8)
    observations = np.zeros((count, game.layout.size), dtype=np.int8)
    counts = np.zeros(count, dtype=np.int64)
    _list_moves(states, masks, observations, counts, np.zeros(game.num_actions, dtype=np.int32))
    edges = int(counts.sum())
    children = np.zeros(edges, dtype=STATE)
    keys = np.zeros(edges, dtype=np.int64)
    points = np.zeros(edges, dtype=np.int16)
    _play_moves(states, masks, children, keys, deals, points)
    goes_on = keys >= 0
    _, representative, target = np.unique(keys[goes_on], return_index=True, return_inverse=True)
    layer = _Layer(
        first_edge=np.cumsum(counts) - counts,
        probabilities=_checked(policy(observations, masks, states), masks)[masks != 0],
        values=np.repeat(sign * points.astype(np.float64)[:, None], 2, axis=1),
        goes_on=goes_on,
        target=target,
    )
    edge_deals = np.repeat(deals, counts)
    return layer, children[goes_on][representative], edge_deals[goes_on][representative]


def _fold(layers: list[_Layer]) -> NDArray[np.float64]:
    """Return the first player's values, ``(deals, 2)``: the policy moves first, the policy moves second."""
    values = np.zeros((0, 2))
    for depth in reversed(range(len(layers))):
        layer = layers[depth]
        layer.values[layer.goes_on] = values[layer.target]
        policy_side = depth % 2  # the policy has the move here if it is this player
        best = np.maximum if depth % 2 == 0 else np.minimum
        values = np.empty((len(layer.first_edge), 2))
        weighted = layer.values[:, policy_side] * layer.probabilities
        values[:, policy_side] = np.add.reduceat(weighted, layer.first_edge)
        values[:, 1 - policy_side] = best.reduceat(layer.values[:, 1 - policy_side], layer.first_edge)
    return values


def _best_responses(states: NDArray[Any], policy: Policy) -> NDArray[np.float64]:
    layers = []
    positions, deals, sign = states, np.arange(len(states)), 1
    while len(positions):
        layer, positions, deals = _expand(positions, deals, policy, sign)
        layers.append(layer)
        sign = -sign
    return _fold(layers)


def exploitability(
    policy: Agent | Policy, states: NDArray[Any], *, progress: Callable[[int, int], None] | None = None
) -> Exploitability:
    """Return what a policy gives away in each deal to a best response against it, in either seat.

    Args:
        policy: an agent that can tell its probabilities, or such a function. It is asked once for a position, in
            batches over all that can come up; positions that look the same to the mover are asked once.
        states: the positions to start from, records of Mate, shape ``(n,)``; random deals by
            ``opening_positions(game, n, seed)``.
        progress: called with the number of deals done and their total.

    Raises:
        ValueError: for records of another game, a finished game, or probabilities that are none.
        NotImplementedError: for an agent that cannot tell its probabilities.
    """
    values = mate_value(states)
    ask: Policy = policy.probabilities if isinstance(policy, Agent) else policy
    responses = np.zeros((len(states), 2))
    for start in range(0, len(states), _DEALS_AT_ONCE):
        stop = min(start + _DEALS_AT_ONCE, len(states))
        responses[start:stop] = _best_responses(states[start:stop], ask)
        if progress is not None:
            progress(stop, len(states))
    return Exploitability(values, values - responses[:, 0], responses[:, 1] - values)
