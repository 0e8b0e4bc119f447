"""The environments' names in the registries of Gymnasium and PettingZoo."""

from __future__ import annotations

import gymnasium

__all__ = ["GYMNASIUM_NAMES", "NAMESPACE", "register_all"]

NAMESPACE = "domino_envs"

#: Name in Gymnasium's registry, without namespace and version, by the game's own.
GYMNASIUM_NAMES = {
    "domaster": "Domaster",
    "five_bridges": "FiveBridges",
    "mate": "Mate",
    "third_level": "ThirdLevel",
}


def register_all() -> None:
    """Enter the environments in both registries; a second call changes nothing.

    The entries name modules that are imported when an environment is made, so this loads no rules and compiles nothing.
    """
    for game, name in GYMNASIUM_NAMES.items():
        name = f"{NAMESPACE}/{name}-v0"
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="domino_envs.single:DominoSinglePlayerEnv",
                vector_entry_point="domino_envs.vector:DominoVectorEnv",
                kwargs={"game": game},
            )
    try:
        from pettingzoo import aec_registry, register
    except ImportError:  # PettingZoo before its registry
        return
    for game in GYMNASIUM_NAMES:
        if f"{NAMESPACE}/{game}-v0" not in aec_registry:  # how it writes the id {NAMESPACE}/{game}_v0
            register("aec", f"{NAMESPACE}/{game}_v0", entry_point=f"domino_envs.{game}_v0:env")
