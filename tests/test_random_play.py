"""Figures of uniformly random play, against those of independent implementations, within sampling error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from domino_envs import engine
from domino_envs.bits import random_below
from domino_envs.engine import play_episode_action, start_episode
from domino_envs.games import get_game
from domino_envs.games.kernels import moves
from domino_envs.jit import JIT_DISABLED, kernel

DEALS = 60 if JIT_DISABLED else 50_000


@kernel
def play_deals(template: Any, states: Any, rngs: Any, orders: Any, num_orders: Any, actions: Any, found: Any) -> None:
    """Play a deal for each row of ``found``: decisions, legal actions a decision, opener, winner, points."""
    for deal in range(len(found)):
        start_episode(template, states, rngs, orders, num_orders, 0, -1)
        state = states[0]
        decisions = 0
        legal = 0
        while not state["over"]:
            count = moves(state, actions)
            decisions += 1
            legal += count
            action = actions[random_below(rngs, 0, count)]
            play_episode_action(states, rngs, orders, num_orders, 0, action, False)
        found[deal, 0] = decisions
        found[deal, 1] = legal / decisions
        found[deal, 2] = state["opener"]
        found[deal, 3] = state["winners"][0]
        found[deal, 4] = state["points"][0]


def play(name: str) -> dict[str, Any]:
    game = get_game(name)
    found = np.zeros((DEALS, 5))
    play_deals(
        game.start_record("deal"),
        np.zeros(1, dtype=game.dtype),
        engine.lane_streams(2024, 1),
        np.zeros((1, 1, game.num_tiles), dtype=np.int8),
        np.zeros(1, dtype=np.int8),
        np.zeros(game.num_actions, dtype=np.int32),
        found,
    )
    columns = dict(zip(("decisions", "legal", "opener", "winner", "points"), found.T, strict=True))
    columns["opener wins"] = columns["winner"] == columns["opener"]
    columns["drawn"] = columns["winner"] < 0
    columns["responder wins"] = ~columns["opener wins"] & ~columns["drawn"]
    return columns


def assert_mean(values: Any, expected: float, rounding: float, deals: float = 100_000) -> None:
    """Within four standard errors of the difference to a mean over so many deals that was written down rounded."""
    error = np.std(values) * (1 / len(values) + 1 / deals) ** 0.5
    assert error > 0
    assert abs(np.mean(values) - expected) <= 4 * error + rounding / 2, (np.mean(values), error)


@pytest.mark.parametrize(
    ("name", "decisions", "opener", "responder", "drawn"),
    [("domaster", 38.8, 0.462, 0.468, 0.070), ("five_bridges", 34.9, 0.461, 0.468, 0.072)],
)
def test_domaster(name: str, decisions: float, opener: float, responder: float, drawn: float) -> None:
    """Against 100,000 deals of an independent implementation."""
    found = play(name)
    assert_mean(found["decisions"], decisions, 0.1)
    assert_mean(found["opener wins"], opener, 0.001)
    assert_mean(found["responder wins"], responder, 0.001)
    assert_mean(found["drawn"], drawn, 0.001)
    assert set(found["points"][found["drawn"]]) <= {0}
    assert set(found["points"][~found["drawn"]]) == {1}
    assert_mean(found["opener"], 0.5, 0, 1e9)


def test_mate() -> None:
    """As the slow reference of the tests has it; legal moves are the mean of each game's own mean."""
    found = play("mate")
    assert_mean(found["decisions"] + 1, 9.90, 0.01)  # tiles on the table, the starter counted
    assert_mean(found["points"], 59.4, 0.1)
    assert_mean(found["opener wins"], 0.451, 0.001)
    assert_mean(found["legal"], 2.53, 0.01, 40_000)
    assert not found["drawn"].any()
    assert_mean(found["opener"], 0.5, 0, 1e9)
