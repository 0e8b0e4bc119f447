"""What every opponent has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from operator import index
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..games import Game
from ..games.kernels import aligned

__all__ = ["MODES", "Agent", "CallableAgent"]

MODES = ("sample", "best")

#: ``(observation, action_mask) -> action`` for one position.
ActFunction = Callable[[NDArray[np.int8], NDArray[np.int8]], int]


class Agent(ABC):
    """An opponent: chooses legal actions for the players to move in a batch of positions.

    Attributes:
        name: how tables and records call it.
        game: the game that it plays.
        mode: ``"sample"`` draws from the agent's distribution, ``"best"`` takes its best action.
        needs_states: whether :meth:`act` needs the positions' records besides what the mover sees. No agent may use
            what the mover cannot know.
        one_at_a_time: whether it keeps something from one move of a game to the next (a search tree), or thinks by the
            clock, so that whoever plays many games lets it finish one before the next.

    Args:
        game: the game to play.
        seed: decides every random choice from here on; None for fresh entropy.
        mode: see above.
    """

    name: str = "agent"
    needs_states: ClassVar[bool] = False
    one_at_a_time: bool = False

    def __init__(self, game: Game, *, seed: int | None = None, mode: str = "sample") -> None:
        if mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
        self.game = game
        self.mode = mode
        self.reseed(seed)

    def reseed(self, seed: int | None) -> None:
        """Start the random choices anew."""
        self.rng = np.random.default_rng(seed)

    @abstractmethod
    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Return a legal action for each position.

        Args:
            observations: what each mover sees, ``int8 (n, game.layout.size)``.
            action_masks: ``int8 (n, game.num_actions)``, each with at least one legal action.
            states: the positions' records, ``(n,)``; may be None for agents that do not need them.

        Returns:
            Action numbers, ``int64 (n,)``.
        """

    def probabilities(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.floating[Any]]:
        """Return the distribution that mode ``"sample"`` draws from; arguments as in :meth:`act`.

        Returns:
            Floats ``(n, game.num_actions)``, 0 for illegal actions, each row summing to 1.

        Raises:
            NotImplementedError: by agents that do not know it.
        """
        raise NotImplementedError(f"{self.name} cannot tell its probabilities")

    def choose(self, probabilities: NDArray[Any]) -> NDArray[np.int64]:
        """Return an action for each row of weights ``(n, actions)``: drawn, or in mode ``"best"`` the first largest."""
        if self.mode == "best":
            return probabilities.argmax(axis=1)
        sums = probabilities.cumsum(axis=1, dtype=np.float64)
        drawn = self.rng.random(len(sums)) * sums[:, -1]
        return (sums > drawn[:, None]).argmax(axis=1)

    def checked_states(self, states: NDArray[Any] | None, count: int) -> NDArray[Any]:
        """Return the records given to :meth:`act`.

        Raises:
            ValueError: if they are missing, of another game, or not ``count``.
        """
        if states is None:
            raise ValueError(f"{self.name} needs the positions' records: pass states")
        if states.dtype != self.game.dtype or states.shape != (count,):
            raise ValueError(f"states must be {count} records of {self.game.name}, got {states.shape} {states.dtype}")
        return aligned(states, self.game.dtype)

    def act_one(
        self, observation: NDArray[np.int8], action_mask: NDArray[np.int8], state: NDArray[Any] | None = None
    ) -> int:
        """Return a legal action for one position (``state`` of shape ``(1,)``)."""
        return int(self.act(observation[None], action_mask[None], state)[0])

    def start_deal(self) -> None:
        """Told before each deal in single play (matches, Gymnasium): forget what was kept between moves."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} for {self.game.name}>"


class CallableAgent(Agent):
    """A function ``(observation, action_mask) -> action`` as an opponent."""

    def __init__(self, game: Game, function: ActFunction, *, seed: int | None = None, mode: str = "sample") -> None:
        super().__init__(game, seed=seed, mode=mode)
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Call the function for each position in turn.

        Raises:
            ValueError: if it returns no whole number.
        """
        pairs = zip(observations, action_masks, strict=True)
        return np.array([self._number(self.function(obs, mask)) for obs, mask in pairs], dtype=np.int64)

    def _number(self, action: Any) -> int:
        try:
            return index(action)
        except TypeError:
            raise ValueError(
                f"the opponent {self.name!r} must return the number of an action, got {action!r}"
            ) from None
