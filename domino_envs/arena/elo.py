"""Ratings by maximum likelihood.

Model: Bradley & Terry (1952) with a draw as half a win, on Elo's scale: against an opponent rated ``d`` lower a player
scores ``1 / (1 + 10 ** (-d / 400))`` on average. The maximum of the likelihood gives every player exactly as many
points as it has made, so that ratings keep their meaning in points however often games are drawn.

Prior: to each two players that have met, one drawn mirrored pair (two drawn games) is added. It keeps ratings finite
when somebody has won everything, and moves an ordinary rating after some hundred games by about one point.

Intervals: the covariance is the sandwich ``H⁻¹ G H⁻¹`` (Huber 1967; H the information matrix, G the outer products of
the gradients summed within each deal), so games on the same deal, above all the two of a mirrored pair, may depend on
each other in any way. The added pair counts in G as uncertain by one point: without it there would be no doubt left
where one player has won everything, or where each has won one game of every deal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log

import numpy as np
from numpy.typing import NDArray

from .intervals import CONFIDENCE, normal_quantile

__all__ = ["Outcome", "Rating", "expected_score", "fit_elo"]

_LOGIT = log(10) / 400
_PRIOR_GAMES = 2
_MOST_STEPS = 500
_LONGEST_STEP = 1.0  # in logits: a full Newton step from far away would overshoot

#: ``(first, second, first's score: 1, 0.5 or 0, deal)``
Outcome = tuple[str, str, float, int]


@dataclass(frozen=True)
class Rating:
    """A player's rating.

    Attributes:
        name: of the player.
        elo: points above the anchor; NaN if no chain of games leads to one.
        low: lower end of the confidence interval; minus infinity if the games set no lower bound (without the prior,
            the likelihood would grow for ever as the rating falls).
        high: upper end; infinity if they set no upper bound.
        fixed: the rating was given, not estimated.
    """

    name: str
    elo: float
    low: float
    high: float
    fixed: bool = False

    def as_json(self) -> dict[str, float | bool | None]:
        """Return the numbers by name; None where one is not finite."""
        numbers = {"value": self.elo, "low": self.low, "high": self.high}
        return {**{k: round(x, 2) if isfinite(x) else None for k, x in numbers.items()}, "fixed": self.fixed}

    def text(self) -> str:
        """Return ``elo [low, high]``; one end alone, ``> low``, where there is no other."""
        if self.fixed:
            return f"{self.elo:.0f}"
        if not isfinite(self.elo) or not (isfinite(self.low) or isfinite(self.high)):
            return "?"
        if not isfinite(self.high):
            return f"> {self.low:.0f}"
        if not isfinite(self.low):
            return f"< {self.high:.0f}"
        return f"{self.elo:.0f} [{self.low:.0f}, {self.high:.0f}]"


def expected_score(difference: float) -> float:
    """Return what a player rated ``difference`` Elo points higher scores on average, from 0 to 1."""
    return float(1 / (1 + 10 ** (-difference / 400)))


def _reached(starts: Iterable[int], edges: NDArray[np.bool_]) -> set[int]:
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        for node in map(int, np.flatnonzero(edges[waiting.pop()])):
            if node not in reached:
                reached.add(node)
                waiting.append(node)
    return reached


def _checked(games: Iterable[Outcome], names: Sequence[str], anchors: Mapping[str, float]) -> list[Outcome]:
    if not anchors:
        raise ValueError("ratings need at least one anchor")
    for name in anchors:
        if name not in names:
            raise ValueError(f"the anchor {name!r} is no player, expected one of {', '.join(map(repr, names))}")
    checked = list(games)
    for first, second, score, _ in checked:
        if first not in names or second not in names or first == second:
            raise ValueError(
                f"a game needs two of the players {', '.join(map(repr, names))}, got {first!r}, {second!r}"
            )
        if not 0 <= score <= 1:
            raise ValueError(f"a score must lie between 0 and 1, got {score!r}")
    return checked


def fit_elo(
    games: Iterable[Outcome], players: Sequence[str], anchors: Mapping[str, float], *, confidence: float = CONFIDENCE
) -> list[Rating]:
    """Return the players' ratings, in the order of ``players``; method in the module's docstring.

    Args:
        games: ``(first, second, score of first, deal)``; games with an equal deal number count as one observation.
        players: all names.
        anchors: the ratings that are given, by name; at least one. Their own uncertainty is not in the intervals.
        confidence: coverage of the intervals.

    Raises:
        ValueError: for an unknown name, a score out of range, or no anchor.
    """
    names = list(players)
    played = _checked(games, names, anchors)
    number = {name: i for i, name in enumerate(names)}
    first = np.array([number[game[0]] for game in played], dtype=np.int64)
    second = np.array([number[game[1]] for game in played], dtype=np.int64)
    scores = np.array([game[2] for game in played], dtype=np.float64)
    clusters = np.unique([game[3] for game in played], return_inverse=True)[1].astype(np.int64)

    scored = np.zeros((len(names), len(names)), dtype=np.bool_)  # [i, j]: i took something from j
    np.logical_or.at(scored, (first, second), scores > 0)
    np.logical_or.at(scored, (second, first), scores < 1)
    anchored = [number[name] for name in anchors]
    linked = _reached(anchored, scored | scored.T)
    bounded_above = _reached(anchored, scored)
    bounded_below = _reached(anchored, scored.T)

    met = sorted({(min(i, j), max(i, j)) for i, j in zip(first.tolist(), second.tolist(), strict=True)})
    virtual = np.array(met, dtype=np.int64).reshape(-1, 2).repeat(_PRIOR_GAMES, axis=0)
    first, second = np.concatenate([first, virtual[:, 0]]), np.concatenate([second, virtual[:, 1]])
    scores = np.concatenate([scores, np.full(len(virtual), 0.5)])
    start = clusters.max(initial=-1) + 1
    clusters = np.concatenate([clusters, start + np.arange(len(virtual)) // _PRIOR_GAMES])

    strengths = np.zeros(len(names))
    for name, elo in anchors.items():
        strengths[number[name]] = elo * _LOGIT
    free = [i for i in range(len(names)) if i in linked and i not in anchored]
    errors = np.zeros(len(names))
    if free:
        strengths, errors = _newton(strengths, free, first, second, scores, clusters, len(virtual))
    reach = normal_quantile(confidence) * errors / _LOGIT
    ratings = []
    for i, name in enumerate(names):
        elo = float(strengths[i] / _LOGIT) if i in linked else float("nan")
        if i in anchored:
            ratings.append(Rating(name, elo, elo, elo, fixed=True))
            continue
        low = elo - float(reach[i]) if i in bounded_below else -float("inf")
        high = elo + float(reach[i]) if i in bounded_above else float("inf")
        ratings.append(Rating(name, elo, low, high))
    return ratings


def _newton(
    strengths: NDArray[np.float64],
    free: list[int],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    scores: NDArray[np.float64],
    clusters: NDArray[np.int64],
    virtual: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the strengths at the maximum, and their standard errors, both in logits; the last games are virtual."""
    strengths = strengths.copy()
    size = len(strengths)
    for _ in range(_MOST_STEPS):
        expected = 1 / (1 + np.exp(strengths[second] - strengths[first]))
        residuals = scores - expected
        gradient = np.zeros(size)
        np.add.at(gradient, first, residuals)
        np.add.at(gradient, second, -residuals)
        weights = expected * (1 - expected)
        information = np.zeros((size, size))
        np.add.at(information, (first, first), weights)
        np.add.at(information, (second, second), weights)
        np.add.at(information, (first, second), -weights)
        np.add.at(information, (second, first), -weights)
        inverse = np.linalg.inv(information[np.ix_(free, free)])
        step = inverse @ gradient[free]
        longest = float(np.abs(step).max())
        if longest < 1e-9:
            break
        strengths[free] += step * min(1.0, _LONGEST_STEP / longest)
    else:
        raise ValueError("no ratings fit: the anchors contradict the games by far too much")
    if virtual:
        residuals[-virtual:] = 1 / _PRIOR_GAMES  # one point a pair
    gradients = np.zeros((int(clusters.max()) + 1, size))
    np.add.at(gradients, (clusters, first), residuals)
    np.add.at(gradients, (clusters, second), -residuals)
    inner = gradients[:, free]
    covariance = inverse @ (inner.T @ inner) @ inverse
    errors = np.zeros(size)
    errors[free] = np.sqrt(np.diag(covariance))
    return strengths, errors
