"""Tests of the ratings: known strengths come back, intervals cover, hopeless cases are said to be so."""

from __future__ import annotations

import math

import numpy as np
import pytest

from domino_envs.arena.elo import Outcome, Rating, expected_score, fit_elo


def simulated(
    rng: np.random.Generator, strengths: dict[str, float], deals: int, luck: float = 0.0, draws: float = 0.0
) -> list[Outcome]:
    """Round robins of mirrored pairs; with probability ``luck`` seat 0 has the better hand and wins both ways."""
    outcomes: list[Outcome] = []
    names = list(strengths)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            share = expected_score(strengths[first] - strengths[second])
            drawn = 2 * draws * min(share, 1 - share)
            win = (share - drawn / 2) / (1 - drawn)
            for deal in range(deals):
                lucky = rng.random() < luck
                for mirrored in (False, True):
                    score = 0.5 if rng.random() < drawn else float(rng.random() < win)
                    if lucky:
                        score = float(not mirrored)
                    outcomes.append((second, first, 1 - score, deal) if mirrored else (first, second, score, deal))
    return outcomes


def by_name(ratings: list[Rating]) -> dict[str, Rating]:
    return {rating.name: rating for rating in ratings}


def test_two_players_by_hand() -> None:
    # 75 of 100 points, and with the prior 76 of 102: 400 log10(76 / 26) above.
    outcomes: list[Outcome] = [("a", "b", float(deal % 4 > 0), deal) for deal in range(100)]
    found = by_name(fit_elo(outcomes, ["a", "b"], {"b": 0.0}))
    assert found["b"] == Rating("b", 0.0, 0.0, 0.0, fixed=True)
    assert found["a"].elo == pytest.approx(400 * math.log10(76 / 26))
    # Sandwich by hand: each game is a cluster of its own, the prior's pair counts as one point.
    share = 76 / 102
    information = 102 * share * (1 - share)
    outer = 75 * (1 - share) ** 2 + 25 * share**2 + 1
    error = math.sqrt(outer) / information * 400 / math.log(10)
    assert found["a"].high - found["a"].elo == pytest.approx(1.959964 * error, rel=1e-6)


def test_a_draw_is_half_a_win() -> None:
    wins: list[Outcome] = [("a", "b", float(deal % 2), deal) for deal in range(40)]
    draws: list[Outcome] = [("a", "b", 0.5, deal) for deal in range(40)]
    for outcomes in (wins, draws):
        assert by_name(fit_elo(outcomes, ["a", "b"], {"a": 0.0}))["b"].elo == pytest.approx(0.0, abs=1e-6)


def test_points_are_met_exactly() -> None:
    """At the maximum the expected points of every player equal those made (the prior's games counted)."""
    rng = np.random.default_rng(5)
    outcomes = simulated(rng, {"a": 0.0, "b": 100.0, "c": 300.0}, 30, draws=0.5)
    found = by_name(fit_elo(outcomes, ["a", "b", "c"], {"a": 0.0}))
    with_prior = [*outcomes, *[(*pair, 0.5, 0) for pair in (("a", "b"), ("a", "c"), ("b", "c")) for _ in range(2)]]
    for name in ("a", "b", "c"):
        made = sum(s if a == name else 1 - s for a, b, s, _ in with_prior if name in (a, b))
        expected = sum(
            expected_score(found[name].elo - found[b if a == name else a].elo)
            for a, b, _, _ in with_prior
            if name in (a, b)
        )
        assert made == pytest.approx(expected, abs=1e-6)


def test_known_strengths_come_back() -> None:
    strengths = {"random": 0.0, "weak": 150.0, "middle": 300.0, "strong": 500.0}
    rng = np.random.default_rng(7)
    found = by_name(fit_elo(simulated(rng, strengths, 2000, draws=0.3), list(strengths), {"random": 0.0}))
    for name, elo in strengths.items():
        assert found[name].elo == pytest.approx(elo, abs=20)


