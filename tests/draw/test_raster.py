"""Tests of pictures in pixels."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from domino_envs.aec import DominoEnv
from domino_envs.draw import draw_svg, rgb_array, to_png
from domino_envs.draw.theme import LIGHT
from domino_envs.games import get_game

SQUARE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"><rect width="2" height="3" fill="#ff0000"/></svg>'
)


def test_pixels_are_those_of_the_svg() -> None:
    pixels = rgb_array(SQUARE)
    assert pixels.shape == (3, 4, 3) and pixels.dtype == np.uint8
    assert (pixels[:, :2] == (255, 0, 0)).all()
    assert rgb_array(SQUARE, scale=2).shape == (6, 8, 3)
    assert to_png(SQUARE).startswith(b"\x89PNG")


def test_text_and_tiles_are_drawn() -> None:
    env = DominoEnv(get_game("mate"))
    env.reset(seed=1)
    pixels = rgb_array(draw_svg(env.game, env.position, names=("", "")))
    named = rgb_array(draw_svg(env.game, env.position, names=("WWWW", "")))
    assert (pixels != named).any(axis=2).sum() > 100  # letters of a font, without any from the system
    ivory = tuple(int(LIGHT.levels[0][i : i + 2], 16) for i in (1, 3, 5))
    assert (pixels == ivory).all(axis=2).mean() > 0.1


@pytest.mark.parametrize("scale", [0, -1.0, float("nan")])
def test_wrong_scale(scale: float) -> None:
    with pytest.raises(ValueError, match="scale must be positive"):
        to_png(SQUARE, scale)


def test_no_svg() -> None:
    with pytest.raises(ValueError, match=r".+"):
        to_png("<html>")


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'domino_envs\[draw\]'"):
        to_png(SQUARE)


def test_no_display_and_no_window_library() -> None:
    code = (
        "import sys\n"
        "from domino_envs import mate_v0\n"
        "from domino_envs.draw import draw_svg, rgb_array\n"
        "env = mate_v0.raw_env(); env.reset(seed=1)\n"
        "assert rgb_array(draw_svg(env.game, env.position)).std() > 10\n"
        "assert 'pygame' not in sys.modules"
    )
    settings = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=settings, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
