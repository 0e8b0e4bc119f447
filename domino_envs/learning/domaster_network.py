"""Domaster and Five Bridges as a graph on the ten pips: tiles and chains are edges, a move joins column and end."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..games import Game
from .legal_moves import LegalMovesNetwork, LegalScores

__all__ = ["DomasterNetwork"]

PIPS = 10
COLUMNS = 9
ROWS = 3
ENDS = 10
REACH = 5
KINDS = 2 * ROWS  # tiles: mine and theirs, by depth in their column
TOTALS = 2 * REACH  # tiles that a chain may hold beside its first before it is finished
END_FEATURES = 2 * (REACH + 1) + TOTALS  # tiles laid on this side, on the other, on both: one-hot
WHOLE = 9  # see score_legal
MOVE_FEATURES = 7  # see _foresee
REPLY_FEATURES = 3  # see _replies


class _Ends(NamedTuple):
    """What moves onto the chains' ends depend on.

    Attributes:
        pips: one-hot pip of each end that takes a tile, ``(n, ends, pips)``.
        across: the same for the other end of its chain.
        stays_open: 1 where the end takes one more tile after the next one, ``(n, ends)``.
        finishing: 1 where the next tile finishes the chain.
        risky: 1 where the next tile leaves a chain that one more would finish.
        two_and_full: 1 where two more tiles would, which can only be laid here.
        three_and_four: 1 where two more would, and this end takes both, the other one.
        four_and_three: 1 where two more would, and this end takes one, the other both.
    """

    pips: Tensor
    across: Tensor
    stays_open: Tensor
    finishing: Tensor
    risky: Tensor
    two_and_full: Tensor
    three_and_four: Tensor
    four_and_three: Tensor


def _end_table() -> Tensor:
    """Return features by ``6 * tiles on an end's side + tiles on the other``, last a one and the facts of _Ends."""
    rows = []
    for grown in range(REACH + 1):
        for other in range(REACH + 1):
            total = grown + other
            row = [float(grown == k) for k in range(REACH + 1)] + [float(other == k) for k in range(REACH + 1)]
            row += [float(total == k) for k in range(TOTALS)]
            row += [1.0, float(grown < REACH - 1), float(total == TOTALS - 1), float(total == TOTALS - 2)]
            rows.append([*row, *(float((grown, other) == pair) for pair in ((2, 5), (3, 4), (4, 3)))])
    return torch.tensor(rows)


class _Playable(NamedTuple):
    """The playable tiles, those of both players.

    Attributes:
        halves: by pip, 2 for a double, ``(n, players, columns, pips)``.
        has: 1 where the tile has the pip, the same shape.
        after: playable tiles with each pip once that column's is played, the same shape.
    """

    halves: Tensor
    has: Tensor
    after: Tensor


def _playable(columns: Tensor) -> _Playable:
    """Return them; ``columns`` are halves by pip, ``(n, players, columns, rows, pips)``."""
    halves = columns[:, :, :, 0]
    has = halves.clamp(max=1.0)
    return _Playable(halves, has, has.sum(dim=2, keepdim=True) - has + columns[:, :, :, 1].clamp(max=1.0))


