"""One PettingZoo AEC environment for every game, and the wrapper that ``env()`` puts around it."""

from __future__ import annotations

import copy
import sys
from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from numpy import empty, int8
from numpy.typing import NDArray
from pettingzoo import AECEnv

from . import engine
from .aec_rendering import RENDER_MODES, Rendering
from .engine import play_and_look
from .games import SEATS, Game, as_game

__all__ = ["REWARDS", "DominoEnv", "IllegalAction", "opener_seat"]

REWARDS = ("win", "points")
_AFTER_RESET = frozenset(
    {"agents", "agent_selection", "rewards", "terminations", "truncations", "infos", "_cumulative_rewards"}
)

Observation = dict[str, NDArray[np.int8]]


def opener_seat(opener: Any) -> int:
    """Return the seat of an agent's name, or ``engine.LOT`` for None.

    Raises:
        ValueError: for anything else.
    """
    if opener is None:
        return engine.LOT
    if not isinstance(opener, str) or opener not in SEATS:
        raise ValueError(f"opener must be one of {', '.join(map(repr, SEATS))}, got {opener!r}")
    return SEATS.index(opener)


class IllegalAction(ValueError):
    """An action of the action space that is not legal in the position.

    Attributes:
        action: its number.
    """

    def __init__(self, action: int, message: str) -> None:
        super().__init__(message)
        self.action = action

    def __reduce__(self) -> tuple[Any, ...]:
        return IllegalAction, (self.action, *self.args)


