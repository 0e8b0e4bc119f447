"""What can be counted of the positions that Domaster's moves lead to: who could finish, reply safely, or threaten next.

All of it follows from the observation alone, so it is computed once for a position and not for each pass over it. What
is to be decided about a single position takes as long as there are operations, so there are few of them: counts of
tiles stay numbers (a clamp tells whether there are any), and features lie in the second dimension.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

__all__ = [
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

_SAME_CHAIN = (torch.arange(ENDS).unsqueeze(1) // 2 == torch.arange(ENDS) // 2).float()
# The next move's tile is there: any of the other player's, mine from other columns than before.
_NEXT_COLUMN = torch.stack((1.0 - torch.eye(COLUMNS), torch.ones(COLUMNS, COLUMNS))).view(1, 2, COLUMNS, 1, COLUMNS)
_NOT_NEW = (torch.arange(SLOTS) < ENDS).float()
# From wins, whether there are any, and moves, each of the other player's and of mine, to the order of the features.
_BY_PLAYER = torch.tensor([0, 1, 3, 5, 2, 4, 6])


class Ends(NamedTuple):
    """What moves onto the chains' ends depend on.

    Attributes:
        pips: one-hot pip of each end that takes a tile, ``(n, ends, pips)``.
        across: the same for the other end of its chain.
        stays_open: 1 where the end takes one more tile after the next one, ``(n, 1, 1, ends, 1)`` as the following.
        finishing: where the next tile finishes the chain.
        risky: where the next tile leaves a chain that one more would finish.
        two_and_full: where two more tiles would, which can only be laid here.
        three_and_four: where two more would, and this end takes both, the other one.
        four_and_three: where two more would, and this end takes one, the other both.
    """

    pips: Tensor
    across: Tensor
    stays_open: Tensor
    finishing: Tensor
    risky: Tensor
    two_and_full: Tensor
    three_and_four: Tensor
    four_and_three: Tensor


def chain_facts() -> Tensor:
    """Return the facts of :class:`Ends` by ``6 * tiles on an end's side + tiles on the other``, ``(36, 6)``."""
    rows = []
    for grown in range(REACH + 1):
        for other in range(REACH + 1):
            total = grown + other
            row = [grown < REACH - 1, total == TOTALS - 1, total == TOTALS - 2]
            rows.append([*row, *((grown, other) == pair for pair in ((2, 5), (3, 4), (4, 3)))])
    return torch.tensor(rows).float()


class _Playable(NamedTuple):
    """The playable tiles, mine and theirs.

    Attributes:
        halves: by pip, 2 for a double, ``(n, players, columns, pips)``.
        has: 1 where the tile has the pip, the same shape.
        held: tiles with each pip, ``(n, players, 1, pips)``.
        after: the same once a column's tile is played, ``(n, players, columns, pips)``.
    """

    halves: Tensor
    has: Tensor
    held: Tensor
    after: Tensor


def _playable(tiles: Tensor) -> _Playable:
    halves = tiles[:, :, :, 0]
    has = halves.clamp(max=1.0)
    held = has.sum(dim=2, keepdim=True)
    return _Playable(halves, has, held, held - has + tiles[:, :, :, 1].clamp(max=1.0))


def _none(count: Tensor) -> Tensor:
    """Return 1 where a count is 0, else 0."""
    return 1.0 - count.clamp(max=1.0)


