"""The game that a page holds: a record of what its player may know, sealed by the server.

The server remembers no game. Each request brings the document, the server replays it, and the answer is the next
document. So tabs are independent of each other and a game goes on after the server has been started anew.

A document is a JSON object: ``format`` (``"domino_envs.play"``), ``version`` (1), ``record`` (a game record as in
:mod:`domino_envs.arena`; where tiles are hidden its ``orders`` are empty until the game is over), ``seat`` of the
person, ``opponent``, ``deal`` (what the server derives the draw orders from; it begins with ``open`` if the record came
from elsewhere and shows them), ``waiting`` (the next deal or the clock has yet to be started), ``since`` and ``run``
(when the person's turn against the clock began, and in which run of the server), ``seal``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..arena.record import GAME_FORMAT, GameRecord
from ..games import SEATS
from .seal import Seal

__all__ = ["OPEN", "PLAY_FORMAT", "PLAY_VERSION", "Document", "Forged", "read_document", "record_of_file"]

PLAY_FORMAT = "domino_envs.play"
PLAY_VERSION = 1
#: How ``deal`` begins where the draw orders are known from elsewhere.
OPEN = "open"
_FIELDS = {"record", "seat", "opponent", "deal", "waiting", "since", "run"}


class Forged(ValueError):
    """A document that this server has not sealed."""


@dataclass(frozen=True)
class Document:
    """See the module for the fields; ``seat`` is 0 or 1."""

    record: GameRecord
    seat: int
    opponent: str
    deal: str
    waiting: bool = False
    since: float | None = None
    run: str = ""

    def text(self, seal: Seal) -> str:
        """Return the sealed document as JSON text."""
        data = {
            "format": PLAY_FORMAT,
            "version": PLAY_VERSION,
            "record": self.record.as_json(),
            "seat": SEATS[self.seat],
            "opponent": self.opponent,
            "deal": self.deal,
            "waiting": self.waiting,
            "since": self.since,
            "run": self.run,
        }
        data = json.loads(json.dumps(data))  # tuples become lists, as they will be when it comes back
        return json.dumps({**data, "seal": seal.of(data)}, indent=1)


def _parse(text: Any) -> Mapping[str, Any]:
    if not isinstance(text, str):
        raise ValueError(f"a document must be text, got {type(text).__name__}")
    try:
        data = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the document is no JSON: {error}") from error
    if not isinstance(data, dict):
        raise ValueError("the document must be a JSON object")
    return data


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def read_document(text: Any, seal: Seal) -> Document:
    """Return the document of a request.

    Raises:
        Forged: if the seal does not fit.
        ValueError: if it is no document of this version.
    """
    data = dict(_parse(text))
    mark = data.pop("seal", None)
    if data.get("format") != PLAY_FORMAT:
        raise ValueError(f"this is no game in progress: its format must be {PLAY_FORMAT!r}")
    if not seal.fits(data, mark):
        raise Forged("the game was not sealed by this server, or it was changed since")
    if data.get("version") != PLAY_VERSION or not data.keys() >= _FIELDS:
        raise ValueError(f"the game has version {data.get('version')!r}, expected {PLAY_VERSION}")
    fields = {name: data[name] for name in _FIELDS}
    fields["record"] = GameRecord.from_json(data["record"])
    fields["seat"] = SEATS.index(data["seat"])
    return Document(**fields)


def record_of_file(text: Any) -> tuple[GameRecord, str | None]:
    """Return the game record in a file that this server has not sealed, and the agent that the person was.

    Raises:
        ValueError: if there is none.
    """
    data = _parse(text)
    seat = None
    if data.get("format") == PLAY_FORMAT:
        seat = data.get("seat")
        data = data.get("record") or {}
    if not isinstance(data, Mapping) or data.get("format") != GAME_FORMAT:
        raise ValueError(f"the file holds no game record: its format must be {GAME_FORMAT!r} or {PLAY_FORMAT!r}")
    return GameRecord.from_json(data), seat if isinstance(seat, str) and re.fullmatch("player_[01]", seat) else None
