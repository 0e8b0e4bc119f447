"""Many single-player episodes at once: a learner in every lane, opponents that act on all their lanes together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .agents import Agent, make_agent
from .batch import BatchGame
from .batch_kernels import first_illegal
from .bits import random_below
from .engine import lane_streams
from .games import SEATS, Game, as_game
from .jit import int64, kernel

__all__ = ["SELF_PLAY", "BatchSinglePlayer", "OpponentSpec"]

#: The member of a pool that means: the learner plays both seats.
SELF_PLAY = "self"

OpponentSpec = str | Path | Agent | Callable[..., Any]

RANDOM_SEAT = -1
_OWN_ARRAYS = ("seats", "rewards", "dones", "same_player", "opponent_of", "opening_left")
_MAX_REDRAWS = 100


@kernel
def _draw_lots(
    rngs: Any, lanes: Any, fixed_seat: int, weights: Any, opening: int, seats: Any, opponents: Any, opening_left: Any
) -> None:
    """Draw each lane's seat (unless fixed), opponent (by cumulated weights that end at 2**30) and opening plies."""
    for i in range(len(lanes)):
        lane = lanes[i]
        seats[lane] = random_below(rngs, lane, 2) if fixed_seat < 0 else fixed_seat
        if len(weights) > 1:
            ticket = random_below(rngs, lane, int64(1) << 30)
            chosen = 0
            while weights[chosen] <= ticket:
                chosen += 1
            opponents[lane] = chosen
        if opening > 0:
            opening_left[lane] = random_below(rngs, lane, opening + 1)


