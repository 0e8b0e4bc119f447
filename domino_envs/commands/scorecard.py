"""``domino-envs scorecard``: one page on one agent, by a fixed protocol."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..agents import MODES
from ..arena import scorecard
from ..arena.tournament import available_cores
from ..games import game_names

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``domino-envs scorecard``."""
    parser.epilog = "Example: domino-envs scorecard mate policy:my_policy.onnx --save card.json."
    parser.add_argument("game", choices=game_names(), metavar="GAME", help=f"one of {', '.join(game_names())}")
    parser.add_argument("agent", metavar="AGENT", help="as 'domino-envs agents' lists them")
    parser.add_argument("--mode", choices=MODES, default="best", help="how it chooses (default best)")
    parser.add_argument(
        "--workers", type=int, default=available_cores(), help="processes (default: the cores there are, %(default)s)"
    )
    parser.add_argument("--deals", type=int, help="for a quick look: fewer deals than the protocol's")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the card as JSON")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(args: argparse.Namespace) -> int:
    """Measure the agent and print its card."""
    card = scorecard(args.game, args.agent, mode=args.mode, workers=args.workers, progress=True, deals=args.deals)
    if args.save is not None:
        card.save(args.save)
    print(json.dumps(card.as_json(), indent=1) if args.json else card.table())
    return 0