@pytest.mark.parametrize("luck", [0.0, 0.6])
def test_intervals_cover_also_when_pairs_are_not_independent(luck: float) -> None:
    rng = np.random.default_rng(11)
    strengths = {"random": 0.0, "a": 80.0, "b": 200.0}
    covered = 0
    trials = 150
    # With luck the scores are drawn towards one half, so the truth is that of a very long tournament.
    truth = by_name(fit_elo(simulated(rng, strengths, 20000, luck=luck), list(strengths), {"random": 0.0}))
    for _ in range(trials):
        found = by_name(fit_elo(simulated(rng, strengths, 60, luck=luck), list(strengths), {"random": 0.0}))
        covered += sum(found[name].low <= truth[name].elo <= found[name].high for name in ("a", "b"))
    assert 0.91 < covered / (2 * trials) < 0.99


def test_who_wins_everything_has_a_lower_bound_only() -> None:
    outcomes: list[Outcome] = [("a", "random", 1.0, deal // 2) for deal in range(400)]
    found = by_name(fit_elo(outcomes, ["random", "a"], {"random": 0.0}))["a"]
    assert found.high == math.inf
    assert 500 < found.low < 800  # Wilson's lower end for 200 of 200 pairs, 98.1 %, is 687 points above
    assert found.text() == f"> {found.low:.0f}"
    assert found.as_json()["high"] is None
    loser = by_name(fit_elo([(b, a, s, d) for a, b, s, d in outcomes], ["random", "a"], {"random": 0.0}))["a"]
    assert loser.low == -math.inf
    assert loser.elo == pytest.approx(-found.elo)


def test_split_pairs_leave_doubt() -> None:
    outcomes: list[Outcome] = [("a", "b", float(game % 2), game // 2) for game in range(10)]
    found = by_name(fit_elo(outcomes, ["a", "b"], {"a": 0.0}))["b"]
    assert found.elo == pytest.approx(0.0, abs=1e-6)
    assert 50 < found.high < 200
    assert found.low == pytest.approx(-found.high)


def test_a_bound_may_come_by_way_of_a_third_player() -> None:
    outcomes: list[Outcome] = [("b", "a", 1.0, deal) for deal in range(20)]
    outcomes += [("b", "c", deal % 2, deal) for deal in range(20)]
    outcomes += [("c", "a", deal % 2, deal) for deal in range(20)]
    found = by_name(fit_elo(outcomes, ["a", "b", "c"], {"a": 0.0}))
    assert all(math.isfinite(found[name].high) for name in "bc")


def test_a_player_nobody_has_met_has_no_rating() -> None:
    found = by_name(fit_elo([("a", "b", 1.0, 0)], ["a", "b", "c"], {"a": 0.0}))
    assert math.isnan(found["c"].elo)
    assert found["c"].text() == "?"
    assert found["c"].as_json()["value"] is None
    assert [r.elo for r in fit_elo([], ["a"], {"a": 50.0})] == [50.0]


def test_fixed_opponents() -> None:
    """Against opponents of known rating the estimate meets the points made against all of them."""
    outcomes: list[Outcome] = [("me", "low", float(deal % 5 > 0), deal) for deal in range(100)]
    outcomes += [("me", "high", float(deal % 4 == 0), deal) for deal in range(100)]
    found = by_name(fit_elo(outcomes, ["low", "high", "me"], {"low": 100.0, "high": 500.0}))
    assert (found["low"].elo, found["high"].elo) == (100.0, 500.0)
    expected = 102 * (expected_score(found["me"].elo - 100) + expected_score(found["me"].elo - 500))
    assert expected == pytest.approx(80 + 25 + 2)


@pytest.mark.parametrize(
    ("outcomes", "players", "anchors", "message"),
    [
        ([("a", "x", 1.0, 0)], ["a", "b"], {"a": 0.0}, "got 'a', 'x'"),
        ([("a", "a", 1.0, 0)], ["a", "b"], {"a": 0.0}, "got 'a', 'a'"),
        ([("a", "b", 2.0, 0)], ["a", "b"], {"a": 0.0}, "got 2.0"),
        ([], ["a", "b"], {"c": 0.0}, "the anchor 'c' is no player"),
        ([], ["a", "b"], {}, "at least one anchor"),
    ],
)
def test_bad_input(outcomes: list[Outcome], players: list[str], anchors: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit_elo(outcomes, players, anchors)
