"""Tests of ``render_mode`` and of how environments show themselves."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.test import render_test

from domino_envs import domaster_v0, five_bridges_v0, mate_v0, third_level_v0
from domino_envs.draw import rgb_array
from domino_envs.draw.window import Window
from domino_envs.games import get_game

MODULES = (domaster_v0, five_bridges_v0, mate_v0, third_level_v0)


@pytest.fixture(params=MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def make(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return request.param.env  # type: ignore[no-any-return]


def play(env: Any, moves: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(moves):
        env.step(int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"]))))


def test_pettingzoo_accepts_every_mode(make: Callable[..., Any]) -> None:
    render_test(make)


def test_frames_have_one_size_are_not_blank_and_follow_the_game(make: Callable[..., Any]) -> None:
    env = make(render_mode="rgb_array")
    env.reset(seed=1)
    frames = []
    for _ in range(6):
        frames.append(env.render())
        play(env, 1)
    assert {(frame.shape, frame.dtype) for frame in frames} == {(frames[0].shape, np.dtype(np.uint8))}
    assert frames[0].shape[2] == 3
    for before, after in pairwise(frames):
        assert (before != after).any()
        assert before.std() > 10
    assert env.metadata["render_fps"] > 0


def test_a_mode_is_needed_and_a_reset(make: Callable[..., Any]) -> None:
    env = make()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="render\\(\\) needs a render_mode, one of 'ansi', 'human', 'rgb_array'"):
        env.render()
    with pytest.raises(ResetNeeded, match=r"call reset\(\) first"):
        make(render_mode="rgb_array").render()
    with pytest.raises(ValueError, match=r"render_mode must be one of .*, got 'pixels'"):
        make(render_mode="pixels")


def test_a_notebook_shows_the_position(make: Callable[..., Any]) -> None:
    env = make()
    assert env._repr_svg_() is None
    env.reset(seed=1)
    start = env._repr_svg_()
    assert start.startswith("<svg")
    play(env, 2)
    assert env._repr_svg_() != start
    assert env.svg(theme="dark") != env.svg(theme="light")


def test_the_last_position_can_be_drawn_when_both_agents_are_gone(make: Callable[..., Any]) -> None:
    env = make()
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, _, terminated, _, _ = env.last()
        env.step(None if terminated else int(np.flatnonzero(observation["action_mask"])[0]))
        assert agent
    assert not env.agents
    assert env._repr_svg_().startswith("<svg")


def test_the_single_player_view_shows_what_the_learner_may_see() -> None:
    env = gymnasium.make("domino_envs/ThirdLevel-v0", render_mode="rgb_array", seat="player_1")
    assert env.unwrapped._repr_svg_() is None  # type: ignore[attr-defined]
    env.reset(seed=1)
    inner = env.unwrapped.aec_env  # type: ignore[attr-defined]
    assert env.unwrapped._repr_svg_() == inner.svg(seat=1) != inner.svg(seat=0)  # type: ignore[attr-defined]
    frame = env.render()
    assert isinstance(frame, np.ndarray)
    assert frame.std() > 10
    assert (frame == rgb_array(inner.svg(seat=1))).all()


@pytest.mark.parametrize("seat", [0, 1])
def test_the_single_player_view_hides_the_opponents_tiles_until_the_end(seat: int) -> None:
    env = gymnasium.make("domino_envs/ThirdLevel-v0", render_mode="ansi", seat=f"player_{seat}", episode="deal")
    env.reset(seed=2)
    over = False
    while not over:
        shown = env.render()
        assert isinstance(shown, str)
        hands = {line[:8]: line[10:] for line in shown.splitlines() if line.startswith("player_")}
        assert hands[f"player_{1 - seat}"].endswith("hidden")
        assert "hidden" not in hands[f"player_{seat}"]
        action = int(np.flatnonzero(env.unwrapped.action_masks())[0])  # type: ignore[attr-defined]
        over = env.step(action)[2]
    assert "hidden" not in str(env.render())


def test_an_open_window_is_no_part_of_the_state() -> None:
    env = mate_v0.env(render_mode="human")
    env.reset(seed=1)
    play(env, 2)
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env)), env.clone()):
        assert (other.position == env.position).all()
        play(other, 1)  # draws into a window of its own
        other.close()
    play(env, 1)
    env.close()
    env.close()


def test_a_window_closed_by_its_user_stays_closed() -> None:
    import pygame

    window = Window()
    pixels = np.zeros((20, 30, 3), dtype=np.uint8)
    window.show(pixels, "test", 10)
    assert pygame.display.get_surface().get_size() == (30, 20)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    window.show(pixels, "test", 10)
    assert pygame.display.get_surface() is None
    window.show(pixels, "test", 10)
    assert pygame.display.get_surface() is None


def test_no_display_is_a_clear_error() -> None:
    code = (
        "from domino_envs import mate_v0\n"
        "env = mate_v0.env(render_mode='human')\n"
        "try: env.reset(seed=1)\n"
        "except RuntimeError as error: print(error)"
    )
    settings = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**settings, "SDL_VIDEODRIVER": "x11"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.startswith("no window can be opened here"), done.stderr
    assert "rgb_array" in done.stdout


def test_a_missing_pygame_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = mate_v0.env(render_mode="human")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'domino_envs\[draw\]'"):
        env.reset(seed=1)


def test_text_needs_no_picture_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    env = mate_v0.env(render_mode="ansi")
    env.reset(seed=1)
    assert env.render() == get_game("mate").text(env.position[0])
