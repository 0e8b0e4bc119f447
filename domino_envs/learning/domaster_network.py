"""Domaster and Five Bridges as a graph on the ten pips: tiles and chains are edges, a move joins column and end."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..games import Game

__all__ = ["DomasterNetwork"]

PIPS = 10
COLUMNS = 9
ROWS = 3
ENDS = 10
REACH = 5
KINDS = 2 * ROWS  # tiles: mine and theirs, by depth in their column


class DomasterNetwork(nn.Module):
    """Pips are nodes. A tile joins its two pips (six kinds of edges: owner and depth), an open chain joins its ends'.

    What the nodes hear in a round is one product with an adjacency matrix ``(70, 10)`` and one linear layer, and the
    weights are shared by pips, columns and chains, so the network is indifferent to their numbering. A move is scored
    from its column's tiles, its end, and the position as a whole. Match facts are not looked at.

    Args:
        game: the table of Domaster or Five Bridges.
        width: features of a node.
        rounds: of message passing.
    """

    def __init__(self, game: Game, width: int = 48, rounds: int = 3) -> None:
        super().__init__()
        self.slices = game.layout.slices
        self.width = width
        end_features = 2 * (REACH + 1)  # tiles laid on this side and on the other, one-hot
        self.enter = nn.Linear(KINDS + end_features + 1, width)
        self.from_whole = nn.Linear(3, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(rounds))
        self.updates = nn.ModuleList(nn.Linear((KINDS + 2) * width, width) for _ in range(rounds))
        self.column = nn.Linear((ROWS + 1) * width, width)
        self.end = nn.Linear(2 * width + end_features, width)
        self.new_chain = nn.Parameter(torch.zeros(width))
        self.whole = nn.Linear(2 * width, width)
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.value_out = nn.Linear(width, 1)
        self.value = nn.Sequential(nn.Linear(2 * width + 3, width), nn.ReLU(), self.value_out)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.value_out.weight)

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits ``(n, 100)`` and values ``(n,)`` of observations ``(n, size)``."""
        seen = observation.float()
        n = seen.shape[0]
        mine = seen[:, self.slices["my_columns"]].view(n, COLUMNS, ROWS, PIPS)
        theirs = seen[:, self.slices["their_columns"]].view(n, COLUMNS, ROWS, PIPS)
        end_pips = seen[:, self.slices["end_pips"]].view(n, ENDS, PIPS)
        grown = seen[:, self.slices["end_grown"]].view(n, ENDS)
        started = seen[:, self.slices["chain_started"]].sum(dim=1, keepdim=True) / 5.0
        passed = seen[:, self.slices["passed"]]
        tiles_left = mine.sum(dim=(1, 2, 3)).unsqueeze(1) / 54.0

        by_kind = torch.cat((mine, theirs), dim=2).permute(0, 2, 3, 1)  # (n, kinds, pips, columns)
        edges = torch.matmul(by_kind, by_kind.transpose(2, 3))
        left, right = end_pips[:, 0::2], end_pips[:, 1::2]
        chains = torch.bmm(left.transpose(1, 2), right)
        chains = chains + chains.transpose(1, 2)
        adjacency = torch.cat((edges, chains.unsqueeze(1)), dim=1)  # (n, kinds + 1, pips, pips)
        # Row (KINDS + 1) * pip + kind: the pip's neighbours of a kind.
        adjacency = adjacency.transpose(1, 2).reshape(n, PIPS * (KINDS + 1), PIPS) / 2.0

        other_side = grown.view(n, ENDS // 2, 2).flip(2).reshape(n, ENDS)
        steps = torch.arange(REACH + 1, device=seen.device, dtype=seen.dtype)
        ends = torch.cat(
            ((grown.unsqueeze(2) == steps).float(), (other_side.unsqueeze(2) == steps).float()), dim=2
        )  # (n, ends, 12)
        whole = torch.cat((started, passed, tiles_left), dim=1)
        at_ends = torch.bmm(end_pips.transpose(1, 2), torch.cat((ends, torch.ones_like(grown).unsqueeze(2)), dim=2))
        counts = by_kind.sum(dim=3).transpose(1, 2)  # halves of each kind with the pip
        nodes = torch.relu(self.enter(torch.cat((counts, at_ends), dim=2)) + self.from_whole(whole).unsqueeze(1))
        for norm, update in zip(self.norms, self.updates, strict=True):
            own = norm(nodes)
            heard = torch.bmm(adjacency, own).view(n, PIPS, (KINDS + 1) * self.width)
            nodes = nodes + torch.relu(update(torch.cat((own, heard), dim=2)))

        pooled = torch.cat((nodes.mean(dim=1), nodes.amax(dim=1)), dim=1)
        tiles = torch.matmul(mine.reshape(n, COLUMNS * ROWS, PIPS), nodes).view(n, COLUMNS, ROWS * self.width)
        # A tile's two pips also as a product, so that it is more than the sum of its halves.
        top = mine[:, :, 0]
        squares = torch.bmm(top, nodes * nodes)
        sums = tiles[:, :, : self.width]
        products = (sums * sums - squares) / 2.0
        column = self.column(torch.cat((tiles, products), dim=2))  # (n, columns, width)
        own = torch.bmm(end_pips, nodes)
        across = own.view(n, ENDS // 2, 2, self.width).flip(2).reshape(n, ENDS, self.width)
        end = self.end(torch.cat((own, across, ends), dim=2))
        slots = torch.cat((end, self.new_chain.expand(n, 1, -1)), dim=1) + self.whole(pooled).unsqueeze(1)
        # Only the legal moves are scored; a pass is never a choice.
        rows, actions = action_mask[:, : COLUMNS * (ENDS + 1)].nonzero(as_tuple=True)
        joined = torch.relu(column[rows, actions // (ENDS + 1)] + slots[rows, actions % (ENDS + 1)])
        scores = self.score(torch.relu(self.hidden(joined))).squeeze(1)
        logits = torch.zeros_like(action_mask, dtype=torch.float32).index_put((rows, actions), scores.float())
        value = self.value(torch.cat((pooled, whole), dim=1)).squeeze(1)
        return logits, value
