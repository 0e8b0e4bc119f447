"""The colours of the drawings: a light and a dark theme."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DARK", "LIGHT", "THEMES", "Theme", "get_theme"]


@dataclass(frozen=True)
class Theme:
    """Colours, each as ``#rrggbb``.

    Attributes:
        name: ``"light"`` or ``"dark"``.
        board: the table.
        panel: where a player's tiles lie.
        line: borders and guide lines.
        ink: text.
        muted: text of less weight.
        back: a tile that lies face down.
        shade: the edge of a tile, below it.
        levels: the face of a tile on the ground, the second and the third level.
        pips: by pip value, 0 to 9.
        seats: what belongs to each seat.
        legal: where a tile may be laid.
        last: around the tile laid last.
        chip: behind the number of an overlay.
        chip_ink: the number itself.
    """

    name: str
    board: str
    panel: str
    line: str
    ink: str
    muted: str
    back: str
    shade: str
    levels: tuple[str, str, str]
    pips: tuple[str, ...]
    seats: tuple[str, str]
    legal: str
    last: str
    chip: str
    chip_ink: str


# A colour a value, as in sets sold with many pips, all of them dark enough for an ivory tile.
_PIPS = ("#000000", "#1f7bb6", "#2c8a4b", "#c6322b", "#7a5535", "#23408f", "#b07800", "#ad3487", "#0c7f7a", "#5a3a9c")

LIGHT = Theme(
    name="light",
    board="#f3f1ea",
    panel="#e7e3d8",
    line="#c9c3b4",
    ink="#2a2b2e",
    muted="#6f6b60",
    back="#5b6c84",
    shade="#a59d8a",
    levels=("#fffdf6", "#cfe5fb", "#ffdf7e"),
    pips=_PIPS,
    seats=("#2467ac", "#b64d12"),
    legal="#12855a",
    last="#e2641c",
    chip="#24262a",
    chip_ink="#ffffff",
)

DARK = Theme(
    name="dark",
    board="#1d2126",
    panel="#272c33",
    line="#434a54",
    ink="#e9e6dd",
    muted="#a0a5ad",
    back="#6b7f99",
    shade="#0c0e10",
    levels=("#ece6d8", "#a9cdf0", "#f2c84f"),
    pips=_PIPS,
    seats=("#6fb1f2", "#f0975a"),
    legal="#3ecf93",
    last="#ff8a3d",
    chip="#f4f1e8",
    chip_ink="#1d2126",
)

THEMES = {theme.name: theme for theme in (LIGHT, DARK)}


def get_theme(name: str) -> Theme:
    """Return a theme by name.

    Raises:
        ValueError: for an unknown name.
    """
    if not isinstance(name, str) or name not in THEMES:
        raise ValueError(f"theme must be one of {', '.join(map(repr, THEMES))}, got {name!r}")
    return THEMES[name]
