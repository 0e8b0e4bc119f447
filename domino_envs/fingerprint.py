"""What a kernel's machine code is made of, as a hash: its bytecode and every constant and function that it uses.

Numba freezes global variables into machine code but does not look at them, nor at the functions that a kernel calls,
when it decides whether cached code is fresh. For the package's own kernels the cache directory answers for that (see
:mod:`domino_envs.jit`); kernels from elsewhere are told apart by this hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["PACKAGE", "defined_here", "fingerprint"]

PACKAGE = __name__.partition(".")[0]
#: Packages whose contents go by name: what changes them changes their version.
_BY_NAME = (PACKAGE, "builtins", "math", "numba", "numpy")
_SCALARS = (type(None), bool, int, float, complex, str, bytes)


class _UnknownError(Exception):
    """A kernel uses something whose contents cannot be told."""


def _root(name: Any) -> str:
    return str(name).partition(".")[0]


def defined_here(function: Any) -> bool:
    """Whether a function, compiled or not, belongs to this package."""
    return _root(function.__module__) == PACKAGE


def fingerprint(functions: Iterable[Any]) -> str | None:
    """Return a hash of all that decides what these kernels do; None if one uses something that cannot be hashed."""
    reader = _Reader()
    try:
        for function in functions:
            reader.read(function, ())
    except _UnknownError:
        return None
    return reader.digest.hexdigest()[:16]


class _Reader:
    """Goes through functions and what they refer to, each once."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.seen: set[int] = set()

    def add(self, *parts: Any) -> None:
        self.digest.update(repr(parts).encode() + b"\0")

    def read(self, value: Any, names: tuple[str, ...]) -> None:
        """Add a value; ``names`` are those that the code around it may look up in it, if it is a module."""
        value = getattr(value, "py_func", value)  # what a compiled kernel was made from
        if isinstance(value, _SCALARS):
            self.add(type(value).__name__, value)
        elif isinstance(value, (tuple, list)):
            self.add(type(value).__name__, len(value))
            for item in value:
                self.read(item, names)
        elif isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            self.add("array", np.lib.format.dtype_to_descr(value.dtype), value.shape)
            self.digest.update(value.tobytes())
        elif isinstance(value, np.dtype):
            self.add("dtype", value)
        elif isinstance(value, (type, FunctionType, BuiltinFunctionType)) and _root(value.__module__) in _BY_NAME:
            self.add("name", value.__module__, value.__qualname__)
        elif isinstance(value, FunctionType):
            if id(value) not in self.seen:
                self.seen.add(id(value))
                self.read_function(value)
        elif isinstance(value, ModuleType):
            self.add("module", value.__name__)
            if _root(value.__name__) not in _BY_NAME:
                for name in names:
                    if name in vars(value):
                        self.read(vars(value)[name], names)
        else:
            raise _UnknownError(value)

    def read_function(self, function: FunctionType) -> None:
        self.add("function", function.__qualname__)
        names = self.read_code(function.__code__)
        self.read(function.__defaults__ or (), names)
        self.read(tuple(cell.cell_contents for cell in function.__closure__ or ()), names)
        for name in names:
            if name in function.__globals__:
                self.add("global", name)
                self.read(function.__globals__[name], names)

    def read_code(self, code: CodeType) -> tuple[str, ...]:
        """Add bytecode and constants; return the names that it looks up."""
        self.add("code", code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
        names = code.co_names
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                names += self.read_code(constant)
            else:
                self.read(constant, names)
        return names
