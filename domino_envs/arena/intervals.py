"""Means with confidence intervals; pure functions of the numbers observed.

What one deal decides is one observation: the two games of a mirrored pair share their tiles, so they enter as their
mean, and decisions of one game enter together (:func:`ratio_interval`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, pi, sqrt, tan
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CONFIDENCE", "Interval", "mean_interval", "normal_quantile", "ratio_interval", "score_interval",
           "student_quantile", "wilson_interval"]  # fmt: skip

#: Coverage of the intervals unless another is asked for.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """An estimate and its confidence interval.

    Attributes:
        value: the estimate; NaN without any observation.
        low: lower end.
        high: upper end.
    """

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, float | None]:
        """Return the numbers by name; None where one is not finite."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        return {name: round(number, 6) if isfinite(number) else None for name, number in numbers.items()}

    def text(self, scale: float = 1.0, digits: int = 1) -> str:
        """Return ``value [low, high]``, each times ``scale``."""
        value, low, high = (f"{number * scale:.{digits}f}" for number in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"


def _check_confidence(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}")
    return (1 + confidence) / 2


def normal_quantile(confidence: float = CONFIDENCE) -> float:
    """Return how many standard errors a two-sided normal interval reaches to each side (1.96 for 95 %)."""
    return NormalDist().inv_cdf(_check_confidence(confidence))


def student_quantile(degrees: int, confidence: float = CONFIDENCE) -> float:
    """Return the same for Student's t distribution.

    Exact for one and two degrees of freedom; beyond, the expansion 26.7.5 of Abramowitz & Stegun (1964) in the normal
    quantile, which is good to 0.2 % for 95 %.

    Raises:
        ValueError: for fewer than one degree of freedom.
    """
    probability = _check_confidence(confidence)
    if degrees < 1:
        raise ValueError(f"degrees must be at least 1, got {degrees}")
    if degrees == 1:
        return tan(pi * (probability - 0.5))
    if degrees == 2:
        a = 2 * probability - 1
        return a * sqrt(2 / (1 - a * a))
    x = normal_quantile(confidence)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return float(x + sum(term / degrees ** (i + 1) for i, term in enumerate(terms)))


def wilson_interval(successes: float, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the share of successes in independent trials with Wilson's score interval (1927).

    Args:
        successes: from 0 to ``trials``.
        trials: their number; with none, the interval is all of 0 to 1.
        confidence: coverage.

    Raises:
        ValueError: for a number out of range.
    """
    if trials < 0 or not 0 <= successes <= trials:
        raise ValueError(f"successes must lie between 0 and trials, got {successes} of {trials}")
    if trials == 0:
        return Interval(float("nan"), 0.0, 1.0)
    return _wilson(successes / trials, trials, normal_quantile(confidence))


def _wilson(share: float, trials: float, quantile: float) -> Interval:
    centre = share + quantile**2 / (2 * trials)
    spread = quantile * sqrt(share * (1 - share) / trials + quantile**2 / (4 * trials**2))
    scale = 1 + quantile**2 / trials
    # At 0 and 1 an end coincides with the share; rounding must not put it on the wrong side.
    return Interval(share, max(0.0, min(share, (centre - spread) / scale)), max(share, (centre + spread) / scale))


def _vector(values: ArrayLike, name: str = "values") -> NDArray[np.float64]:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise ValueError(f"{name} must be a flat list of finite numbers, got {values!r}")
    return vector


def mean_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of independent numbers with Student's t interval, endless for fewer than two."""
    vector = _vector(values)
    if len(vector) < 2:
        value = float(vector[0]) if len(vector) else float("nan")
        return Interval(value, -float("inf"), float("inf"))
    mean = float(vector.mean())
    spread = student_quantile(len(vector) - 1, confidence) * float(vector.std(ddof=1)) / sqrt(len(vector))
    return Interval(mean, mean - spread, mean + spread)


def score_interval(pair_scores: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of independent scores from 0 to 1 with an interval that stays honest at the ends.

    Meant for the mean scores of mirrored pairs: three wins in a row, or nothing but draws, must not give an interval of
    width zero. It is Wilson's interval for as many independent trials as would make the mean equally certain (Korn &
    Graubard 1998), with Student's quantile. The variance that says how many those are counts one more score, as
    uncertain as a single trial; so ten pairs that are all won weigh like ten trials.

    Args:
        pair_scores: one for each pair, ``(n,)``, each from 0 to 1; for fewer than two, the interval is all of 0 to 1.
        confidence: coverage.

    Raises:
        ValueError: for a score out of range.
    """
    scores = _vector(pair_scores, "pair_scores")
    if ((scores < 0) | (scores > 1)).any():
        raise ValueError(f"scores must lie between 0 and 1, got {scores[(scores < 0) | (scores > 1)][0]}")
    count = len(scores)
    if count < 2:
        return Interval(float(scores[0]) if count else float("nan"), 0.0, 1.0)
    mean = min(1.0, float(scores.mean()))
    observed = float(((scores - mean) ** 2).sum())
    as_trials = (count - 1) * mean * (1 - mean)
    return _wilson(mean, count * (as_trials + 1) / (observed + 1), student_quantile(count - 1, confidence))


def ratio_interval(totals: ArrayLike, counts: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """Return ``sum(totals) / sum(counts)`` over independent clusters, with a linearised t interval.

    For means over decisions, of which each game (the cluster) has its own number: Cochran, *Sampling Techniques*
    (1977), section 6.5. Endless if fewer than two clusters have a count.

    Args:
        totals: the sum over each cluster, ``(n,)``.
        counts: the number of decisions in each, ``(n,)``, not negative; clusters of none are left out.
        confidence: coverage.

    Raises:
        ValueError: for vectors of unequal length or a negative count.
    """
    sums, sizes = _vector(totals, "totals"), _vector(counts, "counts")
    if sums.shape != sizes.shape or (sizes < 0).any():
        raise ValueError(
            f"totals and counts must have equal length, counts not be negative, got {totals!r}, {counts!r}"
        )
    sums, sizes = sums[sizes > 0], sizes[sizes > 0]
    clusters: Any = len(sizes)
    if not clusters:
        return Interval(float("nan"), -float("inf"), float("inf"))
    ratio = float(sums.sum() / sizes.sum())
    if clusters < 2:
        return Interval(ratio, -float("inf"), float("inf"))
    variance = clusters / (clusters - 1) * float(((sums - ratio * sizes) ** 2).sum()) / float(sizes.sum()) ** 2
    spread = student_quantile(clusters - 1, confidence) * sqrt(variance)
    return Interval(ratio, ratio - spread, ratio + spread)
