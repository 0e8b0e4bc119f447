"""Third Level: every decision against the slow reference, observations, notation, figures of random play."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest

from domino_envs import engine
from domino_envs.bits import random_below
from domino_envs.games import get_game, third_level
from domino_envs.games import third_level_board as board
from domino_envs.games.kernels import moves, play, reveal
from domino_envs.jit import JIT_DISABLED, kernel
from games.third_level_table import (
    BOARD_SIZES,
    BRANCH,
    HAND_SIZES,
    Table,
    at_random,
    outwards,
    position,
    random_positions,
    step_both,
    tile_set,
    upwards,
)


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


# -- what a seat sees -------------------------------------------------------------------------------------------------


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
