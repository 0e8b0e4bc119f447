"""Settings for all tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import platformdirs
import pytest

# Windows (render_mode="human") without a display; nobody would see them here.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

# Two processes that compile one function for different games at the same moment can spoil each other's entries in
# Numba's cache, so each pytest-xdist worker has a cache of its own. This must be set before domino_envs is imported.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    _root = os.environ.get("DOMINO_ENVS_CACHE_DIR") or platformdirs.user_cache_path("domino_envs")
    os.environ["DOMINO_ENVS_CACHE_DIR"] = str(Path(_root) / worker)


@pytest.fixture(scope="session")
def mate_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy of Mate: the common path of its files."""
    from domino_envs.games import get_game
    from saved_policies import write_random_policy

    return write_random_policy(tmp_path_factory.mktemp("mate") / "mine", get_game("mate"), training={"plies": 512})


@pytest.fixture
def mate_policy_copy(mate_policy: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    from saved_policies import SUFFIXES

    for suffix in SUFFIXES:
        shutil.copy(f"{mate_policy}{suffix}", tmp_path)
    return tmp_path / "mine"
