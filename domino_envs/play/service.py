"""What can be done in a game: moves, replies, taking back, the clock. Nothing here knows of the web."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from ..agents import Agent, make_agent
from ..arena.clock import Clock
from ..arena.record import FLAG, GameRecord, check_record, replay
from ..games import SEATS, Game, get_game
from ..games.kernels import observe
from .document import OPEN, Document, read_document, record_of_file
from .seal import Seal
from .session import Conflict, Session

__all__ = ["Server"]

YOU = "You"
_LONGEST = 2000  # moves in a record that is loaded
_MOST_REDRAWS = 20


class Server:
    """Everything that a running server has: its key, its agents, the time. It remembers no game.

    Args:
        seal: the key.
        opponents: agents that may be asked for, by game; pages cannot name others.
        now: seconds of a clock that only goes forward.
        name_deal: names the next deal; with the key, the name decides the draw orders and lots.
    """

    def __init__(
        self,
        seal: Seal,
        opponents: Mapping[str, list[str]],
        *,
        now: Callable[[], float] = time.monotonic,
        name_deal: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self.seal = seal
        self._name_deal = name_deal
        self.opponents = opponents
        self._now = now
        self._run = secrets.token_hex(8)  # moments of another run mean nothing to this one's clock
        self._agents: dict[tuple[Game, str], tuple[Agent, Lock]] = {}
        self._lock = Lock()

    # Documents

    def open(self, text: Any) -> Session:
        """Return the session of a request's document; errors as of :func:`.document.read_document`."""
        return self._session(read_document(text, self.seal))

    def _session(self, document: Document) -> Session:
        record = document.record
        game = self._game(record.game, record.parameters)
        orders = [
            record.orders[i] if i < len(record.orders) else self.seal.draw_order(document.deal, i, game.num_tiles)
            for i in range(game.num_orders(record.episode))
        ]
        full = replace(record, orders=orders)
        return Session(document, full, replay(full))

    @staticmethod
    def _game(name: Any, parameters: Any) -> Game:
        if not isinstance(name, str) or not isinstance(parameters, Mapping):
            raise ValueError(f"a game is a name and an object of parameters, got {name!r} and {parameters!r}")
        try:
            return get_game(name, dict(parameters))
        except TypeError as error:
            raise ValueError(f"{name} has no such parameters: {dict(parameters)}") from error

    def _changed(self, old: Session, moves: list[str], times: list[float] | None) -> Session:
        """Return the session with other moves; what the record says of the result is brought up to date."""
        record = replace(old.record, moves=moves, times=times)
        replayed = replay(record)
        seconds = [0.0, 0.0]
        for seat, spent in zip(replayed.states["mover"], times or (), strict=False):
            seconds[seat] = round(seconds[seat] + spent, 6)
        record = replace(
            record,
            over=replayed.over,
            scores=replayed.scores,
            winner=replayed.winner,
            seconds=(seconds[0], seconds[1]),
        )
        ended = len(moves) > len(old.record.moves) and bool(
            replayed.states["finished"][-1] != old.states["finished"][0]
        )
        document = replace(
            old.document,
            waiting=ended and not replayed.over,
        )
        hidden = bool(replayed.game.hidden.fields) and not replayed.over and not document.deal.startswith(OPEN)
        known = [] if hidden else record.orders[: int(replayed.states["shuffles"][-1])]
        document = replace(document, record=replace(record, orders=known))
        return self._stamped(Session(document, record, replayed))

    def _stamped(self, session: Session) -> Session:
        """Return the session with the person's turn starting now, if it is one and a clock runs."""
        document = session.document
        runs = (
            session.clock is not None and not document.waiting and not session.over and session.mover == document.seat
        )
        now = self._now() if runs else None
        return replace(session, document=replace(document, since=now, run=self._run if runs else ""))

    # What a page may ask for

    def new(
        self,
        *,
        game: Any,
        opponent: Any,
        parameters: Any = None,
        episode: Any = None,
        seat: Any = "random",
        opener: Any = "random",
        clock: Any = None,
    ) -> Session:
        """Deal a new game.

        Args:
            game: its name.
            opponent: one of the server's.
            parameters: of the game.
            episode: a key of ``game.episodes``; None for the default.
            seat: ``"player_0"``, ``"player_1"`` or ``"random"``.
            opener: ``"you"``, ``"opponent"`` or ``"random"``.
            clock: such as ``"60+0.5"``, or None.

        Raises:
            ValueError: for a value that is none of these.
        """
        table = self._game(game, parameters or {})
        if episode is None:
            episode = next(iter(table.episodes))
        if not isinstance(episode, str) or episode not in table.episodes:
            raise ValueError(f"episode must be one of {', '.join(map(repr, table.episodes))}, got {episode!r}")
        if seat not in ("random", *SEATS):
            raise ValueError(f"seat must be 'random', {', '.join(map(repr, SEATS))}, got {seat!r}")
        if opener not in ("random", "you", "opponent"):
            raise ValueError(f"opener must be 'random', 'you' or 'opponent', got {opener!r}")
        if clock is not None:
            if not isinstance(clock, str):
                raise ValueError(f"a clock is written SECONDS or SECONDS+INCREMENT, such as 60+0.5, got {clock!r}")
            clock = str(Clock.parse(clock))
        self._check_opponent(table, opponent)
        for _ in range(_MOST_REDRAWS):
            deal = self._name_deal()
            lots = [self.seal.number(deal, name) % 2 for name in ("seat", "opener")]
            mine = lots[0] if seat == "random" else SEATS.index(seat)
            opens = lots[1] if opener == "random" else mine if opener == "you" else 1 - mine
            record = GameRecord(
                game=table.name,
                parameters=dict(table.parameters),
                rules_version=table.rules_version,
                episode=episode,
                orders=[],
                opener=SEATS[opens],
                players=(YOU, opponent) if mine == 0 else (opponent, YOU),
                moves=[],
                over=False,
                scores=(0, 0),
                winner=None,
                seconds=(0.0, 0.0),
                clock=clock,
                times=None if clock is None else [],
            )
            with suppress(ValueError):  # a deal of Mate without any decision (R7)
                session = self._changed(self._session(Document(record, mine, opponent, deal)), [], record.times)
                document = replace(session.document, waiting=clock is not None, since=None, run="")
                return replace(session, document=document)
        raise ValueError(f"no deal of {table.title} could be found")

    def load(self, text: Any) -> Session:
        """Open a record from a file: this server's to go on as it was, another one to go on from what it says.

        Raises:
            ValueError: if it is no game record, cannot be replayed, or its hidden tiles are not in it.
        """
        try:
            session = self.open(text)
        except ValueError:
            session = self._adopted(text)
        waits = session.record.clock is not None and not session.over
        document = replace(session.document, waiting=session.document.waiting or waits, since=None, run="")
        return replace(session, document=document)

    def _adopted(self, text: Any) -> Session:
        record, agent = record_of_file(text)
        if len(record.moves) > _LONGEST:
            raise ValueError(f"the record has {len(record.moves)} moves, more than {_LONGEST}")
        table = self._game(record.game, record.parameters)
        if not record.orders and table.hidden.fields:
            raise ValueError("the tiles of this game are still hidden, and only the server that dealt them knows them")
        replayed = check_record(record)
        if agent is not None:
            seat = SEATS.index(agent)
        else:
            seat = record.players.index(YOU) if YOU in record.players else 0
        opponent = record.players[1 - seat]
        if not replayed.over and opponent not in self.opponents.get(table.name, ()):
            raise ValueError(f"the opponent {opponent!r} of this game is not here to go on with it")
        document = Document(record, seat, opponent, f"{OPEN}-{secrets.token_hex(16)}")
        return self._session(document)

    def start(self, session: Session) -> Session:
        """Go on to the next deal, or start the clock.

        Raises:
            Conflict: if nothing waits.
        """
        if not session.document.waiting:
            raise Conflict("there is nothing to start")
        return self._stamped(replace(session, document=replace(session.document, waiting=False)))

    def move(self, session: Session, action: Any) -> Session:
        """Make the person's move.

        Raises:
            Conflict: if it is not the person's turn, or too late.
            ValueError: if the action is not legal.
        """
        self._check_turn(session, session.document.seat)
        if isinstance(action, bool) or not isinstance(action, int):
            raise ValueError(f"action must be a whole number, got {action!r}")
        legal = session.game.legal_actions(session.states).tolist()
        if action not in legal:
            raise ValueError(f"action {action} is not legal here; {len(legal)} are")
        spent = self._elapsed(session)
        if session.clock is not None and spent > session.left[session.mover]:
            raise Conflict("your time is up")
        return self._played(session, session.game.notation(session.states, action), spent)

    def reply(self, session: Session) -> Session:
        """Let the opponent make one move.

        Raises:
            Conflict: if it is not its turn.
        """
        self._check_turn(session, 1 - session.document.seat)
        start = self._now()
        action = self._choose(session)
        spent = self._now() - start
        if session.clock is not None and spent > session.left[session.mover]:
            return self._played(session, FLAG, spent)
        return self._played(session, session.game.notation(session.states, action), spent)

    def flag(self, session: Session) -> Session:
        """End the deal against the person, whose time is up.

        Raises:
            Conflict: if there is time left, or no clock.
        """
        if session.clock is None:
            raise Conflict("this game is played without a clock")
        self._check_turn(session, session.document.seat)
        spent = self._elapsed(session)
        if spent <= session.left[session.mover]:
            raise Conflict(f"there are {session.left[session.mover] - spent:.1f} seconds left")
        return self._played(session, FLAG, spent)

    def undo(self, session: Session) -> Session:
        """Take back the person's last move and what came after it.

        Raises:
            Conflict: in a game with a clock, or if there is none.
        """
        if session.clock is not None:
            raise Conflict("no move is taken back against the clock")
        mine = np.flatnonzero(session.replayed.states["mover"][:-1] == session.document.seat)
        if not len(mine):
            raise Conflict("there is no move of yours to take back")
        return self._changed(session, session.record.moves[: mine[-1]], None)

    def check_hint(self, session: Session) -> None:
        """Raise Conflict if it is no moment for a hint."""
        self._check_turn(session, session.document.seat)

    def _check_opponent(self, game: Game, opponent: Any) -> None:
        offered = self.opponents.get(game.name, [])
        if opponent not in offered:
            raise ValueError(f"opponent must be one of {', '.join(map(repr, offered))}, got {opponent!r}")

    @staticmethod
    def _check_turn(session: Session, seat: int) -> None:
        if session.over:
            raise Conflict("the game is over")
        if session.document.waiting:
            raise Conflict("the next deal has not been started")
        if session.mover != seat:
            raise Conflict("it is not your turn" if seat == session.document.seat else "it is your turn")

    def _elapsed(self, session: Session) -> float:
        document = session.document
        if document.since is None or document.run != self._run:
            return 0.0
        return max(0.0, self._now() - document.since)

    def clock_now(self, session: Session) -> tuple[float, float]:
        """Return the seconds that each seat has left at this moment."""
        left = list(session.left)
        if not session.over and not session.document.waiting:
            left[session.mover] -= self._elapsed(session)
        return max(0.0, left[0]), max(0.0, left[1])

    def resumed(self, session: Session) -> Session:
        """Return the session with its clock running again, if it is one of an earlier run of the server."""
        if session.document.run == self._run:
            return session
        return self._stamped(session)

    def _played(self, session: Session, move: str, spent: float) -> Session:
        times = None if session.record.times is None else [*session.record.times, round(spent, 6)]
        return self._changed(session, [*session.record.moves, move], times)

    def agent(self, game: Game, name: str) -> tuple[Agent, Lock]:
        """Return an agent, made once, and the lock under which it is to be asked."""
        with self._lock:
            if (game, name) not in self._agents:
                self._agents[game, name] = (make_agent(name, game, seed=0, mode="best"), Lock())
            return self._agents[game, name]

    def _choose(self, session: Session) -> int:
        """Ask the opponent. Its choice depends on the deal and the moves alone, so a repeated request repeats it."""
        game, states = session.game, session.states
        self._check_opponent(game, session.document.opponent)
        agent, lock = self.agent(game, session.document.opponent)
        observation = np.zeros(game.layout.size, dtype=np.int8)
        observe(states[0], session.mover, observation)
        mask = np.zeros(game.num_actions, dtype=np.int8)
        mask[game.legal_actions(states)] = 1
        seed = self.seal.number(session.document.deal, "reply", *session.record.moves) >> 65
        with lock:
            agent.reseed(seed)
            agent.start_deal()
            return agent.act_one(observation, mask, states.copy() if agent.needs_states else None)
