"""The two tile sets, their numbers and names.

Tiles are numbered lexicographically with the low pip first (0-0 = 0, 0-1 = 1, ... in the double-nine set; 0-1 = 0,
0-2 = 1, ... in the double-six set without doubles).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["DOUBLE_NINE", "DOUBLE_SIX_WITHOUT_DOUBLES", "TileSet"]


@dataclass(frozen=True, eq=False)
class TileSet:
    """A set of domino tiles with the lookup tables that kernels and drawings share.

    Attributes:
        max_pip: highest pip value.
        low: ``int8 (num_tiles,)``, the smaller pip of each tile.
        high: ``int8 (num_tiles,)``, the larger pip of each tile.
        number: ``int8 (max_pip + 1, max_pip + 1)``, symmetric; the tile with these two pips, -1 where the set has none.
        names: ``"3-5"`` for each tile.
    """

    max_pip: int
    low: NDArray[np.int8]
    high: NDArray[np.int8]
    number: NDArray[np.int8]
    names: tuple[str, ...]

    @property
    def num_tiles(self) -> int:
        """Number of tiles in the set."""
        return len(self.names)

    def __reduce__(self) -> str:
        return "DOUBLE_NINE" if self.max_pip == 9 else "DOUBLE_SIX_WITHOUT_DOUBLES"


def _tile_set(max_pip: int, doubles: bool) -> TileSet:
    pairs = [(a, b) for a in range(max_pip + 1) for b in range(a if doubles else a + 1, max_pip + 1)]
    number = np.full((max_pip + 1, max_pip + 1), -1, dtype=np.int8)
    for tile, (a, b) in enumerate(pairs):
        number[a, b] = number[b, a] = tile
    low, high = (np.array(half, dtype=np.int8) for half in zip(*pairs, strict=True))
    for table in (low, high, number):
        table.setflags(write=False)
    return TileSet(max_pip, low, high, number, tuple(f"{a}-{b}" for a, b in pairs))


DOUBLE_NINE = _tile_set(9, doubles=True)
DOUBLE_SIX_WITHOUT_DOUBLES = _tile_set(6, doubles=False)
