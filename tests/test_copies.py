"""Copies in mid-game, by every way that there is: position and random generators go on alike."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import pytest
from gymnasium.error import ResetNeeded

from domino_envs.aec import DominoEnv
from playing import GAMES, face, first_legal, gym_id, plain, play_on, snapshot, trace

all_games = pytest.mark.parametrize("game", GAMES)


def via_state(env: Any) -> Any:
    other = DominoEnv(env.unwrapped.game, reward=env.unwrapped.reward)
    other.reset(seed=99)
    other.set_state(pickle.loads(pickle.dumps(env.get_state())))
    return other


COPIES: dict[str, Callable[[Any], Any]] = {
    "clone": lambda env: env.clone(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "state": via_state,
}


@pytest.mark.parametrize("copier", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("moves", [0, 6, 10_000])
@pytest.mark.parametrize("kind", ["env", "raw_env"])
@all_games
def test_copies_go_on_alike(game: str, kind: str, moves: int, copier: Callable[[Any], Any]) -> None:
    """In the middle of a game and at its end: the position, and the random generator for the next episode."""
    env = getattr(face(game), kind)(reward="points")
    env.reset(seed=4)
    play_on(env, moves)
    there = snapshot(env)
    twin = copier(env)
    assert type(twin) is (DominoEnv if copier is via_state else type(env))
    expected = trace(twin, episodes=2, seed=7)
    assert snapshot(env) == there  # the copy shares nothing with it
    assert trace(env, episodes=2, seed=7) == expected
    assert expected[0] == there


@pytest.mark.parametrize("copier", [copy.deepcopy, COPIES["pickle"]], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("kind", ["env", "raw_env"])
@all_games
def test_copies_before_reset(game: str, kind: str, copier: Callable[[Any], Any]) -> None:
    maker = getattr(face(game), kind)
    env = copier(maker(episode="deal"))
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=1)
    other = maker(episode="deal")
    other.reset(seed=1)
    assert snapshot(env) == snapshot(other)


@all_games
def test_set_state_goes_back(game: str) -> None:
    env = face(game).raw_env()
    env.reset(seed=1)
    play_on(env, 5)
    saved = env.get_state()
    there = snapshot(env)
    first = trace(env, episodes=2, seed=1)
    env.set_state(saved)
    assert snapshot(env) == there
    assert trace(env, episodes=2, seed=1) == first
    env.set_state(saved)  # the saved state has not been changed by what followed
    assert snapshot(env) == there
    unreset = face(game).raw_env()
    env.set_state(unreset.get_state())
    with pytest.raises(ResetNeeded):
        env.step(0)


def test_set_state_refuses_what_is_not_its_own() -> None:
    env = face("mate").raw_env()
    env.reset(seed=1)
    for other in (
        face("mate").raw_env(episode="deal"),
        face("mate").raw_env(reward="points"),
        face("domaster").raw_env(),
        face("third_level").raw_env(),
    ):
        with pytest.raises(ValueError, match="the state is of"):
            env.set_state(other.get_state())
    with pytest.raises(ValueError, match="the state is of"):
        face("third_level").raw_env().set_state(face("third_level").raw_env(hand_size=4).get_state())
    for wrong in ({}, None, {"settings": 1}, [1, 2]):
        with pytest.raises(ValueError, match=r"expected what get_state\(\) returned"):
            env.set_state(wrong)
    assert snapshot(env) == snapshot(env.clone())


@all_games
@pytest.mark.parametrize("copier", [copy.deepcopy, COPIES["pickle"]], ids=["deepcopy", "pickle"])
def test_copies_of_the_gymnasium_view(game: str, copier: Callable[[Any], Any]) -> None:
    """The position, and all random generators: the deals', the seats' and the opponent's."""
    env = gymnasium.make(gym_id(game), opponent="random", episode="deal")
    _, info = env.reset(seed=2)
    for _ in range(4):
        _, _, terminated, _, info = env.step(first_legal(info["action_mask"]))
        assert not terminated
    twin = copier(env)
    for _ in range(3):
        terminated = False
        while not terminated:
            assert (env.get_wrapper_attr("action_masks")() == twin.get_wrapper_attr("action_masks")()).all()
            action = first_legal(env.get_wrapper_attr("action_masks")())
            result = env.step(action)
            assert plain(result) == plain(twin.step(action))
            terminated = result[2]
        assert plain(env.reset()) == plain(twin.reset())
    assert twin.unwrapped.game is env.unwrapped.game
