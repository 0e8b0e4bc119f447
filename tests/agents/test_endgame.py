"""Endgames solved: against a plain recursion over the rules, and the player that uses them."""

from __future__ import annotations

import numpy as np
import pytest

from agents.helpers import after, masks_of
from domino_envs.agents import make_agent
from domino_envs.agents.endgame_position import tiles_on_table
from domino_envs.agents.endgame_solver import NO_VALUE, UNKNOWN, EndgameSolver
from domino_envs.agents.positions import opening_positions, random_positions
from domino_envs.games import get_game


def late(name, least, most, count, seed):
    game = get_game(name)
    states = random_positions(game, 40 * count, seed)
    tiles = np.array([tiles_on_table(state) for state in states])
    assert (tiles == 55 - states["left"].sum(axis=(1, 2))).all()
    chosen = states[(tiles >= least) & (tiles <= most)][:count]
    assert len(chosen) == count
    return game, chosen


def recursion(game, state, mover, known):
    """The result for ``mover`` under perfect play, by the rules alone."""
    if state["deal_over"][0]:
        winner = state["winners"][0, 0]
        return 0 if winner < 0 else 1 if winner == mover else -1
    key = (int(state["mover"][0]), int(state["passed"][0]), state["left"].tobytes(), state["table"].tobytes())
    if key not in known:
        results = []
        sign = 1 if state["mover"][0] == mover else -1
        for action in game.legal_actions(state):
            results.append(sign * recursion(game, after(state, 0, action), mover, known))
            if results[-1] == 1:
                break
        known[key] = sign * max(results)
    return known[key]


@pytest.mark.parametrize("name", ["domaster", "five_bridges"])
def test_values_equal_a_plain_recursion(name):
    game, states = late(name, 37, 44, 25, seed=1)
    values = EndgameSolver(1 << 12).values(states)
    found = []
    for row in range(len(states)):
        mover, known = states["mover"][row], {}
        legal = game.legal_actions(states, row)
        assert np.flatnonzero(values[row] != NO_VALUE).tolist() == legal.tolist()
        for action in legal:
            assert values[row, action] == recursion(game, after(states, row, action), mover, known)
            found.append(int(values[row, action]))
    assert set(found) == {-1, 0, 1}


@pytest.mark.parametrize("name", ["domaster", "five_bridges"])
def test_earlier_values_are_consistent_over_a_move(name):
    game, states = late(name, 29, 31, 6, seed=2)
    solver = EndgameSolver(1 << 16)
    values = solver.values(states)
    assert not (values == UNKNOWN).any()
    for row in range(len(states)):
        for action in game.legal_actions(states, row):
            child = after(states, row, action)
            if not child["deal_over"][0]:
                assert EndgameSolver(1 << 16).values(child).max() == -values[row, action]


def test_a_small_budget_leaves_moves_unknown():
    states = opening_positions(get_game("domaster"), 2, seed=3)
    values = EndgameSolver(1 << 10).values(states, max_nodes=100)
    assert (values[values != NO_VALUE] == UNKNOWN).any()
    assert EndgameSolver(1 << 10).values(states[:0]).shape == (0, 100)


@pytest.mark.parametrize("name", ["domaster", "five_bridges"])
def test_results_are_the_best_values(name):
    _, states = late(name, 33, 40, 20, seed=6)
    solver = EndgameSolver(1 << 16)
    results = solver.results(states, 200_000, solved_from=35)
    tried = 55 - states["left"].sum(axis=(1, 2)) >= 35
    assert 0 < tried.sum() < len(states)
    assert (results[~tried] == UNKNOWN).all()
    np.testing.assert_array_equal(results[tried], solver.values(states[tried]).max(axis=1))
    assert (EndgameSolver(1 << 16).results(states, 1, solved_from=0) == UNKNOWN).any()


def test_wrong_arguments_are_named():
    domaster = get_game("domaster")
    states = opening_positions(domaster, 2, seed=0)
    states["deal_over"][1] = 1
    with pytest.raises(ValueError, match=r"states\[1\] .*over"):
        EndgameSolver(1 << 10).values(states)
    with pytest.raises(ValueError, match="records of Domaster"):
        EndgameSolver(1 << 10).values(opening_positions(get_game("mate"), 1, seed=0))
    with pytest.raises(ValueError, match="power of 2"):
        EndgameSolver(1000)
    with pytest.raises(ValueError, match="'mate'"):
        make_agent("endgame", get_game("mate"))


@pytest.mark.parametrize("name", ["domaster", "five_bridges"])
def test_the_endgame_player_gives_nothing_away(name):
    game, states = late(name, 30, 40, 40, seed=4)
    values = EndgameSolver(1 << 16).values(states)
    agent = make_agent("endgame", game, seed=0)
    played = agent.act(None, masks_of(game, states), states)
    assert (values[np.arange(len(states)), played] == values.max(axis=1)).all()
    assert ((values.max(axis=1) > -1) & (values == -1).any(axis=1)).sum() > 5  # where there was something to give
    greedy = make_agent("greedy", game, seed=0).act(None, masks_of(game, states), states)
    assert (values[np.arange(len(states)), greedy] < values.max(axis=1)).any()


def test_the_endgame_player_opens_as_greedy_does():
    game = get_game("domaster")
    states = opening_positions(game, 10, seed=5)
    masks = masks_of(game, states)
    endgame, greedy = (make_agent(name, game, mode="best") for name in ("endgame", "greedy"))
    assert (endgame.act(None, masks, states) == greedy.act(None, masks, states)).all()
