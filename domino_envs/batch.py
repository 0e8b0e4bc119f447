"""Thousands of games at once: the fast path, for any game.

The same kernels as the PettingZoo environment, stepped by one compiled call into arrays that the batch owns and reuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import engine
from .aec import REWARDS, opener_seat
from .bits import borrow, count_ones, index_of_one, random_below
from .games import SEATS, Game
from .games.kernels import observe
from .jit import kernel

__all__ = ["BatchGame"]


@kernel
def _look_at_lane(states: Any, lane: int, observations: Any, masks: Any, movers: Any, scratch: Any) -> None:
    state = states[lane]
    movers[lane] = state["mover"]
    engine.write_mask(states, lane, masks[lane], scratch)
    observe(state, state["mover"], observations[lane])


@kernel
def _start_lanes(
    template: Any,
    states: Any,
    rngs: Any,
    orders: Any,
    num_orders: Any,
    lanes: Any,
    openers: Any,
    observations: Any,
    masks: Any,
    movers: Any,
    scratch: Any,
) -> int:
    """Start episodes; return the number started before one whose given orders hold no decision."""
    for i in range(len(lanes)):
        lane = lanes[i]
        if not engine.start_episode(template, states, rngs, orders, num_orders, lane, openers[i]):
            return i
        _look_at_lane(states, lane, observations, masks, movers, scratch)
    return len(lanes)


@kernel
def _first_illegal(lanes: Any, actions: Any, masks: Any) -> int:
    """Return the index of the first action that is out of range or illegal, -1 if all are legal."""
    for i in range(len(lanes)):
        action = actions[i]
        if action < 0 or action >= masks.shape[1] or masks[lanes[i], action] == 0:
            return i
    return -1


@kernel
def _step_lanes(
    template: Any,
    states: Any,
    rngs: Any,
    orders: Any,
    num_orders: Any,
    lanes: Any,
    actions: Any,
    points_reward: bool,
    auto_reset: bool,
    observations: Any,
    masks: Any,
    movers: Any,
    rewards: Any,
    dones: Any,
    scratch: Any,
) -> None:
    states, rngs, orders, num_orders = borrow(states), borrow(rngs), borrow(orders), borrow(num_orders)
    observations, masks, movers, scratch = borrow(observations), borrow(masks), borrow(movers), borrow(scratch)
    template = borrow(template)
    for i in range(len(lanes)):
        lane = lanes[i]
        reward = engine.play_episode_action(states, rngs, orders, num_orders, lane, actions[i], points_reward)
        rewards[lane, 0] = reward
        rewards[lane, 1] = -reward
        over = states[lane]["over"] != 0
        dones[lane] = over
        if over and auto_reset:
            num_orders[lane] = 0  # given orders are for one episode
            engine.start_episode(template, states, rngs, orders, num_orders, lane, engine.LOT)
        _look_at_lane(states, lane, observations, masks, movers, scratch)


@kernel
def _end_lane(
    template: Any,
    states: Any,
    rngs: Any,
    orders: Any,
    num_orders: Any,
    lane: int,
    winner: int,
    points: int,
    points_reward: bool,
    auto_reset: bool,
    observations: Any,
    masks: Any,
    movers: Any,
    rewards: Any,
    dones: Any,
    scratch: Any,
) -> None:
    reward = engine.end_deal(states, rngs, orders, num_orders, lane, winner, points, points_reward)
    rewards[lane, 0] = reward
    rewards[lane, 1] = -reward
    over = states[lane]["over"] != 0
    dones[lane] = over
    if over and auto_reset:
        num_orders[lane] = 0
        engine.start_episode(template, states, rngs, orders, num_orders, lane, engine.LOT)
    _look_at_lane(states, lane, observations, masks, movers, scratch)


@kernel
def _choose_legal(lanes: Any, masks: Any, rngs: Any, actions: Any) -> None:
    """Draw a uniform legal action for each lane from its stream in ``rngs``."""
    masks, rngs = borrow(masks), borrow(rngs)
    for i in range(len(lanes)):
        lane = lanes[i]
        count = count_ones(masks[lane])
        actions[i] = index_of_one(masks[lane], random_below(rngs, lane, count)) if count else 0


class BatchGame:
    """``num_lanes`` episodes of a game side by side.

    All arrays belong to the batch and are overwritten by the next call. Row ``k`` of each is lane ``k``.

    Attributes:
        observations: what the player to move sees, ``int8 (num_lanes, game.layout.size)``.
        action_masks: its legal actions, ``int8 (num_lanes, game.num_actions)``; all zero in a lane that is over.
        movers: seat to move, ``int8 (num_lanes,)``.
        rewards: what the last step brought to seats 0 and 1, ``float32 (num_lanes, 2)``, zero-sum.
        dones: whether the last step ended the episode, ``bool (num_lanes,)``. With auto-reset the lane has then started
            anew: its observation is the first of the next episode.
        states: the positions' records, ``(num_lanes,)``.

    Args:
        game: the table of the game.
        num_lanes: number of games, at least 1.
        episode: a key of ``game.episodes``; None for the whole game.
        reward: ``"win"`` or ``"points"``, as in :class:`domino_envs.aec.DominoEnv`.
        seed: as in :meth:`reset`.
        auto_reset: start a new episode in a lane in the step that ends one.
        threads: how many threads share a step. More than 1 helps only large batches on idle cores.

    Lane ``k``'s games depend on the seed, ``k`` and the actions taken in it, not on ``num_lanes`` or ``threads``; those
    of lane 0 are the games of the PettingZoo environment with that seed.
    """

    def __init__(
        self,
        game: Game,
        num_lanes: int,
        *,
        episode: str | None = None,
        reward: str = "win",
        seed: int | None = None,
        auto_reset: bool = True,
        threads: int = 1,
    ) -> None:
        if num_lanes < 1:
            raise ValueError(f"num_lanes must be at least 1, got {num_lanes}")
        if threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        if reward not in REWARDS:
            raise ValueError(f"reward must be one of {', '.join(map(repr, REWARDS))}, got {reward!r}")
        self.game = game
        self.num_lanes = num_lanes
        self.episode = next(iter(game.episodes)) if episode is None else episode
        self.reward = reward
        self.auto_reset = auto_reset
        self.threads = threads
        self._template = game.start_record(self.episode)
        self._points = reward == "points"
        self.observations = np.zeros((num_lanes, game.layout.size), dtype=np.int8)
        self.action_masks = np.zeros((num_lanes, game.num_actions), dtype=np.int8)
        self.movers = np.zeros(num_lanes, dtype=np.int8)
        self.rewards = np.zeros((num_lanes, 2), dtype=np.float32)
        self.dones = np.zeros(num_lanes, dtype=np.bool_)
        self.states = np.zeros(num_lanes, dtype=game.dtype)
        self._orders = np.zeros((num_lanes, game.num_orders(self.episode), game.num_tiles), dtype=np.int8)
        self._num_orders = np.zeros(num_lanes, dtype=np.int8)
        self._all = np.arange(num_lanes, dtype=np.int64)
        self._scratch = [np.empty(game.num_actions, dtype=np.int32) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.reset(seed)

    def reset(
        self,
        seed: int | None = None,
        *,
        lanes: ArrayLike | None = None,
        orders: Sequence[Any] | None = None,
        openers: Sequence[str | None] | None = None,
    ) -> None:
        """Start new episodes in all lanes, or in some.

        Args:
            seed: seeds the streams of all lanes, also of those that are not reset; None lets them go on.
            lanes: indices of the lanes to reset; None for all.
            orders: for each lane to reset its list of draw orders, as in the PettingZoo environment's options.
            openers: for each lane to reset the agent that opens, or None for the lot.

        Raises:
            ValueError: for a wrong lane, order or opener, or orders that leave no decision in an episode; nothing has
                changed then, but for the last reason, when the lanes before it have been reset.
        """
        chosen = self._all if lanes is None else self._check_lanes(lanes)
        for name, given in (("orders", orders), ("openers", openers)):
            if given is not None and len(given) != len(chosen):
                raise ValueError(f"{name} must have one entry for each of the {len(chosen)} lanes, got {len(given)}")
        seats = np.full(len(chosen), engine.LOT, dtype=np.int64)
        if openers is not None:
            seats[:] = [opener_seat(opener) for opener in openers]
        checked = None if orders is None else [self.game.draw_orders(o, self.episode) for o in orders]
        if seed is not None or not hasattr(self, "_rngs"):
            self._rngs = engine.lane_streams(seed, self.num_lanes)
        self._num_orders[chosen] = 0
        for lane, given_orders in zip(chosen, checked or (), strict=False):
            self._orders[lane, : len(given_orders)] = given_orders
            self._num_orders[lane] = len(given_orders)
        self.dones[chosen] = False
        self.rewards[chosen] = 0
        started = _start_lanes(
            self._template,
            self.states,
            self._rngs,
            self._orders,
            self._num_orders,
            chosen,
            seats,
            self.observations,
            self.action_masks,
            self.movers,
            self._scratch[0],
        )
        if started < len(chosen):
            raise ValueError(f"the draw orders of lane {chosen[started]} leave no decision in the whole episode")

    def step(self, actions: NDArray[Any], lanes: NDArray[np.int64] | None = None) -> None:
        """Take one action in every lane, or in some, and update the arrays of these lanes.

        Args:
            actions: legal action numbers, integer ``(num_lanes,)`` or ``(len(lanes),)``.
            lanes: distinct indices of the lanes to step, ``int64``; None for all.

        Raises:
            ValueError: if an action is not legal in its lane or the shape is wrong; nothing has changed then.
        """
        chosen = self._all if lanes is None else lanes
        if actions.shape != chosen.shape or actions.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be whole numbers of shape {chosen.shape}, got {actions.dtype} of shape {actions.shape}"
            )
        bad = _first_illegal(chosen, actions, self.action_masks)
        if bad >= 0:
            raise ValueError(self._illegal_text(int(chosen[bad]), int(actions[bad])))
        if self._pool is None or len(chosen) < self.threads:
            self._step_part(chosen, actions, self._scratch[0])
            return
        parts = zip(
            np.array_split(chosen, self.threads), np.array_split(actions, self.threads), self._scratch, strict=True
        )
        for done in [self._pool.submit(self._step_part, *part) for part in parts]:
            done.result()

    def end_deal(self, lane: int, winner: str | None, points: int = 1) -> None:
        """End a lane's running deal for a reason outside the rules (a player's time is up) and update its arrays.

        Args:
            lane: its index; the lane must not be over.
            winner: the agent that wins the deal, None for a draw.
            points: what the deal is worth to the winner.

        Raises:
            ValueError: for a wrong lane or winner, or a lane that is over; nothing has changed then.
        """
        (chosen,) = self._check_lanes([lane])
        seat = -1 if winner is None else opener_seat(winner)
        if self.states["over"][chosen]:
            raise ValueError(f"lane {lane}: the episode is over, reset it first")
        _end_lane(
            self._template,
            self.states,
            self._rngs,
            self._orders,
            self._num_orders,
            chosen,
            seat,
            points,
            self._points,
            self.auto_reset,
            self.observations,
            self.action_masks,
            self.movers,
            self.rewards,
            self.dones,
            self._scratch[0],
        )

    def _step_part(self, lanes: NDArray[Any], actions: NDArray[Any], scratch: NDArray[Any]) -> None:
        _step_lanes(
            self._template,
            self.states,
            self._rngs,
            self._orders,
            self._num_orders,
            lanes,
            actions,
            self._points,
            self.auto_reset,
            self.observations,
            self.action_masks,
            self.movers,
            self.rewards,
            self.dones,
            scratch,
        )

    def sample_actions(
        self, rngs: NDArray[np.uint64], actions: NDArray[np.int64], lanes: NDArray[np.int64] | None = None
    ) -> None:
        """Draw a uniform legal action for each lane (all, or some).

        Args:
            rngs: a stream for each lane, ``uint64 (num_lanes,)``, as :func:`engine.lane_streams` makes them.
            actions: where to write them, ``int64``; 0 in a lane that is over.
            lanes: indices of the lanes, ``int64``; None for all.
        """
        _choose_legal(self._all if lanes is None else lanes, self.action_masks, rngs, actions)

    def observe(self, seat: int, lane: int) -> NDArray[np.int8]:
        """Return what a seat sees in a lane, also when it is not to move, ``int8 (game.layout.size,)``."""
        vector = np.empty(self.game.layout.size, dtype=np.int8)
        engine.look_as(self.states, lane, seat, vector)
        return vector

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return every array that changes during play, by name: to save them, or to write saved ones back into."""
        return {
            "observations": self.observations,
            "action_masks": self.action_masks,
            "movers": self.movers,
            "rewards": self.rewards,
            "dones": self.dones,
            "states": self.states.view(np.uint8).reshape(self.num_lanes, -1),
            "rngs": self._rngs,
            "orders": self._orders,
            "num_orders": self._num_orders,
        }

    def close(self) -> None:
        """End the threads, if there are any."""
        if self._pool is not None:
            self._pool.shutdown()

    def _check_lanes(self, lanes: ArrayLike) -> NDArray[np.int64]:
        chosen = np.asarray(lanes)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise ValueError(f"lanes must be a list of lane numbers, got {lanes!r}")
        outside = chosen[(chosen < 0) | (chosen >= self.num_lanes)]
        if len(outside) or len(np.unique(chosen)) < len(chosen):
            wrong = f"got {outside[0]}" if len(outside) else "one is repeated"
            raise ValueError(f"lanes must be distinct numbers from 0 to {self.num_lanes - 1}, {wrong}")
        return chosen.astype(np.int64)

    def _illegal_text(self, lane: int, action: int) -> str:
        if not 0 <= action < self.game.num_actions:
            return f"lane {lane}: action must be from 0 to {self.game.num_actions - 1}, got {action}"
        if self.states["over"][lane]:
            return f"lane {lane}: the episode is over, reset it first"
        written = self.game.notation(self.states, action, lane)
        return f"lane {lane}: action {action} ({written}) is not legal for {SEATS[self.movers[lane]]}"
