"""Which of Domaster's moves let the other player get ahead on a chain: lay two more tiles there, and alone finish it.

Counted by pips as far as possible rather than by tiles: what is played leads from one pip to another, so that the ways
to lay two tiles are products of small matrices.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["PURSUIT_FACTS", "pursuit_facts", "pursuits"]

PIPS = 10
WAYS = 3
COLUMNS = 9
ENDS = 10
_ITSELF = torch.eye(PIPS) / 2.0
PURSUIT_FACTS = 3 * WAYS
# Where their first tile is laid (an end, a new one, or the one across), and the chain's other end then; see pursuits.
_POINTS = torch.tensor([0, 4, 8, 1, 5, 9, 9, 9, 5])
_ACROSS_LETHAL = torch.tensor([5, 5, 3])
_REPLIES = torch.tensor([0, 2, 4, 4, 4, 2, 1, 3, 5])


def pursuit_facts(grown: int, other: int, reach: int) -> list[int]:
    """Return which ways there are at an end with ``grown`` tiles on its side and ``other`` on the other, ``(9,)``.

    For each case (see :func:`pursuits`; the last two are one here), by where their first tile is laid: at this end of a
    chain as it is, which lacks three; there once a tile of mine is laid there, where it lacked four; at the other end
    then.
    """
    here, there = reach - grown, reach - other
    ways = []
    for first, rest, lacking in ((here - 1, there, 3), (here - 2, there, 4), (there - 1, here - 1, 4)):
        left = (first, rest) if here + there == lacking else None  # for the second tile and the one that finishes
        ways.append([int(left == case) for case in ((2, 0), (0, 2), (1, 1))])
    return [fact for case in zip(*ways, strict=True) for fact in case]


def _edges(tiles: Tensor, leading: Tensor) -> Tensor:
    """Return how many tiles lead from one pip to another, ``(n, pips, pips)``; doubles lead back to their own.

    Args:
        tiles: halves by pip, ``(n, columns, pips)``.
        leading: the same, or 0 where they do not lead to the pip.
    """
    both = torch.bmm(tiles.transpose(1, 2), leading)
    return both * (1.0 - _ITSELF) - _ITSELF * leading.sum(dim=1, keepdim=True)


def pursuits(
    halves: Tensor,
    counts: Tensor,
    points: Tensor,
    met: Tensor,
    there: Tensor,
    fitting: Tensor,
    facts: Tensor,
    sides: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return in how many ways the other player could get ahead after each of my moves.

    A way to get ahead is three tiles of the other player for one chain that lacks three: two that it lays there one
    after the other, and one that finishes the chain then where no tile of mine does. The second is laid on the first
    and the third on it, whatever third; or the second at the other end and the third on it, whatever third; or the
    second on the first and the third at the other end; or the second at the other end and the third on the first. My
    move between the two is left out. Tiles that become free count where the second makes them free in the first two
    cases, and where the first does in the last two. But for the first two tiles of the first case, one may count twice.

    Three pips matter: of the end, of the chain's other end, and of the end as it will be after my move.

    Args:
        halves: of the playable tiles, ``(n, players, columns, pips)``.
        counts: by pip, what is left after each tile of either player, and the tiles, ``(n, 4 * columns, pips)``.
        points: of each player's moves, what they leave the other and itself, at the ends, at the ends as they will be
            and at those across, ``(n, 12, columns, ends)``.
        met: how often what the other player would hold after each of its tiles, and the tile itself, fits mine, ``(n,
            2, columns, columns, 1)``, mine first.
        there: the same at the ends and at those across, ``(n, 2, 1, columns, 2 * ends)``.
        fitting: the other player's tiles that fit each of its own after it is played, ``(n, 1, 1, columns, 1)``.
        facts: see :func:`pursuit_facts`, ``(n, PURSUIT_FACTS, ends)``.
        sides: one-hot pips of the ends, then of those across, ``(n, pips, 2 * ends)``.

    Returns:
        The ways on the chain that I have lengthened, and on a chain as it is by the end of their first tile, ``(n, 1,
        columns, ends)`` each.
    """
    theirs = halves[:, 1]
    mine_after, _, theirs_after, _ = torch.split(counts, COLUMNS, dim=1)
    unguarded = 1.0 - mine_after.clamp(max=1.0)  # pips that no tile of mine has after my move
    plain, followed = _edges(theirs, theirs), _edges(theirs, theirs * theirs_after.clamp(max=1.0))
    ahead = torch.bmm(unguarded, followed.transpose(1, 2))  # tiles at a pip after which they alone could finish
    back = (plain * followed).sum(dim=1, keepdim=True)  # a tile is not laid twice
    lethal = torch.cat((torch.bmm(ahead, plain) - unguarded * back, ahead), dim=1)
    lethal_sides = torch.bmm(lethal, sides).view(-1, 2, COLUMNS, 2 * ENDS)
    lethal_end, lethal_across = torch.split(lethal_sides, ENDS, dim=3)
    lethal_new = (lethal.view(-1, 2, COLUMNS, PIPS) * halves[:, :1]).sum(dim=3, keepdim=True) - lethal_end
    lethal = torch.cat((lethal_end, lethal_new, lethal_across), dim=1)
    twice, ahead = lethal[:, ::2], lethal[:, _ACROSS_LETHAL]

    held, counts = torch.split(points[:, _POINTS], [3, 6], dim=1)
    free = (1.0 - counts.clamp(max=1.0)).view(-1, 2, 3, COLUMNS, 1, ENDS)
    first_free, other_free = torch.unbind(free, dim=1)
    reply_end, reply_across = torch.split(there.expand(-1, -1, COLUMNS, -1, -1), ENDS, dim=4)
    replies = torch.cat((reply_end, met - reply_end, reply_across), dim=1)[:, _REPLIES]
    first_after, other_after, first = torch.split(replies, 3, dim=1)
    third_on_first = torch.bmm(unguarded, (theirs * theirs_after).transpose(1, 2)).view(-1, 1, COLUMNS, COLUMNS, 1)
    spread = third_on_first + fitting * other_free - (first_free + other_free) * first_after
    spread = (first * other_after * spread).sum(dim=3)
    on_one, on_other, on_both = torch.split(facts.unsqueeze(2), 3, dim=1)
    ways = on_one * twice + on_other * held * ahead + on_both * spread
    elsewhere, lengthened = torch.split(ways, [1, 2], dim=1)
    return lengthened.sum(dim=1, keepdim=True), elsewhere
