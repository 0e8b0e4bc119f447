"""Reinforcement-learning environments for three unusual two-player domino games.

Importing the package registers its environments with Gymnasium (``domino_envs/Mate-v0`` ...) and PettingZoo
(``domino_envs/mate_v0`` ...); the rules are loaded when an environment is made. ``domino_envs.load_policy`` loads a
saved policy to play.
"""

from typing import TYPE_CHECKING, Any

from .registration import register_all

if TYPE_CHECKING:
    from .policies import load_policy

__all__ = ["__version__", "load_policy"]
__version__ = "0.1.0"

register_all()


def __getattr__(name: str) -> Any:
    if name == "load_policy":  # imported when first used: the environments alone need nothing of it
        from .policies import load_policy

        return load_policy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
