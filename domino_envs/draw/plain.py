"""The drawing of a game that has none of its own: its text."""

from __future__ import annotations

from .scene import Scene, View

__all__ = ["draw"]


def draw(view: View) -> Scene:
    """Draw the game's text, line by line."""
    lines = view.game.text(view.state, view.seat).splitlines()
    size = 14.0
    scene = Scene(view, max(400.0, 0.62 * size * max(map(len, lines)) + 40), 1.5 * size * len(lines) + 40)
    for i, line in enumerate(lines):
        with scene.canvas.group(font_family="ui-monospace, Menlo, Consolas, monospace"):
            scene.canvas.text(20, 20 + 1.5 * size * (i + 0.8), line.replace(" ", "\u00a0"), size, view.theme.ink)
    scene.corner = (20.0, scene.height - 14)
    return scene
