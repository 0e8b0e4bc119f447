"""What a page shows of a session: the picture, whose turn it is, the moves, the clock."""

from __future__ import annotations

from typing import Any

from ..arena.record import FLAG
from ..draw.drawing import finish, make_scene
from ..draw.replay import Frame, position_after
from ..draw.scene import value_text
from ..games import SEATS
from .hints import Hint
from .service import Server
from .session import Session

__all__ = ["view_of"]

_ALONE = {"pass": "Pass", "end": "End turn"}


def view_of(
    server: Server,
    session: Session,
    *,
    theme: str = "light",
    layout: str = "wide",
    hint: Hint | None = None,
    at: int | None = None,
) -> dict[str, Any]:
    """Return what a page needs to show a session, as a JSON object.

    Args:
        server: for the seal and the clock.
        session: the game.
        theme: ``"light"`` or ``"dark"``.
        layout: ``"wide"`` or ``"tall"``.
        hint: values to write to the moves.
        at: show the position after this many moves instead of the present one; nothing can be played there.

    Raises:
        ValueError: for a theme, a layout or a number of moves that does not exist.
    """
    document, record, game = session.document, session.record, session.game
    seat = document.seat
    ended = (session.over or document.waiting) and _ends_deal(session, len(record.moves))
    yours = not session.over and not document.waiting and session.mover == seat
    now = len(record.moves)
    if at is not None and (isinstance(at, bool) or not isinstance(at, int) or not 0 <= at <= now):
        raise ValueError(f"at must be a number of moves from 0 to {now}, got {at!r}")
    frame = _frame(session, now if at is None else at, finished=ended)
    scene = make_scene(
        game,
        frame.states,
        seat=seat,
        names=record.players,
        theme=theme,
        layout=layout,
        last=frame.move,
        with_moves=yours and at is None,
    )
    moves = []
    if yours and at is None:
        scene.make_clickable()
        if hint is not None:
            scene.show_values(hint.values, hint.template)
        placed = {placement.action for placement in scene.placements}
        for action in map(int, game.legal_actions(session.states)):
            text = game.notation(session.states, action)
            moves.append(
                {"action": action, "move": text, "label": None if action in placed else _ALONE.get(text, text)}
            )
    view: dict[str, Any] = {
        "document": document.text(server.seal),
        "svg": finish(scene, fixed_size=False),
        "turn": "over" if session.over else "wait" if document.waiting else "you" if yours else "opponent",
        "moves": moves,
        "game": game.name,
        "title": game.title,
        "opponent": document.opponent,
        "heading": _heading(session),
        "status": _status(session, ended),
        "history": _history(session),
        "number": now if at is None else at,
        "clock": _clock(server, session),
        "start": "Start the clock" if not record.moves else f"Next {_word(session)}" if ended else "Go on",
        "deal_word": _word(session).capitalize(),
        "can_undo": session.clock is None and bool((session.replayed.states["mover"][:-1] == seat).any()),
    }
    if hint is not None:
        view["hint"] = _hint(session, hint)
    return view


def _frame(session: Session, number: int, *, finished: bool) -> Frame:
    """Return the position after some moves; a finished deal stays on the table where the session stops at it."""
    states, actions, moves = session.replayed.states, session.replayed.actions, session.record.moves
    if number == 0:
        return Frame(states[:1], None, None, 0)
    before = states[number - 1 : number]
    after = states[number : number + 1]
    ends = _ends_deal(session, number)
    if ends and (finished or number < len(moves)):
        after = position_after(session.game, before, actions[number - 1])
    elif ends:
        return Frame(after, None, None, number)
    return Frame(after, moves[number - 1], int(before["mover"][0]), number)


def _ends_deal(session: Session, number: int) -> bool:
    """Return whether the move with this number (from 1) ended a deal."""
    finished = session.replayed.states["finished"]
    return number > 0 and bool(finished[number] != finished[number - 1])


def _side(session: Session, seat: int) -> str:
    return "you" if seat == session.document.seat else "opponent"


def _word(session: Session) -> str:
    """What a deal is called: a game where several are played with one draw, or the only one there is."""
    single = max(session.game.episodes.values()) == 1
    return "game" if session.game.deals_per_order > 1 or single else "deal"


def _heading(session: Session) -> str:
    game, state = session.game, session.states[0]
    parts = [game.title]
    deals = int(state["deals"])
    if deals > 1:
        number = int(state["finished"]) + (0 if session.over or session.document.waiting else 1)
        parts.append(f"{_word(session)} {max(1, min(number, deals))} of {deals}")
    scores = session.replayed.scores
    mine = session.document.seat
    if deals > 1:
        parts.append(f"{scores[mine]} : {scores[1 - mine]}")
    return " · ".join(parts)


def _status(session: Session, ended: bool) -> str:
    state, mine = session.states[0], session.document.seat
    opponent = session.record.players[1 - mine]
    word, episode = _word(session), session.record.episode
    parts = []
    if ended:
        winner, points = session.replayed.deals[-1]
        on_time = ", on time" if session.record.moves[-1] == FLAG else ""
        worth = f" and score {points}" if points > 1 else ""
        if winner is None:
            result = f"The {word} is drawn."
        elif winner == SEATS[mine]:
            result = f"You win the {word}{worth}{on_time}."
        else:
            result = f"{opponent} wins the {word}{worth.replace('score', 'scores')}{on_time}."
        parts.append(result)
    if session.over:
        if int(state["deals"]) > 1:
            scores = session.replayed.scores
            total = f"{scores[mine]} : {scores[1 - mine]}"
            winner = session.replayed.winner
            parts.append(
                f"The {episode} is drawn, {total}."
                if winner is None
                else f"You win the {episode}, {total}."
                if winner == SEATS[mine]
                else f"{opponent} wins the {episode}, {total}."
            )
    elif session.document.waiting:
        parts.append("Start when you are ready.")
    elif session.mover == mine:
        parts.append(_TO_DO.get(_phase(session), "Your move."))
    else:
        parts.append(f"{opponent} is to move.")
    return " ".join(parts)


_TO_DO = {1: "Lift a tile, or end your turn.", 2: "Lay another tile, or end your turn."}


def _phase(session: Session) -> int:
    return int(session.states["phase"][0]) if "phase" in (session.states.dtype.names or ()) else 0


def _history(session: Session) -> list[dict[str, Any]]:
    movers, deals = session.replayed.states["mover"], session.replayed.states["deal"]
    return [
        {
            "by": _side(session, int(mover)),
            "move": "out of time" if move == FLAG else move,
            "deal": int(deal) + 1,
        }
        for move, mover, deal in zip(session.record.moves, movers[:-1], deals[:-1], strict=True)
    ]


def _clock(server: Server, session: Session) -> dict[str, Any] | None:
    if session.clock is None:
        return None
    mine = session.document.seat
    left = server.clock_now(session)
    runs = not session.over and not session.document.waiting
    return {
        "you": round(left[mine], 3),
        "opponent": round(left[1 - mine], 3),
        "running": _side(session, session.mover) if runs else None,
    }


def _hint(session: Session, hint: Hint) -> dict[str, Any]:
    ranked = sorted(hint.values, key=lambda action: -hint.values[action])
    return {
        "best": hint.best,
        "source": hint.source,
        "values": [
            {
                "action": action,
                "move": session.game.notation(session.states, action),
                "value": value_text(hint.template, hint.values[action]),
            }
            for action in ranked
        ],
    }
