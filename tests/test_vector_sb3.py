"""The Stable-Baselines3 ``VecEnv``: its contract, and MaskablePPO on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

from domino_envs.games import get_game
from domino_envs.vector import DominoVectorEnv, sb3_vec_env
from playing import GAMES

all_games = pytest.mark.parametrize("game", GAMES)


def legal_actions(masks: Any, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(np.flatnonzero(row)) for row in masks], dtype=np.int64)


@pytest.mark.parametrize("reward", ["win", "points"])
@all_games
def test_it_is_the_gymnasium_vector_environment(game: str, reward: str) -> None:
    """Equal seeds and actions: equal observations, masks, rewards, ends and last observations."""
    settings: dict[str, Any] = {"episode": "deal", "reward": reward}
    env = sb3_vec_env(game, 6, **settings)
    other = DominoVectorEnv(6, game=game, **settings)
    env.seed(17)
    observations = env.reset()
    expected, _ = other.reset(seed=17)
    assert (env.observation_space, env.action_space) == (other.single_observation_space, other.single_action_space)
    rng = np.random.default_rng(0)
    returns, lengths, ends = np.zeros(6), np.zeros(6, dtype=int), 0
    for _ in range(40):
        assert observations.tolist() == expected.tolist()
        masks = get_action_masks(env)
        assert masks.tolist() == other.action_masks().tolist()
        actions = legal_actions(masks, rng)
        observations, rewards, dones, infos = env.step(actions)
        expected, wanted, terminated, _, info = other.step(actions)
        assert (rewards.dtype, dones.dtype) == (np.float32, np.bool_)
        assert rewards.tolist() == wanted.tolist()
        assert dones.tolist() == terminated.tolist()
        returns += rewards
        lengths += 1
        for lane in range(6):
            if not dones[lane]:
                assert infos[lane] == {}
                continue
            assert infos[lane]["terminal_observation"].tolist() == info["final_obs"][lane].tolist()
            assert infos[lane]["TimeLimit.truncated"] is False
            assert (infos[lane]["episode"]["r"], infos[lane]["episode"]["l"]) == (returns[lane], lengths[lane])
            assert infos[lane]["episode"]["t"] >= 0
            returns[lane] = lengths[lane] = 0
            ends += 1
    assert ends or game == "third_level"


def test_results_are_the_callers_own() -> None:
    env = sb3_vec_env("mate", 4, seed=1)
    observations, masks = env.reset(), env.env_method("action_masks")
    kept = observations.copy(), masks.copy()
    results = env.step(legal_actions(masks, np.random.default_rng(0)))
    stepped = [results[0].copy(), results[1].copy(), results[2].copy()]
    env.step(legal_actions(get_action_masks(env), np.random.default_rng(0)))
    assert np.array_equal(observations, kept[0])
    assert np.array_equal(masks, kept[1])
    assert all(np.array_equal(mine, kept) for mine, kept in zip(results[:3], stepped, strict=True))


def test_masks_come_as_one_array() -> None:
    env = sb3_vec_env("mate", 5, seed=0)
    env.reset()
    assert is_masking_supported(env)
    masks = env.env_method("action_masks")
    assert isinstance(masks, np.ndarray)
    assert (masks.shape, masks.dtype) == ((5, 42), np.bool_)
    assert np.array_equal(masks, env.players.batch.action_masks != 0)
    assert np.array_equal(env.env_method("action_masks", indices=3), masks[[3]])
    assert np.array_equal(env.env_method("action_masks", indices=[4, 0]), masks[[4, 0]])
    with pytest.raises(AttributeError, match="no method 'render_all'"):
        env.env_method("render_all")


def test_the_rest_of_the_contract() -> None:
    env = sb3_vec_env("mate", 3, seed=0, episode="deal")
    assert isinstance(env, VecEnv)
    assert env.num_envs == 3
    assert env.get_attr("render_mode") == [None] * 3
    assert env.get_attr("players", indices=[0, 2]) == [env.players] * 2
    with pytest.raises(AttributeError):
        env.get_attr("nothing")
    with pytest.raises(AttributeError, match="'seat' cannot be set"):
        env.set_attr("seat", "player_0")
    assert env.env_is_wrapped(VecMonitor) == [False] * 3
    env.reset()
    with pytest.raises(ValueError, match=r"lane \d: action"):
        env.step(env.env_method("action_masks").argmin(axis=1))
    order = list(range(21))
    env.set_options({"orders": [order], "opener": "player_1"})
    env.reset()
    assert env.players.batch.states["opener"].tolist() == [1, 1, 1]
    assert env.players.batch.states["starter"].tolist() == [20, 20, 20]
    env.reset()  # options, like seeds, are for one reset
    assert set(env.players.batch.states["starter"]) != {20}
    env.close()


def test_a_seed_is_for_the_next_reset() -> None:
    env = sb3_vec_env("mate", 8)
    env.seed(3)
    first = env.reset()
    assert not np.array_equal(env.reset(), first)
    env.seed(3)
    assert np.array_equal(env.reset(), first)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({"hand_size": 3}, TypeError), ({"game": get_game("mate"), "colour": 1}, TypeError), ({"game": "go"}, ValueError)],
)
def test_bad_settings(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        sb3_vec_env(**{"game": "mate", "num_envs": 2, **arguments})


def test_parameters_of_the_game() -> None:
    env = sb3_vec_env("third_level", 2, hand_size=2, board_size=25, seat="player_0")
    assert dict(env.players.game.parameters) == {"hand_size": 2, "board_size": 25}


def learner(env: VecEnv, **named: Any) -> MaskablePPO:
    return MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=16,
        batch_size=64,
        n_epochs=2,
        seed=1,
        device="cpu",
        policy_kwargs={"net_arch": [16]},
        **named,
    )


@pytest.mark.parametrize("game", ["mate", "domaster"])
def test_maskable_ppo_learns_on_it(game: str, tmp_path: Path) -> None:
    """It never takes an illegal action (the environment would raise), and equal seeds give equal weights."""
    models = []
    for _ in range(2):
        env = sb3_vec_env(game, 16, opponent=["random", "greedy"], episode="deal")
        model = learner(env)
        model.learn(512)
        assert model.num_timesteps == 512
        assert model.ep_info_buffer
        assert all(-1 <= info["r"] <= 1 and info["l"] >= 1 for info in model.ep_info_buffer)
        models.append(model)
    first, second = (model.policy.state_dict() for model in models)
    assert all((first[name] == second[name]).all() for name in first)
    mean, _ = evaluate_policy(models[0], sb3_vec_env(game, 8, episode="deal", seed=0), n_eval_episodes=16, warn=False)
    assert -1 <= mean <= 1


def test_sb3s_monitor_wraps_it() -> None:
    env = VecMonitor(sb3_vec_env("mate", 4, episode="deal", seed=0))
    env.reset()
    ends = []
    for _ in range(12):
        _, _, dones, infos = env.step(legal_actions(env.env_method("action_masks"), np.random.default_rng(0)))
        ends += [infos[lane]["episode"]["r"] for lane in np.flatnonzero(dones)]
    assert ends
    assert set(ends) <= {-1, 1}
