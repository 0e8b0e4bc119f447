"""The slow reference implementation itself: tile numbers, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference import DOUBLE_NINE, DOUBLE_SIX_NO_DOUBLES
from reference.domaster import ReferenceDomaster
from reference.mate import ReferenceMate
from reference.third_level import ReferenceThirdLevel


def test_tile_numbers() -> None:
    assert len(DOUBLE_NINE) == 55
    assert len(DOUBLE_SIX_NO_DOUBLES) == 21
    assert [DOUBLE_NINE[n] for n in (0, 1, 9, 10, 54)] == [(0, 0), (0, 1), (0, 9), (1, 1), (9, 9)]
    assert [DOUBLE_SIX_NO_DOUBLES[n] for n in (0, 1, 5, 6, 20)] == [(0, 1), (0, 2), (0, 6), (1, 2), (5, 6)]


@pytest.mark.parametrize(("make", "size"), [(ReferenceMate, 21), (ReferenceDomaster, 55), (ReferenceThirdLevel, 21)])
def test_what_is_refused(make: Callable[..., Any], size: int) -> None:
    good = list(range(size))
    for orders, opener, episode, message in (
        ([good[:-1]], 0, "deal", "permutation"),
        ([[0, *good[:-1]]], 0, "deal", "permutation"),
        ([[n + 1 for n in good]], 0, "deal", "permutation"),
        ([], 0, "deal", "needs 1 draw orders"),
        ([good], 2, "deal", "opener"),
        ([good], 0, "rubber", "episode"),
    ):
        with pytest.raises(ValueError, match=message):
            make(orders, opener, episode)
    game = make([good], 0, "deal")
    wrong = next(action for action in range(10_000) if action not in game.legal_actions())
    for call in (game.play, game.notation):
        with pytest.raises(ValueError, match="not legal now"):
            call(wrong)
