"""What several test files share: the games' names, random play, and the trace of an episode."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import domino_envs  # noqa: F401  # registers the environments
from domino_envs.registration import GYMNASIUM_NAMES

GAMES = ("mate", "domaster", "five_bridges", "third_level")


def face(game: str) -> Any:
    """The module ``domino_envs.<game>_v0``."""
    return importlib.import_module(f"domino_envs.{game}_v0")


def gym_id(game: str) -> str:
    """Its name in Gymnasium's registry."""
    return f"domino_envs/{GYMNASIUM_NAMES[game]}-v0"


def plain(result: tuple[Any, ...]) -> tuple[Any, ...]:
    """What ``reset()`` or ``step()`` of a Gymnasium environment returned, in plain Python, to compare."""
    observation, *rest, info = result
    return (observation.tolist(), *rest, {**info, "action_mask": info["action_mask"].tolist()})


def random_legal(mask: Any, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def first_legal(mask: Any, rng: Any = None) -> int:
    return int(np.flatnonzero(mask)[0])


def turns(env: Any, rng: np.random.Generator, choose: Callable[[Any, Any], int] = random_legal) -> Iterator[str]:
    """Play an episode that has been reset to its end, pausing before each decision; yields the agent to move."""
    while not env.terminations[env.agent_selection]:
        agent = env.agent_selection
        yield agent
        env.step(choose(env.observe(agent)["action_mask"], rng))


def play_on(env: Any, moves: int, seed: int = 0) -> None:
    """Make some random moves."""
    rng = np.random.default_rng(seed)
    for number, _ in enumerate(turns(env, rng)):
        if number == moves:
            return


def snapshot(env: Any) -> dict[str, Any]:
    """All that a PettingZoo environment shows, in plain Python, to compare."""
    return {
        "agents": list(env.agents),
        "agent": env.agent_selection,
        "rewards": dict(env.rewards),
        "terminations": dict(env.terminations),
        "truncations": dict(env.truncations),
        "infos": {agent: dict(info) for agent, info in env.infos.items()},
        "state": env.state().tolist(),
        "seen": {
            agent: {key: value.tolist() for key, value in env.observe(agent).items()} for agent in env.possible_agents
        },
    }


def trace(env: Any, episodes: int = 1, seed: int = 0) -> list[dict[str, Any]]:
    """Snapshots of random play from here to the end of the episode, and of further episodes after plain resets."""
    rng = np.random.default_rng(seed)
    found = []
    for episode in range(episodes):
        if episode:
            env.reset()
        found += [snapshot(env) for _ in turns(env, rng)]
        found.append(snapshot(env))
    return found
