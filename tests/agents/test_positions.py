"""Openings and random positions."""

from __future__ import annotations

import io

import numpy as np
import pytest

from domino_envs.agents import make_agent
from domino_envs.agents.endgame_solver import EndgameSolver
from domino_envs.agents.mate_solver import mate_values
from domino_envs.agents.positions import opening_positions, random_positions
from domino_envs.agents.search import search
from domino_envs.arena.exact import views
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


@pytest.mark.parametrize("name", ["mate", "domaster", "third_level"])
def test_positions_kept_in_a_file_are_as_good_as_new(name):
    """NumPy's files do not say that a record is aligned, and compiled code tells the two apart."""
    game = get_game(name)
    states = random_positions(game, 6, seed=4)
    file = io.BytesIO()
    np.save(file, states)
    file.seek(0)
    loaded = np.load(file)
    assert loaded.dtype == game.dtype and not loaded.dtype.isalignedstruct
    for found, expected in zip(*(search(game, kept, simulations=20, seed=1) for kept in (loaded, states)), strict=True):
        assert np.array_equal(found, expected, equal_nan=True)
    chosen = [make_agent("greedy", game, seed=0).act(*views(game, kept), kept) for kept in (loaded, states)]
    assert np.array_equal(*chosen)
    solve = {"mate": mate_values, "domaster": lambda kept: EndgameSolver().values(kept, 1000)}.get(name)
    if solve is not None:
        assert np.array_equal(solve(loaded), solve(states))


def test_wrong_arguments_are_named():
    game = get_game("mate")
    with pytest.raises(ValueError, match=r"count .*-1"):
        opening_positions(game, -1)
    with pytest.raises(ValueError, match="seed"):
        random_positions(game, 1, seed=-5)
    with pytest.raises(ValueError, match="'game'"):
        opening_positions(game, 1, episode="game")
