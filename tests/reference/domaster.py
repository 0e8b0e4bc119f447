"""Domaster and Five Bridges, slow and plain.

Readings taken: R1 (who can move must move; a pass is an action of its own, legal only when nothing else is), R2 (two
passes in succession draw the deal), R3 (all five deals of a match are played), R4 (Five Bridges deals 25 tiles each),
R5 (the last tile laid in a column is its playable one).
"""

from __future__ import annotations

from . import DOUBLE_NINE as TILES
from . import Tile, check_opener, check_orders

DEALS_IN = {"deal": 1, "match": 5}
COLUMNS = 9
CHAINS = 5
TILES_A_SIDE = 5
PASS = 99


class Chain:
    """A chain: its first tile and the tiles laid to its left and right, each written (inner half, outer half)."""

    def __init__(self, first: Tile) -> None:
        self.first = first  # low half to the left
        self.sides: tuple[list[Tile], list[Tile]] = ([], [])  # left, right, from the first tile outwards

    def end(self, side: int) -> int:
        """The pip at the free end of a side (0 = left, 1 = right)."""
        laid = self.sides[side]
        return laid[-1][1] if laid else self.first[side]

    def takes(self, tile: Tile, side: int) -> bool:
        return len(self.sides[side]) < TILES_A_SIDE and self.end(side) in tile

    def add(self, tile: Tile, side: int) -> None:
        inner = self.end(side)
        outer = tile[1] if tile[0] == inner else tile[0]
        self.sides[side].append((inner, outer))

    def tiles(self) -> list[Tile]:
        """All tiles from left to right, each written as it lies."""
        left = [(outer, inner) for inner, outer in reversed(self.sides[0])]
        return [*left, self.first, *self.sides[1]]


class ReferenceDomaster:
    """One episode of Domaster or of Five Bridges: one deal, or the five deals of a match."""

    def __init__(
        self, orders: list[list[int]], opener: int, episode: str = "match", five_bridges: bool = False
    ) -> None:
        if episode not in DEALS_IN:
            raise ValueError(f"unknown episode {episode!r}")
        self.first_opener = check_opener(opener)
        self.five_bridges = five_bridges
        self.deals = DEALS_IN[episode]
        self.orders = check_orders(orders, self.deals, len(TILES))
        self.scores: list[int] = [0, 0]
        self.results: list[tuple[int | None, int]] = []
        self.over = False
        self.mover: int | None = None
        self.deal_number = 0
        self.opener = opener
        self.passes = 0  # in succession
        self.columns: list[list[list[int]]] = []  # per seat nine columns of tile numbers, the farthest first
        self.chains: list[Chain] = []
        self._start_deal(0)

    def _start_deal(self, number: int) -> None:
        self.deal_number = number
        self.opener = self.first_opener if number % 2 == 0 else 1 - self.first_opener
        boneyard = list(self.orders[number])
        self.chains = []
        for _ in range(CHAINS if self.five_bridges else 1):
            self.chains.append(Chain(TILES[boneyard.pop(0)]))
        rows: list[list[list[int]]] = [[[], [], []], [[], [], []]]  # per seat three rows, filled one after the other
        drawer = self.opener
        while boneyard:
            row = next(row for row in rows[drawer] if len(row) < COLUMNS)
            row.append(boneyard.pop(0))
            drawer = 1 - drawer
        self.columns = [[[row[c] for row in rows[seat] if c < len(row)] for c in range(COLUMNS)] for seat in (0, 1)]
        self.passes = 0
        self.mover = self.opener

    def _finish_deal(self, winner: int | None) -> None:
        if winner is not None:
            self.scores[winner] += 1
        self.results.append((winner, 0 if winner is None else 1))
        if len(self.results) == self.deals:
            self.over = True
            self.mover = None
        else:
            self._start_deal(len(self.results))

    # -- the common interface ---------------------------------------------------------------------------------------

    def legal_actions(self) -> list[int]:
        if self.mover is None:
            return []
        found = []
        for c, column in enumerate(self.columns[self.mover]):
            if not column:
                continue
            tile = TILES[column[-1]]
            for number, chain in enumerate(self.chains):
                for side in (0, 1):
                    if chain.takes(tile, side):
                        found.append(11 * c + 2 * number + side)
            if len(self.chains) < CHAINS:
                found.append(11 * c + 10)
        return sorted(found) if found else [PASS]

    def play(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not legal now")
        assert self.mover is not None
        mover = self.mover
        self.mover = 1 - mover
        if action == PASS:
            self.passes += 1
            if self.passes == 2:
                self._finish_deal(None)
            return
        self.passes = 0
        c, slot = divmod(action, 11)
        tile = TILES[self.columns[mover][c].pop()]
        if slot == 10:
            self.chains.append(Chain(tile))
            return
        number, side = divmod(slot, 2)
        self.chains[number].add(tile, side)
        if len(self.chains[number].tiles()) == 2 * TILES_A_SIDE + 1:
            self._finish_deal(mover)

    def notation(self, action: int) -> str:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not legal now")
        assert self.mover is not None
        if action == PASS:
            return "pass"
        c, slot = divmod(action, 11)
        low, high = TILES[self.columns[self.mover][c][-1]]
        if slot == 10:
            return f"{c + 1}:{low}-{high} new"
        return f"{c + 1}:{low}-{high} {slot // 2 + 1}{'LR'[slot % 2]}"
