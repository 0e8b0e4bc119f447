"""Tests of saved policies: how they play, and ``domino-envs policies``."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

import domino_envs
from domino_envs.agents import make_agent
from domino_envs.agents.policy_agent import PolicyAgent, choose_from_logits
from domino_envs.agents.positions import random_positions
from domino_envs.arena import play_match
from domino_envs.arena.exact import views
from domino_envs.cli import main as command_line
from domino_envs.games import Game, get_game
from domino_envs.policies import (
    PolicyError,
    load_policy,
    policy_paths,
    read_card,
    shipped_policies,
    write_card,
)


def positions(game: Game, count: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    return views(game, random_positions(game, count, seed=3))


# Playing


def test_evaluate_says_what_is_wrong_with_its_input(mate_policy: Path) -> None:
    policy = load_policy(mate_policy)
    seen, masks = positions(policy.game, 3)
    with pytest.raises(ValueError, match=r"observations must have the shape \(n, \d+\), got \(3, 5\)"):
        policy.evaluate(seen[:, :5], masks)
    with pytest.raises(ValueError, match=r"observations must have the shape \(n, \d+\), got \(\d+,\)"):
        policy.evaluate(seen[0], masks[0])
    with pytest.raises(ValueError, match=r"action_masks must have the shape \(3, 42\), got \(2, 42\)"):
        policy.evaluate(seen, masks[:2])


def test_masks_may_be_bool_and_arrays_may_be_strided(mate_policy: Path) -> None:
    policy = load_policy(mate_policy)
    seen, masks = positions(policy.game, 40)
    expected = policy.evaluate(seen, masks)
    np.testing.assert_array_equal(policy.evaluate(seen, masks.astype(bool))[0], expected[0])
    np.testing.assert_allclose(policy.evaluate(seen[::2], masks[::2])[0], expected[0][::2], rtol=1e-5, atol=1e-5)
    assert policy.evaluate(seen[:0], masks[:0])[0].shape == (0, 42)


def test_probabilities_are_those_that_moves_are_drawn_with(mate_policy: Path) -> None:
    game = get_game("mate")
    seen, masks = positions(game, 30)
    row = int(masks.sum(axis=1).argmax())
    agent = PolicyAgent(game, str(mate_policy), seed=1)
    chances = agent.probabilities(seen, masks)
    assert chances.dtype == np.float32
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-5)
    assert (chances[masks == 0] == 0).all()
    many = 20_000
    drawn = agent.act(seen[[row] * many], masks[[row] * many])
    np.testing.assert_allclose(np.bincount(drawn, minlength=42) / many, chances[row], atol=0.015)
    one_by_one = [agent.act_one(seen[row], masks[row]) for _ in range(2000)]
    np.testing.assert_allclose(np.bincount(one_by_one, minlength=42) / 2000, chances[row], atol=0.05)


def test_the_best_move_is_the_likeliest_one(mate_policy: Path) -> None:
    game = get_game("mate")
    seen, masks = positions(game, 30)
    agent = PolicyAgent(game, str(mate_policy), mode="best")
    best = agent.act(seen, masks)
    np.testing.assert_array_equal(best, agent.probabilities(seen, masks).argmax(axis=1))
    assert [agent.act_one(*position) for position in zip(seen, masks, strict=True)] == best.tolist()
    policy = load_policy(mate_policy)
    assert [policy(*position) for position in zip(seen, masks, strict=True)] == best.tolist()


def test_illegal_actions_are_never_chosen_whatever_the_logits() -> None:
    rng = np.random.default_rng(0)
    masks = rng.random((500, 30)) < 0.1
    masks[np.arange(500), rng.integers(30, size=500)] = True
    logits = np.where(masks, rng.normal(scale=50, size=masks.shape) - 3e9, 1e6).astype(np.float32)
    for generator in (rng, None):
        chosen = choose_from_logits(logits, masks, generator)
        assert masks[np.arange(500), chosen].all()


def test_equal_seeds_draw_equal_moves(mate_policy: Path) -> None:
    game = get_game("mate")
    seen, masks = positions(game, 200)
    first, second, other = (PolicyAgent(game, str(mate_policy), seed=seed) for seed in (5, 5, 6))
    moves = first.act(seen, masks)
    np.testing.assert_array_equal(moves, second.act(seen, masks))
    assert (moves != other.act(seen, masks)).any()
    first.reseed(5)
    np.testing.assert_array_equal(moves, first.act(seen, masks))


def test_copies_and_pickles_go_on_alike(mate_policy: Path) -> None:
    game = get_game("mate")
    seen, masks = positions(game, 200)
    agent = PolicyAgent(game, str(mate_policy), seed=5)
    agent.act(seen, masks)
    copied, pickled = copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))
    moves = agent.act(seen, masks)
    for twin in (copied, pickled):
        assert twin.name == agent.name
        np.testing.assert_array_equal(twin.act(seen, masks), moves)
    assert copied.policy is agent.policy
    assert pickled.policy.card == agent.policy.card


@pytest.mark.parametrize("how", ["path", "loaded", "callable"])
def test_as_the_opponent_of_an_environment(how: str, mate_policy: Path) -> None:
    policy = load_policy(mate_policy)
    opponent = {"path": str(mate_policy), "loaded": policy, "callable": policy.__call__}[how]
    env = gymnasium.make("domino_envs/Mate-v0", opponent=opponent)
    _, info = env.reset(seed=0)
    rewards = []
    for _ in range(60):
        _, reward, terminated, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        if terminated:
            rewards.append(reward)
            _, info = env.reset()
    assert rewards
    assert not any("illegal_action" in info for info in [info])
    env.close()


def test_a_loaded_policy_of_another_game_is_no_opponent(mate_policy: Path) -> None:
    with pytest.raises(PolicyError, match=r"the policy mine plays Game\(mate\), not Game\(domaster\)"):
        make_agent(load_policy(mate_policy), get_game("domaster"))


def test_in_a_match(mate_policy: Path) -> None:
    result = play_match("mate", str(mate_policy), "random", deals=10)
    assert result.complete
    assert result.players == [str(mate_policy), "random"]


# The command line


def test_the_table_of_policies(mate_policy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["policies", str(mate_policy)]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["policy", "game", "Elo"]
    assert row.split()[:3] == [str(mate_policy), "mate", "-"]
    assert " 512 " in row


def test_policies_as_json(mate_policy_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_card(
        mate_policy_copy,
        {**read_card(mate_policy_copy), "scorecard": {"elo": {"value": 612.3, "low": 590, "high": 640}}},
    )
    assert command_line(["policies", "--json", str(mate_policy_copy)]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["game"] == "mate"
    assert shown["elo"] == 612.3
    assert shown["bytes"]["onnx"] == mate_policy_copy.with_suffix(".onnx").stat().st_size
    assert command_line(["policies", str(mate_policy_copy)]) == 0
    assert " 612 " in capsys.readouterr().out


def test_shipped_policies_are_listed_whole_and_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["policies", "--json"]) == 0
    shown = capsys.readouterr().out
    if not shipped_policies():
        assert shown == "[]\n"
        return
    assert [one["name"] for one in json.loads(shown)] == list(shipped_policies())
    for name in shipped_policies():
        assert load_policy(name).card["licence"] == "MIT"
        assert all(path.stat().st_size <= 2 * 2**20 for path in policy_paths(name).values())


def test_a_spoilt_policy_is_not_listed(mate_policy_copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mate_policy_copy.with_suffix(".onnx").write_bytes(b"")
    assert command_line(["policies", str(mate_policy_copy)]) == 2
    assert "mine.onnx was altered or cut" in capsys.readouterr().err


# Imports


def run_python(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_playing_needs_no_torch(mate_policy: Path) -> None:
    code = """
import sys
for name in ("torch", "onnx", "safetensors", "stable_baselines3", "sb3_contrib", "tyro", "tqdm"):
    sys.modules[name] = None
import domino_envs, gymnasium
assert not {"onnxruntime", "numba", "domino_envs.policies"} & set(sys.modules), "imported too early"
policy = domino_envs.load_policy(sys.argv[1])
env = gymnasium.make("domino_envs/Mate-v0", opponent=sys.argv[1])
observation, info = env.reset(seed=1)
terminated = False
while not terminated:
    observation, reward, terminated, _, info = env.step(policy(observation, info["action_mask"]))
print(reward)
"""
    assert float(run_python(code, str(mate_policy))) in (-1.0, 0.0, 1.0)


def test_load_policy_is_part_of_the_package() -> None:
    assert domino_envs.load_policy is load_policy
    with pytest.raises(AttributeError, match="module 'domino_envs' has no attribute 'load_polices'"):
        domino_envs.load_polices  # noqa: B018
