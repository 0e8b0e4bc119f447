"""Compiled kernels come from the disk in the next process, and what comes from there works (trap: recursion)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from domino_envs.jit import JIT_DISABLED, cache_directory

# Plays a deal on the batch with each opponent, and one in the PettingZoo environment; tells what had to be compiled.
PLAY = """
import json
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
from domino_envs import mate_v0
from domino_envs.agents import make_agent
from domino_envs.batch_single import BatchSinglePlayer
from domino_envs.games import get_game

found = {}
for name, opponent in (
    ("mate", "greedy"), ("mate", "perfect"), ("mate", "search:30"), ("domaster", "search:30"), ("domaster", "endgame")
):
    game = get_game(name)
    players = BatchSinglePlayer(game, 2, opponent=opponent, opponent_mode="best", episode="deal", seed=3)
    learner = make_agent("random", game, seed=4)
    while len(live := np.flatnonzero(~players.dones)):
        players.step(learner.act(players.batch.observations[live], players.batch.action_masks[live]), live)
    found[f"{name} {opponent}"] = [players.rewards.tolist(), players.batch.states["ply"].tolist()]
env = mate_v0.env(episode="deal")
env.reset(seed=1)
for agent in env.agent_iter():
    seen, _, over, _, _ = env.last()
    env.step(None if over else int(np.flatnonzero(seen["action_mask"])[0]))
compiled = sorted(
    f"{module.__name__}.{name}"
    for module in list(sys.modules.values())
    if getattr(module, "__name__", "").startswith("domino_envs")
    for name, value in vars(module).items()
    if isinstance(value, Dispatcher) and value.__module__ == module.__name__ and sum(value.stats.cache_misses.values())
)
hits = sum(
    sum(value.stats.cache_hits.values())
    for module in list(sys.modules.values())
    if getattr(module, "__name__", "").startswith("domino_envs")
    for value in vars(module).values()
    if isinstance(value, Dispatcher)
)
print(json.dumps({"found": found, "compiled": compiled, "hits": hits}))
"""


def play() -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PLAY], env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr}"
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_the_second_process_compiles_nothing_and_plays_the_same() -> None:
    first = play()
    files = {path.name for path in cache_directory().rglob("*") if path.suffix in (".nbi", ".nbc")}
    assert files
    second = play()
    assert second["compiled"] == []
    assert second["hits"] > 10
    assert second["found"] == first["found"]
    assert {path.name for path in cache_directory().rglob("*") if path.suffix in (".nbi", ".nbc")} == files


@pytest.mark.skipif(JIT_DISABLED or not hasattr(os, "openpty"), reason="nothing is compiled, or no terminal to be had")
def test_who_waits_at_a_terminal_is_told_once(tmp_path: Path) -> None:
    def shown(folder: str) -> str:
        ours, its = os.openpty()
        script = "from domino_envs.engine import lane_streams; lane_streams(1, 2); lane_streams(1, 3)"
        environment = {**os.environ, "DOMINO_ENVS_CACHE_DIR": folder}
        subprocess.run([sys.executable, "-c", script], env=environment, stderr=its, check=True)
        os.write(its, b"end\n")
        text = os.read(ours, 10_000).decode()
        os.close(its)
        os.close(ours)
        return text

    first = shown(str(tmp_path))
    assert first.count("domino_envs: compiling, once") == 1
    assert str(tmp_path) in first
    assert shown(str(tmp_path)) == "end\r\n"
