"""Domaster and Five Bridges as a graph on the ten pips: tiles and chains are edges, a move joins column and end."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..games import Game
from .domaster_foresight import (
    CHAIN_FACTS,
    COLUMNS,
    ENDS,
    FORESEEN,
    PIPS,
    REACH,
    ROWS,
    SLOTS,
    TOTALS,
    WHOLE,
    Ends,
    chain_facts,
    foresee,
)
from .legal_moves import LegalMovesNetwork, LegalScores

__all__ = ["DomasterNetwork"]

KINDS = 2 * ROWS  # tiles: mine and theirs, by depth in their column
END_FEATURES = 2 * (REACH + 1) + TOTALS  # tiles laid on this side, on the other, on both: one-hot


def _end_features() -> Tensor:
    """Return features by ``6 * tiles on an end's side + tiles on the other``, the last a one: ``(36, 23)``."""
    side = torch.eye(REACH + 1)
    grown, other = side.repeat_interleave(REACH + 1, dim=0), side.repeat(REACH + 1, 1)
    laid = torch.arange(REACH + 1)
    total = nn.functional.one_hot((laid.unsqueeze(1) + laid).flatten(), TOTALS + 1)[:, :TOTALS].float()
    return torch.cat((grown, other, total, torch.ones(len(total), 1)), dim=1)


