"""What the tests of the reference implementation share: tiles by name, moves by notation, means of samples."""

from __future__ import annotations

import math
import random
from typing import Any

from . import DOUBLE_NINE, DOUBLE_SIX_NO_DOUBLES


def nine(name: str) -> int:
    return DOUBLE_NINE.index((int(name[0]), int(name[2])))


def six(name: str) -> int:
    return DOUBLE_SIX_NO_DOUBLES.index((int(name[0]), int(name[2])))


def sixes(names: str) -> list[int]:
    return [six(name) for name in names.split()]


def shuffled(rng: random.Random, size: int) -> list[int]:
    return rng.sample(range(size), size)


def notations(game: Any) -> set[str]:
    return {game.notation(action) for action in game.legal_actions()}


def play(game: Any, *names: str) -> None:
    for name in names:
        game.play(next(action for action in game.legal_actions() if game.notation(action) == name))


def assert_mean(values: list[float], expected: float, rounding: float) -> None:
    """The sample's mean lies within 4 standard errors (and the rounding) of the expected value."""
    mean = sum(values) / len(values)
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    assert error > 0
    assert abs(mean - expected) <= 4 * error + rounding, (mean, error, expected)
