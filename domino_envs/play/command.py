"""``domino-envs play``: a person against an agent, in the browser or in the terminal."""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..agents import AGENT_KINDS, make_agent
from ..arena.clock import Clock
from ..games import SEATS, game_names, get_game

__all__ = ["add_arguments", "offered_opponents", "run"]

_PORT = 8737
_SEARCHES = ("search:100", "search:1000", "search:10000")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``domino-envs play``."""
    parser.add_argument("game", metavar="GAME", nargs="?", help=", ".join(game_names()))
    parser.add_argument("--opponent", metavar="AGENT", help="as 'domino-envs agents' lists them")
    parser.add_argument("--episode", help="deal, match ... (default: the whole game)")
    parser.add_argument("--seat", choices=["random", *SEATS], default="random", help="yours (default: by lot)")
    parser.add_argument("--clock", metavar="SECONDS+INCREMENT", help="chess clock, such as 300+2")
    parser.add_argument("--terminal", action="store_true", help="play here instead of in the browser")
    parser.add_argument("--seed", type=int, help="decides deals and the opponent's choices (in the terminal)")
    parser.add_argument("--port", type=int, default=_PORT, help=f"of the page (default: {_PORT}; 0 for a free one)")
    parser.add_argument("--no-browser", action="store_true", help="do not open the page, only print its address")


def offered_opponents(extra: str | None = None) -> dict[str, list[str]]:
    """Return by game the agents that a page may ask for: what can play it here, and ``extra``.

    Raises:
        ValueError: if ``extra`` can play none of the games.
    """
    from ..policies import shipped_policies

    names = [kind for kind, facts in AGENT_KINDS.items() if not facts.takes_argument and kind != "human"]
    if "search" in AGENT_KINDS:
        names += _SEARCHES
    names += [f"policy:{name}" for name in shipped_policies()]
    offered: dict[str, list[str]] = {}
    reason = None
    for game in game_names():
        offered[game] = []
        for name in dict.fromkeys([*([extra] if extra else []), *names]):
            try:
                make_agent(name, get_game(game))
            except (ValueError, ModuleNotFoundError, OSError) as error:
                if name == extra:
                    reason = reason or error
            else:
                offered[game].append(name)
    if extra and not any(extra in found for found in offered.values()):
        raise ValueError(f"{extra} plays none of the games: {reason}")
    return offered


def run(args: argparse.Namespace) -> int:
    """Play."""
    if args.game is not None:
        episodes = get_game(args.game).episodes
        if args.episode is not None and args.episode not in episodes:
            raise ValueError(f"episode must be one of {', '.join(map(repr, episodes))}, got {args.episode!r}")
    if args.clock is not None:
        Clock.parse(args.clock)
    if args.terminal:
        from .terminal import play_in_terminal

        if args.game is None:
            raise ValueError(f"the terminal needs a game, one of {', '.join(game_names())}")
        return play_in_terminal(
            args.game,
            args.opponent or "greedy",
            episode=args.episode,
            seat=args.seat,
            clock=args.clock,
            seed=args.seed,
        )
    if args.seed is not None:
        raise ValueError("--seed is for --terminal: the page deals by itself")
    return _serve(args)


@contextmanager
def _warming_up(first: str | None) -> Iterator[None]:
    """Have what the games need compiled (once after an installation) while the person still looks around.

    In a process of its own, which fills the cache on disk: one that is compiling in a thread cannot end cleanly.
    """
    command = [sys.executable, "-m", "domino_envs.play.warm_up", *([first] if first else [])]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def _serve(args: argparse.Namespace) -> int:
    import uvicorn

    from .seal import load_seal
    from .server import make_app
    from .service import Server

    opponents = offered_opponents(args.opponent)
    if args.game and args.opponent and args.opponent not in opponents[args.game]:
        make_agent(args.opponent, get_game(args.game))  # says why not
    defaults: Mapping[str, Any] = {
        key: getattr(args, key) for key in ("game", "opponent", "episode", "seat", "clock") if getattr(args, key)
    }
    app = make_app(Server(load_seal(), opponents), defaults)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", args.port))  # loopback only: nobody else can reach it
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ValueError(f"port {args.port} cannot be used ({error.strerror}); choose another --port, or 0") from error
    except OverflowError as error:
        listener.close()
        raise ValueError(f"port must be from 0 to 65535, got {args.port}") from error
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    print(f"Play at {address}  (Ctrl-C ends the server; games go on when it is started again)", flush=True)
    if not args.no_browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    try:
        with _warming_up(args.game):
            uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off")).run(sockets=[listener])
    except KeyboardInterrupt:
        print(file=sys.stderr)
    finally:
        listener.close()
    return 0