class DominoEnv(Rendering, AECEnv[str, Observation, int]):
    """A game as a PettingZoo AEC environment.

    The observation of an agent is a dict: ``"observation"``, ``int8 (game.layout.size,)``, which
    ``game.layout.decode`` splits into named arrays; ``"action_mask"``, ``int8 (game.num_actions,)``, 1 where an action
    is legal, all zero for the agent that is not to move and once the episode is over.

    ``infos[agent]`` holds ``move`` (the last move in notation, None at the start), ``move_by`` (who made it),
    ``scores`` (by agent: points in Mate, deals won elsewhere), ``deal_results`` (a list, empty unless the last move
    finished a deal: dicts of ``deal``, ``winner`` (an agent or None) and ``points``), and what the game adds for the
    mover.

    Args:
        game: a name, or the table of a game.
        episode: a key of ``game.episodes``; None for the default, the whole game.
        reward: ``"win"`` (+1, -1 or 0 once, at the episode's end) or ``"points"`` (each deal's points when it ends,
            zero-sum).
        render_mode: ``"ansi"`` (``render()`` returns text), ``"rgb_array"`` (pixels), ``"human"`` (a window, drawn
            anew after each move) or None.
    """

    def __init__(
        self, game: str | Game, *, episode: str | None = None, reward: str = "win", render_mode: str | None = None
    ) -> None:
        super().__init__()
        self.game = game = as_game(game)
        self.episode = next(iter(game.episodes)) if episode is None else episode
        self._template = game.start_record(self.episode)
        if reward not in REWARDS:
            raise ValueError(f"reward must be one of {', '.join(map(repr, REWARDS))}, got {reward!r}")
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be one of {', '.join(map(repr, RENDER_MODES))}, got {render_mode!r}")
        self.reward = reward
        self.render_mode = render_mode
        self.metadata = {
            "name": f"{game.name}_v0",
            "render_modes": list(RENDER_MODES),
            "is_parallelizable": False,
            "render_fps": 2,
        }
        self.possible_agents = list(SEATS)
        self._observation_spaces = {agent: self._make_observation_space() for agent in SEATS}
        self._action_spaces = {agent: spaces.Discrete(game.num_actions) for agent in SEATS}
        states = game.state_layout
        self.state_space = spaces.Box(states.low, states.high, dtype=np.int8)

        self._states = np.zeros(1, dtype=game.dtype)
        self._rngs = engine.lane_streams(None, 1)
        self._orders = np.zeros((1, game.num_orders(self.episode), game.num_tiles), dtype=np.int8)
        self._num_orders = np.zeros(1, dtype=np.int8)
        self._move_texts = game.move_texts
        self._observation_size = game.layout.size
        self._mask_size = game.num_actions
        self._observation = np.zeros(game.layout.size, dtype=np.int8)
        self._mask = np.zeros(game.num_actions, dtype=np.int8)
        self._actions = np.full(game.num_actions + 1, -1, dtype=np.int32)
        self._mover = 0
        self._finished = 0
        self._updates = 0
        self._scores = dict.fromkeys(SEATS, 0)

    def _make_observation_space(self) -> spaces.Dict:
        layout = self.game.layout
        return spaces.Dict(
            {
                "observation": spaces.Box(layout.low, layout.high, dtype=np.int8),
                "action_mask": spaces.Box(0, 1, (self.game.num_actions,), dtype=np.int8),
            }
        )

    def __getattr__(self, name: str) -> Any:
        if name in _AFTER_RESET:
            raise AttributeError(f"{name} cannot be accessed before reset()")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def observation_space(self, agent: str) -> Any:
        """Return the space of an agent's observation (the same object at each call)."""
        return self._observation_spaces[self._known(agent)]

    def action_space(self, agent: str) -> Any:
        """Return the space of an agent's actions (the same object at each call)."""
        return self._action_spaces[self._known(agent)]

    @staticmethod
    def _known(agent: str) -> str:
        if agent not in SEATS:
            raise ValueError(f"unknown agent {agent!r}, expected one of {', '.join(map(repr, SEATS))}")
        return agent

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Start an episode.

        Args:
            seed: decides shuffles and lots, also of later episodes; without one the generator goes on.
            options: ``"orders"``, the draw orders of the episode's shuffles in turn (missing ones come from the seed),
                and ``"opener"``, the agent that opens the first deal (drawn by lot if not given).

        Raises:
            ValueError: for an unknown option, a draw order that is no permutation of the tiles, an unknown opener, a
                wrong seed, or orders that leave no decision in the whole episode. The environment stays as it was.
        """
        opener, orders = self._read_options(options) if options else (engine.LOT, [])
        rngs = self._rngs.copy() if seed is None else engine.lane_streams(seed, 1)
        states, all_orders, num_orders = self._template.copy(), self._orders.copy(), self._num_orders.copy()
        num_orders[0] = len(orders)
        if orders:
            all_orders[0, : len(orders)] = orders
        observation = empty(self._observation_size, int8)
        mask = empty(self._mask_size, int8)
        actions = self._actions.copy()
        code = engine.start_and_look(
            self._template, states, rngs, all_orders, num_orders, opener, observation, mask, actions
        )
        if code < 0:
            raise ValueError("the given draw orders leave no decision in the whole episode (the opener cannot play)")
        self._states, self._rngs, self._orders, self._num_orders = states, rngs, all_orders, num_orders
        self._observation, self._mask, self._actions = observation, mask, actions
        self._mover = code & 1
        self._finished = code >> 2
        self._updates += 1
        self.agents = list(SEATS)
        self.agent_selection = SEATS[self._mover]
        self.rewards = {"player_0": 0.0, "player_1": 0.0}
        self._cumulative_rewards = {"player_0": 0.0, "player_1": 0.0}
        self.terminations = {"player_0": False, "player_1": False}
        self.truncations = {"player_0": False, "player_1": False}
        self._skip_agent_selection: str | None = None  # type: ignore[assignment]
        self._scores = {"player_0": 0, "player_1": 0}
        results: list[dict[str, Any]] = []
        if self._finished:  # games of Mate can end before the first decision (R7)
            self._credit_deals(0, results)
        self._set_infos(None, None, results)
        if self.render_mode == "human":
            self.render()

    def _read_options(self, options: Mapping[str, Any]) -> tuple[int, list[NDArray[np.int8]]]:
        """Return the opener's seat (or the lot) and the draw orders given."""
        if not isinstance(options, Mapping):
            raise ValueError(f"reset options must be a mapping, got {options!r}")
        options = dict(options)
        if options.get("options") == 1:  # what PettingZoo's api_test sends to see that options are taken
            del options["options"]
        unknown = sorted(map(str, set(options) - {"orders", "opener"}))
        if unknown:
            raise ValueError(f"unknown reset option {unknown[0]!r}, expected 'orders' or 'opener'")
        orders = options.get("orders")
        return opener_seat(options.get("opener")), list(
            self.game.draw_orders(() if orders is None else orders, self.episode)
        )

    def step(self, action: int | None) -> None:
        """Take the action of ``agent_selection``; None once that agent is terminated.

        Raises:
            ValueError: for an action out of range or not legal now (the position stays), or other than None for a
                terminated agent.
            gymnasium.error.ResetNeeded: before ``reset()`` and after the episode's end.
        """
        try:
            agent = self.agent_selection
            ended = self.terminations[agent]
        except (AttributeError, KeyError):
            raise ResetNeeded(self._no_step_reason()) from None
        self._updates += 1
        if ended:
            if action is not None:
                raise ValueError(f"{agent} is terminated: its only valid action is None, got {action!r}")
            self._was_dead_step(None)  # type: ignore[arg-type]
            return
        try:
            number = index(action)  # type: ignore[arg-type]
        except TypeError:
            raise ValueError(self._out_of_range_text(action)) from None
        if not 0 <= number < self._mask_size:  # before the kernel, which takes 64 bits at most
            raise ValueError(self._out_of_range_text(number))
        # Fresh arrays: those of the last turn belong to whoever observed them.
        observation = empty(self._observation_size, int8)
        mask = empty(self._mask_size, int8)
        code = play_and_look(
            self._states, self._rngs, self._orders, self._num_orders, number, observation, mask, self._actions
        )
        if code < 0:
            raise IllegalAction(number, self._illegal_text(number))
        self._observation = observation
        self._mask = mask
        self._mover = seat = code & 1
        self._cumulative_rewards[agent] = 0.0
        self.rewards = {"player_0": 0.0, "player_1": 0.0}
        results: list[dict[str, Any]] = []
        if (code >> 2) & 15 != self._finished:
            self._credit_deals(self._finished, results)
            self._finished = (code >> 2) & 15
            if code & 2:
                self._end()
                seat = 1 - SEATS.index(agent)
        self.agent_selection = SEATS[seat]
        self._set_infos(self._move_texts.get(code >> 6) or self.game.code_text(code >> 6), agent, results)
        if self.render_mode == "human":
            self.render()

    def _no_step_reason(self) -> str:
        if "agents" in self.__dict__:
            return "step() after the end of the episode: call reset() first"
        return "step() before reset(): call reset() first"

    def _out_of_range_text(self, action: Any) -> str:
        return f"action must be a whole number from 0 to {self.game.num_actions - 1}, got {action!r}"

    def _illegal_text(self, action: int) -> str:
        legal = [f"{a} ({self.game.notation(self._states, a)})" for a in self._legal_actions()]
        written = self.game.notation(self._states, action)
        some = ", ".join(legal[:3]) + (", ..." if len(legal) > 3 else "")
        return f"action {action} ({written}) is not legal for {self.agent_selection}; {len(legal)} are: {some}"

    def _legal_actions(self) -> list[int]:
        numbers: list[int] = self._actions.tolist()
        return numbers[: numbers.index(-1)]

    def _credit_deals(self, start: int, results: list[dict[str, Any]]) -> None:
        """Append the results of the deals finished since, and reward them if points are the reward."""
        state = self._states[0]
        for deal in range(start, int(state["finished"])):
            seat, points = int(state["winners"][deal]), int(state["points"][deal])
            results.append({"deal": deal, "winner": SEATS[seat] if seat >= 0 else None, "points": points})
            if self.reward == "points" and seat >= 0:
                self._add_reward(seat, float(points))
        first, second = state["scores"].tolist()
        self._scores = {"player_0": first, "player_1": second}

    def _add_reward(self, seat: int, amount: float) -> None:
        """Add a zero-sum reward from one seat's view."""
        for agent, gain in ((SEATS[seat], amount), (SEATS[1 - seat], -amount)):
            self.rewards[agent] += gain
            self._cumulative_rewards[agent] += gain

    def _end(self) -> None:
        difference = self._scores["player_0"] - self._scores["player_1"]
        if self.reward == "win" and difference:
            self._add_reward(0 if difference > 0 else 1, 1.0)
        self.terminations = dict.fromkeys(SEATS, True)

    def end_by_illegal_action(self, action: int) -> None:
        """End the episode against the agent to move: -1 for it, +1 for the other; ``infos`` name the action."""
        agent = self.agent_selection
        self._updates += 1
        self._states["over"] = 1
        self._mask = np.zeros_like(self._mask)
        self._actions[0] = -1
        self.rewards = dict.fromkeys(SEATS, 0.0)
        self._cumulative_rewards[agent] = 0.0
        self._add_reward(1 - SEATS.index(agent), 1.0)
        self.terminations = dict.fromkeys(SEATS, True)
        self._set_infos(None, agent, [])
        for info in self.infos.values():
            info["illegal_action"] = action
        self.agent_selection = SEATS[1 - SEATS.index(agent)]

    def _set_infos(self, move: str | None, move_by: str | None, results: list[dict[str, Any]]) -> None:
        info: dict[str, Any] = {"move": move, "move_by": move_by, "scores": self._scores, "deal_results": results}
        self.infos = {"player_0": info, "player_1": info.copy()}
        if self.game.mover_info is not None:
            self.infos[SEATS[self._mover]].update(self.game.mover_info(self._states[0]))

    def observe(self, agent: str) -> Observation:
        """Return what an agent may know; see the class for shapes and dtypes."""
        if "agents" not in self.__dict__:
            raise ResetNeeded("observe() before reset(): call reset() first")
        seat = SEATS.index(self._known(agent))
        if seat == self._mover:
            return {"observation": self._observation, "action_mask": self._mask}
        observation = np.empty_like(self._observation)
        engine.look_as(self._states, 0, seat, observation)
        return {"observation": observation, "action_mask": np.zeros_like(self._mask)}

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Return observation, cumulative reward, terminated, truncated and info of ``agent_selection``.

        Raises:
            gymnasium.error.ResetNeeded: after the episode's end, when no agent is left.
        """
        agent = self.agent_selection
        if agent not in self.terminations:
            raise ResetNeeded("last() after the end of the episode: call reset() first")
        if not observe:
            seen = None
        elif agent == SEATS[self._mover]:
            seen = {"observation": self._observation, "action_mask": self._mask}
        else:
            seen = self.observe(agent)
        return (
            seen,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def state(self) -> NDArray[np.int8]:
        """Return the full-information vector, ``int8 (game.state_layout.size,)``."""
        if "agents" not in self.__dict__:
            raise ResetNeeded("state() before reset(): call reset() first")
        vector = np.zeros(self.game.state_layout.size, dtype=np.int8)
        seen = 2 + self.game.layout.size
        engine.reveal_all(self._states, 0, vector[:2], vector[2:seen], vector[seen:])
        return vector

    @property
    def position(self) -> NDArray[Any]:
        """A copy of the position's record, shape ``(1,)``, for drawing, search and analysis."""
        return self._states.copy()

    @property
    def orders(self) -> list[list[int]]:
        """The draw orders used so far in this episode."""
        used: list[list[int]] = self._orders[0, : int(self._states["shuffles"][0])].tolist()
        return used

    def clone(self) -> DominoEnv:
        """Return an independent copy in the same position, random generator included."""
        return copy.deepcopy(self)

    def get_state(self) -> dict[str, Any]:
        """Return everything that changes during an episode, random generator included; it can be pickled."""
        return {"settings": self._settings(), **copy.deepcopy({k: self.__dict__.get(k) for k in _MUTABLE})}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go back to what :meth:`get_state` returned.

        Raises:
            ValueError: if it was saved from another game, episode or reward.
        """
        if not isinstance(state, Mapping) or set(state) != {"settings", *_MUTABLE}:
            raise ValueError("expected what get_state() returned")
        if state["settings"] != self._settings():
            raise ValueError(f"the state is of {state['settings']}, this environment is {self._settings()}")
        for key in _MUTABLE:
            if state[key] is None and key in _AFTER_RESET:
                self.__dict__.pop(key, None)
            else:
                self.__dict__[key] = copy.deepcopy(state[key])

    def _settings(self) -> tuple[Any, ...]:
        game = self.game
        return game.name, tuple(sorted(game.parameters.items())), game.rules_version, self.episode, self.reward

    def __str__(self) -> str:
        # PettingZoo's api_test warns about dict observations (and about an all-zero mask, which is right once the
        # episode is over) unless the environment's name stands in its lists; it has no other way to register one.
        lists = sys.modules.get("pettingzoo.test.api_test")
        for name in ("env_obs_dicts", "env_obs_space", "env_all_zeros_obs"):
            names = getattr(lists, name, None)
            if names is not None and self.metadata["name"] not in names:
                names.append(self.metadata["name"])
        return str(self.metadata["name"])


_MUTABLE = (
    *("_states", "_rngs", "_orders", "_num_orders", "_observation", "_mask", "_actions"),
    *("_mover", "_finished", "_scores", "_skip_agent_selection", *sorted(_AFTER_RESET)),
)
