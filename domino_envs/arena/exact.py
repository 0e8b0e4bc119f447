"""An agent's decisions against exact values.

A decision counts if it is not trivial: its legal moves differ in value. It *preserves* the value if the chosen move has
the highest; its *regret* is what it falls short of that.

Values are known everywhere in Mate, in points; and late in a deal of Domaster and Five Bridges, where a win is worth 1
and a loss -1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import engine
from ..agents import Agent
from ..agents.endgame_solver import UNKNOWN, EndgameSolver, tiles_on_table
from ..agents.mate_solver import mate_values
from ..games import Game
from ..games.kernels import aligned
from .intervals import Interval, mean_interval, ratio_interval, wilson_interval
from .record import GameRecord, replay

__all__ = ["Accuracy", "accuracy", "decide", "decisions_of", "exact_values", "has_exact_values", "views"]

#: Late is with so many tiles in chains (of 55); then a search of a millisecond or so nearly always ends.
LATE_TILES = 31
_MOST_NODES = 1_000_000


def has_exact_values(game: Game) -> bool:
    """Return whether some positions of a game have known values."""
    return game.name in ("mate", "domaster", "five_bridges")


def exact_values(game: Game, states: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return which of these positions have known values, as row numbers ``(m,)``, and the values ``(m, actions)``.

    Raises:
        ValueError: for a game without any (:func:`has_exact_values`).
    """
    if game.name == "mate":
        return np.arange(len(states)), mate_values(states)
    if not has_exact_values(game):
        raise ValueError(f"no position of {game.title} has a known value")
    late = [i for i in range(len(states)) if tiles_on_table(states[i]) >= LATE_TILES]
    rows = np.array(late, dtype=np.int64)
    values = EndgameSolver().values(states[rows], _MOST_NODES)
    solved = (values != UNKNOWN).all(axis=1)
    return rows[solved], values[solved]


@dataclass(frozen=True)
class Accuracy:
    """How exactly an agent decides.

    Attributes:
        decisions: how many non-trivial ones it took.
        preserving: share of them that preserve the value.
        regret: mean loss in each, in points of the deal.
    """

    decisions: int
    preserving: Interval
    regret: Interval

    def as_json(self) -> dict[str, Any]:
        """Return all numbers by name."""
        return {
            "decisions": self.decisions,
            "preserving": self.preserving.as_json(),
            "regret": self.regret.as_json(),
        }


def accuracy(
    values: NDArray[Any], legal: NDArray[Any], actions: NDArray[np.int64], clusters: ArrayLike | None = None
) -> Accuracy:
    """Compare decisions with exact values.

    Args:
        values: what each action is worth to the mover, ``(n, actions)``; what stands at illegal ones does not matter.
        legal: non-zero where an action is legal, ``(n, actions)``.
        actions: the chosen ones, ``(n,)``.
        clusters: the deal that each decision comes from, ``(n,)``, where several come from one; None if all are
            independent.

    Raises:
        ValueError: if an illegal action was chosen.
    """
    rows = np.arange(len(actions))
    if not (legal[rows, actions] != 0).all():
        raise ValueError("an illegal action was chosen")
    allowed = np.ma.masked_array(values.astype(np.float64), mask=legal == 0)
    best, worst = allowed.max(axis=1).filled(0.0), allowed.min(axis=1).filled(0.0)
    counted = best > worst
    loss = (best - values[rows, actions])[counted]
    kept = (loss == 0).astype(np.float64)
    if clusters is None:
        return Accuracy(len(loss), wilson_interval(float(kept.sum()), len(kept)), mean_interval(loss))
    groups, group = np.unique(np.asarray(clusters)[counted], return_inverse=True)
    sizes = np.bincount(group, minlength=len(groups))
    shares = np.bincount(group, weights=kept, minlength=len(groups))
    preserving = ratio_interval(shares, sizes)
    if kept.all() or not kept.any():  # no spread to judge by: one doubt for each deal
        whole = wilson_interval(len(groups) if len(kept) and kept.all() else 0, len(groups))
        preserving = Interval(preserving.value, whole.low, whole.high)
    preserving = Interval(preserving.value, max(0.0, preserving.low), min(1.0, preserving.high))
    regret = ratio_interval(np.bincount(group, weights=loss, minlength=len(groups)), sizes)
    return Accuracy(len(loss), preserving, Interval(regret.value, max(0.0, regret.low), regret.high))


def views(game: Game, states: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return what each state's mover sees: observations ``int8 (n, size)`` and action masks ``int8 (n, actions)``."""
    states = aligned(states, game.dtype)
    observations = np.zeros((len(states), game.layout.size), dtype=np.int8)
    masks = np.zeros((len(states), game.num_actions), dtype=np.int8)
    actions = np.zeros(game.num_actions + 1, dtype=np.int32)
    for i in range(len(states)):
        engine.look(states[i : i + 1], observations[i], masks[i], actions)
    return observations, masks


def decide(agent: Agent, states: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return the actions that an agent takes in unrelated positions, ``(n,)``, and the action masks."""
    observations, masks = views(agent.game, states)
    if not agent.one_at_a_time:
        return agent.act(observations, masks, states if agent.needs_states else None), masks
    actions = np.zeros(len(states), dtype=np.int64)
    for i in range(len(states)):
        agent.start_deal()
        state = states[i : i + 1] if agent.needs_states else None
        actions[i] = agent.act_one(observations[i], masks[i], state)
    return actions, masks


def decisions_of(
    games: Iterable[GameRecord], player: str | None = None
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return the decisions in some games of one kind, at least one: states ``(n,)``, actions, and deal numbers.

    Args:
        games: their records.
        player: whose decisions; None for both sides'.
    """
    states, actions, deals = [], [], []
    for game in games:
        replayed = replay(game)
        moves = np.array(replayed.actions, dtype=np.int64)
        movers = replayed.states["mover"][:-1]
        wanted = moves >= 0
        if player is not None:
            wanted &= np.array([game.players[seat] == player for seat in movers], dtype=np.bool_)
        states.append(replayed.states[:-1][wanted])
        actions.append(moves[wanted])
        deals.append(np.full(int(wanted.sum()), game.deal or 0, dtype=np.int64))
    return np.concatenate(states), np.concatenate(actions), np.concatenate(deals)
