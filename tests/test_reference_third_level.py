"""The slow reference of Third Level itself: positions for each rule, and figures of random play."""

from __future__ import annotations

import random

import pytest

from reference import DOUBLE_SIX_NO_DOUBLES
from reference.checks import assert_mean, notations, play, shuffled, six, sixes
from reference.third_level import Laid, ReferenceThirdLevel, in_one_piece

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
