"""MaskablePPO on our games against MaskablePPO on an environment that costs nothing (needs the extra ``train``)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from ..vector import sb3_vec_env
from ..vector_sb3 import DominoVecEnv

__all__ = ["FreeVecEnv", "measure_ppo"]

NUM_ENVS = 256
STEPS = 64
MINIBATCH = 1024
EPOCHS = 4
NETWORK = [128, 128]


class FreeVecEnv(VecEnv):
    """A vector environment that does nothing: the same observations and masks at each step, no reward, no end.

    Args:
        observations: ``int8 (num_envs, size)``.
        masks: ``bool (num_envs, num_actions)``.
        like: the environment whose spaces it has.
    """

    def __init__(self, observations: NDArray[np.int8], masks: NDArray[np.bool_], like: VecEnv) -> None:
        self._observations = observations
        self._masks = masks
        self._rewards = np.zeros(len(masks), dtype=np.float32)
        self._dones = np.zeros(len(masks), dtype=np.bool_)
        self._infos: list[dict[str, Any]] = [{} for _ in range(len(masks))]
        self.render_mode = None
        super().__init__(len(masks), like.observation_space, like.action_space)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the masks."""
        return self._masks

    def reset(self) -> VecEnvObs:
        """Return the observations."""
        return self._observations

    def step_async(self, actions: NDArray[Any]) -> None:
        """Do nothing."""

    def step_wait(self) -> VecEnvStepReturn:
        """Return the observations again."""
        return self._observations, self._rewards, self._dones, self._infos

    def close(self) -> None:
        """Do nothing."""

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Return the masks."""
        return self._masks

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute for each lane."""
        return [getattr(self, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Do nothing."""

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Say that no lane is wrapped."""
        return [False] * self.num_envs


def make_learner(env: VecEnv) -> MaskablePPO:
    """Return the learner whose speed is measured."""
    return MaskablePPO(
        "MlpPolicy",
        env,
        n_steps=STEPS,
        batch_size=MINIBATCH,
        n_epochs=EPOCHS,
        policy_kwargs={"net_arch": NETWORK},
        seed=0,
        device="cpu",
    )


def _frames_per_second(model: MaskablePPO) -> float:
    """Run one iteration, rollout and update."""
    start = time.perf_counter()
    model.learn(STEPS * NUM_ENVS, reset_num_timesteps=False)
    return STEPS * NUM_ENVS / (time.perf_counter() - start)


def measure_ppo(game: str, repeats: int) -> dict[str, list[float]]:
    """Measure iterations of both in turn, on one thread, after one of each to warm up.

    Args:
        game: its name; the opponent is random, an episode is the whole game.
        repeats: how many iterations of each are measured, in turn.

    Returns:
        Frames (learner's decisions) per second of each iteration: ``"ours"`` and ``"free"``.
    """
    torch.set_num_threads(1)
    env = sb3_vec_env(game, NUM_ENVS, seed=0)
    assert isinstance(env, DominoVecEnv)
    observations = env.reset()
    assert isinstance(observations, np.ndarray)
    free = FreeVecEnv(observations, env.action_masks().copy(), env)
    models = {"ours": make_learner(env), "free": make_learner(free)}
    for model in models.values():
        _frames_per_second(model)
    found: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(repeats):
        for name, model in models.items():
            found[name].append(_frames_per_second(model))
    env.close()
    return found
