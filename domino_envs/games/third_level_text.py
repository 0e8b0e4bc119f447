"""Third Level in letters: the notation of an action, and a drawing to play from."""

from __future__ import annotations

from typing import Any

from ..tiles import DOUBLE_SIX_WITHOUT_DOUBLES as TILES
from .third_level_board import BONUS, CODE, FURTHER, HEIGHT_SHIFT, MOVE, NUM_TILES, PIP, cells_of

__all__ = ["END", "GROUND", "LIFT", "UPPER", "move_text", "text"]

#: Kinds of action in a code of ``describe``.
GROUND, UPPER, LIFT, END = 0, 1, 2, 3
_HEIGHTS = {0: 1, 1: 2, -2: 3}
_LEVEL_MARKS = (" ", " ", "'", '"')
_PHASES = {MOVE: "to move", BONUS: "may lift a tile or end the turn", FURTHER: "may lay another tile or end the turn"}


def _place_text(tile: int, row: int, column: int, direction: int) -> str:
    return f"{TILES.names[tile] if tile >= 0 else 'none'}@{row},{column} {'ESWN'[direction]}"


def move_text(code: int) -> str:
    """Return ``3-5@-1,2 S`` (ground), ``3-5@-1,2 S^`` (upper level), ``lift 3-5@-1,2 S`` or ``end``."""
    kind = code >> 23
    if kind == END:
        return "end"
    place = _place_text((code >> 18 & 31) - 1, (code >> 8 & 255) - 128, (code & 255) - 128, code >> 16 & 3)
    return f"lift {place}" if kind == LIFT else f"{place}^" if kind == UPPER else place


def _tile_text(state: Any, tile: int) -> str:
    row = int(state["tile_row"][tile]) - int(state["origin_row"])
    column = int(state["tile_column"][tile]) - int(state["origin_column"])
    return _place_text(tile, row, column, int(state["tile_direction"][tile]))


def _drawing(state: Any) -> list[str]:
    """Draw the formation from above, row and column numbers as in the notation; no line divides a tile."""
    seen: dict[tuple[int, int], int] = {}
    for level in range(1, 4):
        for tile in range(NUM_TILES):
            if state["tile_level"][tile] == level:
                row, column, high_row, high_column = (int(x) for x in cells_of(state, tile))
                seen[row, column] = seen[high_row, high_column] = tile
    rows = range(int(state["min_row"]), int(state["max_row"]) + 1)
    columns = range(int(state["min_column"]), int(state["max_column"]) + 1)
    lines = ["     " + "".join(f"{c - int(state['origin_column']):3d} " for c in columns).rstrip()]
    for row in range(rows.start, rows.stop + 1):
        edge = cells = ""
        for column in range(columns.start, columns.stop + 1):
            top = seen.get((row, column))
            west, north = seen.get((row, column - 1)), seen.get((row - 1, column))
            north_west = seen.get((row - 1, column - 1))
            edge += " " if top == west == north == north_west else "+"
            edge += "   " if top == north else "---"
            cells += " " if top == west else "|"
            code = int(state["cells"][row, column])
            cells += f" {PIP[code & CODE]}{_LEVEL_MARKS[_HEIGHTS[code >> HEIGHT_SHIFT]]}" if code else "   "
        lines.append(f"    {edge}".rstrip())
        if row < rows.stop:
            lines.append(f"{row - int(state['origin_row']):3d} {cells}".rstrip())
    return lines


def text(state: Any, seat: int | None = None) -> str:
    """Draw the table and the hands; a ``seat`` sees its own hand alone.

    Upper levels are marked ``'`` (second) and ``"`` (third); the tiles there are named below the drawing.
    """
    lines = [f"Opened by player_{state['opener']}", *_drawing(state)]
    for name, level in (("Second level", 2), ("Third level", 3), ("Covered on the ground", 1)):
        named = [
            _tile_text(state, tile)
            for tile in range(NUM_TILES)
            if state["tile_level"][tile] == level and (level > 1 or int(state["covered"]) >> tile & 1)
        ]
        if named:
            lines.append(f"{name}: {', '.join(named)}")
    for player in range(2):
        hand = int(state["hands"][player])
        if seat is None or seat == player:
            shown = " ".join(TILES.names[tile] for tile in range(NUM_TILES) if hand >> tile & 1) or "none"
        else:
            shown = f"{hand.bit_count()} hidden"
        lines.append(f"player_{player}: {shown}")
    lines.append(f"Pool: {int(state['pool_size']) - int(state['pool_next'])} left")
    if state["deal_over"]:
        winner = int(state["winners"][0])
        lines.append("Over, drawn" if winner < 0 else f"Over, won by player_{winner}")
    else:
        lines.append(f"player_{state['mover']} {_PHASES[int(state['phase'])]}")
    return "\n".join(lines)
