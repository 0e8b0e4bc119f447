"""Games from outside of the package: what is compiled and cached for them follows their rules."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domino_envs.aec import DominoEnv
from domino_envs.agents import make_agent
from domino_envs.batch import BatchGame
from domino_envs.fingerprint import defined_here, fingerprint
from domino_envs.games import Game, add_game, game_names, get_game
from domino_envs.games.kernels import Kernels, observe, record_dtype, register
from domino_envs.games.layout import Field, Layout
from domino_envs.jit import JIT_DISABLED, kernel

# A game that is nothing but an observation, and a loop of the package over it.
GAME = """
import numpy as np
from domino_envs import engine
from domino_envs.games.kernels import Kernels, record_dtype, register
from domino_envs.jit import kernel

STATE = record_dtype([("heap", np.int8)])
SHOWN = np.array([3])

@kernel
def helper(heap):
    return heap + SHOWN[0]

@kernel
def nothing(state, argument):
    pass

@kernel
def look(state, seat, vector):
    vector[0] = helper(state["heap"])

register(STATE, Kernels(nothing, nothing, nothing, nothing, look, nothing))
seen = np.zeros(1, np.int8)
engine.look_as(np.zeros(1, STATE), 0, 0, seen)
print(seen[0], sum(engine.look_as.stats.cache_hits.values()))
"""


def shown_and_cache_hits(source: str, folder: Path) -> list[str]:
    (folder / "outside_game.py").write_text(source, encoding="utf-8")
    environment = {**os.environ, "DOMINO_ENVS_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "outside_game.py"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_a_changed_constant_is_compiled_anew_and_an_unchanged_game_is_not(tmp_path: Path) -> None:
    assert shown_and_cache_hits(GAME, tmp_path) == ["3", "0"]
    assert shown_and_cache_hits(GAME, tmp_path) == ["3", "1"]
    assert shown_and_cache_hits(GAME.replace("[3]", "[4]"), tmp_path) == ["4", "0"]
    assert shown_and_cache_hits(GAME, tmp_path) == ["3", "1"]


def functions(source: str, **names: object) -> list[object]:
    scope: dict[str, object] = {"__name__": "elsewhere", "np": np, "kernel": kernel, **names}
    exec(source, scope)
    return [scope["rule"]]


RULE = """
TABLE = np.array([1, 2])
LIMIT = 5

def helper(x):
    return x + TABLE[0]

def rule(x, y=1):
    return max(helper(x), LIMIT) + np.int64(y)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[1, 2]", "[1, 3]"),
        ("LIMIT = 5", "LIMIT = 6"),
        ("LIMIT = 5", "LIMIT = 5.0"),
        ("x + TABLE", "x - TABLE"),
        ("TABLE[0]", "TABLE[1]"),
        ("y=1", "y=2"),
        ("max(", "min("),
        ("np.int64", "np.int32"),
    ],
)
def test_whatever_a_rule_is_made_of_changes_its_fingerprint(old: str, new: str) -> None:
    changed = RULE.replace(old, new)
    assert changed != RULE
    assert fingerprint(functions(changed)) != fingerprint(functions(RULE))


def test_a_comment_or_another_place_does_not_change_it() -> None:
    assert fingerprint(functions(RULE)) == fingerprint(functions("# again\n\n" + RULE + "\nOTHER = 1\n"))
    assert fingerprint(functions(RULE.replace("def rule", "@kernel\ndef rule"))) == fingerprint(functions(RULE))


def test_constants_are_found_in_closures_and_in_modules_of_ones_own() -> None:
    def made(number: int) -> object:
        return lambda x: x + number

    def using(number: int) -> list[object]:
        tables = types.ModuleType("tables")
        tables.LOW = np.array([number])  # type: ignore[attr-defined]
        return functions("def rule(x):\n    return tables.LOW[x]", tables=tables)

    assert fingerprint([made(1)]) == fingerprint([made(1)]) != fingerprint([made(2)])
    assert fingerprint(using(1)) == fingerprint(using(1)) != fingerprint(using(2))


def test_what_cannot_be_told_is_not_cached() -> None:
    assert fingerprint(functions("def rule(x):\n    return THING.y", THING=object())) is None


def test_our_own_kernels_count_by_name() -> None:
    assert defined_here(observe)
    assert not defined_here(functions(RULE)[0])


@kernel
def nothing(state, argument):  # type: ignore[no-untyped-def]
    pass


def observing(number: int) -> Kernels:
    @kernel
    def look(state, seat, vector):  # type: ignore[no-untyped-def]
        vector[0] = number

    return Kernels(nothing, nothing, nothing, nothing, look, nothing)


FIELDS = [("a_field_of_this_test", np.int8)]


def test_rules_defined_again_get_a_record_of_their_own() -> None:
    seen = np.zeros(1, dtype=np.int8)
    first = record_dtype(FIELDS)
    register(first, observing(1))
    with pytest.raises(ValueError, match=r"have kernels already.*record_dtype"):
        register(first, observing(2))
    second = record_dtype(FIELDS)
    register(second, observing(2))
    assert second != first
    for dtype, number in ((first, 1), (second, 2)):
        observe(np.zeros(1, dtype)[0], 0, seen)
        assert seen[0] == number


def game(title: str) -> Game:
    return Game(
        name="a_game_of_this_test",
        title=title,
        rules_version=1,
        parameters={},
        template=np.zeros(1, record_dtype([("another_field", np.int8)])),
        num_tiles=4,
        num_actions=1,
        layout=Layout([Field("nothing", (), 0, 0, "nothing")]),
        hidden=Layout([]),
        episodes={"deal": 1},
        deals_per_order=1,
        move_text=str,
        text=lambda state, seat=None: "",
    )


def test_a_game_added_again_replaces_the_former(monkeypatch: pytest.MonkeyPatch) -> None:
    from domino_envs import games

    monkeypatch.setattr(games, "_MAKERS", dict(games._MAKERS))
    add_game("a_game_of_this_test", lambda: game("first"))
    assert "a_game_of_this_test" in game_names()
    assert get_game("a_game_of_this_test").title == "first"
    assert get_game("a_game_of_this_test") is get_game("a_game_of_this_test")
    add_game("a_game_of_this_test", lambda: game("second"))
    assert get_game("a_game_of_this_test").title == "second"
    with pytest.raises(ValueError, match="'mate' already"):
        add_game("mate", lambda: game("third"))


def test_a_position_out_of_its_array_is_a_clear_error() -> None:
    table = get_game("mate")
    states = np.repeat(table.start_record("deal"), 1)
    with pytest.raises(ValueError, match=r"no game has records of dtype int8: positions are arrays of records"):
        table.legal_actions(states[0])


@pytest.mark.parametrize(
    "make",
    [DominoEnv, lambda game: BatchGame(game, 2), lambda game: make_agent("random", game)],
    ids=["env", "batch", "agent"],
)
def test_a_game_can_be_named_wherever_its_table_is_taken(make: Callable[..., Any]) -> None:
    assert make("mate").game is make(get_game("mate")).game is get_game("mate")
    with pytest.raises(ValueError, match="unknown game 'chess', expected one of 'domaster'"):
        make("chess")


def test_a_parameter_that_a_game_does_not_have() -> None:
    with pytest.raises(TypeError, match=r"the game 'mate' got an unexpected keyword argument 'hand_size'"):
        get_game("mate", {"hand_size": 3})
