"""What can be counted of the positions that Domaster's moves lead to: who could finish, reply safely, or threaten next.

All of it follows from the observation alone, so it is computed once for a position and not for each pass over it. What
is to be decided about a single position takes as long as there are operations, so there are few of them: counts of
tiles stay numbers (a clamp tells whether there are any), are read off two products, and keep the dimensions in which
they are combined.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

__all__ = [
    "CHAIN_FACTS",
    "COLUMNS",
    "ENDS",
    "FORESEEN",
    "PIPS",
    "REACH",
    "ROWS",
    "SLOTS",
    "TOTALS",
    "WHOLE",
    "Ends",
    "chain_facts",
    "foresee",
]

PIPS = 10
COLUMNS = 9
ROWS = 3
ENDS = 10
SLOTS = ENDS + 1  # the last a new chain
REACH = 5
TOTALS = 2 * REACH  # tiles that a chain may hold beside its first before it is finished
FORESEEN = 14  # of each move, see foresee
WHOLE = 11  # of the position, see foresee
PLACES = 3 * ENDS  # of a second tile: at the end where the first was laid, at the other one, or on another chain
PAIR_FACTS = 10 * 3
CHAIN_FACTS = 3 + PAIR_FACTS

_SAME_CHAIN = (torch.arange(ENDS).unsqueeze(1) // 2 == torch.arange(ENDS) // 2).float()
# The next move's tile is there: mine from other columns than before, any of the other player's.
_NEXT_COLUMN = torch.stack((1.0 - torch.eye(COLUMNS), torch.ones(COLUMNS, COLUMNS))).view(1, 2, 1, COLUMNS, COLUMNS, 1)
_OTHER_COLUMNS = 1.0 - torch.eye(COLUMNS)
# Sums over places or ends for each slot: on the chain that was lengthened, and on others.
_IS_NEW = (torch.arange(SLOTS) == ENDS).float()
_ELSEWHERE = nn.functional.pad(1.0 - _SAME_CHAIN, (0, 1), value=1.0)
_ELSEWHERE_BY_SLOT = nn.functional.pad(_ELSEWHERE, (0, 0, 0, 1))
_LENGTHENED = nn.functional.pad(torch.cat((torch.eye(ENDS), torch.eye(ENDS), torch.zeros(ENDS, ENDS))), (0, 1))
_REPLIES = _LENGTHENED + nn.functional.pad(_ELSEWHERE, (0, 0, 2 * ENDS, 0))
_MOVE_SCALE = 1.0 / torch.tensor([1, 4, 1, 16, 4, 1, 16, 16, 1, 16, 4, 4, 1, 1]).view(1, FORESEEN, 1, 1)
_WHOLE_SCALE = 1.0 / torch.tensor([5, 1, 54, 1, 1, 16, 16, 16, 1, 1, 1])
# From wins, whether there are any, and moves, each of the other player's and of mine, to the order of the features.
_BY_PLAYER = torch.tensor([0, 1, 3, 5, 2, 4, 6])


def _counts_of_tiles() -> Tensor:
    """Return weights of the tiles (by player, column and row) in twelve counts of nine rows each, ``(108, 54)``.

    What a move leaves: of mine, what the other player has, and what I have; of one of the other player's, what I have,
    and what it has. Of a first move of mine and a second one, by me or by the other player: who must not be able to
    finish, and by what the first move changes what the second player has. Of the second move: what its player has
    after it, had it been the first one, and its tile itself.
    """
    tile = torch.eye(2 * COLUMNS * ROWS).view(2, COLUMNS, ROWS, -1)
    has, under = tile[:, :, 0], tile[:, :, 1]
    held = has.sum(dim=1, keepdim=True).expand(-1, COLUMNS, -1)
    change = under - has
    after = held + change
    nothing = torch.zeros_like(change[0])
    first_moves = [held[1], after[0], held[0], after[1]]
    pairs = [held[1], change[0], after[0], nothing, after[0], has[0], after[1], has[1]]
    return torch.cat((*first_moves, *pairs))


_COUNTS = _counts_of_tiles()


class Ends(NamedTuple):
    """What moves onto the chains' ends depend on.

    Attributes:
        pips: one-hot pip of each end that takes a tile, ``(n, ends, pips)``.
        across: the same for the other end of its chain.
        facts: see :func:`chain_facts`, ``(n, CHAIN_FACTS, ends)``.
    """

    pips: Tensor
    across: Tensor
    facts: Tensor


def chain_facts() -> Tensor:
    """Return facts by ``6 * tiles on an end's side + tiles on the other``, ``(36, CHAIN_FACTS)``.

    Where the next tile is laid: whether the end takes one more after it, whether it finishes the chain, and whether it
    leaves a chain that one more would finish.

    Thirty come in threes: of a tile that is laid here and a second one at the same end, of one that is laid here and a
    second one at the other end, and of one that is laid elsewhere and a second one here. Where such a pair leaves a
    chain that one more would finish, a third tile would have to fit the second one's free half, the first one's, or the
    pip of an end as it is now. How many tiles do so is a sum of those that fit this end, those that fit the other end,
    those that fit the first one and those that fit the second one, with the first four facts as weights. The others are
    weights of what is counted of the second tile, see :func:`_next_moves`.
    """
    rows = []
    for grown in range(REACH + 1):
        for other in range(REACH + 1):
            total = grown + other
            stays, finishing, risky = grown < REACH - 1, total == TOTALS - 1, total == TOTALS - 2
            full_there, either, full_here = ((grown, other) == pair for pair in ((2, 5), (3, 4), (4, 3)))
            longer = not (finishing or risky)
            second = [full_there, full_here, stays * risky]
            this_end = [full_there, -either, -stays * risky]
            first = [-full_there, either, 0]
            other_end = [either, -full_here, risky]
            touching = [stays * longer, 0, 0]
            fits_here, fits_there = [-stays * longer, 0, not finishing], [0, longer, 0]
            of_third = [*this_end, *other_end, *first, *second]
            of_second = [*this_end, *fits_here, *other_end, *fits_there, *first, *touching]
            alone = [stays, finishing, risky]
            rows.append([*alone, *of_third, *of_second])
    return torch.tensor(rows, dtype=torch.float32)


def _none(count: Tensor) -> Tensor:
    """Return 1 where a count is 0, else 0."""
    return 1.0 - count.clamp(max=1.0)


class _NextMoves(NamedTuple):
    """The next move after one of mine, by its place; see :func:`_next_moves`.

    Attributes:
        safe: the other player's safe replies, ``(n, 1, columns, places)``.
        lethal: my lethal moves if I moved once more, with tiles of other columns, and the other player's, ``(n, 2,
            columns, places)``.
        fitting: how often a tile of the other player's fits one of mine, ``(n, 1, columns, columns, 1)``, mine first.
        fits: whether the players' tiles fit the ends, ``(n, 2, columns, ends)``.
    """

    safe: Tensor
    lethal: Tensor
    fitting: Tensor
    fits: Tensor


def _next_moves(
    halves: Tensor, counts: tuple[Tensor, Tensor], at_places: tuple[Tensor, Tensor], kept: Tensor, facts: Tensor
) -> _NextMoves:
    """Return what the next move after one of mine could be.

    A move is safe if the other player cannot finish a chain next, and lethal if it is safe and its player can finish
    the chain that it was laid on next: nothing can be done against that.

    Args:
        halves: of the playable tiles, ``(n, players, columns, pips)``.
        counts: the last two fours of :func:`_counts_of_tiles`, by pip, ``(n, 4 * columns, pips)`` each.
        at_places: the same at the ends and at those across, ``(n, 4 * columns, 2 * ends)`` each.
        kept: tiles that fit a column's, of its player after it is played, ``(n, players, columns, 1)``.
        facts: see :func:`chain_facts`, ``(n, PAIR_FACTS, ends)``.
    """
    # Dimensions: who moves next (I once more, or the other player); of what it is told; my column, the next one, where.
    here_weight, across_weight, first_weight, second_weight, here_of_second, across_of_second, first_of_second = (
        torch.split(facts.reshape(-1, 1, 10, 1, 1, PLACES), [1, 1, 1, 1, 2, 2, 2], dim=2)
    )
    mine = halves[:, :1]
    before, second = (part.view(-1, 4, COLUMNS, PIPS) for part in counts)
    with_first = (before * mine).sum(dim=3).view(-1, 2, 2, COLUMNS, 1, 1)
    with_second = torch.matmul(before.view(-1, 2, 2 * COLUMNS, PIPS), halves.transpose(2, 3))
    with_second = with_second.view(-1, 2, 2, COLUMNS, COLUMNS, 1)
    met = torch.matmul(mine, second.transpose(2, 3)).view(-1, 2, 2, COLUMNS, COLUMNS, 1)
    here, across = torch.split(at_places[0].view(-1, 2, 2, COLUMNS, 1, 2 * ENDS), ENDS, dim=5)
    third = here_weight * torch.cat((here, here, here), dim=5) + across_weight * torch.cat(
        (across, across, across), dim=5
    )
    third = third + first_weight * with_first + second_weight * with_second
    exposed, gained = torch.split(third, 1, dim=2)
    here, across = torch.split(at_places[1].view(-1, 2, 2, 1, COLUMNS, 2 * ENDS), ENDS, dim=5)
    told = here_of_second * torch.cat((here, here, here), dim=5) + first_of_second * met
    told = told + across_of_second * torch.cat((across, across, across), dim=5)
    left, possible = torch.split(told, 1, dim=2)
    safe = possible * _NEXT_COLUMN * _none(exposed)
    lethal = safe * (gained + left + second_weight * kept.view(-1, 2, 1, 1, COLUMNS, 1)).clamp(max=1.0)
    return _NextMoves(safe[:, 1:].sum(dim=(2, 4)), lethal.sum(dim=(2, 4)), met[:, 1:, 1], here[:, :, 1, 0])


def foresee(tiles: Tensor, ends: Ends, legal: Tensor, facts: Tensor, room: Tensor) -> tuple[Tensor, Tensor]:
    """Return what can be counted of each move, legal or not, and of the position.

    Of a move: whether it finishes a chain; the tiles with which the other player could finish one next, whether there
    are any, and pairs of tile and end that the other will have; the same three for oneself; the other player's safe
    replies; whether they can neither finish nor reply safely, though they can move; my safe moves with other tiles on
    other chains; the other player's lethal replies, and whether there are any; the lethal moves that I threaten on the
    chain that I lengthen, with the tiles of other columns, and whether there are any. (Safe and lethal: see
    :func:`_next_moves`.)

    Of the position: the facts given; whether I can finish a chain, and whether they could; my moves that do not let
    them, theirs that would not let me, and mine that only I have; whether I can leave them without a safe reply;
    whether I have a lethal move, and whether they would.

    Args:
        tiles: halves by pip, ``(n, players, columns, rows, pips)``.
        ends: the ends.
        legal: 1 where my move is, ``(n, 1, columns, slots)``.
        facts: of the position, ``(n, 3)``.
        room: chains that can still be started, ``(n, 1)``.

    Returns:
        ``(n, columns * slots, FORESEEN)`` and ``(n, WHOLE)``.
    """
    halves = tiles[:, :, :, 0]
    counts = torch.matmul(_COUNTS, tiles.view(-1, 2 * COLUMNS * ROWS, PIPS).clamp(max=1.0))
    alone, pair = torch.split(ends.facts, [3, PAIR_FACTS], dim=1)
    stays, finishing, risky = torch.split(alone.view(-1, 3, 1, 1, ENDS), 1, dim=1)
    sides = torch.cat((ends.pips, ends.across), dim=1).transpose(1, 2)
    moves_at, first_at, second_at = torch.split(torch.bmm(counts, sides), 4 * COLUMNS, dim=1)
    of_moves, of_first, of_second = torch.split(counts, 4 * COLUMNS, dim=1)

    # Of each player's moves, what it leaves the other and itself: (n, 2, 2, columns, slots).
    here, across = torch.split(moves_at.view(-1, 2, 2, COLUMNS, 2 * ENDS), ENDS, dim=4)
    fitting = (of_moves.view(-1, 2, 2, COLUMNS, PIPS) * halves.unsqueeze(2)).sum(dim=4, keepdim=True)
    beyond = stays * (fitting - here)  # tiles that fit the end as it will be
    chances = (here * finishing).sum(dim=4, keepdim=True)
    mobility = here.sum(dim=4, keepdim=True)
    wins = torch.cat((chances + risky * (beyond + across), chances), dim=4)
    moves = torch.cat((mobility - here + beyond, mobility + fitting), dim=4)
    can = wins.clamp(max=1.0)
    counted = torch.cat((wins, can, moves), dim=2)[:, 0]
    cannot = (1.0 - can).view(-1, 4, COLUMNS, SLOTS)
    unharmed = cannot[:, ::2]
    free, unable, _ = torch.split(cannot, [1, 1, 2], dim=1)  # where I could finish anyway, no reply is safe
    finishes = nn.functional.pad(finishing.view(-1, 1, 1, ENDS), (0, 1))

    following = _next_moves(halves, (of_first, of_second), (first_at, second_at), fitting[:, :, 1], pair)
    start = (room.view(-1, 1, 1, 1) - _IS_NEW).clamp(0.0, 1.0) * (halves[:, 1:].sum(dim=(2, 3), keepdim=True) / 2.0)
    start = start + following.fitting.sum(dim=3) * _IS_NEW
    safe = (following.safe @ _REPLIES + start) * unable
    my_lethal, their_lethal = torch.split(following.lethal, 1, dim=1)
    pressure = torch.cat((their_lethal @ _REPLIES * unable, my_lethal @ _LENGTHENED * free), dim=1)
    stuck = _none(safe) * free * counted[:, 4:5].clamp(max=1.0)
    my_fits, their_fits = torch.split(nn.functional.pad(following.fits, (0, 1)), 1, dim=1)
    follow = _OTHER_COLUMNS @ (my_fits * (free * (1.0 - finishes))) @ _ELSEWHERE_BY_SLOT
    finishes = finishes.expand(-1, -1, COLUMNS, -1)
    seen = torch.cat(
        (
            torch.cat((finishes, counted), dim=1)[:, _BY_PLAYER],
            safe,
            stuck,
            follow,
            pressure,
            pressure.clamp(max=1.0),
        ),
        dim=1,
    )

    playing = torch.cat((legal, their_fits), dim=1)
    harmless = playing * unharmed
    best = torch.cat((playing * finishes, legal * stuck, harmless - harmless * cannot[:, 1::2]), dim=1)
    best = best.view(-1, 5, COLUMNS * SLOTS).amax(dim=2)
    mine_only = (legal - their_fits) * (1.0 - _IS_NEW)
    numbers = torch.cat((harmless, mine_only), dim=1).view(-1, 3, COLUMNS * SLOTS).sum(dim=2)
    whole = torch.cat((facts, best[:, :2], numbers, best[:, 2:]), dim=1)
    seen = (seen * _MOVE_SCALE).view(-1, FORESEEN, COLUMNS * SLOTS).transpose(1, 2)
    return seen, whole * _WHOLE_SCALE
