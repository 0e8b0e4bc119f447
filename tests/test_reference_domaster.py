"""The slow reference of Domaster and Five Bridges itself: positions for each rule, and figures of random play."""

from __future__ import annotations

import random

import pytest

from reference import DOUBLE_NINE
from reference.checks import assert_mean, nine, notations, play, shuffled
from reference.domaster import PASS, Chain, ReferenceDomaster


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
