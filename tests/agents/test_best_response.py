"""Exact best responses: against a plain recursion, and against players whose exploitability is known."""

from __future__ import annotations

import numpy as np
import pytest

from domino_envs.agents import make_agent
from domino_envs.agents.best_response import exploitability
from domino_envs.agents.mate_solver import mate_value
from domino_envs.agents.positions import opening_positions
from domino_envs.games import get_game
from domino_envs.games.kernels import play

MATE = get_game("mate")
WEIGHTS = np.random.default_rng(0).random((120, 42))


def some_policy(observations, masks, states):
    """A smooth function of what the mover sees, 0 for some legal actions."""
    logits = np.where(masks == 1, observations.astype(np.float64) @ WEIGHTS % 3, -np.inf)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights[weights < 0.1] = 0
    return weights / weights.sum(axis=1, keepdims=True)


def observed(state):
    from domino_envs.games.kernels import observe

    observation = np.zeros((1, 120), dtype=np.int8)
    observe(state[0], int(state["mover"][0]), observation[0])
    mask = np.zeros((1, 42), dtype=np.int8)
    mask[0, MATE.legal_actions(state)] = 1
    return observation, mask, state


def recursion(state, policy_seat, seat):
    """Points of ``seat`` when ``policy_seat`` plays the policy and the other seat its best against it."""
    if state["deal_over"][0]:
        points = int(state["points"][0, 0])
        return points if state["winners"][0, 0] == seat else -points
    values = {}
    for action in MATE.legal_actions(state):
        after = state.copy()
        play(after[0], int(action))
        values[int(action)] = recursion(after, policy_seat, seat)
    mover = state["mover"][0]
    if mover == policy_seat:
        probabilities = some_policy(*observed(state))[0]
        return sum(probabilities[action] * value for action, value in values.items())
    return max(values.values()) if mover == seat else min(values.values())


def test_best_responses_equal_a_plain_recursion():
    states = opening_positions(MATE, 400, seed=1)
    values = mate_value(states)
    small = [row for row in range(len(states)) if len(MATE.legal_actions(states, row)) <= 3][:6]
    assert len(small) == 6
    found = exploitability(some_policy, states[small])
    for i, row in enumerate(small):
        state = states[row : row + 1]
        first = int(state["mover"][0])
        assert found.as_first[i] == pytest.approx(values[row] - recursion(state, first, first))
        assert found.as_second[i] == pytest.approx(recursion(state, 1 - first, first) - values[row])
    assert found.as_first.max() > 0
    assert found.as_second.max() > 0


def test_perfect_play_cannot_be_exploited_and_random_play_can():
    states = opening_positions(MATE, 30, seed=2)
    perfect = exploitability(make_agent("perfect", MATE), states)
    assert perfect.values.tolist() == mate_value(states).tolist()
    assert (perfect.as_first == 0).all() and (perfect.as_second == 0).all()
    done = []
    rand = exploitability(make_agent("random", MATE), states, progress=lambda *counts: done.append(counts))
    assert done == [(30, 30)]
    assert (rand.as_first >= 0).all() and (rand.as_second >= 0).all()
    assert 30 < rand.mean < 100
    assert 0 < rand.standard_error < 20


def test_deals_do_not_disturb_each_other():
    states = opening_positions(MATE, 80, seed=3)  # more than are worked on at once
    together = exploitability(some_policy, states)
    assert exploitability(some_policy, states[70:71]).as_first[0] == pytest.approx(together.as_first[70])
    assert exploitability(some_policy, states[5:6]).as_second[0] == pytest.approx(together.as_second[5])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda o, m, s: m[:, :5], "shape"),
        (lambda o, m, s: np.full(m.shape, 1 / 42), "illegal"),
        (lambda o, m, s: m.astype(float), "sum to 1"),
        (lambda o, m, s: -m.astype(float), "negative"),
    ],
)
def test_what_is_no_distribution_is_refused(wrong, message):
    states = opening_positions(MATE, 5, seed=4)
    with pytest.raises(ValueError, match=message):
        exploitability(wrong, states)


def test_an_agent_without_probabilities_says_so():
    agent = make_agent(lambda observation, mask: int(mask.argmax()), MATE)
    with pytest.raises(NotImplementedError, match="probabilities"):
        exploitability(agent, opening_positions(MATE, 1, seed=0))
