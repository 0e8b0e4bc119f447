"""Third Level for its tests: a table in the package's record, beside the slow reference, and positions by hand."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from domino_envs import engine
from domino_envs.games import Game, get_game, third_level
from domino_envs.games import third_level_board as board
from domino_envs.games.kernels import observe, reveal
from domino_envs.tiles import DOUBLE_SIX_WITHOUT_DOUBLES as TILES
from reference.third_level import Laid, ReferenceThirdLevel, in_one_piece

PHASES = ["move", "bonus", "further"]
HAND_SIZES = [1, 2, 3, 5, 10]
BOARD_SIZES = [7, 9, 11, 23, 41]
BRANCH = "0-1@0,0 E; 2-3@0,2 E; 2-6@-1,0 N; 3-4@-1,1 N"  # 2-3 fits on (-1, 0) and (-1, 1)

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


def random_positions(table: Table, games: int, seed: int, choose: Chooser = at_random) -> Any:
    """Yield the table at every decision of some games."""
    rng = random.Random(seed)
    for _ in range(games):
        table.start(rng.sample(range(21), 21), rng.randrange(2))
        while not table.state["over"]:
            legal = table.legal()
            yield rng, legal
            table.play(choose(rng, table, legal))
