"""Tests of the confidence intervals against known values and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from domino_envs.arena.intervals import (
    Interval,
    mean_interval,
    normal_quantile,
    ratio_interval,
    score_interval,
    student_quantile,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("degrees", "confidence", "expected"),
    [  # from printed tables of Student's t
        (1, 0.95, 12.706),
        (2, 0.95, 4.303),
        (3, 0.95, 3.182),
        (5, 0.95, 2.571),
        (10, 0.95, 2.228),
        (30, 0.95, 2.042),
        (120, 0.95, 1.980),
        (10, 0.90, 1.812),
        (5, 0.99, 4.032),
    ],
)
def test_student_quantile(degrees: int, confidence: float, expected: float) -> None:
    assert student_quantile(degrees, confidence) == pytest.approx(expected, rel=3e-3)


def test_quantiles_check_their_arguments() -> None:
    assert normal_quantile() == pytest.approx(1.959964)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1, got 95"):
        normal_quantile(95)
    with pytest.raises(ValueError, match="degrees must be at least 1, got 0"):
        student_quantile(0)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [  # Newcombe 1998, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_against_published_values(successes: int, trials: int, low: float, high: float) -> None:
    found = wilson_interval(successes, trials)
    assert (found.value, found.low, found.high) == pytest.approx((successes / trials, low, high), abs=5e-5)
    mirrored = wilson_interval(trials - successes, trials)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - high, 1 - low), abs=5e-5)


def test_wilson_at_the_ends() -> None:
    assert wilson_interval(20, 20).high == 1.0
    assert wilson_interval(0, 20).low == 0.0
    nothing = wilson_interval(0, 0)
    assert math.isnan(nothing.value)
    assert (nothing.low, nothing.high) == (0.0, 1.0)
    with pytest.raises(ValueError, match="got 3 of 2"):
        wilson_interval(3, 2)


def test_mean_interval_by_hand() -> None:
    found = mean_interval([1.0, 2.0, 3.0, 6.0])  # standard deviation √(14/3), standard error 1.0801, t₃ = 3.182
    assert found.value == 3.0
    assert found.high - 3.0 == pytest.approx(3.182 * 1.0801, rel=3e-3)
    assert 3.0 - found.low == pytest.approx(found.high - 3.0)
    assert mean_interval([5.0]) == Interval(5.0, -math.inf, math.inf)
    with pytest.raises(ValueError, match="finite"):
        mean_interval([1.0, math.nan])


def test_score_interval_by_hand() -> None:
    found = score_interval([1.0, 1.0, 0.5, 1.0])
    # Squared deviations from 0.875: 3 / 64 + 9 / 64 = 0.1875; four trials would have 3 * 0.875 * 0.125 = 0.3281.
    trials = 4 * 1.328125 / 1.1875
    z = student_quantile(3)
    centre = (0.875 + z * z / (2 * trials)) / (1 + z * z / trials)
    spread = z / (1 + z * z / trials) * math.sqrt(0.875 * 0.125 / trials + z * z / (4 * trials * trials))
    assert (found.value, found.low, found.high) == pytest.approx((0.875, centre - spread, centre + spread))


def test_score_interval_of_many_pairs_is_students() -> None:
    scores = np.tile([1.0, 0.5, 0.5, 0.0, 1.0], 400)
    found, student = score_interval(scores), mean_interval(scores)
    assert (found.low, found.high) == pytest.approx((student.low, student.high), abs=1e-3)


def test_won_pairs_count_like_trials() -> None:
    assert score_interval([1.0] * 200).low == pytest.approx(wilson_interval(200, 200).low, abs=1e-3)


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_equal_scores_leave_doubt(score: float) -> None:
    few, many = score_interval([score] * 10), score_interval([score] * 1000)
    for found in (few, many):
        assert found.value == score
        assert found.low <= score <= found.high
    assert 0.1 < few.high - few.low < 0.7
    assert 0 < many.high - many.low < 0.02


def test_score_interval_checks_its_scores() -> None:
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        score_interval([0.5, 1.5])
    assert score_interval([]).low == 0.0
    assert score_interval([0.5]) == Interval(0.5, 0.0, 1.0)


def pair_scores(rng: np.random.Generator, pairs: int, strength: float, luck: float, draws: float) -> np.ndarray:
    """Simulate mirrored pairs: with probability ``luck`` the better hand decides both games, else the strength."""
    lucky = rng.random(pairs) < luck
    drawn = rng.random((2, pairs)) < draws
    games = np.where(drawn, 0.5, rng.random((2, pairs)) < strength)
    return np.where(lucky, 0.5, games.mean(axis=0))


@pytest.mark.parametrize(
    ("strength", "luck", "draws"),
    [(0.5, 0.0, 0.0), (0.5, 0.7, 0.0), (0.8, 0.5, 0.1), (0.95, 0.0, 0.0), (0.99, 0.0, 0.0), (0.6, 0.0, 0.9)],
)
def test_score_interval_covers(strength: float, luck: float, draws: float) -> None:
    rng = np.random.default_rng(1)
    truth = luck / 2 + (1 - luck) * (draws / 2 + (1 - draws) * strength)
    trials = 1000
    found = [score_interval(pair_scores(rng, 50, strength, luck, draws)) for _ in range(trials)]
    covered = sum(interval.low <= truth <= interval.high for interval in found) / trials
    assert covered > 0.935


def test_pairing_matters_to_the_interval() -> None:
    """The same games, taken as independent, would claim much less certainty than the mirrored pairs give."""
    rng = np.random.default_rng(2)
    scores = pair_scores(rng, 500, 0.5, 0.8, 0.0)
    paired = score_interval(scores)
    alone = wilson_interval(float(scores.sum()) * 2, 1000)
    assert paired.high - paired.low < 0.7 * (alone.high - alone.low)


def test_ratio_interval_by_hand() -> None:
    found = ratio_interval([2, 1, 3, 9], [2, 3, 5, 0])  # 6 of 10; the last cluster has no decision
    assert found.value == pytest.approx(0.6)
    residuals = np.array([2 - 1.2, 1 - 1.8, 3 - 3.0])
    error = math.sqrt(3 / 2 * float((residuals**2).sum())) / 10
    assert found.high - 0.6 == pytest.approx(student_quantile(2) * error)
    assert ratio_interval([1], [2]) == Interval(0.5, -math.inf, math.inf)
    with pytest.raises(ValueError, match="equal length"):
        ratio_interval([1], [1, 2])


def test_ratio_interval_covers_clustered_decisions() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(500):
        counts = rng.integers(1, 12, size=60)
        quality = rng.beta(8, 2, size=60)  # differs from game to game: decisions of a game are alike
        interval = ratio_interval(rng.binomial(counts, quality), counts)
        covered += interval.low <= 0.8 <= interval.high
    assert covered / 500 > 0.92


def test_interval_as_text_and_json() -> None:
    interval = Interval(0.5, 0.25, math.inf)
    assert interval.text(100) == "50.0 [25.0, inf]"
    assert interval.as_json() == {"value": 0.5, "low": 0.25, "high": None}
