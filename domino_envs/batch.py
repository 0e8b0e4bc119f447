"""Thousands of games at once: the fast path, for any game.

The same kernels as the PettingZoo environment, stepped by one compiled call into arrays that the batch owns and reuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import batch_kernels, engine
from .aec import REWARDS, opener_seat
from .games import SEATS, Game, as_game

__all__ = ["BatchGame"]

_LANES_PER_THREAD = 64  # fewer take less time than waking a thread


class BatchGame:
    """``num_lanes`` episodes of a game side by side.

    All arrays belong to the batch and are overwritten by the next call. Row ``k`` of each is lane ``k``.

    Attributes:
        observations: what the player to move sees, ``int8 (num_lanes, game.layout.size)``.
        action_masks: its legal actions, ``int8 (num_lanes, game.num_actions)``; all zero in a lane that is over.
        movers: seat to move, ``int8 (num_lanes,)``.
        rewards: what the last step brought to seats 0 and 1, ``float32 (num_lanes, 2)``, zero-sum. Points that an
            episode brought before its first decision (R7 in Mate) count to its first step.
        dones: whether the last step ended the episode, ``bool (num_lanes,)``. With auto-reset the lane has then started
            anew: its observation is the first of the next episode.
        states: the positions' records, ``(num_lanes,)``.

    Args:
        game: a name, or the table of a game.
        num_lanes: number of games, at least 1.
        episode: a key of ``game.episodes``; None for the whole game.
        reward: ``"win"`` or ``"points"``, as in :class:`domino_envs.aec.DominoEnv`.
        seed: as in :meth:`reset`.
        auto_reset: start a new episode in a lane in the step that ends one.
        threads: how many threads share a step. More than 1 helps only large batches on idle cores.

    Raises:
        ValueError: for a value out of range.

    Lane ``k``'s games depend on the seed, ``k`` and the actions taken in it, not on ``num_lanes`` or ``threads``; those
    of lane 0 are the games of the PettingZoo environment with that seed.
    """

    def __init__(
        self,
        game: str | Game,
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
        self.game = game = as_game(game)
        self.num_lanes = num_lanes
        self.episode = next(iter(game.episodes)) if episode is None else episode
        self.reward = reward
        self.auto_reset = auto_reset
        self.threads = threads
        self._points = reward == "points"
        self.observations = np.zeros((num_lanes, game.layout.size), dtype=np.int8)
        self.action_masks = np.zeros((num_lanes, game.num_actions), dtype=np.int8)
        self.movers = np.zeros(num_lanes, dtype=np.int8)
        self.rewards = np.zeros((num_lanes, 2), dtype=np.float32)
        self.dones = np.zeros(num_lanes, dtype=np.bool_)
        self.states = np.zeros(num_lanes, dtype=game.dtype)
        self._rngs = engine.lane_streams(seed, num_lanes)
        self._orders = np.zeros((num_lanes, game.num_orders(self.episode), game.num_tiles), dtype=np.int8)
        self._num_orders = np.zeros(num_lanes, dtype=np.int8)
        self._credits = np.zeros(num_lanes, dtype=np.float32)
        arrays = {
            "template": game.start_record(self.episode),
            "states": self.states,
            "rngs": self._rngs,
            "orders": self._orders,
            "num_orders": self._num_orders,
            "credits": self._credits,
            "observations": self.observations,
            "action_masks": self.action_masks,
            "movers": self.movers,
            "rewards": self.rewards,
            "dones": self.dones,
        }
        self._arrays = tuple(arrays[name] for name in batch_kernels.ARRAYS)
        self._all = np.arange(num_lanes, dtype=np.int64)
        self._scratch = [np.empty(game.num_actions, dtype=np.int32) for _ in range(threads)]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.reset()

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
            ValueError: for a wrong seed, lane, order or opener, or orders that leave no decision in an episode; nothing
                has changed then.
        """
        chosen = self._all if lanes is None else self.checked_lanes(lanes)
        for name, given in (("orders", orders), ("openers", openers)):
            if given is not None and len(given) != len(chosen):
                raise ValueError(f"{name} must have one entry for each of the {len(chosen)} lanes, got {len(given)}")
        seats = np.full(len(chosen), engine.LOT, dtype=np.int64)
        if openers is not None:
            seats[:] = [opener_seat(opener) for opener in openers]
        checked = None if orders is None else [self.game.draw_orders(o, self.episode) for o in orders]
        rngs = self._rngs if seed is None else engine.lane_streams(seed, self.num_lanes)
        changing = () if checked is None else (*self._arrays[1:],)
        before = [array.copy() if array is self._rngs else array[chosen] for array in changing]
        self._rngs[:] = rngs
        self._num_orders[chosen] = 0
        for lane, given_orders in zip(chosen, checked or (), strict=False):
            self._orders[lane, : len(given_orders)] = given_orders
            self._num_orders[lane] = len(given_orders)
        self.dones[chosen] = False
        self.rewards[chosen] = 0
        started = batch_kernels.start_lanes(self._arrays, chosen, seats, self._points, self._scratch[0])
        if started < len(chosen):
            for array, old in zip(changing, before, strict=True):
                array[... if array is self._rngs else chosen] = old
            raise ValueError(f"the draw orders of lane {chosen[started]} leave no decision in the whole episode")

    def step(self, actions: NDArray[Any], lanes: NDArray[np.int64] | None = None) -> None:
        """Take one action in every lane, or in some, and update the arrays of these lanes.

        Args:
            actions: legal action numbers, integers ``(num_lanes,)`` or ``(len(lanes),)``.
            lanes: distinct indices of the lanes to step; None for all.

        Raises:
            ValueError: if an action is not legal in its lane, a lane does not exist or is repeated, or a shape is
                wrong; nothing has changed then.
        """
        chosen = self._all if lanes is None else self.checked_lanes(lanes)
        numbers = np.asarray(actions)
        if numbers.shape != chosen.shape or numbers.dtype.kind not in "iu":
            raise ValueError(
                f"actions must be whole numbers of shape {chosen.shape}, got {numbers.dtype} of shape {numbers.shape}"
            )
        numbers = _plain(numbers)
        bad = batch_kernels.first_illegal(chosen, numbers, self.action_masks)
        if bad >= 0:
            raise ValueError(self._illegal_text(int(chosen[bad]), int(numbers[bad])))
        self._share(self._step_part, chosen, numbers)

    def end_deal(self, lane: int, winner: str | None, points: int = 1) -> None:
        """End a lane's running deal for a reason outside the rules (a player's time is up) and update its arrays.

        Args:
            lane: its index; the lane must not be over.
            winner: the agent that wins the deal, None for a draw.
            points: what the deal is worth to the winner.

        Raises:
            ValueError: for a wrong lane or winner, or a lane that is over; nothing has changed then.
        """
        (chosen,) = self.checked_lanes([lane])
        seat = -1 if winner is None else opener_seat(winner)
        if self.states["over"][chosen]:
            raise ValueError(f"lane {lane}: the episode is over, reset it first")
        batch_kernels.end_lane(
            self._arrays, int(chosen), seat, int(points), self._points, self.auto_reset, self._scratch[0]
        )

    def sample_actions(
        self, rngs: NDArray[np.uint64], actions: NDArray[np.int64], lanes: ArrayLike | None = None
    ) -> None:
        """Draw a uniform legal action for each lane (all, or some).

        Args:
            rngs: a stream for each lane of the batch, ``uint64 (num_lanes,)``, as :func:`engine.lane_streams` makes
                them.
            actions: where to write them, ``int64 (num_lanes,)`` or ``(len(lanes),)``; 0 in a lane that is over.
            lanes: distinct indices of the lanes; None for all.

        Raises:
            ValueError: for a wrong lane, shape or dtype.
        """
        chosen = self._all if lanes is None else self.checked_lanes(lanes)
        for name, array, shape, dtype in (
            ("rngs", rngs, self._all.shape, np.uint64),
            ("actions", actions, chosen.shape, np.int64),
        ):
            if array.shape != shape or array.dtype != dtype:
                raise ValueError(f"{name} must be {np.dtype(dtype)} {shape}, got {array.dtype} {array.shape}")

        def sample_part(lanes: NDArray[np.int64], actions: NDArray[np.int64], scratch: NDArray[np.int32]) -> None:
            batch_kernels.choose_legal(lanes, self.action_masks, rngs, actions)

        self._share(sample_part, chosen, actions)

    def observe(self, seats: ArrayLike, lanes: ArrayLike) -> NDArray[np.int8]:
        """Return what given seats see in given lanes, also where they are not to move.

        Args:
            seats: 0 or 1 for each lane.
            lanes: distinct indices.

        Returns:
            ``int8 (len(lanes), game.layout.size)``.

        Raises:
            ValueError: for a wrong lane or seat.
        """
        chosen = self.checked_lanes(lanes)
        numbers = np.asarray(seats)
        if numbers.shape != chosen.shape or numbers.dtype.kind not in "iu" or ((numbers != 0) & (numbers != 1)).any():
            raise ValueError(f"seats must be 0 or 1 for each of the {len(chosen)} lanes, got {seats!r}")
        seen = np.empty((len(chosen), self.game.layout.size), dtype=np.int8)
        batch_kernels.see_as(self.states, chosen, _plain(numbers), seen)
        return seen

    def checked_lanes(self, lanes: ArrayLike) -> NDArray[np.int64]:
        """Return indices of lanes as a contiguous ``int64`` array.

        Raises:
            ValueError: for one that does not exist or is repeated.
        """
        chosen = np.asarray(lanes)
        if chosen.shape == (0,):
            return chosen.astype(np.int64)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise ValueError(f"lanes must be a list of lane numbers, got {lanes!r}")
        numbers = _plain(chosen)
        if batch_kernels.first_unordered(numbers, self.num_lanes) >= 0:
            outside = chosen[(chosen < 0) | (chosen >= self.num_lanes)]
            if len(outside) or len(np.unique(chosen)) < len(chosen):
                wrong = f"got {outside[0]}" if len(outside) else "one is repeated"
                raise ValueError(f"lanes must be distinct numbers from 0 to {self.num_lanes - 1}, {wrong}")
        return numbers

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
            "credits": self._credits,
        }

    def close(self) -> None:
        """End the threads, if there are any."""
        if self._pool is not None:
            self._pool.shutdown()

    def _share(self, work: Callable[..., None], lanes: NDArray[np.int64], actions: NDArray[np.int64]) -> None:
        """Call ``work(lanes, actions, scratch)``, with the lanes shared among the threads if that is worth it."""
        threads = min(self.threads, len(lanes) // _LANES_PER_THREAD)
        if self._pool is None or threads < 2:
            work(lanes, actions, self._scratch[0])
            return
        parts = zip(np.array_split(lanes, threads), np.array_split(actions, threads), self._scratch, strict=False)
        for done in [self._pool.submit(work, *part) for part in parts]:
            done.result()

    def _step_part(self, lanes: NDArray[np.int64], actions: NDArray[np.int64], scratch: NDArray[np.int32]) -> None:
        batch_kernels.step_lanes(self._arrays, lanes, actions, self._points, self.auto_reset, scratch)

    def _illegal_text(self, lane: int, action: int) -> str:
        if not 0 <= action < self.game.num_actions:
            return f"lane {lane}: action must be from 0 to {self.game.num_actions - 1}, got {action}"
        if self.states["over"][lane]:
            return f"lane {lane}: the episode is over, reset it first"
        written = self.game.notation(self.states, action, lane)
        return f"lane {lane}: action {action} ({written}) is not legal for {SEATS[self.movers[lane]]}"


def _plain(numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return integers as the one type of array that the kernels are compiled for, copied only if they must be."""
    if numbers.dtype == np.int64 and numbers.flags.carray:
        return numbers
    return np.array(numbers, dtype=np.int64)
