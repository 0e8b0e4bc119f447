"""Search-guided targets: what a tree search found in positions of self-play, for the policy to learn by heart.

Beside the policy gradient, which only knows how games ended, the network is taught the move distribution and the value
that a search finds where it plays: UCT (expert iteration: Anthony, Tian and Barber 2017), or a search that the network
itself guides (AlphaZero: Silver et al. 2017). In Mate a solver says what every move is worth, within a tenth of a
millisecond.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..agents.mate_solver import mate_values
from ..agents.policy_search import TOGETHER, Judge, PolicyTree, grow_together
from ..agents.search import search
from ..engine import lane_streams
from ..games import Game
from .policy import masked_log_probabilities

__all__ = ["SOLVED_GAMES", "SearchTargets"]

NOISE = 0.15  # share of it in the priors at the root of a guided search
#: Games of which :class:`SearchTargets` can have exact values.
SOLVED_GAMES = ("mate",)
_LEAST_DIVERGENCE = 0.01  # so that what is known is drawn at times as well
_TOGETHER = 1024  # positions that the network judges at once


class SearchTargets:
    """The latest searched positions, a ring.

    Args:
        game: the game, one of perfect information.
        simulations: of each search.
        capacity: positions that are kept.
        value_scale: what the values found are multiplied with.
        guided: whether the network guides the searches.
        sharpness: power of the visits that are learned, 1 for their shares as they are.
        exact: whether the solver gives the targets, all best moves alike, instead of searches; positions in which every
            move is worth the same are not kept then.
        regret_weight: weight in the loss of what the policy's moves are expected to cost, with exact targets.
        priority: power of its divergence by which a position is drawn, 0 for all alike (proportional prioritization:
            Schaul et al. 2016, here without weights that undo it; what a search proves has no noise to be undone).

    The divergence is that of the network's moves from the target (Kullback-Leibler), as of when the position was last
    learned from, or else was added.
    """

    def __init__(
        self,
        game: Game,
        *,
        simulations: int,
        capacity: int,
        value_scale: float,
        guided: bool = False,
        sharpness: float = 1.0,
        exact: bool = False,
        regret_weight: float = 0.0,
        priority: float = 0.0,
    ) -> None:
        if exact and game.name not in SOLVED_GAMES:
            raise ValueError(f"exact targets are there for {', '.join(SOLVED_GAMES)}, not for {game.name}")
        self.game = game
        self.simulations = simulations
        self.guided = guided
        self.sharpness = sharpness
        self.exact = exact
        self.regret_weight = regret_weight
        self.priority = priority
        self.capacity = capacity
        self.value_scale = value_scale
        self.observations = np.zeros((capacity, game.layout.size), dtype=np.int8)
        self.action_masks = np.zeros((capacity, game.num_actions), dtype=np.int8)
        self.probabilities = np.zeros((capacity, game.num_actions), dtype=np.float32)
        self.regrets = np.zeros((capacity if exact else 0, game.num_actions), dtype=np.float32)
        self.values = np.zeros(capacity, dtype=np.float32)
        self.divergences = np.zeros(capacity, dtype=np.float32)
        self.newest_divergence = 0.0
        self.added = np.zeros(1, dtype=np.int64)

    def __len__(self) -> int:
        return min(self.capacity, int(self.added[0]))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return every array that changes, by name, to save them or to write saved ones back into."""
        names = ("observations", "action_masks", "probabilities", "regrets", "values", "divergences", "added")
        return {name: getattr(self, name) for name in names}

    def add(
        self,
        states: NDArray[np.void],
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        seed: int,
        judge: Judge,
    ) -> None:
        """Search positions (records ``(n,)`` with what their movers see) and keep what was found.

        ``judge`` is the network as it is now: what it does not know yet, and for guided searches.
        """
        if self.exact:
            regrets, values = self._solve(states, action_masks)
            kept = regrets.any(axis=1)
            regrets, values = regrets[kept], values[kept]
            observations, action_masks = observations[kept], action_masks[kept]
            weights = (action_masks & (regrets == 0.0)).astype(np.float32)
        else:
            if self.guided:
                visits, values = self._guided_search(states, seed, judge)
            else:
                found = search(self.game, states, simulations=self.simulations, seed=seed)
                visits, values = found.visits, found.root_values
            regrets = np.zeros((0, self.game.num_actions), dtype=np.float32)
            weights = (visits / visits.max(axis=1, keepdims=True)) ** self.sharpness
        if not len(values):
            return
        rows = (int(self.added[0]) + np.arange(len(values))) % self.capacity
        self.observations[rows] = observations
        self.action_masks[rows] = action_masks
        self.probabilities[rows] = weights / weights.sum(axis=1, keepdims=True)
        self.values[rows] = values * self.value_scale
        if self.exact:
            self.regrets[rows] = regrets * self.value_scale
        divergences = np.concatenate(
            [
                self._divergences(torch.from_numpy(judge(observations[part], action_masks[part])[0]), rows[part])
                for part in np.array_split(np.arange(len(rows)), 1 + len(rows) // _TOGETHER)
            ]
        )
        self.divergences[rows] = divergences
        self.newest_divergence = float(divergences.mean())
        self.added[0] += len(rows)

    @property
    def mean_divergence(self) -> float:
        """Mean divergence of the positions kept."""
        return float(self.divergences[: len(self)].mean())

    def _divergences(self, logits: Tensor, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the divergences of logits ``(n, actions)`` from the targets of rows ``(n,)``."""
        targets = torch.from_numpy(self.probabilities[rows])
        logs = masked_log_probabilities(logits, torch.from_numpy(self.action_masks[rows]))
        divergences = (torch.xlogy(targets, targets) - targets * logs).sum(dim=1)
        return divergences.clamp_(min=0.0).numpy()

    def _solve(
        self, states: NDArray[np.void], action_masks: NDArray[np.int8]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return what each move falls short of the best, 0 at illegal ones, ``(n, actions)``, and values ``(n,)``."""
        worth = mate_values(states).astype(np.float32)
        values = np.where(action_masks != 0, worth, -np.inf).max(axis=1)
        return np.where(action_masks != 0, values[:, None] - worth, 0.0).astype(np.float32), values

    def _guided_search(
        self, states: NDArray[np.void], seed: int, judge: Judge
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return visits ``(n, actions)`` and values ``(n,)``."""
        visits = np.zeros((len(states), self.game.num_actions), dtype=np.int32)
        values = np.zeros(len(states), dtype=np.float32)
        by_action = np.zeros(self.game.num_actions, dtype=np.float32)
        streams = lane_streams(seed, len(states))
        trees = [
            PolicyTree(self.game, streams[:1], judge, 1.0 / self.value_scale, noise=NOISE)
            for _ in range(min(TOGETHER, len(states)))
        ]
        for first in range(0, len(states), TOGETHER):
            rows = range(first, min(first + TOGETHER, len(states)))
            for tree, row in zip(trees, rows, strict=False):
                tree.streams = streams[row : row + 1]
                tree.start(states[row : row + 1])
            grow_together(trees[: len(rows)], self.simulations, judge)
            for tree, row in zip(trees, rows, strict=False):
                values[row] = tree.report(visits[row], by_action)
        return visits, values

    def draw(self, rng: np.random.Generator, count: int, size: int) -> Iterator[NDArray[np.int64]]:
        """Yield the rows of ``count`` random batches, drawn by the divergences as they are now; none of nothing."""
        if not len(self):
            return
        weights = (self.divergences[: len(self)].astype(np.float64) + _LEAST_DIVERGENCE) ** self.priority
        bounds = np.cumsum(weights)
        for _ in range(count):
            rows = np.searchsorted(bounds, rng.random(min(size, len(self))) * bounds[-1], side="right")
            yield np.minimum(rows, len(self) - 1)

    def loss(self, network: nn.Module, rows: NDArray[np.int64], value_weight: float) -> Tensor:
        """Return cross-entropy of the moves plus weighted squared error of the values, and keep the divergences.

        With exact targets the weighted expected regret of the policy's moves is added: the policy gradient over all
        moves at once.
        """
        observations, masks, probabilities, values = (
            torch.from_numpy(array[rows])
            for array in (self.observations, self.action_masks, self.probabilities, self.values)
        )
        logits, predicted = network(observations, masks)
        self.divergences[rows] = self._divergences(logits.detach(), rows)
        logs = masked_log_probabilities(logits, masks)
        loss = value_weight * torch.nn.functional.mse_loss(predicted, values) - (probabilities * logs).sum(dim=1).mean()
        if self.exact and self.regret_weight:
            expected = (logs.exp() * torch.from_numpy(self.regrets[rows])).sum(dim=1).mean()
            loss = loss + self.regret_weight * expected
        return loss
