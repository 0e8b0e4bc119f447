"""Tests of what can be done in a game, without the web around it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domino_envs.agents import AGENT_KINDS
from domino_envs.arena import GameRecord, check_record
from domino_envs.arena.record import FLAG
from domino_envs.draw import frames_of_record
from domino_envs.games import get_game
from domino_envs.play.command import offered_opponents
from domino_envs.play.document import Forged
from domino_envs.play.seal import Seal, load_seal
from domino_envs.play.service import Server
from domino_envs.play.session import Conflict, Session

GAMES = ("domaster", "five_bridges", "mate", "third_level")
OPPONENTS = {name: ["random", "greedy"] for name in GAMES}


class Time:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def make(clock: Time) -> Callable[..., Server]:
    """Servers of one user: with one key, each with deals of names of its own."""
    starts = itertools.count()

    def build(key: bytes = b"k" * 32) -> Server:
        names = (f"deal-{next(starts)}-{i}" for i in itertools.count())
        return Server(Seal(key), OPPONENTS, now=clock, name_deal=lambda: next(names))

    return build


def through(server: Server, session: Session) -> Session:
    """The session as it comes back with the next request."""
    return server.open(session.document.text(server.seal))


def first_legal(session: Session) -> int:
    return int(session.game.legal_actions(session.states)[0])


def step(server: Server, session: Session, rng: np.random.Generator) -> Session:
    session = through(server, session)
    if session.document.waiting:
        return server.start(session)
    if session.mover != session.document.seat:
        return server.reply(session)
    return server.move(session, int(rng.choice(session.game.legal_actions(session.states))))


def play_out(server: Server, session: Session, seed: int = 0) -> Session:
    rng = np.random.default_rng(seed)
    while not session.over:
        session = step(server, session, rng)
    return session


@pytest.mark.parametrize("name", GAMES)
def test_a_whole_game_leaves_a_record_that_replays(name: str, make: Callable[..., Server]) -> None:
    server = make()
    episode = "match" if name in ("mate", "third_level") else "deal"
    session = server.new(game=name, opponent="random", episode=episode, seat="player_1", opener="opponent")
    assert session.document.seat == 1 and session.mover == 0
    session = play_out(server, session)
    data = json.loads(session.document.text(server.seal))
    record = GameRecord.from_json(data["record"])
    assert record.over
    assert record.players == ("random", "You")
    replayed = check_record(record)
    assert replayed.scores == session.replayed.scores
    assert len(record.orders) == session.game.num_orders(episode)
    frames_of_record(record)


def test_settings_are_kept(make: Callable[..., Server]) -> None:
    server = make()
    openers = set()
    for seat, opener in itertools.product(("player_0", "player_1"), ("you", "opponent")):
        session = server.new(game="mate", opponent="greedy", seat=seat, opener=opener, episode="deal")
        assert (session.mover == session.document.seat) == (opener == "you")
    for _ in range(20):
        session = server.new(game="mate", opponent="greedy")
        openers.add((session.document.seat, session.mover))
    assert len(openers) == 4  # both lots are drawn
    big = server.new(game="third_level", opponent="random", parameters={"hand_size": 5})
    assert big.game is get_game("third_level", {"hand_size": 5})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": "chess"}, "unknown game 'chess'"),
        ({"game": ["mate"]}, "a game is a name"),
        ({"game": "mate", "parameters": {"board": 3}}, "mate has no such parameters"),
        ({"game": "mate", "parameters": 7}, "a game is a name and an object of parameters"),
        ({"game": "third_level", "parameters": {"hand_size": 50}}, "hand_size must be a whole number from 1 to 10"),
        ({"game": "third_level", "parameters": {"hand_size": [3]}}, "third_level"),
        ({"game": "mate", "opponent": "policy:/etc/passwd"}, "opponent must be one of 'random', 'greedy', got"),
        ({"game": "mate", "opponent": None}, "opponent must be one of"),
        ({"game": "mate", "episode": "year"}, "episode must be one of 'match', 'set', 'deal', got 'year'"),
        ({"game": "mate", "episode": 1}, "episode must be one of"),
        ({"game": "mate", "seat": "north"}, "seat must be"),
        ({"game": "mate", "opener": "me"}, "opener must be"),
        ({"game": "mate", "clock": "soon"}, "a clock is written"),
        ({"game": "mate", "clock": 60}, "a clock is written"),
    ],
)
def test_wrong_settings(settings: dict[str, Any], message: str, make: Callable[..., Server]) -> None:
    with pytest.raises(ValueError, match=message):
        make().new(**{"opponent": "random", **settings})


def test_equal_documents_get_equal_replies(make: Callable[..., Server]) -> None:
    server = make()
    session = server.new(game="domaster", opponent="random", opener="opponent")
    replies = {tuple(server.reply(through(server, session)).record.moves) for _ in range(5)}
    assert len(replies) == 1
    others = {server.reply(server.new(game="domaster", opponent="random", opener="opponent")).record.moves[0]
              for _ in range(8)}  # fmt: skip
    assert len(others) > 1


def test_a_game_goes_on_with_another_server_of_the_same_key(make: Callable[..., Server]) -> None:
    first, second = make(), make()
    rng = np.random.default_rng(1)
    session = first.new(game="third_level", opponent="random")
    for _ in range(4):
        session = step(first, session, rng)
    text = session.document.text(first.seal)
    again = second.open(text)
    assert (again.replayed.states == session.replayed.states).all()  # hidden tiles too
    assert play_out(second, again).over


def test_documents_hold_no_hidden_tile(make: Callable[..., Server]) -> None:
    server = make()
    rng = np.random.default_rng(2)
    session = server.new(game="third_level", opponent="random")
    while not session.over:
        assert json.loads(session.document.text(server.seal))["record"]["orders"] == []
        session = step(server, session, rng)
    assert len(json.loads(session.document.text(server.seal))["record"]["orders"]) == 1
    assert json.loads(server.undo(session).document.text(server.seal))["record"]["orders"] == []
    # In games where all tiles lie open, later deals are still secret.
    match = server.new(game="domaster", opponent="random")
    assert len(match.document.record.orders) == 1
    assert len(match.record.orders) == 5


def test_deals_depend_on_the_key(make: Callable[..., Server]) -> None:
    orders = {tuple(Seal(key).draw_order("deal", 0, 21)) for key in (b"a" * 32, b"b" * 32)}
    assert len(orders) == 2
    assert all(sorted(order) == list(range(21)) for order in orders)
    assert Seal(b"a" * 32).draw_order("deal", 0, 21) != Seal(b"a" * 32).draw_order("deal", 1, 21)


@pytest.mark.parametrize("change", ["moves", "seat", "opponent", "seal", "deal", "key"])
def test_a_changed_document_is_refused(change: str, make: Callable[..., Server]) -> None:
    server = make()
    session = server.new(game="mate", opponent="random", opener="you", seat="player_0")
    data = json.loads(session.document.text(server.seal))
    if change == "moves":
        data["record"]["moves"] = [session.game.notation(session.states, first_legal(session))]
    elif change == "seal":
        data["seal"] = "0" * 64
    elif change != "key":
        data[change] = {"seat": "player_1", "opponent": "greedy", "deal": "another"}[change]
    with pytest.raises(Forged, match="not sealed by this server, or it was changed"):
        (make(b"z" * 32) if change == "key" else server).open(json.dumps(data))


@pytest.mark.parametrize("text", [None, 7, "", "{", "[]", "{}", '{"format": "domino_envs.play"}', "[" * 5000, "NaN"])
def test_no_document(text: Any, make: Callable[..., Server]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        make().open(text)


def test_moves_at_the_wrong_moment(make: Callable[..., Server]) -> None:
    server = make()
    session = server.new(game="mate", opponent="random", opener="opponent", episode="set")
    with pytest.raises(Conflict, match="it is not your turn"):
        server.move(session, 0)
    with pytest.raises(Conflict, match="no move of yours to take back"):
        server.undo(session)
    with pytest.raises(Conflict, match="there is nothing to start"):
        server.start(session)
    session = server.reply(session)
    with pytest.raises(Conflict, match="it is your turn"):
        server.reply(session)
    legal = session.game.legal_actions(session.states).tolist()
    for wrong in (next(a for a in range(42) if a not in legal), 99, -1, 10**30):
        with pytest.raises(ValueError, match=f"action {wrong} is not legal here; {len(legal)} are"):
            server.move(session, wrong)
    for wrong_kind in (None, "3", 1.0, True, [1]):
        with pytest.raises(ValueError, match="action must be a whole number"):
            server.move(session, wrong_kind)
    rng = np.random.default_rng(3)
    while not session.document.waiting:
        session = step(server, session, rng)
    with pytest.raises(Conflict, match="the next deal has not been started"):
        server.move(session, 0)
    with pytest.raises(Conflict, match="the next deal has not been started"):
        server.check_hint(session)
    session = play_out(server, session)
    for late in (server.reply, lambda s: server.move(s, 0), server.check_hint):
        with pytest.raises(Conflict, match="the game is over"):
            late(session)


@pytest.mark.parametrize("name", GAMES)
def test_taking_back_returns_to_ones_own_last_decision(name: str, make: Callable[..., Server]) -> None:
    server = make()
    rng = np.random.default_rng(4)
    session = server.new(game=name, opponent="random", episode="deal")
    mine = []  # positions at which the person had to move
    while not session.over:
        if session.mover == session.document.seat:
            mine.append((len(session.record.moves), session.states.copy()))
        session = step(server, session, rng)
    for moves, states in reversed(mine):
        session = through(server, server.undo(session))
        assert len(session.record.moves) == moves
        assert (session.states == states).all()
    with pytest.raises(Conflict, match="no move of yours"):
        server.undo(session)


def test_the_clock_runs_for_the_person_and_stops_between_deals(clock: Time, make: Callable[..., Server]) -> None:
    server = make()
    session = server.new(game="mate", opponent="random", opener="you", clock="10+2", episode="set")
    mine = session.document.seat
    clock.now += 100  # nothing runs before the start
    session = through(server, server.start(through(server, session)))
    assert server.clock_now(session) == (10, 10)
    clock.now += 4
    left = [10.0, 10.0]
    left[mine] = 6
    assert server.clock_now(session) == tuple(left)
    action = first_legal(session)
    session = through(server, server.move(session, action))
    left[mine] = 8
    assert server.clock_now(session) == tuple(left)
    clock.now += 50  # the way to the server and back is not the opponent's time
    session = through(server, server.reply(session))
    left[1 - mine] = 12
    assert server.clock_now(session) == tuple(left)
    assert session.record.times == [4, 0]
    assert session.document.record.seconds[mine] == 4
    with pytest.raises(Conflict, match="no move is taken back against the clock"):
        server.undo(session)


def test_who_is_out_of_time_loses_the_deal(clock: Time, make: Callable[..., Server]) -> None:
    server = make()
    session = through(
        server, server.start(server.new(game="mate", opponent="random", opener="you", clock="10", episode="set"))
    )
    mine = session.document.seat
    clock.now += 9.5
    with pytest.raises(Conflict, match=r"there are 0.5 seconds left"):
        server.flag(session)
    clock.now += 1
    with pytest.raises(Conflict, match="your time is up"):
        server.move(session, first_legal(session))
    pips = int(
        session.game.num_tiles
        and sum(map(int, session.game.text(session.states[0]).split("Line: [")[1][:3].split("|")))
    )
    session = through(server, server.flag(session))
    assert session.record.moves == [FLAG]
    assert session.document.waiting and not session.over
    assert session.replayed.deals == [(f"player_{1 - mine}", pips)]  # one tile on the table times its pips
    assert server.clock_now(session) == (10, 10)  # a new budget for the next deal
    session = through(server, server.start(session))
    session = play_out(server, session)
    check_record(session.document.record)


def test_an_opponent_out_of_time_loses_the_deal(clock: Time, make: Callable[..., Server]) -> None:
    server = make()
    session = server.start(
        server.new(game="domaster", opponent="random", opener="opponent", clock="10", episode="deal")
    )
    agent, _ = server.agent(session.game, "random")
    act = agent.act_one

    def slow(*args: Any) -> int:
        clock.now += 11
        return act(*args)

    agent.act_one = slow  # type: ignore[method-assign]
    session = server.reply(session)
    assert session.over
    assert session.record.moves == [FLAG]
    assert session.replayed.winner == f"player_{session.document.seat}"


def test_without_a_clock_nobody_is_out_of_time(make: Callable[..., Server]) -> None:
    server = make()
    with pytest.raises(Conflict, match="without a clock"):
        server.flag(server.new(game="mate", opponent="random", opener="you"))


def test_a_restart_costs_no_time(clock: Time, make: Callable[..., Server]) -> None:
    server = make()
    session = server.start(server.new(game="mate", opponent="random", opener="you", clock="10"))
    clock.now += 3
    other = make()
    session = other.resumed(other.open(session.document.text(server.seal)))
    assert other.clock_now(session) == (10, 10)
    clock.now += 2
    assert min(other.clock_now(through(other, session))) == 8


def test_load_goes_on_where_the_file_ends(make: Callable[..., Server]) -> None:
    server = make()
    rng = np.random.default_rng(5)
    session = server.new(game="third_level", opponent="random")
    for _ in range(3):
        session = step(server, session, rng)
    loaded = server.load(session.document.text(server.seal))
    assert (loaded.states == session.states).all()
    assert not loaded.document.waiting
    with pytest.raises(ValueError, match="only the server that dealt them knows them"):
        make(b"z" * 32).load(session.document.text(server.seal))


def test_load_takes_a_record_from_elsewhere(make: Callable[..., Server]) -> None:
    server, other = make(), make(b"z" * 32)
    rng = np.random.default_rng(6)
    session = server.new(game="mate", opponent="greedy", seat="player_1")
    while session.states["shuffles"][0] < 2:  # the second draw order is in the record
        session = step(server, session, rng)
    loaded = other.load(session.document.text(server.seal))
    assert loaded.document.seat == 1 and loaded.document.opponent == "greedy"
    assert loaded.record.moves == session.record.moves
    assert (loaded.states == session.states).all()
    assert play_out(other, loaded).over
    over = play_out(server, server.new(game="third_level", opponent="random"))
    plain = json.dumps(over.document.record.as_json())  # as the arena writes them
    loaded = other.load(plain)
    assert loaded.over
    back = through(other, other.undo(loaded))  # go on from an earlier position: its tiles are known
    assert play_out(other, back).over


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"moves": ["9-9"]}, "'9-9' is no legal move here"),
        ({"orders": [[0, 0, *range(2, 21)]]}, "repeats tile 0"),
        ({"orders": []}, "draw orders"),
        ({"scores": [5, 0]}, "the record says scores"),
        ({"game": "chess"}, "unknown game"),
        ({"rules_version": 99}, "rules version 99"),
        ({"players": ["You", "Alice"]}, "the opponent 'Alice' of this game is not here"),
        ({"format": "other"}, "holds no game record"),
        ({"moves": "5-3"}, "'moves' in a game record must be"),
        ({"moves": ["pass"] * 3000}, "more than 2000"),
    ],
)
def test_load_refuses_what_does_not_replay(change: dict[str, Any], message: str, make: Callable[..., Server]) -> None:
    server = make()
    session = server.new(game="mate", opponent="random", seat="player_0")
    data = {**session.document.record.as_json(), **change}
    with pytest.raises(ValueError, match=message):
        server.load(json.dumps(data))


def test_a_key_is_made_once_and_kept(tmp_path: Path) -> None:
    first, second = load_seal(tmp_path / "new"), load_seal(tmp_path / "new")
    assert first.of({"a": 1}) == second.of({"a": 1}) != load_seal(tmp_path / "other").of({"a": 1})
    path = tmp_path / "new" / "play.key"
    assert path.stat().st_mode & 0o077 == 0  # nobody else can read it
    path.write_bytes(b"short")
    with pytest.raises(ValueError, match="should hold a key of 32 bytes, not 5"):
        load_seal(tmp_path / "new")


def test_opponents_offered() -> None:
    offered = offered_opponents()
    assert set(offered) >= set(GAMES)
    for name in GAMES:
        assert {"random", "greedy"} <= set(offered[name])
        assert "human" not in offered[name]
    assert "perfect" in offered["mate"] and "perfect" not in offered["domaster"]
    if "search" in AGENT_KINDS:
        assert offered_opponents("search:7")["domaster"][0] == "search:7"
    with pytest.raises(ValueError, match="nobody plays none of the games"):
        offered_opponents("nobody")


def test_sessions_are_values(make: Callable[..., Server]) -> None:
    server = make()
    session = server.new(game="mate", opponent="random", opener="you")
    before = session.document.text(server.seal)
    server.move(session, first_legal(session))
    assert session.document.text(server.seal) == before
    assert replace(session) == session or session.record.moves == []
