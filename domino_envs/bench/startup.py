"""How long a user waits for the first step: the first time ever, and with the kernels cached."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

__all__ = ["SCRIPTS", "startup_seconds"]

#: What a fresh process does, by the name of what it starts.
SCRIPTS = {
    "single": """
import importlib, sys
env = importlib.import_module(f"domino_envs.{sys.argv[1]}_v0").env()
env.reset(seed=0)
env.step(int(env.last()[0]["action_mask"].argmax()))
""",
    "batch": """
import sys
from domino_envs.batch import BatchGame
from domino_envs.games import get_game
batch = BatchGame(get_game(sys.argv[1]), 64, seed=0)
batch.step(batch.action_masks.argmax(axis=1))
""",
}


def _seconds(script: str, game: str, folder: str) -> float:
    start = time.perf_counter()
    environment = {**os.environ, "DOMINO_ENVS_CACHE_DIR": folder, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", script, game], env=environment, check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def startup_seconds(game: str, repeats: int) -> dict[str, list[float]]:
    """Measure whole processes, the start of Python included, with a cache directory of their own.

    Args:
        game: its name.
        repeats: how often with kernels cached; without, each is measured once.

    Returns:
        Seconds by name: ``"single, first"`` and ``"batch, first"`` (nothing cached), ``"single, cached"`` and
        ``"batch, cached"``.
    """
    found: dict[str, list[float]] = {}
    for name, script in SCRIPTS.items():
        with tempfile.TemporaryDirectory() as folder:
            found[f"{name}, first"] = [_seconds(script, game, folder)]
            found[f"{name}, cached"] = [_seconds(script, game, folder) for _ in range(repeats)]
    return found
