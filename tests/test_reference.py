"""Tests of the slow reference implementation itself: hand-made positions for each rule, and figures of random play."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from reference import DOUBLE_NINE, DOUBLE_SIX_NO_DOUBLES
from reference.domaster import PASS, Chain, ReferenceDomaster
from reference.mate import ReferenceMate, perfect_margin
from reference.third_level import Laid, ReferenceThirdLevel, in_one_piece


def nine(name: str) -> int:
    return DOUBLE_NINE.index((int(name[0]), int(name[2])))


def six(name: str) -> int:
    return DOUBLE_SIX_NO_DOUBLES.index((int(name[0]), int(name[2])))


def sixes(names: str) -> list[int]:
    return [six(name) for name in names.split()]


def shuffled(rng: random.Random, size: int) -> list[int]:
    return rng.sample(range(size), size)


def notations(game: Any) -> set[str]:
    return {game.notation(action) for action in game.legal_actions()}


def play(game: Any, *names: str) -> None:
    for name in names:
        game.play(next(action for action in game.legal_actions() if game.notation(action) == name))


def assert_mean(values: list[float], expected: float, rounding: float) -> None:
    """The sample's mean lies within 4 standard errors (and the rounding) of the expected value."""
    mean = sum(values) / len(values)
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1) / len(values))
    assert error > 0
    assert abs(mean - expected) <= 4 * error + rounding, (mean, error, expected)


def test_tile_numbers() -> None:
    assert len(DOUBLE_NINE) == 55
    assert len(DOUBLE_SIX_NO_DOUBLES) == 21
    assert [DOUBLE_NINE[n] for n in (0, 1, 9, 10, 54)] == [(0, 0), (0, 1), (0, 9), (1, 1), (9, 9)]
    assert [DOUBLE_SIX_NO_DOUBLES[n] for n in (0, 1, 5, 6, 20)] == [(0, 1), (0, 2), (0, 6), (1, 2), (5, 6)]


@pytest.mark.parametrize(("make", "size"), [(ReferenceMate, 21), (ReferenceDomaster, 55), (ReferenceThirdLevel, 21)])
def test_what_is_refused(make: Callable[..., Any], size: int) -> None:
    good = list(range(size))
    for orders, opener, episode, message in (
        ([good[:-1]], 0, "deal", "permutation"),
        ([[0, *good[:-1]]], 0, "deal", "permutation"),
        ([[n + 1 for n in good]], 0, "deal", "permutation"),
        ([], 0, "deal", "needs 1 draw orders"),
        ([good], 2, "deal", "opener"),
        ([good], 0, "rubber", "episode"),
    ):
        with pytest.raises(ValueError, match=message):
            make(orders, opener, episode)
    game = make([good], 0, "deal")
    wrong = next(action for action in range(10_000) if action not in game.legal_actions())
    for call in (game.play, game.notation):
        with pytest.raises(ValueError, match="not legal now"):
            call(wrong)


# -- Mate -------------------------------------------------------------------------------------------------------------

ALL_SIXES = sixes("0-6 1-6 2-6 3-6 4-6 5-6")
TOUCHING_0_1 = sixes("0-2 0-3 0-4 0-5 0-6 1-2 1-3 1-4 1-5 1-6")


def mate_order(opener_hand: list[int], starter: int) -> list[int]:
    return [*opener_hand, *[n for n in range(21) if n not in opener_hand and n != starter], starter]


def dead_order() -> list[int]:
    """The starter is 0-1 and the responder holds everything that touches it."""
    return mate_order([n for n in range(1, 21) if n not in TOUCHING_0_1], six("0-1"))


def test_mate_first_move_and_notation() -> None:
    game = ReferenceMate([mate_order(sixes("0-2 0-3 0-4 0-5 0-6 2-3 2-4 2-5 1-6 3-5"), six("0-1"))], 1, "deal")
    assert game.mover == game.opener == 1
    assert notations(game) == {"0-2", "0-3", "0-4", "0-5", "0-6", "1-6"}
    assert 2 * six("0-2") in game.legal_actions()
    assert 2 * six("0-2") + 1 not in game.legal_actions()
    play(game, "1-6")  # the line goes on at the 6 only, never at the starter's free half
    assert game.mover == 0
    assert notations(game) == {"6-2", "6-3", "6-4", "6-5"}
    assert 2 * six("2-6") + 1 in game.legal_actions()  # the high half touches
    play(game, "6-3")
    assert notations(game) == {"3-0", "3-2", "3-5"}


