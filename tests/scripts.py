"""The scripts in training/, as modules, and arguments that make a training run last a second or two."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

TRAINING = Path(__file__).parents[1] / "training"


def script(name: str) -> ModuleType:
    """The script ``training/<name>.py``."""
    module_name = f"training_script_{name}"
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, TRAINING / f"{name}.py")
        assert spec is not None and spec.loader is not None
        sys.modules[module_name] = importlib.util.module_from_spec(spec)  # dataclasses look themselves up there
        spec.loader.exec_module(sys.modules[module_name])
    return sys.modules[module_name]


def small_run(game: str = "mate", **changes: Any) -> dict[str, Any]:
    """Arguments of train.py for six iterations of a tiny network, with everything that a long run has."""
    return {
        "game": game,
        "steps": 768,
        "lanes": 16,
        "rollout": 8,
        "batch_size": 64,
        "epochs": 2,
        "sizes": {"width": 8, "rounds": 1} if game != "third_level" else {"width": 8, "tile_width": 4},
        "past_selves": 2,
        "self_play": 0.6,
        "snapshot_every": 2,
        "evaluations": 3,
        "evaluation_deals": 4,
        "final_deals": 6,
        "search_simulations": 20 if game != "third_level" else 0,  # what is hidden there cannot be searched
        "searched": 16,
        "target_batches": 2,
        "target_capacity": 64,
        **changes,
    }
