"""Repeated measurement of how often a thing can be done in a second."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["rates"]

_WARM_UP = 0.15  # share of the time that goes by before the first repeat


def rates(work: Callable[[], int], seconds: float, repeats: int) -> list[float]:
    """Call a function over and over and return how much it did per second in each repeat.

    Args:
        work: does a piece of work and returns how much that was (decisions). A piece should take more than some
            10 µs, or looking at the clock counts.
        seconds: for all repeats together, the warming-up included; each repeat has at least one piece.
        repeats: how many.
    """
    clock = time.perf_counter
    _until(work, clock() + _WARM_UP * seconds)
    found = []
    for _ in range(repeats):
        start = clock()
        done = _until(work, start + (1 - _WARM_UP) * seconds / repeats)
        found.append(done / (clock() - start))
    return found


def _until(work: Callable[[], int], end: float) -> int:
    done = work()
    while time.perf_counter() < end:
        done += work()
    return done
