"""``domino-envs games``: what there is to play, and how it is called where."""

from __future__ import annotations

import argparse
import importlib.util
import json
from typing import Any

import gymnasium

from ..games import game_names, get_game

__all__ = ["add_arguments", "describe_games", "run"]


def _gymnasium_id(name: str) -> str | None:
    wanted = name.replace("_", "")
    for env_id, spec in gymnasium.registry.items():
        if spec.namespace == "domino_envs" and spec.name.lower() == wanted:
            return str(env_id)
    return None


def describe_games() -> list[dict[str, Any]]:
    """Return the facts of each game that the table shows, ready for JSON."""
    games = []
    for name in game_names():
        game = get_game(name)
        module = f"domino_envs.{name}_v0"
        games.append(
            {
                "name": name,
                "title": game.title,
                "pettingzoo": module if importlib.util.find_spec(module) else None,
                "gymnasium": _gymnasium_id(name),
                "observation": game.layout.size,
                "actions": game.num_actions,
                "episodes": dict(game.episodes),
            }
        )
    return games


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``domino-envs games``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Print the games."""
    games = describe_games()
    if args.json:
        print(json.dumps(games, indent=2))
        return 0
    header = ("game", "title", "PettingZoo", "Gymnasium", "observation", "actions", "episodes (deals)")
    rows = [
        (
            game["name"],
            game["title"],
            game["pettingzoo"] or "-",
            game["gymnasium"] or "-",
            f"int8 ({game['observation']},)",
            str(game["actions"]),
            ", ".join(f"{episode} ({deals})" for episode, deals in game["episodes"].items()),
        )
        for game in games
    ]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0
