"""Search-guided targets: what a tree search found in positions of self-play, for the policy to learn by heart.

Beside the policy gradient, which only knows how games ended, the network is taught the move distribution and the value
that UCT finds where it plays (expert iteration: Anthony, Tian and Barber 2017; AlphaZero: Silver et al. 2017).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..agents.search import search
from ..games import Game
from .policy import masked_log_probabilities

__all__ = ["SearchTargets"]


class SearchTargets:
    """The latest searched positions, a ring.

    Args:
        game: the game, one of perfect information.
        simulations: of each search.
        capacity: positions that are kept.
        value_scale: what the values found are multiplied with.
    """

    def __init__(self, game: Game, *, simulations: int, capacity: int, value_scale: float) -> None:
        self.game = game
        self.simulations = simulations
        self.capacity = capacity
        self.value_scale = value_scale
        self.observations = np.zeros((capacity, game.layout.size), dtype=np.int8)
        self.action_masks = np.zeros((capacity, game.num_actions), dtype=np.int8)
        self.probabilities = np.zeros((capacity, game.num_actions), dtype=np.float32)
        self.values = np.zeros(capacity, dtype=np.float32)
        self.added = np.zeros(1, dtype=np.int64)

    def __len__(self) -> int:
        return min(self.capacity, int(self.added[0]))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return every array that changes, by name, to save them or to write saved ones back into."""
        names = ("observations", "action_masks", "probabilities", "values", "added")
        return {name: getattr(self, name) for name in names}

    def add(
        self,
        states: NDArray[np.void],
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        seed: int,
    ) -> None:
        """Search positions (records ``(n,)`` with what their movers see) and keep what was found."""
        found = search(self.game, states, simulations=self.simulations, seed=seed)
        rows = (int(self.added[0]) + np.arange(len(states))) % self.capacity
        self.observations[rows] = observations
        self.action_masks[rows] = action_masks
        self.probabilities[rows] = found.visits / found.visits.sum(axis=1, keepdims=True)
        self.values[rows] = found.root_values * self.value_scale
        self.added[0] += len(states)

    def batches(self, rng: np.random.Generator, count: int, size: int) -> Iterator[tuple[Tensor, ...]]:
        """Yield ``count`` random batches: observations, masks, target probabilities, target values."""
        for _ in range(count):
            rows = rng.integers(len(self), size=min(size, len(self)))
            arrays = (self.observations, self.action_masks, self.probabilities, self.values)
            yield tuple(torch.from_numpy(array[rows]) for array in arrays)

    @staticmethod
    def loss(network: nn.Module, batch: tuple[Tensor, ...], value_weight: float) -> tuple[Tensor, Tensor]:
        """Return cross-entropy of the moves plus weighted squared error of the values, and the first alone."""
        observations, masks, probabilities, values = batch
        logits, predicted = network(observations, masks)
        entropy = -(probabilities * masked_log_probabilities(logits, masks)).sum(dim=1).mean()
        error = torch.nn.functional.mse_loss(predicted, values)
        return entropy + value_weight * error, entropy
