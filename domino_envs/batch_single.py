"""Many single-player episodes at once: a learner in every lane, opponents that act on all their lanes together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .agents import Agent, make_agent
from .batch import BatchGame
from .bits import random_below
from .engine import lane_streams
from .games import SEATS, Game
from .jit import int64, kernel

__all__ = ["SELF_PLAY", "BatchSinglePlayer", "OpponentSpec"]

#: The member of a pool that means: the learner plays both seats.
SELF_PLAY = "self"

OpponentSpec = str | Path | Agent | Callable[..., Any]

RANDOM_SEAT = -1
_MAX_REDRAWS = 100


@kernel
def _draw_lots(rngs: Any, lanes: Any, fixed_seat: int, weights: Any, seats: Any, opponents: Any) -> None:
    """Draw each lane's seat (unless fixed) and opponent (by cumulated weights that end at 2**30)."""
    for i in range(len(lanes)):
        lane = lanes[i]
        seats[lane] = random_below(rngs, lane, 2) if fixed_seat < 0 else fixed_seat
        if len(weights) > 1:
            ticket = random_below(rngs, lane, int64(1) << 30)
            chosen = 0
            while weights[chosen] <= ticket:
                chosen += 1
            opponents[lane] = chosen


class BatchSinglePlayer:
    """``num_lanes`` games, each of a learner against an opponent.

    A step takes the learners' actions and plays on until it is the learner's turn in every lane or the lane's episode
    is over. Lanes that are over wait for :meth:`reset`.

    In a lane whose opponent is ``"self"`` the learner plays both seats: every ply is its turn, rewards are those of the
    player that acted, and ``same_player`` tells whether the next turn is the same player's.

    Attributes:
        batch: the games underneath; ``batch.observations`` and ``batch.action_masks`` are the learners'.
        seats: the learner's seat in each lane, ``int8 (num_lanes,)``.
        rewards: what the last step brought the learner, ``float32 (num_lanes,)``.
        dones: whether the lane's episode is over, ``bool (num_lanes,)``.
        same_player: whether what is observed now is the player's that acted last, ``bool (num_lanes,)``.
        opponents: the pool; None stands for the learner itself.
        opponent_of: index into the pool by lane, ``int64 (num_lanes,)``, drawn anew for each episode.

    Args:
        game: the table of the game.
        num_lanes: number of games.
        opponent: what :func:`~domino_envs.agents.make_agent` takes, or a list of such as a pool, which may hold
            ``"self"``.
        weights: probabilities of the pool's members; None for equal ones.
        opponent_mode: ``"sample"`` or ``"best"``.
        seat: ``"player_0"``, ``"player_1"``, or ``"random"`` for a lot in each episode.
        episode: a key of ``game.episodes``; None for the whole game.
        reward: ``"win"`` or ``"points"``.
        seed: decides deals, seats and the opponents' choices.
        threads: see :class:`~domino_envs.batch.BatchGame`.
    """

    def __init__(
        self,
        game: Game,
        num_lanes: int,
        *,
        opponent: OpponentSpec | Sequence[OpponentSpec] = "random",
        weights: Sequence[float] | None = None,
        opponent_mode: str = "sample",
        seat: str = "random",
        episode: str | None = None,
        reward: str = "win",
        seed: int | None = None,
        threads: int = 1,
    ) -> None:
        if seat not in ("random", *SEATS):
            raise ValueError(f"seat must be one of 'random', {', '.join(map(repr, SEATS))}, got {seat!r}")
        self.game = game
        self.num_lanes = num_lanes
        self._fixed_seat = RANDOM_SEAT if seat == "random" else SEATS.index(seat)
        pool: list[Any] = list(opponent) if isinstance(opponent, (list, tuple)) else [opponent]
        self.opponents: list[Agent | None] = [
            None if isinstance(spec, str) and spec == SELF_PLAY else make_agent(spec, game, mode=opponent_mode)
            for spec in pool
        ]
        self._is_self = np.array([agent is None for agent in self.opponents])
        self.set_weights(weights)
        self.batch = BatchGame(game, num_lanes, episode=episode, reward=reward, auto_reset=False, threads=threads)
        self.seats = np.zeros(num_lanes, dtype=np.int8)
        self.rewards = np.zeros(num_lanes, dtype=np.float32)
        self.dones = np.zeros(num_lanes, dtype=np.bool_)
        self.same_player = np.ones(num_lanes, dtype=np.bool_)
        self.opponent_of = np.zeros(num_lanes, dtype=np.int64)
        self._all = np.arange(num_lanes, dtype=np.int64)
        self._rngs = lane_streams(None, num_lanes)
        self.reset(seed)

    def set_weights(self, weights: Sequence[float] | None) -> None:
        """Set the probabilities with which an episode's opponent is drawn; None for equal ones.

        Raises:
            ValueError: if there is not one for each opponent, one is negative, or all are 0.
        """
        chosen = np.ones(len(self.opponents)) if weights is None else np.asarray(weights, dtype=np.float64)
        if chosen.shape != (len(self.opponents),) or (chosen < 0).any() or not chosen.sum() > 0:
            raise ValueError(f"weights must be {len(self.opponents)} numbers of at least 0, not all 0, got {weights!r}")
        self._weights = np.rint(np.cumsum(chosen) / chosen.sum() * 2**30).astype(np.int64)

    def reset(
        self,
        seed: int | None = None,
        *,
        lanes: NDArray[np.int64] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Start new episodes, in all lanes or some, and play up to the learners' first decisions.

        An episode that the opponent ends before is drawn anew.

        Args:
            seed: seeds deals, lots and opponents of all lanes; None lets them go on.
            lanes: indices of the lanes.
            options: ``orders`` and ``opener`` as in the PettingZoo environment, the same for all lanes.
        """
        lanes = self._all if lanes is None else lanes
        unknown = sorted(map(str, set(options or {}) - {"orders", "opener"}))
        if unknown:
            raise ValueError(f"unknown reset option {unknown[0]!r}, expected 'orders' or 'opener'")
        orders, opener = (options or {}).get("orders"), (options or {}).get("opener")
        if seed is not None:
            self._rngs = lane_streams(seed ^ 0x5EA7, self.num_lanes)
            for i, agent in enumerate(self.opponents):
                if agent is not None:
                    agent.reseed(int(np.random.SeedSequence([seed, i]).generate_state(1)[0]))
        self.rewards[lanes] = 0
        waiting = lanes
        for _ in range(_MAX_REDRAWS):
            self.batch.reset(
                seed,
                lanes=waiting,
                orders=None if orders is None else [orders] * len(waiting),
                openers=None if opener is None else [opener] * len(waiting),
            )
            seed = None
            _draw_lots(self._rngs, waiting, self._fixed_seat, self._weights, self.seats, self.opponent_of)
            self.dones[waiting] = False
            for agent in filter(None, self.opponents):
                agent.start_deal()
            self._let_opponents_play(waiting)
            waiting = waiting[self.dones[waiting]]
            if not len(waiting):
                return
            self.rewards[waiting] = 0
        raise ValueError(
            f"lane {waiting[0]}: {_MAX_REDRAWS} episodes running ended before the learner's first decision, "
            f"with the reset options {dict(options or {})}"
        )

    def step(self, actions: NDArray[Any], lanes: NDArray[np.int64] | None = None) -> None:
        """Take the learners' actions in all lanes, or in some, and update ``rewards`` and ``dones`` there.

        Raises:
            ValueError: if an action is not legal or a lane's episode is over; nothing has changed then.
        """
        lanes = self._all if lanes is None else lanes
        actors = self.batch.movers[lanes]
        self.batch.step(actions, lanes)
        self.rewards[lanes] = self.batch.rewards[lanes, actors]
        self.dones[lanes] = self.batch.dones[lanes]
        self.same_player[lanes] = (self.batch.movers[lanes] == actors) | ~self._is_self[self.opponent_of[lanes]]
        self._let_opponents_play(lanes)

    def _let_opponents_play(self, lanes: NDArray[np.int64]) -> None:
        batch = self.batch
        while True:
            theirs = (batch.movers[lanes] != self.seats[lanes]) & ~self._is_self[self.opponent_of[lanes]]
            lanes = lanes[theirs & ~self.dones[lanes]]
            if not len(lanes):
                return
            actions = np.empty(len(lanes), dtype=np.int64)
            for i, agent in enumerate(self.opponents):
                mine = slice(None) if len(self.opponents) == 1 else np.flatnonzero(self.opponent_of[lanes] == i)
                chosen = lanes[mine]
                if agent is not None and len(chosen):
                    states = batch.states[chosen] if agent.needs_states else None
                    actions[mine] = agent.act(batch.observations[chosen], batch.action_masks[chosen], states)
            batch.step(actions, lanes)
            self.rewards[lanes] += batch.rewards[lanes, self.seats[lanes]]
            self.dones[lanes] = batch.dones[lanes]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return every array that changes during play, by name: to save them, or to write saved ones back into."""
        own = {name: getattr(self, name) for name in ("seats", "rewards", "dones", "same_player", "opponent_of")}
        return {**self.batch.arrays(), **{f"learner_{name}": array for name, array in own.items()}, "lots": self._rngs}

    def own_observations(self, lanes: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return what the learners of these lanes see, ``int8 (len(lanes), size)``, also where it is not their turn."""
        return self.batch.observe(self.seats[lanes], lanes)
