"""The single-player environments under the tools of others: checkers, Stable-Baselines3, vector environments."""

from __future__ import annotations

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from domino_envs.aec import DominoEnv
from domino_envs.games import get_game
from domino_envs.single import DominoSinglePlayerEnv
from playing import GAMES, gym_id, random_legal

all_games = pytest.mark.parametrize("game", GAMES)


@all_games
def test_gymnasium_check_env(game: str) -> None:
    """Warnings are errors, so it has nothing to complain about."""
    env = gymnasium.make(gym_id(game))
    check_env(env.unwrapped, skip_render_check=True)
    check_env(gymnasium.make(gym_id(game), render_mode="ansi").unwrapped, skip_render_check=game != "mate")


@all_games
def test_sb3_check_env(game: str) -> None:
    from stable_baselines3.common.env_checker import check_env as check_for_sb3

    check_for_sb3(gymnasium.make(gym_id(game)))
    check_for_sb3(DominoSinglePlayerEnv(game, render_mode="ansi"), skip_render_check=False)


@all_games
def test_dummy_vec_env_and_maskable_ppo(game: str) -> None:
    from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
    from stable_baselines3.common.env_util import make_vec_env

    env = make_vec_env(gym_id(game), n_envs=3, seed=1, env_kwargs={"episode": "deal"})
    assert is_masking_supported(env)
    env.reset()
    ends = 0
    rng = np.random.default_rng(0)
    while ends < 4:
        masks = get_action_masks(env)
        assert masks.dtype == bool
        assert masks.shape == (3, env.action_space.n)
        assert masks.any(axis=1).all()
        _, rewards, dones, infos = env.step(np.array([random_legal(mask, rng) for mask in masks]))
        assert set(rewards[~dones].tolist()) <= {0.0}
        for done, info in zip(dones, infos, strict=True):
            assert done == ("terminal_observation" in info)
            assert not info["TimeLimit.truncated"]
        ends += dones.sum()
    env.close()


def test_maskable_ppo_learns_without_an_illegal_action(monkeypatch: pytest.MonkeyPatch) -> None:
    from sb3_contrib import MaskablePPO

    monkeypatch.setattr(DominoEnv, "end_by_illegal_action", None)  # would be an error
    env = gymnasium.make(gym_id("mate"), episode="deal")
    MaskablePPO("MlpPolicy", env, n_steps=64, batch_size=32, n_epochs=1, seed=0, device="cpu").learn(64)


def test_subproc_vec_env() -> None:
    from stable_baselines3.common.vec_env import SubprocVecEnv

    # With the module's name in the id a new process needs no import of its own.
    make = partial(gymnasium.make, f"domino_envs:{gym_id('mate')}", episode="deal", opponent="random")
    env = SubprocVecEnv([make, make])
    try:
        env.seed(3)
        env.reset()
        alone = [make(), make()]
        infos = [one.reset(seed=3 + i)[1] for i, one in enumerate(alone)]
        masks = np.array(env.env_method("action_masks"))
        assert masks.tolist() == [info["action_mask"].astype(bool).tolist() for info in infos]
        observations, rewards, dones, _ = env.step(masks.argmax(axis=1))
        for i, one in enumerate(alone):
            observation, reward, terminated, _, _ = one.step(int(masks[i].argmax()))
            assert (rewards[i], dones[i]) == (reward, terminated)
            assert terminated or observation.tolist() == observations[i].tolist()
    finally:
        env.close()


@all_games
def test_make_vec(game: str) -> None:
    env = gymnasium.make_vec(gym_id(game), num_envs=3, vectorization_mode="sync", episode="deal")
    observations, infos = env.reset(seed=7)
    assert observations.shape == (3, get_game(game).layout.size)
    rng = np.random.default_rng(0)
    ends = 0
    while ends < 3:
        masks = infos["action_mask"]
        actions = np.array([random_legal(mask, rng) if mask.any() else 0 for mask in masks])
        observations, _, terminations, truncations, infos = env.step(actions)
        assert not truncations.any()
        ends += terminations.sum()
    env.close()


def test_make_vec_async() -> None:
    env = gymnasium.make_vec(gym_id("mate"), num_envs=2, vectorization_mode="async")
    try:
        observations, infos = env.reset(seed=7)
        for i in range(2):
            observation, info = gymnasium.make(gym_id("mate")).reset(seed=7 + i)
            assert observation.tolist() == observations[i].tolist()
            assert info["action_mask"].tolist() == infos["action_mask"][i].tolist()
    finally:
        env.close()
