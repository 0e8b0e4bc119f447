"""A game on paper: what was dealt, who sat where, every move in notation, the result; and how to replay it.

A record is one JSON object and says everything that is needed to play it again. It may be of a game in progress.

===============  =======================================================================================
``format``       ``"domino_envs.game"``
``version``      of this format, 1
``game``         name of the game; ``parameters`` and ``rules_version`` as in its table
``episode``      ``"deal"``, ``"match"`` ...
``orders``       the draw orders of the episode's shuffles (lists of tile numbers)
``opener``       who opened the first deal, ``"player_0"`` or ``"player_1"``
``players``      names by seat
``moves``        in notation, all deals in a row; ``"flag"`` where the player to move lost the deal on time
``over``         whether the episode is finished
``scores``       by seat
``winner``       of the episode: ``"player_0"``, ``"player_1"`` or null
``seconds``      thinking time by seat
``clock``        ``"60+0.5"`` or null; ``times`` then has the seconds of each move, else it is null
``deal``         number of the deal in the tournament, or null
===============  =======================================================================================
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batch import BatchGame
from ..games import SEATS, Game, get_game
from .clock import Clock, points_on_time

__all__ = ["FLAG", "GAME_FORMAT", "GAME_VERSION", "GameRecord", "Replay", "check_record", "replay"]

GAME_FORMAT = "domino_envs.game"
GAME_VERSION = 1
#: Stands among the moves where the time of the player to move was up.
FLAG = "flag"


@dataclass(frozen=True)
class GameRecord:
    """One episode; the fields are those of the JSON object (see the module)."""

    game: str
    parameters: dict[str, int]
    rules_version: int
    episode: str
    orders: list[list[int]]
    opener: str
    players: tuple[str, str]
    moves: list[str]
    over: bool
    scores: tuple[int, int]
    winner: str | None
    seconds: tuple[float, float]
    clock: str | None = None
    times: list[float] | None = None
    deal: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the record as a JSON object."""
        return {"format": GAME_FORMAT, "version": GAME_VERSION, **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, data: Any) -> GameRecord:
        """Return the record of a JSON object; what it says is not replayed yet (:func:`check_record`).

        Raises:
            ValueError: if it is no game record, of another version, or a field is missing, unknown or of a wrong kind.
        """
        if not isinstance(data, Mapping) or data.get("format") != GAME_FORMAT:
            raise ValueError(f"this is no game record: its format must be {GAME_FORMAT!r}")
        if data.get("version") != GAME_VERSION:
            raise ValueError(f"the game record has version {data.get('version')!r}, expected {GAME_VERSION}")
        fields = {key: value for key, value in data.items() if key not in ("format", "version")}
        names = [field.name for field in dataclasses.fields(cls)]
        for name in names:
            if name not in fields:
                raise ValueError(f"the game record lacks {name!r}")
        for name, value in fields.items():
            if name not in _CHECKS:
                raise ValueError(f"the game record has an unknown field {name!r}")
            kind, check = _CHECKS[name]
            if not check(value):
                raise ValueError(f"{name!r} in a game record must be {kind}, got {value!r}")
        for name in ("players", "scores", "seconds"):
            fields[name] = tuple(fields[name])
        return cls(**fields)

    def score_of(self, seat: int) -> float:
        """Return 1 for a win of that seat, 0.5 for a draw, 0 for a loss."""
        return 0.5 if self.winner is None else float(self.winner == SEATS[seat])


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_seat(value: Any) -> bool:
    return _is_text(value) and value in SEATS


