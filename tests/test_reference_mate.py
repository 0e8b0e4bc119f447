"""The slow reference of Mate itself: hand-made positions for each rule, and figures of random play."""

from __future__ import annotations

import random

from reference import DOUBLE_SIX_NO_DOUBLES
from reference.checks import assert_mean, notations, play, shuffled, six, sixes
from reference.mate import ReferenceMate, perfect_margin

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
