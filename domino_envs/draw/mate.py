"""The drawing of Mate: two rows that overlap half by half, each player's tiles in the row nearer to them."""

from __future__ import annotations

from ..games.mate import HAND, HIGH, LOW
from .scene import Placement, Scene, View, bits, draw_panel
from .tile import draw_outline, draw_tile

__all__ = ["draw"]


def draw(view: View) -> Scene:
    """Draw a position.

    The line grows to the right. The opener may play to either half of the starter; the one that was played to is drawn
    as its right half, so the starter turns if that was its low one.
    """
    scene = Scene(view, 390, 420) if view.tall else Scene(view, 960, 436)
    panel_height = 118 if view.tall else 116
    margin = 6 if view.tall else 14
    width = scene.width - 2 * margin
    lower = scene.height - margin - panel_height
    for seat, y in ((1 - view.bottom, margin), (view.bottom, lower)):
        points = int(view.state["scores"][seat])
        draw_panel(scene, seat, (margin, y, width, panel_height), [f"{points} point{'' if points == 1 else 's'}"])
        _draw_hand(scene, seat, y)
    _draw_line(scene, margin + panel_height, lower)
    scene.corner = (margin + 4.0, margin + panel_height + 16.0)
    return scene


def _draw_hand(scene: Scene, seat: int, panel_top: float) -> None:
    """Draw the hand, each tile in the place where it was at the start, so that none ever moves."""
    view, canvas = scene.view, scene.canvas
    state = view.state
    if view.tall:
        half, left, step, y = 31.0, 14.0, 36.8, panel_top + 42
    else:
        half, left, step, y = 40.0, 200.0, 73.0, panel_top + 17
    held = int(state["hands"][seat])
    for i, tile in enumerate(bits(state["dealt"][seat])[:HAND]):
        x = left + i * step
        if held >> tile & 1:
            draw_tile(canvas, x, y, half, int(LOW[tile]), int(HIGH[tile]), view.theme, upright=True)
            if state["mover"] == seat and not state["deal_over"]:
                scene.sources[f"tile-{tile}"] = ((x, y, half, 2 * half), f"{LOW[tile]}-{HIGH[tile]}")
        else:
            draw_outline(canvas, x, y, half, view.theme.line, upright=True)


def _draw_line(scene: Scene, top: float, bottom: float) -> None:
    view, canvas = scene.view, scene.canvas
    state, theme = view.state, view.theme
    count = int(state["count"])
    played = [int(action) for action in state["line"][: count - 1]]
    actions = view.actions()
    before = 0 if played else 1  # at the opening there is room on both sides of the starter
    halves = before + count + 1 + (0 if state["deal_over"] else 1)
    half = min(33.0 if view.tall else 42.0, (scene.width - 40) / halves)
    left = (scene.width - halves * half) / 2 + before * half
    upper = (top + bottom) / 2 - half - 2
    opener = int(state["opener"])

    def row(number: int) -> float:
        """Upper edge of the row of the tile with this number; the starter lies opposite to the opener."""
        seat = opener if number % 2 else 1 - opener
        return upper + half + 2 if seat == view.bottom else upper

    starter = int(state["starter"])
    low, high = int(LOW[starter]), int(HIGH[starter])
    if played:
        touched = HIGH[played[0] // 2] if played[0] & 1 else LOW[played[0] // 2]
        first, second = (high, low) if touched == low else (low, high)
    else:
        first, second = low, high
    draw_tile(canvas, left, row(0), half, first, second, theme)
    for number, action in enumerate(played, 1):
        touching, free = _halves(action)
        mark = theme.last if action // 2 == view.last else None
        draw_tile(canvas, left + number * half, row(number), half, touching, free, theme, mark=mark)
    pips = low + high if not played else int(LOW[played[-1] // 2] + HIGH[played[-1] // 2])
    tiles = f"{count} tile{'' if count == 1 else 's'}"
    worth = f"{tiles} x {pips} pips = {count * pips}"
    canvas.text(scene.width / 2, bottom - 11, worth, 12.5, theme.muted, text_anchor="middle")
    number = len(played) + 1
    for action in actions:
        touching, free = _halves(action)
        x, pair = left + number * half, (touching, free)
        if not played and touching == low:
            x, pair = left - half, (free, touching)
        y = row(number)
        zone = (x, y - 4, 2 * half, half + 8)
        scene.placements.append(Placement(action, f"tile-{action // 2}", zone, x, y, half, *pair))


def _halves(action: int) -> tuple[int, int]:
    """Return the touching and the free half of the tile that an action lays."""
    low, high = int(LOW[action // 2]), int(HIGH[action // 2])
    return (high, low) if action & 1 else (low, high)
