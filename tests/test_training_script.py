"""Tests of training/train.py: it learns, repeats, stops, goes on, and says what is wrong."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from domino_envs.arena import wilson_interval
from domino_envs.games import game_names, get_game
from domino_envs.learning.checkpoint import CheckpointError, checkpoint_path, read_checkpoint_facts, read_weights
from domino_envs.learning.evaluation import LearnerRating
from domino_envs.learning.runs import flag, new_folder, run_folders
from domino_envs.learning.supervisor import Supervisor
from domino_envs.policies import load_policy, read_card
from scripts import TRAINING, script, small_run

train = script("train")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = torch.get_num_threads()
    monkeypatch.chdir(tmp_path)
    yield
    torch.set_num_threads(threads)


def run(**changes: Any) -> Path | None:
    card: Path | None = train.main(train.Arguments(**small_run(**changes)))
    return card


def weights(card: Path | None) -> bytes:
    assert card is not None
    return card.with_suffix(".safetensors").read_bytes()


# What a run leaves behind


@pytest.mark.parametrize("game_name", ["mate", "five_bridges", "third_level"])
def test_a_run_ends_with_a_policy_that_plays(game_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    deals = {"evaluation_deals": 2, "final_deals": 3, "steps": 256}
    card_path = run(game=game_name, **deals)
    assert card_path == Path(f"runs/{game_name}/policy.json")
    card = read_card(card_path, get_game(game_name))
    assert card["training"]["plies"] == 256
    assert [entry["plies"] for entry in card["training"]["history"]] == [128, 256]
    assert {"random", "greedy"} <= set(card["training"]["history"][0])
    (evaluation,) = card["evaluation"]
    assert evaluation["wins"] + evaluation["draws"] + evaluation["losses"] == 6
    won = wilson_interval(evaluation["wins"], 6)
    assert evaluation["win_rate_wilson"] == won.as_json()
    printed = capsys.readouterr().out
    assert "128 plies" in printed
    assert f"saved {card_path}" in printed
    assert f"against random, 3 mirrored deals: {evaluation['wins']} won" in printed
    assert f"win rate {won.text(100)} % (95 % Wilson interval)" in printed
    env_id = "domino_envs/" + "".join(word.capitalize() for word in game_name.split("_")) + "-v0"
    env = gymnasium.make(env_id, opponent="runs/" + game_name)
    env.reset(seed=0)
    env.close()


def test_learning_curves_are_written_for_tensorboard() -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run()
    events = EventAccumulator("runs/mate/tensorboard").Reload()
    tags = set(events.Tags()["scalars"])
    assert {"train/value_loss", "train/entropy_loss", "time/fps", "evaluation/random", "evaluation/regret"} <= tags
    assert [event.step for event in events.Scalars("train/value_loss")][-1] > 500


def test_the_command_on_the_card_repeats_the_run() -> None:
    first = run(seed=4, scripted=("greedy",), entropy=(0.05, 0.01))
    words = shlex.split(read_card(str(first))["training"]["command"])
    assert words[:3] == ["python", "training/train.py", "mate"]
    assert "--out" not in words
    assert words[words.index("--scripted") :][:2] == ["--scripted", "greedy"]
    args = train.tyro.cli(train.Arguments, args=words[2:])
    assert dataclasses.asdict(args)["sizes"] == {"width": 8, "rounds": 1}
    second = train.main(args)
    assert second == Path("runs/mate-2/policy.json")
    assert weights(second) == weights(first)


def test_the_learner_can_be_rated_against_others_than_those_of_its_pool() -> None:
    card = read_card(str(run(scripted=("random",), rungs=("greedy", "search:2"))))
    assert {"greedy", "search:2"} <= set(card["training"]["history"][-1])
    assert "random" not in card["training"]["history"][-1]
    assert "--rungs greedy search:2" in card["training"]["command"]


def test_another_seed_gives_another_policy() -> None:
    assert weights(run(seed=1)) != weights(run(seed=2))


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("when", ["in the iteration", "between two"])
def test_a_run_that_was_stopped_ends_like_one_that_was_not(
    when: str, exactly: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    teaching = {"exact": True, "epochs": 0} if exactly else {}
    whole = run(out=Path("whole"), **teaching)
    prepare = Supervisor._prepare

    def stop(self: Supervisor) -> None:
        prepare(self)
        if self._iterations == 3 and when == "between two":  # right after an evaluation and a new past self
            self.learner.stop()

    def on_step(self: Supervisor) -> bool:
        if self._iterations == 4 and when == "in the iteration":
            self.learner.stop()
        return True

    with monkeypatch.context() as patch:
        patch.setattr(Supervisor, "_prepare", stop)
        patch.setattr(Supervisor, "_on_step", on_step)
        assert run(out=Path("parts"), **teaching) is None
    plies = 384 if when == "between two" else 512
    assert f"stopped after {plies} plies; go on with: python training/train.py mate --resume --out parts" in (
        capsys.readouterr().out
    )
    assert read_checkpoint_facts(Path("parts"))["steps"] == plies
    assert not Path("parts/policy.json").exists()
    parts = train.main(train.Arguments("mate", resume=True, out=Path("parts")))
    assert f"going on with parts after {plies} plies" in capsys.readouterr().out
    assert weights(parts) == weights(whole)
    for name in ("history", "steps", "updates", "digest"):
        ours, theirs = (read_checkpoint_facts(Path(folder))[name] for folder in ("whole", "parts"))
        if name == "history":
            ours, theirs = ([{**entry, "seconds": None} for entry in history] for history in (ours, theirs))
        assert ours == theirs, name


def test_a_run_can_be_made_longer() -> None:
    run(steps=256)
    card = train.main(train.Arguments("mate", resume=True, steps=512))
    assert card == Path("runs/mate/policy.json")
    training = read_card(card)["training"]
    assert training["plies"] == training["arguments"]["steps"] == 512


def test_minutes_are_a_budget_too() -> None:
    card = read_card(str(run(steps=None, minutes=0.02)))
    assert 1.2 <= card["training"]["seconds"] < 60
    assert card["training"]["plies"] >= 128
    assert " --minutes 0.02 " in card["training"]["command"]
    assert "--steps" not in card["training"]["command"]


def test_a_run_without_the_policy_gradient_needs_another_teacher() -> None:
    with pytest.raises(ValueError, match="--epochs must be at least 1"):
        run(epochs=0, search_simulations=0)
    with pytest.raises(ValueError, match="--exact: exact targets are there for mate, not for five_bridges"):
        run(game="five_bridges", exact=True)


def test_starting_from_a_saved_policy() -> None:
    first = run()
    assert first is not None
    args = train.with_defaults(train.Arguments(**small_run(init=f"policy:{first}", sizes={}, steps=128)))
    assert (args.network, args.sizes) == ("mate_graph", {"width": 8, "rounds": 1})
    learner = train.build(args, get_game("mate"))
    saved = load_policy(first)
    batch = learner.players.batch
    with torch.no_grad():
        logits, _ = learner.network(torch.from_numpy(batch.observations), torch.from_numpy(batch.action_masks))
    legal = batch.action_masks != 0
    np.testing.assert_allclose(
        logits.numpy()[legal], saved.evaluate(batch.observations, batch.action_masks)[0][legal], atol=1e-4
    )
    second = train.main(args)
    assert second is not None
    before, after = read_card(first)["training"], read_card(second)["training"]
    assert after["continues"] == {name: before[name] for name in ("command", "plies", "seconds")}


def test_starting_with_further_rounds() -> None:
    first = run(learning_rate=0.01)
    assert first is not None
    args = train.with_defaults(train.Arguments(**small_run(init=str(first), sizes={"rounds": 4}, steps=128)))
    assert args.sizes == {"width": 8, "rounds": 4}
    learner = train.build(args, get_game("mate"))
    batch = learner.players.batch
    legal = batch.action_masks != 0
    with torch.no_grad():
        logits, _ = learner.network(torch.from_numpy(batch.observations), torch.from_numpy(batch.action_masks))
    saved = load_policy(first).evaluate(batch.observations, batch.action_masks)[0][legal]
    assert np.abs(logits.numpy()[legal] - saved).max() < 0.2 * np.abs(saved).max()
    last = learner.network.updates[3].weight  # type: ignore[index, union-attr]
    before = last.detach().clone()
    learner.learn(128)
    assert not torch.equal(last, before)
    with pytest.raises(ValueError, match=r"--init: .*does not fit this network"):
        run(init=str(first), sizes={"width": 9})


def test_mate_is_learned() -> None:
    card = run(
        sizes={"width": 24, "rounds": 4},
        steps=24_576,
        lanes=64,
        rollout=24,
        batch_size=256,
        epochs=3,
        learning_rate=3e-3,
        evaluations=2,
        evaluation_deals=40,
        final_deals=200,
    )
    (evaluation,) = read_card(str(card))["evaluation"]
    assert evaluation["win_rate_wilson"]["low"] > 0.5
    assert evaluation["points"]["low"] > 0.5


# Ctrl-C, for real


def start(*arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "error"}
    command = [sys.executable, str(TRAINING / "train.py"), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_saves_and_resume_finishes() -> None:
    tiny = "--lanes 16 --rollout 8 --batch-size 64 --sizes width 8 rounds 1 --evaluation-deals 2 --final-deals 3"
    process = start(*f"mate --steps 10000000 {tiny} --evaluations 100000".split())
    assert process.stdout is not None
    assert "plies" in process.stdout.readline()  # the first evaluation: it is learning
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "stopping after this iteration; Ctrl-C again leaves at once" in errors
    assert "Traceback" not in errors
    assert "go on with: python training/train.py mate --resume --out runs/mate" in out
    done = read_checkpoint_facts(Path("runs/mate"))["steps"]
    assert done >= 128
    process = start("mate", "--resume", "--steps", str(done + 128))
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert f"going on with runs/mate after {done:,} plies" in out
    assert read_card("runs/mate")["training"]["plies"] == done + 128


# Never lose a run


def test_runs_do_not_overwrite_each_other() -> None:
    run(steps=128)
    before = checkpoint_path(Path("runs/mate")).read_bytes()
    assert run(steps=128) == Path("runs/mate-2/policy.json")
    Path("runs/mate-2").rename("runs/mate-11")
    assert run(steps=128) == Path("runs/mate-12/policy.json")
    assert run_folders(Path("runs"), "mate") == [Path("runs/mate"), Path("runs/mate-11"), Path("runs/mate-12")]
    with pytest.raises(ValueError, match=r"--out: there is a run in runs/mate; go on with --resume"):
        run(out=Path("runs/mate"))
    assert checkpoint_path(Path("runs/mate")).read_bytes() == before


def test_folders_of_other_names_are_no_runs(tmp_path: Path) -> None:
    for name in ("mate_old", "mate-x", "mate-3-4", "domaster"):
        (tmp_path / name).mkdir()
    assert run_folders(tmp_path, "mate") == []
    assert new_folder(tmp_path, "mate") == tmp_path / "mate"


def spoil(path: Path, how: str) -> None:
    content = path.read_bytes()
    position = content.rindex(b"\x00\x00\x80\x3f") if how == "number" else len(content) // 2
    path.write_bytes(
        {
            "cut": content[:position],
            "empty": b"",
            "pickle": b"\x80\x04K\x01.",
            "number": content[:position] + b"\x01" + content[position + 1 :],
        }[how]
    )


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("cut", "is no checkpoint that can be read"),
        ("empty", "is no checkpoint that can be read"),
        ("pickle", "is no checkpoint that can be read"),
        ("number", "was altered: its numbers have not the SHA-256 that it names"),
    ],
)
def test_a_spoilt_checkpoint_is_refused_and_left_alone(how: str, message: str) -> None:
    run(steps=128)
    path = checkpoint_path(Path("runs/mate"))
    spoil(path, how)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=rf"runs/mate/checkpoint\.safetensors {message}"):
        train.main(train.Arguments("mate", resume=True))
    assert path.read_bytes() == before
    assert load_policy("runs/mate").name == "policy"


def test_a_policy_is_no_checkpoint_and_rules_must_be_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    run(steps=128)
    with monkeypatch.context() as patch:
        patch.setattr("domino_envs.learning.checkpoint.layout_description", lambda game: [])
        with pytest.raises(CheckpointError, match="was written for another layout of Mate"):
            train.main(train.Arguments("mate", resume=True))
    path = checkpoint_path(Path("runs/mate"))
    path.write_bytes(Path("runs/mate/policy.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match="is no checkpoint that can be read"):
        train.main(train.Arguments("mate", resume=True))


def test_a_checkpoint_of_other_sizes_does_not_fit() -> None:
    run(steps=128)
    args = train.with_defaults(train.Arguments(**small_run(lanes=32)))
    learner = train.build(args, get_game("mate"))
    learner.set_logger(train.configure(None, []))
    learner._setup_learn(1, None)
    with pytest.raises(CheckpointError, match="does not fit this run"):
        train.load_checkpoint(Path("runs/mate"), learner)


@pytest.mark.parametrize(("last", "kept"), [(0.85, True), (0.75, False)])
def test_the_last_weights_are_the_best_unless_that_is_more_than_chance(
    last: float, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ratings = iter([LearnerRating(0.9, 0.1), *([LearnerRating(0.3, 0.1)] * 2), LearnerRating(last, 0.1)])
    monkeypatch.setattr("domino_envs.learning.supervisor.rate_learner", lambda *given, **named: next(ratings))
    run(steps=512, evaluations=4)
    facts, best = read_weights(Path("runs/mate"))
    _, latest = read_weights(Path("runs/mate"), latest=True)
    assert [entry["quality"] for entry in facts["history"]] == [0.9, 0.3, 0.3, last]
    assert best.keys() == latest.keys()
    assert all(torch.equal(best[name], latest[name]) for name in best) == kept


# Wrong arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "--steps must be at least 1, got 0"),
        ({"opening": -1}, "--opening must be at least 0, got -1"),
        ({"lanes": -3}, "--lanes must be at least 1, got -3"),
        ({"batch_size": 1}, "--batch-size must be at least 2, got 1"),
        ({"lanes": 1, "rollout": 1}, "--lanes times --rollout must be at least 2"),
        ({"minutes": 0.0}, "--minutes must be above 0, got 0.0"),
        ({"minutes": float("nan")}, "--minutes must be above 0, got nan"),
        ({"self_play": 1.5}, "--self-play must be from 0 to 1, got 1.5"),
        ({"gamma": 1.1}, "--gamma must be from 0 to 1"),
        ({"gae_lambda": -0.1}, "--gae-lambda must be from 0 to 1"),
        ({"entropy": (0.1, -1.0)}, r"--entropy must be two numbers of at least 0, got \(0.1, -1.0\)"),
        ({"learning_rate": -1.0}, "--learning-rate must be above 0"),
        ({"seed": -1}, "--seed must be at least 0"),
        ({"evaluation_deals": 0}, "--evaluation-deals must be at least 1"),
        ({"episode": "evening"}, "--episode: episode must be one of .*, got 'evening'"),
        ({"scripted": ("randon",)}, "--scripted: unknown opponent 'randon', expected one of "),
        ({"rungs": ("serach:10",)}, "--rungs: unknown opponent 'serach:10', expected one of "),
        ({"network": "resnet"}, "--network: unknown network 'resnet', expected one of 'mlp', "),
        ({"sizes": {"depth": 2}}, "--network: network 'mate_graph' does not take the sizes {'depth': 2}"),
        ({"sizes": {"width": 0}}, "--sizes must be at least 1, got width 0"),
        ({"parameters": {"hand_size": 4}}, "--parameters: mate does not take {'hand_size': 4}"),
        ({"init": "no-such"}, "--init: there is no policy 'no-such'"),
    ],
)
def test_wrong_arguments_name_their_flag(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(**arguments)
    assert not Path("runs").exists()


def test_going_on_with_nothing_or_otherwise() -> None:
    with pytest.raises(CheckpointError, match="there is no run of mate in runs to go on with"):
        train.main(train.Arguments("mate", resume=True))
    with pytest.raises(CheckpointError, match=r"there is no checkpoint in elsewhere: expected elsewhere/checkpoint"):
        train.main(train.Arguments("mate", resume=True, out=Path("elsewhere")))
    run(steps=128, seed=3)
    with pytest.raises(ValueError, match="--seed cannot be changed by --resume, the run has 3"):
        train.main(train.Arguments("mate", resume=True, seed=4))
    with pytest.raises(CheckpointError, match="the run in runs/mate trains mate, not domaster"):
        train.main(train.Arguments("domaster", resume=True, out=Path("runs/mate")))
    with pytest.raises(ValueError, match="--steps must be at least 1, got 0"):
        train.main(train.Arguments("mate", resume=True, steps=0))


def test_a_policy_of_another_game_is_no_start() -> None:
    first = run(steps=128)
    with pytest.raises(ValueError, match=r"--init: runs/mate/policy\.json is for game 'mate', expected 'domaster'"):
        train.with_defaults(train.Arguments("domaster", init=str(first)))


def test_the_command_line_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_info:
        train.tyro.cli(train.Arguments, args=["--help"], description=train.help_text(train.__doc__))
    assert exit_info.value.code == 0
    shown = capsys.readouterr().out
    for field in dataclasses.fields(train.Arguments):
        assert field.name == "game" or flag(field.name) in shown, field.name
    assert "python training/train.py mate" in shown
    assert f"steps {train.DEFAULTS['mate']['steps']}" in shown
    with pytest.raises(SystemExit) as exit_info:
        train.tyro.cli(train.Arguments, args=["chess"])
    assert exit_info.value.code == 2
    errors = capsys.readouterr().err
    assert all(name in errors for name in game_names())


def test_the_script_prints_errors_in_one_line() -> None:
    process = start("mate", "--steps", "0")
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out, errors) == (1, "", "error: --steps must be at least 1, got 0\n")


def test_every_game_has_defaults() -> None:
    assert set(train.DEFAULTS) == set(game_names())
    for name in game_names():
        args = train.with_defaults(train.Arguments(name))
        assert all(getattr(args, key) is not None for key in ("steps", "reward", "lanes", "rollout", "network"))
        assert args.lanes * args.rollout % args.batch_size == 0
        json.dumps(train.as_json(args))