def _foresee(tiles: _Playable, ends: _Ends) -> Tensor:
    """Return what each move of either player would lead to, ``(n, players, columns, slots, features)``, legal or not.

    Moves are pairs of a column and an end, the last slot a new chain. Features: finishes a chain; tiles with which the
    other player could finish one next, and whether there are any; pairs of tile and end that the other will have; the
    same three for oneself.

    Args:
        tiles: the playable ones.
        ends: the ends.
    """
    others = tiles.has.sum(dim=2, keepdim=True).flip(1).expand(-1, -1, COLUMNS, -1)
    counts = torch.stack((others, tiles.after), dim=2)  # (n, players, other and self, columns, pips)
    finishing = ends.finishing.unsqueeze(1)
    at_ends = torch.cat(
        (ends.pips, ends.across, torch.bmm(finishing, ends.pips), ends.pips.sum(dim=1, keepdim=True)), dim=1
    )
    found = torch.bmm(counts.view(-1, 4 * COLUMNS, PIPS), at_ends.transpose(1, 2))
    there, across, chances, mobility = torch.split(
        found.view(-1, 2, 2, COLUMNS, 2 * ENDS + 2), [ENDS, ENDS, 1, 1], dim=4
    )
    fitting = (counts * tiles.halves.unsqueeze(2)).sum(dim=4, keepdim=True)
    stays, risky = (fact.view(-1, 1, 1, 1, ENDS) for fact in (ends.stays_open, ends.risky))
    beyond = stays * (fitting - there)  # tiles that fit the end as it will be
    wins = torch.cat((chances + risky * (beyond + across), chances), dim=4)
    moves = torch.cat((mobility - there + beyond, mobility + fitting), dim=4)
    seen = torch.stack((wins / 4.0, (wins > 0.5).float(), moves / 16.0), dim=5)
    finishes = nn.functional.pad(finishing.view(-1, 1, 1, ENDS, 1).expand(-1, 2, COLUMNS, -1, -1), (0, 0, 0, 1))
    return torch.cat((finishes, seen[:, :, 0], seen[:, :, 1]), dim=4)


