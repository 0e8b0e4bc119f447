"""Checkpoints of a training run: tensors as safetensors, the rest as JSON. No pickle is written or read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from .selfplay import SelfPlayPPO, SnapshotAgent

__all__ = ["CheckpointError", "load_checkpoint", "read_checkpoint_facts", "save_checkpoint"]

FORMAT = 1


class CheckpointError(ValueError):
    """A checkpoint is missing, cut, or of another run."""


def _tensors(model: SelfPlayPPO, best: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return everything of a run that is numbers, by name."""
    found: dict[str, Tensor] = {}
    found |= {f"network/{k}": v for k, v in model.network.state_dict().items()}
    found |= {f"best/{k}": v for k, v in best.items()}
    for i, state in model.policy.optimizer.state_dict()["state"].items():
        found |= {f"optimizer/{i}/{k}": torch.as_tensor(v) for k, v in state.items()}
    for i, agent in enumerate(model.players.opponents):
        if isinstance(agent, SnapshotAgent):
            found |= {f"snapshot/{i}/{k}": v for k, v in agent.network.state_dict().items()}
    for name, array in model.players.arrays().items():
        found[f"games/{name}"] = torch.from_numpy(np.ascontiguousarray(array).view(np.uint8).reshape(-1).copy())
    if model.targets is not None:
        for name, array in model.targets.arrays().items():
            found[f"targets/{name}"] = torch.from_numpy(array)
    found["games/episode_starts"] = torch.from_numpy(np.asarray(model._last_episode_starts, dtype=np.uint8))
    return {k: v.detach().clone().contiguous() for k, v in found.items()}


def save_checkpoint(folder: Path, model: SelfPlayPPO, facts: dict[str, Any], best: dict[str, Tensor]) -> None:
    """Write a checkpoint; a crash while writing leaves the last one whole.

    Args:
        folder: where the run lies.
        model: the run, between two iterations.
        facts: what the training script keeps (arguments, evaluations), for JSON.
        best: the best weights so far.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = {"format": FORMAT, "steps": model.num_timesteps, "seconds": model.seconds_used, "updates": model._n_updates}
    metadata = {"run": json.dumps({**facts, **state})}
    partial = folder / "checkpoint.safetensors.partial"
    save_file(_tensors(model, best), partial, metadata=metadata)
    os.replace(partial, folder / "checkpoint.safetensors")


def read_checkpoint_facts(folder: Path) -> dict[str, Any]:
    """Return what the training script kept, and ``steps`` and ``seconds``.

    Raises:
        CheckpointError: if there is no checkpoint in the folder or it cannot be read.
    """
    path = folder / "checkpoint.safetensors"
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
        facts: dict[str, Any] = json.loads(metadata["run"])
    except FileNotFoundError as error:
        raise CheckpointError(f"there is no checkpoint in {folder}: expected {path}") from error
    except (SafetensorError, OSError, KeyError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path} is no checkpoint that can be read: {error}") from error
    if facts.get("format") != FORMAT:
        raise CheckpointError(f"{path} has format {facts.get('format')!r}, expected {FORMAT}")
    return facts


def load_checkpoint(folder: Path, model: SelfPlayPPO) -> dict[str, Tensor]:
    """Put a run back to where its checkpoint was written and return the best weights so far.

    Raises:
        CheckpointError: if it cannot be read or is of a run with other settings.
    """
    facts = read_checkpoint_facts(folder)
    path = folder / "checkpoint.safetensors"
    parts: dict[str, dict[str, Tensor]] = {}
    try:
        with safe_open(path, framework="pt") as file:
            for key in file.keys():  # noqa: SIM118  # it is no mapping
                kind, _, name = key.partition("/")
                parts.setdefault(kind, {})[name] = file.get_tensor(key)
        model.network.load_state_dict(parts["network"])
        optimizer = model.policy.optimizer.state_dict()
        optimizer["state"] = {}
        for name, tensor in parts.get("optimizer", {}).items():
            number, _, field = name.partition("/")
            optimizer["state"].setdefault(int(number), {})[field] = tensor
        model.policy.optimizer.load_state_dict(optimizer)
        for i, agent in enumerate(model.players.opponents):
            if isinstance(agent, SnapshotAgent):
                prefix = f"{i}/"
                weights = parts["snapshot"].items()
                agent.network.load_state_dict({k[len(prefix) :]: v for k, v in weights if k.startswith(prefix)})
        for name, array in model.players.arrays().items():
            array[...] = parts["games"][name].numpy().view(array.dtype).reshape(array.shape)
        if model.targets is not None:
            for name, array in model.targets.arrays().items():
                array[...] = parts["targets"][name].numpy()
        model._last_episode_starts = parts["games"]["episode_starts"].numpy().astype(np.bool_)
    except (SafetensorError, OSError, KeyError, RuntimeError, ValueError) as error:
        raise CheckpointError(f"{path} does not fit this run: {error}") from error
    model.num_timesteps = int(facts["steps"])
    model.seconds_used = float(facts["seconds"])
    model._n_updates = int(facts["updates"])
    return parts.get("best", {})
