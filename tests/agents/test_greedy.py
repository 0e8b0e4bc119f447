"""The greedy opponent: takes wins, denies them, and is no worse than that against random play."""

from __future__ import annotations

import pytest

from agents.helpers import after, masks_of, score
from agents.nim import NIM, heaps
from domino_envs.agents import make_agent
from domino_envs.agents.positions import random_positions
from domino_envs.agents.skills import resample
from domino_envs.engine import lane_streams
from domino_envs.games import get_game


def won_by(state):
    return int(state["winners"][0, 0]) if state["deal_over"][0] else None


def wins_at_once(game, states, row):
    mover = int(states["mover"][row])
    return [int(a) for a in game.legal_actions(states, row) if won_by(after(states, row, a)) == mover]


def allows_a_win(game, state):
    return not state["deal_over"][0] and bool(wins_at_once(game, state, 0))


@pytest.mark.parametrize("name", ["domaster", "five_bridges", "mate", "third_level"])
def test_takes_a_win(name):
    game = get_game(name)
    states = random_positions(game, 400 if name != "third_level" else 1500, seed=1)
    if name == "third_level":  # wins are rare: look only where a second level has been begun
        states = states[[int(s).bit_count() > 1 for s in states["second"]]]
    winning = {row: wins for row in range(len(states)) if (wins := wins_at_once(game, states, row))}
    assert len(winning) >= 10
    rows = list(winning)
    played = make_agent("greedy", game, seed=0).act(None, masks_of(game, states[rows]), states[rows])
    assert all(action in winning[row] for row, action in zip(rows, played.tolist(), strict=True))


@pytest.mark.parametrize("name", ["domaster", "five_bridges", "mate"])
def test_denies_the_opponents_win_where_it_can(name):
    game = get_game(name)
    states = random_positions(game, 250, seed=2)
    played = make_agent("greedy", game, seed=0).act(None, masks_of(game, states), states)
    mattered = 0
    for row in range(len(states)):
        if wins_at_once(game, states, row):
            continue
        allowing = {int(a): allows_a_win(game, after(states, row, a)) for a in game.legal_actions(states, row)}
        if len(set(allowing.values())) == 2:
            mattered += 1
            assert not allowing[int(played[row])]
    assert mattered >= 10


def test_wins_the_most_points_that_can_be_won_at_once():
    mate = get_game("mate")
    states = random_positions(mate, 400, seed=3)
    played = make_agent("greedy", mate, mode="best").act(None, masks_of(mate, states), states)
    several = 0
    for row in range(len(states)):
        points = {a: int(after(states, row, a)["points"][0, 0]) for a in wins_at_once(mate, states, row)}
        if len(points) > 1:
            several += 1
            assert points[int(played[row])] == max(points.values())
    assert several >= 10


def test_third_level_does_not_depend_on_hidden_tiles():
    game = get_game("third_level")
    states = random_positions(game, 60, seed=4)
    masks = masks_of(game, states)
    agent = make_agent("greedy", game, seed=5)
    chances = agent.probabilities(None, masks, states)
    other = states.copy()
    streams = lane_streams(6, len(states))
    for row in range(len(states)):
        resample(other[row], int(states["mover"][row]), streams, row)
    assert (other["hands"] != states["hands"]).any()
    assert (agent.probabilities(None, masks, other) == chances).all()


def test_resampling_keeps_what_the_seat_knows():
    game = get_game("third_level")
    states = random_positions(game, 30, seed=7)
    streams = lane_streams(8, 1)
    for row in range(len(states)):
        for seat in (0, 1):
            other = states[row : row + 1].copy()
            resample(other[0], seat, streams, 0)
            assert other["hands"][0, seat] == states["hands"][row, seat]
            before = int(states["hands"][row, 1 - seat]).bit_count()
            assert int(other["hands"][0, 1 - seat]).bit_count() == before
            drawn = states["pool_next"][row]
            pool = {int(t) for t in other["pool"][0, drawn:] if t >= 0}
            hidden = int(other["hands"][0, 1 - seat]) | sum(1 << t for t in pool)
            real = {int(t) for t in states["pool"][row, drawn:] if t >= 0}
            assert hidden == int(states["hands"][row, 1 - seat]) | sum(1 << t for t in real)
            assert len(pool) == len(real)


def test_a_game_without_skills_gets_the_same_care():
    states = heaps(3, 2, 5, 6)
    played = make_agent("greedy", NIM, seed=0).act(None, masks_of(NIM, states), states)
    assert played[:2].tolist() == [2, 1]  # takes the last
    assert played[2] == 0 and played[3] < 2  # leaves more than three


@pytest.mark.parametrize(("name", "least"), [("domaster", 0.85), ("five_bridges", 0.85), ("mate", 0.7)])
def test_beats_random_play(name, least):
    game = get_game(name)
    assert score(game, make_agent("greedy", game, seed=1), make_agent("random", game, seed=2), 100, seed=3) > least