def _by_chain(counts: Tensor) -> Tensor:
    """Return what the two ends of each chain count together, at both of them, ``(n, columns, ends)`` as given."""
    ends = torch.arange(ENDS)
    return counts @ (ends.unsqueeze(1) // 2 == ends // 2).float()


def _replies(tiles: _Playable, ends: _Ends, room: Tensor, foreseen: Tensor) -> Tensor:
    """Return what each move of mine leaves both of us, ``(n, columns, slots, REPLY_FEATURES)``, legal or not.

    A move is safe if the other player cannot finish a chain next. Features: the other player's safe replies; whether
    they can neither finish nor reply safely, though they can move; my safe moves with other tiles on other chains.

    Args:
        tiles: the playable ones.
        ends: the ends.
        room: chains that can still be started, ``(n,)``.
        foreseen: what :func:`_foresee` returns.
    """
    mine, theirs = tiles.halves[:, 0], tiles.has[:, 1]
    after = tiles.after[:, 0]
    sides = torch.cat((ends.pips, ends.across), dim=1)
    at_end, at_other = torch.split(
        torch.bmm(after, sides.transpose(1, 2)), ENDS, dim=2
    )  # those of mine that fit, (n, columns, ends)
    at_new = (after * mine).sum(dim=2, keepdim=True) - at_end  # and that fit the end as my tile leaves it
    by_side = torch.bmm(sides, theirs.transpose(1, 2)).unsqueeze(1)
    fits, fits_other = torch.split(by_side, ENDS, dim=2)  # theirs, (n, 1, ends, their columns)
    meeting = torch.bmm(after, tiles.halves[:, 1].transpose(1, 2)).unsqueeze(2)  # (n, columns, 1, their columns)
    at_end, at_other, at_new = (count.unsqueeze(3) for count in (at_end, at_other, at_new))
    touching = torch.bmm(mine, theirs.transpose(1, 2)).unsqueeze(2)
    stays, finishing, risky, two_and_full, three_and_four, four_and_three = (
        fact.view(-1, 1, ENDS, 1) for fact in ends[2:]
    )
    # On the chains as they are.
    exposed = risky * (stays * (meeting - at_end) + at_other)
    safe = ((1.0 - finishing) * fits * (exposed < 0.5)).sum(dim=3)
    chains = _by_chain(safe)
    elsewhere = safe.sum(dim=2, keepdim=True)
    # On the chain that my tile lengthens, at that end and at the other.
    exposed = two_and_full * (meeting - at_new) + three_and_four * at_other
    here = stays * (touching - fits) * (exposed < 0.5)
    exposed = three_and_four * at_new + four_and_three * (meeting - at_other)
    there = fits_other * (exposed < 0.5)
    lengthened = ((1.0 - risky) * (1.0 - finishing) * (here + there)).sum(dim=3)
    held = (theirs.sum(dim=2) > 0.5).sum(dim=1).float()
    started = ((room > 0.5) * held).view(-1, 1, 1)
    on_new = touching.sum(dim=3) + elsewhere + ((room > 1.5) * held).view(-1, 1, 1)
    replies = torch.cat((elsewhere - chains + lengthened + started, on_new), dim=2)
    replies = replies * (foreseen[:, 0, :, :, 5] < 0.5)  # where I could finish anyway, none is safe
    stuck = (replies < 0.5) & (foreseen[:, 0, :, :, 2] < 0.5) & (foreseen[:, 0, :, :, 3] > 0.0)
    fitting = torch.bmm(tiles.has[:, 0], ends.pips.transpose(1, 2))
    kept = fitting * (1.0 - ends.finishing.unsqueeze(1)) * (foreseen[:, 0, :, :ENDS, 2] < 0.5)
    by_chain = _by_chain(kept)
    others = by_chain.sum(dim=1, keepdim=True) - by_chain  # on each chain, with other tiles
    total = others[:, :, ::2].sum(dim=2, keepdim=True)
    return torch.stack((replies / 16.0, stuck.float(), torch.cat((total - others, total), dim=2) / 16.0), dim=3)


class DomasterNetwork(LegalMovesNetwork):
    """Pips are nodes. A tile joins its two pips (six kinds of edges: owner and depth), an open chain joins its ends'.

    What the nodes hear in a round is one product with an adjacency matrix ``(70, 10)`` and one linear layer, and the
    weights are shared by pips, columns and chains, so the network is indifferent to their numbering. A move is scored
    from its column's tiles, its end, the position as a whole, and what can be counted of the position that it leads to:
    who could finish a chain there, how many moves either player has, and how many replies would be safe. Match facts
    are not looked at.

    Args:
        game: the table of Domaster or Five Bridges.
        width: features of a node.
        rounds: of message passing.
    """

    end_table: Tensor
    across: Tensor

    def __init__(self, game: Game, width: int = 48, rounds: int = 3) -> None:
        super().__init__()
        self.slices = game.layout.slices
        self.width = width
        self.register_buffer("end_table", _end_table(), persistent=False)
        self.register_buffer("across", torch.arange(ENDS) ^ 1, persistent=False)  # the other end of the chain
        self.enter = nn.Linear(KINDS + END_FEATURES + 1, width)
        self.from_whole = nn.Linear(WHOLE, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(rounds))
        self.updates = nn.ModuleList(nn.Linear((KINDS + 2) * width, width) for _ in range(rounds))
        self.column = nn.Linear((ROWS + 1) * width, width)
        self.end = nn.Linear(2 * width + END_FEATURES, width)
        self.new_chain = nn.Parameter(torch.zeros(width))
        self.whole = nn.Linear(2 * width + WHOLE, width)
        self.foreseen = nn.Linear(MOVE_FEATURES + REPLY_FEATURES, width)
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.value_out = nn.Linear(width, 1)
        self.value = nn.Sequential(nn.Linear(2 * width + WHOLE, width), nn.ReLU(), self.value_out)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.value_out.weight)

    def score_legal(self, observation: Tensor, action_mask: Tensor) -> LegalScores:
        """Return scores of the legal actions and values; see :class:`LegalMovesNetwork`."""
        seen = observation.float()
        both = slice(self.slices["my_columns"].start, self.slices["their_columns"].stop)
        tiles = seen[:, both].view(-1, 2, COLUMNS, ROWS, PIPS)
        end_pips = seen[:, self.slices["end_pips"]].view(-1, ENDS, PIPS)
        grown = observation[:, self.slices["end_grown"]].to(torch.int64)
        end_facts = self.end_table[grown * (REACH + 1) + grown[:, self.across]]  # (n, ends, END_FEATURES + 7)
        end_features = end_facts[:, :, :END_FEATURES]
        across = end_pips[:, self.across]
        ends = _Ends(end_pips, across, *end_facts[:, :, END_FEATURES + 1 :].unbind(dim=2))

        by_kind = tiles.permute(0, 1, 3, 4, 2).reshape(-1, KINDS, PIPS, COLUMNS)
        touching = end_pips.transpose(1, 2)
        adjacency = torch.cat(
            (torch.matmul(by_kind, by_kind.transpose(2, 3)), torch.bmm(touching, across).unsqueeze(1)), dim=1
        )
        # Row (KINDS + 1) * pip + kind: the pip's neighbours of a kind.
        adjacency = adjacency.transpose(1, 2).reshape(-1, PIPS * (KINDS + 1), PIPS) / 2.0

        playable = _playable(tiles)
        foreseen = _foresee(playable, ends)
        room = ENDS // 2 - seen[:, self.slices["chain_started"]].sum(dim=1)
        replies = _replies(playable, ends, room, foreseen)
        legal = action_mask[:, : COLUMNS * (ENDS + 1)].view(-1, COLUMNS, ENDS + 1).float()
        fits = (torch.bmm(tiles[:, 1, :, 0], touching) > 0.5).float()  # their moves, but for new chains
        whole = torch.stack(
            (
                seen[:, self.slices["chain_started"]].sum(dim=1) / 5.0,
                seen[:, self.slices["passed"].start],
                tiles[:, 0].sum(dim=(1, 2, 3)) / 54.0,
                (legal * foreseen[:, 0, :, :, 0]).amax(dim=(1, 2)),  # I can finish a chain
                (fits * ends.finishing.unsqueeze(1)).amax(dim=(1, 2)),  # they could
                (legal * (1.0 - foreseen[:, 0, :, :, 2])).sum(dim=(1, 2)) / 16.0,  # moves that do not let them
                (fits * (1.0 - foreseen[:, 1, :, :ENDS, 2])).sum(dim=(1, 2)) / 16.0,
                (legal[:, :, :ENDS] - fits).sum(dim=(1, 2)) / 16.0,
                (legal * replies[:, :, :, 1]).amax(dim=(1, 2)),  # I can leave them without a safe reply
            ),
            dim=1,
        )

        at_ends = torch.bmm(touching, end_facts[:, :, : END_FEATURES + 1])
        counts = by_kind.sum(dim=3).transpose(1, 2)  # halves of each kind with the pip
        nodes = torch.relu(self.enter(torch.cat((counts, at_ends), dim=2)) + self.from_whole(whole).unsqueeze(1))
        for norm, update in zip(self.norms, self.updates, strict=True):
            own = norm(nodes)
            heard = torch.bmm(adjacency, own).view(-1, PIPS, (KINDS + 1) * self.width)
            nodes = nodes + torch.relu(update(torch.cat((own, heard), dim=2)))

        pooled = torch.cat((nodes.mean(dim=1), nodes.amax(dim=1), whole), dim=1)
        mine = tiles[:, 0].reshape(-1, COLUMNS * ROWS, PIPS)
        held = torch.bmm(mine, nodes).view(-1, COLUMNS, ROWS * self.width)
        # A tile's two pips also as a product, so that it is more than the sum of its halves.
        squares = torch.bmm(tiles[:, 0, :, 0], nodes * nodes)
        sums = held[:, :, : self.width]
        column = self.column(torch.cat((held, (sums * sums - squares) / 2.0), dim=2))  # (n, columns, width)
        end = self.end(torch.cat((torch.bmm(end_pips, nodes), torch.bmm(across, nodes), end_features), dim=2))
        is_new = (torch.arange(ENDS + 1) == ENDS).float().unsqueeze(1)
        slots = nn.functional.pad(end, (0, 0, 0, 1)) + is_new * self.new_chain + self.whole(pooled).unsqueeze(1)
        rows, actions = action_mask.nonzero(as_tuple=True)
        actions_on = actions % (COLUMNS * (ENDS + 1))  # a pass is never a choice
        # One index into flattened tensors: the exported graph needs a third of the nodes for it.
        ahead = torch.cat((foreseen[:, 0], replies), dim=3).view(-1, MOVE_FEATURES + REPLY_FEATURES)
        ahead = ahead[rows * (COLUMNS * (ENDS + 1)) + actions_on]
        joined = column.view(-1, self.width)[rows * COLUMNS + actions_on // (ENDS + 1)]
        joined = joined + slots.view(-1, self.width)[rows * (ENDS + 1) + actions_on % (ENDS + 1)] + self.foreseen(ahead)
        scores = self.score(torch.relu(self.hidden(torch.relu(joined)))).squeeze(1)
        return LegalScores(rows, actions, scores, self.value(pooled).squeeze(1))
