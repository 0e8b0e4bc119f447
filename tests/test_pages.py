"""The environments' pages, which are the docstrings of their modules: true to the code, and their snippets run."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

import pytest

import domino_envs
from domino_envs.single import DominoSinglePlayerEnv
from playing import GAMES, face, gym_id

all_games = pytest.mark.parametrize("game", GAMES)

READINGS = {
    "mate": {6, 7, 8},
    "domaster": {1, 2, 3, 5},
    "five_bridges": {1, 2, 3, 4, 5},
    "third_level": {9, 10, 11, 12, 13},
}


def page(game: str) -> str:
    text = face(game).__doc__
    assert text
    return str(text)


def rows(text: str, columns: int) -> list[list[str]]:
    """The cells of the tables of a page that have so many columns."""
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line] for line in lines if len(line) == columns]


@all_games
def test_the_table_of_fields_is_the_layout(game: str) -> None:
    layout = face(game).raw_env().game.layout
    expected = []
    for field in layout.fields:
        place = layout.slices[field.name]
        components = str(place.start) if field.size == 1 else f"{place.start}–{place.stop - 1}"
        shape = " × ".join(map(str, field.shape)) or "–"
        expected.append([components, f"`{field.name}`", shape, f"{field.low}–{field.high}", field.meaning])
    assert rows(page(game), 5)[2:] == expected


@all_games
def test_sizes(game: str) -> None:
    text = page(game)
    env = face(game).env()
    table = env.unwrapped.game
    head = {row[0]: row[1] for row in rows(text, 2)}
    assert head["Actions"] == f"`Discrete({table.num_actions})`"
    assert head["Observation"] == f"`int8 ({table.layout.size},)` and an action mask `int8 ({table.num_actions},)`"
    assert head["Agents"] == ", ".join(f"`{agent}`" for agent in env.possible_agents)
    assert head["Gymnasium"] == f'`gymnasium.make("{gym_id(game)}")`'
    assert f"`state()` is `int8 ({env.unwrapped.state_space.shape[0]},)`" in text


@all_games
def test_arguments(game: str) -> None:
    named = {row[0].strip("`") for row in rows(page(game), 3)[2:]}
    assert (
        named
        == set(inspect.signature(face(game).env).parameters)
        == set(inspect.signature(face(game).raw_env).parameters)
    )
    defaults = {name: parameter.default for name, parameter in inspect.signature(face(game).env).parameters.items()}
    env, by_default = face(game).env(**defaults).unwrapped, face(game).raw_env()
    assert (env.game, env.episode, env.reward) == (by_default.game, by_default.episode, by_default.reward)
    (episodes,) = (row[1] for row in rows(page(game), 3) if row[0] == "`episode`")
    assert episodes == ", ".join(f'`"{name}"`' for name in by_default.game.episodes)


@all_games
def test_readings(game: str) -> None:
    assert {int(number) for number in re.findall(r"\*\*R(\d+)\*\*", page(game))} == READINGS[game]


@all_games
def test_snippets_run(game: str) -> None:
    snippets = re.findall(r"```python\n(.*?)```", page(game), re.DOTALL)
    assert len(snippets) == 2
    for snippet in snippets:
        names: dict[str, Any] = {}
        exec(compile(textwrap.dedent(snippet), f"{game}_v0", "exec"), names)
        env = names["env"]
        assert names["terminated"]
        if isinstance(env.unwrapped, DominoSinglePlayerEnv):
            assert env.unwrapped.game.name == game
        else:
            assert env.agents == []
            assert env.unwrapped.game.name == game


def test_the_widest_formation_that_the_page_of_third_level_proves() -> None:
    """The longest row of 21 tiles with at most seven cells in a line spans 37, which a window of 41 always shows."""
    bound = max(min(6 * steps + 7, 42 - steps) for steps in range(42))
    assert bound == 37
    size = 41
    for span in range(1, bound + 1):
        before = (size - span) // 2
        assert before >= 2
        assert size - span - before >= 2
    assert "37" in page("third_level")


def test_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", domino_envs.__version__)
