"""``domino-envs bench``: how fast the environments are, beside their peers in the same run."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..bench.plan import make_plan, run_plan
from ..bench.report import as_json, describe_machine, machine_text, tables
from ..games import game_names

__all__ = ["add_arguments", "run"]

_SECONDS = 2.0
_QUICK_SECONDS = 0.3
_INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``domino-envs bench``."""
    parser.epilog = (
        "Figures are medians of several repeats; measure on an idle machine. Peers that are not installed are left "
        "out: pip install 'domino_envs[bench]' brings them, 'domino_envs[train]' the learner. Ctrl-C shows what has "
        "been measured."
    )
    parser.add_argument(
        "--games",
        nargs="+",
        choices=game_names(),
        default=list(game_names()),
        metavar="GAME",
        help=f"games to measure (default all: {', '.join(game_names())})",
    )
    parser.add_argument(
        "--peers", action=argparse.BooleanOptionalAction, default=True, help="measure other projects' games too"
    )
    parser.add_argument(
        "--seconds", type=float, help=f"for each speed (default {_SECONDS}, or {_QUICK_SECONDS} if quick)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer repeats and sizes, no training, no first compilation"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every repeat to this file; - for the output")


def run(args: argparse.Namespace) -> int:
    """Measure and print the tables."""
    seconds = (_QUICK_SECONDS if args.quick else _SECONDS) if args.seconds is None else args.seconds
    if not 0 < seconds < float("inf"):
        raise ValueError(f"--seconds must be a number above 0, got {args.seconds}")
    to_output = args.json is not None and str(args.json) == "-"
    if args.json is not None and not to_output:
        args.json.touch()  # a wrong path fails now, not after minutes
    machine = describe_machine()
    measurements = make_plan(args.games, peers=args.peers, seconds=seconds, quick=args.quick)
    status = 0
    try:
        run_plan(measurements, lambda text: print(text, file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        status = _INTERRUPTED
        measurements = [m for m in measurements if m.values or m.error]
    results = json.dumps(as_json(machine, measurements), indent=2)
    if to_output:
        print(results)
    else:
        print(f"{machine_text(machine)}\n\n{tables(measurements)}")
        if args.json is not None:
            args.json.write_text(results + "\n", encoding="utf-8")
    return status
