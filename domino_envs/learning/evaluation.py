"""Quick evaluation during training: mirrored deals against fixed opponents, exact regret in Mate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..agents import Agent
from ..arena.intervals import Interval, score_interval, wilson_interval
from ..batch import BatchGame
from ..games import SEATS, Game

__all__ = ["MirroredResult", "play_mirrored_deals"]


@dataclass(frozen=True)
class MirroredResult:
    """Result of mirrored deals: each played twice, the players exchanging seats.

    Attributes:
        wins: games won by the first agent.
        draws: games drawn.
        losses: games lost.
        pair_scores: the first agent's mean score of each deal's two games, ``float64 (deals,)``, draws half.
    """

    wins: int
    draws: int
    losses: int
    pair_scores: NDArray[np.float64]

    @property
    def games(self) -> int:
        """Games played."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Wins and half the draws, as a share of the games."""
        return (self.wins + 0.5 * self.draws) / self.games

    def points_interval(self) -> Interval:
        """95 % interval of the points; the two games of a deal count as one observation."""
        return score_interval(self.pair_scores)

    def win_interval(self) -> Interval:
        """95 % Wilson interval of the share of games won."""
        return wilson_interval(self.wins, self.games)


def play_mirrored_deals(
    game: Game, agent: Agent, opponent: Agent, *, deals: int, seed: int, episode: str = "deal"
) -> MirroredResult:
    """Play each deal twice, all games side by side.

    Args:
        game: the game.
        agent: the first agent.
        opponent: the second.
        deals: number of deals; twice as many games are played.
        seed: decides the deals and both agents' choices.
        episode: what counts as a game.
    """
    streams = np.random.SeedSequence(seed).spawn(3)
    rng = np.random.default_rng(streams[0])
    for player, stream in ((agent, streams[1]), (opponent, streams[2])):
        player.reseed(int(stream.generate_state(1)[0]))
        player.start_deal()
    orders = [[rng.permutation(game.num_tiles) for _ in range(game.num_orders(episode))] for _ in range(deals)]
    batch = BatchGame(game, 2 * deals, episode=episode, auto_reset=False, seed=seed)
    # In lane 2 i the agent has seat 0, in lane 2 i + 1 seat 1; player_0 opens both.
    batch.reset(orders=[o for o in orders for _ in range(2)], openers=[SEATS[0]] * (2 * deals))
    seats = np.arange(2 * deals) % 2
    live = np.arange(2 * deals, dtype=np.int64)
    while len(live):
        own = batch.movers[live] == seats[live]
        actions = np.empty(len(live), dtype=np.int64)
        for player, mine in ((agent, np.flatnonzero(own)), (opponent, np.flatnonzero(~own))):
            lanes = live[mine]
            if len(lanes):
                states = batch.states[lanes] if player.needs_states else None
                actions[mine] = player.act(batch.observations[lanes], batch.action_masks[lanes], states)
        batch.step(actions, live)
        live = live[~batch.dones[live]]
    difference = batch.states["scores"][:, 0].astype(np.int64) - batch.states["scores"][:, 1]
    result = np.sign(np.where(seats == 0, difference, -difference))
    scores = (result + 1) / 2
    return MirroredResult(
        int((result > 0).sum()),
        int((result == 0).sum()),
        int((result < 0).sum()),
        scores.reshape(deals, 2).mean(axis=1),
    )
