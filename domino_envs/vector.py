"""Single-player games in a batch, as a Gymnasium ``VectorEnv`` and as a Stable-Baselines3 ``VecEnv``.

``gymnasium.make_vec("domino_envs/Mate-v0", num_envs=256)`` gives the first; :func:`sb3_vec_env` the second.
"""

from __future__ import annotations

import inspect
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

    The same episodes as :class:`~domino_envs.single.DominoSinglePlayerEnv`.

    **Observation**: ``int8 (num_envs, game.layout.size)``, the learners' own. **Action**: ``int (num_envs,)``. An
    illegal one ends that lane's episode with reward -1. **Reward**: ``float64 (num_envs,)``, as in the single
    environment. An episode is never truncated.

    **Info**: ``action_mask`` (``int8 (num_envs, num_actions)``, all zero in a lane whose episode is over), ``seat``
    (``int8 (num_envs,)``, the learner's: 0 or 1) and, where a lane's action was illegal, ``illegal_action`` (its
    number); in the mode ``SAME_STEP`` also ``final_obs`` (an object array of observations) and ``final_info`` (a dict
    like this one) where an episode ended. As always in Gymnasium, ``_name`` marks the lanes for which ``name`` holds.

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

    Raises:
        ValueError: for a value that is none of those named above.
        TypeError: for a parameter that the game does not have.
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
        self.game = _table(game, parameters)
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
        self._lanes = np.arange(num_envs)
        self._started = False

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Start an episode in every lane; ``options`` as in the single environment but for ``seat``.

        Raises:
            ValueError: for a wrong seed or option.
        """
        self.players.reset(seed, options=options)
        super().reset(seed=None if seed is None else int(seed))
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
        illegal = (players.batch.action_masks[self._lanes, actions] == 0) & ~self._ended
        playing = np.flatnonzero(~illegal & ~self._ended)
        players.step(actions[playing], playing)
        rewards = np.where(self._ended, 0.0, players.rewards.astype(np.float64))
        rewards[illegal] = -1.0
        terminated = (players.dones | illegal) & ~self._ended
        info: dict[str, Any] = {}
        if self._same_step:
            over = np.flatnonzero(terminated)
            if len(over):
                info = self._final_info(over, terminated, illegal, actions)
                players.reset(lanes=over)
            observations = self._given(players.batch.observations)
        else:
            waiting = np.flatnonzero(self._ended)
            if len(waiting):
                players.reset(lanes=waiting)
            self._ended = terminated
            observations = players.batch.observations
            if self._copy or terminated.any():
                observations = observations.copy()
            over = np.flatnonzero(terminated)
            if len(over):
                observations[over] = players.own_observations(over)
        if illegal.any():
            info |= {"illegal_action": np.where(illegal, actions, 0), "_illegal_action": illegal}
        return observations, rewards, terminated.copy(), np.zeros_like(terminated), info | self._info()

    def _final_info(
        self, over: NDArray[np.int64], terminated: NDArray[Any], illegal: NDArray[Any], actions: NDArray[Any]
    ) -> dict[str, Any]:
        """Return what the info tells of the episodes that ended, before their lanes start anew."""
        observations = np.full(self.num_envs, None, dtype=object)
        for lane, seen in zip(over, self.players.own_observations(over), strict=True):
            observations[lane] = seen
        masks = np.zeros((self.num_envs, self.game.num_actions), dtype=np.int8)
        ended: dict[str, Any] = {"action_mask": masks, "seat": np.where(terminated, self.players.seats, 0)}
        if illegal.any():
            ended["illegal_action"] = np.where(illegal, actions, 0)
        marks = {f"_{name}": (illegal if name == "illegal_action" else terminated).copy() for name in ended}
        return {
            "final_obs": observations,
            "_final_obs": terminated.copy(),
            "final_info": ended | marks,
            "_final_info": terminated.copy(),
        }

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions, ``bool (num_envs, num_actions)``; none in a lane whose episode is over."""
        masks = self.players.batch.action_masks.astype(np.bool_)
        masks[self._ended] = False
        return masks

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads, if there are any."""
        self.players.batch.close()

    def _given(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy() if self._copy else array

    def _info(self) -> dict[str, Any]:
        masks = self.players.batch.action_masks
        if self._copy or self._ended.any():
            masks = masks.copy()
            masks[self._ended] = 0  # also after an illegal action, where the game itself is not over
        return {
            "action_mask": masks,
            "_action_mask": np.ones(self.num_envs, dtype=np.bool_),
            "seat": self.players.seats.copy(),
            "_seat": np.ones(self.num_envs, dtype=np.bool_),
        }


def _table(game: str | Game, parameters: dict[str, Any]) -> Game:
    if isinstance(game, Game) and parameters:
        raise TypeError(f"{game} is a table already, so it takes no {', '.join(parameters)}")
    return game if isinstance(game, Game) else get_game(game, parameters)


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
        ValueError: for a value that an argument does not take.
        TypeError: for an argument or a parameter that there is not.
    """
    from .vector_sb3 import DominoVecEnv

    settings = inspect.signature(BatchSinglePlayer).parameters
    parameters = {key: arguments.pop(key) for key in list(arguments) if key not in settings}
    return DominoVecEnv(BatchSinglePlayer(_table(game, parameters), num_envs, **arguments))
