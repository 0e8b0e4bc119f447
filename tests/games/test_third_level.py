"""Third Level: every decision against the slow reference, each rule in a position made by hand, observations."""

from __future__ import annotations

import copy
import pickle
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from domino_envs import engine
from domino_envs.bits import random_below
from domino_envs.games import Game, get_game, third_level
from domino_envs.games import third_level_board as board
from domino_envs.games.kernels import moves, observe, play, reveal
from domino_envs.jit import JIT_DISABLED, kernel
from domino_envs.tiles import DOUBLE_SIX_WITHOUT_DOUBLES as TILES
from reference.third_level import Laid, ReferenceThirdLevel, in_one_piece

PHASES = ["move", "bonus", "further"]
HAND_SIZES = [1, 2, 3, 5, 10]
BOARD_SIZES = [7, 9, 11, 23, 41]

Chooser = Callable[[random.Random, "Table", list[int]], int]


def tile_set(bits: int) -> list[int]:
    return [tile for tile in range(21) if int(bits) >> tile & 1]


class Table:
    """A game in the package's record, with the arrays that the engine wants."""

    def __init__(self, hand_size: int = 3, board_size: int = 23, seed: int = 0) -> None:
        self.game: Game = get_game("third_level", {"hand_size": hand_size, "board_size": board_size})
        self.hand_size, self.board_size = hand_size, board_size
        self.states = np.zeros(1, dtype=self.game.dtype)
        self.rngs = engine.lane_streams(seed, 1)
        self.orders = np.zeros((1, 1, 21), dtype=np.int8)
        self.given = np.ones(1, dtype=np.int8)
        self.mask = np.zeros(self.game.num_actions, dtype=np.int8)
        self.actions = np.zeros(self.game.num_actions, dtype=np.int32)
        self.template = self.game.start_record("match")

    @property
    def state(self) -> Any:
        return self.states[0]

    def start(self, order: list[int] | None, opener: int) -> None:
        self.given[0] = order is not None
        if order is not None:
            self.orders[0, 0] = order
        assert engine.start_episode(self.template, self.states, self.rngs, self.orders, self.given, 0, opener)

    def take_up(self, reference: ReferenceThirdLevel) -> None:
        """Take up a position of the reference that asks for a decision."""
        state = self.state
        self.states[:] = self.template
        for laid in reference.table:
            state["tile_level"][laid.tile] = laid.level
            state["tile_row"][laid.tile] = laid.row
            state["tile_column"][laid.tile] = laid.column
            state["tile_direction"][laid.tile] = laid.direction
        board.rebuild(state)
        for seat in range(2):
            state["hands"][seat] = sum(1 << tile for tile in reference.hands[seat])
        state["pool"] = -1
        state["pool"][: len(reference.pool)] = reference.pool
        state["pool_size"] = len(reference.pool)
        state["mover"] = reference.mover
        state["phase"] = PHASES.index(reference.phase)
        state["bonus_tile"] = -1 if reference.earner is None else reference.earner
        state["passes"] = reference.passes
        state["outside_window"] = reference.outside_window

    def legal(self) -> list[int]:
        count = engine.write_mask(self.states, 0, self.mask, self.actions)
        legal: list[int] = self.actions[:count].tolist()
        assert np.flatnonzero(self.mask).tolist() == legal
        return legal

    def play(self, action: int) -> float:
        return engine.play_episode_action(self.states, self.rngs, self.orders, self.given, 0, action, False)

    def observe(self, seat: int) -> np.ndarray[Any, np.dtype[np.int8]]:
        vector = np.full(self.game.layout.size, 99, dtype=np.int8)
        observe(self.state, seat, vector)
        return vector

    def notations(self) -> set[str]:
        return {self.game.notation(self.states, action) for action in self.legal()}

    def plane(self, action: int) -> int:
        return action // self.board_size**2


# -- against the reference --------------------------------------------------------------------------------------------


def assert_same(table: Table, reference: ReferenceThirdLevel) -> list[int]:
    """Compare all that matters in a position, and return the legal actions."""
    state = table.state
    legal = table.legal()
    assert legal == reference.legal_actions()
    assert bool(state["over"]) == bool(state["deal_over"]) == reference.over
    assert state["outside_window"] == reference.outside_window
    assert [tile_set(hand) for hand in state["hands"]] == reference.hands
    assert state["pool"][state["pool_next"] : state["pool_size"]].tolist() == reference.pool
    if reference.over:
        winner, points = reference.results[0]
        assert state["winners"][0] == (-1 if winner is None else winner)
        assert state["points"][0] == points
        assert state["scores"].tolist() == reference.scores
    else:
        assert state["mover"] == reference.mover
        assert PHASES[state["phase"]] == reference.phase
        assert state["bonus_tile"] == (-1 if reference.earner is None else reference.earner)
        assert state["passes"] == reference.passes
    return legal


