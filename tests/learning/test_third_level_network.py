"""Tests of Third Level's network: who could go on to the third level is what the rules say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from domino_envs.agents.positions import opening_positions
from domino_envs.arena.exact import views
from domino_envs.games import get_game
from domino_envs.games.kernels import describe, play
from domino_envs.games.third_level import BONUS
from domino_envs.learning.third_level_network import NUM_TILES, OWNERS, ThirdLevelNetwork

GAME = get_game("third_level")


@pytest.fixture(scope="module")
def positions() -> NDArray[Any]:
    """Positions of games that climb wherever they can, short of winning."""
    rng = np.random.default_rng(5)
    kept: list[NDArray[Any]] = []
    for state in opening_positions(GAME, 400, seed=3):
        states = np.array([state])
        while not states[0]["deal_over"]:
            kept.append(states.copy())
            actions = [int(action) for action in GAME.legal_actions(states)]
            climbing = [a for a in actions if "^" in GAME.notation(states, a) or "lift" in GAME.notation(states, a)]
            after = states.copy()
            play(after[0], int(rng.choice(climbing or actions)))
            if after[0]["deal_over"]:
                play(states[0], int(rng.choice(actions)))
            else:
                states = after
    return np.concatenate(kept)


def seen_at(states: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(views(GAME, states)[0])


def facts(states: NDArray[Any], *names: str) -> list[NDArray[np.int64]]:
    seen = views(GAME, states)[0][0]
    return [GAME.layout.decode(seen)[name].astype(np.int64) for name in names]


def tile_of(states: NDArray[Any], action: int) -> int:
    return (int(describe(states[0], action)) >> 18 & 31) - 1


def test_who_could_go_on_after_a_lift(positions: NDArray[Any]) -> None:
    network = ThirdLevelNetwork(GAME)
    checked = np.zeros(len(OWNERS), dtype=int)
    for i in np.flatnonzero(positions["phase"] == BONUS):
        states = positions[i : i + 1]
        seen = seen_at(states)
        openings = network._openings(network._table(seen))[0].numpy()
        before, *owners = facts(states, "places_3", *OWNERS)
        expected: dict[int, NDArray[np.bool_]] = {}
        for action in GAME.legal_actions(states):
            if "lift" not in GAME.notation(states, int(action)):
                continue
            tile = tile_of(states, int(action))
            after = states.copy()
            play(after[0], int(action))
            if after[0]["deal_over"]:  # the lift went to the third level
                continue
            further = facts(after, "places_3")[0] > before
            further[tile] = False
            kinds = np.array([(further & (kind > 0)).any() for kind in owners])
            expected[tile] = expected.get(tile, np.zeros(len(OWNERS), dtype=bool)) | kinds
        for tile, kinds in expected.items():
            np.testing.assert_array_equal(openings[tile], np.concatenate((kinds, kinds)).astype(np.float32))
            checked += kinds
    assert (checked > 5).all(), checked


def test_who_could_go_on_after_a_tile_is_laid(positions: NDArray[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """What is foreseen of a move, whoever has the tile, is what the next position shows."""
    network = ThirdLevelNetwork(GAME)
    look, beyond = network._table, network._beyond
    everyone = torch.ones((1, NUM_TILES + 1, len(OWNERS)))
    everyone[:, NUM_TILES] = 0.0
    kept: list[tuple[torch.Tensor, torch.Tensor]] = []

    def keep(*given: Any) -> torch.Tensor:
        found = beyond(*given)
        kept.append((given[-1], found))
        return found

    monkeypatch.setattr(network, "_table", lambda seen: look(seen)._replace(owners=everyone))
    monkeypatch.setattr(network, "_beyond", keep)
    new = 0
    rng = np.random.default_rng(1)
    for i in np.flatnonzero(positions["phase"] != BONUS)[::16]:
        states = positions[i : i + 1]
        mover = int(states["mover"][0])
        actions = [int(a) for a in GAME.legal_actions(states)]
        laid = [a for a in actions if GAME.notation(states, a)[-1] != "^" and GAME.notation(states, a) != "end"]
        for action in rng.permutation(laid)[:3]:
            after = states.copy()
            play(after[0], int(action))
            if after[0]["mover"] != mover or after[0]["deal_over"]:
                continue
            mask = torch.zeros((1, GAME.num_actions), dtype=torch.int8)
            mask[0, int(action)] = 1
            kept.clear()
            network.score_legal(seen_at(states), mask)
            before = network._openings(network._table(seen_at(states)))[0, :, 0].numpy()
            foreseen = before.copy()
            tiles, found = kept[1]
            for tile, kinds in zip(tiles.tolist(), found, strict=True):
                foreseen[tile] = max(foreseen[tile], float(kinds[0]))
            shown = network._openings(network._table(seen_at(after)))[0, :, 0].numpy()
            np.testing.assert_array_equal(foreseen, shown)
            new += int((shown > before).sum())
    assert new > 10