def _moves(tiles: _Playable, ends: Ends, sides: Tensor) -> tuple[Tensor, Tensor]:
    """Return what each move of either player leaves the other and itself.

    Returns:
        Tiles with which a chain could be finished next, and pairs of tile and end: both
        ``(n, players, other and self, columns, slots)``.
    """
    others = tiles.held.flip(1).expand(-1, -1, COLUMNS, -1)
    counts = torch.cat((others, tiles.after), dim=2).view(-1, 2, 2, COLUMNS, PIPS)
    finishing = ends.finishing.view(-1, 1, ENDS)
    at_ends = torch.cat((sides, torch.bmm(finishing, ends.pips), ends.pips.sum(dim=1, keepdim=True)), dim=1)
    found = torch.bmm(counts.view(-1, 4 * COLUMNS, PIPS), at_ends.transpose(1, 2))
    there, across, chances, mobility = torch.split(
        found.view(-1, 2, 2, COLUMNS, 2 * ENDS + 2), [ENDS, ENDS, 1, 1], dim=4
    )
    fitting = (counts * tiles.halves.unsqueeze(2)).sum(dim=4, keepdim=True)
    stays, risky = (fact.transpose(3, 4) for fact in (ends.stays_open, ends.risky))
    beyond = stays * (fitting - there)  # tiles that fit the end as it will be
    wins = torch.cat((chances + risky * (beyond + across), chances), dim=4)
    moves = torch.cat((mobility - there + beyond, mobility + fitting), dim=4)
    return wins, moves