def _is_seconds(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def _list_of(check: Any, length: int | None = None) -> Any:
    return lambda value: (
        isinstance(value, (list, tuple)) and all(map(check, value)) and (length is None or len(value) == length)
    )


def _or_null(check: Any) -> Any:
    return lambda value: value is None or check(value)


_CHECKS: dict[str, tuple[str, Any]] = {
    "game": ("a name", _is_text),
    "parameters": (
        "an object of whole numbers",
        lambda value: isinstance(value, Mapping) and all(map(_is_text, value)) and all(map(_is_int, value.values())),
    ),
    "rules_version": ("a whole number", _is_int),
    "episode": ("a name", _is_text),
    "orders": ("a list of lists of whole numbers", _list_of(_list_of(_is_int))),
    "opener": (f"one of {', '.join(SEATS)}", _is_seat),
    "players": ("two names", _list_of(_is_text, 2)),
    "moves": ("a list of moves in notation", _list_of(_is_text)),
    "over": ("true or false", lambda value: isinstance(value, bool)),
    "scores": ("two whole numbers", _list_of(_is_int, 2)),
    "winner": (f"one of {', '.join(SEATS)}, or null", _or_null(_is_seat)),
    "seconds": ("two non-negative numbers", _list_of(_is_seconds, 2)),
    "clock": ("a clock such as 60+0.5, or null", _or_null(_is_text)),
    "times": ("a list of non-negative numbers, or null", _or_null(_list_of(_is_seconds))),
    "deal": ("a whole number or null", _or_null(_is_int)),
}  # fmt: skip


@dataclass(frozen=True)
class Replay:
    """What comes of a record when its moves are made again.

    Attributes:
        game: the table of its game.
        states: the positions, records of shape ``(moves + 1,)``: before each move, and the last.
        actions: the moves' action numbers; -1 for a deal lost on time.
        over: whether the episode is finished.
        scores: by seat.
        winner: the agent that wins, None for a draw and for a game in progress.
        deals: of each finished deal the winner (an agent or None) and what it was worth to it.
    """

    game: Game
    states: NDArray[Any]
    actions: list[int]
    over: bool
    scores: tuple[int, int]
    winner: str | None
    deals: list[tuple[str | None, int]]


def replay(record: GameRecord | Mapping[str, Any]) -> Replay:
    """Make all moves of a record again.

    Raises:
        ValueError: if it cannot be read, the game or its rules differ from those of this version, or at the first move
            that is not legal (the message says which it is and what was legal).
    """
    if not isinstance(record, GameRecord):
        record = GameRecord.from_json(record)
    try:
        game = get_game(record.game, record.parameters)
    except TypeError as error:
        raise ValueError(f"{record.game} has no such parameters: {record.parameters}") from error
    if record.rules_version != game.rules_version:
        raise ValueError(
            f"the record follows rules version {record.rules_version} of {game.title}, not {game.rules_version}"
        )
    batch = BatchGame(game, 1, episode=record.episode, seed=0, auto_reset=False)
    batch.reset(orders=[record.orders], openers=[record.opener])
    states = np.empty(len(record.moves) + 1, dtype=game.dtype)
    actions: list[int] = []
    for number, move in enumerate(record.moves):
        state = batch.states[0]
        _check_order(record, state)
        states[number] = state
        where = f"move {number + 1} of {len(record.moves)}"
        if state["over"]:
            raise ValueError(f"{where}, {move!r}, comes after the end of the game")
        seat = int(state["mover"])
        if move == FLAG:
            batch.end_deal(0, SEATS[1 - seat], points_on_time(game, state))
            actions.append(-1)
            continue
        try:
            actions.append(game.parse(batch.states, move))
        except ValueError as error:
            raise ValueError(f"{where}, by {record.players[seat]} ({SEATS[seat]}): {error}") from error
        batch.step(np.array(actions[-1:], dtype=np.int64))
    last = batch.states[0]
    _check_order(record, last)
    states[len(record.moves)] = last
    first, second = last["scores"].tolist()
    winners, points = last["winners"].tolist(), last["points"].tolist()
    return Replay(
        game,
        states,
        actions,
        bool(last["over"]),
        (first, second),
        _winner(bool(last["over"]), first, second),
        [(_agent(winners[i]), points[i]) for i in range(int(last["finished"]))],
    )


def _agent(seat: int) -> str | None:
    return SEATS[seat] if seat >= 0 else None


def _winner(over: bool, first: int, second: int) -> str | None:
    return None if not over or first == second else SEATS[int(second > first)]


def _check_order(record: GameRecord, state: Any) -> None:
    if state["shuffles"] > len(record.orders):
        raise ValueError(f"the record has {len(record.orders)} draw orders, deal {state['deal'] + 1} needs one more")


def check_record(record: GameRecord | Mapping[str, Any]) -> Replay:
    """Replay a record and compare what it says of the result with what its moves lead to.

    Raises:
        ValueError: as :func:`replay`, and if the result, the clock or the number of times is not as stated.
    """
    if not isinstance(record, GameRecord):
        record = GameRecord.from_json(record)
    replayed = replay(record)
    for name in ("over", "scores", "winner"):
        stated, found = getattr(record, name), getattr(replayed, name)
        if stated != found:
            raise ValueError(f"the record says {name} = {stated!r}, its moves lead to {found!r}")
    if record.clock is not None:
        Clock.parse(record.clock)
    elif FLAG in record.moves:
        raise ValueError("a deal of the record is lost on time, but it names no clock")
    if record.times is not None and len(record.times) != len(record.moves):
        raise ValueError(f"the record has {len(record.moves)} moves and {len(record.times)} times")
    return replayed
