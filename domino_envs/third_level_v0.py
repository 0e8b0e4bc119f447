"""Third Level."""

from __future__ import annotations

from .aec import DominoEnv
from .games import get_game
from .guard import GuardWrapper

__all__ = ["env", "raw_env"]


def raw_env(
    *,
    episode: str = "match",
    reward: str = "win",
    render_mode: str | None = None,
    hand_size: int = 3,
    board_size: int = 23,
) -> DominoEnv:
    """Return the environment without the wrapper: an illegal action is a ``ValueError``."""
    game = get_game("third_level", {"hand_size": hand_size, "board_size": board_size})
    return DominoEnv(game, episode=episode, reward=reward, render_mode=render_mode)


def env(
    *,
    episode: str = "match",
    reward: str = "win",
    render_mode: str | None = None,
    hand_size: int = 3,
    board_size: int = 23,
) -> GuardWrapper:
    """Return the wrapped environment: an illegal action ends the episode, -1 to +1."""
    return GuardWrapper(
        raw_env(episode=episode, reward=reward, render_mode=render_mode, hand_size=hand_size, board_size=board_size)
    )
