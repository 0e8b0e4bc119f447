"""Third Level, slow and plain.

The table is a list of laid tiles; everything else (what is visible, heights, rows, columns, the window) is worked out
from it anew before each decision.

Readings taken: R9 (a row or column is checked over the whole formation, gaps included), R10 (an upper tile lies on two
cells of equal height that show its pips, each half on its equal), R11 (the tile that earned the bonus is not lifted
for it), R12 (each lift needs its own tile laid on the ground), R13 (two passes in succession draw the game).
A tile that wins from the hand ends the game before its player draws. A placement outside the window counts as none:
who has no other passes, and a further move with no other ends the turn.
"""

from __future__ import annotations

from typing import NamedTuple

from . import DOUBLE_SIX_NO_DOUBLES as TILES
from . import check_opener, check_orders

Cell = tuple[int, int]
STEPS: list[Cell] = [(0, 1), (1, 0), (0, -1), (-1, 0)]  # east, south, west, north
EAST, SOUTH = 0, 1
WINNING_LEVEL = 3


def beside(cell: Cell, direction: int) -> Cell:
    """The cell one away in a direction."""
    return cell[0] + STEPS[direction][0], cell[1] + STEPS[direction][1]


class Laid(NamedTuple):
    """A tile on the table: where its low half lies, the direction of its high half from there, and its level."""

    tile: int
    row: int
    column: int
    direction: int
    level: int

    def halves(self) -> list[tuple[Cell, int]]:
        """(cell, pip) of the low half and of the high half."""
        low = (self.row, self.column)
        return [(low, TILES[self.tile][0]), (beside(low, self.direction), TILES[self.tile][1])]

    def cells(self) -> list[Cell]:
        return [cell for cell, _ in self.halves()]


class Top(NamedTuple):
    """What is seen of a cell from above."""

    height: int
    pip: int
    tile: int


def in_one_piece(cells: set[Cell]) -> bool:
    """Whether the cells are connected along their edges (flood fill)."""
    if not cells:
        return True
    start = min(cells)
    reached = {start}
    waiting = [start]
    while waiting:
        cell = waiting.pop()
        for direction in range(4):
            other = beside(cell, direction)
            if other in cells and other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached == cells