class DomasterNetwork(LegalMovesNetwork):
    """Pips are nodes. A tile joins its two pips (six kinds of edges: owner and depth), an open chain joins its ends'.

    What the nodes hear in a round is one product with an adjacency matrix ``(70, 10)`` and one linear layer, and the
    weights are shared by pips, columns and chains, so the network is indifferent to their numbering. A move is scored
    from its column's tiles, its end, the position as a whole, and what can be counted of the position that it leads to:
    who could finish a chain there, how many moves either player has, how many replies would be safe, and with which
    moves a finish is sure. Match facts are not looked at.

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
        self.register_buffer("end_table", torch.cat((_end_features(), chain_facts()), dim=1), persistent=False)
        self.register_buffer("across", torch.arange(ENDS) ^ 1, persistent=False)  # the other end of the chain
        self.enter = nn.Linear(KINDS + END_FEATURES + 1, width)
        self.from_whole = nn.Linear(WHOLE, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(rounds))
        self.updates = nn.ModuleList(nn.Linear((KINDS + 2) * width, width) for _ in range(rounds))
        self.column = nn.Linear((ROWS + 1) * width, width)
        self.end = nn.Linear(2 * width + END_FEATURES, width)
        self.new_chain = nn.Parameter(torch.zeros(width))
        self.whole = nn.Linear(2 * width + WHOLE, width)
        self.foreseen = nn.Linear(FORESEEN, width)
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.value_out = nn.Linear(width, 1)
        self.value = nn.Sequential(nn.Linear(2 * width + WHOLE, width), nn.ReLU(), self.value_out)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.value_out.weight)

    def _read(self, observation: Tensor) -> tuple[Tensor, Tensor, Ends, Tensor]:
        """Return the parts of an observation.

        Returns:
            It as numbers; the halves of both players' tiles, ``(n, players, columns, rows, pips)``; the ends; and their
            features with a one after them, ``(n, ends, END_FEATURES + 1)``.
        """
        seen = observation.float()
        both = slice(self.slices["my_columns"].start, self.slices["their_columns"].stop)
        pips = seen[:, self.slices["end_pips"]].view(-1, ENDS, PIPS)
        grown = observation[:, self.slices["end_grown"]].to(torch.int64)
        rows = self.end_table[grown * (REACH + 1) + grown[:, self.across]]
        features, facts = torch.split(rows, [END_FEATURES + 1, CHAIN_FACTS], dim=2)
        ends = Ends(pips, pips[:, self.across], facts.transpose(1, 2))
        return seen, seen[:, both].view(-1, 2, COLUMNS, ROWS, PIPS), ends, features

    def _foresee(self, seen: Tensor, tiles: Tensor, ends: Ends, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return what can be counted of every move, ``(n * moves, FORESEEN)``, and of the position, ``(n, WHOLE)``."""
        started = seen[:, self.slices["chain_started"]].sum(dim=1, keepdim=True)
        passed = seen[:, self.slices["passed"]]
        facts = torch.cat((started, passed, tiles[:, 0].sum(dim=(1, 2, 3)).view(-1, 1)), dim=1)
        legal = action_mask[:, : COLUMNS * SLOTS].float().view(-1, 1, COLUMNS, SLOTS)
        ahead, whole = foresee(tiles, ends, legal, facts, ENDS // 2 - started)
        return ahead.reshape(-1, FORESEEN), whole

    def foresee(self, observation: Tensor, action_mask: Tensor) -> Tensor:
        """Return what can be counted of every move and of the position; see :class:`LegalMovesNetwork`."""
        seen, tiles, ends, _ = self._read(observation)
        ahead, whole = self._foresee(seen, tiles, ends, action_mask)
        return torch.cat((ahead.view(-1, COLUMNS * SLOTS * FORESEEN), whole), dim=1)

    def score_legal(self, observation: Tensor, action_mask: Tensor, foreseen: Tensor | None = None) -> LegalScores:
        """Return scores of the legal actions and values; see :class:`LegalMovesNetwork`."""
        seen, tiles, ends, end_features = self._read(observation)
        if foreseen is None:
            ahead, whole = self._foresee(seen, tiles, ends, action_mask)
        else:
            ahead, whole = torch.split(foreseen, [COLUMNS * SLOTS * FORESEEN, WHOLE], dim=1)
            ahead = ahead.reshape(-1, FORESEEN)
        end_pips, across = ends.pips, ends.across

        by_kind = tiles.permute(0, 1, 3, 4, 2).reshape(-1, KINDS, PIPS, COLUMNS)
        touching = end_pips.transpose(1, 2)
        adjacency = torch.cat(
            (torch.matmul(by_kind, by_kind.transpose(2, 3)), torch.bmm(touching, across).unsqueeze(1)), dim=1
        )
        # Row (KINDS + 1) * pip + kind: the pip's neighbours of a kind.
        adjacency = adjacency.transpose(1, 2).reshape(-1, PIPS * (KINDS + 1), PIPS) / 2.0

        at_ends = torch.bmm(touching, end_features)
        counts = by_kind.sum(dim=3).transpose(1, 2)  # halves of each kind with the pip
        nodes = torch.relu(self.enter(torch.cat((counts, at_ends), dim=2)) + self.from_whole(whole).unsqueeze(1))
        nodes = nodes.view(-1, self.width)  # products of matrices are faster than of batches of them
        for norm, update in zip(self.norms, self.updates, strict=True):
            own = norm(nodes)
            heard = torch.bmm(adjacency, own.view(-1, PIPS, self.width)).view(-1, (KINDS + 1) * self.width)
            nodes = nodes + torch.relu(update(torch.cat((own, heard), dim=1)))
        nodes = nodes.view(-1, PIPS, self.width)

        pooled = torch.cat((nodes.mean(dim=1), nodes.amax(dim=1), whole), dim=1)
        mine = tiles[:, 0].reshape(-1, COLUMNS * ROWS, PIPS)
        held = torch.bmm(mine, nodes).view(-1, COLUMNS, ROWS * self.width)
        # A tile's two pips also as a product, so that it is more than the sum of its halves.
        squares = torch.bmm(tiles[:, 0, :, 0], nodes * nodes)
        sums = held[:, :, : self.width]
        column = torch.cat((held, (sums * sums - squares) / 2.0), dim=2).view(-1, (ROWS + 1) * self.width)
        end = self.end(torch.cat((torch.bmm(end_pips, nodes), torch.bmm(across, nodes), end_features[..., :-1]), dim=2))
        is_new = (torch.arange(SLOTS) == ENDS).float().unsqueeze(1)
        slots = nn.functional.pad(end, (0, 0, 0, 1)) + is_new * self.new_chain + self.whole(pooled).unsqueeze(1)
        rows, actions = action_mask.nonzero(as_tuple=True)
        actions_on = actions % (COLUMNS * SLOTS)  # a pass is never a choice
        # One index into flattened tensors: the exported graph needs a third of the nodes for it.
        ahead = ahead[rows * (COLUMNS * SLOTS) + actions_on]
        joined = self.column(column)[rows * COLUMNS + actions_on // SLOTS]
        joined = joined + slots.view(-1, self.width)[rows * SLOTS + actions_on % SLOTS] + self.foreseen(ahead)
        scores = self.score(torch.relu(self.hidden(torch.relu(joined)))).squeeze(1)
        return LegalScores(rows, actions, scores, self.value(pooled).squeeze(1))
