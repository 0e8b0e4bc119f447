"""The one wrapper of ``env()``: order of calls, bounds and illegal actions, at a fraction of the usual cost."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from gymnasium.error import ResetNeeded
from pettingzoo.utils.env import AECIterable
from pettingzoo.utils.wrappers import BaseWrapper

from .aec import DominoEnv, IllegalAction, Observation

__all__ = ["GuardWrapper"]


class GuardWrapper(BaseWrapper[str, Observation, int]):
    """Gives the guarantees of PettingZoo's three standard wrappers.

    An illegal action ends the episode: -1 for the agent that took it, +1 for the other (PettingZoo's wrapper gives the
    other 0, so that the game is no longer zero-sum). An action outside of the action space, a step before ``reset()``
    or after the end, and a loop over ``agent_iter()`` without a step each raise an error.
    """

    env: DominoEnv

    def __init__(self, env: DominoEnv) -> None:
        super().__init__(env)
        self.last = env.last  # type: ignore[method-assign]  # no detour on the hot path

    @property
    def agents(self) -> list[str]:  # type: ignore[override]
        """Agents that are still in the episode."""
        return self.env.agents

    @property
    def agent_selection(self) -> str:  # type: ignore[override]
        """The agent to step."""
        return self.env.agent_selection

    def step(self, action: int | None) -> None:
        """Take an action; see the class for what an illegal one does, :meth:`DominoEnv.step` for the errors."""
        try:
            self.env.step(action)
        except IllegalAction as illegal:
            self.env.end_by_illegal_action(illegal.action)

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int]:
        """Iterate over the agents to step; each turn must call ``step()`` or ``reset()``."""
        if "agents" not in self.env.__dict__:
            raise ResetNeeded("agent_iter() before reset(): call reset() first")
        return _Turns(self.env, max_iter)

    def _repr_svg_(self) -> str | None:
        """The position as notebooks show it."""
        return self.env._repr_svg_()

    def clone(self) -> GuardWrapper:
        """Return an independent copy in the same position, random generator included."""
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> GuardWrapper:
        return GuardWrapper(copy.deepcopy(self.env, memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return GuardWrapper, (self.env,)

    def __str__(self) -> str:
        return str(self.env)


class _Turns(AECIterable[str, Observation, int]):
    def __iter__(self) -> Iterator[str]:  # type: ignore[override]
        env = self.env
        updates = -1
        for _ in range(self.max_iter):
            if not env.agents:
                return
            if env._updates == updates:
                raise AssertionError("need to call step() or reset() in a loop over agent_iter()")
            updates = env._updates
            yield env.agent_selection
