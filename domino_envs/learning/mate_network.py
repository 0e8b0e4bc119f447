"""Mate as generalised geography on the seven pips: message passing, a move scored as the edge that it takes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ..games import Game
from ..tiles import DOUBLE_SIX_WITHOUT_DOUBLES as TILES
from .legal_moves import LegalMovesNetwork, LegalScores

__all__ = ["MateNetwork"]

PIPS = 7


class MateNetwork(LegalMovesNetwork):
    """Pips are nodes; my tiles and their tiles are two kinds of edges between them.

    In each round a node hears the sums of its neighbours along either kind; the weights of a round are its own. A move
    from the open pip is scored from the two pips that its tile joins, the value from the open pips and the mean of all.
    Score, deal and other facts of a longer episode are not looked at: the network plays each game for its points.

    Args:
        game: the table of Mate.
        width: features of a node.
        rounds: of message passing.
    """

    spread: Tensor
    touching: Tensor
    opening: Tensor

    def __init__(self, game: Game, width: int = 64, rounds: int = 8) -> None:
        super().__init__()
        self.slices = game.layout.slices
        self.width = width
        # Symmetric adjacency matrices from hands: (21,) -> (7 * 7).
        spread = np.zeros((21, PIPS, PIPS), dtype=np.float32)
        for tile in range(21):
            low, high = int(TILES.low[tile]), int(TILES.high[tile])
            spread[tile, low, high] = spread[tile, high, low] = 1.0
        self.register_buffer("spread", torch.from_numpy(spread.reshape(21, PIPS * PIPS)), persistent=False)
        # Action 2 * tile + k: the half that touches and the half that opens.
        touching = [int((TILES.high if a % 2 else TILES.low)[a // 2]) for a in range(42)]
        opening = [int((TILES.low if a % 2 else TILES.high)[a // 2]) for a in range(42)]
        self.register_buffer("touching", torch.tensor(touching), persistent=False)
        self.register_buffer("opening", torch.tensor(opening), persistent=False)
        features = 1 + 2 + 1 + 1 + 1 + PIPS  # open, degrees, pips, count, opening, identity
        self.enter = nn.Linear(features, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(rounds))
        self.updates = nn.ModuleList(nn.Linear(3 * width, width) for _ in range(rounds))
        self.score_from = nn.Linear(width, width)
        self.score_to = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.value_out = nn.Linear(width, 1)
        self.value = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), self.value_out)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.value_out.weight)

    def score_legal(self, observation: Tensor, action_mask: Tensor, foreseen: Tensor | None = None) -> LegalScores:
        """Return scores of the legal actions and values; see :class:`LegalMovesNetwork`."""
        seen = observation.float()
        mine = seen[:, self.slices["my_hand"]]
        theirs = seen[:, self.slices["their_hand"]]
        open_pips = seen[:, self.slices["open_pips"]]
        count = seen[:, self.slices["table_count"]] / 21.0
        edges = torch.stack((mine, theirs), dim=1) @ self.spread  # (n, 2, 49)
        edges = edges.view(-1, 2, PIPS, PIPS)
        n = seen.shape[0]
        per_node = [
            open_pips.unsqueeze(2),
            edges.sum(dim=3).transpose(1, 2) / 3.0,
            (torch.arange(PIPS, device=seen.device) / 6.0).view(1, PIPS, 1).expand(n, -1, -1),
            count.view(n, 1, 1).expand(-1, PIPS, -1),
            (open_pips.sum(dim=1) - 1.0).view(n, 1, 1).expand(-1, PIPS, -1),
            torch.eye(PIPS, device=seen.device).unsqueeze(0).expand(n, -1, -1),
        ]
        nodes = torch.relu(self.enter(torch.cat(per_node, dim=2)))
        both = edges.transpose(1, 2).reshape(n, 2 * PIPS, PIPS)  # row 2 * pip + kind: the pip's neighbours of a kind
        for norm, update in zip(self.norms, self.updates, strict=True):
            heard = torch.bmm(both, nodes).view(n, PIPS, 2 * self.width)
            nodes = nodes + torch.relu(update(torch.cat((norm(nodes), heard), dim=2)))
        rows, actions = action_mask.nonzero(as_tuple=True)
        start = self.score_from(nodes)[rows, self.touching[actions]]
        end = self.score_to(nodes)[rows, self.opening[actions]]
        scores = self.score(torch.relu(start + end)).squeeze(1)
        at_open = torch.bmm(open_pips.unsqueeze(1), nodes).squeeze(1)
        value = self.value(torch.cat((at_open, nodes.mean(dim=1)), dim=1)).squeeze(1)
        return LegalScores(rows, actions, scores, value)