def _next_moves(tiles: _Playable, ends: Ends, sides: Tensor, room: Tensor) -> tuple[Tensor, Tensor]:
    """Return what the next move after one of mine could be.

    A move is safe if the other player cannot finish a chain next, and lethal if it is safe and its player can finish
    the chain that it was laid on next: nothing can be done against that.

    Args:
        tiles: the playable ones.
        ends: the ends.
        sides: their pips and those of the ends across, ``(n, 2 * ends, pips)``.
        room: chains that can still be started, ``(n, 1)``.

    Returns:
        The other player's safe and lethal replies, ``(n, 2, columns, slots)``, where I cannot finish a chain; and my
        lethal moves with tiles of other columns on the chain that I have lengthened, ``(n, 1, columns, slots)``.
    """
    # Who moves next, in dimension 1: I once more, or the other player. Dimensions 2, 3 and 4: the column of my move,
    # its end, and the column of the next move.
    mine = tiles.halves[:, :1].expand(-1, 2, -1, -1)
    held_mine, held_theirs = tiles.held.split(1, dim=1)
    after = tiles.after[:, :1]
    # Who moves next must not leave a finish to these,
    against = torch.cat((held_theirs.expand(-1, -1, COLUMNS, -1), after), dim=1)
    # and may finish with those that it keeps, if it is I, with a change by my first move.
    change = after - held_mine
    change = torch.cat((change, torch.zeros_like(change)), dim=1)
    both = sides.unsqueeze(1).expand(-1, 2, -1, -1)
    first = torch.cat((against, change, mine), dim=2)
    second = torch.cat((both, tiles.halves, tiles.after, tiles.has), dim=2)
    met = torch.matmul(first, second.transpose(2, 3)).unsqueeze(3).split(COLUMNS, dim=2)
    (against_ends, against_met, _, _), (change_ends, change_met, _, _), (_, _, mine_kept, touching) = (
        part.split([2 * ENDS, COLUMNS, COLUMNS, COLUMNS], dim=4) for part in met
    )
    at_end, at_other = against_ends.transpose(3, 4).split(ENDS, dim=3)
    by_end = torch.matmul(both, torch.cat((tiles.has, tiles.after), dim=2).transpose(2, 3)).unsqueeze(2)
    fits, kept = by_end.split(COLUMNS, dim=4)
    fits, fits_other = fits.split(ENDS, dim=3)
    kept_end, kept_other = (kept + change_ends.transpose(3, 4)).split(ENDS, dim=3)
    kept_met = (tiles.after * tiles.halves).sum(dim=3).view(-1, 2, 1, 1, COLUMNS) + change_met
    # On the pip that my tile brings to its end.
    at_new = (against * mine).sum(dim=3).view(-1, 2, COLUMNS, 1, 1) - at_end
    kept_new = mine_kept + (change * mine).sum(dim=3).view(-1, 2, COLUMNS, 1, 1) - kept_end
    _, _, stays, finishing, risky, two_and_full, three_and_four, four_and_three = ends
    # On the chain that my tile lengthens, at that end and at the other.
    longer = (1.0 - risky) * (1.0 - finishing) * _NEXT_COLUMN
    exposed = two_and_full * (against_met - at_new) + three_and_four * at_other
    here = longer * stays * (touching - fits) * _none(exposed)
    own = two_and_full * (kept_met - kept_new) + three_and_four * kept_other
    lethal_here = here * own.clamp(max=1.0)
    exposed = three_and_four * at_new + four_and_three * (against_met - at_other)
    there = longer * fits_other * _none(exposed)
    own = three_and_four * kept_new + four_and_three * (kept_met - kept_other)
    threats, lethal = (lethal_here + there * own.clamp(max=1.0)).sum(dim=4).split(1, dim=1)
    lengthened = (here + there)[:, 1:].sum(dim=4)
    # On the chains as they are.
    exposed = risky * (stays * (against_met - at_end) + at_other)
    own = risky * (stays * (kept_met - kept_end) + kept_other)
    safe = (1.0 - finishing) * fits * _none(exposed)
    counts = torch.cat((safe, safe * own.clamp(max=1.0)), dim=1).sum(dim=4)
    counts = torch.cat((counts[:, 1:2], counts[:, 3:]), dim=1)  # theirs, safe and lethal
    elsewhere = counts.sum(dim=3, keepdim=True)
    columns = tiles.halves[:, 1:].sum(dim=(2, 3), keepdim=True) / 2.0  # theirs that hold a tile
    start = room.view(-1, 1, 1, 1).clamp(max=1.0) * columns
    start_another = touching[:, 1:].sum(dim=4) + (room.view(-1, 1, 1, 1) - 1.0).clamp(0.0, 1.0) * columns
    on_new = elsewhere + torch.cat((start_another, torch.zeros_like(start_another)), dim=1)
    on_end = elsewhere - counts @ _SAME_CHAIN + torch.cat((lengthened + start, lethal), dim=1)
    return torch.cat((on_end, on_new), dim=3), nn.functional.pad(threats, (0, 1))


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
        ``(n, FORESEEN, columns, slots)`` and ``(n, WHOLE)``.
    """
    playable = _playable(tiles)
    sides = torch.cat((ends.pips, ends.across), dim=1)
    wins, moves = _moves(playable, ends, sides)
    replies, threats = _next_moves(playable, ends, sides, room)
    can = wins.clamp(max=1.0)
    they_can, i_can = can[:, 0].split(1, dim=1)
    free = 1.0 - they_can
    finishes = nn.functional.pad(ends.finishing.view(-1, 1, 1, ENDS), (0, 1)).expand(-1, -1, COLUMNS, -1)
    moved = torch.cat((finishes, wins[:, 0] / 4.0, can[:, 0], moves[:, 0] / 16.0), dim=1)[:, _BY_PLAYER]
    replies = replies * (1.0 - i_can)  # where I could finish anyway, none is safe
    safe, lethal = replies.split(1, dim=1)
    stuck = _none(safe) * free * moves[:, 0, :1].clamp(max=1.0)
    fits = torch.matmul(playable.has, ends.pips.unsqueeze(1).transpose(2, 3))  # both players' moves, but new chains
    kept = fits[:, :1] * (1.0 - ends.finishing.view(-1, 1, 1, ENDS)) * free[..., :ENDS] @ _SAME_CHAIN
    others = kept.sum(dim=2, keepdim=True) - kept  # on each chain, with other tiles
    total = others.sum(dim=3, keepdim=True) / 2.0
    follow = torch.cat((total - others, total), dim=3)
    pressure = torch.cat((lethal, threats * free), dim=1)
    some = pressure.clamp(max=1.0)
    ahead = torch.cat((moved, safe / 16.0, stuck, follow / 16.0, pressure / 4.0, some), dim=1)

    playing = torch.cat((legal, nn.functional.pad(fits[:, 1:], (0, 1))), dim=1)
    harmless = playing * (1.0 - can[:, :, 0])
    best = torch.cat((playing * finishes, legal * stuck, harmless * can[:, :, 1]), dim=1).flatten(2).amax(dim=2)
    mine_only = (legal - playing[:, 1:]) * _NOT_NEW
    numbers = torch.cat((harmless, mine_only), dim=1).flatten(2).sum(dim=2) / 16.0
    whole = torch.cat((facts, best[:, :2], numbers, best[:, 2:]), dim=1)
    return ahead, whole
