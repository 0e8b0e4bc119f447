"""Third Level: only the legal placements are scored, from what they touch and what is known of each tile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..games import Game
from ..tiles import DOUBLE_SIX_WITHOUT_DOUBLES as TILES
from .legal_moves import LegalMovesNetwork, LegalScores

__all__ = ["ThirdLevelNetwork"]

NUM_TILES = 21
NO_TILE = NUM_TILES
LEVELS = 4
OWNERS = ("my_hand", "liftable", "unseen")
BEYOND = 2 * len(OWNERS)  # see _beyond
FACTS = 3 + LEVELS + 4 + BEYOND  # see _tile_facts
SCALARS = 8 + 6  # see score_legal
KINDS = 4  # ground, upper from the hand, lift, end of the turn
STEPS = ((0, 1), (1, 0), (0, -1), (-1, 0))  # east, south, west, north


class _Table(NamedTuple):
    """What is on the table, each plane flat and with two empty rows and columns around it.

    Attributes:
        pips: pip + 1, 0 on an empty cell, ``int64 (n, cells)``.
        heights: tiles on the cell, ``int64 (n, cells)``.
        links: side of the uppermost tile's other half, 1 + direction, ``int64 (n, cells)``.
        owners: whether a tile is in hand, can be lifted, is unseen (:data:`OWNERS`); the last row, for no tile, is 0,
            ``float32 (n, NUM_TILES + 1, 3)``.
    """

    pips: Tensor
    heights: Tensor
    links: Tensor
    owners: Tensor


class ThirdLevelNetwork(LegalMovesNetwork):
    """Scores a placement by the new neighbours of its two halves.

    Two neighbouring halves at equal height are a place for the one tile that has their pips. So each placement looks
    up, for each neighbour of its halves, the tile that belongs to the pair and what is known of it (in my hand, unseen,
    on which level, can be lifted, places that it has), along with the new height and the neighbour's against it. Where
    that tile would lie on the second level, now or after the move, it is also looked up who could go on from there to
    the third (:meth:`_beyond`): a turn may hold several moves, and this is how games are won. The weights are shared by
    tiles, cells and directions. The value comes from the facts of all tiles.

    Args:
        game: the table of Third Level, of any hand and board size.
        width: of the hidden layers.
        tile_width: features of a tile.
    """

    pair: Tensor
    low: Tensor
    high: Tensor
    offsets: Tensor

    def __init__(self, game: Game, width: int = 64, tile_width: int = 32) -> None:
        super().__init__()
        self.slices = game.layout.slices
        self.hand_size = game.parameters["hand_size"]
        self.board_size = game.parameters["board_size"]
        self.num_actions = game.num_actions
        self.tile_encoder = nn.Sequential(nn.Linear(FACTS, tile_width), nn.ReLU(), nn.Linear(tile_width, tile_width))
        self.trunk = nn.Sequential(
            nn.Linear(2 * tile_width + SCALARS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.tile_view = nn.Linear(tile_width, tile_width)
        self.height_view = nn.Embedding(LEVELS * 2 * LEVELS, tile_width)
        self.beyond_view = nn.Linear(BEYOND, tile_width, bias=False)
        self.kind_view = nn.Embedding(KINDS * LEVELS, width)
        self.own_tile = nn.Linear(tile_width, width)
        self.neighbours = nn.Linear(tile_width, width)
        self.whole = nn.Linear(width, width)
        self.hidden = nn.Linear(width, width)
        self.score = nn.Linear(width, 1)
        self.value_out = nn.Linear(width, 1)
        self.value = nn.Sequential(nn.Linear(width, width), nn.ReLU(), self.value_out)
        nn.init.zeros_(self.score.weight)
        nn.init.zeros_(self.value_out.weight)
        pair = np.full((8, 8), NO_TILE, dtype=np.int64)  # by pips + 1; 0 is an empty cell
        pair[1:, 1:] = np.where(TILES.number < 0, NO_TILE, TILES.number)
        self.register_buffer("pair", torch.from_numpy(pair.reshape(64)), persistent=False)
        low, high = (torch.from_numpy(half.astype(np.int64)) + 1 for half in (TILES.low, TILES.high))
        self.register_buffer("low", torch.cat((low, torch.zeros(1, dtype=torch.int64))), persistent=False)
        self.register_buffer("high", torch.cat((high, torch.zeros(1, dtype=torch.int64))), persistent=False)
        padded = self.board_size + 4
        self.register_buffer("offsets", torch.tensor([row * padded + col for row, col in STEPS]), persistent=False)

    def _plane(self, seen: Tensor, name: str) -> Tensor:
        """Return a plane with two empty rows and columns around it, flat, as ``int64 (n, cells)``."""
        size = self.board_size
        plane = seen[:, self.slices[name]].reshape(-1, size, size).to(torch.int64)
        return nn.functional.pad(plane, (2, 2, 2, 2)).flatten(1)

    def _table(self, seen: Tensor) -> _Table:
        heights = self._plane(seen, "height")
        links = torch.where(heights > 1, self._plane(seen, "upper_link"), self._plane(seen, "ground_link"))
        owners = torch.stack([seen[:, self.slices[name]].float() for name in OWNERS], dim=2)
        return _Table(self._plane(seen, "pips"), heights, links, nn.functional.pad(owners, (0, 0, 0, 1)))

    def _on_top(self, table: _Table, rows: Tensor, cells: Tensor) -> Tensor:
        """Return the uppermost tiles on cells that are not empty."""
        other = cells + self.offsets[(table.links[rows, cells] - 1).clamp(min=0)]
        return self.pair[table.pips[rows, cells] * 8 + table.pips[rows, other]]

    def _beyond(self, table: _Table, rows: Tensor, cells: Tensor, pips: Tensor, below: Tensor, tile: Tensor) -> Tensor:
        """Return who could go to the third level if a tile lay on the second, and the same if it can be lifted there.

        Args:
            table: the table.
            rows: positions, ``(m,)``.
            cells: the two cells of each tile, ``(m, 2)``.
            pips: their pips + 1, ``(m, 2)``.
            below: the tiles that lie there, ``(m, 2)``.
            tile: the tile that belongs to them, ``(m,)``.

        Returns:
            1 where a tile of the kind (:data:`OWNERS`) could, ``float32 (m, BEYOND)``; 0 for tiles that lie on one of
            the cells themselves.
        """
        around = (cells.unsqueeze(2) + self.offsets).flatten(1)
        which, side = (table.heights[rows.unsqueeze(1), around] == 2).nonzero(as_tuple=True)
        beside = around[which, side]
        following = self.pair[pips[which, side // 4] * 8 + table.pips[rows[which], beside]]
        lying = torch.cat((below, tile.unsqueeze(1)), dim=1)[which]
        lying = torch.cat((lying, self._on_top(table, rows[which], beside).unsqueeze(1)), dim=1)
        free = (following.unsqueeze(1) != lying).all(dim=1)  # it is not covered, and does not lie on itself
        found = table.owners[rows[which], following] * free.unsqueeze(1)
        owners = torch.zeros((rows.shape[0], len(OWNERS)), dtype=found.dtype, device=found.device)
        owners = owners.scatter_add(0, which.unsqueeze(1).expand_as(found), found).clamp(max=1.0)
        owners = owners * (below != tile.unsqueeze(1)).all(dim=1, keepdim=True)
        return torch.cat((owners, owners * table.owners[rows, tile, 1:2]), dim=1)

    def _openings(self, table: _Table) -> Tensor:
        """Return :meth:`_beyond` of each tile's places on the second level, ``float32 (n, NUM_TILES, BEYOND)``."""
        low = table.heights == 1
        sides = [low & torch.roll(low, -int(step), dims=1) for step in (1, self.board_size + 4)]
        rows, side, cell = torch.stack(sides, dim=1).nonzero(as_tuple=True)
        cells = torch.stack((cell, cell + self.offsets[side]), dim=1)
        pips = table.pips[rows.unsqueeze(1), cells]
        tile = self.pair[pips[:, 0] * 8 + pips[:, 1]]
        below = self._on_top(table, rows.unsqueeze(1), cells)
        beyond = self._beyond(table, rows, cells, pips, below, tile)
        n = table.pips.shape[0]
        sums = torch.zeros((n * (NUM_TILES + 1), BEYOND), dtype=beyond.dtype, device=beyond.device)
        sums = sums.scatter_add(0, (rows * (NUM_TILES + 1) + tile).unsqueeze(1).expand_as(beyond), beyond)
        return sums.view(n, NUM_TILES + 1, BEYOND)[:, :NUM_TILES].clamp(max=1.0)

    def _tile_facts(self, seen: Tensor, table: _Table) -> Tensor:
        level = seen[:, self.slices["tile_level"]].to(torch.int64)
        facts = [seen[:, self.slices[name]].float() for name in ("my_hand", "unseen", "liftable", "bonus_tile")]
        for name in ("places_2", "places_3"):
            facts.append(seen[:, self.slices[name]].float().clamp(max=4.0) / 2.0)
        facts.append((seen[:, self.slices["places_3"]] > 0).float())
        levels = nn.functional.one_hot(level, LEVELS).float()
        return torch.cat((torch.stack(facts, dim=2), levels, self._openings(table)), dim=2)

    def score_legal(self, observation: Tensor, action_mask: Tensor, foreseen: Tensor | None = None) -> LegalScores:
        """Return scores of the legal actions and values; see :class:`LegalMovesNetwork`."""
        seen = observation
        names = ("phase", "my_turn", "their_hand_count", "pool_count", "passed", "opened")
        scalars = torch.cat([seen[:, self.slices[name]].float() for name in names], dim=1)
        scalars = scalars / torch.tensor([1.0, 1.0, 1.0, 1.0, float(self.hand_size), 18.0, 1.0, 1.0])
        places = torch.stack([seen[:, self.slices[name]] > 0 for name in ("places_2", "places_3")], dim=1)
        owners = torch.stack([seen[:, self.slices[name]] > 0 for name in ("my_hand", "unseen", "liftable")], dim=1)
        scalars = torch.cat((scalars, torch.bmm(places.float(), owners.float().transpose(1, 2)).flatten(1)), dim=1)
        table = self._table(seen)
        pips, heights = table.pips, table.heights
        tiles = torch.relu(self.tile_encoder(self._tile_facts(seen, table)))
        whole = self.trunk(torch.cat((tiles.mean(dim=1), tiles.amax(dim=1), scalars), dim=1))
        value = self.value(whole).squeeze(1)
        tiles = nn.functional.pad(tiles, (0, 0, 0, 1))  # a last row of zeros for no tile

        rows, actions = action_mask.nonzero(as_tuple=True)
        cells = self.board_size * self.board_size
        plane, cell = actions // cells, actions % cells
        ends = plane == 4 * self.hand_size + 2
        upper = (plane >= 4 * self.hand_size) & ~ends
        direction = torch.where(upper, plane - 4 * self.hand_size, plane % 4).clamp(max=3)
        padded = self.board_size + 4
        first = (cell // self.board_size + 2) * padded + cell % self.board_size + 2
        second = first + self.offsets[direction]
        in_hand = seen[:, self.slices["my_hand"]].to(torch.int64)
        slots = torch.cumsum(in_hand, dim=1) * in_hand  # 1 + slot of the tiles in hand
        slot = torch.where(upper | ends, torch.zeros_like(plane), plane // 4 + 1)
        from_hand = (slots[rows] == slot.unsqueeze(1)).to(torch.int64).argmax(dim=1)
        on_board = self.pair[pips[rows, first] * 8 + pips[rows, second]]
        tile = torch.where(upper, on_board, torch.where(ends, torch.full_like(plane, NO_TILE), from_hand))
        pip_1 = torch.where(upper, pips[rows, first], self.low[tile])
        pip_2 = torch.where(upper, pips[rows, second], self.high[tile])
        new_height = torch.where(upper, heights[rows, first] + 1, torch.ones_like(plane))
        lifting = upper & (seen[rows, self.slices["phase"].start + 1] != 0)
        kind = upper.to(torch.int64) + lifting.to(torch.int64) + 3 * ends.to(torch.int64)

        around = torch.cat((first.unsqueeze(1) + self.offsets, second.unsqueeze(1) + self.offsets), dim=1)  # (m, 8)
        half = torch.stack((pip_1, pip_2), dim=1).repeat_interleave(4, dim=1)
        belongs = self.pair[half * 8 + pips[rows.unsqueeze(1), around]]
        inside = (around != first.unsqueeze(1)) & (around != second.unsqueeze(1)) & ~ends.unsqueeze(1)
        which, direction = ((belongs != NO_TILE) & inside).nonzero(as_tuple=True)  # most neighbours are empty
        level = (new_height - 1).clamp(max=LEVELS - 1)
        beside = around[which, direction]
        relative = heights[rows[which], beside] - new_height[which] + LEVELS
        opens = ((relative == LEVELS) & (new_height[which] == 1)).nonzero(as_tuple=True)[0]
        relative = relative.clamp(0, 2 * LEVELS - 1) + 2 * LEVELS * level[which]
        looked = self.tile_view(tiles)[rows[which], belongs[which, direction]] + self.height_view(relative)
        opening, at = which[opens], direction[opens]
        own = torch.where(at < 4, first[opening], second[opening])
        new_pips = torch.stack((half[opening, at], pips[rows[opening], beside[opens]]), dim=1)
        new_cells = torch.stack((own, beside[opens]), dim=1)
        below = torch.stack((tile[opening], self._on_top(table, rows[opening], beside[opens])), dim=1)
        beyond = self._beyond(table, rows[opening], new_cells, new_pips, below, belongs[opening, at])
        looked = torch.relu(looked.index_add(0, opens, self.beyond_view(beyond).to(looked.dtype)))
        heard = torch.zeros_like(tiles[rows, 0], dtype=looked.dtype).scatter_add(
            0, which.unsqueeze(1).expand_as(looked), looked
        )
        hidden = (
            self.own_tile(tiles[rows, tile])
            + self.neighbours(heard)
            + self.kind_view(KINDS * level + kind)
            + self.whole(whole)[rows]
        )
        scores = self.score(torch.relu(self.hidden(torch.relu(hidden)))).squeeze(1)
        return LegalScores(rows, actions, scores, value)
