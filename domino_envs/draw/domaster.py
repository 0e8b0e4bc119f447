"""The drawing of Domaster and Five Bridges: five chains across the table, the columns of both players along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..games.domaster import CHAINS, COLUMNS, HIGH, LOW, NEW_CHAIN, PASS, REACH, ROWS, SLOTS
from .scene import Placement, Scene, View, draw_panel
from .svg import Box
from .tile import draw_outline, draw_tile

__all__ = ["draw"]


@dataclass(frozen=True)
class _Hand:
    """Where the columns of a seat lie: the tile of a row and column, rows from the far side."""

    panel: Box
    left: float
    top: float
    half: float
    column_step: float
    row_step: float
    upright: bool
    upside_down: bool  # the far row is the lowest one

    def place(self, column: int, row: int) -> tuple[float, float]:
        shown = ROWS - 1 - row if self.upside_down else row
        return self.left + column * self.column_step, self.top + shown * self.row_step

    def number(self, column: int) -> tuple[float, float]:
        width = self.half if self.upright else 2 * self.half
        x = self.left + column * self.column_step + width / 2
        return x, self.top - 5 if self.upside_down else self.top + ROWS * self.row_step + 10


@dataclass(frozen=True)
class _Plan:
    """Where everything lies."""

    width: float
    height: float
    half: float
    middle: float
    first_chain: float
    chain_step: float
    hands: tuple[_Hand, _Hand]  # the upper, the lower

    def place(self, chain: int, position: int) -> tuple[float, float]:
        """Left upper corner of a chain's tile; position 0 to 10, 5 is its first."""
        x = self.middle + (2 * (position - REACH) - 1) * self.half
        return x, self.first_chain + chain * self.chain_step


def _wide() -> _Plan:
    def hand(y: float, upside_down: bool) -> _Hand:
        top = y + (24 if upside_down else 12)
        return _Hand((14, y, 932, 152), 196, top, 34, 82, 41, False, upside_down)

    return _Plan(960, 614, 34, 480, 188, 49, (hand(14, True), hand(448, False)))


def _tall() -> _Plan:
    upper = _Hand((6, 6, 378, 188), 26, 53, 20, 39.5, 45, True, True)
    lower = _Hand((6, 378, 378, 252), 14, 413, 31, 41.2, 66.5, True, False)
    return _Plan(390, 636, 15.5, 199, 207, 33.5, (upper, lower))


def draw(view: View) -> Scene:
    """Draw a position; at each side of a chain stands the pip value that fits there."""
    state = view.state
    plan = _tall() if view.tall else _wide()
    scene = Scene(view, plan.width, plan.height)
    _draw_chains(scene, plan)
    for seat, hand in zip((1 - view.bottom, view.bottom), plan.hands, strict=True):
        score = int(state["scores"][seat])
        details = [f"{score} deal{'' if score == 1 else 's'} won"] if state["deals"] > 1 else []
        draw_panel(scene, seat, hand.panel, details)
        _draw_hand(scene, hand, seat)
    x, y = 20.0, plan.hands[0].panel[1] + plan.hands[0].panel[3]
    scene.corner = (x, y + 14)
    mover = int(state["mover"])
    for action in view.actions():
        if action != PASS:
            scene.placements.append(_placement(state, plan, mover, action))
    return scene


def _draw_chains(scene: Scene, plan: _Plan) -> None:
    view, canvas = scene.view, scene.canvas
    state, theme = view.state, view.theme
    half = plan.half
    for chain in range(CHAINS):
        x, y = plan.place(chain, 0)
        length = 2 * half * (2 * REACH + 1)
        middle = y + half / 2
        started = chain < state["chains"]
        canvas.rect(
            (x - 5, y - 4, length + 10, half + 9),
            8.0,
            fill=theme.panel,
            fill_opacity=1 if started else 0.4,
        )
        size = 11 if view.tall else 15
        canvas.text(
            x - 14 if view.tall else 28, middle + 0.35 * size, str(chain + 1), size, theme.muted, text_anchor="middle"
        )
        if not started:
            draw_outline(canvas, *plan.place(chain, REACH), half, theme.line)
            continue
        for position in range(2 * REACH + 1):
            left, top = plan.place(chain, position)
            code = int(state["table"][chain, position])
            if code < 0:
                canvas.circle(left + half, middle, 1.6, fill=theme.line)
                continue
            tile, turned = divmod(code, 2)
            first, second = (HIGH[tile], LOW[tile]) if turned else (LOW[tile], HIGH[tile])
            mark = theme.last if tile == view.last else None
            draw_tile(canvas, left, top, half, int(first), int(second), theme, mark=mark)
        if not view.tall:
            _draw_ends(scene, chain, x - 5, x + length + 5, middle)


def _draw_ends(scene: Scene, chain: int, left: float, right: float, y: float) -> None:
    state, theme = scene.view.state, scene.view.theme
    for side, x in ((0, left - 19), (1, right + 19)):
        full = state["grown"][chain, side] == REACH
        pip = int(state["ends"][chain, side])
        if full:
            scene.canvas.text(x, y + 4.5, "full", 12, theme.muted, text_anchor="middle")
        else:
            scene.canvas.circle(x, y, 12.5, fill=theme.levels[0], stroke=theme.line, stroke_width=1)
            scene.canvas.text(x, y + 5.5, str(pip), 16, theme.pips[pip], bold=True, text_anchor="middle")


def _draw_hand(scene: Scene, hand: _Hand, seat: int) -> None:
    view, canvas = scene.view, scene.canvas
    state, theme = view.state, view.theme
    to_move = state["mover"] == seat and not state["deal_over"]
    for column in range(COLUMNS):
        left = int(state["left"][seat, column])
        x, y = hand.number(column)
        canvas.text(x, y, str(column + 1), 11, theme.muted, text_anchor="middle")
        for row in range(left):
            tile = int(state["columns"][seat, column, row])
            x, y = hand.place(column, row)
            playable = row == left - 1
            draw_tile(
                canvas,
                x,
                y,
                hand.half,
                int(LOW[tile]),
                int(HIGH[tile]),
                theme,
                upright=hand.upright,
                faded=not playable,
            )
            if playable and to_move:
                width, height = (hand.half, 2 * hand.half) if hand.upright else (2 * hand.half, hand.half)
                scene.sources[f"column-{column + 1}"] = ((x, y, width, height), f"{LOW[tile]}-{HIGH[tile]}")


def _placement(state: Any, plan: _Plan, mover: int, action: int) -> Placement:
    column, slot = divmod(action, SLOTS)
    tile = int(state["columns"][mover, column, int(state["left"][mover, column]) - 1])
    low, high = int(LOW[tile]), int(HIGH[tile])
    first, second = low, high
    if slot == NEW_CHAIN:
        chain, position = int(state["chains"]), REACH
    else:
        chain, side = divmod(slot, 2)
        position = REACH + (2 * side - 1) * (int(state["grown"][chain, side]) + 1)
        if (low == state["ends"][chain, side]) == (side == 0):
            first, second = high, low
    x, y = plan.place(chain, position)
    zone = (x - 2, y - 6, 2 * plan.half + 4, plan.half + 12)
    return Placement(action, f"column-{column + 1}", zone, x, y, plan.half, first, second)
