"""Search guided by a policy."""

from __future__ import annotations

import numpy as np
import pytest

from agents.helpers import masks_of, score
from agents.test_information_sets import with_other_hidden_tiles
from domino_envs import load_policy
from domino_envs.agents import make_agent
from domino_envs.agents.endgame_solver import UNKNOWN, EndgameSolver
from domino_envs.agents.mate_solver import mate_values
from domino_envs.agents.policy_search import BATCH, PolicyTree
from domino_envs.agents.positions import opening_positions, random_positions
from domino_envs.agents.search import search
from domino_envs.arena.exact import views
from domino_envs.games import get_game
from domino_envs.policies import PolicyError, SavedPolicy

DOMASTER = get_game("domaster")
MATE = get_game("mate")
THIRD_LEVEL = get_game("third_level")


@pytest.mark.parametrize("game", [DOMASTER, MATE, THIRD_LEVEL], ids=lambda game: game.name)
def test_equal_seeds_repeat_and_only_legal_moves_are_visited(game):
    states = random_positions(game, 6, seed=1)
    first, second = (search(game, states, simulations=64, seed=2, policy=game.name) for _ in range(2))
    assert np.array_equal(first.visits, second.visits)
    assert np.array_equal(first.values, second.values, equal_nan=True)
    assert (first.visits[masks_of(game, states) == 0] == 0).all()
    assert (first.visits.sum(axis=1) > 0).all()


def test_leaves_are_judged_in_batches(monkeypatch):
    rows = []
    policy = load_policy("domaster")
    evaluate = SavedPolicy.evaluate

    def counted(self, observations, action_masks):
        rows.append(len(observations))
        return evaluate(self, observations, action_masks)

    monkeypatch.setattr(SavedPolicy, "evaluate", counted)
    search(DOMASTER, opening_positions(DOMASTER, 1, seed=3), simulations=200, seed=0, policy=policy)
    assert sum(rows) <= 200 and len(rows) < 100 and max(rows) == BATCH


def test_the_policy_says_where_to_look_first():
    states = random_positions(DOMASTER, 40, seed=4)
    states = states[masks_of(DOMASTER, states).sum(axis=1) > 5]
    masks = masks_of(DOMASTER, states)
    policy = load_policy("domaster")
    likely = policy.probabilities(views(DOMASTER, states)[0], masks)
    found = search(DOMASTER, states, simulations=12, seed=5, policy=policy)
    open_ones = ~found.solved
    assert open_ones.sum() > 10
    visited = (found.visits[open_ones] > 0) * likely[open_ones]
    assert (
        visited.sum(axis=1).mean() > 1.5 * (found.visits[open_ones] > 0).sum(axis=1).mean() / masks.sum(axis=1).mean()
    )


def test_proofs_are_kept():
    states = random_positions(DOMASTER, 400, seed=14)
    states = states[55 - states["left"].sum(axis=(1, 2)) >= 32][:60]
    exact = EndgameSolver(1 << 16).values(states)
    won = (exact == 1).any(axis=1) & (exact == -1).any(axis=1)
    states, exact = states[won], exact[won]
    played = make_agent("search:400+domaster", DOMASTER, seed=1, mode="best").act(
        None, masks_of(DOMASTER, states), states
    )
    assert len(states) > 15 and (exact[np.arange(len(states)), played] == 1).all()


def test_endgames_are_solved_where_that_costs_no_more_than_the_simulations():
    states = random_positions(DOMASTER, 1000, seed=15)
    states = states[55 - states["left"].sum(axis=(1, 2)) == 29][:30]
    exact = EndgameSolver(1 << 16).values(states)
    found = search(DOMASTER, states, simulations=100, seed=1, policy="domaster")
    assert len(states) > 10 and found.solved.mean() > 0.5
    best = np.where(exact == UNKNOWN, -1, exact).max(axis=1)
    assert (found.root_values[found.solved] == best[found.solved]).all()


def test_endgames_are_solved_below_the_root_too(monkeypatch):
    states = random_positions(DOMASTER, 1500, seed=16)
    states = states[55 - states["left"].sum(axis=(1, 2)) == 26][:40]
    found = search(DOMASTER, states, simulations=100, seed=1, policy="domaster")
    monkeypatch.setattr(PolicyTree, "leaf_nodes", 0)
    without = search(DOMASTER, states, simulations=100, seed=1, policy="domaster")
    assert found.solved.sum() > without.solved.sum() + 2
    exact = EndgameSolver(1 << 16).values(states, max_nodes=300_000)
    best = exact.max(axis=1)
    known = found.solved & ((best == 1) | ~(exact == UNKNOWN).any(axis=1))
    assert known.sum() > 5 and (found.root_values[known] == best[known]).all()


def test_makes_the_policy_of_mate_better():
    states = np.concatenate([random_positions(MATE, 300, seed=6), opening_positions(MATE, 150, seed=6)])
    values = mate_values(states).astype(np.int64)
    masks = masks_of(MATE, states)
    policy = make_agent("policy:mate", MATE, seed=0, mode="best").act(views(MATE, states)[0], masks, states)
    guided = make_agent("search:200+mate", MATE, seed=0, mode="best").act(None, masks, states)
    lost = [(values.max(axis=1) - values[np.arange(len(states)), chosen]).mean() for chosen in (policy, guided)]
    assert lost[1] < 0.5 * lost[0]


def test_hidden_tiles_do_not_change_what_is_found():
    states = random_positions(THIRD_LEVEL, 40, seed=7)
    found = search(THIRD_LEVEL, states, simulations=48, seed=2, policy="third_level")
    again = search(THIRD_LEVEL, with_other_hidden_tiles(states, 3), simulations=48, seed=2, policy="third_level")
    assert (again.visits == found.visits).all()


def test_plays_whole_games_and_beats_random():
    agent = make_agent("search:32+policy:third_level", THIRD_LEVEL, seed=1, mode="best")
    assert agent.name == "search:32+policy:third_level"
    assert score(THIRD_LEVEL, agent, make_agent("random", THIRD_LEVEL, seed=2), deals=10, seed=3) > 0.5


def test_policies_that_do_not_fit_are_refused():
    with pytest.raises(PolicyError, match="nowhere"):
        make_agent("search:20+nowhere", MATE)
    with pytest.raises(PolicyError, match="mate"):
        make_agent("search:20+mate", DOMASTER)
    with pytest.raises(PolicyError, match="plays"):
        search(DOMASTER, random_positions(DOMASTER, 1, seed=0), simulations=5, policy=load_policy("mate"))
    with pytest.raises(ValueError, match="search:200\\+POLICY"):
        make_agent("search:+mate", MATE)
