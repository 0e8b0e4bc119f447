"""The plain network, for any game."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..games import Game

__all__ = ["MlpNetwork"]


class MlpNetwork(nn.Module):
    """A residual network on the observation, each component scaled by its bounds.

    Args:
        game: the table of the game.
        width: of the hidden layers.
        blocks: residual blocks of two layers.
    """

    low: Tensor
    span: Tensor

    def __init__(self, game: Game, width: int = 256, blocks: int = 2) -> None:
        super().__init__()
        low = torch.from_numpy(game.layout.low).float()
        span = torch.from_numpy(game.layout.high).float() - low
        self.register_buffer("low", low, persistent=False)
        self.register_buffer("span", span.clamp(min=1.0), persistent=False)
        self.enter = nn.Linear(game.layout.size, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
            for _ in range(blocks)
        )
        self.score = nn.Linear(width, game.num_actions)
        self.value = nn.Linear(width, 1)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.value.weight)

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits ``(n, num_actions)`` and values ``(n,)`` of observations ``(n, size)``."""
        hidden = torch.relu(self.enter((observation.float() - self.low) / self.span))
        for block in self.blocks:
            hidden = hidden + block(hidden)
        hidden = torch.relu(hidden)
        return self.score(hidden), self.value(hidden).squeeze(1)
