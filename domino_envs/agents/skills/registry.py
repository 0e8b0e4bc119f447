"""What agents know of a game beyond its rules: optional kernels by record type, each with a fallback for any game.

As in :mod:`domino_envs.games.kernels`, loops over ``states[k]`` written with the generic names are ordinary compiled
functions; the type of the record decides which kernel they call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
from numba.extending import overload

from ...bits import random_below
from ...games.kernels import moves, play
from ...jit import depends_on, int64, kernel

__all__ = ["CERTAIN", "LOSES", "WINS", "Skills", "add_skills", "assess", "has_skill", "rate", "resample", "rollout"]

#: Ratings of an action that wins the deal at once, and of one that lets the opponent do so.
WINS, LOSES = 1e6, -1e6
#: Least rating of an action after which the mover wins for certain before the other is to move.
CERTAIN = WINS / 4


@dataclass(frozen=True)
class Skills:
    """Optional kernels of a game; None for the fallback. ``state`` is its record, passed by reference.

    Attributes:
        rate: ``(state, actions, count, ratings, spare)``: rate the first ``count`` of the legal ``actions`` for the
            mover, higher is better: :data:`WINS` plus something for one that wins the deal at once, :data:`LOSES` plus
            something for one that lets the opponent do so; see also :data:`CERTAIN`. It may use nothing that the mover
            cannot know. ``spare`` are two more records to try moves on.
        rollout: ``(state, rngs, lane, actions)``: play the deal to its end, quickly: at random, but
            taking a win at once where that is seen.
        assess: ``(state) -> estimate``: what the running deal is likely to bring the mover, from -1 to 1, at little
            cost; exactly 1 or -1 only where that is certain. Not for games in which the points of a deal differ.
        resample: ``(state, seat, rngs, lane)``: replace what the seat cannot know by a random choice of what it may
            be. Games of perfect information do not need it.
    """

    rate: Callable[..., Any] | None = None
    rollout: Callable[..., Any] | None = None
    assess: Callable[..., Any] | None = None
    resample: Callable[..., Any] | None = None


_BY_DTYPE: dict[Any, Skills] = {}
_BY_TYPE: dict[Any, Skills] = {}


def add_skills(dtype: Any, skills: Skills) -> None:
    """Make agents use these kernels for records of this dtype; before anything is compiled for it."""
    _BY_DTYPE[dtype] = skills
    record_type = numba.from_dtype(dtype)
    _BY_TYPE[record_type] = skills
    depends_on(record_type, filter(None, vars(skills).values()))


def has_skill(dtype: Any, name: str) -> bool:
    """Whether the game with this record dtype has a kernel of its own."""
    return getattr(_BY_DTYPE.get(dtype), name, None) is not None


@kernel
def _wins_now(state: Any, actions: Any, spare: Any) -> bool:
    """Whether the mover can win the deal with one action."""
    mover = state["mover"]
    for i in range(moves(state, actions)):
        spare[0] = state
        play(spare[0], int64(actions[i]))
        if spare[0]["deal_over"] and spare[0]["winners"][spare[0]["finished"] - 1] == mover:
            return True
    return False


@kernel
def _rate_any(state: Any, actions: Any, count: int, ratings: Any, spare: Any) -> None:
    replies = actions[count:]
    for i in range(count):
        spare[0] = state
        child = spare[0]
        play(child, int64(actions[i]))
        ratings[i] = 0.0
        if child["deal_over"]:
            winner = child["winners"][child["finished"] - 1]
            points = child["points"][child["finished"] - 1]
            if winner == state["mover"]:
                ratings[i] = WINS + points
            elif winner >= 0:
                ratings[i] = LOSES - points
        elif child["mover"] != state["mover"] and _wins_now(child, replies, spare[1:]):
            ratings[i] = LOSES


@kernel
def _rollout_any(state: Any, rngs: Any, lane: int, actions: Any) -> None:
    while not state["deal_over"]:
        play(state, int64(actions[random_below(rngs, lane, moves(state, actions))]))


@kernel
def _assess_nothing(state: Any) -> float:
    return 0.0


@kernel
def _resample_nothing(state: Any, seat: int, rngs: Any, lane: int) -> None:
    pass


_FALLBACKS: dict[str, Callable[..., Any]] = {
    "rate": _rate_any,
    "rollout": _rollout_any,
    "assess": _assess_nothing,
    "resample": _resample_nothing,
}


def _skill(skills: Skills | None, name: str) -> Callable[..., Any]:
    chosen: Callable[..., Any] | None = getattr(skills, name, None)
    return chosen or _FALLBACKS[name]


def rate(state: Any, actions: Any, count: int, ratings: Any, spare: Any) -> None:
    """Rate legal actions for the mover; see :class:`Skills`. ``actions`` has room for twice the action space."""
    _skill(_BY_DTYPE.get(state.dtype), "rate")(state, actions, count, ratings, spare)


def rollout(state: Any, rngs: Any, lane: int, actions: Any) -> None:
    """Play the deal to its end at random."""
    _skill(_BY_DTYPE.get(state.dtype), "rollout")(state, rngs, lane, actions)


def assess(state: Any) -> float:
    """Estimate the deal's result for the mover."""
    return float(_skill(_BY_DTYPE.get(state.dtype), "assess")(state))


def resample(state: Any, seat: int, rngs: Any, lane: int) -> None:
    """Replace what the seat cannot know."""
    _skill(_BY_DTYPE.get(state.dtype), "resample")(state, seat, rngs, lane)


# Numba wants the typing function's signature to equal that of the implementation, so these have no annotations.


@overload(rate)
def _rate(state, actions, count, ratings, spare):  # type: ignore[no-untyped-def]
    compiled = _skill(_BY_TYPE.get(state), "rate")
    return lambda state, actions, count, ratings, spare: compiled(state, actions, count, ratings, spare)


@overload(rollout)
def _rollout(state, rngs, lane, actions):  # type: ignore[no-untyped-def]
    compiled = _skill(_BY_TYPE.get(state), "rollout")
    return lambda state, rngs, lane, actions: compiled(state, rngs, lane, actions)


@overload(assess)
def _assess(state):  # type: ignore[no-untyped-def]
    compiled = _skill(_BY_TYPE.get(state), "assess")
    return lambda state: compiled(state)


@overload(resample)
def _resample(state, seat, rngs, lane):  # type: ignore[no-untyped-def]
    compiled = _skill(_BY_TYPE.get(state), "resample")
    return lambda state, seat, rngs, lane: compiled(state, seat, rngs, lane)
