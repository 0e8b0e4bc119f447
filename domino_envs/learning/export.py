"""From a trained network to a saved policy: ONNX graph, safetensors, card."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from ..games import Game
from ..policies import card_for, policy_paths, read_card, write_card

__all__ = ["MaskedGraph", "Sb3Network", "load_weights", "save_policy"]


class MaskedGraph(nn.Module):
    """What is exported: a network with illegal actions at -1e9.

    Args:
        network: ``(observation, action_mask) -> (logits, value)``.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits ``(n, num_actions)`` and values ``(n,)`` of ``int8`` observations and masks."""
        legal = action_mask != 0  # also because ONNX Runtime looks for non-zeros among booleans, not among int8
        logits, value = self.network(observation, legal)
        return logits.masked_fill(~legal, -1e9), value


class Sb3Network(nn.Module):
    """Any policy of MaskablePPO as a network, so that it can be exported.

    Args:
        policy: ``model.policy``.
    """

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits ``(n, num_actions)`` and values ``(n,)``."""
        policy = self.policy
        if hasattr(policy, "network"):
            logits, value = policy.network(observation, action_mask)
            return logits, value
        features = policy.extract_features(observation.float())
        if policy.share_features_extractor:
            actor, critic = policy.mlp_extractor(features)
        else:
            actor = policy.mlp_extractor.forward_actor(features[0])
            critic = policy.mlp_extractor.forward_critic(features[1])
        return policy.action_net(actor), policy.value_net(critic).squeeze(1)


def _example(game: Game) -> tuple[Tensor, Tensor]:
    """Return inputs to trace with: the openings of two episodes."""
    from ..batch import BatchGame

    batch = BatchGame(game, 2, seed=0)
    return torch.from_numpy(batch.observations), torch.from_numpy(batch.action_masks)


def save_policy(path: str | Path, game: Game, network: nn.Module, facts: Mapping[str, Any]) -> dict[str, Path]:
    """Write a policy's three files and return their paths by suffix.

    Args:
        path: common path of the files, without suffix; missing folders are made.
        game: the game that the network plays.
        network: ``(observation, action_mask) -> (logits, value)``, on the CPU.
        facts: what the card says besides (architecture, training, evaluation, ...), for JSON.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    paths = policy_paths(target.with_name(target.name + ".json"))
    was_training = network.training
    network.eval()
    weights = {key: value.detach().clone().contiguous() for key, value in network.state_dict().items()}
    save_file(weights, paths[".safetensors"])
    batch = {0: "n"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, about its future
        torch.onnx.export(
            MaskedGraph(network),
            _example(game),
            str(paths[".onnx"]),
            input_names=["observation", "action_mask"],
            output_names=["logits", "value"],
            dynamic_axes={"observation": batch, "action_mask": batch, "logits": batch, "value": batch},
            opset_version=17,
            **_exporter_choice(),
        )
    network.train(was_training)
    size = sum(value.numel() for value in weights.values())
    write_card(paths[".json"], card_for(game, target.name, {"num_parameters": size, **facts}))
    return paths


def _exporter_choice() -> dict[str, Any]:
    """Choose the tracing exporter, which needs no further package and knows every torch from 2.4 on."""
    import inspect

    return {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}


def load_weights(source: str | Path, game: Game, network: nn.Module) -> dict[str, Any]:
    """Fill a network with a saved policy's weights and return its card.

    Raises:
        PolicyError: as :func:`domino_envs.policies.load_policy`.
        ValueError: if the weights do not fit the network.
    """
    card = read_card(source, game)
    path = policy_paths(source)[".safetensors"]
    try:
        network.load_state_dict(load_file(path))
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit this network: {error}") from error
    return card
