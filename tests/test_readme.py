"""The README's snippets run, and its table of environments is true."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from domino_envs.games import game_names, get_game
from domino_envs.registration import GYMNASIUM_NAMES

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_there_are_snippets() -> None:
    assert len(SNIPPETS) >= 4


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_snippet_runs_in_a_process_of_its_own(number: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SNIPPETS[number]], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", game_names()[:4])
def test_table_of_environments(name: str) -> None:
    game = get_game(name)
    row = (
        f"| {game.title} | `domino_envs/{name}_v0` | `domino_envs/{GYMNASIUM_NAMES[name]}-v0` "
        f"| {game.layout.size} | {game.num_actions} |"
    )
    assert row in README


def test_commands_named_in_the_readme_exist() -> None:
    from domino_envs.cli import COMMANDS

    named = set(re.findall(r"domino-envs ([a-z]+)", README))
    assert named and named <= set(COMMANDS), named - set(COMMANDS)
