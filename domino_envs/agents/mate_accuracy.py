"""How exactly an agent plays Mate: its decisions in self-play against the solver's values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..batch import BatchGame
from .base import Agent
from .mate_solver import NO_VALUE, mate_values

__all__ = ["MateAccuracy", "mate_accuracy"]


@dataclass(frozen=True)
class MateAccuracy:
    """Decisions against exact values; only non-trivial ones count, where the legal moves differ in value.

    Attributes:
        decisions: number of non-trivial decisions.
        preserving: share of them in which a move of the highest value was chosen.
        regret: mean points lost by a decision.
    """

    decisions: int
    preserving: float
    regret: float


def mate_accuracy(agent: Agent, *, deals: int, seed: int) -> MateAccuracy:
    """Let an agent play random deals of Mate against itself and compare each decision with the exact values.

    Args:
        agent: a player of Mate.
        deals: number of deals.
        seed: decides deals and choices.
    """
    agent.reseed(seed)
    batch = BatchGame(agent.game, deals, episode="deal", seed=seed, auto_reset=False)
    live = np.arange(deals, dtype=np.int64)
    losses: list[NDArray[np.int64]] = []
    while len(live):
        states = batch.states[live]
        masks = batch.action_masks[live]
        actions = agent.act(batch.observations[live], masks, states)
        values = mate_values(states).astype(np.int64)
        best = values.max(axis=1)
        worst = np.where(masks != 0, values, np.iinfo(np.int64).max).min(axis=1)
        chosen = values[np.arange(len(live)), actions]
        assert (chosen != NO_VALUE).all()
        losses.append((best - chosen)[best > worst])
        batch.step(actions, live)
        live = live[~batch.dones[live]]
    lost = np.concatenate(losses)
    return MateAccuracy(len(lost), float((lost == 0).mean()), float(lost.mean()))
