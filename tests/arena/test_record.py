"""Tests of game records: they replay, and what does not fit is refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from domino_envs.arena import GameRecord, check_record, replay, round_robin
from domino_envs.arena.clock import Clock, points_on_time
from domino_envs.arena.match import deal_of
from domino_envs.games import game_names, get_game


@pytest.fixture(scope="module")
def records() -> dict[str, GameRecord]:
    """A random game of each kind, and a match of Domaster."""
    games = {name: round_robin(name, ["random", "random"], deals=1, seed=3).games[1] for name in game_names()}
    games["match"] = round_robin("domaster", ["random", "random"], deals=1, episode="match").games[0]
    return games


def changed(record: GameRecord, **fields: Any) -> dict[str, Any]:
    return {**record.as_json(), **fields}


@pytest.mark.parametrize("name", [*game_names(), "match"])
def test_a_record_survives_json_and_replays(name: str, records: dict[str, GameRecord]) -> None:
    record = records[name]
    text = json.dumps(record.as_json())
    assert GameRecord.from_json(json.loads(text)) == record
    replayed = check_record(json.loads(text))
    assert replayed.over
    assert replayed.scores == record.scores
    assert len(replayed.states) == len(record.moves) + 1
    assert len(replayed.deals) == replayed.game.num_deals(record.episode)
    for i, action in enumerate(replayed.actions):
        assert replayed.game.notation(replayed.states, action, i) == record.moves[i]


def test_the_match_has_the_scores_of_its_deals(records: dict[str, GameRecord]) -> None:
    replayed = replay(records["match"])
    for seat, agent in enumerate(("player_0", "player_1")):
        assert replayed.scores[seat] == sum(points for winner, points in replayed.deals if winner == agent)


def test_a_game_in_progress(records: dict[str, GameRecord]) -> None:
    record = records["domaster"]
    part = changed(record, moves=record.moves[:5], over=False, scores=[0, 0], winner=None)
    replayed = check_record(part)
    assert not replayed.over
    assert replayed.winner is None
    assert replayed.states["ply"].tolist() == list(range(6))


def test_the_first_illegal_move_is_named(records: dict[str, GameRecord]) -> None:
    record = records["mate"]
    moves = [*record.moves[:3], "6-6", *record.moves[4:]]
    with pytest.raises(ValueError, match=rf"move 4 of {len(moves)}, by random.*'6-6' is no legal move here; legal: "):
        replay(changed(record, moves=moves))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: {"moves": [*r.moves, r.moves[-1]]}, "comes after the end of the game"),
        (lambda r: {"orders": []}, "0 draw orders, deal 1 needs one more"),
        (lambda r: {"orders": [r.orders[0][:-1]]}, "draw order 0 must have 55 tile numbers, got 54"),
        (lambda r: {"rules_version": 99}, "rules version 99 of Domaster, not 1"),
        (lambda r: {"game": "chess"}, "unknown game 'chess'"),
        (lambda r: {"parameters": {"board_size": 9}}, "no such parameters"),
        (lambda r: {"episode": "week"}, "episode must be one of"),
        (lambda r: {"winner": "player_0", "scores": [7, 0]}, r"scores = \(7, 0\), its moves lead to"),
        (lambda r: {"moves": r.moves[:-1]}, "over = True, its moves lead to False"),
        (lambda r: {"clock": "soon"}, "a clock is written SECONDS"),
        (lambda r: {"clock": "5+0", "times": [0.1]}, "moves and 1 times"),
        (lambda r: {"moves": ["flag"]}, "lost on time, but it names no clock"),
    ],
)
def test_what_does_not_fit_is_refused(
    change: Callable[[GameRecord], dict[str, Any]], message: str, records: dict[str, GameRecord]
) -> None:
    record = records["domaster"]
    fields = change(record)
    if fields.get("moves") == ["flag"]:
        loser = replay(changed(record, moves=[])).states["mover"][0]
        fields |= {"scores": [int(loser == 1), int(loser == 0)], "winner": f"player_{1 - loser}"}
    with pytest.raises(ValueError, match=message):
        check_record(changed(record, **fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"format": "chess"}, "no game record"),
        ({"version": 2}, "version 2, expected 1"),
        ({"colour": "red"}, "unknown field 'colour'"),
        ({"moves": "pass"}, "'moves' in a game record must be a list of moves"),
        ({"orders": [[0, 1.5]]}, "'orders' in a game record must be a list of lists of whole numbers"),
        ({"players": ["a"]}, "'players' in a game record must be two names"),
        ({"scores": [True, False]}, "'scores' in a game record must be two whole numbers"),
        ({"opener": "player_2"}, "'opener' in a game record must be one of player_0, player_1"),
        ({"seconds": [1, -1]}, "'seconds' in a game record must be two non-negative numbers"),
        ({"over": 1}, "'over' in a game record must be true or false"),
    ],
)
def test_malformed_records(fields: dict[str, Any], message: str, records: dict[str, GameRecord]) -> None:
    with pytest.raises(ValueError, match=message):
        GameRecord.from_json(changed(records["mate"], **fields))


def test_missing_fields_and_other_things(records: dict[str, GameRecord]) -> None:
    data = records["mate"].as_json()
    del data["moves"]
    with pytest.raises(ValueError, match="lacks 'moves'"):
        GameRecord.from_json(data)
    for thing in (None, [], "text", 3):
        with pytest.raises(ValueError, match="no game record"):
            replay(thing)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "clock"), [("60+0.5", Clock(60, 0.5)), ("5", Clock(5, 0)), (" 0.1+0 ", Clock(0.1, 0))]
)
def test_clock_notation(text: str, clock: Clock) -> None:
    assert Clock.parse(text) == clock
    assert Clock.parse(str(clock)) == clock


@pytest.mark.parametrize("text", ["", "0", "-5", "60+", "60+-1", "1e3", "nan", "60 + 1 s"])
def test_bad_clocks(text: str) -> None:
    with pytest.raises(ValueError, match="a clock is written SECONDS or SECONDS"):
        Clock.parse(text)
    with pytest.raises(ValueError, match="budget above 0"):
        Clock(0)


def test_mate_is_worth_the_last_tile_on_time() -> None:
    game = get_game("mate")
    orders, opener = deal_of(game, "deal", seed=0, deal=0)
    record = GameRecord(
        *("mate", {}, 1, "deal", orders.tolist(), opener, ("a", "b"), [], False, (0, 0), None, (0.0, 0.0))
    )
    start = replay(record)
    low, high = (int(part) for part in start.game.text(start.states[0]).split("Line: [")[1][:3].split("|"))
    assert points_on_time(game, start.states[0]) == low + high  # one tile on the table, the starter
    move = game.notation(start.states, int(game.legal_actions(start.states)[0]))
    record.moves.append(move)
    moved = replay(record)
    assert points_on_time(game, moved.states[1]) == 2 * sum(map(int, move.split("-")))
    assert points_on_time(get_game("domaster"), np.zeros(1, dtype=get_game("domaster").dtype)[0]) == 1