class BatchSinglePlayer:
    """``num_lanes`` games, each of a learner against an opponent.

    A step takes the learners' actions and plays on until it is the learner's turn in every lane or the lane's episode
    is over. Lanes that are over wait for :meth:`reset`.

    In a lane whose opponent is ``"self"`` the learner plays both seats: every ply is its turn, rewards are those of the
    player that acted, and ``same_player`` tells whether the next turn is the same player's.

    Attributes:
        batch: the games underneath; ``batch.observations`` and ``batch.action_masks`` are the learners'.
        seats: the learner's seat in each lane, ``int8 (num_lanes,)``.
        rewards: what the last step brought the learner, ``float32 (num_lanes,)``. Points of deals that ended before
            its first decision count to its first step.
        dones: whether the lane's episode is over, ``bool (num_lanes,)``.
        same_player: whether what is observed now is the player's that acted last, ``bool (num_lanes,)``.
        opening_left: plies that the learner plays for both seats before its opponent takes over, ``int64
            (num_lanes,)``.
        opponents: the pool; None stands for the learner itself.
        opponent_of: index into the pool by lane, ``int64 (num_lanes,)``, drawn anew for each episode.

    Args:
        game: a name, or the table of a game.
        num_lanes: number of games.
        opponent: what :func:`~domino_envs.agents.make_agent` takes, or a list of such as a pool, which may hold
            ``"self"``.
        weights: probabilities of the pool's members; None for equal ones.
        opponent_mode: ``"sample"`` or ``"best"``.
        seat: ``"player_0"``, ``"player_1"``, or ``"random"`` for a lot in each episode.
        episode: a key of ``game.episodes``; None for the whole game.
        reward: ``"win"`` or ``"points"``.
        opening: the most plies at the start of an episode that the learner plays for both seats, as against ``"self"``;
            how many is drawn for each episode. So a learner meets its opponent in late positions more often.
        seed: decides deals, seats and the opponents' choices.
        threads: see :class:`~domino_envs.batch.BatchGame`.
    """

    def __init__(
        self,
        game: str | Game,
        num_lanes: int,
        *,
        opponent: OpponentSpec | Sequence[OpponentSpec] = "random",
        weights: Sequence[float] | None = None,
        opponent_mode: str = "sample",
        seat: str = "random",
        episode: str | None = None,
        reward: str = "win",
        opening: int = 0,
        seed: int | None = None,
        threads: int = 1,
    ) -> None:
        if opening < 0:
            raise ValueError(f"opening must not be negative, got {opening}")
        if seat not in ("random", *SEATS):
            raise ValueError(f"seat must be one of 'random', {', '.join(map(repr, SEATS))}, got {seat!r}")
        self.game = game = as_game(game)
        self.num_lanes = num_lanes
        self._fixed_seat = RANDOM_SEAT if seat == "random" else SEATS.index(seat)
        pool: list[Any] = list(opponent) if isinstance(opponent, (list, tuple)) else [opponent]
        if not pool:
            raise ValueError("opponent must be an opponent or a list of at least one, got an empty list")
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
        self.opening = opening
        self.opening_left = np.zeros(num_lanes, dtype=np.int64)
        self._all = np.arange(num_lanes, dtype=np.int64)
        self._rngs = lane_streams(None, num_lanes)
        self._credits = np.zeros(num_lanes, dtype=np.float32)  # won before the first decision, not yet paid out
        self.reset(seed)

    def set_weights(self, weights: Sequence[float] | None) -> None:
        """Set the probabilities with which an episode's opponent is drawn; None for equal ones.

        Raises:
            ValueError: if there is not one for each opponent, one is negative, or all are 0.
        """
        chosen = np.ones(len(self.opponents)) if weights is None else np.asarray(weights, dtype=np.float64)
        right = chosen.shape == (len(self.opponents),) and np.isfinite(chosen).all() and (chosen >= 0).all()
        if not right or not chosen.sum() > 0:
            raise ValueError(f"weights must be {len(self.opponents)} numbers of at least 0, not all 0, got {weights!r}")
        self._weights = np.rint(np.cumsum(chosen) / chosen.sum() * 2**30).astype(np.int64)

    def reset(
        self,
        seed: int | None = None,
        *,
        lanes: ArrayLike | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Start new episodes, in all lanes or some, and play up to the learners' first decisions.

        An episode that the opponent ends before is drawn anew.

        Args:
            seed: seeds deals, lots and opponents of all lanes; None lets them go on.
            lanes: distinct indices of the lanes; None for all.
            options: ``orders`` and ``opener`` as in the PettingZoo environment, the same for all lanes.

        Raises:
            ValueError: for a wrong seed, lane or option, an opponent that plays an illegal action, or one that always
                ends an episode with these orders before the learner's first decision.
        """
        batch = self.batch
        waiting = self._all if lanes is None else batch.checked_lanes(lanes)
        given = dict(options or {})
        orders, opener = given.pop("orders", None), given.pop("opener", None)
        if given:
            raise ValueError(f"unknown reset option {min(map(str, given))!r}, expected 'orders' or 'opener'")
        start: dict[str, Any] = {}
        for _ in range(_MAX_REDRAWS):
            if orders is not None:
                start["orders"] = [orders] * len(waiting)
            if opener is not None:
                start["openers"] = [opener] * len(waiting)
            batch.reset(seed, lanes=waiting, **start)
            if seed is not None:
                self._seed_choices(seed)
                seed = None
            _draw_lots(
                self._rngs,
                waiting,
                self._fixed_seat,
                self._weights,
                self.opening,
                self.seats,
                self.opponent_of,
                self.opening_left,
            )
            self.dones[waiting] = False
            self.rewards[waiting] = 0
            for agent in filter(None, self.opponents):
                agent.start_deal()
            self._let_opponents_play(waiting)
            self._credits[waiting] = self.rewards[waiting]
            self.rewards[waiting] = 0
            waiting = waiting[self.dones[waiting]]
            if not len(waiting):
                return
        raise ValueError(
            f"lane {waiting[0]}: {_MAX_REDRAWS} episodes running ended before the learner's first decision, "
            f"with the reset options {dict(options or {})}"
        )

    def _seed_choices(self, seed: int) -> None:
        """Seed seats, the choice of opponents, and the opponents."""
        self._rngs[:] = lane_streams(int(seed) ^ 0x5EA7, self.num_lanes)
        for i, agent in enumerate(self.opponents):
            if agent is not None:
                agent.reseed(int(np.random.SeedSequence([int(seed), i]).generate_state(1)[0]))

    def step(self, actions: NDArray[Any], lanes: ArrayLike | None = None) -> None:
        """Take the learners' actions in all lanes, or in some, and update ``rewards`` and ``dones`` there.

        Args:
            actions: legal action numbers, integers ``(num_lanes,)`` or ``(len(lanes),)``.
            lanes: distinct indices of the lanes; None for all.

        Raises:
            ValueError: if an action is not legal or a lane's episode is over (nothing has changed then), or if an
                opponent plays an illegal action (the batch must be reset then).
        """
        batch = self.batch
        chosen = self._all if lanes is None else batch.checked_lanes(lanes)
        actors = batch.movers[chosen]
        batch.step(actions, chosen)
        self.rewards[chosen] = batch.rewards[chosen, actors] + self._credits[chosen]
        self._credits[chosen] = 0
        self.dones[chosen] = batch.dones[chosen]
        self.same_player[chosen] = (batch.movers[chosen] == actors) | ~self._plays_both(chosen)
        self.opening_left[chosen] = np.maximum(self.opening_left[chosen] - 1, 0)
        self._let_opponents_play(chosen)

    def _plays_both(self, lanes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return where the learner plays both seats."""
        return self._is_self[self.opponent_of[lanes]] | (self.opening_left[lanes] > 0)

    def _let_opponents_play(self, lanes: NDArray[np.int64]) -> None:
        batch = self.batch
        while True:
            theirs = (batch.movers[lanes] != self.seats[lanes]) & ~self._plays_both(lanes)
            lanes = lanes[theirs & ~self.dones[lanes]]
            if not len(lanes):
                return
            actions = np.empty(len(lanes), dtype=np.int64)
            for i, agent in enumerate(self.opponents):
                mine = slice(None) if len(self.opponents) == 1 else np.flatnonzero(self.opponent_of[lanes] == i)
                chosen = lanes[mine]
                if agent is not None and len(chosen):
                    actions[mine] = self._choices(agent, chosen)
            batch.step(actions, lanes)
            self.rewards[lanes] += batch.rewards[lanes, self.seats[lanes]]
            self.dones[lanes] = batch.dones[lanes]

    def _choices(self, agent: Agent, lanes: NDArray[np.int64]) -> NDArray[Any]:
        """Ask an opponent for its actions in its lanes, all at once."""
        batch = self.batch
        masks = batch.action_masks[lanes]
        states = batch.states[lanes] if agent.needs_states else None
        actions = np.asarray(agent.act(batch.observations[lanes], masks, states))
        if actions.shape != lanes.shape or actions.dtype.kind not in "iu":
            got = f"{actions.dtype} of shape {actions.shape}"
            raise ValueError(f"the opponent {agent.name!r} must choose {len(lanes)} whole numbers, got {got}")
        actions = actions.astype(np.int64, copy=False)
        bad = first_illegal(self._all[: len(lanes)], actions, masks)
        if bad >= 0:
            raise ValueError(
                f"the opponent {agent.name!r} chose the illegal action {actions[bad]} in lane {lanes[bad]}"
            )
        return actions

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return every array that changes during play, by name: to save them, or to write saved ones back into."""
        own = {name: getattr(self, name) for name in _OWN_ARRAYS}
        found = {**self.batch.arrays(), **{f"learner_{name}": array for name, array in own.items()}}
        return {**found, "learner_credits": self._credits, "lots": self._rngs}

    def own_observations(self, lanes: NDArray[np.int64]) -> NDArray[np.int8]:
        """Return what the learners of these lanes see, ``int8 (len(lanes), size)``, also where it is not their turn."""
        return self.batch.observe(self.seats[lanes], lanes)