def test_mate_score_counts_the_starter_r6() -> None:
    game = ReferenceMate([mate_order(ALL_SIXES + sixes("2-3 2-4 2-5 3-4"), six("0-1"))], 0, "deal")
    play(game, "0-6")  # the responder has no 6
    assert game.over
    assert game.mover is None
    assert game.legal_actions() == []
    assert game.results == [(0, 2 * 6)]
    assert game.scores == [12, 0]


def test_mate_dead_games_r7() -> None:
    game = ReferenceMate([dead_order()], 0, "deal")
    assert game.over
    assert game.no_decision()
    assert game.results == [(1, 1)]
    game = ReferenceMate([dead_order()], 0, "set")
    assert game.over
    assert game.no_decision()
    assert game.results == [(1, 1), (0, 1)]
    live = mate_order(ALL_SIXES + sixes("2-3 2-4 2-5 3-4"), six("0-1"))
    game = ReferenceMate([dead_order(), live], 0, "match")
    assert not game.over
    assert not game.no_decision()
    assert (game.deal_number, game.opener, game.mover, game.scores) == (2, 1, 1, [1, 1])
    game = ReferenceMate([live, dead_order()], 0, "match")
    play(game, "0-6", "0-6")
    assert game.over
    assert not game.no_decision()
    assert game.results == [(0, 12), (1, 12), (0, 1), (1, 1)]


