"""Tests of training/export.py and training/evaluate.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO

from domino_envs.arena import play_match, wilson_interval
from domino_envs.games import get_game
from domino_envs.policies import PolicyError, load_policy, read_card
from domino_envs.vector import sb3_vec_env
from scripts import TRAINING, script, small_run

train, export, evaluate = script("train"), script("export"), script("evaluate")


@pytest.fixture(scope="module")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "mate"
    threads = torch.get_num_threads()
    train.main(train.Arguments(**small_run(out=folder)))
    torch.set_num_threads(threads)
    return folder


@pytest.fixture(scope="module")
def model_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain model, as the users of sb3-contrib have them."""
    path = tmp_path_factory.mktemp("model") / "model.zip"
    model = MaskablePPO("MlpPolicy", sb3_vec_env("mate", 64), n_steps=8, batch_size=128, n_epochs=1, seed=1)
    model.learn(512)
    model.save(path)
    return path


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


# export.py


def test_a_run_is_exported_as_it_was_saved(finished_run: Path) -> None:
    card_path = export.main(export.Arguments(finished_run, Path("deep/mine"), licence="CC0-1.0"))
    assert card_path == Path("deep/mine.json")
    card, saved = read_card(card_path), read_card(finished_run)
    assert card["name"] == "mine"
    assert card["licence"] == "CC0-1.0"
    for key in ("sha256", "architecture"):
        assert card[key] == saved[key]
    assert card["training"] == saved["training"]


def test_the_latest_weights_can_be_exported_too(finished_run: Path) -> None:
    export.main(export.Arguments(finished_run, Path("latest"), weights="latest"))
    facts = read_card("./latest")
    assert facts["training"]["plies"] == 768
    assert load_policy("latest").game is get_game("mate")


def test_a_plain_model_becomes_a_policy(model_zip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = export.Arguments(model_zip, Path("mine"), game="mate", trust=True)
    assert export.main(arguments) == Path("mine.json")
    assert f"warning: running the code in {model_zip}" in capsys.readouterr().err
    card = read_card("mine.json")
    assert card["architecture"] == {
        "stable_baselines3": "sb3_contrib.common.maskable.policies.MaskableActorCriticPolicy"
    }
    assert card["training"] == {"algorithm": "MaskablePPO", "steps": 512}
    env = gymnasium.make("domino_envs/Mate-v0", opponent="mine.onnx")
    _, info = env.reset(seed=0)
    terminated = False
    while not terminated:
        _, reward, terminated, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert reward in (-1, 0, 1)
    env.close()


def test_an_exported_model_is_loaded_without_torch(model_zip: Path) -> None:
    export.main(export.Arguments(model_zip, Path("mine"), game="mate", trust=True))
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import domino_envs; from domino_envs.arena import play_match\n"
        "print(play_match('mate', 'mine.json', 'random', deals=2).complete)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_a_zip_is_not_opened_unless_it_is_trusted(model_zip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MaskablePPO, "load", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(ValueError, match=r"loading it runs whatever code is inside\. If you made it yourself, say"):
        export.main(export.Arguments(model_zip, Path("mine"), game="mate"))
    with pytest.raises(ValueError, match=r"--game: say which game .*model\.zip plays"):
        export.main(export.Arguments(model_zip, Path("mine"), trust=True))
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"game": "domaster"}, "a policy of Domaster takes observations of shape"),
        ({"game": "chess"}, "unknown game 'chess', expected one of"),
        ({"game": "mate", "parameters": {"hand_size": 3}}, "--parameters: "),
    ],
)
def test_a_zip_of_another_game(changes: dict[str, Any], message: str, model_zip: Path) -> None:
    with pytest.raises(ValueError, match=message):
        export.main(export.Arguments(model_zip, Path("mine"), trust=True, **changes))
    assert not Path("mine.json").exists()


def test_files_that_are_no_model_and_folders_that_are_no_run() -> None:
    Path("notes.zip").write_text("not a zip")
    with pytest.raises(ValueError, match=r"notes\.zip is no model that MaskablePPO can load"):
        export.main(export.Arguments(Path("notes.zip"), Path("mine"), game="mate", trust=True))
    for folder in (Path("nowhere"), Path()):
        with pytest.raises(
            ValueError, match=rf"there is no checkpoint in {folder}: expected .*checkpoint\.safetensors"
        ):
            export.main(export.Arguments(folder, Path("mine")))


