"""Skills in Mate."""

from __future__ import annotations

from typing import Any

from ...bits import bit_count, trailing_zeros
from ...games.kernels import play
from ...games.mate import HIGH, LOW, STATE, TILES_WITH_PIP
from ...jit import int64, kernel
from .registry import LOSES, WINS, Skills, add_skills

__all__: list[str] = []


@kernel
def _rate(state: Any, actions: Any, count: int, ratings: Any, spare: Any) -> None:
    """Win the most points at once; else leave the opponent few replies, and answers to each of them."""
    mover = int64(state["mover"])
    for i in range(count):
        spare[0] = state
        child = spare[0]
        play(child, int64(actions[i]))
        if child["deal_over"]:
            ratings[i] = WINS + child["points"][child["finished"] - 1]
            continue
        hand = int64(child["hands"][mover])
        pip = child["open_pip"]
        replies = int64(child["hands"][1 - mover]) & TILES_WITH_PIP[pip]
        ratings[i] = -float(bit_count(replies))
        fewest = 7
        loss = 0
        while replies:
            tile = trailing_zeros(replies)
            replies &= replies - 1
            answers = bit_count(hand & TILES_WITH_PIP[LOW[tile] + HIGH[tile] - pip])
            fewest = min(fewest, answers)
            if answers == 0:
                loss = max(loss, (int64(child["count"]) + 1) * int64(LOW[tile] + HIGH[tile]))
        if loss:
            ratings[i] = LOSES - loss
        else:
            ratings[i] += 0.5 * fewest


add_skills(STATE, Skills(rate=_rate))
