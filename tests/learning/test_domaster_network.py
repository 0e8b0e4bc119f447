"""Tests of Domaster's network: what it foresees of each move is what the rules say, and it sees no numbering."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from domino_envs.agents.positions import random_positions
from domino_envs.arena.exact import views
from domino_envs.games import Game, get_game
from domino_envs.games.kernels import play
from domino_envs.learning.domaster_foresight import FORESEEN
from domino_envs.learning.domaster_network import DomasterNetwork
from domino_envs.tiles import DOUBLE_NINE


def seen_at(game: Game, states: NDArray[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    observations, masks = views(game, states)
    return torch.from_numpy(observations), torch.from_numpy(masks)


def playable_tiles(state: NDArray[Any], seat: int) -> list[tuple[int, int]]:
    tiles = []
    for column in range(9):
        left = int(state["left"][seat, column])
        if left:
            tile = int(state["columns"][seat, column, left - 1])
            tiles.append((int(DOUBLE_NINE.low[tile]), int(DOUBLE_NINE.high[tile])))
    return tiles


def open_ends(state: NDArray[Any]) -> list[tuple[int, bool]]:
    """Return (pip, whether one more tile finishes the chain) of each end that takes a tile."""
    return [
        (int(state["ends"][chain, side]), int(state["grown"][chain].sum()) == 9)
        for chain in range(int(state["chains"]))
        for side in range(2)
        if state["grown"][chain, side] < 5
    ]


def foreseen_at(game: Game, observations: torch.Tensor, masks: torch.Tensor) -> NDArray[Any]:
    """Return what the network foresees of each move, by position, column, slot and feature."""
    foreseen = DomasterNetwork(game).foresee(observations, masks)
    return foreseen[:, : 9 * 11 * FORESEEN].view(-1, 9, 11, FORESEEN).numpy()


@pytest.mark.parametrize("name", ["domaster", "five_bridges"])
def test_foresees_what_the_rules_say(name: str) -> None:
    game = get_game(name)
    states = random_positions(game, 150, seed=3)
    observations, masks = seen_at(game, states)
    foreseen = foreseen_at(game, observations, masks)
    finished = 0
    for row in range(len(states)):
        mover = int(states["mover"][row])
        for action in np.flatnonzero(masks[row, :99]):
            after = states[row : row + 1].copy()
            play(after[0], int(action))
            facts = foreseen[row, action // 11, action % 11]
            assert facts[0] == after["deal_over"][0]
            if after["deal_over"][0]:
                finished += 1
                continue
            ends = open_ends(after[0])
            for seat, first in ((1 - mover, 1), (mover, 4)):
                fits = [done for tile in playable_tiles(after[0], seat) for pip, done in ends if pip in tile]
                assert facts[first : first + 3] == pytest.approx([sum(fits) / 4, float(any(fits)), len(fits) / 16])
    assert finished > 3


def can_finish(state: NDArray[Any], seat: int) -> bool:
    return any(done and pip in tile for tile in playable_tiles(state, seat) for pip, done in open_ends(state))


def can_finish_on(state: NDArray[Any], chain: int, seat: int) -> bool:
    ends = [int(state["ends"][chain, side]) for side in range(2) if state["grown"][chain, side] < 5]
    lacks_one = int(state["grown"][chain].sum()) == 9
    return lacks_one and any(pip in tile for tile in playable_tiles(state, seat) for pip in ends)


def number_of_lethal_moves(
    game: Game, state: NDArray[Any], on: int | None = None, but_column: int | None = None
) -> int:
    """Count the mover's moves after which only it can finish the chain that it played on, and nobody another."""
    seat = int(state["mover"][0])
    count = 0
    for action in game.legal_actions(state):
        column, chain = int(action) // 11, int(action) % 11 // 2
        if action % 11 == 10 or action == 99 or column == but_column or on not in (None, chain):
            continue
        after = state.copy()
        play(after[0], int(action))
        if not after["deal_over"][0] and not can_finish(after[0], 1 - seat):
            count += can_finish_on(after[0], chain, seat)
    return count


@pytest.mark.parametrize("name", ["domaster", "five_bridges"])
def test_counts_the_safe_and_the_lethal_moves(name: str) -> None:
    game = get_game(name)
    states = random_positions(game, 200, seed=4)
    states = states[(states["grown"].sum(axis=(1, 2)) > 18) | (np.arange(200) < 20)]
    observations, masks = seen_at(game, states)
    foreseen = foreseen_at(game, observations, masks)
    stuck = few = lethal = threats = 0
    for row in range(len(states)):
        before = states[row : row + 1]
        mover = int(before["mover"][0])
        actions = [int(action) for action in np.flatnonzero(masks[row, :99])]
        outcomes = {}
        for action in actions:
            after = before.copy()
            play(after[0], action)
            outcomes[action] = after
        for action, after in outcomes.items():
            facts = foreseen[row, action // 11, action % 11, 7:]
            if after["deal_over"][0]:
                continue
            others = [a for a in actions if a // 11 != action // 11 and a % 11 // 2 != action % 11 // 2 and a % 11 < 10]
            safe = [a for a in others if not outcomes[a]["deal_over"][0] and not can_finish(outcomes[a][0], 1 - mover)]
            assert facts[2] == pytest.approx(len(safe) / 16)
            replies = 0
            possible = [int(a) for a in game.legal_actions(after) if a < 99] if after["mover"][0] != mover else []
            for reply in possible:
                last = after.copy()
                play(last[0], reply)
                replies += not last["deal_over"][0] and not can_finish(last[0], mover)
            assert facts[0] == pytest.approx(replies / 16)
            assert facts[1] == (bool(possible) and not replies and not can_finish(after[0], 1 - mover))
            theirs = number_of_lethal_moves(game, after) if possible else 0
            assert facts[[3, 5]] == pytest.approx([theirs / 4, float(theirs > 0)])
            mine = 0
            if action % 11 < 10 and not can_finish(after[0], 1 - mover):
                after["mover"][0] = mover
                mine = number_of_lethal_moves(game, after, on=action % 11 // 2, but_column=action // 11)
            assert facts[[4, 6]] == pytest.approx([mine / 4, float(mine > 0)])
            stuck += int(facts[1])
            lethal += theirs > 0
            threats += mine > 0
            few += 0 < replies < 5
    assert stuck > 5
    assert lethal > 3
    assert threats > 3
    assert few > 20


def test_the_order_of_the_columns_does_not_matter() -> None:
    game = get_game("domaster")
    observations, masks = seen_at(game, random_positions(game, 60, seed=5))
    torch.manual_seed(0)
    network = DomasterNetwork(game)
    torch.nn.init.normal_(network.score.weight)
    order = torch.tensor([4, 0, 7, 8, 1, 2, 3, 6, 5])
    mine = game.layout.slices["my_columns"]
    moved, moved_masks = observations.clone(), masks.clone()
    moved[:, mine] = observations[:, mine].view(-1, 9, 30)[:, order].reshape(-1, 270)
    moved_masks[:, :99] = masks[:, :99].view(-1, 9, 11)[:, order].reshape(-1, 99)
    logits, values = network(observations, masks)
    others, same_values = network(moved, moved_masks)
    assert torch.allclose(logits[:, :99].view(-1, 9, 11)[:, order].reshape(-1, 99), others[:, :99], atol=1e-4)
    assert torch.allclose(values, same_values, atol=1e-4)
