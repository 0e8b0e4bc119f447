"""The Gymnasium view of a game: you against an opponent, one step until it is your turn again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from .aec import DominoEnv, IllegalAction
from .aec_rendering import RENDER_MODES
from .agents import Agent, make_agent
from .games import SEATS, Game, get_game

__all__ = ["SEAT_CHOICES", "DominoSinglePlayerEnv"]

#: Values of the argument and of the reset option ``seat``.
SEAT_CHOICES = ("random", *SEATS)

# Far more than an episode needs unless the draw orders are given and the opponent always answers them in the same way.
_MAX_REDRAWS = 100


class DominoSinglePlayerEnv(gymnasium.Env[NDArray[np.int8], np.int64 | int]):
    """A game for one learner against an opponent that belongs to the environment.

    A step takes the learner's move and then everything up to the learner's next decision or the end of the episode:
    the opponent's moves, deals that end, deals that begin. An opponent's winning move belongs to the step that it
    answers, which then has the reward -1 and is terminated.

    **Observation**: ``int8 (game.layout.size,)``, always the learner's own, also at the end;
    ``game.layout.decode`` splits it into named arrays.

    **Action**: ``Discrete(game.num_actions)``. :meth:`action_masks` says which are legal. An illegal one ends the
    episode: reward -1, terminated, ``info["illegal_action"]`` holds its number. A number outside of the action space is
    a ``ValueError`` and changes nothing.

    **Reward**: with ``reward="win"`` +1, -1 or 0 when the episode ends; with ``reward="points"`` what the deals that
    ended in this step were worth, mine minus theirs. What deals were worth that ended before the learner's first
    decision (in Mate an opener can win with its first tile) counts to the first step.

    **Info**: that of :class:`~domino_envs.aec.DominoEnv` for the learner, with the ``deal_results`` of the whole step,
    and ``action_mask`` (``int8``), ``seat`` (the agent that the learner is in this episode) and ``moves`` (what was
    played in this step, in order: pairs of agent and notation; automatic passes of Third Level are no moves).

    **Reset**: options ``orders`` and ``opener`` as in PettingZoo, and ``seat`` for this episode. ``seed`` decides the
    deals (as in PettingZoo), the lots, the seats and the opponent's choices; without one the generators go on. An
    episode that the opponent ends before the learner's first decision is drawn anew.

    Args:
        game: a name or the table of a game.
        opponent: what :func:`~domino_envs.agents.make_agent` takes: a name, the path of a saved policy, a function
            ``(observation, action_mask) -> action``, or an agent. An agent belongs to the environment from now on: it
            is seeded and told when deals begin.
        opponent_mode: ``"sample"`` or ``"best"``; for a name or a path.
        seat: ``"player_0"``, ``"player_1"``, or ``"random"`` for a lot in each episode.
        episode: a key of ``game.episodes``; None for the default, the whole game.
        reward: ``"win"`` or ``"points"``.
        render_mode: ``"ansi"``, ``"rgb_array"``, ``"human"`` or None.
        parameters: of the game, if ``game`` is a name (``hand_size`` and ``board_size`` of Third Level).

    Raises:
        ValueError: for a value that is none of those named above.
        TypeError: for a parameter that the game does not have.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012  # as Gymnasium declares it

    def __init__(
        self,
        game: str | Game = "mate",
        *,
        opponent: str | Path | Agent | Callable[..., Any] = "random",
        opponent_mode: str = "sample",
        seat: str = "random",
        episode: str | None = None,
        reward: str = "win",
        render_mode: str | None = None,
        **parameters: int,
    ) -> None:
        if isinstance(game, Game) and parameters:
            raise TypeError(f"{game} is a table already, so it takes no {', '.join(parameters)}")
        self.game = game if isinstance(game, Game) else get_game(game, parameters)
        self.seat = _checked_seat(seat)
        self.aec_env = DominoEnv(self.game, episode=episode, reward=reward, render_mode=render_mode)
        self.opponent = make_agent(opponent, self.game, mode=opponent_mode)
        self.render_mode = render_mode
        layout = self.game.layout
        self.observation_space = spaces.Box(layout.low, layout.high, dtype=np.int8)
        self.action_space = spaces.Discrete(self.game.num_actions)
        self._learner = SEATS[0]
        self._live = False
        self._started = False
        # What happened since the learner's last decision:
        self._reward = 0.0
        self._moves: list[tuple[str, str]] = []
        self._deal_results: list[dict[str, Any]] = []

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Start an episode and play up to the learner's first decision.

        Args:
            seed: decides every random thing from here on; None to go on.
            options: ``orders``, ``opener``, ``seat``; see the class.

        Returns:
            Observation and info.

        Raises:
            ValueError: for a wrong seed or option (the episode stays as it was), and if the opponent always ends an
                episode with these draw orders before the learner's first decision.
        """
        if options is not None and not isinstance(options, Mapping):
            raise ValueError(f"reset options must be a mapping, got {options!r}")
        given = dict(options or {})
        seat = _checked_seat(given.pop("seat", self.seat))
        env = self.aec_env
        env.reset(seed, given)
        self._live = False
        super().reset(seed=None if seed is None else int(seed))
        if seed is not None:
            self.opponent.reseed(int(self.np_random.integers(2**63)))
        for _ in range(_MAX_REDRAWS):
            self._learner = SEATS[self.np_random.integers(2)] if seat == "random" else seat
            self._started = True
            env.render_seat = SEATS.index(self._learner)
            self._reward = env.rewards[self._learner]
            self._moves = []
            self._deal_results = list(env.infos[self._learner]["deal_results"])
            self.opponent.start_deal()
            self._let_opponent_play()
            if not env.terminations[self._learner]:
                self._live = True
                if self.render_mode == "human":
                    env.render()  # now that the seat is known
                return self._seen()
            env.reset(None, given)
        raise ValueError(
            f"the opponent {self.opponent.name!r} ended {_MAX_REDRAWS} episodes running before the learner's first "
            f"decision, with the reset options {given}"
        )

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.int8], float, bool, bool, dict[str, Any]]:
        """Take the learner's action and play up to its next decision, or to the end.

        Returns:
            Observation, reward, terminated, truncated (always False) and info.

        Raises:
            ValueError: for an action outside of the action space (the position stays), or an opponent that plays an
                illegal one.
            gymnasium.error.ResetNeeded: before ``reset()`` and after the end of the episode.
        """
        if not self._live:
            when = "after the end of the episode" if self._started else "before reset()"
            raise ResetNeeded(f"step() {when}: call reset() first")
        env = self.aec_env
        try:
            env.step(action)  # type: ignore[arg-type]  # any kind of whole number
            illegal = False
        except IllegalAction as error:
            env.end_by_illegal_action(error.action)
            illegal = True
        self._live = False  # until the opponent has answered
        if illegal:
            self._reward += env.rewards[self._learner]
        else:
            self._take_note()
            self._let_opponent_play()
        reward, self._reward = self._reward, 0.0
        terminated = env.terminations[self._learner]
        self._live = not terminated
        observation, info = self._seen()
        return observation, reward, terminated, False, info

    def _let_opponent_play(self) -> None:
        env, opponent = self.aec_env, self.opponent
        while env.agent_selection != self._learner and not env.terminations[self._learner]:
            seen, *_ = env.last()
            assert seen is not None
            position = env.position if opponent.needs_states else None
            action = opponent.act_one(seen["observation"], seen["action_mask"], position)
            try:
                env.step(action)
            except ValueError as error:
                raise ValueError(f"the opponent {opponent.name!r} chose what it may not: {error}") from error
            self._take_note()

    def _take_note(self) -> None:
        """Add up what the last move brought."""
        env = self.aec_env
        info = env.infos[self._learner]
        self._reward += env.rewards[self._learner]
        self._moves.append((info["move_by"], info["move"]))
        if info["deal_results"]:
            self._deal_results.extend(info["deal_results"])
            if not env.terminations[self._learner]:
                self.opponent.start_deal()

    def _seen(self) -> tuple[NDArray[np.int8], dict[str, Any]]:
        """Return the learner's observation and info, which the caller may keep and change; begin new lists for it."""
        env = self.aec_env
        seen = env.observe(self._learner)
        info = {
            **env.infos[self._learner],
            "scores": dict(env.infos[self._learner]["scores"]),
            "deal_results": self._deal_results,
            "moves": self._moves,
            "seat": self._learner,
            "action_mask": seen["action_mask"].copy(),
        }
        self._moves, self._deal_results = [], []
        return seen["observation"].copy(), info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions are legal, ``bool (game.num_actions,)``; none once the episode is over.

        The name is the one that ``sb3_contrib.MaskablePPO`` looks for.
        """
        return self.aec_env.observe(self._learner)["action_mask"].astype(bool)

    def render(self) -> str | NDArray[np.uint8] | None:
        """Return the position as text or pixels, or show it in a window, as ``DominoEnv.render`` does.

        Hidden tiles are shown when the episode is over; until then the learner's own alone.
        """
        return self.aec_env.render()

    def _repr_svg_(self) -> str | None:
        """The position as notebooks show it, from the learner's seat."""
        return self.aec_env.svg(SEATS.index(self._learner)) if self._started else None

    def close(self) -> None:
        """Nothing is left open."""
        self.aec_env.close()


def _checked_seat(seat: Any) -> str:
    if not isinstance(seat, str) or seat not in SEAT_CHOICES:
        raise ValueError(f"seat must be one of {', '.join(map(repr, SEAT_CHOICES))}, got {seat!r}")
    return seat
