"""The bench: what it plans, how it reports, and that each measurement runs. No test looks at a speed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domino_envs.bench import ours, peers, plan, ppo, report, startup
from domino_envs.bench.child import measure, run_child, usable_cores
from domino_envs.bench.timing import rates
from domino_envs.cli import main

FEW = {"seconds": 0.01, "repeats": 3}


def test_rates_are_work_over_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def work() -> int:
        nonlocal now
        now += 0.25
        return 100

    monkeypatch.setattr("domino_envs.bench.timing.time.perf_counter", lambda: now)
    assert rates(work, 10.0, 4) == [400.0] * 4
    assert 10.0 <= now <= 11.5
    assert rates(work, 0.0, 2) == [400.0] * 2  # at least one piece each


def test_the_plan_has_all_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "usable_cores", lambda: [0, 1, 2])
    found = plan.make_plan(["mate", "domaster"], peers=True, seconds=1.5, quick=False)
    assert {m.request["peer"] for m in found if m.game is None} == set(peers.PEERS)
    for game in ("mate", "domaster"):
        mine = [m.request for m in found if m.game == game]
        batches = {(r["lanes"], r["cores"]) for r in mine if r["what"] == "batch"}
        assert batches == {(lanes, cores) for lanes in (1, 64, 1024, 16384) for cores in (1, 3)}
        assert {r["what"] for r in mine} == {"single", "batch", "sb3", "ppo", "startup", "memory"}
        assert all((r["seconds"], r["repeats"]) == (1.5, 7) for r in mine)
    quick = plan.make_plan(["mate"], peers=False, seconds=0.1, quick=True)
    assert {m.request["what"] for m in quick} == {"single", "batch", "sb3", "memory"}
    labels = [m.label for m in found if m.game is None]
    assert {m.compared_with for m in found if m.compared_with} <= set(labels)
    monkeypatch.setattr(plan, "usable_cores", lambda: [0])
    alone = plan.make_plan(["mate"], peers=True, seconds=1, quick=True)
    assert {m.request["cores"] for m in alone} == {1}


def test_what_cannot_be_measured_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(request: dict[str, Any]) -> Any:
        raise RuntimeError("XlaRuntimeError: no")

    monkeypatch.setattr(plan, "run_child", broken)
    missing = plan.Measurement("a", "per second", {"peer": "x"}, needs="no_such_module")
    failing = plan.Measurement("b", "per second", {"peer": "x"})
    told: list[str] = []
    plan.run_plan([missing, failing], told.append)
    assert told == ["[1/2] peer: a", "[2/2] peer: b"]
    assert missing.error == "not measured: no_such_module is not installed"
    assert failing.error == "not measured: XlaRuntimeError: no"
    assert "no_such_module is not installed" in report.tables([missing, failing])


def measured(label: str, unit: str, game: str | None, values: dict[str, list[float]], **more: Any) -> plan.Measurement:
    return plan.Measurement(label, unit, {"game": game} if game else {"peer": label}, values=values, **more)


def test_tables_show_medians_ranges_and_ratios() -> None:
    text = report.tables(
        [
            measured("Peer, 1 core", "per second", None, {"value": [1000.0, 3000.0, 2000.0]}),
            measured(
                "single", "per second", "mate", {"value": [9000.0, 30000.0, 8000.0]}, compared_with="Peer, 1 core"
            ),
            measured("batch", "per second", "mate", {"value": [5.0]}, compared_with="Other, 1 core"),
            measured("MaskablePPO", "per second", "mate", {"ours": [90.0, 80.0, 10.0], "free": [100.0, 100.0, 10.0]}),
            measured("memory", "bytes", "mate", {"value": [3.0 * 2**20]}),
            measured("first step", "seconds", "third_level", {"single, cached": [0.5, 1.5, 1.0]}),
        ]
    )
    peer, mate, third_level = (block.splitlines() for block in text.split("\n\n"))
    assert peer[0].split() == ["Peers", "median", "lowest", "to", "highest", "compared"]
    assert peer[1].split() == ["Peer,", "1", "core", "2,000/s", "1,000/s", "to", "3,000/s"]
    assert mate[1].split()[:2] == ["single", "9,000/s"]
    assert mate[1].endswith("4.5 x Peer, 1 core")
    assert mate[2].split() == ["batch", "5/s"]
    assert mate[3].endswith("90% of the free environment")
    assert mate[4].split()[:2] == ["MaskablePPO,", "free"]
    assert mate[5].split() == ["memory", "3", "MiB"]
    assert third_level[0].startswith("Third Level")
    assert third_level[1].split() == [
        "first",
        "step,",
        "single,",
        "cached",
        "1.00",
        "s",
        "0.50",
        "s",
        "to",
        "1.50",
        "s",
    ]


def test_the_command_prints_tables_and_writes_json(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[dict[str, Any]] = []

    def instead(request: dict[str, Any]) -> dict[str, list[float]]:
        asked.append(request)
        return {"value": [10.0, 20.0, 30.0]}

    monkeypatch.setattr(plan, "run_child", instead)
    file = tmp_path / "speed.json"
    assert main(["bench", "--quick", "--games", "mate", "--no-peers", "--seconds", "0.5", "--json", str(file)]) == 0
    shown = capsys.readouterr()
    assert "Mate" in shown.out
    assert f"{len(usable_cores())} cores" in shown.out
    assert "numpy" in shown.out
    assert shown.err.count("\n") == len(asked)
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["format"] == 1
    assert written["machine"]["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert [m["request"] for m in written["measurements"]] == asked
    assert all(m["medians"] == {"value": 20.0} and m["game"] == "mate" for m in written["measurements"])
    assert {request["seconds"] for request in asked} == {0.5}
    assert main(["bench", "--quick", "--games", "mate", "--no-peers", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["measurements"]


def test_ctrl_c_shows_what_has_been_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def instead(request: dict[str, Any]) -> dict[str, list[float]]:
        if request["what"] == "sb3":
            raise KeyboardInterrupt
        return {"value": [10.0]}

    monkeypatch.setattr(plan, "run_child", instead)
    assert main(["bench", "--quick", "--games", "mate", "--no-peers"]) == 130
    shown = capsys.readouterr().out
    assert "batch of 64" in shown
    assert "memory" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--seconds", "0"], "--seconds must be"), (["--json", "/nowhere/at/all.json"], "/nowhere/at/all.json")],
)
def test_bad_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--games", "mate", "--no-peers", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "request_",
    [
        {"what": "single", "game": "mate", **FEW},
        {"what": "batch", "game": "mate", "lanes": 3, "cores": 1, **FEW},
        {"what": "sb3", "game": "domaster", "lanes": 4, **FEW},
        {"what": "peer", "peer": "PettingZoo connect_four_v3", **FEW},
    ],
    ids=lambda request: request["what"],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning:pettingzoo")
def test_speeds_are_measured(request_: dict[str, Any]) -> None:
    found = measure(request_)
    assert list(found) == ["value"]
    assert len(found["value"]) == 3
    assert min(found["value"]) > 0


def test_memory_grows_with_the_batch() -> None:
    small, large = (measure({"what": "memory", "game": "mate", "lanes": lanes})["value"][0] for lanes in (64, 200_000))
    assert large - small > 200_000 * 200  # bytes of arrays a lane


def test_an_unknown_measurement() -> None:
    with pytest.raises(ValueError, match="nothing is called 'beauty'"):
        measure({"what": "beauty", **FEW})


def test_a_measurement_in_a_process_of_its_own() -> None:
    found = run_child({"what": "batch", "game": "mate", "lanes": 2, "cores": 1, **FEW})
    assert len(found["value"]) == 3
    with pytest.raises(RuntimeError, match="KeyError: 'no peer'"):
        run_child({"what": "peer", "peer": "no peer", "cores": 1, **FEW})


def test_startup_measures_an_empty_and_a_full_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    folders: list[tuple[str, str]] = []

    def instead(command: list[str], env: dict[str, str], **named: Any) -> None:
        folders.append((command[-1], env["DOMINO_ENVS_CACHE_DIR"]))

    monkeypatch.setattr(startup.subprocess, "run", instead)
    found = startup.startup_seconds("mate", 2)
    assert {name: len(values) for name, values in found.items()} == {
        "single, first": 1,
        "single, cached": 2,
        "batch, first": 1,
        "batch, cached": 2,
    }
    assert len({folder for _, folder in folders}) == 2
    assert len({folder for _, folder in folders[:3]}) == 1


@pytest.mark.parametrize("name", startup.SCRIPTS)
def test_the_startup_scripts_run(name: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", startup.SCRIPTS[name], "mate"], check=True)


def test_ppo_runs_on_ours_and_on_the_free_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"NUM_ENVS": 8, "STEPS": 8, "MINIBATCH": 32, "EPOCHS": 1}.items():
        monkeypatch.setattr(ppo, name, value)
    found = ppo.measure_ppo("mate", 2)
    assert {name: len(values) for name, values in found.items()} == {"ours": 2, "free": 2}
    assert min(found["ours"] + found["free"]) > 0


def test_the_free_environment_has_our_shapes() -> None:
    from domino_envs.vector import sb3_vec_env

    env = sb3_vec_env("mate", 3, seed=0)
    observations = env.reset()
    free = ppo.FreeVecEnv(observations, env.action_masks(), env)
    assert free.reset().tolist() == observations.tolist()
    shown, rewards, dones, infos = free.step(np.zeros(3, dtype=np.int64))
    real = env.step(env.action_masks().argmax(axis=1))
    for mine, other in zip((shown, rewards, dones), real, strict=False):
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
    assert len(infos) == 3
    assert free.env_method("action_masks").shape == (3, 42)


def test_random_play_meets_every_end() -> None:
    """The measured loop starts a new episode where one ends, also in a peer without our guarantees."""

    class Env:
        def __init__(self) -> None:
            self.moves, self.resets = 0, 0

        def last(self) -> Any:
            return {"action_mask": np.array([0, 1], dtype=np.int8)}, 0, self.moves == 3, False, {}

        def step(self, action: int) -> None:
            assert action == 1
            self.moves += 1

        def reset(self) -> None:
            self.resets, self.moves = self.resets + 1, 0

    env = Env()
    assert ours.play_aec(env, np.random.default_rng(0)) == 200
    assert env.resets == 50
