"""From a trained network to a saved policy: ONNX graph, safetensors, card."""

from __future__ import annotations

import inspect
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from sb3_contrib import MaskablePPO
from torch import Tensor, nn

from ..agents.positions import random_positions
from ..arena.exact import views
from ..games import Game
from ..policies import (
    POLICY_SUFFIXES,
    PolicyError,
    PolicyFiles,
    SavedPolicy,
    card_for,
    layout_description,
    policy_paths,
    read_policy,
    write_card,
)
from .growth import with_further_inputs, with_further_rounds
from .policy import NetworkPolicy, make_network

__all__ = ["MaskedGraph", "Sb3Network", "load_network", "load_weights", "network_of", "save_policy"]

_TRIED_POSITIONS = 64
_TRIED_ALONE = 16  # of these, also as a batch of one
_TOLERANCE = 1e-4


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
    """A policy of sb3-contrib's own as a network, so that it can be exported.

    Args:
        policy: ``model.policy``, of any architecture.
    """

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits ``(n, num_actions)`` and values ``(n,)``."""
        policy = self.policy
        features = policy.extract_features(observation)
        if policy.share_features_extractor:
            actor, critic = policy.mlp_extractor(features)
        else:
            actor = policy.mlp_extractor.forward_actor(features[0])
            critic = policy.mlp_extractor.forward_critic(features[1])
        return policy.action_net(actor), policy.value_net(critic).squeeze(1)


def network_of(model: MaskablePPO, game: Game) -> nn.Module:
    """Return the network of a MaskablePPO model, for :func:`save_policy`.

    Raises:
        ValueError: if the model was made for other spaces than the game's, or sees observations that a wrapper
            normalised: the wrapper's numbers are not in the policy.
    """
    seen, actions = model.observation_space, model.action_space
    expected = (game.layout.size,)
    if getattr(seen, "shape", None) != expected or getattr(actions, "n", None) != game.num_actions:
        raise ValueError(
            f"the model takes {seen} and {actions}; a policy of {game.title} takes observations of shape {expected} "
            f"and has {game.num_actions} actions"
        )
    if model.get_vec_normalize_env() is not None:
        raise ValueError("the model was trained behind VecNormalize, which would be lost: train without it")
    policy = model.policy
    return policy.network if isinstance(policy, NetworkPolicy) else Sb3Network(policy)


def save_policy(
    path: str | Path, game: Game, network: nn.Module | MaskablePPO, facts: Mapping[str, Any]
) -> dict[str, Path]:
    """Write a policy's three files and return their paths by suffix.

    The graph is compared with the network on positions of the game before anything is written at ``path``.

    Args:
        path: common path of the files, with or without a suffix; missing folders are made.
        game: the game that the network plays.
        network: ``(observation, action_mask) -> (logits, value)``, or a MaskablePPO model of any architecture.
        facts: what the card says besides (architecture, training, evaluation, ...), for JSON.

    Raises:
        ValueError: if the graph does not compute what the network does (its ``forward`` branches on numbers, or on the
            size of the batch), a fact cannot be written as JSON, or a model does not fit (see :func:`network_of`).
    """
    target = Path(path).with_suffix("") if Path(path).suffix in POLICY_SUFFIXES else Path(path)
    paths = policy_paths(f"{target}.json")
    folder = paths[".json"].parent
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(network, MaskablePPO):
        network = network_of(network, game)
    size = sum(parameter.numel() for parameter in network.parameters())
    card = card_for(game, paths[".json"].stem, {"num_parameters": size, **facts})
    with tempfile.TemporaryDirectory(dir=folder, prefix=".policy-") as scratch, _for_export(network):
        written = {suffix: Path(scratch) / path.name for suffix, path in paths.items()}
        weights = {key: value.detach().clone().contiguous() for key, value in network.state_dict().items()}
        written[".safetensors"].write_bytes(save(weights))  # safetensors' own save_file lets nobody else read it
        _export(network, game, written[".onnx"])
        write_card(written[".json"], card)
        _compare(network, SavedPolicy(game, card, written[".onnx"].read_bytes()))
        for suffix in (".onnx", ".safetensors", ".json"):
            os.replace(written[suffix], paths[suffix])
    return paths


@contextmanager
def _for_export(network: nn.Module) -> Iterator[None]:
    """Have the network on the CPU and not in training mode."""
    devices = {parameter.device for parameter in network.parameters()}
    training = {module: module.training for module in network.modules()}
    network.to("cpu").eval()
    try:
        yield
    finally:
        for module, was_training in training.items():
            module.training = was_training
        for device in devices:
            network.to(device)


def _export(network: nn.Module, game: Game, path: Path) -> None:
    rows = {0: "n"}
    # The tracing exporter: it needs no further package. Before torch 2.5 it was the only one.
    choice: dict[str, Any] = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own; whether the graph is right is tried afterwards
        torch.onnx.export(
            MaskedGraph(network),
            _positions(game, 2),
            str(path),
            input_names=["observation", "action_mask"],
            output_names=["logits", "value"],
            dynamic_axes={"observation": rows, "action_mask": rows, "logits": rows, "value": rows},
            opset_version=17,
            **choice,
        )


def _positions(game: Game, count: int) -> tuple[Tensor, Tensor]:
    observations, masks = views(game, random_positions(game, count, seed=0))
    return torch.from_numpy(observations), torch.from_numpy(masks)


def _compare(network: nn.Module, policy: SavedPolicy) -> None:
    observations, masks = _positions(policy.game, _TRIED_POSITIONS)
    with torch.no_grad():
        expected = [part.numpy() for part in MaskedGraph(network)(observations, masks)]
    legal = masks.numpy() != 0
    for rows in (slice(None), *(slice(i, i + 1) for i in range(_TRIED_ALONE))):
        found = policy.evaluate(observations.numpy()[rows], masks.numpy()[rows])
        pairs = (expected[0][rows][legal[rows]], found[0][legal[rows]]), (expected[1][rows], found[1])
        for name, (ours, theirs) in zip(("logits", "values"), pairs, strict=True):
            worst = float(np.abs(ours - theirs).max())
            if not worst <= _TOLERANCE * max(1.0, float(np.abs(ours).max())):
                raise ValueError(
                    f"the exported graph does not compute what the network does: {name} differ by up to {worst:.3g} on "
                    f"a batch of {len(found[1])} (a network must not branch on numbers or on the size of the batch)"
                )


def _read_to_train_on(source: str | Path, game: Game) -> PolicyFiles:
    """Read a policy of this game, or of one with the same observations and actions, as Domaster and Five Bridges."""
    files = read_policy(source)
    same = files.game.num_actions == game.num_actions and layout_description(files.game) == layout_description(game)
    return files if same else read_policy(source, game)  # which says what differs


def load_weights(source: str | Path, game: Game, network: nn.Module) -> dict[str, Any]:
    """Fill a network with a saved policy's weights and return the policy's card.

    The policy may be one of another game with the same observations and actions (Domaster and Five Bridges), and its
    network one of fewer rounds of message passing or of fewer inputs; further ones change little or nothing at first.

    Raises:
        PolicyError: as :func:`domino_envs.policies.read_policy`, and if the weights do not fit the network.
    """
    files = _read_to_train_on(source, game)
    _fill(network, files.weights, files.paths[".safetensors"], rounds=True)
    return files.card


def load_network(source: str | Path, game: Game) -> tuple[nn.Module, dict[str, Any]]:
    """Return a saved policy's network to train on, and its card, which names the architecture.

    The policy may be one of another game, as for :func:`load_weights`.

    Raises:
        PolicyError: as :func:`domino_envs.policies.read_policy`; if the card names no network of this package, or the
            weights do not fit it.
    """
    files = _read_to_train_on(source, game)
    where = files.paths[".json"]
    architecture = files.card.get("architecture")
    if not isinstance(architecture, dict) or not isinstance(architecture.get("sizes"), dict):
        raise PolicyError(f"{where} names no network of this package, so it can be played but not trained on")
    try:
        network = make_network(architecture.get("network", ""), game, architecture["sizes"])
    except ValueError as error:
        raise PolicyError(f"{where}: {error}") from error
    _fill(network, files.weights, files.paths[".safetensors"])
    return network, files.card


def _fill(network: nn.Module, weights: bytes, where: Path, *, rounds: bool = False) -> None:
    try:
        saved = with_further_inputs(network, load(weights))
        network.load_state_dict(with_further_rounds(network, saved) if rounds else saved)
    except (RuntimeError, SafetensorError) as error:
        raise PolicyError(f"{where} does not fit this network: {error}") from error
