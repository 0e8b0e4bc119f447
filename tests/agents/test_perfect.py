"""Mate solved: values against an independent alpha-beta, and the player that uses them."""

from __future__ import annotations

import numpy as np
import pytest

from agents.helpers import after, masks_of
from domino_envs.agents import make_agent
from domino_envs.agents.mate_solver import NO_VALUE, mate_value, mate_values
from domino_envs.agents.positions import opening_positions, random_positions
from domino_envs.games import get_game
from reference.mate import perfect_margin

MATE = get_game("mate")


def tiles(bits):
    return [tile for tile in range(21) if int(bits) >> tile & 1]


def test_values_of_random_deals_equal_the_reference():
    states = opening_positions(MATE, 60, seed=3)
    expected = []
    for state in states:
        opener = state["opener"]
        hands = [tiles(state["hands"][seat]) for seat in (opener, 1 - opener)]
        expected.append(perfect_margin(*hands, int(state["starter"])))
    assert mate_value(states).tolist() == expected
    assert min(expected) < 0 < max(expected)


def test_the_value_of_a_move_is_that_of_the_position_after_it():
    states = random_positions(MATE, 200, seed=4)
    values = mate_values(states)
    ended = 0
    for row in range(len(states)):
        legal = MATE.legal_actions(states, row)
        assert np.flatnonzero(values[row] != NO_VALUE).tolist() == legal.tolist()
        for action in legal:
            child = after(states, row, action)
            if child["deal_over"][0]:
                ended += 1
                assert values[row, action] == child["points"][0, 0] > 0
            else:
                assert values[row, action] == -mate_value(child)[0]
    assert ended > 20
    assert (values.max(axis=1) == mate_value(states)).all()


def test_values_do_not_depend_on_the_batch():
    states = random_positions(MATE, 50, seed=5)
    alone = np.concatenate([mate_values(states[row : row + 1]) for row in range(len(states))])
    assert (mate_values(states) == alone).all()


def test_values_are_of_the_running_game_whatever_the_score():
    states = opening_positions(MATE, 20, seed=6, episode="match")
    before = mate_values(states)
    states["scores"] = [[300, 5]]
    assert (mate_values(states) == before).all()


def test_finished_games_and_other_records_are_refused():
    states = opening_positions(MATE, 3, seed=0)
    states["deal_over"][1] = 1
    with pytest.raises(ValueError, match=r"states\[1\] .*over"):
        mate_values(states)
    with pytest.raises(ValueError, match="records of Mate"):
        mate_value(opening_positions(get_game("domaster"), 1, seed=0))
    assert mate_values(states[:0]).shape == (0, 42)


def test_perfect_plays_best_moves_only_and_all_of_them():
    states = random_positions(MATE, 300, seed=7)
    values, masks = mate_values(states), masks_of(MATE, states)
    best = values == values.max(axis=1, keepdims=True)
    several = np.flatnonzero(best.sum(axis=1) > 1)
    assert len(several) > 5
    agent = make_agent("perfect", MATE, seed=1, mode="best")
    assert (agent.act(None, masks, states) == best.argmax(axis=1)).all()
    sampling = make_agent("perfect", MATE, seed=1)
    played = np.stack([sampling.act(None, masks, states) for _ in range(30)])
    for row in range(len(states)):
        chosen = set(played[:, row].tolist())
        assert chosen <= set(np.flatnonzero(best[row]).tolist())
    assert all(len(set(played[:, row].tolist())) > 1 for row in several)
    again = make_agent("perfect", MATE, seed=1)
    assert (np.stack([again.act(None, masks, states) for _ in range(30)]) == played).all()


def test_perfect_refuses_what_it_cannot_play():
    with pytest.raises(ValueError, match="'domaster'"):
        make_agent("perfect", get_game("domaster"))
    agent = make_agent("perfect", MATE)
    with pytest.raises(ValueError, match="states"):
        agent.act(None, np.ones((1, 42), dtype=np.int8))
    with pytest.raises(ValueError, match="2 records"):
        agent.act(None, np.ones((2, 42), dtype=np.int8), opening_positions(MATE, 1, seed=0))
