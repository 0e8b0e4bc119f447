"""A saved policy as an opponent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..games import Game
from ..policies import PolicyError, SavedPolicy, load_policy
from .base import Agent

__all__ = ["PolicyAgent", "choose_from_logits"]


def choose_from_logits(
    logits: NDArray[np.float32], action_masks: NDArray[Any], rng: np.random.Generator | None
) -> NDArray[np.int64]:
    """Return an action for each row: drawn from the softmax over legal actions, or without a generator the best.

    Args:
        logits: ``float32 (n, num_actions)``.
        action_masks: ``(n, num_actions)``, non-zero where legal, in each row at least once.
        rng: draws, by the Gumbel trick (the largest of the logits with Gumbel noise: Gumbel 1954); None for the highest
            logit.
    """
    legal = action_masks.nonzero()  # of many actions few are legal: noise for those alone
    scores = np.full(logits.shape, -np.inf, dtype=np.float32)
    scores[legal] = logits[legal] if rng is None else logits[legal] + rng.gumbel(size=len(legal[0]))
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
        PolicyError: see :func:`domino_envs.policies.load_policy`; also if a loaded policy plays another game.
        ModuleNotFoundError: without ONNX Runtime.
    """

    def __init__(
        self, game: Game, source: str | Path | SavedPolicy, *, seed: int | None = None, mode: str = "sample"
    ) -> None:
        super().__init__(game, seed=seed, mode=mode)
        if isinstance(source, SavedPolicy):
            if source.game is not game:
                raise PolicyError(f"the policy {source.name} plays {source.game}, not {game}")
            self.policy = source
        else:
            self.policy = load_policy(source, game)
        self.name = f"policy:{source.name if isinstance(source, SavedPolicy) else source}"

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Evaluate the whole batch in one call and choose."""
        logits, _ = self.policy.evaluate(observations, action_masks)
        return choose_from_logits(logits, action_masks, self.rng if self.mode == "sample" else None)

    def probabilities(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.float32]:
        """Return the softmax over the legal actions, ``float32 (n, game.num_actions)``."""
        return self.policy.probabilities(observations, action_masks)
