"""Settings for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

# Windows (render_mode="human") without a display; nobody would see them here.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

# Two processes that compile one function for different games at the same moment can spoil each other's entries in
# Numba's cache, so each pytest-xdist worker has a cache of its own. This must be set before domino_envs is imported.
if worker := os.environ.get("PYTEST_XDIST_WORKER"):
    _root = os.environ.get("DOMINO_ENVS_CACHE_DIR") or platformdirs.user_cache_path("domino_envs")
    os.environ["DOMINO_ENVS_CACHE_DIR"] = str(Path(_root) / worker)