class ReferenceThirdLevel:
    """One game of Third Level (the episodes deal and match are the same)."""

    def __init__(
        self,
        orders: list[list[int]],
        opener: int,
        episode: str = "match",
        hand_size: int = 3,
        board_size: int = 23,
    ) -> None:
        if episode not in ("deal", "match"):
            raise ValueError(f"unknown episode {episode!r}")
        if not 1 <= hand_size <= 10:
            raise ValueError("hand_size must be between 1 and 10")
        self.hand_size = hand_size
        self.board_size = board_size
        self.opener = check_opener(opener)
        pool = check_orders(orders, 1, len(TILES))[0]
        table = [Laid(pool.pop(0), 0, 0, EAST, 1)]
        hands: list[list[int]] = [[], []]
        for _ in range(hand_size):
            for seat in (self.opener, 1 - self.opener):
                hands[seat].append(pool.pop(0))
        self.scores: list[int] = [0, 0]
        self.results: list[tuple[int | None, int]] = []
        self.over = False
        self.deal_number = 0
        self.mover: int | None = None
        self.set_position(table, hands, pool, self.opener)

    def set_position(
        self,
        table: list[Laid],
        hands: list[list[int]],
        pool: list[int],
        mover: int,
        phase: str = "move",
        earner: int | None = None,
    ) -> None:
        """Take up a position and perform what is automatic in it (`earner`: the tile that earned the bonus)."""
        self.table = list(table)
        self.hands = [sorted(hand) for hand in hands]
        self.pool = list(pool)
        self.mover = mover
        self.phase = phase
        self.earner = earner
        self.passes = 0  # in succession
        self._settle()

    # -- what the table shows ---------------------------------------------------------------------------------------

    def surface(self) -> dict[Cell, Top]:
        """The top of each cell of the formation."""
        tops: dict[Cell, Top] = {}
        for laid in sorted(self.table, key=lambda laid: laid.level):
            for cell, pip in laid.halves():
                tops[cell] = Top(laid.level, pip, laid.tile)
        return tops

    def window_corner(self) -> Cell:
        """The table cell that is row 0, column 0 of the window."""
        rows = [row for row, _ in self.surface()]
        columns = [column for _, column in self.surface()]
        high = max(rows) - min(rows) + 1
        wide = max(columns) - min(columns) + 1
        return min(rows) - (self.board_size - high) // 2, min(columns) - (self.board_size - wide) // 2

    # -- what may be done -------------------------------------------------------------------------------------------

    def ground_placements(self) -> list[tuple[int, Laid]]:
        """(slot, tile as it would lie) of every placement from the mover's hand on the ground, window or not."""
        assert self.mover is not None
        tops = self.surface()
        row_pips: dict[int, list[int]] = {}
        column_pips: dict[int, list[int]] = {}
        for (row, column), top in tops.items():
            row_pips.setdefault(row, []).append(top.pip)
            column_pips.setdefault(column, []).append(top.pip)

        def repeats(laid: Laid) -> bool:
            for pips_of, axis in ((row_pips, 0), (column_pips, 1)):
                for number in {cell[axis] for cell in laid.cells()}:
                    new = [pip for cell, pip in laid.halves() if cell[axis] == number]
                    pips = pips_of.get(number, []) + new
                    if len(pips) != len(set(pips)):
                        return True
            return False

        found = []
        # A tile that touches the formation reaches at most two cells beyond it.
        for row in range(min(r for r, _ in tops) - 2, max(r for r, _ in tops) + 3):
            for column in range(min(c for _, c in tops) - 2, max(c for _, c in tops) + 3):
                for direction in range(4):
                    low, high = (row, column), beside((row, column), direction)
                    if low in tops or high in tops:
                        continue
                    if not any(beside(cell, d) in tops for cell in (low, high) for d in range(4)):
                        continue
                    for slot, tile in enumerate(self.hands[self.mover]):
                        laid = Laid(tile, row, column, direction, 1)
                        if not repeats(laid):
                            found.append((slot, laid))
        return found

    def upper_places(self) -> list[tuple[Cell, int, Laid]]:
        """(north-western cell, east or south, tile as it would lie) of every pair of cells that would carry a tile."""
        tops = self.surface()
        found = []
        for cell, top in tops.items():
            for direction in (EAST, SOUTH):
                other = beside(cell, direction)
                if other not in tops or tops[other].height != top.height or tops[other].pip == top.pip:
                    continue
                pips = (top.pip, tops[other].pip)
                tile = TILES.index((min(pips), max(pips)))
                if pips[0] < pips[1]:
                    laid = Laid(tile, *cell, direction, top.height + 1)
                else:
                    laid = Laid(tile, *other, direction + 2, top.height + 1)
                found.append((cell, direction, laid))
        return found

    def on_table(self, tile: int) -> Laid | None:
        return next((laid for laid in self.table if laid.tile == tile), None)

    def may_lift(self, target: Laid) -> bool:
        """Whether the tile of `target` lies on the table and may be lifted there for the present bonus."""
        old = self.on_table(target.tile)
        if old is None or old.tile == self.earner:  # R11
            return False
        tops = self.surface()
        if any(tops[cell].tile != old.tile for cell in old.cells()):
            return False  # covered
        if target.level <= old.level or set(target.cells()) & set(old.cells()):
            return False  # no higher, or onto itself
        return old.level > 1 or in_one_piece(set(tops) - set(old.cells()))

    def _find_options(self) -> None:
        """Fill self.options (action number to the tile as it would lie, None to end) and self.outside_window."""
        size = self.board_size
        top, left = self.window_corner()
        self.options: dict[int, Laid | None] = {}
        self.outside_window = 0
        if self.phase in ("move", "further"):
            for slot, laid in self.ground_placements():
                if all(0 <= row - top < size and 0 <= column - left < size for row, column in laid.cells()):
                    plane = 4 * slot + laid.direction
                    self.options[(plane * size + laid.row - top) * size + laid.column - left] = laid
                else:
                    self.outside_window += 1
        for (row, column), direction, laid in self.upper_places():
            from_hand = laid.tile in self.hands[self.mover] if self.mover is not None else False
            if self.may_lift(laid) if self.phase == "bonus" else from_hand:
                plane = 4 * self.hand_size + direction
                self.options[(plane * size + row - top) * size + column - left] = laid
        if self.phase in ("bonus", "further"):
            self.options[(4 * self.hand_size + 2) * size * size] = None

    # -- the course of the game -------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Go on to the next decision or to the end of the game."""
        while not self.over:
            assert self.mover is not None
            self._find_options()
            if any(laid is not None for laid in self.options.values()):
                return
            if self.phase == "move":
                self.passes += 1
                if self.passes == 2:
                    self._finish(None)
            self._next_turn()

    def _next_turn(self) -> None:
        self.phase = "move"
        self.earner = None
        if self.mover is not None:
            self.mover = 1 - self.mover

    def _finish(self, winner: int | None) -> None:
        if winner is not None:
            self.scores[winner] += 1
        self.results.append((winner, 0 if winner is None else 1))
        self.over = True
        self.mover = None
        self.options = {}
        self.outside_window = 0

    def legal_actions(self) -> list[int]:
        return [] if self.over else sorted(self.options)

    def play(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not legal now")
        assert self.mover is not None
        self.passes = 0
        laid = self.options[action]
        if laid is None:
            self._next_turn()
        else:
            lifted = self.phase == "bonus"
            if lifted:
                self.table = [other for other in self.table if other.tile != laid.tile]
            else:
                self.hands[self.mover].remove(laid.tile)
            self.table.append(laid)
            if laid.level == WINNING_LEVEL:
                self._finish(self.mover)
                return
            if lifted:
                self.phase = "further"
                self.earner = None
            else:
                hand = self.hands[self.mover]
                while len(hand) < self.hand_size and self.pool:
                    hand.append(self.pool.pop(0))
                hand.sort()
                if laid.level == 1:
                    self.phase = "bonus"
                    self.earner = laid.tile
                else:
                    self._next_turn()
        self._settle()

    def notation(self, action: int) -> str:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not legal now")
        laid = self.options[action]
        if laid is None:
            return "end"
        low, high = TILES[laid.tile]
        text = f"{low}-{high}@{laid.row},{laid.column} {'ESWN'[laid.direction]}"
        if self.phase == "bonus":
            return f"lift {text}"
        return text + ("^" if laid.level > 1 else "")
