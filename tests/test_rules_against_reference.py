"""Every decision of random episodes: the environments beside a second, slow implementation of the rules."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from domino_envs.games import SEATS
from playing import face
from reference import DOUBLE_SIX_NO_DOUBLES
from reference.domaster import ReferenceDomaster
from reference.mate import ReferenceMate
from reference.third_level import ReferenceThirdLevel

Reference = Any


def make_mate(orders: list[list[int]], opener: int, episode: str) -> Reference:
    return ReferenceMate(orders, opener, episode)


def make_domaster(orders: list[list[int]], opener: int, episode: str) -> Reference:
    return ReferenceDomaster(orders, opener, episode)


def make_five_bridges(orders: list[list[int]], opener: int, episode: str) -> Reference:
    return ReferenceDomaster(orders, opener, episode, five_bridges=True)


def make_third_level(orders: list[list[int]], opener: int, episode: str) -> Reference:
    return ReferenceThirdLevel(orders, opener, episode)


# game, episode, its reference, episodes to play, decisions that they hold at least
CASES = [
    ("mate", "match", make_mate, 150, 4_000),
    ("mate", "set", make_mate, 150, 2_000),
    ("mate", "deal", make_mate, 250, 2_000),
    ("domaster", "match", make_domaster, 16, 2_800),
    ("domaster", "deal", make_domaster, 40, 1_400),
    ("five_bridges", "match", make_five_bridges, 16, 2_600),
    ("five_bridges", "deal", make_five_bridges, 40, 1_200),
    ("third_level", "match", make_third_level, 24, 500),  # more in tests/games/test_third_level.py
    ("third_level", "deal", make_third_level, 8, 150),
]


def assert_finished_deals(env: Any, reference: Reference, told: list[Any]) -> None:
    expected = [
        {"deal": deal, "winner": None if winner is None else SEATS[winner], "points": points}
        for deal, (winner, points) in enumerate(reference.results)
    ]
    assert told == expected
    state = env.position[0]
    assert int(state["finished"]) == len(expected)
    for info in env.infos.values():
        assert [info["scores"][agent] for agent in SEATS] == reference.scores


def play_beside(env: Any, reference: Reference, orders: list[list[int]], opener: int, rng: random.Random) -> int:
    """Play an episode at random on both and compare everything; return the number of decisions."""
    env.reset(options={"orders": orders, "opener": SEATS[opener]})
    told: list[Any] = list(env.infos["player_0"]["deal_results"])
    earned = env.rewards["player_0"]
    decisions = 0
    while not reference.over:
        decisions += 1
        mover = SEATS[reference.mover]
        assert env.agent_selection == mover
        state = env.position[0]
        assert (int(state["opener"]), int(state["deal"])) == (reference.opener, reference.deal_number)
        legal = reference.legal_actions()
        assert np.flatnonzero(env.observe(mover)["action_mask"]).tolist() == legal
        assert {a: env.game.notation(env.position, a) for a in legal} == {a: reference.notation(a) for a in legal}
        if env.game.name == "third_level":
            assert env.infos[mover]["outside_window"] == reference.outside_window
        assert_finished_deals(env, reference, told)
        action = rng.choice(legal)
        env.step(action)
        reference.play(action)
        told += env.infos[mover]["deal_results"]
        earned += env.rewards["player_0"]
        assert env.rewards["player_0"] == -env.rewards["player_1"]
        if not reference.over and env.reward == "win":
            assert earned == 0
    assert env.terminations == dict.fromkeys(SEATS, True)
    assert_finished_deals(env, reference, told)
    difference = reference.scores[0] - reference.scores[1]
    assert earned == (difference if env.reward == "points" else (difference > 0) - (difference < 0))
    assert env.orders == orders
    return decisions


@pytest.mark.parametrize(
    ("game", "episode", "make_reference", "episodes", "least"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES]
)
@pytest.mark.parametrize("reward", ["win", "points"])
def test_random_episodes(
    game: str, episode: str, make_reference: Callable[..., Reference], episodes: int, least: int, reward: str
) -> None:
    env = face(game).raw_env(episode=episode, reward=reward)
    rng = random.Random(f"{game} {episode} {reward}")
    size, shuffles = env.game.num_tiles, env.game.num_orders(episode)
    decisions = 0
    for _ in range(episodes // 2):
        orders = [rng.sample(range(size), size) for _ in range(shuffles)]
        opener = rng.randrange(2)
        decisions += play_beside(env, make_reference(orders, opener, episode), orders, opener, rng)
    assert decisions >= least // 2


@pytest.mark.parametrize("opener", [0, 1])
@pytest.mark.parametrize("dead_set", [0, 1])
def test_mate_with_a_dead_set(dead_set: int, opener: int) -> None:
    """R7 within a match: both games of a set without a decision, first or last."""
    rng = random.Random(dead_set)
    starter = 0  # 0-1
    without = [tile for tile in range(21) if not {0, 1} & set(DOUBLE_SIX_NO_DOUBLES[tile])]
    dead = [*without, *(tile for tile in range(21) if tile not in without and tile != starter), starter]
    orders = [rng.sample(range(21), 21), rng.sample(range(21), 21)]
    orders[dead_set] = dead
    env = face("mate").raw_env(reward="points")
    reference = ReferenceMate(orders, opener)
    assert play_beside(env, reference, orders, opener, rng) > 2
    first = 2 * dead_set
    assert reference.results[first : first + 2] == [((1 - opener) ^ dead_set, 1), (opener ^ dead_set, 1)]
    with pytest.raises(ValueError, match="the given draw orders leave no decision"):
        env.reset(options={"orders": [dead, dead]})
    env.reset(seed=1, options={"orders": [dead]})  # the other set comes from the seed
    assert env.orders[0] == dead


@pytest.mark.parametrize(("hand_size", "board_size"), [(1, 23), (2, 9), (4, 41), (7, 11), (10, 23), (3, 7)])
def test_third_level_parameters(hand_size: int, board_size: int) -> None:
    env = face("third_level").raw_env(hand_size=hand_size, board_size=board_size)
    rng = random.Random(hand_size)
    decisions = 0
    while decisions < 60:
        order = rng.sample(range(21), 21)
        opener = rng.randrange(2)
        reference = ReferenceThirdLevel([order], opener, hand_size=hand_size, board_size=board_size)
        if not reference.over:  # a small window may leave nobody a move
            decisions += play_beside(env, reference, [order], opener, rng)
