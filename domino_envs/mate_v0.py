"""Mate."""

from __future__ import annotations

from .aec import DominoEnv
from .games import get_game
from .guard import GuardWrapper

__all__ = ["env", "raw_env"]


def raw_env(*, episode: str = "match", reward: str = "win", render_mode: str | None = None) -> DominoEnv:
    """Return the environment without the wrapper: an illegal action is a ``ValueError``."""
    return DominoEnv(get_game("mate"), episode=episode, reward=reward, render_mode=render_mode)


def env(*, episode: str = "match", reward: str = "win", render_mode: str | None = None) -> GuardWrapper:
    """Return the wrapped environment: an illegal action ends the episode, -1 to +1."""
    return GuardWrapper(raw_env(episode=episode, reward=reward, render_mode=render_mode))
