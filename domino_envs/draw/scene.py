"""What every game's drawing is made of: the view that is drawn, the drawing, and the overlays on top of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..games import Game
from .svg import Box, Canvas, number
from .theme import Theme
from .tile import draw_tile

__all__ = ["LAYOUTS", "Placement", "Scene", "View", "bits", "draw_panel", "shorten", "value_text"]

LAYOUTS = ("wide", "tall")
_MOST_CHIPS = 12  # numbers on the table at once; the other places get a dot


@dataclass(frozen=True)
class View:
    """What is drawn, and for whom.

    Attributes:
        game: the game.
        states: the position's record, shape ``(1,)``.
        seat: whose eyes see it: what is hidden from this seat lies face down. None sees everything.
        names: what the seats are called.
        theme: colours.
        layout: ``"wide"`` for a page or a window, ``"tall"`` for a phone.
        last: number of the tile laid last, which is marked; -1 for none.
        with_moves: whether the drawing has to say where the legal moves lie.
        extent: what the module's ``extent`` says of all positions of an animation, so that the table stays in place.
    """

    game: Game
    states: NDArray[Any]
    seat: int | None
    names: tuple[str, str]
    theme: Theme
    layout: str
    last: int
    with_moves: bool
    extent: Any = None

    @property
    def state(self) -> Any:
        """The record."""
        return self.states[0]

    @property
    def bottom(self) -> int:
        """The seat at the lower edge."""
        return self.seat or 0

    @property
    def tall(self) -> bool:
        """Whether the drawing is for a phone."""
        return self.layout == "tall"

    def sees(self, seat: int) -> bool:
        """Whether the hand of a seat is open to the viewer."""
        return self.seat is None or self.seat == seat or not self.game.hidden.fields

    def actions(self) -> list[int]:
        """The legal actions to draw: none if not asked for, after the end, or if they would tell hidden tiles."""
        state = self.state
        if not self.with_moves or state["deal_over"] or not self.sees(int(state["mover"])):
            return []
        return [int(action) for action in self.game.legal_actions(self.states)]

    def result(self, seat: int, to_do: str) -> str:
        """What to say of a seat: what it is to do, or how the deal ended for it."""
        state = self.state
        if not state["deal_over"]:
            return to_do if state["mover"] == seat else ""
        winner = int(state["winners"][int(state["finished"]) - 1])
        return "drawn" if winner < 0 else "wins" if winner == seat else ""


@dataclass(frozen=True)
class Placement:
    """Where an action puts a tile.

    Attributes:
        action: its number.
        source: key of the tile that it takes up.
        zone: where to click for it; places with equal zones are one spot.
        x: left edge of the tile when laid.
        y: its upper edge.
        half: side of a half.
        first: pips of the left or upper half.
        second: pips of the other half.
        upright: whether it stands.
        turn: 0 to 3 if the same tile can be laid on the same cells in several ways, else None.
        level: on which it will lie.
    """

    action: int
    source: str
    zone: Box
    x: float
    y: float
    half: float
    first: int
    second: int
    upright: bool = False
    turn: int | None = None
    level: int = 1


def _overlap(one: Box, other: Box) -> bool:
    across = one[0] < other[0] + other[2] and other[0] < one[0] + one[2]
    return across and one[1] < other[1] + other[3] and other[1] < one[1] + one[3]


def _center(box: Box) -> tuple[float, float]:
    return box[0] + box[2] / 2, box[1] + box[3] / 2


@dataclass
class Scene:
    """A drawing in the making.

    Attributes:
        view: what is drawn.
        width: in pixels at normal size.
        height: likewise.
        canvas: the elements so far.
        sources: by key, the tiles that can be taken up: box and name.
        placements: where the legal actions lie; actions with no place on the table have none.
        corner: where the chips of actions without a place are lined up, from this point to the right.
        from_table: whether the tiles taken up lie among the places where they can go: lines then join the two.
    """

    view: View
    width: float
    height: float
    canvas: Canvas = field(default_factory=Canvas)
    sources: dict[str, tuple[Box, str]] = field(default_factory=dict)
    placements: list[Placement] = field(default_factory=list)
    corner: tuple[float, float] = (0.0, 0.0)
    from_table: bool = False

    def show_legal(self) -> None:
        """Mark the tiles that can be played and the places where."""
        theme = self.view.theme
        for key in dict.fromkeys(placement.source for placement in self.placements):
            self._ring(self.sources[key][0], theme.legal)
        spots = {placement.zone: placement for placement in self.placements}
        crowded = len(spots) > _MOST_CHIPS
        self._connect(self.placements)
        for zone, placement in spots.items():
            if crowded:
                self._dot(zone, placement.half, 0.9)
            else:
                self._outline(placement)

    def show_values(self, values: Mapping[int, float], template: str) -> None:
        """Write a number to each action: at its tile the best of that tile, at its place the best of that place.

        Args:
            values: by action; the higher the better.
            template: format of a number, such as ``"{:+.2f}"``.
        """
        if not values:
            return
        with self.canvas.group(pointer_events="none"):
            self._write_values(values, template)

    def _write_values(self, values: Mapping[int, float], template: str) -> None:
        best = max(values.values())
        low = min(values.values())
        by_source: dict[str, float] = {}
        by_spot: dict[Box, tuple[float, Placement]] = {}
        for placement in self.placements:
            value = values.get(placement.action)
            if value is None:
                continue
            by_source[placement.source] = max(value, by_source.get(placement.source, value))
            if placement.zone not in by_spot or value > by_spot[placement.zone][0]:
                by_spot[placement.zone] = (value, placement)
        ranked = sorted(by_spot.values(), key=lambda pair: -pair[0])
        self._connect([placement for _, placement in ranked])
        for key in by_source if self.from_table else ():
            self._ring(self.sources[key][0], self.view.theme.legal)
        for i, (value, placement) in reversed(list(enumerate(ranked))):
            if i >= _MOST_CHIPS:
                self._dot(placement.zone, placement.half, 0.25 + 0.65 * (value - low) / max(best - low, 1e-9))
            else:
                self._outline(placement)
                self._chip(*_center(placement.zone), value_text(template, value), value == best)
        for key, value in by_source.items():
            if self.from_table:  # there the numbers would hide each other
                continue
            x, y, width, height = self.sources[key][0]
            inner = y + height if y < self.height / 2 else y  # the edge nearer to the table
            self._chip(x + width / 2, inner, value_text(template, value), value == best)
        x, y = self.corner
        placed = {placement.action for placement in self.placements}
        for action in sorted(set(values) - placed):
            text = f"{self.view.game.notation(self.view.states, action)} {value_text(template, values[action])}"
            x += self._chip(x + self._chip_width(text) / 2, y, text, values[action] == best) + 6

    def make_clickable(self) -> None:
        """Add what a page needs: elements of class ``source`` and ``target``, to be shown and hidden by its style.

        A source has ``data-source``; a target ``data-action``, ``data-source`` of its tile and, where the tile can be
        turned, ``data-turn``.
        """
        canvas = self.canvas
        for key in dict.fromkeys(placement.source for placement in self.placements):
            box, name = self.sources[key]
            with canvas.group(class_="source", data_source=key, tabindex=0, role="button", aria_label=f"tile {name}"):
                self._ring(box, "currentColor", fill="transparent")
        lit: dict[tuple[str, int | None], list[Placement]] = {}  # what is shown together
        for placement in self.placements:
            lit.setdefault((placement.source, placement.turn), []).append(placement)
        for placement in self.placements:
            move = self.view.game.notation(self.view.states, placement.action)
            with canvas.group(
                class_="target",
                data_action=placement.action,
                data_source=placement.source,
                data_turn=placement.turn,
                tabindex=-1,
                role="button",
                aria_label=move,
            ):
                self._clickable(placement, lit[placement.source, placement.turn])
                with canvas.group(class_="spot"):
                    if placement.turn is None:
                        self._outline(placement)
                    else:
                        self._dot(placement.zone, placement.half, 1.0)
                with canvas.group(class_="ghost"):
                    self._ghost(placement)

    def _clickable(self, placement: Placement, lit: Sequence[Placement]) -> None:
        """Add the area to click for a placement: its zone, or where it and others of ``lit`` would overlap, a diamond.

        The middles of tiles that may lie either way are those of the cells' edges, so such diamonds do not overlap.
        """
        if not any(other is not placement and _overlap(other.zone, placement.zone) for other in lit):
            self.canvas.rect(placement.zone, fill="transparent")
            return
        x, y = _center(placement.zone)
        far = placement.half / 2
        corners = (x - far, y), (x, y - far), (x + far, y), (x, y + far)
        outline = "L".join(f"{number(corner_x)} {number(corner_y)}" for corner_x, corner_y in corners)
        self.canvas.path(f"M{outline}Z", fill="transparent")

    def _connect(self, placements: Sequence[Placement]) -> None:
        if not self.from_table:
            return
        for placement in placements:
            x, y = _center(self.sources[placement.source][0])
            to_x, to_y = _center(placement.zone)
            line = f"M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}"
            self.canvas.path(line, stroke=self.view.theme.legal, stroke_width=2, stroke_dasharray="2 4", fill="none")

    def _ring(self, box: Box, color: str, fill: str = "none") -> None:
        x, y, width, height = box
        self.canvas.rect((x - 2, y - 2, width + 4, height + 5), 6.0, fill=fill, stroke=color, stroke_width=2.5)

    def _outline(self, placement: Placement) -> None:
        theme = self.view.theme
        width, height = placement.half, 2 * placement.half
        if not placement.upright:
            width, height = height, width
        box = (placement.x + 1, placement.y + 1, width - 2, height - 2)
        self.canvas.rect(
            box,
            0.14 * placement.half,
            fill=theme.legal,
            fill_opacity=0.15,
            stroke=theme.legal,
            stroke_width=2,
            stroke_dasharray="4 3",
        )

    def _dot(self, zone: Box, half: float, opacity: float) -> None:
        x, y = _center(zone)
        self.canvas.circle(x, y, 0.13 * half + 1.5, fill=self.view.theme.legal, fill_opacity=opacity)

    def _ghost(self, placement: Placement) -> None:
        draw_tile(
            self.canvas,
            placement.x,
            placement.y,
            placement.half,
            placement.first,
            placement.second,
            self.view.theme,
            upright=placement.upright,
            level=placement.level,
            mark=self.view.theme.legal,
        )

    @property
    def _chip_size(self) -> float:
        return 9.5 if self.view.tall else 11.5

    def _chip_width(self, text: str) -> float:
        return self._chip_size * (0.575 * len(text) + 0.8)

    def _chip(self, x: float, y: float, text: str, best: bool) -> float:
        theme, size = self.view.theme, self._chip_size
        width, height = self._chip_width(text), 1.5 * size
        x = min(max(x, width / 2 + 2), self.width - width / 2 - 2)
        box = (x - width / 2, y - height / 2, width, height)
        self.canvas.rect(box, height / 2, fill=theme.legal if best else theme.chip, stroke=theme.board, stroke_width=1)
        self.canvas.text(x, y + 0.35 * size, text, size, theme.chip_ink, bold=best, text_anchor="middle")
        return width


def draw_panel(scene: Scene, seat: int, box: Box, details: Sequence[str], to_do: str = "to move") -> None:
    """Draw the ground on which a seat's tiles lie, with its name, details below (one a line), and what it is to do."""
    view, canvas = scene.view, scene.canvas
    theme = view.theme
    x, y, _, _ = box
    color = theme.seats[seat]
    result = view.result(seat, to_do)
    canvas.rect(box, 10.0, fill=theme.panel, stroke=color if result else "none", stroke_width=2)
    canvas.circle(x + 17, y + 20, 6.0, fill=color)
    canvas.text(x + 29, y + 25, shorten(view.names[seat], 19 if not view.tall else 24), 14.5, theme.ink, bold=True)
    lines = [*details]
    if view.tall:
        shown = " · ".join([*lines, *([result] if result else [])])
        canvas.text(x + box[2] - 12, y + 25, shown, 13.0, color if result else theme.muted, text_anchor="end")
        return
    for i, line in enumerate(lines):
        canvas.text(x + 29, y + 45 + 18 * i, line, 12.5, theme.muted)
    if result:
        canvas.text(x + 29, y + 45 + 18 * len(lines), result, 13.0, color, bold=True)


def value_text(template: str, value: float) -> str:
    """Return a number as the template has it, but a zero without sign."""
    text = template.format(value)
    return text if any(digit in text for digit in "123456789") else text.lstrip("+-")


def shorten(text: str, length: int) -> str:
    """Return a text cut to a length."""
    return text if len(text) <= length else text[: length - 3] + "..."


def bits(values: Any) -> list[int]:
    """Return the tile numbers of a bit set in ascending order."""
    whole = int(np.int64(values))
    return [tile for tile in range(whole.bit_length()) if whole >> tile & 1]
