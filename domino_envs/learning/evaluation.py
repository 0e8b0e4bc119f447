"""How good a learner is by now: mirrored deals against fixed opponents, in Mate also exact values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..agents import Agent
from ..agents.mate_solver import mate_values
from ..arena import play_match, round_robin
from ..arena.exact import Accuracy, accuracy, decisions_of, views
from ..arena.intervals import Interval
from ..arena.result import Pairing
from ..games import Game

__all__ = ["LearnerRating", "match_against", "mate_accuracy", "rate_learner"]

_LEARNER = "learner"
_OWN_GAMES = 5  # deals of Mate against itself for each against others: the regret of 200 is mostly chance


def match_against(
    game: Game, agent: Agent, opponent: str, *, deals: int, seed: int, episode: str, progress: bool = False
) -> Pairing:
    """Let an agent play each deal twice, with the seats exchanged; the agent is ``first`` in the result.

    Args:
        game: the game.
        agent: whoever is measured, in its own mode.
        opponent: an opponent's name; it plays its best.
        deals: number of deals.
        seed: decides deals and choices.
        episode: what counts as a game.
        progress: show a bar, if standard error is a terminal.

    Raises:
        KeyboardInterrupt: if it was interrupted.
        ValueError: for an unknown opponent or episode.
    """
    players = {_LEARNER: agent, opponent: opponent}
    result = round_robin(game, players, deals=deals, seed=seed, episode=episode, progress=progress)
    if not result.complete:
        raise KeyboardInterrupt
    return result.pairing(_LEARNER, opponent)


def mate_accuracy(agent: Agent, *, deals: int, seed: int) -> Accuracy:
    """Let a player of Mate play random deals against itself and compare each decision with the exact values.

    Raises:
        KeyboardInterrupt: if it was interrupted.
    """
    result = play_match(agent.game, agent, agent, deals=deals, seed=seed, episode="deal")
    if not result.complete:
        raise KeyboardInterrupt
    states, actions, numbers = decisions_of(result.games)
    return accuracy(mate_values(states), views(agent.game, states)[1], actions, numbers)


@dataclass(frozen=True)
class LearnerRating:
    """Figures for a learning curve.

    Attributes:
        quality: what checkpoints are compared by: minus the mean regret in Mate, elsewhere the sum of the points.
        margin: by how much it may be off by chance (half of a 95 % interval).
        figures: by name: the points a game against each opponent, 0 to 1; in Mate ``preserving`` and ``regret``, see
            :mod:`domino_envs.arena.exact`.
    """

    quality: float
    margin: float = 0.0
    figures: dict[str, float] = field(default_factory=dict)

    def text(self) -> str:
        """Return the figures in one line."""
        parts = [
            f"{name} {value:.2f}" if name == "regret" else f"{name} {100 * value:.1f} %"
            for name, value in self.figures.items()
        ]
        return ", ".join(parts)


def rate_learner(
    game: Game, agent: Agent, opponents: Sequence[str], *, deals: int, seed: int, episode: str
) -> LearnerRating:
    """Measure a learner by its best moves; arguments as in :func:`match_against`.

    In Mate it also plays five times as many deals against itself, for its regret.

    Raises:
        KeyboardInterrupt: if it was interrupted.
    """
    scores = {
        name: match_against(game, agent, name, deals=deals, seed=seed, episode=episode).score for name in opponents
    }
    figures = {name: score.value for name, score in scores.items()}
    quality = sum(figures.values())
    margin = math.hypot(*(_half_width(score) for score in scores.values()))
    if game.name == "mate":
        found = mate_accuracy(agent, deals=_OWN_GAMES * deals, seed=seed)
        if found.decisions:
            figures |= {"preserving": found.preserving.value, "regret": found.regret.value}
            margin = _half_width(found.regret)
        quality = -figures.get("regret", 0.0)
    return LearnerRating(quality, margin, figures)


def _half_width(interval: Interval) -> float:
    """Return half of an interval's width, infinite if too little was observed for one."""
    width = interval.high - interval.low
    return width / 2.0 if math.isfinite(width) else math.inf
