"""Tests of ``domino-envs arena`` and ``domino-envs scorecard``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from domino_envs import arena
from domino_envs.arena import match, tournament
from domino_envs.cli import main


def test_arena_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["arena", "mate", "random", "perfect", "--deals", "5", "--workers", "1"]) == 0
    shown = capsys.readouterr()
    assert "Mate, episode 'set', 5 deals a pairing" in shown.out
    assert "Elo [95 %]" in shown.out
    assert shown.err == ""  # no bar where there is no terminal


def test_arena_as_json_with_options(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--deals", "3", "--seed", "9", "--episode", "match", "--mode", "sample", "--clock", "10+1"]
    assert main(["arena", "mate", "random", "perfect", *options, "--workers", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    expected = {"game": "mate", "deals": 3, "seed": 9, "episode": "match", "mode": "sample", "clock": "10+1"}
    assert {name: data[name] for name in expected} == expected
    assert data["complete"] is True
    assert data["standings"][0]["name"] == "perfect"
    assert data["pairings"][0]["losses"] == 6


def test_saved_rescored_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "games.jsonl"
    play = ["arena", "mate", "random", "perfect", "--deals", "3", "--workers", "1", "--save", str(path)]
    assert main(play) == 0
    table = capsys.readouterr().out
    assert main(["arena", "--rescore", str(path)]) == 0
    assert capsys.readouterr().out == table
    assert main(play) == 2
    assert "the file exists" in capsys.readouterr().err
    assert main(["arena", "--resume", str(path), "--deals", "4", "--workers", "1"]) == 0
    assert "4 deals a pairing" in capsys.readouterr().out
    assert len(arena.load(path, check=True).games) == 8


def test_interrupted(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "games.jsonl"
    play = match.Referee.play

    def interrupted_play(referee: match.Referee, block: match.Block) -> list[arena.GameRecord]:
        if block.deals[0] >= 64:
            raise KeyboardInterrupt
        return play(referee, block)

    monkeypatch.setattr(tournament.Referee, "play", interrupted_play)
    command = ["arena", "mate", "random", "perfect", "--deals", "80", "--workers", "1", "--save", str(path)]
    assert main(command) == 130
    shown = capsys.readouterr()
    assert "128 of 160 games played" in shown.out
    assert f"go on with: domino-envs arena --resume {path}" in shown.err
    monkeypatch.undo()
    assert main(["arena", "--resume", str(path), "--workers", "1"]) == 0
    assert "games played" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["arena"], "name a game and at least two agents"),
        (["arena", "mate", "random"], "at least two players, got random"),
        (["arena", "mate", "random", "nobody"], "unknown opponent 'nobody'"),
        (["arena", "mate", "random", "perfect", "--clock", "soon"], "a clock is written"),
        (
            ["arena", "mate", "random", "perfect", "--workers", "0"],
            "workers must be a whole number of at least 1, got 0",
        ),
        (["arena", "mate", "--resume", "games.jsonl"], "name none"),
        (["arena", "--resume", "no/such/file"], "no/such/file: No such file or directory"),
        (["scorecard", "mate", "nobody"], "unknown opponent 'nobody'"),
    ],
)
def test_bad_input(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_scorecard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "card.json"
    command = ["scorecard", "mate", "greedy", "--deals", "4", "--workers", "1", "--save", str(path)]
    assert main(command) == 0
    assert capsys.readouterr().out.startswith("greedy, Mate, mode 'best'")
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ladder"] == json.loads(path.read_text())["ladder"]
