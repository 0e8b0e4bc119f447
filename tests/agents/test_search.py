"""Search: finds what there is to find, proves it, repeats itself under one seed, and gets stronger with its budget."""

from __future__ import annotations

import numpy as np
import pytest

from agents.helpers import after, masks_of, score
from agents.nim import NIM, heaps
from domino_envs.agents import make_agent
from domino_envs.agents.endgame_solver import EndgameSolver
from domino_envs.agents.mate_solver import mate_value, mate_values
from domino_envs.agents.positions import opening_positions, random_positions
from domino_envs.agents.search import Settings, search
from domino_envs.batch import BatchGame
from domino_envs.games import get_game

DOMASTER, MATE = get_game("domaster"), get_game("mate")


def test_solves_a_game_that_it_knows_nothing_of():
    states = heaps(*range(1, 12))
    found = search(NIM, states, simulations=5000, seed=1, settings=Settings(limit=1.0))
    assert found.solved.all()
    assert found.root_values.tolist() == [-1.0 if size % 4 == 0 else 1.0 for size in range(1, 12)]
    for size in range(1, 12):
        if size % 4:
            assert np.flatnonzero(found.visits[size - 1]).tolist() == [size % 4 - 1]


def test_most_visits_go_to_good_moves_of_mate():
    states = random_positions(MATE, 60, seed=2)
    exact = mate_values(states)
    found = search(MATE, states, simulations=3000, seed=3)
    regret = exact.max(axis=1) - exact[np.arange(60), found.visits.argmax(axis=1)]
    assert regret.mean() < 1
    assert found.solved.mean() > 0.5
    assert found.root_values[found.solved] == pytest.approx(mate_value(states)[found.solved])


def test_results_are_those_of_the_legal_moves():
    states = random_positions(DOMASTER, 20, seed=4)
    found = search(DOMASTER, states, simulations=200, seed=5)
    legal = masks_of(DOMASTER, states) == 1
    assert (found.visits[~legal] == 0).all() and np.isnan(found.values[~legal]).all()
    assert (found.visits.sum(axis=1) >= 1).all() and (found.visits.sum(axis=1) <= 200).all()
    assert (abs(found.values[legal & (found.visits > 0)]) <= 1).all()
    assert (abs(found.root_values) <= 1).all()


def test_proofs_agree_with_the_endgame_solver():
    states = random_positions(DOMASTER, 300, seed=6)
    states = states[55 - states["left"].sum(axis=(1, 2)) >= 33][:40]
    exact = EndgameSolver(1 << 16).values(states).max(axis=1)
    found = search(DOMASTER, states, simulations=1000, seed=7)
    assert found.solved.mean() > 0.9
    assert (found.root_values[found.solved] == exact[found.solved]).all()
    little = search(DOMASTER, states, simulations=10, seed=7)  # too few for the solver, so by the tree's own proofs
    assert little.solved.mean() > 0.5
    assert (little.root_values[little.solved] == exact[little.solved]).all()


def test_equal_seeds_give_equal_results_position_by_position():
    states = random_positions(DOMASTER, 6, seed=8)
    one, two = (search(DOMASTER, states, simulations=300, seed=9) for _ in range(2))
    assert (one.visits == two.visits).all()
    assert not (search(DOMASTER, states, simulations=300, seed=10).visits == one.visits).all()
    first = search(DOMASTER, states[:3], simulations=300, seed=9)
    assert (first.visits == one.visits[:3]).all()


def test_the_agent_keeps_its_tree_between_moves():
    agent = make_agent("search:400", DOMASTER, seed=1, mode="best")
    state = opening_positions(DOMASTER, 1, seed=11)
    batch = BatchGame(DOMASTER, 1, episode="deal", auto_reset=False, seed=12)
    kept = 0
    for ply in range(12):
        state, masks = batch.states.copy(), batch.action_masks.copy()
        if ply % 2 == 0:
            if ply:
                kept += agent._tree.advance(state)
            action = agent.act(batch.observations, masks, state)
        else:
            action = make_agent("greedy", DOMASTER, mode="best").act(None, masks, state)
        batch.step(action)
    assert kept >= 3
    agent.start_deal()
    assert not agent._tree.advance(batch.states.copy())