def expected_observation(reference: ReferenceThirdLevel, seat: int) -> dict[str, Any]:
    """The observation worked out from the reference alone."""
    size = reference.board_size
    tops = reference.surface()
    top, left = reference.window_corner()
    planes = {name: np.zeros((size, size), dtype=int) for name in ("pips", "height", "ground_link", "upper_link")}
    facts = {
        name: np.zeros(21, dtype=int)
        for name in ("tile_level", "tile_row", "tile_column", "tile_direction", "liftable", "places_2", "places_3")
    }
    for (row, column), cell in tops.items():
        planes["pips"][row - top, column - left] = cell.pip + 1
        planes["height"][row - top, column - left] = cell.height
    for laid in reference.table:
        (low, high), tile = laid.cells(), laid.tile
        if laid.level < 3:
            plane = planes["ground_link" if laid.level == 1 else "upper_link"]
            plane[low[0] - top, low[1] - left] = 1 + laid.direction
            plane[high[0] - top, high[1] - left] = 1 + (laid.direction + 2) % 4
        facts["tile_level"][tile] = laid.level
        facts["tile_row"][tile] = low[0] - top + 1
        facts["tile_column"][tile] = low[1] - left + 1
        facts["tile_direction"][tile] = laid.direction + 1
        uncovered = all(tops[cell].tile == tile for cell in laid.cells())
        one_piece = laid.level == 2 or in_one_piece(set(tops) - set(laid.cells()))
        facts["liftable"][tile] = uncovered and one_piece and laid.level < 3
    for _, _, laid in reference.upper_places():
        old = reference.on_table(laid.tile)
        if laid.level <= 3 and (old is None or (old.level < laid.level and not set(old.cells()) & set(laid.cells()))):
            facts[f"places_{laid.level}"][laid.tile] += 1

    def bits(tiles: Any) -> list[int]:
        return [int(tile in tiles) for tile in range(21)]

    on_table = {laid.tile for laid in reference.table}
    return {
        **planes,
        **facts,
        "my_hand": bits(reference.hands[seat]),
        "unseen": bits(set(range(21)) - on_table - set(reference.hands[seat])),
        "their_hand_count": len(reference.hands[1 - seat]),
        "pool_count": len(reference.pool),
        "opened": int(reference.opener == seat),
        "my_turn": int(reference.mover == seat),
        "bonus_tile": None if reference.over else bits({reference.earner}),
        "phase": None if reference.over else [int(name == reference.phase) for name in PHASES],
        "passed": None if reference.over else int(reference.passes > 0),
    }


def assert_observations(table: Table, reference: ReferenceThirdLevel) -> None:
    layout = table.game.layout
    for seat in range(2):
        vector = table.observe(seat)
        assert (layout.low <= vector).all()
        assert (vector <= layout.high).all()
        decoded = layout.decode(vector)
        expected = expected_observation(reference, seat)
        assert decoded.keys() == expected.keys()
        for name, value in expected.items():
            if value is not None:
                assert np.array_equal(decoded[name], value), (name, seat)
    hidden = np.full(table.game.hidden.size, 99, dtype=np.int8)
    reveal(table.state, hidden)
    decoded = table.game.hidden.decode(hidden)
    assert tile_set(sum(int(bit) << tile for tile, bit in enumerate(decoded["their_hand"]))) == reference.hands[1]
    assert decoded["pool"].tolist() == [tile + 1 for tile in reference.pool] + [0] * (20 - len(reference.pool))


def step_both(table: Table, games: int, seed: int, choose: Chooser, events: Counter[str]) -> None:
    """Play the same games in the package and in the reference, comparing at every decision."""
    rng = random.Random(seed)
    for _ in range(games):
        order, opener = rng.sample(range(21), 21), rng.randrange(2)
        reference = ReferenceThirdLevel([order], opener, hand_size=table.hand_size, board_size=table.board_size)
        table.start(order, opener)
        while True:
            legal = assert_same(table, reference)
            if rng.random() < 0.3 or reference.over:
                assert_observations(table, reference)
            if reference.over:
                break
            for action in rng.sample(legal, min(5, len(legal))):
                assert table.game.notation(table.states, action) == reference.notation(action)
            action = choose(rng, table, legal)
            laid = reference.options[action]
            old = None if laid is None else reference.on_table(laid.tile)
            frame = (int(table.state["origin_row"]), int(table.state["origin_column"]))
            events["outside"] += reference.outside_window > 0
            mover = reference.mover
            events["end"] += laid is None
            if laid is not None:
                events[f"{old.level if old else 'hand'} to {laid.level}"] += 1
            reference.play(action)
            reward = table.play(action)
            winner = reference.results[0][0] if reference.over else None
            assert reward == (0 if winner is None else 1 if winner == 0 else -1)
            events["pass"] += laid is not None and laid.level > 1 and not old and reference.mover == mover
            events["moved in the frame"] += frame != (int(table.state["origin_row"]), int(table.state["origin_column"]))
        events["won" if winner is not None else "drawn"] += 1


