"""Tournaments on disk: JSON lines, a header and then one game record a line, so that a broken-off run loses nothing.

The header is an object with ``format`` (``"domino_envs.tournament"``), ``version`` (1), ``game``, ``parameters``,
``episode``, ``players`` (what each name stands for, null for what only a program can make), ``seed``, ``mode``,
``clock`` and ``deals``. The games are those of :mod:`domino_envs.arena.record`.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from .clock import Clock
from .match import Settings, Spec
from .record import GameRecord, check_record
from .result import Result

__all__ = ["TOURNAMENT_FORMAT", "TOURNAMENT_VERSION", "append_games", "load", "ordered_pairs", "write_tournament"]

TOURNAMENT_FORMAT = "domino_envs.tournament"
TOURNAMENT_VERSION = 1


def _line(data: Mapping[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False) + "\n"


def _header(settings: Settings, deals: int) -> dict[str, Any]:
    return {
        "format": TOURNAMENT_FORMAT,
        "version": TOURNAMENT_VERSION,
        "game": settings.game,
        "parameters": dict(settings.parameters),
        "episode": settings.episode,
        "players": {
            name: str(spec) if isinstance(spec, (str, Path)) else None for name, spec in settings.players.items()
        },
        "seed": settings.seed,
        "mode": settings.mode,
        "clock": None if settings.clock is None else str(settings.clock),
        "deals": deals,
    }


def write_tournament(path: Path, result: Result) -> None:
    """Write a tournament, in place of what was there."""
    lines = [_line(_header(result.settings, result.deals)), *(_line(game.as_json()) for game in result.games)]
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_text("".join(lines), encoding="utf-8")
    os.replace(unfinished, path)


def append_games(path: Path, games: Iterable[GameRecord]) -> None:
    """Add games to a tournament's file."""
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(_line(game.as_json()) for game in games))


def ordered_pairs(games: Iterable[GameRecord], players: Iterable[str], deals: int) -> list[GameRecord]:
    """Return the games of complete mirrored pairs, ordered by pairing, deal and seat, each once."""
    by_pair: defaultdict[tuple[frozenset[str], int | None], dict[str, GameRecord]] = defaultdict(dict)
    for game in games:
        by_pair[frozenset(game.players), game.deal][game.players[0]] = game
    ordered = []
    for first, second in combinations(players, 2):
        for deal in range(deals):
            pair = by_pair.get((frozenset((first, second)), deal), {})
            if len(pair) == 2:
                ordered += [pair[first], pair[second]]
    return ordered


def _read_header(line: str, players: Mapping[str, Spec] | None) -> tuple[Settings, int]:
    try:
        data = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"line 1 is no JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != TOURNAMENT_FORMAT:
        raise ValueError(f"line 1 is no header of a tournament: its format must be {TOURNAMENT_FORMAT!r}")
    if data.get("version") != TOURNAMENT_VERSION:
        raise ValueError(f"the tournament has version {data.get('version')!r}, expected {TOURNAMENT_VERSION}")
    kinds = {"game": str, "parameters": dict, "episode": str, "players": dict, "seed": int, "mode": str, "deals": int}
    for name, kind in kinds.items():
        if type(data.get(name)) is not kind:
            raise ValueError(f"{name!r} in line 1 must be a {kind.__name__}, got {data.get(name)!r}")
    named = data["players"]
    if players is not None:
        if list(players) != list(named):
            raise ValueError(f"the players are {', '.join(named)}, not {', '.join(players)}")
        named = players
    clock = data.get("clock")
    if clock is not None and not isinstance(clock, str):
        raise ValueError(f"'clock' in line 1 must be a string or null, got {clock!r}")
    settings = Settings(
        game=data["game"],
        parameters=data["parameters"],
        episode=data["episode"],
        players=named,
        seed=data["seed"],
        mode=data["mode"],
        clock=None if clock is None else Clock.parse(clock),
    )
    return settings, data["deals"]


def load(path: str | Path, *, players: Mapping[str, Spec] | None = None, check: bool = False) -> Result:
    """Read a tournament.

    A mirrored pair that lacks a game is left out, and so is a last line that a broken-off run did not finish.

    Args:
        path: the file.
        players: what the players' names stand for, to go on with agents that only a program can make.
        check: replay every game and compare its result with what its moves lead to.

    Raises:
        ValueError: if a line is not what it should be, with ``check`` also at the first illegal move or wrong result;
            the message names the line.
        OSError: if the file cannot be read.
    """
    path = Path(path)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
    if not lines:
        raise ValueError(f"{path}: the file is empty")
    try:
        settings, deals = _read_header(lines[0], players)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    games = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            game = GameRecord.from_json(json.loads(line))
            if (game.game, game.parameters, game.episode) != (settings.game, settings.parameters, settings.episode):
                raise ValueError("the game is not of the kind that the header names")
            for name in game.players:
                if name not in settings.players:
                    raise ValueError(f"{name!r} is none of the header's players")
            if not game.over or game.deal is None:
                raise ValueError("the game is not finished or has no deal number")
            if check:
                check_record(game)
        except ValueError as error:  # JSONDecodeError is one
            raise ValueError(f"{path}, line {number}: {error}") from error
        games.append(game)
    return Result(settings, deals, ordered_pairs(games, settings.players, deals))
