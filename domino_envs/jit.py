"""Compilation of kernels: one decorator, and a disk cache that a change of the sources cannot make stale.

Numba looks only at the file of the outermost function when it decides whether a cached machine code is fresh, so a
changed inner kernel would leave stale loops behind. The cache therefore lives in a directory named by a hash of every
source file that defines a kernel. ``DOMINO_ENVS_CACHE_DIR`` moves it; ``NUMBA_DISABLE_JIT=1`` runs the kernels as
plain Python.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
import platformdirs
from filelock import FileLock

__all__ = ["JIT_DISABLED", "cache_directory", "int64", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

JIT_DISABLED: bool = bool(numba.config.DISABLE_JIT)

#: ``np.int64``, typed as kernels see it: one integer type for fields of records, loop counters and bit sets.
int64 = cast("Callable[[Any], int]", np.int64)
_KEPT_CACHES = 3


def _sources_hash() -> str:
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        text = path.read_bytes()
        if b"@kernel" in text or path.parent.name == "games":
            digest.update(path.relative_to(package).as_posix().encode() + b"\0" + text + b"\0")
    return digest.hexdigest()[:16]


def _find_cache_directory() -> Path:
    root = Path(os.environ.get("DOMINO_ENVS_CACHE_DIR") or platformdirs.user_cache_path("domino_envs"))
    directory = root / f"kernels-{_sources_hash()}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        directory.touch()  # the newest are kept
        others = sorted((d for d in root.glob("kernels-*") if d != directory), key=lambda d: d.stat().st_mtime)
        for old in others[: -_KEPT_CACHES + 1 or None]:
            shutil.rmtree(old, ignore_errors=True)
    except OSError:
        pass  # a read-only home: Numba falls back to another place by itself
    return directory


_CACHE_DIRECTORY = _find_cache_directory()


def cache_directory() -> Path:
    """Return the directory that holds the compiled kernels of these sources."""
    return _CACHE_DIRECTORY


def _lock_saves(compiled: Any) -> None:
    """Let one process at a time add to the cache.

    Numba reads the index, picks a file name and writes both without a lock: two processes that compile one function
    for two games at once could leave an entry that points at the other's machine code.
    """
    cache = getattr(compiled, "_cache", None)
    if cache is None:  # JIT disabled
        return
    save = cache.save_overload

    def locked_save(signature: Any, data: Any) -> None:
        try:
            with FileLock(_CACHE_DIRECTORY / "lock"):
                save(signature, data)
        except OSError:
            pass  # no place to write: each process compiles for itself

    cache.save_overload = locked_save


def kernel(function: Function) -> Function:
    """Compile a function with Numba (nopython, GIL released) and cache it on disk.

    The compiled function takes arrays and records only by reference; it checks no bounds, so callers must.
    """
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_CACHE_DIRECTORY)
    try:
        compiled: Function = numba.njit(cache=True, nogil=True)(function)
        _lock_saves(compiled)
    finally:
        numba.config.CACHE_DIR = previous
    return compiled