def test_a_position_that_the_tree_does_not_hold_is_searched_anew():
    agent = make_agent("search:200", DOMASTER, seed=1, mode="best")
    states = random_positions(DOMASTER, 30, seed=13)
    masks = masks_of(DOMASTER, states)
    for row in range(len(states)):
        action = agent.act_one(states["mover"], masks[row], states[row : row + 1])
        assert masks[row, action]


def test_takes_a_proven_win_in_either_mode():
    states = random_positions(DOMASTER, 400, seed=14)
    states = states[55 - states["left"].sum(axis=(1, 2)) >= 32][:60]
    exact = EndgameSolver(1 << 16).values(states)
    won = (exact == 1).any(axis=1) & (exact == -1).any(axis=1)
    assert won.sum() > 15
    states, exact = states[won], exact[won]
    for mode in ("sample", "best"):
        played = make_agent("search:1000", DOMASTER, seed=2, mode=mode).act(None, masks_of(DOMASTER, states), states)
        assert (exact[np.arange(len(states)), played] == 1).all()


def test_a_budget_in_milliseconds_is_enough_for_a_move():
    states = opening_positions(MATE, 2, seed=15)
    played = make_agent("search:5ms", MATE, seed=3).act(None, masks_of(MATE, states), states)
    assert all(masks_of(MATE, states)[row, played[row]] for row in range(2))


@pytest.mark.parametrize("spec", ["search:0", "search:-5", "search:fast", "search:10s", "search:1e3", "search"])
def test_malformed_budgets_are_refused(spec):
    with pytest.raises(ValueError, match="search"):
        make_agent(spec, MATE)


def test_wrong_positions_are_refused():
    states = opening_positions(MATE, 2, seed=0)
    with pytest.raises(ValueError, match="records of domaster"):
        search(DOMASTER, states, simulations=10)
    with pytest.raises(ValueError, match=r"simulations .* 0"):
        search(MATE, states, simulations=0)
    states["deal_over"][1] = 1
    with pytest.raises(ValueError, match=r"states\[1\] .*over"):
        search(MATE, states, simulations=10)


def test_more_simulations_play_better():
    def match(spec, other, deals):
        return score(
            DOMASTER, make_agent(spec, DOMASTER, seed=1, mode="best"), make_agent(other, DOMASTER, seed=2, mode="best"),
            deals, seed=3,
        )  # fmt: skip

    assert match("search:100", "random", 15) > 0.9
    assert match("search:30", "greedy", 20) > 0.6
    assert match("search:400", "search:40", 20) > 0.6


def test_a_move_of_one_choice_is_played_at_once():
    states = random_positions(DOMASTER, 200, seed=16)
    masks = masks_of(DOMASTER, states)
    forced = masks.sum(axis=1) == 1
    assert forced.any()
    played = make_agent("search:1000000000", DOMASTER).act(None, masks[forced], states[forced])
    assert (masks[forced, :][np.arange(forced.sum()), played] == 1).all()
    assert after(states[forced], 0, played[0])["ply"][0] >= 0


@pytest.mark.parametrize("name", ["prior_weight", "scale"])
def test_settings_that_would_divide_by_nothing_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be above 0, got 0.0"):
        Settings(**{name: 0.0})


def test_textbook_uct_is_a_player_of_its_own_between_random_and_search():
    uct = make_agent("uct:100", DOMASTER, seed=1, mode="best")
    assert uct.name == "uct:100"
    assert score(DOMASTER, uct, make_agent("random", DOMASTER, seed=2), deals=15, seed=3) > 0.85
    assert score(DOMASTER, uct, make_agent("search:100", DOMASTER, seed=2, mode="best"), deals=20, seed=4) < 0.3


@pytest.mark.parametrize("spec", ["uct:0", "uct:fast", "uct:200+domaster", "uct"])
def test_malformed_budgets_of_uct_are_refused(spec):
    with pytest.raises(ValueError, match="uct"):
        make_agent(spec, DOMASTER)


def test_textbook_uct_does_not_play_with_hidden_tiles():
    with pytest.raises(ValueError, match="hides tiles"):
        make_agent("uct:100", "third_level")