def at_random(rng: random.Random, table: Table, legal: list[int]) -> int:
    return rng.choice(legal)


def upwards(rng: random.Random, table: Table, legal: list[int]) -> int:
    """Prefer the upper levels, and above all the third."""
    upper = [action for action in legal if 0 <= table.plane(action) - 4 * table.hand_size < 2]
    if not upper or rng.random() < 0.2:
        return rng.choice(legal)
    return rng.choice(upper)


def outwards(axis: int, last: bool) -> Chooser:
    """Prefer the cells nearest to one side of the window, so that the formation grows long."""

    def choose(rng: random.Random, table: Table, legal: list[int]) -> int:
        ground = [action for action in legal if table.plane(action) < 4 * table.hand_size]
        if not ground or rng.random() < 0.1:
            return rng.choice(legal)

        def line(action: int) -> int:
            cell = action % table.board_size**2
            return cell % table.board_size if axis else cell // table.board_size

        return max(ground, key=line) if last else min(ground, key=line)

    return choose


@pytest.mark.parametrize("board_size", BOARD_SIZES)
@pytest.mark.parametrize("hand_size", HAND_SIZES)
def test_random_games_equal_the_reference(hand_size: int, board_size: int) -> None:
    events: Counter[str] = Counter()
    step_both(Table(hand_size, board_size), 3, 100 * hand_size + board_size, at_random, events)
    assert (events["outside"] > 0) == (board_size <= 11)


def test_upward_games_equal_the_reference_and_meet_every_kind_of_move() -> None:
    events: Counter[str] = Counter()
    for hand_size in HAND_SIZES:
        step_both(Table(hand_size, 11 + 2 * hand_size), 24, 10 + hand_size, upwards, events)
    kinds = ("hand to 1", "hand to 2", "hand to 3", "1 to 2", "1 to 3", "2 to 3", "end", "pass", "won", "drawn")
    assert all(events[kind] for kind in kinds), events


@pytest.mark.parametrize("board_size", [23, 41])
@pytest.mark.parametrize(("axis", "last"), [(0, False), (0, True), (1, False), (1, True)])
def test_long_formations_equal_the_reference(axis: int, last: bool, board_size: int) -> None:
    events: Counter[str] = Counter()
    step_both(Table(5, board_size), 3, 7 + axis + 2 * last, outwards(axis, last), events)
    assert events["moved in the frame"]
    assert (events["outside"] > 0) == (board_size == 23)


# -- positions made by hand -------------------------------------------------------------------------------------------


def tiles(names: str) -> list[int]:
    return [TILES.names.index(name) for name in names.split()]


def laid_tile(text: str) -> Laid:
    """``3-5@-1,2 S`` on the ground, the same with ``^`` on the second level."""
    name, place = text.rstrip("^").split("@")
    cell, direction = place.split()
    row, column = cell.split(",")
    return Laid(tiles(name)[0], int(row), int(column), "ESWN".index(direction), 1 + text.endswith("^"))


def position(
    laid: str, hands: tuple[str, str] = ("", "4-5"), pool: str = "", earner: str = "", board_size: int = 23
) -> Table:
    """Seat 0 to move, in the bonus if a tile is its earner; what follows from it without a choice is done."""
    reference = ReferenceThirdLevel([list(range(21))], 0, board_size=board_size)
    table = Table(3, board_size)
    reference.table = [laid_tile(text) for text in laid.split("; ")]
    reference.hands = [tiles(hand) for hand in hands]
    reference.pool = tiles(pool)
    reference.phase = "bonus" if earner else "move"
    reference.earner = tiles(earner)[0] if earner else None
    table.take_up(reference)
    third_level._settle(table.state)
    reference.set_position(reference.table, reference.hands, reference.pool, 0, reference.phase, reference.earner)
    assert table.legal() == reference.legal_actions()
    return table


