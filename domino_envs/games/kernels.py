"""The generic kernels: names that every layer above calls, resolved by the type of the state record.

A game registers its own kernels with :func:`register`. Loops over ``states[k]`` written with the generic names are then
ordinary compiled functions that Numba can cache, and work for every registered game.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from ..jit import depends_on, kernel

__all__ = ["HEADER", "MAX_DEALS", "NOBODY", "Kernels", "aligned", "deal", "describe", "finish_deal", "moves", "observe",
           "play", "record_dtype", "register", "reveal"]  # fmt: skip

MAX_DEALS = 5
NOBODY = -1

#: Fields that the record of every game starts with.
HEADER: list[Any] = [
    ("mover", np.int8),  # seat to move
    ("opener", np.int8),  # seat that opened this deal
    ("deal", np.int8),  # number of this deal, from 0
    ("deals", np.int8),  # deals in the episode
    ("deals_per_order", np.int8),  # deals laid out from one draw order
    ("shuffles", np.int8),  # draw orders used so far
    ("deal_over", np.int8),
    ("over", np.int8),  # the episode is over
    ("finished", np.int8),  # deals finished, and their results:
    ("winners", np.int8, (MAX_DEALS,)),  # seat or NOBODY
    ("points", np.int16, (MAX_DEALS,)),
    ("scores", np.int16, (2,)),  # sum of the points by seat
    ("ply", np.int16),  # actions taken in this deal
    ("last_action", np.int32),  # -1 before the first of the deal
    ("last_mover", np.int8),
]


@dataclass(frozen=True)
class Kernels:
    """A game's compiled rules. ``state`` is its record, passed by reference.

    Attributes:
        deal: ``(state, order)``: lay out deal ``state["deal"]`` with ``state["opener"]`` to move; ``order`` is a draw
            order (``int8``), ignored when the deal needs none. May finish the deal at once.
        moves: ``(state, actions) -> count``: write the legal action numbers in ascending order.
        describe: ``(state, action) -> code``: what the action (legal or not) is, apart from the position, as a
            non-negative number below 2**40, which ``Game.move_text`` turns into notation.
        play: ``(state, action)``: take a legal action and whatever follows without a choice, up to the deal's end.
        observe: ``(state, seat, vector)``: write what the seat may know.
        reveal: ``(state, vector)``: write what nobody may know of the two seats, for the full-information state.
    """

    deal: Callable[..., Any]
    moves: Callable[..., Any]
    describe: Callable[..., Any]
    play: Callable[..., Any]
    observe: Callable[..., Any]
    reveal: Callable[..., Any]


class _ByDtype(dict[Any, Kernels]):
    def __missing__(self, dtype: Any) -> Kernels:
        raise ValueError(
            f"no game has records of dtype {dtype}: positions are arrays of records, shape (n,), not single"
        )


_BY_DTYPE = _ByDtype()
_BY_TYPE: dict[Any, Kernels] = {}


def record_dtype(own_fields: Sequence[Any]) -> np.dtype[Any]:
    """Return the dtype of a game's record: :data:`HEADER`, then these fields, as ``np.dtype`` takes them.

    What is compiled stays compiled, so changed rules need a record of another type. If there is one with these fields
    already (a notebook's cell has been run again), the new one gets a field more.
    """
    dtype = np.dtype([*HEADER, *own_fields], align=True)
    again = 1
    while dtype in _BY_DTYPE:
        again += 1
        dtype = np.dtype([*HEADER, *own_fields, (f"defined_{again}_times", np.int8)], align=True)
    return dtype


def aligned(states: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return records as the kernels take them: those read from NumPy's files are not marked as aligned."""
    return states if states.dtype.isalignedstruct else states.view(dtype)


def register(dtype: Any, kernels: Kernels) -> None:
    """Make the generic kernels work for records of this dtype.

    Raises:
        ValueError: if the dtype has other kernels already.
    """
    if _BY_DTYPE.get(dtype, kernels) != kernels:
        raise ValueError(
            "records of this dtype have kernels already, which stay compiled as they are: "
            "make a new one with record_dtype() first"
        )
    _BY_DTYPE[dtype] = kernels
    record_type = numba.from_dtype(dtype)
    _BY_TYPE[record_type] = kernels
    depends_on(record_type, (getattr(kernels, field.name) for field in fields(kernels)))


def _kernel(state_type: Any, name: str) -> Callable[..., Any] | None:
    return getattr(_BY_TYPE.get(state_type), name, None)


def deal(state: Any, order: Any) -> None:
    """Lay out the deal ``state["deal"]``."""
    _BY_DTYPE[state.dtype].deal(state, order)


def moves(state: Any, actions: Any) -> int:
    """Write the legal actions in ascending order and return their number."""
    return int(_BY_DTYPE[state.dtype].moves(state, actions))


def describe(state: Any, action: int) -> int:
    """Return the code of an action, which ``Game.move_text`` turns into notation."""
    return int(_BY_DTYPE[state.dtype].describe(state, action))


def play(state: Any, action: int) -> None:
    """Take a legal action."""
    _BY_DTYPE[state.dtype].play(state, action)


def observe(state: Any, seat: int, vector: Any) -> None:
    """Write the observation of a seat."""
    _BY_DTYPE[state.dtype].observe(state, seat, vector)


def reveal(state: Any, vector: Any) -> None:
    """Write what is hidden from both seats."""
    _BY_DTYPE[state.dtype].reveal(state, vector)


# Numba wants the typing function's signature to equal that of the implementation, so these have no annotations.


@overload(deal)
def _deal(state, order):  # type: ignore[no-untyped-def]
    compiled = _kernel(state, "deal")
    return compiled and (lambda state, order: compiled(state, order))


@overload(moves)
def _moves(state, actions):  # type: ignore[no-untyped-def]
    compiled = _kernel(state, "moves")
    return compiled and (lambda state, actions: compiled(state, actions))


@overload(describe)
def _describe(state, action):  # type: ignore[no-untyped-def]
    compiled = _kernel(state, "describe")
    return compiled and (lambda state, action: compiled(state, action))


@overload(play)
def _play(state, action):  # type: ignore[no-untyped-def]
    compiled = _kernel(state, "play")
    return compiled and (lambda state, action: compiled(state, action))


@overload(observe)
def _observe(state, seat, vector):  # type: ignore[no-untyped-def]
    compiled = _kernel(state, "observe")
    return compiled and (lambda state, seat, vector: compiled(state, seat, vector))


@overload(reveal)
def _reveal(state, vector):  # type: ignore[no-untyped-def]
    compiled = _kernel(state, "reveal")
    return compiled and (lambda state, vector: compiled(state, vector))


@kernel
def finish_deal(state: Any, winner: int, points: int) -> None:
    """Record the result of the running deal: the winner's seat (or NOBODY) and the points it is worth."""
    state["winners"][state["finished"]] = winner
    state["points"][state["finished"]] = points
    if winner >= 0:
        state["scores"][winner] += points
    state["finished"] += 1
    state["deal_over"] = 1