def test_mate_sets_and_openers_r8() -> None:
    rng = random.Random(1)
    orders = [shuffled(rng, 21), shuffled(rng, 21)]
    game = ReferenceMate(orders, 1, "match")
    seen: list[tuple[int, int]] = []
    while not game.over:
        if len(game.line) == 1:
            assert game.mover == game.opener
            order = orders[game.deal_number // 2]
            assert game.starter == order[20]
            assert game.hands[game.opener] == sorted(order[:10])  # the same hand opens both games of a set
            assert game.hands[1 - game.opener] == sorted(order[10:20])
            seen.append((game.deal_number, game.opener))
        assert sorted(game.hands[0] + game.hands[1] + [tile for tile, _ in game.line]) == list(range(21))
        game.play(rng.choice(game.legal_actions()))
    assert seen == [(0, 1), (1, 0), (2, 0), (3, 1)]
    assert len(game.results) == 4
    assert game.scores == [sum(points for winner, points in game.results if winner == seat) for seat in (0, 1)]


def test_perfect_margin_is_plain_minimax() -> None:
    def minimax(mine: list[int], theirs: list[int], pips: tuple[int, ...], line: list[int]) -> int:
        values = []
        for tile in mine:
            for half, other in (DOUBLE_SIX_NO_DOUBLES[tile], DOUBLE_SIX_NO_DOUBLES[tile][::-1]):
                if half in pips:
                    rest = [n for n in mine if n != tile]
                    values.append(-minimax(theirs, rest, (other,), [*line, tile]))
        return max(values) if values else -len(line) * sum(DOUBLE_SIX_NO_DOUBLES[line[-1]])

    rng = random.Random(2)
    margins = set()
    for _ in range(30):
        order = shuffled(rng, 21)
        a, b, starter = order[:7], order[7:14], order[14]
        margins.add(perfect_margin(a, b, starter))
        assert perfect_margin(a, b, starter) == minimax(a, b, DOUBLE_SIX_NO_DOUBLES[starter], [starter])
    assert min(margins) < 0 < max(margins)


def test_mate_statistics() -> None:
    rng = random.Random(3)
    tiles, wins, points, legal = [], [], [], []
    for _ in range(3000):
        game = ReferenceMate([shuffled(rng, 21)], 0, "deal")
        if game.no_decision():
            continue
        counts = []
        while not game.over:
            counts.append(len(game.legal_actions()))
            game.play(rng.choice(game.legal_actions()))
        tiles.append(float(len(game.line)))
        wins.append(float(game.results[0][0] == 0))
        points.append(float(game.results[0][1]))
        legal.append(sum(counts) / len(counts))  # a game's own mean: the mean over all turns is 2.44
    assert_mean(tiles, 9.86, 0.005)
    assert_mean(wins, 0.451, 0.0005)
    assert_mean(points, 58.7, 0.05)
    assert_mean(legal, 2.55, 0.005)


# -- Domaster and Five Bridges ----------------------------------------------------------------------------------------


def domaster(chains: list[Chain], hands: tuple[str, str], five_bridges: bool = False) -> ReferenceDomaster:
    """Seat 0 to move; each hand lists columns, the tiles of one separated by commas with the playable one last."""
    game = ReferenceDomaster([list(range(55))], 0, "deal", five_bridges)
    game.chains = chains
    game.columns = [[[nine(name) for name in column.split(",")] for column in hand.split()] for hand in hands]
    return game


def test_domaster_deal_r5() -> None:
    game = ReferenceDomaster([list(range(55))], 1, "deal")
    assert [chain.tiles() for chain in game.chains] == [[(0, 0)]]
    assert game.mover == game.opener == 1
    assert game.columns[1] == [[1 + 2 * c, 19 + 2 * c, 37 + 2 * c] for c in range(9)]
    assert game.columns[0] == [[2 + 2 * c, 20 + 2 * c, 38 + 2 * c] for c in range(9)]
    assert {action // 11 for action in game.legal_actions()} == set(range(9))
    assert notations(game) >= {"1:4-7 new", "9:8-9 new"}


def test_five_bridges_deal_r4() -> None:
    game = ReferenceDomaster([list(range(55))], 0, "deal", five_bridges=True)
    assert [chain.tiles() for chain in game.chains] == [[(0, pip)] for pip in range(5)]
    for seat in (0, 1):
        assert [len(column) for column in game.columns[seat]] == [3] * 7 + [2] * 2
        assert game.columns[seat][0] == [5 + seat, 23 + seat, 41 + seat]
        assert game.columns[seat][8] == [21 + seat, 39 + seat]
    assert all(action % 11 != 10 for action in game.legal_actions())


def test_domaster_chain_grows_as_in_the_source() -> None:
    game = domaster([Chain((5, 9))], ("3-9 7-7 5-5 0-5", "2-3 1-8 4-6"))
    assert notations(game) == {
        "1:3-9 1R", "3:5-5 1L", "4:0-5 1L", "1:3-9 new", "2:7-7 new", "3:5-5 new", "4:0-5 new"
    }  # fmt: skip
    assert 11 * 0 + 1 in game.legal_actions()
    assert 11 * 2 + 0 in game.legal_actions()
    play(game, "1:3-9 1R", "1:2-3 1R")
    assert game.chains[0].tiles() == [(5, 9), (9, 3), (3, 2)]
    play(game, "3:5-5 1L", "2:1-8 new", "4:0-5 1L")  # the double is an ordinary tile
    assert game.chains[0].tiles() == [(0, 5), (5, 5), (5, 9), (9, 3), (3, 2)]
    assert game.chains[1].tiles() == [(1, 8)]
    assert notations(game) == {"3:4-6 new"}


def test_domaster_a_played_tile_frees_the_one_behind() -> None:
    game = domaster([Chain((0, 0))], ("1-2,0-3,0-4", "0-1,0-9"))
    play(game, "1:0-4 1L", "1:0-9 1R")
    assert notations(game) == {"1:0-3 new"}


def test_domaster_five_chains_at_most() -> None:
    chains = [Chain((0, 0)), Chain((1, 1)), Chain((2, 2)), Chain((3, 3))]
    game = domaster(chains, ("4-4 5-5", "6-6 4-5"))
    assert notations(game) == {"1:4-4 new", "2:5-5 new"}
    play(game, "1:4-4 new")
    assert len(game.chains) == 5
    assert notations(game) == {"2:4-5 5L", "2:4-5 5R"}


def long_chain(left: int, right: int) -> Chain:
    """A chain with that many tiles on its sides, both its ends 9 (the tiles' numbers do not matter here)."""
    chain = Chain((9, 9))
    for side, count in enumerate((left, right)):
        for _ in range(count):
            chain.add((9, 9), side)
    return chain


def test_domaster_five_tiles_a_side_and_the_eleventh_wins() -> None:
    full = [Chain((0, 0)) for _ in range(4)]
    game = domaster([long_chain(5, 3), *full], ("1-9 2-9", "3-3"))
    assert notations(game) == {"1:1-9 1R", "2:2-9 1R"}  # the left side is full
    play(game, "1:1-9 1R")
    assert not game.over
    game = domaster([long_chain(4, 5), *full], ("1-9 2-9", "3-3"))
    play(game, "2:2-9 1L")
    assert game.over
    assert game.results == [(0, 1)]
    assert game.scores == [1, 0]
    assert len(game.chains[0].tiles()) == 11


def test_domaster_passes_r1_r2() -> None:
    chains = [Chain((0, 0)) for _ in range(5)]
    game = domaster(chains, ("1-1 0-1", "2-2"))
    assert PASS not in game.legal_actions()  # who can move must
    play(game, "2:0-1 3R")
    assert game.legal_actions() == [PASS]
    assert game.notation(PASS) == "pass"
    play(game, "pass")
    assert not game.over
    assert game.mover == 0
    assert notations(game) == {"1:1-1 3R"}
    play(game, "1:1-1 3R", "pass")  # the move between them: not two passes in succession
    assert not game.over
    play(game, "pass")
    assert game.over
    assert game.mover is None
    assert game.results == [(None, 0)]
    assert game.scores == [0, 0]


@pytest.mark.parametrize("five_bridges", [False, True])
def test_domaster_match_r3_and_conservation(five_bridges: bool) -> None:
    rng = random.Random(4)
    game = ReferenceDomaster([shuffled(rng, 55) for _ in range(5)], 1, "match", five_bridges)
    openers = {}
    while not game.over:
        openers.setdefault(game.deal_number, (game.opener, game.mover))
        held = [DOUBLE_NINE[tile] for seat in (0, 1) for column in game.columns[seat] for tile in column]
        for chain in game.chains:
            tiles = chain.tiles()
            held += [(min(tile), max(tile)) for tile in tiles]
            assert all(tiles[i][1] == tiles[i + 1][0] for i in range(len(tiles) - 1))
        assert sorted(held) == DOUBLE_NINE
        game.play(rng.choice(game.legal_actions()))
    assert openers == {0: (1, 1), 1: (0, 0), 2: (1, 1), 3: (0, 0), 4: (1, 1)}
    assert len(game.results) == 5
    assert game.scores == [sum(winner == seat for winner, _ in game.results) for seat in (0, 1)]


@pytest.mark.parametrize(
    ("five_bridges", "moves", "opener", "responder", "drawn"),
    [(False, 38.8, 0.462, 0.468, 0.070), (True, 34.9, 0.461, 0.468, 0.072)],
)
def test_domaster_statistics(five_bridges: bool, moves: float, opener: float, responder: float, drawn: float) -> None:
    rng = random.Random(5)
    lengths, winners = [], []
    for _ in range(1200):
        game = ReferenceDomaster([shuffled(rng, 55)], 0, "deal", five_bridges)
        length = 0
        while not game.over:
            game.play(rng.choice(game.legal_actions()))
            length += 1
        lengths.append(float(length))
        winners.append(game.results[0][0])
    assert_mean(lengths, moves, 0.05)
    assert_mean([float(winner == 0) for winner in winners], opener, 0.0005)
    assert_mean([float(winner == 1) for winner in winners], responder, 0.0005)
    assert_mean([float(winner is None) for winner in winners], drawn, 0.0005)


# -- Third Level ------------------------------------------------------------------------------------------------------

DIRECTIONS = "ESWN"


def laid(text: str) -> Laid:
    """`3-5@-1,2 S` on the ground, the same with `^` on the second level."""
    name, place = text.rstrip("^").split("@")
    cell, direction = place.split()
    row, column = cell.split(",")
    return Laid(six(name), int(row), int(column), DIRECTIONS.index(direction), 2 if text.endswith("^") else 1)


def position(
    table: str,
    hands: tuple[str, str] = ("", ""),
    pool: str = "",
    phase: str = "move",
    earner: str | None = None,
    board_size: int = 23,
) -> ReferenceThirdLevel:
    """Seat 0 to move; the table's tiles are separated by `; `."""
    game = ReferenceThirdLevel([list(range(21))], 0, board_size=board_size)
    tiles = [laid(text) for text in table.split("; ")]
    hand_tiles = [sixes(hand) for hand in hands]
    game.set_position(tiles, hand_tiles, sixes(pool), 0, phase, None if earner is None else six(earner))
    return game


def test_third_level_deal_and_window() -> None:
    game = ReferenceThirdLevel([list(range(20, -1, -1))], 1)
    assert game.table == [Laid(20, 0, 0, 0, 1)]  # 5-6: low half on (0, 0), high half on (0, 1)
    assert game.hands == [[14, 16, 18], [15, 17, 19]]
    assert game.pool == list(range(13, -1, -1))
    assert game.mover == game.opener == 1
    assert game.phase == "move"
    # One row and two columns: the starter lies on window row (23 - 1) // 2 = 11, columns (23 - 2) // 2 = 10 and 11.
    action = ((4 * 2 + 0) * 23 + 11) * 23 + 12  # slot 2 is 4-6, east on (0, 2): the row would hold 6 twice
    assert action not in game.legal_actions()
    action = ((4 * 0 + 1) * 23 + 9) * 23 + 10  # slot 0 is 3-4, south, low half two rows above the 5
    assert game.notation(action) == "3-4@-2,0 S"
    game.play(action)
    # Nothing to lift, so the turn is over; three rows now: the top one, -2, is window row (23 - 3) // 2 = 10.
    assert game.mover == 0
    assert game.phase == "move"
    assert game.hands[1] == [13, 17, 19]
    assert game.pool == list(range(12, -1, -1))
    action = (0 * 23 + 11) * 23 + 11  # slot 0 of seat 0 is 2-6, east on (-1, 1): row -1 reads 4 2 6
    assert game.notation(action) == "2-6@-1,1 E"
    action = ((4 * 2 + 3) * 23 + 11) * 23 + 11  # slot 2 is 4-5, north on (-1, 1): a second 4 in row -1
    assert action not in game.legal_actions()


@pytest.mark.parametrize("hand_size", [1, 5])
def test_third_level_hand_size(hand_size: int) -> None:
    rng = random.Random(9)
    game = ReferenceThirdLevel([list(range(21))], 0, hand_size=hand_size, board_size=9)
    assert game.hands[0] == list(range(1, 1 + 2 * hand_size, 2))
    assert game.hands[1] == list(range(2, 2 + 2 * hand_size, 2))
    largest = 0
    while not game.over:
        sizes = [len(hand) for hand in game.hands]
        assert max(sizes) <= hand_size
        assert not game.pool or sizes == [hand_size] * 2
        largest = max(largest, game.legal_actions()[-1])
        game.play(rng.choice(game.legal_actions()))
    assert largest == (4 * hand_size + 2) * 81


def test_third_level_ground_rule_touches_and_r9() -> None:
    # A U: the row of the two tips is 2 . 3, with a gap between; columns are 2 0, 1, 3 4.
    table = "0-2@0,0 N; 1-5@0,1 S; 3-4@-1,2 S"
    game = position(table, ("2-6", ""))
    pips = {cell: top.pip for cell, top in game.surface().items()}
    assert pips == {(-1, 0): 2, (0, 0): 0, (0, 1): 1, (1, 1): 5, (-1, 2): 3, (0, 2): 4}
    names = notations(game)
    assert "2-6@-1,3 E" not in names  # row -1 would read 2 . 3 2 6: the 2 repeats across the gap
    assert "2-6@0,3 E" in names  # row 0 would read 0 1 4 2 6
    assert "2-6@0,3 S" in names
    assert "2-6@0,3 N" in names
    assert "2-6@2,1 S" in names  # below the 5
    assert "2-6@0,4 E" not in names  # touches nothing
    assert "2-6@1,0 W" not in names  # column 0 would hold two 2s
    assert "2-6@1,2 S" in names
    assert "2-6@-2,3 N" not in names  # touches by a corner only
    assert "2-6@0,2 E" not in names  # not empty


def brute_ground(game: ReferenceThirdLevel) -> set[str]:
    """Ground placements worked out on a whole board, all of whose lines are looked at for each."""
    tops = game.surface()
    before = {cell: top.pip for cell, top in tops.items()}
    found = set()
    assert game.mover is not None
    for tile in game.hands[game.mover]:
        for row in range(-25, 26):
            for column in range(-25, 26):
                for direction in range(4):
                    put = Laid(tile, row, column, direction, 1)
                    cells = put.cells()
                    if any(cell in before for cell in cells):
                        continue
                    if not any(abs(r - a) + abs(c - b) == 1 for r, c in cells for a, b in before):
                        continue
                    after = {**before, **dict(put.halves())}
                    in_rows = {(r, pip) for (r, _), pip in after.items()}
                    in_columns = {(c, pip) for (_, c), pip in after.items()}
                    if len(in_rows) == len(in_columns) == len(after):
                        low, high = DOUBLE_SIX_NO_DOUBLES[tile]
                        found.add(f"{low}-{high}@{row},{column} {DIRECTIONS[direction]}")
    return found


def test_third_level_ground_placements_are_all_found() -> None:
    rng = random.Random(6)
    game = ReferenceThirdLevel([shuffled(rng, 21)], 0, board_size=41)
    compared = 0
    for number in range(14):
        if game.phase != "bonus" and number % 4 == 0:
            assert {name for name in notations(game) if name[-1] in DIRECTIONS} == brute_ground(game)
            compared += 1
        game.play(rng.choice(game.legal_actions()))
    assert compared >= 2


def test_third_level_upper_level_r10() -> None:
    row = "0-1@0,0 E; 2-3@0,2 E"  # reads 0 1 2 3
    game = position(row, ("1-2 0-3 1-3", "4-5"), pool="2-6")
    upper = {name for name in notations(game) if name.endswith("^")}
    assert upper == {"1-2@0,1 E^"}
    top, left = (23 - 1) // 2, (23 - 4) // 2
    assert (4 * 3 * 23 + top) * 23 + left + 1 in game.legal_actions()
    before = {cell: top.pip for cell, top in game.surface().items()}
    play(game, "1-2@0,1 E^")
    assert {cell: top.pip for cell, top in game.surface().items()} == before  # what is seen does not change
    assert game.mover == 1
    assert game.phase == "move"
    assert game.hands[0] == sixes("0-3 1-3 2-6")
    assert game.pool == []
    # The low half to the east or to the south: the action is still numbered by the north-western cell.
    game = position("0-2@0,0 E; 1-3@0,2 E", ("1-2", "4-5"))
    action = (4 * 3 * 23 + top) * 23 + left + 1
    assert game.notation(action) == "1-2@0,2 W^"
    game = position("0-2@0,0 S; 1-3@2,0 S", ("1-2", "4-5"))
    action = ((4 * 3 + 1) * 23 + left + 1) * 23 + top
    assert game.notation(action) == "1-2@2,0 N^"


TWO_UP = "0-4@0,0 S; 1-5@0,1 N; 2-6@0,2 S; 3-4@0,3 N; 0-1@0,0 E^; 2-3@0,2 E^"  # row 0 reads 0 1 2 3, all at height 2


def test_third_level_wins_on_the_third_level() -> None:
    game = position(TWO_UP, ("1-2", "4-5"))
    play(game, "1-2@0,1 E^")
    assert game.over
    assert game.results == [(0, 1)]
    assert game.scores == [1, 0]
    assert game.legal_actions() == []
    from_ground = position(TWO_UP + "; 1-2@2,0 E", ("0-5", "4-5"), phase="bonus", earner="3-4")
    assert notations(from_ground) == {"lift 1-2@0,1 E", "end"}
    play(from_ground, "lift 1-2@0,1 E")
    assert from_ground.over
    assert from_ground.results == [(0, 1)]
    table = TWO_UP + "; 1-6@2,0 S; 2-4@2,1 S; 1-2@2,0 E^"
    from_second = position(table, ("0-5", "4-5"), phase="bonus", earner="3-4")
    assert notations(from_second) == {"lift 1-2@0,1 E", "end"}
    play(from_second, "lift 1-2@0,1 E")
    assert from_second.over
    assert from_second.results == [(0, 1)]
    assert {top.height for top in from_second.surface().values()} == {1, 2, 3}


def test_third_level_covered_tiles_and_level_of_a_lift() -> None:
    # The 1 and the 2 at height 2 would carry 1-2, which lies on the ground; 1-4 covers one half of it.
    table = TWO_UP + "; 1-2@2,0 E; 1-4@2,0 N^"
    game = position(table, ("0-5", "4-6"), phase="bonus", earner="3-4")
    assert game.phase == "move"
    assert game.mover == 1
    # A tile on the second level is not lifted to another place of the same level.
    table = "0-1@0,0 E; 2-3@0,2 E; 1-4@2,1 S; 2-5@2,2 S; 0-6@1,0 E; 1-2@0,1 E^"
    game = position(table, ("3-6", "4-6"), phase="bonus", earner="2-5")
    assert game.surface()[2, 1].pip == 1
    assert game.surface()[2, 2].pip == 2
    assert game.phase == "move"
    assert game.mover == 1


def test_third_level_unequal_heights_carry_nothing() -> None:
    game = position(TWO_UP.removesuffix("; 2-3@0,2 E^"), ("1-2 2-3", "4-5"))
    assert game.surface()[0, 1].height == 2
    assert game.surface()[0, 2].height == 1
    assert {name for name in notations(game) if name.endswith("^")} == {"2-3@0,2 E^"}


BRANCH = "0-1@0,0 E; 2-3@0,2 E; 2-6@-1,0 N; 3-4@-1,1 N"  # 2-3 fits on (-1, 0) and (-1, 1)


def test_third_level_lift_leaves_one_piece() -> None:
    assert in_one_piece({(0, 0), (0, 1), (1, 1)})
    assert not in_one_piece({(0, 0), (1, 1)})
    game = position(BRANCH, ("5-6", "4-6"), phase="bonus", earner="3-4")
    assert notations(game) == {"lift 2-3@-1,0 E", "end"}
    game = position(BRANCH + "; 4-5@0,4 E", ("5-6", "4-6"), phase="bonus", earner="3-4")
    assert game.phase == "move"
    assert game.mover == 1


def test_third_level_earner_stays_r11() -> None:
    assert notations(position(BRANCH, ("5-6", ""), phase="bonus", earner="0-1")) == {"lift 2-3@-1,0 E", "end"}
    # By laying it: 2-3 itself earns the bonus and is the only tile that fits anywhere.
    game = position("0-1@0,0 E; 2-6@-1,0 N; 3-4@-1,1 N", ("2-3 5-6", "4-6"))
    play(game, "2-3@0,2 E")
    assert game.mover == 1
    assert game.phase == "move"


def test_third_level_no_bonus_for_an_upper_level() -> None:
    game = position(BRANCH, ("4-6 0-5", "1-5"))  # 2-3 could be lifted if there were a bonus
    play(game, "4-6@-2,1 W^")
    assert (game.mover, game.phase) == (1, "move")


def test_third_level_bonus_and_further_move_r12() -> None:
    start = "0-1@0,0 E; 2-3@0,2 E; 2-6@-1,0 N"
    hands = ("3-4 0-5 0-2", "4-6")
    game = position(start, hands, pool="5-6 1-5")
    play(game, "3-4@-1,1 N")
    assert (game.mover, game.phase) == (0, "bonus")
    assert game.hands[0] == sixes("0-2 0-5 5-6")
    assert game.pool == [six("1-5")]
    assert game.legal_actions()[-1] == 14 * 23 * 23  # the last action of all ends the turn
    assert game.outside_window == 0
    play(game, "lift 2-3@-1,0 E")
    assert (game.mover, game.phase) == (0, "further")
    assert game.hands[0] == sixes("0-2 0-5 5-6")  # a lift draws nothing
    names = notations(game)
    assert "end" in names
    assert not any(name.startswith("lift") for name in names)
    assert Laid(six("2-3"), -1, 0, 0, 2) in game.table
    again = "5-6@0,2 E"
    assert again in names  # the cells that 2-3 left are free
    play(game, again)  # a new bonus, but with nothing to lift: the turn is over
    assert (game.mover, game.phase) == (1, "move")
    assert game.hands[0] == sixes("0-2 0-5 1-5")
    assert game.pool == []

    ended = position(start, hands, pool="5-6 1-5")
    play(ended, "3-4@-1,1 N", "end")
    assert (ended.mover, ended.phase) == (1, "move")
    ended = position(start, hands, pool="5-6 1-5")
    play(ended, "3-4@-1,1 N", "lift 2-3@-1,0 E", "end")
    assert (ended.mover, ended.phase) == (1, "move")


def test_third_level_further_move_on_an_upper_level_ends_the_turn() -> None:
    game = position("0-1@0,0 E; 2-3@0,2 E; 2-6@-1,0 N", ("3-4 4-6 1-5", "0-5"))
    play(game, "3-4@-1,1 N", "lift 2-3@-1,0 E")
    assert game.phase == "further"
    assert "4-6@-2,1 W^" in notations(game)
    play(game, "4-6@-2,1 W^")
    assert (game.mover, game.phase) == (1, "move")


def test_third_level_further_move_with_nothing_to_lay_ends_by_itself() -> None:
    game = position("0-1@0,0 E; 2-3@0,2 E; 2-6@-1,0 N", ("3-4", "4-6"))
    play(game, "3-4@-1,1 N", "lift 2-3@-1,0 E")
    assert (game.mover, game.phase) == (1, "move")


def test_third_level_passes_r13() -> None:
    game = position("0-1@0,0 E", ("", "2-3 4-5"))
    assert game.mover == 1
    assert not game.over
    play(game, "2-3@0,2 E")
    assert game.mover == 1
    assert not game.over
    play(game, "4-5@0,4 E")
    assert game.over
    assert game.results == [(None, 0)]
    assert game.scores == [0, 0]


@pytest.mark.parametrize("board_size", [4, 7])
def test_third_level_window(board_size: int) -> None:
    rng = random.Random(7)
    outside, bonuses = 0, 0
    for _ in range(8):
        small = ReferenceThirdLevel([shuffled(rng, 21)], 0, board_size=board_size)
        while not small.over:
            large = ReferenceThirdLevel([list(range(21))], 0, board_size=41)
            assert small.mover is not None
            large.set_position(small.table, small.hands, small.pool, small.mover, small.phase, small.earner)
            assert large.outside_window == 0
            assert len(large.legal_actions()) == len(small.legal_actions()) + small.outside_window
            assert notations(small) <= notations(large)
            assert small.phase != "bonus" or small.outside_window == 0
            outside += small.outside_window
            bonuses += small.phase == "bonus"
            small.play(rng.choice(small.legal_actions()))
            rows = [row for row, _ in small.surface()]
            assert max(rows) - min(rows) < board_size
    assert outside > 0
    assert bonuses > 0


def test_third_level_statistics_and_invariants() -> None:
    rng = random.Random(8)
    lengths, drawn, seat_0, most = [], [], [], 0
    for _ in range(120):
        game = ReferenceThirdLevel([shuffled(rng, 21)], rng.randrange(2))
        length = 0
        while not game.over:
            tiles = [tile.tile for tile in game.table] + game.hands[0] + game.hands[1] + game.pool
            assert sorted(tiles) == list(range(21))
            tops = game.surface()
            covering = [cell for tile in game.table for cell in tile.cells()]
            assert all(covering.count(cell) == top.height for cell, top in tops.items())
            assert in_one_piece(set(tops))
            assert len({(row, top.pip) for (row, _), top in tops.items()}) == len(tops)
            assert len({(column, top.pip) for (_, column), top in tops.items()}) == len(tops)
            most = max(most, len(game.legal_actions()))
            game.play(rng.choice(game.legal_actions()))
            length += 1
        lengths.append(float(length))
        drawn.append(float(game.results == [(None, 0)]))
        seat_0.append(float(game.scores == [1, 0]))
        assert sum(game.scores) == 1 or game.results == [(None, 0)]
    assert_mean(lengths, 27.5, 0.05)
    assert_mean(drawn, 0.892, 0.0005)
    assert_mean(seat_0, 0.054, 0.0005)
    assert 100 < most <= 300