def do(table: Table, *names: str) -> None:
    for name in names:
        table.play(table.game.parse(table.states, name))


def turn(table: Table) -> tuple[int, str]:
    assert not table.state["over"]
    return int(table.state["mover"]), PHASES[table.state["phase"]]


def upper(table: Table) -> set[str]:
    return {name for name in table.notations() if name.endswith("^")}


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


BRANCH = "0-1@0,0 E; 2-3@0,2 E; 2-6@-1,0 N; 3-4@-1,1 N"  # 2-3 fits on (-1, 0) and (-1, 1)


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


# -- what a seat sees -------------------------------------------------------------------------------------------------


def random_positions(table: Table, games: int, seed: int, choose: Chooser = at_random) -> Any:
    """Yield the table at every decision of some games."""
    rng = random.Random(seed)
    for _ in range(games):
        table.start(rng.sample(range(21), 21), rng.randrange(2))
        while not table.state["over"]:
            legal = table.legal()
            yield rng, legal
            table.play(choose(rng, table, legal))


def test_nothing_hidden_shows() -> None:
    table = Table()
    moved = 0
    for rng, legal in random_positions(table, 6, 1):
        before = table.states.copy()
        for seat in range(2):
            seen = table.observe(seat)
            state = table.state
            theirs = tile_set(state["hands"][1 - seat])
            first, end = int(state["pool_next"]), int(state["pool_size"])
            unknown = theirs + state["pool"][first:end].tolist()
            decoded = table.game.layout.decode(seen)
            assert np.flatnonzero(decoded["unseen"]).tolist() == sorted(unknown)
            rng.shuffle(unknown)
            state["hands"][1 - seat] = sum(1 << tile for tile in unknown[: len(theirs)])
            state["pool"][first:end] = unknown[len(theirs) :]
            moved += unknown[: len(theirs)] != theirs
            assert np.array_equal(table.observe(seat), seen)
            if state["mover"] == seat:
                assert table.legal() == legal
            table.states[:] = before
    assert moved > 100


def test_the_full_information_fields_tell_hands_and_pool() -> None:
    table = Table(hand_size=5)
    table.start(list(range(21)), 0)
    hidden = np.empty(table.game.hidden.size, dtype=np.int8)
    reveal(table.state, hidden)
    decoded = table.game.hidden.decode(hidden)
    assert np.flatnonzero(decoded["their_hand"]).tolist() == [2, 4, 6, 8, 10]
    assert decoded["pool"].tolist() == [*range(12, 22), *[0] * 10]
    assert table.game.state_layout.size == 2 + table.game.layout.size + table.game.hidden.size


def moved(state: Any, down: int, east: int) -> dict[str, Any]:
    """What a record keeps of the table, moved in the frame."""
    same = ("ground", "covered", "removable", "second", "links", "tile_level", "tile_direction")
    kept: dict[str, Any] = {name: state[name].copy() for name in same}
    for by, names in (
        (down, ("origin_row", "min_row", "max_row")),
        (east, ("origin_column", "min_column", "max_column")),
    ):
        kept |= {name: state[name] + by for name in names}
    on_table = state["tile_level"] > 0
    kept["tile_row"] = (state["tile_row"] + down)[on_table]
    kept["tile_column"] = (state["tile_column"] + east)[on_table]
    kept["cells"] = np.roll(state["cells"], (down, east), axis=(0, 1))
    for name, by in (("row_used", down), ("column_used", east), ("occupied", east), ("pairs", east)):
        kept[name] = state[name] << by if by >= 0 else state[name] >> -by
    kept["occupied"] = np.roll(kept["occupied"], down)
    kept["pairs"] = np.roll(kept["pairs"], down, axis=1)
    return kept


def test_what_is_kept_up_equals_what_is_worked_out_anew() -> None:
    table = Table(hand_size=5)
    for _, legal in random_positions(table, 8, 2, upwards):
        seen = [table.observe(seat) for seat in range(2)]
        names = table.notations()
        before = table.states.copy()
        board.rebuild(table.state)
        # All is the same but for the place in the frame, and neither actions nor observations depend on that.
        state = table.state
        down, east = (int(state[name]) - int(before[0][name]) for name in ("min_row", "min_column"))
        for name, value in moved(before[0], down, east).items():
            on_table = state["tile_level"] > 0
            expected = state[name][on_table] if name in ("tile_row", "tile_column") else state[name]
            assert np.array_equal(value, expected), name
        assert table.legal() == legal
        assert table.notations() == names
        assert all(np.array_equal(table.observe(seat), seen[seat]) for seat in range(2))
        table.states[:] = before


