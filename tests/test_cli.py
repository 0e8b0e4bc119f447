"""Tests of the command line's front and of ``domino-envs games``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import types
from collections.abc import Callable

import pytest

import domino_envs
from domino_envs import cli
from domino_envs.cli import COMMANDS, Command, main
from domino_envs.games import game_names, get_game


@pytest.fixture
def add_command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Registers a command ``probe`` that takes a number and calls the given function with it."""

    def add(run: Callable[[int], int], extra: str | None = None) -> None:
        module = types.ModuleType("probe_command")
        module.add_arguments = lambda parser: parser.add_argument("number", type=int)  # type: ignore[attr-defined]
        module.run = lambda args: run(args.number)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "probe_command", module)
        monkeypatch.setitem(COMMANDS, "probe", Command("probe the front", "probe_command", extra))

    return add


def raiser(error: BaseException) -> Callable[[int], int]:
    def run(number: int) -> int:
        raise error

    return run


def test_every_command_is_complete() -> None:
    for name, command in COMMANDS.items():
        module = __import__(command.module, fromlist=["run"])
        assert callable(module.run), name
        parser = argparse.ArgumentParser()
        module.add_arguments(parser)
        assert parser.format_help(), name
        assert command.help[0].islower(), name
        assert not command.help.endswith("."), name


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert exit_info.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: domino-envs{''.join(f' {word}' for word in arguments[:-1])}")
    if arguments == ["--help"]:
        for name, command in COMMANDS.items():
            assert name in shown
            assert command.help in " ".join(shown.split())


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(["--version"])
    assert exit_info.value.code == 0
    assert capsys.readouterr().out == f"domino_envs {domino_envs.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["gamez"], "invalid choice: 'gamez'"),
        (["games", "--jason"], "unrecognized arguments: --jason"),
        (["--verbose", "games"], "unrecognized arguments: --verbose"),
    ],
)
def test_bad_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        main(arguments)
    assert exit_info.value.code == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.out == ""


def test_a_command_gets_its_arguments_and_its_status_is_returned(add_command: Callable[..., None]) -> None:
    add_command(lambda number: number + 1)
    assert main(["probe", "3"]) == 4
    assert main(["--traceback", "probe", "0"]) == 1


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("number must be 5, got 3"), "number must be 5, got 3"),
        (FileNotFoundError(2, "No such file or directory", "record.json"), "record.json: No such file or directory"),
        (ModuleNotFoundError("No module named 'starlette'", name="starlette"), "No module named 'starlette'"),
        (ValueError(), "ValueError"),
    ],
)
def test_bad_input_is_one_line(
    error: Exception, message: str, add_command: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    add_command(raiser(error))
    assert main(["probe", "3"]) == 2
    assert capsys.readouterr().err == f"domino-envs: error: {message}\n"
    with pytest.raises(type(error)):
        main(["--traceback", "probe", "3"])


def test_a_missing_library_names_the_extra(
    add_command: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    add_command(raiser(ModuleNotFoundError("No module named 'starlette'", name="starlette")), extra="play")
    assert main(["probe", "3"]) == 2
    assert "pip install 'domino_envs[play]'" in capsys.readouterr().err


def test_a_missing_module_of_our_own_is_not_hidden(add_command: Callable[..., None]) -> None:
    add_command(raiser(ModuleNotFoundError("No module named 'domino_envs.x'", name="domino_envs.x")), extra="play")
    with pytest.raises(ModuleNotFoundError):
        main(["probe", "3"])


def test_a_mistake_of_ours_keeps_its_traceback(add_command: Callable[..., None]) -> None:
    add_command(raiser(KeyError("missing")))
    with pytest.raises(KeyError):
        main(["probe", "3"])


def test_interrupt(add_command: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    add_command(raiser(KeyboardInterrupt()))
    assert main(["probe", "3"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_games_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "--json"]) == 0
    games = json.loads(capsys.readouterr().out)
    assert tuple(game["name"] for game in games) == game_names()
    for facts in games:
        game = get_game(facts["name"])
        assert facts["title"] == game.title
        assert facts["observation"] == game.layout.size
        assert facts["actions"] == game.num_actions
        assert facts["episodes"] == game.episodes


def test_games_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == [
        "game", "title", "PettingZoo", "Gymnasium", "observation", "actions", "episodes", "(deals)"
    ]  # fmt: skip
    assert [row.split()[0] for row in rows] == list(game_names())
    start = header.index("observation")
    for row, name in zip(rows, game_names(), strict=True):
        assert row[start:].startswith(f"int8 ({get_game(name).layout.size},)")


def test_module_and_closed_pipe() -> None:
    command = f'"{sys.executable}" -W error -m domino_envs games | head -n 1'
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("game ")
    assert done.stderr == ""


def test_help_imports_no_heavy_library() -> None:
    code = (
        "import sys; from domino_envs.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'stable_baselines3', 'matplotlib', 'onnxruntime', 'starlette'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: domino-envs")


def test_front_names_a_module_for_each_command() -> None:
    assert all(command.module.startswith("domino_envs.") for command in cli.COMMANDS.values())
