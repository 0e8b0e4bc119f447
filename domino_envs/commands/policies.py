"""``domino-envs policies``: the saved policies that come with the package, or others, after checking their files."""

from __future__ import annotations

import argparse
import json
from typing import Any

from ..arena.tables import format_table
from ..policies import PolicyFiles, read_policy, shipped_policies

__all__ = ["add_arguments", "describe_policy", "run"]


def describe_policy(source: str) -> dict[str, Any]:
    """Return the facts of a policy that the table shows, ready for JSON.

    Raises:
        PolicyError: if its files are missing, altered or malformed.
    """
    files = read_policy(source)
    card = files.card
    elo = _get(card, "scorecard", "elo", "value")
    return {
        "name": source,
        "game": files.game.name,
        "parameters": dict(files.game.parameters),
        "elo": elo if isinstance(elo, (int, float)) else None,
        "num_parameters": card.get("num_parameters"),
        "bytes": _size(files),
        "plies": _get(card, "training", "plies"),
        "created": card.get("created"),
        "licence": card.get("licence"),
    }


def _get(card: Any, *path: str) -> Any:
    """Return what lies at this path of a card, which may hold anything there; None if nothing does."""
    for key in path:
        card = card.get(key) if isinstance(card, dict) else None
    return card


def _size(files: PolicyFiles) -> dict[str, int]:
    return {"onnx": len(files.graph), "safetensors": len(files.weights)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``domino-envs policies``."""
    parser.epilog = "Example: domino-envs policies runs/mate. A policy NAME plays as policy:NAME wherever agents do."
    parser.add_argument(
        "policies", nargs="*", metavar="POLICY", help="names or paths (default: all that come with the package)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Print the policies."""
    found = [describe_policy(source) for source in args.policies or shipped_policies()]
    if args.json:
        print(json.dumps(found, indent=2))
        return 0
    if not found:
        print("no policies come with this version; training/train.py makes some")
        return 0
    header = ("policy", "game", "Elo", "weights", "ONNX KiB", "plies trained", "made")
    rows = [
        (
            one["name"],
            one["game"] + "".join(f" {name}={value}" for name, value in one["parameters"].items()),
            *(_number(one[key]) for key in ("elo", "num_parameters")),
            _number(one["bytes"]["onnx"] / 1024),
            _number(one["plies"]),
            str(one["created"] or "-"),
        )
        for one in found
    ]
    print(format_table(header, rows, left=2))
    return 0


def _number(value: Any) -> str:
    return f"{value:,.0f}" if isinstance(value, (int, float)) else "-"
