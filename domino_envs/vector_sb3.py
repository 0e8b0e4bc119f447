"""The Stable-Baselines3 ``VecEnv`` over a batch of single-player games (needs the extra ``train``)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from .batch_single import BatchSinglePlayer

__all__ = ["DominoVecEnv"]


class DominoVecEnv(VecEnv):
    """Learners against opponents, as SB3 wants them: episodes restart in the step that ends them.

    ``env_method("action_masks")`` is answered by one array, ``bool (num_envs, num_actions)``; a finished episode's
    info holds ``terminal_observation`` and ``episode`` (``r``, ``l``, ``t``), as SB3's monitor writes them.

    Args:
        players: the games; they belong to this environment from now on.
    """

    def __init__(self, players: BatchSinglePlayer) -> None:
        layout = players.game.layout
        self.players = players
        self._lengths = np.zeros(players.num_lanes, dtype=np.int64)
        self._returns = np.zeros(players.num_lanes, dtype=np.float64)
        self._actions: NDArray[Any] = np.zeros(players.num_lanes, dtype=np.int64)
        self._start = time.time()
        self.render_mode = None
        super().__init__(
            players.num_lanes,
            spaces.Box(layout.low, layout.high, dtype=np.int8),
            spaces.Discrete(players.game.num_actions),
        )

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions of every lane, ``bool (num_envs, num_actions)``."""
        return self.players.batch.action_masks.astype(np.bool_)

    def reset(self) -> VecEnvObs:
        """Start an episode in every lane and return the observations, ``int8 (num_envs, size)``.

        Options (``orders`` and ``opener``, by ``set_options``) are the same for all lanes.
        """
        self.players.reset(self._seeds[0], options=self._options[0])
        self._reset_seeds()
        self._reset_options()
        self._lengths[:] = 0
        self._returns[:] = 0
        return self.players.batch.observations.copy()

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed all lanes at the next reset."""
        self._seeds = [seed] * self.num_envs
        return self._seeds

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Take the actions.

        Raises:
            ValueError: if one is not legal: a learner that uses the masks never does that.
        """
        players = self.players
        players.step(self._actions)
        rewards = players.rewards.copy()
        dones = players.dones.copy()
        self._lengths += 1
        self._returns += rewards
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        over = np.flatnonzero(dones)
        if len(over):
            elapsed = round(time.time() - self._start, 6)
            for lane, seen in zip(over.tolist(), players.own_observations(over), strict=True):
                episode = {"r": float(self._returns[lane]), "l": int(self._lengths[lane]), "t": elapsed}
                infos[lane] = {"terminal_observation": seen, "episode": episode, "TimeLimit.truncated": False}
            self._lengths[over] = 0
            self._returns[over] = 0
            players.reset(lanes=over)
        return players.batch.observations.copy(), rewards, dones, infos

    def close(self) -> None:
        """End the threads of the batch, if there are any."""
        self.players.batch.close()

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> Any:
        """Call ``action_masks``, the one method that the games have; one row for each lane (or index).

        Raises:
            AttributeError: for another name.
        """
        if method_name != "action_masks":
            raise AttributeError(f"the games in this batch have no method {method_name!r}, only 'action_masks'")
        masks = self.action_masks()
        return masks if indices is None else masks[np.atleast_1d(np.array(list(self._get_indices(indices))))]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of this environment, the same for each lane."""
        value = getattr(self, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: the lanes have no attributes of their own.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"the games in this batch share their settings: {attr_name!r} cannot be set for some")

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Say that no lane is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def _get_indices(self, indices: Any) -> Iterable[int]:
        return range(self.num_envs) if indices is None else super()._get_indices(indices)
