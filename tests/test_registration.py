"""The environments' names: both registries, by import and by module, without side effects."""

from __future__ import annotations

import json
import subprocess
import sys

import gymnasium
import pettingzoo
import pytest

from domino_envs import registration
from domino_envs.guard import GuardWrapper
from domino_envs.single import DominoSinglePlayerEnv
from playing import GAMES, gym_id

all_games = pytest.mark.parametrize("game", GAMES)


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo before its registry")
@all_games
def test_pettingzoo(game: str) -> None:
    env = pettingzoo.make("aec", f"domino_envs/{game}_v0", episode="deal", render_mode="ansi")
    assert isinstance(env, GuardWrapper)
    assert (env.unwrapped.game.name, env.unwrapped.episode, env.render_mode) == (game, "deal", "ansi")
    assert pettingzoo.make("aec", f"domino_envs/{game}").unwrapped.game is env.unwrapped.game
    assert pettingzoo.spec("aec", f"domino_envs/{game}-v0").make(reward="points").unwrapped.reward == "points"


@all_games
def test_gymnasium(game: str) -> None:
    env = gymnasium.make(gym_id(game), seat="player_1", episode="deal", reward="points").unwrapped
    assert isinstance(env, DominoSinglePlayerEnv)
    assert (env.game.name, env.seat, env.aec_env.episode, env.aec_env.reward) == (game, "player_1", "deal", "points")
    assert env.opponent.name == "random"
    assert json.loads(env.spec.to_json())["kwargs"]["game"] == game
    assert gymnasium.make(f"domino_envs:{gym_id(game)}").unwrapped.game is env.game
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.unwrapped.seat == "player_1"


def test_parameters_of_third_level() -> None:
    env = gymnasium.make("domino_envs/ThirdLevel-v0", hand_size=2, board_size=9).unwrapped
    assert env.action_space.n == (4 * 2 + 2) * 81 + 1
    with pytest.raises(TypeError, match="hand_size"):
        gymnasium.make("domino_envs/Mate-v0", hand_size=2)
    with pytest.raises(TypeError, match="it takes no hand_size"):
        DominoSinglePlayerEnv(env.game, hand_size=2)
    assert DominoSinglePlayerEnv(env.game).game is env.game


def test_registering_again_changes_nothing() -> None:
    before = dict(gymnasium.registry)
    registration.register_all()
    assert gymnasium.registry == before


def test_import_is_light_and_quiet() -> None:
    """A new process, warnings being errors: importing and registering loads no compiler and no optional library."""
    code = """
import sys
import domino_envs
heavy = {"numba", "torch", "stable_baselines3", "matplotlib", "onnxruntime", "pygame", "PIL", "starlette", "tqdm"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
import gymnasium
assert gymnasium.make("domino_envs/Mate-v0").reset(seed=0)
heavy.discard("numba")
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
