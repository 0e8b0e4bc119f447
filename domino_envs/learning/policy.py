"""Networks of our own inside sb3-contrib's MaskablePPO, and their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib.common.maskable.distributions import MaskableDistribution
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from torch import Tensor, nn

from ..games import Game
from .domaster_network import DomasterNetwork
from .legal_moves import ForeseenObservations, score_legal
from .mate_network import MateNetwork
from .mlp_network import MlpNetwork
from .third_level_network import ThirdLevelNetwork

__all__ = ["NETWORKS", "NetworkPolicy", "default_network", "make_network", "masked_log_probabilities"]

#: ``(game, **sizes) -> module`` with ``forward(observation, action_mask) -> (logits, value)``.
NETWORKS: dict[str, Callable[..., nn.Module]] = {
    "mlp": MlpNetwork,
    "mate_graph": MateNetwork,
    "domaster_graph": DomasterNetwork,
    "third_level_placements": ThirdLevelNetwork,
}
_BEST = {
    "mate": "mate_graph",
    "domaster": "domaster_graph",
    "five_bridges": "domaster_graph",
    "third_level": "third_level_placements",
}


def default_network(game: Game) -> str:
    """Return the name of the network that knows the game's structure, ``"mlp"`` for a game that has none."""
    return _BEST.get(game.name, "mlp")


def make_network(name: str, game: Game, sizes: dict[str, int]) -> nn.Module:
    """Return a freshly initialised network.

    Raises:
        ValueError: for an unknown name or a size that this network does not have.
    """
    if name not in NETWORKS:
        raise ValueError(f"unknown network {name!r}, expected one of {', '.join(map(repr, NETWORKS))}")
    try:
        return NETWORKS[name](game, **sizes)
    except TypeError as error:
        raise ValueError(f"network {name!r} does not take the sizes {sizes}: {error}") from error


def masked_log_probabilities(logits: Tensor, action_masks: Tensor) -> Tensor:
    """Return log-probabilities ``(n, num_actions)`` over the legal actions, about -1e9 at the others."""
    return torch.log_softmax(logits.masked_fill(action_masks == 0, -1e9), dim=1)


class NetworkPolicy(MaskableActorCriticPolicy):
    """A policy whose whole network is one module ``(observation, action_mask) -> (logits, value)``.

    Observations go in as the ``int8`` that they are, with what is foreseen of them if that is known already.
    Everywhere else it behaves as sb3-contrib's own policies do.

    Args:
        make_module: returns the network.
        in_bfloat16: whether :meth:`autocast` has it compute in that.
    """

    network: nn.Module

    def __init__(
        self,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        lr_schedule: Callable[[float], float],
        make_module: Callable[[], nn.Module],
        in_bfloat16: bool = False,
        **arguments: Any,
    ) -> None:
        self._make_module = make_module
        self.in_bfloat16 = in_bfloat16
        super().__init__(observation_space, action_space, lr_schedule, net_arch=[], **arguments)

    def _build(self, lr_schedule: Callable[[float], float]) -> None:
        self.network = self._make_module()
        self.optimizer = self.optimizer_class(
            self.parameters(),
            lr=lr_schedule(1),  # type: ignore[call-arg]
            **self.optimizer_kwargs,
        )

    def autocast(self) -> torch.autocast:
        """Return a context for one pass of an update; weights, scores and losses stay ``float32``.

        Weights are turned once in a context, so no step of the optimizer may fall into one.
        """
        return torch.autocast("cpu", torch.bfloat16, enabled=self.in_bfloat16)

    def _masks(self, action_masks: NDArray[Any] | Tensor | None, rows: int) -> Tensor:
        if action_masks is None:
            return torch.ones((rows, int(self.action_space.n)), dtype=torch.bool)  # type: ignore[attr-defined]
        return torch.as_tensor(action_masks).reshape(rows, -1)

    def forward(
        self,
        obs: Tensor | ForeseenObservations,
        deterministic: bool = False,
        action_masks: NDArray[Any] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return actions ``(n,)``, values ``(n, 1)`` and log-probabilities ``(n,)``."""
        legal = score_legal(self.network, obs, self._masks(action_masks, len(obs)))
        log_probabilities = legal.log_probabilities()
        scores = log_probabilities
        if not deterministic:
            scores = scores - torch.log(-torch.log(torch.rand_like(scores).clamp_(1e-10, 1 - 1e-7)))
        actions = legal.best(scores)
        return actions, legal.values.unsqueeze(1), log_probabilities[legal.at(actions)]

    def evaluate_actions(
        self, obs: Tensor | ForeseenObservations, actions: Tensor, action_masks: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return values ``(n, 1)``, log-probabilities of the actions ``(n,)`` and entropies ``(n,)``."""
        with self.autocast():
            legal = score_legal(self.network, obs, self._masks(action_masks, len(obs)))
        log_probabilities = legal.log_probabilities()
        entropies = -legal.sum_by_row(log_probabilities.exp() * log_probabilities)
        return legal.values.unsqueeze(1), log_probabilities[legal.at(actions.long().flatten())], entropies

    def get_distribution(  # type: ignore[override]
        self, obs: Tensor, action_masks: NDArray[Any] | None = None
    ) -> MaskableDistribution:
        """Return sb3-contrib's distribution of the actions."""
        masks = self._masks(action_masks, len(obs))
        distribution: MaskableDistribution = self.action_dist.proba_distribution(
            action_logits=self.network(obs, masks)[0]
        )
        distribution.apply_masking(np.asarray(masks != 0))
        return distribution

    def predict_values(self, obs: Tensor) -> Tensor:  # type: ignore[override]
        """Return values ``(n, 1)``."""
        values: Tensor = self.network(obs, self._masks(None, len(obs)))[1]
        return values.unsqueeze(1)
