"""Checkpoints of a training run: tensors as safetensors, the rest as JSON. No pickle is written or read."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ..games import Game
from ..policies import layout_description
from .selfplay import SelfPlayPPO, SnapshotAgent

__all__ = [
    "CheckpointError",
    "checkpoint_path",
    "load_checkpoint",
    "read_checkpoint_facts",
    "read_weights",
    "save_checkpoint",
]

FORMAT = 5


class CheckpointError(ValueError):
    """A checkpoint is missing, cut, altered, or of another run."""


def checkpoint_path(folder: Path) -> Path:
    """Return where the checkpoint of a run lies."""
    return folder / "checkpoint.safetensors"


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


def _digest(tensors: dict[str, Tensor]) -> str:
    """Return a SHA-256 of names and numbers: safetensors itself would not notice a changed one."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(tensors[name].numpy()).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _description(game: Game) -> dict[str, Any]:
    return {
        "game": game.name,
        "parameters": dict(game.parameters),
        "rules_version": game.rules_version,
        "layout": layout_description(game),
    }


def save_checkpoint(folder: Path, model: SelfPlayPPO, facts: dict[str, Any], best: dict[str, Tensor]) -> None:
    """Write a checkpoint; a crash while writing leaves the last one whole.

    Args:
        folder: where the run lies.
        model: the run, between two iterations.
        facts: what the training script keeps (arguments, evaluations), for JSON.
        best: the best weights so far.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tensors = _tensors(model, best)
    state = {
        "format": FORMAT,
        "digest": _digest(tensors),
        "trains": _description(model.players.game),
        "steps": model.num_timesteps,
        "seconds": model.seconds_used,
        "updates": model._n_updates,
    }
    path = checkpoint_path(folder)
    partial = path.with_name(path.name + ".partial")
    save_file(tensors, partial, metadata={"run": json.dumps({**facts, **state}, allow_nan=False)})
    os.replace(partial, path)


def read_checkpoint_facts(folder: Path) -> dict[str, Any]:
    """Return what the training script kept, and ``steps`` and ``seconds``.

    Raises:
        CheckpointError: if there is no checkpoint in the folder or it cannot be read.
    """
    return _read(folder, tensors=False)[0]


def _read(folder: Path, tensors: bool = True) -> tuple[dict[str, Any], dict[str, dict[str, Tensor]]]:
    """Return a checkpoint's facts, and its tensors by kind and name."""
    path = checkpoint_path(folder)
    found: dict[str, Tensor] = {}
    try:
        with safe_open(path, framework="pt") as file:
            facts: Any = json.loads((file.metadata() or {})["run"])
            if tensors:
                found = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118  # it is no mapping
    except FileNotFoundError as error:
        raise CheckpointError(f"there is no checkpoint in {folder}: expected {path}") from error
    except (SafetensorError, OSError, KeyError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path} is no checkpoint that can be read: {error}") from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        raise CheckpointError(f"{path} is no checkpoint of format {FORMAT}, which this version reads")
    if tensors and facts["digest"] != _digest(found):
        raise CheckpointError(f"{path} was altered: its numbers have not the SHA-256 that it names")
    parts: dict[str, dict[str, Tensor]] = {}
    for key, tensor in found.items():
        kind, _, name = key.partition("/")
        parts.setdefault(kind, {})[name] = tensor
    return facts, parts


def read_weights(folder: Path, *, latest: bool = False) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return a run's facts, as :func:`read_checkpoint_facts` does, and its weights.

    Args:
        folder: where the run lies.
        latest: the weights of the checkpoint, not those that were rated best; as long as none were rated, these are
            returned anyway.

    Raises:
        CheckpointError: if the checkpoint cannot be read.
    """
    facts, parts = _read(folder)
    return facts, parts["network"] if latest or not parts.get("best") else parts["best"]


def load_checkpoint(folder: Path, model: SelfPlayPPO) -> dict[str, Tensor]:
    """Put a run back to where its checkpoint was written and return the best weights so far.

    Args:
        folder: where the run lies.
        model: built with the arguments of the run, its learning set up.

    Raises:
        CheckpointError: if it cannot be read or is of a run with other settings.
    """
    path = checkpoint_path(folder)
    facts, parts = _read(folder)
    expected = _description(model.players.game)
    for key, value in facts["trains"].items():
        if value != expected[key]:
            raise CheckpointError(f"{path} was written for another {key} of {model.players.game.title}")
    try:
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
    except (KeyError, RuntimeError, ValueError) as error:
        raise CheckpointError(f"{path} does not fit this run: {error}") from error
    model.go_on_from(int(facts["steps"]), float(facts["seconds"]), int(facts["updates"]))
    return parts.get("best", {})
