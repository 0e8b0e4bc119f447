"""Weights of a saved policy for a network with more rounds of message passing, or with more inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torch import Tensor, nn

__all__ = ["with_further_inputs", "with_further_rounds"]

_OF_A_ROUND = re.compile(r"(norms|updates)\.\d+\.\w+")
_SMALL = 0.05  # of fresh weights: not 0, where a ReLU would pass no gradient


def with_further_rounds(network: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return ``weights`` with those of the rounds that only the network has, so small that they change little at first.

    So a larger network goes on from what a smaller one has learned (Chen, Goodfellow and Shlens 2016, who leave the
    function exactly as it was). Weights of anything else that the network has and ``weights`` lack are not added.
    """
    added = {
        name: own * _SMALL if name.startswith("updates") else own
        for name, own in network.state_dict().items()
        if name not in weights and _OF_A_ROUND.fullmatch(name)
    }
    return {**weights, **added}


def with_further_inputs(network: nn.Module, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return ``weights`` with those of the inputs that only the network's linear layers have, at 0: nothing changes.

    Such inputs come after a layer's earlier ones, as what a later version of a network is told besides.
    """
    grown = dict(weights)
    for name, own in network.state_dict().items():
        saved = grown.get(name)
        if saved is not None and own.ndim == saved.ndim == 2 and len(own) == len(saved):
            grown[name] = nn.functional.pad(saved, (0, max(0, own.shape[1] - saved.shape[1])))
    return grown
