"""Openings and random positions."""

from __future__ import annotations

import pytest

from domino_envs.agents.positions import opening_positions, random_positions
from domino_envs.games import game_names, get_game


@pytest.mark.parametrize("name", game_names())
def test_positions_repeat_with_their_seed_and_ask_for_a_move(name):
    game = get_game(name)
    openings = opening_positions(game, 20, seed=1)
    assert (openings["ply"] == 0).all() and set(openings["opener"].tolist()) == {0, 1}
    assert (openings == opening_positions(game, 20, seed=1)).all()
    assert not (openings == opening_positions(game, 20, seed=2)).any()
    somewhere = random_positions(game, 20, seed=1)
    assert (somewhere == random_positions(game, 20, seed=1)).all()
    assert not somewhere["over"].any()
    assert len(set(somewhere["ply"].tolist())) > 3


def test_positions_of_a_whole_match():
    states = random_positions(get_game("domaster"), 60, seed=3, episode="match")
    assert set(states["deals"].tolist()) == {5}
    assert len(set(states["deal"].tolist())) > 2


def test_wrong_arguments_are_named():
    game = get_game("mate")
    with pytest.raises(ValueError, match=r"count .*-1"):
        opening_positions(game, -1)
    with pytest.raises(ValueError, match="seed"):
        random_positions(game, 1, seed=-5)
    with pytest.raises(ValueError, match="'game'"):
        opening_positions(game, 1, episode="game")
