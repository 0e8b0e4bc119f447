"""The named parts of a flat int8 vector: one shape of observation for every game."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Field", "Layout"]


@dataclass(frozen=True)
class Field:
    """One named part of a vector.

    Attributes:
        name: what the numbers are.
        shape: shape of the decoded part.
        low: smallest value that occurs.
        high: largest value that occurs.
        meaning: one line for the environment's page.
    """

    name: str
    shape: tuple[int, ...]
    low: int
    high: int
    meaning: str

    @property
    def size(self) -> int:
        """Number of components."""
        return math.prod(self.shape)


class Layout:
    """The fields of a flat ``int8`` vector in their order.

    >>> layout = Layout([Field("hand", (21,), 0, 1, "tiles in hand"), Field("deal", (), 0, 3, "number of the deal")])
    >>> layout.size, layout.slices["deal"]
    (22, slice(21, 22, None))
    """

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        starts = np.cumsum([0, *(field.size for field in self.fields)]).tolist()
        self.size: int = starts[-1]
        self.slices: dict[str, slice] = {
            field.name: slice(a, b) for field, a, b in zip(self.fields, starts[:-1], starts[1:], strict=True)
        }

    @cached_property
    def low(self) -> NDArray[np.int8]:
        """Smallest values, ``int8 (size,)``."""
        return np.repeat([f.low for f in self.fields], [f.size for f in self.fields]).astype(np.int8)

    @cached_property
    def high(self) -> NDArray[np.int8]:
        """Largest values, ``int8 (size,)``."""
        return np.repeat([f.high for f in self.fields], [f.size for f in self.fields]).astype(np.int8)

    def decode(self, vector: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Split vectors of shape ``(..., size)`` into named views of shape ``(..., *field.shape)``.

        Raises:
            ValueError: if the last axis has not this layout's size.
        """
        if vector.shape[-1:] != (self.size,):
            raise ValueError(f"expected vectors of {self.size} components, got an array of shape {vector.shape}")
        return {
            field.name: vector[..., self.slices[field.name]].reshape(vector.shape[:-1] + field.shape)
            for field in self.fields
        }

    def start(self, name: str) -> int:
        """Return the index of a field's first component."""
        return int(self.slices[name].start)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.fields)

    def __repr__(self) -> str:
        return f"Layout({', '.join(f.name + str(list(f.shape)) for f in self.fields)})"