# -- the table of the game --------------------------------------------------------------------------------------------


def test_game_table() -> None:
    game = get_game("third_level")
    assert game.parameters == {"hand_size": 3, "board_size": 23}
    assert game.num_actions == 14 * 23**2 + 1
    assert game.num_tiles == 21
    assert game.episodes == {"match": 1, "deal": 1}
    assert game.num_orders("match") == 1
    small = get_game("third_level", {"hand_size": 10, "board_size": 7})
    assert small.num_actions == 42 * 49 + 1
    assert (small.layout.low < small.layout.high).all()
    assert pickle.loads(pickle.dumps(small)) is small
    assert copy.deepcopy(small) is small


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hand_size": 0}, "hand_size must be a whole number from 1 to 10, got 0"),
        ({"hand_size": 11}, "hand_size must be a whole number from 1 to 10, got 11"),
        ({"hand_size": 3.0}, "hand_size must be a whole number from 1 to 10, got 3.0"),
        ({"hand_size": True}, "hand_size must be a whole number from 1 to 10, got True"),
        ({"board_size": 6}, "board_size must be a whole number from 7 to 41, got 6"),
        ({"board_size": 42}, "board_size must be a whole number from 7 to 41, got 42"),
        ({"board_size": "23"}, "board_size must be a whole number from 7 to 41, got '23'"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        third_level.make_game(**parameters)


def test_a_copied_record_is_the_position() -> None:
    table = Table()
    for rng, legal in random_positions(table, 1, 3):
        saved = table.states.copy()
        table.play(rng.choice(legal))
        after = table.states.copy()
        table.states[:] = pickle.loads(pickle.dumps(saved))
        assert table.legal() == legal
        table.states[:] = after


def test_every_action_number_has_a_notation_and_legal_ones_their_own() -> None:
    table = Table(hand_size=2, board_size=41)
    for number, (_, legal) in enumerate(random_positions(table, 1, 4)):
        assert len(table.notations()) == len(legal)
        if number % 8 == 0:
            assert all(table.game.notation(table.states, action) for action in range(table.game.num_actions))
    assert table.game.notation(table.states, table.game.num_actions - 1) == "end"


def test_text() -> None:
    table = position(BRANCH + "; 4-6@-2,1 W^", ("0-5", "1-5 1-6"), pool="2-5")
    drawing = [
        "       0   1   2   3",
        "    +---+---+",
        " -2 | 6'  4'|",
        "    +---+---+",
        " -1 | 2 | 3 |",
        "    +---+---+---+---+",
        "  0 | 0   1 | 2   3 |",
        "    +---+---+---+---+",
    ]
    lines = table.game.text(table.state).splitlines()
    assert lines[0] == "Opened by player_0"
    assert [line for line in lines if "player_" in line][1:] == [
        "player_0: 0-5",
        "player_1: 1-5 1-6",
        "player_0 to move",
    ]
    assert "player_1: 2 hidden" in table.game.text(table.state, 0).splitlines()
    assert "player_0: 1 hidden" in table.game.text(table.state, seat=1).splitlines()
    assert "Second level: 4-6@-2,1 W" in lines
    assert "Covered on the ground: 2-6@-1,0 N, 3-4@-1,1 N" in lines
    assert "Pool: 1 left" in lines
    assert lines[1 : 1 + len(drawing)] == drawing


# -- figures of random play -------------------------------------------------------------------------------------------


@kernel
def play_at_random(
    template: Any, states: Any, rngs: Any, orders: Any, given: Any, actions: Any, games: int, counts: Any
) -> None:
    """Count decisions, wins of each seat, and the most legal actions."""
    for _ in range(games):
        engine.start_episode(template, states, rngs, orders, given, 0, engine.LOT)
        state = states[0]
        while not state["over"]:
            count = moves(state, actions)
            counts[3] = max(counts[3], count)
            play(state, actions[random_below(rngs, 0, count)])
            state["over"] = state["deal_over"]
            counts[0] += 1
        if state["winners"][0] >= 0:
            counts[1 + state["winners"][0]] += 1


@pytest.mark.skipif(JIT_DISABLED, reason="many games")
def test_random_play_has_the_expected_figures() -> None:
    table = Table(seed=1)
    table.given[0] = 0
    games = 40_000
    counts = np.zeros(4, dtype=np.int64)
    play_at_random(table.template, table.states, table.rngs, table.orders, table.given, table.actions, games, counts)
    assert abs(counts[0] / games - 27.5) < 0.1
    assert all(abs(wins / games - 0.0545) < 0.005 for wins in counts[1:3])
    assert 180 < counts[3] < 300
