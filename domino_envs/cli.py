"""The command line ``domino-envs``: a thin front over one module per command.

A command is a module with two functions, ``add_arguments(parser)`` and ``run(args) -> int`` (the exit status), and a
line in :data:`COMMANDS`. Only the chosen command's module is imported, so ``--help`` is quick and no command waits for
another's libraries. For bad input a command raises ``ValueError`` (or lets an ``OSError`` through); the front prints
its message and exits with status 2.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from . import __version__

__all__ = ["COMMANDS", "Command", "main"]


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    Attributes:
        help: one line for ``domino-envs --help``.
        module: where ``add_arguments`` and ``run`` are.
        extra: the extra of the package that brings what the command imports, if the core is not enough.
    """

    help: str
    module: str
    extra: str | None = None


#: The commands by name, in the order in which the help lists them.
COMMANDS: dict[str, Command] = {
    "games": Command("list the games and their environments", "domino_envs.commands.games"),
    "play": Command("play against an agent, in the browser or in the terminal", "domino_envs.play.command", "play"),
    "watch": Command("see two agents play, or a recorded game", "domino_envs.draw.watch", "draw"),
    "arena": Command("let agents play each other and rate them", "domino_envs.commands.arena"),
    "scorecard": Command("measure one agent by a fixed protocol", "domino_envs.commands.scorecard"),
    "agents": Command("list the kinds of agents", "domino_envs.commands.agents"),
    "policies": Command("list the saved policies", "domino_envs.commands.policies"),
    "bench": Command("measure how fast the environments are, beside their peers", "domino_envs.commands.bench"),
}

_USAGE_ERROR = 2
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    """Build the parser; only the chosen command's arguments are added, so only its module is imported."""
    parser = argparse.ArgumentParser(
        prog="domino-envs",
        description="Reinforcement-learning environments for three unusual two-player domino games.",
        epilog="'domino-envs COMMAND --help' tells a command's arguments.",
    )
    parser.add_argument("--version", action="version", version=f"domino_envs {__version__}")
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.help, description=f"{command.help.capitalize()}.")
        if name == chosen:
            importlib.import_module(command.module).add_arguments(subparser)
    return parser


def _explain(error: Exception, chosen: str | None) -> str:
    extra = COMMANDS[chosen].extra if chosen in COMMANDS else None
    if isinstance(error, ModuleNotFoundError) and extra:
        return f"'{chosen}' needs the module {error.name!r}; install it with: pip install 'domino_envs[{extra}]'"
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    # The front's own options take no values, so the first word is the command.
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    show_traceback = "--traceback" in arguments[: arguments.index(chosen)] if chosen else False
    try:
        args = _parser(chosen).parse_args(arguments)
        status: int = importlib.import_module(COMMANDS[args.command].module).run(args)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # the reader has seen enough, as in `domino-envs games | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, OSError, ModuleNotFoundError) as error:
        if show_traceback:
            raise
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == __package__:
            raise  # a mistake of ours, not a missing extra
        print(f"domino-envs: error: {_explain(error, chosen)}", file=sys.stderr)
        return _USAGE_ERROR
