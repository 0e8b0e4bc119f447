"""``domino-envs agents``: who there is to play against, and how they are named."""

from __future__ import annotations

import argparse
import json

from ..agents import AGENT_KINDS
from ..policies import shipped_policies

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``domino-envs agents``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Print the kinds of agents, and the policies that come with the package."""
    names = [f"policy:{name}" for name in shipped_policies()]
    if args.json:
        kinds = [{"name": name, "usage": kind.usage, "help": kind.help} for name, kind in AGENT_KINDS.items()]
        print(json.dumps({"agents": kinds, "policies": names}, indent=2))
        return 0
    width = max(len(kind.usage) for kind in AGENT_KINDS.values())
    for kind in AGENT_KINDS.values():
        print(f"{kind.usage:{width}}  {kind.help}")
    if names:
        print(f"\nPolicies that come with the package: {', '.join(names)}")
    return 0