def test_a_policy_is_only_replaced_if_that_is_said(finished_run: Path) -> None:
    arguments = export.Arguments(finished_run, Path("mine"))
    export.main(arguments)
    with pytest.raises(FileExistsError, match="there is a policy at mine already: choose another --out, or say"):
        export.main(arguments)
    arguments.overwrite = True
    export.main(arguments)
    with pytest.raises(ValueError, match="a run knows what it trains"):
        export.main(export.Arguments(finished_run, Path("other"), game="mate"))


# evaluate.py


def test_results_are_those_of_the_arena(finished_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = evaluate.Arguments("mate", str(finished_run), ("random", "greedy"), deals=12, seed=3, workers=1)
    first, second = evaluate.main(arguments)["evaluation"]
    assert (first["opponent"], second["opponent"]) == ("random", "greedy")
    pairing = play_match("mate", str(finished_run), "greedy", deals=12, seed=3).pairing(str(finished_run), "greedy")
    assert [second[name] for name in ("wins", "draws", "losses")] == [pairing.wins, pairing.draws, pairing.losses]
    assert second["points"] == pairing.score.as_json()
    won = wilson_interval(pairing.wins, 24)
    assert second["win_rate_wilson"] == won.as_json()
    rows = capsys.readouterr().out.splitlines()
    assert rows[-1].split()[0] == "greedy"
    assert rows[-1].split()[1:4] == [str(pairing.wins), str(pairing.draws), str(pairing.losses)]
    assert won.text(100) in rows[-1]
    assert pairing.score.text(100) in rows[-1]


def test_any_agent_can_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = evaluate.Arguments("mate", "greedy", deals=5, episode="deal", mode="sample", json=True, workers=1)
    facts = evaluate.main(arguments)
    assert json.loads(capsys.readouterr().out) == facts
    (found,) = facts["evaluation"]
    assert found["episode"] == "deal"
    assert found["mode"] == "sample"
    assert found["wins"] + found["draws"] + found["losses"] == 10


def test_results_go_into_the_card(finished_run: Path) -> None:
    export.main(export.Arguments(finished_run, Path("mine")))
    arguments = {"game": "mate", "agent": "mine.json", "deals": 3, "save": True, "workers": 1}
    evaluate.main(evaluate.Arguments(opponents=("random", "greedy"), **arguments))
    evaluate.main(evaluate.Arguments(opponents=("random",), seed=9, **arguments))
    card = read_card("mine.json")
    assert [(one["opponent"], one["seed"]) for one in card["evaluation"]] == [("greedy", 0), ("random", 9)]
    assert card["training"]["plies"] == 768
    assert load_policy("mine").card == card


def test_the_scorecard_goes_into_the_card(finished_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from domino_envs.cli import main

    export.main(export.Arguments(finished_run, Path("mine")))
    evaluate.main(evaluate.Arguments("mate", "mine.json", scorecard=True, save=True, workers=1, deals=2))
    card = read_card("mine.json")
    assert card["scorecard"]["deals"] == 2
    assert [rung["opponent"] for rung in card["scorecard"]["ladder"]][:2] == ["random", "greedy"]
    capsys.readouterr()
    assert main(["policies", "--json", "mine.json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["elo"] == card["scorecard"]["elo"]["value"]


def test_what_evaluate_refuses(finished_run: Path) -> None:
    with pytest.raises(ValueError, match="unknown opponent 'gredy'"):
        evaluate.main(evaluate.Arguments("mate", "gredy", deals=2, workers=1))
    with pytest.raises(ValueError, match="--save: greedy is no saved policy, it has no card"):
        evaluate.main(evaluate.Arguments("mate", "greedy", save=True))
    with pytest.raises(PolicyError, match="is for game 'mate', expected 'domaster'"):
        evaluate.main(evaluate.Arguments("domaster", str(finished_run), deals=2, workers=1))
    with pytest.raises(ValueError, match="deals must be a whole number of at least 1, got 0"):
        evaluate.main(evaluate.Arguments("mate", "greedy", deals=0, workers=1))


@pytest.mark.parametrize("name", ["export", "evaluate"])
def test_scripts_explain_themselves_and_print_errors_in_one_line(name: str) -> None:
    def call(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-W", "error", str(TRAINING / f"{name}.py"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout, done.stderr

    code, shown, errors = call("--help")
    assert (code, errors) == (0, "")
    assert f"python training/{name}.py" in shown
    if name == "export":
        assert "Only load those that you made yourself" in " ".join(shown.replace("│", " ").split())
    wrong = ("nowhere", "--out", "mine") if name == "export" else ("mate", "gredy")
    code, shown, errors = call(*wrong)
    assert (code, shown, errors.count("\n")) == (1, "", 1)
    assert errors.startswith("error: ")
