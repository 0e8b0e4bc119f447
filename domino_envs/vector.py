"""Single-player games in a batch, as a Gymnasium ``VectorEnv`` and as a Stable-Baselines3 ``VecEnv``.

``gymnasium.make_vec("domino_envs/Mate-v0", num_envs=256)`` gives the first; :func:`sb3_vec_env` the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from .batch_single import BatchSinglePlayer, OpponentSpec
from .games import Game, get_game

if TYPE_CHECKING:
    from .vector_sb3 import DominoVecEnv

__all__ = ["DominoVectorEnv", "sb3_vec_env"]


class DominoVectorEnv(VectorEnv[NDArray[np.int8], NDArray[np.int64], NDArray[Any]]):
    """Games of a learner against opponents, all stepped by compiled calls.

    The same episodes as :class:`~domino_envs.single.DominoSinglePlayerEnv`, with ``info["action_mask"]`` (``int8
    (num_envs, num_actions)``) and ``info["seat"]`` (``int8``, the learner's). An illegal action ends that lane's
    episode with reward -1; ``info["illegal_action"]`` marks the lanes.

    Args:
        num_envs: number of games.
        game: a name or the table of a game.
        autoreset_mode: ``SAME_STEP`` (the observation of a lane that ends is the first of its next episode, the last
            one is ``info["final_obs"]``) or ``NEXT_STEP`` (the next step starts the next episode, its action is
            ignored), as value or by name.
        opponent: an opponent, or a list of them as a pool from which each episode draws one.
        opponent_weights: probabilities of the pool's members.
        opponent_mode: ``"sample"`` or ``"best"``.
        seat: ``"player_0"``, ``"player_1"`` or ``"random"``.
        episode: a key of ``game.episodes``; None for the whole game.
        reward: ``"win"`` or ``"points"``.
        copy: whether to return copies of the arrays; without, the next step overwrites what was returned.
        threads: see :class:`~domino_envs.batch.BatchGame`.
        render_mode: only None; a batch draws nothing.
        parameters: of the game, if ``game`` is a name.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        *,
        game: str | Game = "mate",
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        opponent: OpponentSpec | Sequence[OpponentSpec] = "random",
        opponent_weights: Sequence[float] | None = None,
        opponent_mode: str = "sample",
        seat: str = "random",
        episode: str | None = None,
        reward: str = "win",
        copy: bool = True,
        threads: int = 1,
        render_mode: str | None = None,
        **parameters: int,
    ) -> None:
        if render_mode is not None:
            raise ValueError(f"render_mode must be None for a batch of games, got {render_mode!r}")
        mode = autoreset_mode if isinstance(autoreset_mode, AutoresetMode) else _autoreset_mode(autoreset_mode)
        if mode == AutoresetMode.DISABLED:
            raise ValueError("autoreset_mode must be SAME_STEP or NEXT_STEP, got DISABLED")
        self.game = game if isinstance(game, Game) else get_game(game, parameters)
        self.num_envs = num_envs
        self.metadata = {**type(self).metadata, "autoreset_mode": mode}
        self.single_observation_space = spaces.Box(self.game.layout.low, self.game.layout.high, dtype=np.int8)
        self.single_action_space = spaces.Discrete(self.game.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.players = BatchSinglePlayer(
            self.game,
            num_envs,
            opponent=opponent,
            weights=opponent_weights,
            opponent_mode=opponent_mode,
            seat=seat,
            episode=episode,
            reward=reward,
            threads=threads,
        )
        self._copy = copy
        self._same_step = mode == AutoresetMode.SAME_STEP
        self._ended = np.zeros(num_envs, dtype=np.bool_)  # wait for their next step
        self._all = np.ones(num_envs, dtype=np.bool_)
        self._started = False

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Start an episode in every lane; ``options`` as in the single environment but for ``seat``.

        Raises:
            ValueError: for a wrong seed or option.
        """
        self.players.reset(seed, options=options)
        self._ended[:] = False
        self._started = True
        return self._given(self.players.batch.observations), self._info()

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int8], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Take the learners' actions, ``int (num_envs,)``.

        Raises:
            ValueError: for a wrong shape or dtype, or a number outside of the action space; nothing has changed then.
            gymnasium.error.ResetNeeded: before ``reset()``.
        """
        if not self._started:
            raise ResetNeeded("step() before reset(): call reset() first")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise ValueError(f"actions must be {self.num_envs} whole numbers, got {actions.dtype} {actions.shape}")
        outside = actions[(actions < 0) | (actions >= self.game.num_actions)]
        if len(outside):
            raise ValueError(f"actions must be from 0 to {self.game.num_actions - 1}, got {outside[0]}")
        players = self.players
        masks = players.batch.action_masks
        illegal = (masks[np.arange(self.num_envs), actions] == 0) & ~self._ended
        playing = np.flatnonzero(~illegal & ~self._ended)
        players.step(actions[playing], playing)
        rewards = players.rewards.astype(np.float64)
        terminated = players.dones.copy()
        rewards[illegal] = -1.0
        terminated[illegal] = True
        rewards[self._ended] = 0.0
        terminated[self._ended] = False
        info: dict[str, Any] = {}
        if illegal.any():
            info |= {"illegal_action": np.where(illegal, actions, -1), "_illegal_action": illegal}
        if self._same_step:
            over = np.flatnonzero(terminated)
            if len(over):
                final = np.full(self.num_envs, None, dtype=object)
                for lane, seen in zip(over, players.own_observations(over), strict=True):
                    final[lane] = seen
                info |= {"final_obs": final, "_final_obs": terminated.copy(), "final_info": {}}
                players.reset(lanes=over)
        else:
            waiting = np.flatnonzero(self._ended)
            if len(waiting):
                players.reset(lanes=waiting)
            self._ended = terminated.copy()
        observations = self._given(players.batch.observations)
        if not self._same_step and terminated.any():
            over = np.flatnonzero(terminated)
            observations = observations if self._copy else observations.copy()
            observations[over] = players.own_observations(over)
        return observations, rewards, terminated, np.zeros_like(terminated), info | self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions, ``bool (num_envs, num_actions)``."""
        return self.players.batch.action_masks.astype(np.bool_)

    def _given(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy() if self._copy else array

    def _info(self) -> dict[str, Any]:
        return {
            "action_mask": self._given(self.players.batch.action_masks),
            "_action_mask": self._all.copy(),
            "seat": self.players.seats.copy(),
            "_seat": self._all.copy(),
        }


def _autoreset_mode(name: str) -> AutoresetMode:
    names = {key: mode for mode in AutoresetMode for key in (mode.name, mode.value)}
    if name not in names:
        raise ValueError(f"autoreset_mode must be SAME_STEP or NEXT_STEP, got {name!r}")
    return names[name]


def sb3_vec_env(game: str | Game, num_envs: int, **arguments: Any) -> DominoVecEnv:
    """Return the same games as a Stable-Baselines3 ``VecEnv``, ready for MaskablePPO.

    Args:
        game: a name or the table of a game.
        num_envs: number of games.
        arguments: as of :class:`~domino_envs.batch_single.BatchSinglePlayer`, and the game's parameters.

    Raises:
        ModuleNotFoundError: without the extra ``train``.
    """
    from .vector_sb3 import DominoVecEnv

    parameters: dict[str, Any] = {key: arguments.pop(key) for key in ("hand_size", "board_size") if key in arguments}
    table = game if isinstance(game, Game) else get_game(game, parameters)
    return DominoVecEnv(BatchSinglePlayer(table, num_envs, **arguments))
