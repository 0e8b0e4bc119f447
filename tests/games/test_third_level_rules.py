"""Third Level: each rule in a position made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from domino_envs.games import third_level
from domino_envs.tiles import DOUBLE_SIX_WITHOUT_DOUBLES as TILES
from games.third_level_table import (
    BRANCH,
    Table,
    do,
    position,
    tile_set,
    tiles,
    turn,
    upper,
)


def test_deal_draw_order_and_window() -> None:
    table = Table()
    table.start(list(range(20, -1, -1)), 1)
    state = table.state
    assert TILES.names[20] == "5-6"
    assert [tile_set(hand) for hand in state["hands"]] == [[14, 16, 18], [15, 17, 19]]
    assert turn(table) == (1, "move")
    # One row, two columns: the starter lies on window row (23 - 1) // 2, columns (23 - 2) // 2 and one more.
    seen = table.game.layout.decode(table.observe(1))
    assert seen["pips"][11, 10:12].tolist() == [6, 7]
    assert seen["pips"].sum() == 13
    assert seen["ground_link"][11, 10:12].tolist() == [1, 3]
    assert [int(seen[name]) for name in ("my_turn", "opened", "pool_count", "their_hand_count")] == [1, 1, 14, 3]
    action = ((4 * 0 + 1) * 23 + 9) * 23 + 10  # the first tile, 3-4, south, its low half two rows above the 5
    assert table.game.notation(table.states, action) == "3-4@-2,0 S"
    table.play(action)
    assert turn(table) == (0, "move")  # nothing to lift
    assert tile_set(state["hands"][1]) == [13, 17, 19]
    assert table.game.notation(table.states, ((4 * 0 + 0) * 23 + 11) * 23 + 11) == "2-6@-1,1 E"  # centred anew


def test_ground_touches_along_an_edge_and_repeats_no_pip_across_gaps_r9() -> None:
    # A U: row -1 reads 2 . 3, row 0 reads 0 1 4.
    names = position("0-2@0,0 N; 1-5@0,1 S; 3-4@-1,2 S", ("2-6", "")).notations()
    assert {"2-6@0,3 E", "2-6@0,3 S", "2-6@0,3 N", "2-6@2,1 S", "2-6@1,2 S"} <= names
    assert "2-6@-1,3 E" not in names  # row -1 would hold 2 on both sides of a gap
    assert "2-6@1,0 W" not in names  # column 0 would hold 2 twice
    assert "2-6@0,4 E" not in names  # touches nothing
    assert "2-6@-2,3 N" not in names  # touches by a corner
    assert "2-6@0,2 E" not in names  # not empty


def test_a_gap_may_be_filled() -> None:
    names = position("0-2@0,0 N; 1-5@0,1 S; 3-4@-1,2 S", ("0-6 4-6", "")).notations()
    assert "4-6@-1,1 N" in names  # into the gap, touching all around
    assert "0-6@-1,1 N" in names
    assert "0-6@-2,1 S" in names
    assert "4-6@-2,2 W" not in names  # 4 on column 2 again


def test_upper_tile_lies_on_its_pips_r10_and_draws() -> None:
    table = position("0-1@0,0 E; 2-3@0,2 E", ("1-2 0-3 1-3", "4-5"), pool="2-6")
    assert upper(table) == {"1-2@0,1 E^"}
    assert (4 * 3 * 23 + 11) * 23 + (23 - 4) // 2 + 1 in table.legal()
    before = table.game.layout.decode(table.observe(0))["pips"].copy()
    do(table, "1-2@0,1 E^")
    assert np.array_equal(before, table.game.layout.decode(table.observe(0))["pips"])
    assert turn(table) == (1, "move")
    assert tile_set(table.state["hands"][0]) == sorted(tiles("0-3 1-3 2-6"))


def test_upper_actions_are_numbered_by_the_north_western_cell() -> None:
    table = position("0-2@0,0 E; 1-3@0,2 E", ("1-2", "4-5"))
    assert table.game.parse(table.states, "1-2@0,2 W^") == (4 * 3 * 23 + 11) * 23 + 9 + 1
    table = position("0-2@0,0 S; 1-3@2,0 S", ("1-2", "4-5"))
    assert table.game.parse(table.states, "1-2@2,0 N^") == ((4 * 3 + 1) * 23 + 9 + 1) * 23 + 11


TWO_UP = "0-4@0,0 S; 1-5@0,1 N; 2-6@0,2 S; 3-4@0,3 N; 0-1@0,0 E^; 2-3@0,2 E^"  # row 0 reads 0 1 2 3, all at height 2


def test_unequal_heights_carry_nothing() -> None:
    table = position(TWO_UP.removesuffix("; 2-3@0,2 E^"), ("1-2 2-3", "4-5"))
    assert upper(table) == {"2-3@0,2 E^"}


def test_a_tile_of_the_hand_wins_on_the_third_level() -> None:
    table = position(TWO_UP, ("1-2", "4-5"), pool="2-5")
    action = table.game.parse(table.states, "1-2@0,1 E^")
    assert table.play(action) == 1
    state = table.state
    assert state["over"]
    assert (state["winners"][0], state["points"][0], state["scores"].tolist()) == (0, 1, [1, 0])
    assert table.legal() == []
    assert state["hands"][0] == 0  # won at once: nothing is drawn
    seen = table.game.layout.decode(table.observe(0))
    assert sorted(seen["height"][seen["height"] > 0].tolist()) == [1, 1, 1, 1, 2, 2, 3, 3]
    assert seen["my_turn"] == 0


@pytest.mark.parametrize("where", ["1-2@2,0 E", "1-6@2,0 S; 2-4@2,1 S; 1-2@2,0 E^"])
def test_a_lift_to_the_third_level_wins(where: str) -> None:
    table = position(f"{TWO_UP}; {where}", ("0-5", "4-5"), earner="3-4")
    assert table.notations() == {"lift 1-2@0,1 E", "end"}
    assert table.play(table.game.parse(table.states, "lift 1-2@0,1 E")) == 1
    assert table.state["over"]


def test_covered_tiles_and_places_no_higher_are_not_lifted() -> None:
    assert turn(position(TWO_UP + "; 1-2@2,0 E; 1-4@2,0 N^", ("0-5", "4-6"), earner="3-4")) == (1, "move")
    same_level = "0-1@0,0 E; 2-3@0,2 E; 1-4@2,3 N; 2-5@2,4 E; 1-2@0,1 E^"  # 1-2 fits on (2, 3) and (2, 4) too
    assert turn(position(same_level, ("3-6", "4-6"), earner="2-5")) == (1, "move")


def test_a_tile_is_not_lifted_onto_itself() -> None:
    table = position("0-1@0,0 E; 1-2@1,0 S", ("5-6", "4-6"), earner="1-2")  # 0 over 1 would carry 0-1
    assert turn(table) == (1, "move")
    assert table.game.layout.decode(table.observe(0))["places_2"].sum() == 0


def test_a_lift_from_the_ground_leaves_one_piece() -> None:
    assert position(BRANCH, ("5-6", "4-6"), earner="3-4").notations() == {"lift 2-3@-1,0 E", "end"}
    table = position(BRANCH + "; 4-5@0,4 E", ("5-6", "4-6"), earner="3-4")  # would be cut off
    assert turn(table) == (1, "move")
    liftable = table.game.layout.decode(table.observe(0))["liftable"]
    assert [TILES.names[tile] for tile in np.flatnonzero(liftable)] == ["2-6", "3-4", "4-5"]


def test_the_earner_stays_r11() -> None:
    assert position(BRANCH, ("5-6", ""), earner="0-1").notations() == {"lift 2-3@-1,0 E", "end"}
    table = position("0-1@0,0 E; 2-6@-1,0 N; 3-4@-1,1 N", ("2-3 5-6", "4-6"))
    do(table, "2-3@0,2 E")  # only 2-3 itself would fit anywhere
    assert turn(table) == (1, "move")


def test_an_upper_level_earns_no_bonus_and_ends_the_turn() -> None:
    table = position(BRANCH, ("4-6 0-5", "1-5"))  # 2-3 could be lifted
    do(table, "4-6@-2,1 W^")
    assert turn(table) == (1, "move")


START = "0-1@0,0 E; 2-3@0,2 E; 2-6@-1,0 N"


def test_bonus_lift_and_further_move_r12() -> None:
    table = position(START, ("3-4 0-5 0-2", "4-6"), pool="5-6 1-5")
    do(table, "3-4@-1,1 N")
    assert turn(table) == (0, "bonus")
    assert table.legal()[-1] == 14 * 23 * 23
    seen = table.game.layout.decode(table.observe(1))
    assert np.flatnonzero(seen["bonus_tile"]).tolist() == tiles("3-4")
    assert tile_set(table.state["hands"][0]) == tiles("0-2 0-5 5-6")
    do(table, "lift 2-3@-1,0 E")
    assert turn(table) == (0, "further")
    assert tile_set(table.state["hands"][0]) == tiles("0-2 0-5 5-6")  # a lift draws nothing
    names = table.notations()
    assert "end" in names
    assert not any(name.startswith("lift") for name in names)
    do(table, "5-6@0,2 E")  # on the cells that 2-3 left; a new bonus with nothing to lift
    assert turn(table) == (1, "move")
    assert tile_set(table.state["hands"][0]) == tiles("0-2 0-5 1-5")
    for names in (("end",), ("lift 2-3@-1,0 E", "end")):
        table = position(START, ("3-4 0-5 0-2", "4-6"), pool="5-6 1-5")
        do(table, "3-4@-1,1 N", *names)
        assert turn(table) == (1, "move")


def test_a_further_move_on_an_upper_level_or_with_nothing_to_lay_ends_the_turn() -> None:
    table = position(START, ("3-4 4-6 1-5", "0-5"))
    do(table, "3-4@-1,1 N", "lift 2-3@-1,0 E", "4-6@-2,1 W^")
    assert turn(table) == (1, "move")
    table = position(START, ("3-4", "4-6"))
    do(table, "3-4@-1,1 N", "lift 2-3@-1,0 E")
    assert turn(table) == (1, "move")


def test_two_passes_in_succession_draw_r13() -> None:
    table = position("0-1@0,0 E", ("", "2-3 4-5"))
    assert turn(table) == (1, "move")  # seat 0 has passed
    assert table.game.layout.decode(table.observe(1))["passed"] == 1
    do(table, "2-3@0,2 E")
    assert turn(table) == (1, "move")  # and again
    do(table, "4-5@0,4 E")
    state = table.state
    assert state["over"]
    assert (state["winners"][0], state["points"][0], state["scores"].tolist()) == (-1, 0, [0, 0])


def test_nobody_can_open_draws_at_once() -> None:
    table = position("0-1@0,0 E", ("2-3", "4-5"))
    state = table.state
    state["hands"] = 0
    third_level._settle(state)
    assert state["deal_over"]
    assert state["winners"][0] == -1


def test_placements_outside_the_window_are_counted_and_not_offered() -> None:
    laid = "0-1@0,0 E; 2-3@0,2 E; 4-5@0,4 E"
    wide = position(laid, ("0-6", "4-6"), board_size=9)
    narrow = position(laid, ("0-6", "4-6"), board_size=7)
    assert wide.game.mover_info is not None
    assert wide.game.mover_info(wide.state) == {"outside_window": 0}
    # Six columns: the window of 7 shows columns 0 to 6, that of 9 columns -1 to 7.
    assert {"0-6@-1,6 S", "0-6@1,6 N"} <= narrow.notations() < wide.notations()
    assert {"0-6@-1,-1 S", "0-6@1,-1 N"} <= wide.notations() - narrow.notations()
    assert wide.game.mover_info(narrow.state) == {"outside_window": len(wide.legal()) - len(narrow.legal())}
