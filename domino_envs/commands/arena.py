"""``domino-envs arena``: a round robin between agents, with points, a crosstable and Elo ratings."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..agents import MODES
from ..arena import Result, load, resume, round_robin
from ..arena.tournament import available_cores
from ..games import game_names

__all__ = ["add_arguments", "run"]

_DEALS = 200
_INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``domino-envs arena``."""
    parser.epilog = (
        "Example: domino-envs arena domaster random greedy search:100 search:1000 --deals 200 --save ladder.jsonl. "
        "Ctrl-C keeps what has been played; with --save, --resume goes on from it."
    )
    parser.add_argument(
        "game", nargs="?", choices=game_names(), metavar="GAME", help=f"one of {', '.join(game_names())}"
    )
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="two or more, as 'domino-envs agents' lists them")
    parser.add_argument(
        "--deals", type=int, help=f"deals that each two agents play, each twice with seats exchanged (default {_DEALS})"
    )
    parser.add_argument("--seed", type=int, default=0, help="decides deals and the agents' choices (default 0)")
    parser.add_argument("--episode", help="what one game is: deal, match, or in mate set (default: deal, in mate set)")
    parser.add_argument("--mode", choices=MODES, default="best", help="how agents choose (default best)")
    parser.add_argument(
        "--clock", metavar="SECONDS+INCREMENT", help="chess clock for each player and deal, such as 60+0.5"
    )
    parser.add_argument(
        "--workers", type=int, default=available_cores(), help="processes (default: the cores there are, %(default)s)"
    )
    files = parser.add_mutually_exclusive_group()
    files.add_argument("--save", type=Path, metavar="FILE", help="write every game to this new file, as it is finished")
    files.add_argument("--resume", type=Path, metavar="FILE", help="go on from this file; --deals may ask for more")
    files.add_argument("--rescore", type=Path, metavar="FILE", help="replay the games in this file, and play none")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def _play(args: argparse.Namespace) -> Result:
    if args.resume is None and args.rescore is None:
        if args.game is None:
            raise ValueError("name a game and at least two agents, or a file to --resume or --rescore")
        return round_robin(
            args.game,
            args.agents,
            deals=_DEALS if args.deals is None else args.deals,
            seed=args.seed,
            episode=args.episode,
            mode=args.mode,
            clock=args.clock,
            workers=args.workers,
            progress=True,
            path=args.save,
        )
    if args.game is not None:
        raise ValueError("--resume and --rescore take game and agents from the file: name none")
    if args.rescore is not None:
        return load(args.rescore, check=True)
    return resume(args.resume, deals=args.deals, workers=args.workers, progress=True)


def run(args: argparse.Namespace) -> int:
    """Play, and print the results."""
    result = _play(args)
    if args.json:
        print(json.dumps(result.as_json(), indent=2))
    elif result.games:
        print(result.table())
    if result.complete or args.rescore is not None:
        return 0
    path = args.save or args.resume
    print(f"interrupted; go on with: domino-envs arena --resume {path}" if path else "interrupted", file=sys.stderr)
    return _INTERRUPTED
