"""What can be counted of the positions that Domaster's moves lead to: who could finish, reply safely, or threaten next.

All of it follows from the observation alone, so it is computed once for a position and not for each pass over it. What
is to be decided about a single position takes as long as there are operations, so there are few of them: counts of
tiles stay numbers (a clamp tells whether there are any), and features lie in the second dimension.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from .domaster_pursuit import PURSUIT_FACTS, pursuit_facts, pursuits

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
FORESEEN = 19  # of each move, see foresee
WHOLE = 11  # of the position, see foresee
PAIR_FACTS = 6 * 3
CHAIN_FACTS = 4 + PAIR_FACTS + PURSUIT_FACTS

_SAME_CHAIN = (torch.arange(ENDS).unsqueeze(1) // 2 == torch.arange(ENDS) // 2).float()
# The next move's tile is there: mine from other columns than before, any of the other player's.
_NEXT_COLUMN = torch.stack((1.0 - torch.eye(COLUMNS), torch.ones(COLUMNS, COLUMNS))).view(1, 2, 1, COLUMNS, COLUMNS)
_NOT_NEW = (torch.arange(SLOTS) < ENDS).float()
_SAFE = torch.tensor([1.0, 0.0]).view(1, 2, 1, 1)  # of safe and lethal moves
_MOVE_SCALE = 1.0 / torch.tensor([1, 4, 1, 16, 4, 1, 16, 16, 1, 16, 4, 4, 1, 1, 4, 4, 4, 1, 1]).view(1, FORESEEN, 1, 1)
_WHOLE_SCALE = 1.0 / torch.tensor([5, 1, 54, 1, 1, 16, 16, 16, 1, 1, 1])
# From wins, whether there are any, and moves, each of the other player's and of mine, to the order of the features.
_BY_PLAYER = torch.tensor([0, 1, 3, 5, 2, 4, 6])


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

    Where the next tile is laid: whether the end takes one more after it, whether it finishes the chain and whether it
    does not, and whether it leaves a chain that one more would finish.

    Eighteen come in threes: of a tile that is laid here and a second one at the same end, of one that is laid here and
    a second one at the other end, and of one that is laid elsewhere and a second one here. Where such a pair leaves a
    chain that one more would finish, a third tile would have to fit the second one's free half, the first one's, or the
    pip of an end as it is now. How many tiles do so is a sum of those that fit the second one, those that fit this end,
    those that fit the first one and those that fit the other end, with the first four facts as weights. The last two
    are weights of the second tiles that touch the first one, and of those that fit an end as it is now.

    The last nine: see :func:`~domino_envs.learning.domaster_pursuit.pursuit_facts`.
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
            touching, fitting = [stays * longer, 0, 0], [-stays * longer, longer, not finishing]
            alone = [stays, finishing, not finishing, risky]
            rows.append(
                [
                    *alone,
                    *second,
                    *this_end,
                    *first,
                    *other_end,
                    *touching,
                    *fitting,
                    *pursuit_facts(grown, other, REACH),
                ]
            )
    return torch.tensor(rows, dtype=torch.float32)


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
    stays, finishing, _, risky, _ = torch.split(ends.facts, [1, 1, 1, 1, CHAIN_FACTS - 4], dim=1)
    at_ends = torch.cat((sides, torch.bmm(finishing, ends.pips), ends.pips.sum(dim=1, keepdim=True)), dim=1)
    found = torch.bmm(counts.view(-1, 4 * COLUMNS, PIPS), at_ends.transpose(1, 2))
    there, across, chances, mobility = torch.split(
        found.view(-1, 2, 2, COLUMNS, 2 * ENDS + 2), [ENDS, ENDS, 1, 1], dim=4
    )
    fitting = (counts * tiles.halves.unsqueeze(2)).sum(dim=4, keepdim=True)
    beyond = stays.view(-1, 1, 1, 1, ENDS) * (fitting - there)  # tiles that fit the end as it will be
    wins = torch.cat((chances + risky.view(-1, 1, 1, 1, ENDS) * (beyond + across), chances), dim=4)
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
    # Who moves next, in dimension 1: I once more, or the other player. The further dimensions: where it is laid, on
    # which column's tile, my first, and from which column.
    weights = torch.split(ends.facts[:, 4 : 4 + PAIR_FACTS].reshape(-1, 6, 3 * ENDS, 1), 1, dim=1)
    second_weight, end_weight, first_weight, other_weight, touching_weight, fit_weight = weights
    mine = tiles.halves[:, :1].expand(-1, 2, -1, -1)
    held_mine, held_theirs = torch.split(tiles.held, 1, dim=1)
    after = tiles.after[:, :1]
    # Who moves next must not leave a finish to the first of these, and may finish with those that it keeps, if it is I,
    # with a change by my first move.
    against = torch.cat((held_theirs.expand(-1, -1, COLUMNS, -1), after), dim=1)
    change = nn.functional.pad(after - held_mine, (0, 0, 0, 0, 0, 1))
    both = torch.cat((against, change), dim=2)
    at_sides = torch.matmul(sides.unsqueeze(1), torch.cat((both, tiles.has, tiles.after), dim=2).transpose(2, 3))
    at_end, at_other = torch.split(at_sides, ENDS, dim=2)
    _, _, fits, _ = torch.split(at_sides, COLUMNS, dim=3)
    met = torch.matmul(both, tiles.halves.transpose(2, 3)).unsqueeze(2)
    against_met, change_met = torch.split(met, COLUMNS, dim=3)
    met = torch.matmul(mine, torch.cat((tiles.after, tiles.has), dim=2).transpose(2, 3)).unsqueeze(2)
    mine_kept, touching = torch.split(met, COLUMNS, dim=4)
    kept_met = (tiles.after * tiles.halves).sum(dim=3).view(-1, 2, 1, 1, COLUMNS) + change_met
    first_met = (both * torch.cat((mine, mine), dim=2)).sum(dim=3, keepdim=True).transpose(2, 3)
    mixed = end_weight * torch.cat((at_end, at_end, at_end), dim=2)
    mixed = mixed + other_weight * torch.cat((at_other, at_other, at_other), dim=2)
    mixed = mixed + first_weight * nn.functional.pad(first_met, (0, 2 * COLUMNS))
    against_mixed, change_mixed, _, kept_mixed = torch.split(mixed, COLUMNS, dim=3)
    second_weight = second_weight.unsqueeze(4)
    exposed = second_weight * against_met + against_mixed.unsqueeze(4)
    kept = second_weight * kept_met + first_weight.unsqueeze(4) * mine_kept
    kept = kept + kept_mixed.unsqueeze(3) + change_mixed.unsqueeze(4)
    fitting = fit_weight * torch.cat((fits, fits[:, :, :ENDS]), dim=2)
    safe = (touching_weight.unsqueeze(4) * touching + fitting.unsqueeze(3)) * _NEXT_COLUMN * _none(exposed)
    lethal = safe * kept.clamp(max=1.0)
    found = torch.cat((safe[:, 1:].sum(dim=4), lethal.sum(dim=4)), dim=1).transpose(2, 3)
    here, there, chains = torch.split(found, ENDS, dim=3)
    lengthened = here + there
    chains = chains[:, ::2]  # theirs, safe and lethal
    elsewhere = chains.sum(dim=3, keepdim=True)
    columns = tiles.halves[:, 1:].sum(dim=(2, 3), keepdim=True) / 2.0  # theirs that hold a tile
    new = torch.cat((room.clamp(max=1.0), (room - 1.0).clamp(0.0, 1.0)), dim=1).view(-1, 2, 1, 1) * columns
    start, start_another = torch.split(new, 1, dim=1)
    start_another = touching[:, 1:, 0].sum(dim=3, keepdim=True) + start_another
    on_new = elsewhere + start_another * _SAFE
    on_end = elsewhere - chains @ _SAME_CHAIN + lengthened[:, ::2] + start * _SAFE
    return torch.cat((on_end, on_new), dim=3), nn.functional.pad(lengthened[:, 1:2], (0, 1))


def foresee(tiles: Tensor, ends: Ends, legal: Tensor, facts: Tensor, room: Tensor) -> tuple[Tensor, Tensor]:
    """Return what can be counted of each move, legal or not, and of the position.

    Of a move: whether it finishes a chain; the tiles with which the other player could finish one next, whether there
    are any, and pairs of tile and end that the other will have; the same three for oneself; the other player's safe
    replies; whether they can neither finish nor reply safely, though they can move; my safe moves with other tiles on
    other chains; the other player's lethal replies, and whether there are any; the lethal moves that I threaten on the
    chain that I lengthen, with the tiles of other columns, and whether there are any; the other player's answers on
    that chain; its ways to get ahead there, and elsewhere, four at the most, and whether there are any. (Safe and
    lethal: see :func:`_next_moves`; to get ahead: see :func:`~domino_envs.learning.domaster_pursuit.pursuits`.)

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
    same, elsewhere, answers = pursuits(
        playable.halves,
        playable.has,
        playable.held,
        playable.after,
        sides,
        ends.facts[:, -PURSUIT_FACTS:],
        ends.facts[:, :1],
    )
    can = wins.clamp(max=1.0)
    finishing, unfinished = torch.split(ends.facts[:, 1:3].unsqueeze(2), 1, dim=1)
    they_can, i_can = torch.split(can[:, 0], 1, dim=1)
    free = 1.0 - they_can
    finishes = nn.functional.pad(finishing, (0, 1)).expand(-1, -1, COLUMNS, -1)
    moved = torch.cat((finishes, wins[:, 0], can[:, 0], moves[:, 0]), dim=1)[:, _BY_PLAYER]
    replies = replies * (1.0 - i_can)  # where I could finish anyway, none is safe
    safe, lethal = torch.split(replies, 1, dim=1)
    stuck = _none(safe) * free * moves[:, 0, :1].clamp(max=1.0)
    fits = torch.matmul(playable.has, ends.pips.unsqueeze(1).transpose(2, 3))  # both players' moves, but new chains
    kept = fits[:, :1] * unfinished * free[..., :ENDS] @ _SAME_CHAIN
    others = kept.sum(dim=2, keepdim=True) - kept  # on each chain, with other tiles
    total = others.sum(dim=3, keepdim=True) / 2.0
    follow = torch.cat((total - others, total), dim=3)
    pressure = torch.cat((lethal, threats * free), dim=1)
    everywhere = elsewhere.sum(dim=2, keepdim=True)
    elsewhere = torch.cat((everywhere - elsewhere @ _SAME_CHAIN, everywhere), dim=2)
    lengthened = nn.functional.pad(torch.stack((answers, same), dim=1), (0, 1))
    answers, same = torch.split(lengthened, 1, dim=1)
    ways = torch.cat((same, elsewhere.unsqueeze(1)), dim=1).clamp(max=4.0) * (1.0 - i_can)
    pursued = torch.cat((answers, ways, ways.clamp(max=1.0)), dim=1)
    ahead = torch.cat((moved, safe, stuck, follow, pressure, pressure.clamp(max=1.0), pursued), dim=1) * _MOVE_SCALE

    playing = torch.cat((legal, nn.functional.pad(fits[:, 1:], (0, 1))), dim=1)
    harmless = playing * (1.0 - can[:, :, 0])
    best = torch.cat((playing * finishes, legal * stuck, harmless * can[:, :, 1]), dim=1)
    best = best.view(-1, 5, COLUMNS * SLOTS).amax(dim=2)
    mine_only = (legal - playing[:, 1:]) * _NOT_NEW
    numbers = torch.cat((harmless, mine_only), dim=1).view(-1, 3, COLUMNS * SLOTS).sum(dim=2)
    return ahead, torch.cat((facts, best[:, :2], numbers, best[:, 2:]), dim=1) * _WHOLE_SCALE
