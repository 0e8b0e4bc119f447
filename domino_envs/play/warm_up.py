"""Compiles what the page needs: ``python -m domino_envs.play.warm_up [GAME]``, the named game first."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys

from .command import offered_opponents
from .hints import hint
from .seal import Seal
from .service import Server

__all__ = ["warm_up"]


def warm_up(first: str | None = None) -> None:
    """Begin a game against each opponent, so that Numba's cache on disk holds all that this takes."""
    server = Server(Seal(secrets.token_bytes(32)), offered_opponents())
    for game in sorted(server.opponents, key=lambda name: name != first):
        for opponent in server.opponents[game]:
            with contextlib.suppress(ValueError, ModuleNotFoundError, OSError):
                session = server.new(game=game, opponent=opponent, episode="deal", opener="opponent")
                hint(session.game, session.states, simulations=1)
                server.reply(session)


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)
    warm_up(*sys.argv[1:2])
