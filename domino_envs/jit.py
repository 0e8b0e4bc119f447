"""Compilation of kernels: one decorator, and a disk cache that a change of the sources cannot make stale.

Numba looks only at the file of the outermost function when it decides whether a cached machine code is fresh, so a
changed inner kernel would leave stale loops behind. The cache therefore lives in a directory named by a hash of every
source file that defines a kernel. ``DOMINO_ENVS_CACHE_DIR`` moves it; ``NUMBA_DISABLE_JIT=1`` runs the kernels as
plain Python.

Kernels that are not the package's own (a game of yours, in a module or in a notebook) are part of the key under which
they, and the loops over their records, are cached: see :mod:`domino_envs.fingerprint` and :func:`depends_on`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
import platformdirs
from filelock import FileLock

from .fingerprint import defined_here, fingerprint

__all__ = ["JIT_DISABLED", "cache_directory", "depends_on", "inlined_kernel", "int64", "kernel"]

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
        if b"@kernel" in text or b"@inlined_kernel" in text or path.parent.name == "games":
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


#: Kernels from outside of the package that the code for a type of record is made of.
_RULES: dict[Any, list[Any]] = {}


def depends_on(record_type: Any, functions: Iterable[Any]) -> None:
    """Say that loops over these records call these kernels, by what Numba cannot see (a resolved generic name).

    Args:
        record_type: Numba's type of the record.
        functions: the kernels.
    """
    outside = [function for function in functions if not defined_here(function)]
    if outside:
        _RULES.setdefault(record_type, []).extend(outside)


def _outside_kernels(function: Any, signature: Any) -> list[Any]:
    """Return the kernels from outside of the package that a compiled function consists of, as far as we must ask."""
    found = [] if defined_here(function) else [function]
    for argument in getattr(signature, "args", signature):
        found += _RULES.get(getattr(argument, "dtype", argument), ())
    return found


_announced = False


def _announce() -> None:
    """Tell a person who waits, once in a process, that the next process will find on the disk what is compiled now."""
    global _announced
    watched = "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
    if watched and not _announced:
        _announced = True
        print(f"domino_envs: compiling, once: some 10 seconds a game, kept in {_CACHE_DIRECTORY}", file=sys.stderr)


def _guard_cache(compiled: Any) -> None:
    """Key the cache by kernels from outside of the package too, let one process at a time add to it, and say so.

    Numba reads the index, picks a file name and writes both without a lock: two processes that compile one function
    for two games at once could leave an entry that points at the other's machine code.
    """
    cache: Any = getattr(compiled, "_cache", None)
    if not hasattr(cache, "_index_key"):  # not cached, or JIT disabled
        return
    index_key, load, save = cache._index_key, cache.load_overload, cache.save_overload

    def key_of_outside(signature: Any) -> str | None:
        outside = _outside_kernels(compiled, signature)
        return fingerprint(outside) if outside else ""

    def guarded_key(signature: Any, codegen: Any) -> Any:
        outside = key_of_outside(signature)
        key = index_key(signature, codegen)
        return (*key, outside) if outside else key

    def guarded_load(signature: Any, target_context: Any) -> Any:
        found = None if key_of_outside(signature) is None else load(signature, target_context)
        if found is None:
            _announce()
        return found

    def guarded_save(signature: Any, data: Any) -> None:
        if key_of_outside(signature) is None:
            return
        try:
            with FileLock(_CACHE_DIRECTORY / "lock"):
                save(signature, data)
        except OSError:
            pass  # no place to write: each process compiles for itself

    cache._index_key, cache.load_overload, cache.save_overload = guarded_key, guarded_load, guarded_save


def _compile(function: Function, **options: Any) -> Function:
    cached = defined_here(function) or os.path.exists(cast("Any", function).__code__.co_filename)
    previous = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_CACHE_DIRECTORY)
    try:
        compiled: Function = numba.njit(cache=cached, nogil=True, **options)(function)
        _guard_cache(compiled)
    finally:
        numba.config.CACHE_DIR = previous
    return compiled


def kernel(function: Function) -> Function:
    """Compile a function with Numba (nopython, GIL released) and cache it on disk.

    The compiled function takes arrays and records only by reference; it checks no bounds, so callers must. A function
    typed into a notebook or a prompt is compiled anew in each process.
    """
    return _compile(function)


def inlined_kernel(function: Function) -> Function:
    """Compile as :func:`kernel` does, and into the callers instead of being called.

    A call hands over each array as seven numbers: for the steps of a loop over lanes that costs more than what they do.
    Numba copies the function's own code; LLVM's ``forceinline`` would copy what it calls too, and take minutes over it.
    """
    return _compile(function, inline="always")
