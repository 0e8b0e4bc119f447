"""From draw orders and moves to pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..games import SEATS, Game
from ..games.kernels import finish_deal, play
from .drawing import draw_svg, shared_extent

__all__ = ["Frame", "frames_of_moves", "frames_of_record", "frames_to_svg", "position_after"]


@dataclass(frozen=True)
class Frame:
    """A position of a replay.

    The last position of a deal comes as a frame of its own, with the result, before the next deal is laid out.

    Attributes:
        states: the record, shape ``(1,)``.
        move: what led here, in notation; None at the start of a deal.
        seat: who made it.
        number: moves made so far in the episode.
    """

    states: NDArray[Any]
    move: str | None
    seat: int | None
    number: int


def frames_of_record(record: Any) -> tuple[Game, list[Frame]]:
    """Return the game of a record and the positions that it runs through.

    Args:
        record: a :class:`~domino_envs.arena.GameRecord` or its JSON object; the game may be in progress.

    Raises:
        ValueError: if it cannot be replayed.
    """
    from ..arena.record import GameRecord, replay

    if not isinstance(record, GameRecord):
        record = GameRecord.from_json(record)
    replayed = replay(record)
    game, states = replayed.game, replayed.states
    frames = [Frame(states[:1].copy(), None, None, 0)]
    for number, (move, action) in enumerate(zip(record.moves, replayed.actions, strict=True), 1):
        before = states[number - 1 : number]
        frames.append(Frame(position_after(game, before, action), move, int(before["mover"][0]), number))
        after = states[number : number + 1]
        if frames[-1].states["deal_over"][0] and not after["over"][0]:
            frames.append(Frame(after.copy(), None, None, number))
    return game, frames


def position_after(game: Game, states: NDArray[Any], action: int) -> NDArray[Any]:
    """Return the position after an action (-1: the mover's time is up), with a finished deal still on the table."""
    from ..arena.clock import points_on_time

    after = states.copy()
    state = after[0]
    seat = int(state["mover"])
    if action < 0:
        finish_deal(state, 1 - seat, points_on_time(game, state))
        return after
    state["last_action"], state["last_mover"] = action, seat
    state["ply"] += 1
    play(state, action)
    if state["deal_over"] and state["deal"] + 1 >= state["deals"]:
        state["over"] = 1
    return after


def frames_of_moves(
    game: Game,
    orders: Sequence[Sequence[int]],
    moves: Sequence[str],
    *,
    episode: str | None = None,
    opener: str = SEATS[0],
) -> list[Frame]:
    """Return the positions that moves run through.

    Args:
        game: the game.
        orders: draw orders of the shuffles, in turn.
        moves: in notation, all deals in a row.
        episode: a key of ``game.episodes``; None for the default.
        opener: who opens the first deal.

    Raises:
        ValueError: for a wrong order, and at the first move that is not legal.
    """
    from ..arena.record import GameRecord

    record = GameRecord(
        game=game.name,
        parameters=dict(game.parameters),
        rules_version=game.rules_version,
        episode=episode or next(iter(game.episodes)),
        orders=[[int(tile) for tile in order] for order in orders],
        opener=opener,
        players=SEATS,
        moves=list(moves),
        over=False,
        scores=(0, 0),
        winner=None,
        seconds=(0.0, 0.0),
    )
    return frames_of_record(record)[1]


def frames_to_svg(game: Game, frames: Sequence[Frame], **drawing: Any) -> list[str]:
    """Return a picture of each frame, all of one size and with the table in one place.

    Args:
        game: the game.
        frames: of one replay.
        drawing: what :func:`~domino_envs.draw.draw_svg` takes (``seat``, ``names``, ``theme``, ``layout`` ...).
    """
    extent = shared_extent(game, [frame.states for frame in frames])
    return [draw_svg(game, frame.states, last=frame.move, extent=extent, **drawing) for frame in frames]
