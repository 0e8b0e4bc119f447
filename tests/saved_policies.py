"""Policies to load in tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from domino_envs.games import Game
from domino_envs.learning.export import save_policy
from domino_envs.learning.policy import make_network

SUFFIXES = (".onnx", ".safetensors", ".json")


def write_random_policy(path: Path, game: Game, **facts: Any) -> Path:
    torch.manual_seed(2)
    network = make_network("mlp", game, {"width": 8, "blocks": 1})
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=0.4)
    save_policy(path, game, network, facts)
    return path
