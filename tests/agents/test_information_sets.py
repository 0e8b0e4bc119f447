"""Search with hidden tiles: it sees no more than its seat, and is still worth its time."""

from __future__ import annotations

import numpy as np
import pytest

from agents.helpers import after, masks_of, score
from domino_envs.agents import make_agent
from domino_envs.agents.positions import opening_positions, random_positions
from domino_envs.agents.search import search
from domino_envs.agents.skills import resample
from domino_envs.engine import lane_streams
from domino_envs.games import get_game

GAME = get_game("third_level")


def with_other_hidden_tiles(states, seed):
    """The same positions to their movers, the other hand and the pool drawn anew."""
    other = states.copy()
    streams = lane_streams(seed, len(states))
    for row in range(len(states)):
        resample(other[row], int(states["mover"][row]), streams, row)
    assert (other["hands"] != states["hands"]).any(axis=1).mean() > 0.25
    return other


def test_hidden_tiles_do_not_change_what_is_found():
    states = random_positions(GAME, 12, seed=1)
    found = search(GAME, states, simulations=80, seed=2)
    for seed in (3, 4):
        again = search(GAME, with_other_hidden_tiles(states, seed), simulations=80, seed=2)
        assert (again.visits == found.visits).all()
        assert np.array_equal(again.values, found.values, equal_nan=True)


@pytest.mark.parametrize("mode", ["sample", "best"])
def test_hidden_tiles_do_not_change_the_chosen_move(mode):
    states = random_positions(GAME, 8, seed=5)
    masks = masks_of(GAME, states)
    other = with_other_hidden_tiles(states, 6)
    chosen = [
        [
            make_agent("search:60", GAME, seed=7, mode=mode).act(None, masks[k : k + 1], s[k : k + 1])[0]
            for k in range(8)
        ]
        for s in (states, other)
    ]
    assert chosen[0] == chosen[1]


def test_visits_are_those_of_legal_moves_and_add_up():
    states = opening_positions(GAME, 5, seed=8)
    found = search(GAME, states, simulations=3000, seed=9)  # more than the tree has room for at first
    assert (found.visits.sum(axis=1) == 3000).all()
    assert (found.visits[masks_of(GAME, states) == 0] == 0).all()
    assert (abs(found.root_values) <= 1).all() and not found.solved.any()
    tried = found.visits > 0
    assert (abs(found.values[tried]) <= 1).all() and np.isnan(found.values[~tried]).all()


def test_a_win_in_this_turn_is_seen_and_brought_home():
    states = random_positions(GAME, 1500, seed=10)
    states = states[[int(s).bit_count() > 1 for s in states["second"]]]
    found = search(GAME, states, simulations=5, seed=11)
    assert found.solved.sum() > 10
    greedy = make_agent("greedy", GAME, seed=12)
    several = 0
    for row in np.flatnonzero(found.solved):
        mover = states["mover"][row]
        state = after(states, row, found.visits[row].argmax())
        while not state["deal_over"][0]:
            several += 1
            assert state["mover"][0] == mover
            state = after(state, 0, greedy.act(None, masks_of(GAME, state), state)[0])
        assert state["winners"][0, 0] == mover
    assert several > 0


def test_is_stronger_than_random_play():
    agent, other = make_agent("search:60", GAME, seed=1, mode="best"), make_agent("random", GAME, seed=2)
    assert score(GAME, agent, other, 8, seed=3) > 0.65
