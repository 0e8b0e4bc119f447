"""Tests of ``domino-envs play`` on the command line: the terminal game, and the server's start."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from domino_envs.arena import check_record
from domino_envs.cli import main
from domino_envs.play import service
from domino_envs.play.document import record_of_file


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Types the given answers, then the last one again and again; ends like Ctrl-D if there is none left."""

    def prepare(*answers: str, repeat: bool = False) -> None:
        left = list(answers)

        def typed(prompt: str = "") -> str:
            print(prompt, end="")
            if not left:
                raise EOFError
            return left[0] if repeat and len(left) == 1 else left.pop(0)

        monkeypatch.setattr("builtins.input", typed)

    return prepare


@pytest.mark.parametrize("game", ["domaster", "five_bridges", "mate", "third_level"])
def test_a_whole_game(game: str, answer: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    answer("1", repeat=True)
    assert main(["play", game, "--terminal", "--opponent", "random", "--episode", "deal", "--seed", "4"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"(You win|random wins|Drawn)\.\n$", shown)
    assert f"against random. You are player_{'01'['player_1' in shown.splitlines()[0]]}." in shown
    if game == "third_level":
        assert "hidden" in shown


def test_equal_seeds_play_equal_games(answer: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    games = []
    for seed in ("1", "1", "2"):
        answer("1", repeat=True)
        assert main(["play", "mate", "--terminal", "--opponent", "random", "--seed", seed]) == 0
        games.append(capsys.readouterr().out)
    assert games[0] == games[1] != games[2]
    assert "the deal, " in games[0]  # four games, with Enter between them


def test_words(answer: Callable[..., None], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "game.json"
    answer("?", "hint", "6-6", "99", "save", f"save {tmp_path}", f"save {path}", "1", "undo", "quit")
    command = ["play", "mate", "--terminal", "--opponent", "random", "--seed", "3", "--seat", "player_1"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "write the record to a file" in shown
    assert re.search(r"Best: \d-\d \(exact points of this game\): \d-\d [+-]?\d+", shown)
    assert "'6-6' is no legal move here" in shown
    assert "'99' is no legal move here" in shown
    assert "'save' is no legal move here" in shown
    assert "Is a directory" in shown
    assert shown.endswith("Ended.\n")
    record, agent = record_of_file(path.read_text())
    assert agent == "player_1"
    check_record(record)
    assert main(["watch", str(path)]) == 0  # what is written can be looked at


def test_a_move_too_late_loses(
    answer: Callable[..., None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(0, 100_000, 40))  # each look at the clock is 40 s later
    server = service.Server
    monkeypatch.setattr(
        "domino_envs.play.terminal.Server", lambda *a, **k: server(*a, now=lambda: float(next(now)), **k)
    )
    answer("", "1", repeat=True)
    # The seed: a deal that the opponent could win with its first move would end before the clock does.
    settings = ["--opponent", "random", "--episode", "deal", "--clock", "60", "--seed", "1"]
    assert main(["play", "mate", "--terminal", *settings]) == 0
    shown = capsys.readouterr().out
    assert "Enter starts the clock" in shown
    assert "Your time is up." in shown
    assert "random wins." in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--terminal"], "the terminal needs a game, one of domaster"),
        (["chess", "--terminal"], "unknown game 'chess'"),
        (["mate", "--terminal", "--opponent", "nobody"], "unknown opponent 'nobody'"),
        (["mate", "--terminal", "--episode", "year"], "episode must be one of 'match', 'set', 'deal', got 'year'"),
        (["mate", "--terminal", "--clock", "soon"], "a clock is written SECONDS"),
        (["mate", "--terminal", "--seed", "-1"], "seed must not be negative, got -1"),
        (["mate", "--seed", "1"], "--seed is for --terminal"),
        (["mate", "--opponent", "nobody"], "nobody plays none of the games"),
        (["domaster", "--opponent", "perfect"], "perfect"),
        (["mate", "--port", "70000", "--no-browser"], "port must be from 0 to 65535, got 70000"),
    ],
)
def test_wrong_arguments(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("DOMINO_ENVS_DATA_DIR", str(tmp_path))
    assert main(["play", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_server_starts_answers_and_ends(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "domino_envs",
        "play",
        "mate",
        "--opponent",
        "perfect",
        "--port",
        "0",
        "--no-browser",
    ]
    settings = {**os.environ, "DOMINO_ENVS_DATA_DIR": str(tmp_path)}
    with subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            line = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/", line)
            assert found, line
            with urllib.request.urlopen(f"{found[0]}api/setup", timeout=60) as reply:
                setup = json.load(reply)
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) in (0, 130)
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()
    assert setup["defaults"] == {"game": "mate", "opponent": "perfect", "seat": "random"}
    assert (tmp_path / "play.key").stat().st_size == 32
