"""A saved policy as an opponent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..games import Game
from ..policies import SavedPolicy, load_policy
from .base import Agent

__all__ = ["PolicyAgent", "choose_from_logits"]


def choose_from_logits(
    logits: NDArray[np.float32], action_masks: NDArray[Any], rng: np.random.Generator | None
) -> NDArray[np.int64]:
    """Return an action for each row: drawn from the softmax over legal actions, or without a generator the best.

    Args:
        logits: ``float32 (n, num_actions)``.
        action_masks: ``(n, num_actions)``, non-zero where legal.
        rng: draws (by the Gumbel trick); None for the highest logit.
    """
    scores = np.where(action_masks != 0, logits, -np.inf)
    if rng is not None:
        scores += rng.gumbel(size=scores.shape)
    actions: NDArray[np.int64] = scores.argmax(axis=1)
    return actions


class PolicyAgent(Agent):
    """Plays a saved policy through ONNX Runtime: samples its moves (``"sample"``) or takes the likeliest (``"best"``).

    Args:
        game: the game to play.
        source: a policy's name or path, see :func:`domino_envs.policies.policy_paths`; or a loaded policy.
        seed: decides the draws.
        mode: ``"sample"`` or ``"best"``.

    Raises:
        PolicyError: see :func:`domino_envs.policies.load_policy`.
    """

    def __init__(self, game: Game, source: str | SavedPolicy, *, seed: int | None = None, mode: str = "sample") -> None:
        super().__init__(game, seed=seed, mode=mode)
        self.policy = source if isinstance(source, SavedPolicy) else load_policy(source, game)
        self.name = f"policy:{source if isinstance(source, str) else source.name}"

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Evaluate the whole batch in one call and choose."""
        logits, _ = self.policy.evaluate(observations, action_masks)
        return choose_from_logits(logits, action_masks, self.rng if self.mode == "sample" else None)

    def __deepcopy__(self, memo: dict[int, Any]) -> PolicyAgent:
        twin = PolicyAgent(self.game, self.policy, mode=self.mode)  # a session cannot be copied, only shared
        twin.rng.bit_generator.state = self.rng.bit_generator.state
        twin.name = self.name
        return twin
