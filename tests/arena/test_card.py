"""Tests of the scorecard and of exactness: by hand on made-up values, and on agents whose truth is known."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from domino_envs.agents import make_agent
from domino_envs.agents.mate_solver import mate_values
from domino_envs.agents.positions import random_positions
from domino_envs.arena import PROTOCOL_VERSION, Scorecard, round_robin, scorecard
from domino_envs.arena.exact import LATE_TILES, accuracy, decide, decisions_of, exact_values, views
from domino_envs.arena.intervals import ratio_interval, wilson_interval
from domino_envs.arena.protocol import protocol_for
from domino_envs.games import game_names, get_game


def test_accuracy_by_hand() -> None:
    illegal = 999
    values = np.array(
        [
            [3, 1, illegal],  # 3 is best: kept
            [3, 1, illegal],  # lost 2
            [5, 5, 5],  # trivial: all alike
            [illegal, illegal, 7],  # trivial: forced
            [-4, 0, -9],  # lost 5
        ]
    )
    legal = (values != illegal).astype(np.int8)
    actions = np.array([0, 1, 2, 2, 2]) * np.array([1, 1, 1, 1, 0])  # the last plays action 0, lost 4
    found = accuracy(values, legal, actions)
    assert found.decisions == 3
    assert found.preserving == wilson_interval(1, 3)
    assert found.regret.value == pytest.approx((0 + 2 + 4) / 3)
    clustered = accuracy(values, legal, actions, [7, 7, 7, 8, 8])
    assert clustered.preserving.value == pytest.approx(1 / 3)
    assert clustered.regret.value == pytest.approx(2.0)
    assert clustered.regret.high == pytest.approx(ratio_interval([2, 4], [2, 1]).high)
    with pytest.raises(ValueError, match="illegal"):
        accuracy(values, legal, np.array([2, 1, 2, 2, 0]))


def test_flawless_play_leaves_doubt() -> None:
    values = np.tile(np.array([1, 0]), (40, 1))
    found = accuracy(values, np.ones_like(values), np.zeros(40, dtype=np.int64), np.arange(40) // 4)
    assert found.preserving.value == 1.0
    assert found.preserving.low == pytest.approx(wilson_interval(10, 10).low)
    nothing = accuracy(np.ones((3, 2)), np.ones((3, 2)), np.zeros(3, dtype=np.int64), [0, 1, 2])
    assert nothing.decisions == 0
    assert math.isnan(nothing.regret.value)


def test_decisions_come_from_the_games() -> None:
    result = round_robin("mate", ["random", "perfect"], deals=4, episode="deal")
    states, actions, deals = decisions_of(result.games)
    assert len(states) == sum(len(g.moves) for g in result.games)
    assert set(deals.tolist()) == {0, 1, 2, 3}
    _, masks = views(get_game("mate"), states)
    assert masks[np.arange(len(actions)), actions].all()
    states, actions, _ = decisions_of(result.games, "perfect")
    values = mate_values(states)
    assert (values[np.arange(len(actions)), actions] == values.max(axis=1)).all()


@pytest.mark.parametrize("name", game_names())
def test_views_are_those_of_the_mover(name: str) -> None:
    game = get_game(name)
    states = random_positions(game, 5, 1)
    observations, masks = views(game, states)
    for i in range(5):
        assert np.flatnonzero(masks[i]).tolist() == game.legal_actions(states, i).tolist()
        assert ((observations[i] >= game.layout.low) & (observations[i] <= game.layout.high)).all()


def test_agents_decide_alike_alone_and_together() -> None:
    game = get_game("mate")
    states = random_positions(game, 20, 2)
    agent = make_agent("perfect", game, mode="best")
    together, masks = decide(agent, states)
    agent.one_at_a_time = True
    alone, _ = decide(agent, states)
    assert together.tolist() == alone.tolist()
    assert masks[np.arange(20), together].all()


@pytest.fixture(scope="module")
def perfect() -> Scorecard:
    return scorecard("mate", "perfect", deals=20)


@pytest.fixture(scope="module")
def random() -> Scorecard:
    return scorecard("mate", "random", deals=20)


def test_the_perfect_player_is_perfect(perfect: Scorecard) -> None:
    assert perfect.exactness is not None
    for found in (perfect.exactness.own_games, perfect.exactness.random_positions):
        assert found.decisions > 50
        assert (found.preserving.value, found.regret.value) == (1.0, 0.0)
    assert all(gain.value == 0 for gain in perfect.exactness.exploitability.values())


def test_the_random_player_is_not(perfect: Scorecard, random: Scorecard) -> None:
    assert random.exactness is not None
    assert 0.3 < random.exactness.random_positions.preserving.value < 0.55
    assert random.exactness.own_games.regret.low > 5
    assert all(gain.low > 10 for gain in random.exactness.exploitability.values())
    assert random.elo.low < 0 < random.elo.high
    assert perfect.elo.low > random.elo.high
    assert [rung.second for rung in random.ladder] == list(protocol_for(get_game("mate")).ladder)


def test_the_card_as_json_and_text(random: Scorecard, tmp_path: Path) -> None:
    random.save(tmp_path / "card.json")
    data = json.loads((tmp_path / "card.json").read_text())
    assert data == random.as_json()
    assert data["protocol"] is None  # fewer deals than the protocol's
    assert data["ladder"][0]["wins"] + data["ladder"][0]["draws"] + data["ladder"][0]["losses"] == 40
    assert data["exact"]["exploitability"]["first"]["low"] > 0
    assert data["speed"]["median_ms"] > 0
    text = random.table()
    assert text.startswith("random, Mate, mode 'best' (not by the protocol")
    for piece in ("Elo on the ladder", "against", "own games", "A best response gains"):
        assert piece in text


def lowest(observation: NDArray[np.int8], mask: NDArray[np.int8]) -> int:
    return int(mask.argmax())


def test_a_function_gets_a_card_and_equal_cards_repeat() -> None:
    cards = [scorecard("mate", lowest, deals=5).as_json() for _ in range(2)]
    for card in cards:
        card.pop("speed")
    assert cards[0] == cards[1]
    assert cards[0]["agent"] == "lowest"
    assert cards[0]["exact"]["exploitability"]["first"]["value"] > 0  # without chance, so its moves are known


def test_endgames_of_domaster_are_judged() -> None:
    game = get_game("domaster")
    states = random_positions(game, 300, 3)
    rows, values = exact_values(game, states)
    tiles = np.array([int(s["chains"] + s["grown"].sum()) for s in states])
    assert 20 < len(rows) < 200
    assert set(rows.tolist()) <= set(np.flatnonzero(tiles >= LATE_TILES).tolist())
    legal = views(game, states[rows])[1] != 0
    assert set(np.unique(values[legal]).tolist()) == {-1, 0, 1}
    card = scorecard("domaster", "greedy", deals=4)
    assert card.exactness is not None
    assert card.exactness.random_positions.preserving.value > 0.6
    assert card.exactness.exploitability == {}
    assert "positions with at least 31 tiles" in card.table()


def test_third_level_has_no_exact_values() -> None:
    assert scorecard("third_level", "random", deals=2).exactness is None
    game = get_game("third_level")
    with pytest.raises(ValueError, match="no position of Third Level has a known value"):
        exact_values(game, random_positions(game, 1, 0))


def test_other_games_and_bad_arguments() -> None:
    third_level = get_game("third_level", {"hand_size": 4})
    with pytest.raises(ValueError, match="for its default parameters"):
        scorecard(third_level, "random")
    with pytest.raises(ValueError, match="deals must be a whole number of at least 1, got 0"):
        scorecard("mate", "random", deals=0)
    with pytest.raises(ValueError, match="unknown opponent"):
        scorecard("mate", "deep_blue", deals=1)


def test_every_game_has_a_protocol() -> None:
    assert PROTOCOL_VERSION >= 1
    for name in game_names():
        ratings = list(protocol_for(get_game(name)).ladder.values())
        assert ratings[0] == 0
        assert ratings == sorted(ratings)
