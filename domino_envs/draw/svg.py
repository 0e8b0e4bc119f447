"""A list of SVG elements with short methods to add to it; lengths are in user units (pixels at normal size)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.sax.saxutils import escape, quoteattr

__all__ = ["Box", "Canvas", "number"]

#: ``(x, y, width, height)``
Box = tuple[float, float, float, float]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"


def number(value: float) -> str:
    """Return a length with two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _attributes(values: dict[str, Any]) -> str:
    written = []
    for name, value in values.items():
        if value is None:
            continue
        shown = number(value) if isinstance(value, (int, float)) else str(value)
        written.append(f" {name.rstrip('_').replace('_', '-')}={quoteattr(shown)}")
    return "".join(written)


class Canvas:
    """SVG elements in drawing order.

    Keyword arguments of the methods become attributes, ``_`` written for ``-`` (``stroke_width=2``); None leaves one
    out.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []

    def add(self, tag: str, **attributes: Any) -> None:
        """Add an element without content."""
        self.parts.append(f"<{tag}{_attributes(attributes)}/>")

    def rect(self, box: Box, radius: float = 0.0, **attributes: Any) -> None:
        """Add a rectangle."""
        x, y, width, height = box
        self.add("rect", x=x, y=y, width=width, height=height, rx=radius or None, **attributes)

    def circle(self, x: float, y: float, radius: float, **attributes: Any) -> None:
        """Add a circle."""
        self.add("circle", cx=x, cy=y, r=radius, **attributes)

    def path(self, d: str, **attributes: Any) -> None:
        """Add a path."""
        self.add("path", d=d, **attributes)

    def text(
        self, x: float, y: float, content: str, size: float, fill: str, *, bold: bool = False, **attributes: Any
    ) -> None:
        """Add a line of text; ``y`` is its baseline."""
        if bold:
            attributes["font_weight"] = 600
        written = _attributes({"x": x, "y": y, "font_size": size, "fill": fill, **attributes})
        self.parts.append(f"<text{written}>{escape(content)}</text>")

    @contextmanager
    def group(self, **attributes: Any) -> Iterator[None]:
        """Put what is added meanwhile into a group."""
        self.parts.append(f"<g{_attributes(attributes)}>")
        yield
        self.parts.append("</g>")

    def title(self, content: str) -> None:
        """Add a description to the open group: read out, and shown under the pointer."""
        self.parts.append(f"<title>{escape(content)}</title>")

    def document(self, width: float, height: float, title: str, *, fixed_size: bool = True) -> str:
        """Return the whole SVG.

        Args:
            width: of the drawing.
            height: of the drawing.
            title: says what the picture shows to those who do not see it.
            fixed_size: give the size in pixels; without, it fills what surrounds it.
        """
        size = _attributes({"width": width, "height": height}) if fixed_size else ""
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg"{size} viewBox="0 0 {number(width)} {number(height)}"'
            f" font-family={quoteattr(FONT)} role={quoteattr('group' if not fixed_size else 'img')}"
            f" aria-label={quoteattr(title)}>{''.join(self.parts)}</svg>"
        )
