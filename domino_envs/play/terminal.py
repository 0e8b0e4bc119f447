"""A game in the terminal: the position as text, moves typed in notation."""

from __future__ import annotations

import hashlib
import itertools
import secrets
from pathlib import Path

from ..arena.record import FLAG
from ..draw.scene import value_text
from ..games import SEATS, get_game
from .hints import hint
from .seal import Seal
from .service import Server
from .session import Conflict, Session

__all__ = ["play_in_terminal"]

_HELP = """Type a move as it is listed, or its number. Other words:
  ?          list the moves
  hint       what the engine thinks of them
  undo       take back your last move
  save FILE  write the record to a file
  quit       end"""


class _Quit(Exception):
    pass


def play_in_terminal(
    game: str,
    opponent: str,
    *,
    episode: str | None = None,
    seat: str = "random",
    clock: str | None = None,
    seed: int | None = None,
) -> int:
    """Play an episode and return the exit status.

    Args:
        game: its name.
        opponent: an agent's name.
        episode: a key of ``game.episodes``; None for the default.
        seat: the person's: ``"player_0"``, ``"player_1"`` or ``"random"``.
        clock: such as ``"300+2"``; who does not answer in time loses the deal.
        seed: decides the deals and the opponent's choices.

    Raises:
        ValueError: for a value that does not exist.
    """
    if seed is None:
        key = secrets.token_bytes(32)
    elif seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}")
    else:
        key = hashlib.sha256(str(seed).encode()).digest()
    numbers = itertools.count()
    server = Server(Seal(key), {game: [opponent]}, name_deal=lambda: str(next(numbers)))
    server.agent(get_game(game), opponent)  # an unknown one is told before the game begins
    session = server.new(game=game, opponent=opponent, episode=episode, seat=seat, clock=clock)
    print(f"{session.game.title} against {opponent}. You are {SEATS[session.document.seat]}. Type ? for help.")
    try:
        while not session.over:
            session = _go_on(server, session)
    except (_Quit, EOFError):
        print("\nEnded.")
        return 0
    print(f"\n{session.game.text(session.states[0])}")
    winner = session.replayed.winner
    mine = SEATS[session.document.seat]
    print("Drawn." if winner is None else "You win." if winner == mine else f"{opponent} wins.")
    return 0


def _go_on(server: Server, session: Session) -> Session:
    """Take the next step, whoever has to."""
    if session.document.waiting:
        if session.record.moves:
            _tell_result(session)
        _ask("Enter starts the next deal" if session.record.moves else "Enter starts the clock")
        return server.start(session)
    if session.mover == session.document.seat:
        return _your_move(server, session)
    session = server.reply(session)
    move = session.record.moves[-1]
    print(f"\n{session.document.opponent}: {'out of time' if move == FLAG else move}")
    return session


def _tell_result(session: Session) -> None:
    winner, points = session.replayed.deals[-1]
    mine = SEATS[session.document.seat]
    who = "Nobody wins" if winner is None else "You win" if winner == mine else f"{session.document.opponent} wins"
    print(f"\n{who} the deal{f', {points} points' if points > 1 else ''}.")


def _ask(prompt: str) -> str:
    answer = " ".join(input(f"{prompt}: ").split())
    if answer in ("quit", "exit"):
        raise _Quit
    return answer


def _your_move(server: Server, session: Session) -> Session:
    game, states = session.game, session.states
    print(f"\n{game.text(states[0], session.document.seat)}")
    legal = game.legal_actions(states).tolist()
    moves = [game.notation(states, action) for action in legal]
    if len(moves) <= 12:
        print(f"Moves: {', '.join(moves)}")
    while True:
        left = "" if session.clock is None else f" ({server.clock_now(session)[session.mover]:.0f} s left)"
        answer = _ask(f"Your move{left}")
        word, _, rest = answer.partition(" ")
        try:
            if answer == "?":
                print("\n".join([_HELP, *(f"{number:5}  {move}" for number, move in enumerate(moves, 1))]))
            elif answer == "undo":
                return server.undo(session)
            elif answer == "hint":
                found = hint(game, states)
                ranked = sorted(found.values, key=lambda action: -found.values[action])
                shown = [
                    f"{game.notation(states, a)} {value_text(found.template, found.values[a])}" for a in ranked[:8]
                ]
                print(f"Best: {game.notation(states, found.best)} ({found.source}): {', '.join(shown)}")
            elif word == "save" and rest:
                Path(rest).write_text(session.document.text(server.seal), encoding="utf-8")
                print(f"Written to {rest}.")
            elif answer:
                return server.move(session, _read_move(answer, moves, legal))
        except Conflict as error:
            if str(error) != "your time is up":
                print(error)
                continue
            print("Your time is up.")
            return server.flag(session)
        except (ValueError, OSError) as error:
            print(error)


def _read_move(answer: str, moves: list[str], legal: list[int]) -> int:
    if answer in moves:
        return legal[moves.index(answer)]
    if answer.isdecimal() and 1 <= int(answer) <= len(legal):
        return legal[int(answer) - 1]
    raise ValueError(f"{answer!r} is no legal move here; ? lists them")
