"""Weights of a saved policy for a network with more rounds of message passing, or with more inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch import Tensor, nn

__all__ = ["with_growth"]

_OF_A_ROUND = re.compile(r"(norms|updates)\.\d+\.\w+")
_SMALL = 0.05  # of fresh weights: not 0, where a ReLU would pass no gradient


def with_growth(network: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return ``weights`` with what only the network has: further rounds, and further inputs of its linear layers.

    Rounds are so small that they change little at first, inputs (after a layer's earlier ones) have weights of 0. So a
    larger network goes on from what a smaller one has learned (Chen, Goodfellow and Shlens 2016, who leave the function
    exactly as it was). Weights of anything else that the network has and ``weights`` lack are not added.
    """
    added = {
        name: own * _SMALL if name.startswith("updates") else own
        for name, own in network.state_dict().items()
        if name not in weights and _OF_A_ROUND.fullmatch(name)
    }
    grown = {**weights, **added}
    for name, own in network.state_dict().items():
        saved = grown.get(name)
        if saved is not None and own.ndim == saved.ndim == 2 and len(own) == len(saved):
            grown[name] = nn.functional.pad(saved, (0, max(0, own.shape[1] - saved.shape[1])))
    return grown
