"""Mate, slow and plain.

Readings taken: R6 (the starter counts among the tiles on the table), R7 (an opener who cannot play on the starter
loses 1 x the starter's pips), R8 (openers of the four games: a, b, b, a). All games of the episode are played, also
when the winner is settled before the last.
"""

from __future__ import annotations

from . import DOUBLE_SIX_NO_DOUBLES as TILES
from . import check_opener, check_orders

GAMES_IN = {"deal": 1, "set": 2, "match": 4}


class ReferenceMate:
    """One episode of Mate: 1 game (deal), 2 games on one draw (set) or two sets (match)."""

    def __init__(self, orders: list[list[int]], opener: int, episode: str = "match") -> None:
        if episode not in GAMES_IN:
            raise ValueError(f"unknown episode {episode!r}")
        first = check_opener(opener)
        games = GAMES_IN[episode]
        orders = check_orders(orders, (games + 1) // 2, len(TILES))
        # The schedule: (opener, draw order) of each game. Both games of a set use one draw, and in each of them the
        # hand order[0:10] opens: exchanging the hands and the opener at once comes to that.
        self.schedule: list[tuple[int, list[int]]] = []
        for set_number, order in enumerate(orders):
            set_opener = first if set_number == 0 else 1 - first
            self.schedule.append((set_opener, order))
            self.schedule.append((1 - set_opener, order))
        self.schedule = self.schedule[:games]

        self.scores: list[int] = [0, 0]
        self.results: list[tuple[int | None, int]] = []
        self.over = False
        self.mover: int | None = None
        self.actions_played = 0
        self.deal_number = 0
        self.opener = first
        self.hands: list[list[int]] = [[], []]
        self.starter = -1
        self.line: list[tuple[int, int | None]] = []  # (tile, its touching pip; None for the starter)
        self._start_game(0)

    # -- one game ---------------------------------------------------------------------------------------------------

    def _start_game(self, number: int) -> None:
        self.deal_number = number
        self.opener, order = self.schedule[number]
        self.hands[self.opener] = sorted(order[0:10])
        self.hands[1 - self.opener] = sorted(order[10:20])
        self.starter = order[20]
        self.line = [(self.starter, None)]
        self.mover = self.opener
        if not self.legal_actions():  # R7
            self._finish_game(winner=1 - self.opener, points=1 * sum(TILES[self.starter]))

    def _finish_game(self, winner: int, points: int) -> None:
        self.scores[winner] += points
        self.results.append((winner, points))
        if len(self.results) == len(self.schedule):
            self.over = True
            self.mover = None
        else:
            self._start_game(len(self.results))

    def open_pips(self) -> list[int]:
        """The pips that the next tile may touch: both halves of the starter, or the other half of the last tile."""
        tile, touching = self.line[-1]
        pips = list(TILES[tile])
        if touching is not None:
            pips.remove(touching)
        return pips

    # -- the common interface ---------------------------------------------------------------------------------------

    def legal_actions(self) -> list[int]:
        if self.mover is None:
            return []
        found = []
        for tile in self.hands[self.mover]:
            for k in (0, 1):
                if TILES[tile][k] in self.open_pips():
                    found.append(2 * tile + k)
        return sorted(found)

    def play(self, action: int) -> None:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not legal now")
        assert self.mover is not None
        tile, k = divmod(action, 2)
        self.actions_played += 1
        self.hands[self.mover].remove(tile)
        self.line.append((tile, TILES[tile][k]))
        layer = self.mover
        self.mover = 1 - layer
        if not self.legal_actions():  # the next player has no tile to play and loses
            self._finish_game(winner=layer, points=len(self.line) * sum(TILES[tile]))  # R6

    def notation(self, action: int) -> str:
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not legal now")
        tile, k = divmod(action, 2)
        return f"{TILES[tile][k]}-{TILES[tile][1 - k]}"

    def no_decision(self) -> bool:
        """Whether the episode ended without a single decision (every game dead by R7)."""
        return self.over and self.actions_played == 0


def perfect_margin(opener_hand: list[int], responder_hand: list[int], starter: int) -> int:
    """The opener's points less the responder's in one game that both play for the most points."""

    def to_move(mine: set[int], theirs: set[int], pips: list[int], laid: int, last: int, low: int, high: int) -> int:
        """The value for the player to move, within the bounds low and high (plain alpha-beta)."""
        best: int | None = None
        for tile in sorted(mine):
            for k in (0, 1):
                if TILES[tile][k] not in pips:
                    continue
                rest = mine - {tile}
                value = -to_move(theirs, rest, [TILES[tile][1 - k]], laid + 1, tile, -high, -low)
                best = value if best is None else max(best, value)
                low = max(low, best)
                if low >= high:
                    return best
        return -laid * sum(TILES[last]) if best is None else best

    return to_move(set(opener_hand), set(responder_hand), list(TILES[starter]), 1, starter, -(10**6), 10**6)
