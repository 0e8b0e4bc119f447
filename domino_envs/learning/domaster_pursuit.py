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
_ITSELF = torch.eye(PIPS) / 2.0
PURSUIT_FACTS = 3 * WAYS


def pursuit_facts(grown: int, other: int, reach: int) -> list[int]:
    """Return which ways there are at an end with ``grown`` tiles on its side and ``other`` on the other, ``(9,)``.

    Three (see :func:`pursuits`) for each of three: their first tile at this end of a chain as it is, which lacks three;
    the same once a tile of mine is laid at this end of a chain that lacks four; and then at the other end.
    """
    here, there = reach - grown, reach - other
    facts = []
    for first, rest, lacking in ((here - 1, there, 3), (here - 2, there, 4), (there - 1, here - 1, 4)):
        left = (first, rest) if here + there == lacking else None  # for the second tile and the one that finishes
        facts += [left == (2, 0), left == (0, 2), left == (1, 1)]
    return [int(fact) for fact in facts]


def pursuits(
    halves: Tensor, has: Tensor, held: Tensor, after: Tensor, sides: Tensor, weights: Tensor, stays: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Return in how many ways the other player could get ahead after each of my moves, and how often it could answer.

    A way to get ahead is three tiles of the other player for one chain that lacks three: two that it lays there one
    after the other, and one that finishes the chain then where no tile of mine does. The second is laid on the first
    and the third on it, whatever third; or the second at the other end and the third on it, whatever third; or the
    second on the first and the third at the other end; or the second at the other end and the third on the first. My
    move between the two is left out. Tiles that become free count where the second makes them free in the first two
    cases, and where the first does in the last two. But for the first two tiles of the first case, one may count twice.

    Args:
        halves: by pip, 2 for a double, ``(n, players, columns, pips)``.
        has: 1 where the tile has the pip, the same shape.
        held: playable tiles with each pip, ``(n, players, 1, pips)``.
        after: the same once a column's tile is played, ``(n, players, columns, pips)``.
        sides: one-hot pips of the ends, then of those across, ``(n, 2 * ends, pips)``.
        weights: see :func:`pursuit_facts`, ``(n, PURSUIT_FACTS, ends)``.
        stays: whether an end takes one more tile after the next, ``(n, 1, ends)``.

    Returns:
        The ways on the chain that I have lengthened, those on a chain as it is by the end of their first tile, and the
        other player's moves onto the chain that I have lengthened: ``(n, columns, ends)`` each.
    """
    mine, mine_after = halves[:, 0], after[:, 0]
    theirs, theirs_has, theirs_after, theirs_held = halves[:, 1], has[:, 1], after[:, 1], held[:, 1]
    columns, ends = theirs.shape[1], weights.shape[2]
    unguarded = 1.0 - mine_after.clamp(max=1.0)  # pips that no tile of mine has after my move
    # Edges between pips by their tiles, and by those that leave another with the pip that they lead to. A tile leads
    # back to its own pip only if it is a double.
    leading = torch.stack((theirs, theirs * theirs_after.clamp(max=1.0)), dim=1)
    edges = torch.matmul(theirs.transpose(1, 2).unsqueeze(1), leading) * (1.0 - _ITSELF)
    edges = edges - _ITSELF * leading.sum(dim=2, keepdim=True)
    plain, followed = edges[:, 0], edges[:, 1].transpose(1, 2)
    ahead = torch.bmm(unguarded, followed)  # tiles at a pip after which they alone could finish
    back = (plain * followed).sum(dim=2).unsqueeze(1)  # a tile is not laid twice
    twice = torch.bmm(ahead, plain.transpose(1, 2)) - unguarded * back
    by_move = torch.cat((twice, ahead, unguarded, theirs_held.expand(-1, columns, -1)), dim=1)
    by_reply = torch.cat((theirs_has, theirs_after), dim=1)
    # At three pips: of the end, of the one across, and of the end as it will be after my move, the move's other half.
    at_sides = torch.bmm(torch.cat((by_move, by_reply), dim=1), sides.transpose(1, 2))
    at_end, across = torch.split(at_sides, ends, dim=2)
    move_end, reply_end = torch.split(at_end, [4 * columns, 2 * columns], dim=1)
    move_across, reply_across = torch.split(across, [4 * columns, 2 * columns], dim=1)
    move_end, move_across = (part.view(-1, 4, columns, ends) for part in (move_end, move_across))
    move_new = (by_move.view(-1, 4, columns, PIPS) * mine.unsqueeze(1)).sum(dim=3, keepdim=True) - move_end
    reply_end, reply_across = (part.view(-1, 2, columns, 1, ends) for part in (reply_end, reply_across))
    reply_new = torch.bmm(by_reply, mine.transpose(1, 2)).view(-1, 2, columns, columns, 1) - reply_end
    reply_end, reply_across = (part.expand(-1, -1, -1, columns, -1) for part in (reply_end, reply_across))
    # Where their first tile is laid, and the chain's other end.
    first = torch.stack((move_end, move_new, move_across), dim=1)
    other = torch.stack((move_across, move_across, move_new), dim=1)
    twice, _, first_free, first_held = torch.unbind(first, dim=2)
    _, ahead, other_free, _ = torch.unbind(other, dim=2)
    first_has, first_after = torch.unbind(torch.stack((reply_end, reply_new, reply_across), dim=1), dim=2)
    other_after = torch.stack((reply_across[:, 1], reply_across[:, 1], reply_new[:, 1]), dim=1)
    beyond = theirs * theirs_after
    third_on_first = torch.bmm(beyond, unguarded.transpose(1, 2)).view(-1, 1, columns, columns, 1)
    second_on_first = beyond.sum(dim=2).view(-1, 1, columns, 1, 1) * other_free.unsqueeze(2)
    spread = third_on_first + second_on_first - (first_free + other_free).unsqueeze(2) * first_after
    spread = (first_has * other_after * spread).sum(dim=2)
    on_one, on_other, on_both = torch.unbind(weights.view(-1, 3, WAYS, 1, ends), dim=2)
    ways = on_one * twice + on_other * first_held * ahead + on_both * spread
    as_it_is, here, there = torch.unbind(ways, dim=1)
    return here + there, as_it_is, stays * move_new[:, 3] + move_across[:, 3]
