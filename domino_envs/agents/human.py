"""A person at the terminal."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..games import SEATS
from .base import Agent

__all__ = ["HumanAgent", "Quit"]

_LISTED_AT_ONCE = 12  # moves; more are listed when asked for


class Quit(KeyboardInterrupt):
    """The person wants to stop: typed ``quit``, or closed the input."""


class HumanAgent(Agent):
    """Shows each position as its seat sees it and asks for a move, in notation or by its number.

    Raises:
        Quit: by :meth:`act` after ``quit`` or the end of the input. It is a ``KeyboardInterrupt``, so what stops at
            Ctrl-C stops at it.
    """

    name = "human"
    needs_states = True
    one_at_a_time = True

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Ask for a move in each position in turn."""
        states = self.checked_states(states, len(action_masks))
        return np.array([self._ask(states[row : row + 1]) for row in range(len(states))], dtype=np.int64)

    def _ask(self, state: NDArray[Any]) -> int:
        seat = int(state["mover"][0])
        legal = [int(action) for action in self.game.legal_actions(state)]
        moves = [self.game.notation(state, action) for action in legal]
        print(f"\n{self.game.text(state[0], seat)}")
        if len(moves) <= _LISTED_AT_ONCE:
            self._list(moves)
        while True:
            try:
                answer = " ".join(input(f"{SEATS[seat]}, your move (? lists all, quit ends): ").split())
            except EOFError:
                raise Quit("the input has ended") from None
            if answer in ("quit", "exit"):
                raise Quit("quit")
            if answer == "?":
                self._list(moves)
            elif answer in moves:
                return legal[moves.index(answer)]
            elif answer.isdecimal() and 1 <= int(answer) <= len(legal):
                return legal[int(answer) - 1]
            elif answer:
                print(f"{answer!r} is no legal move here; ? lists them")

    @staticmethod
    def _list(moves: list[str]) -> None:
        print("\n".join(f"{number:5}  {move}" for number, move in enumerate(moves, 1)))
