"""Tests of search-guided targets: what is learned from searched positions, with and without the network's guidance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from domino_envs.agents.mate_solver import mate_values
from domino_envs.agents.positions import random_positions
from domino_envs.arena.exact import views
from domino_envs.games import get_game
from domino_envs.learning.policy import make_network
from domino_envs.learning.search_targets import SearchTargets

MATE = get_game("mate")
Arrays = tuple[NDArray[np.void], NDArray[np.int8], NDArray[np.int8]]


def decisions(count: int, seed: int) -> Arrays:
    """Return positions of Mate with a choice to make, what their movers see, and the action masks."""
    states = random_positions(MATE, count, seed=seed)
    observations, masks = views(MATE, states)
    free = masks.sum(axis=1) > 1
    return states[free], observations[free], masks[free]


def indifferent(
    observations: NDArray[np.int8], action_masks: NDArray[np.int8]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return np.zeros(action_masks.shape, dtype=np.float32), np.zeros(len(action_masks), dtype=np.float32)


def targets(**named: object) -> SearchTargets:
    settings = {"simulations": 300, "capacity": 500, "value_scale": 0.02} | named
    return SearchTargets(MATE, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("guided", [False, True])
def test_finds_the_best_moves_and_their_values(guided: bool) -> None:
    states, observations, masks = decisions(150, seed=1)
    found = targets(guided=guided)
    found.add(states, observations, masks, seed=2, judge=indifferent)
    count = len(states)
    assert len(found) == count and np.array_equal(found.observations[:count], observations)
    shares = found.probabilities[:count]
    assert shares.sum(axis=1) == pytest.approx(1.0, abs=1e-5) and (shares[masks == 0] == 0).all()
    exact = mate_values(states).astype(np.float64)
    best = exact.max(axis=1)
    likeliest = exact[np.arange(count), shares.argmax(axis=1)]
    assert (likeliest == best).mean() > 0.8
    assert np.median(np.abs(found.values[:count] * 50 - best)) < 1.0


def test_exact_targets_are_the_solvers_where_moves_differ() -> None:
    states, observations, masks = decisions(200, seed=11)
    found = targets(exact=True)
    found.add(states, observations, masks, seed=1, judge=indifferent)
    exact = np.ma.masked_array(mate_values(states).astype(np.float64), mask=masks == 0)
    differ = exact.max(axis=1) > exact.min(axis=1)
    best = exact[differ].max(axis=1)
    count = len(found)
    assert 0 < count == differ.sum() < len(states)
    assert np.array_equal(found.observations[:count], observations[differ])
    assert np.array_equal(found.probabilities[:count] > 0, (exact[differ] == best[:, None]).filled(False))
    assert found.probabilities[:count].sum(axis=1) == pytest.approx(1.0)
    assert found.values[:count] * 50 == pytest.approx(best, abs=1e-3)
    shortfall = (best[:, None] - exact[differ]).filled(0.0)
    assert found.regrets[:count] * 50 == pytest.approx(shortfall, abs=1e-3)


def test_exact_targets_weigh_mistakes_by_what_they_cost() -> None:
    given = decisions(100, seed=12)
    plain, weighing = targets(exact=True), targets(exact=True, regret_weight=2.0)
    torch.manual_seed(0)
    network = make_network("mate_graph", MATE, {"width": 8, "rounds": 1})  # even between all moves at first
    losses = []
    for found in (plain, weighing):
        found.add(*given, seed=1, judge=indifferent)
        losses.append(found.loss(network, np.arange(len(found)), value_weight=0.0).item())
    rows = slice(len(plain))
    expected = (plain.regrets[rows].sum(axis=1) / plain.action_masks[rows].sum(axis=1)).mean()
    assert losses[1] - losses[0] == pytest.approx(2.0 * expected, rel=1e-4)


def test_exact_targets_need_a_solved_game() -> None:
    with pytest.raises(ValueError, match="mate, not for domaster"):
        SearchTargets(get_game("domaster"), simulations=1, capacity=10, value_scale=1.0, exact=True)


def test_nothing_is_drawn_where_nothing_was_kept() -> None:
    found = targets(exact=True)
    assert list(found.draw(np.random.default_rng(0), 3, 10)) == []


def test_sharper_targets_keep_the_order() -> None:
    given = decisions(60, seed=3)
    flat, sharp = targets(simulations=20), targets(simulations=20, sharpness=2.0)
    for one in (flat, sharp):
        one.add(*given, seed=4, judge=indifferent)
    count = len(given[0])
    assert (sharp.probabilities[:count].max(axis=1) >= flat.probabilities[:count].max(axis=1) - 1e-6).all()
    assert sharp.probabilities[:count].max(axis=1).mean() > flat.probabilities[:count].max(axis=1).mean() + 0.01
    assert np.array_equal(sharp.probabilities > 0, flat.probabilities > 0)


def test_a_guided_search_asks_about_many_positions_at_once_and_repeats() -> None:
    given = decisions(100, seed=5)
    sizes: list[int] = []

    def counted(
        observations: NDArray[np.int8], action_masks: NDArray[np.int8]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        sizes.append(len(observations))
        return indifferent(observations, action_masks)

    first, second = targets(guided=True, simulations=40), targets(guided=True, simulations=40)
    first.add(*given, seed=6, judge=counted)
    second.add(*given, seed=6, judge=indifferent)
    assert np.array_equal(first.probabilities, second.probabilities)
    assert max(sizes) > 60


def test_old_positions_make_room() -> None:
    given = decisions(100, seed=7)
    found = targets(capacity=30, simulations=5)
    found.add(*(part[:25] for part in given), seed=1, judge=indifferent)
    found.add(*(part[25:50] for part in given), seed=1, judge=indifferent)
    assert len(found) == 30
    assert np.array_equal(found.observations[:20], given[1][30:50])
    assert np.isfinite(found.divergences[:30]).all() and (found.divergences[:30] >= 0).all()


def test_what_is_not_known_yet_is_drawn_more_often() -> None:
    given = tuple(part[:200] for part in decisions(300, seed=8))
    even, hard = targets(), targets(priority=1.0)
    counts = []
    for found in (even, hard):
        found.add(given[0], given[1], given[2], seed=1, judge=indifferent)
        found.divergences[:100] = 0.0
        found.divergences[100:200] = 0.99
        rows = np.concatenate(list(found.draw(np.random.default_rng(0), 20, 100)))
        assert len(rows) == 2000 and rows.min() >= 0 and rows.max() < len(found)
        counts.append((rows >= 100).mean())
    assert counts[0] == pytest.approx(0.5, abs=0.05)
    assert counts[1] == pytest.approx(1.0 / 1.01, abs=0.01)


def test_learning_a_position_makes_it_known() -> None:
    states, observations, masks = decisions(64, seed=9)
    found = targets(priority=0.5)
    found.add(states, observations, masks, seed=1, judge=indifferent)
    before = found.newest_divergence
    choices = masks.sum(axis=1)
    assert before == found.mean_divergence
    assert (found.divergences[: len(found)] <= np.log(choices) + 1e-5).all()  # of an even guess from whatever is best
    torch.manual_seed(0)
    network = make_network("mate_graph", MATE, {"width": 32, "rounds": 2})
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    for rows in found.draw(np.random.default_rng(1), 60, 64):
        loss = found.loss(network, rows, value_weight=0.5)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert found.mean_divergence < 0.7 * before
