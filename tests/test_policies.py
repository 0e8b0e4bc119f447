"""Tests of saved policies: loading, refusing, playing, and ``domino-envs policies``."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx.external_data_helper import set_external_data
from torch import Tensor, nn

import domino_envs
from domino_envs import policies
from domino_envs.agents import make_agent
from domino_envs.agents.policy_agent import PolicyAgent, choose_from_logits
from domino_envs.agents.positions import random_positions
from domino_envs.arena import play_match
from domino_envs.arena.exact import views
from domino_envs.cli import main as command_line
from domino_envs.games import Game, get_game
from domino_envs.learning.export import save_policy
from domino_envs.learning.policy import make_network
from domino_envs.policies import (
    PolicyError,
    load_policy,
    policy_paths,
    read_card,
    shipped_policies,
    write_card,
)

SUFFIXES = (".onnx", ".safetensors", ".json")


def write_random_policy(path: Path, game: Game, **facts: Any) -> Path:
    torch.manual_seed(2)
    network = make_network("mlp", game, {"width": 8, "blocks": 1})
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=0.4)
    save_policy(path, game, network, facts)
    return path


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy of Mate: the common path of its files."""
    return write_random_policy(tmp_path_factory.mktemp("original") / "mine", get_game("mate"), training={"plies": 512})


@pytest.fixture
def policy_path(original: Path, tmp_path: Path) -> Path:
    """A copy of it, to be spoiled."""
    for suffix in SUFFIXES:
        shutil.copy(f"{original}{suffix}", tmp_path)
    return tmp_path / "mine"


def positions(game: Game, count: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    return views(game, random_positions(game, count, seed=3))


# Finding the files


@pytest.mark.parametrize("written", ["{}", "{}.onnx", "{}.safetensors", "{}.json"])
def test_a_policy_is_found_by_any_of_its_paths(written: str, original: Path) -> None:
    source = written.format(original)
    assert load_policy(source).name == "mine"
    assert load_policy(Path(source), get_game("mate")).game is get_game("mate")
    assert domino_envs.load_policy(source).card == read_card(original)


def test_a_folder_that_holds_a_policy_is_one(original: Path, tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        shutil.copy(f"{original}{suffix}", tmp_path / f"policy{suffix}")
    assert load_policy(tmp_path).game.name == "mate"
    assert make_agent(str(tmp_path), get_game("mate")).name == f"policy:{tmp_path}"


def test_a_name_means_the_shipped_policy_whatever_lies_around(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "pretrained"
    shipped.mkdir()
    monkeypatch.setattr(policies, "PRETRAINED", shipped)
    for suffix in SUFFIXES:
        shutil.copy(f"{original}{suffix}", shipped / f"strong{suffix}")
        (tmp_path / f"strong{suffix}").write_text("something else")
        shutil.copy(f"{original}{suffix}", tmp_path / f"local{suffix}")
    monkeypatch.chdir(tmp_path)
    assert shipped_policies() == ("strong",)
    assert load_policy("strong").name == "mine"
    assert load_policy("local").name == "mine"
    assert make_agent("policy:strong", get_game("mate")).name == "policy:strong"
    for outside in ("./strong", "strong.json"):
        assert policy_paths(outside)[".onnx"] == Path("strong.onnx")
        with pytest.raises(PolicyError, match=r"strong\.json is no policy card"):
            load_policy(outside)
    with pytest.raises(PolicyError, match=r"strong\.json is no policy card"):
        make_agent("strong", get_game("mate"))  # a path, for it says nothing of a policy


def test_unknown_names_list_the_shipped_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PolicyError, match=r"there is no policy 'no-such'.*shipped policies are: "):
        load_policy("no-such")
    monkeypatch.setattr(policies, "PRETRAINED", tmp_path)
    (tmp_path / "a.json").touch()
    (tmp_path / "b-easy.json").touch()
    with pytest.raises(PolicyError, match=r"there is no policy 'no-such'.*shipped policies are: a, b-easy$"):
        make_agent("policy:no-such", get_game("mate"))
    for empty in ("", ".", "/"):
        with pytest.raises(PolicyError, match="given by its name or path"):
            load_policy(empty)


# Refusing what is wrong


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_missing_files(suffix: str, policy_path: Path) -> None:
    policy_path.with_suffix(suffix).unlink()
    with pytest.raises(PolicyError, match=rf"mine{suffix} is missing"):
        load_policy(policy_path)


@pytest.mark.skipif(os.name != "posix", reason="reads a folder")
def test_unreadable_file(policy_path: Path) -> None:
    policy_path.with_suffix(".onnx").unlink()
    policy_path.with_suffix(".onnx").mkdir()
    with pytest.raises(PolicyError, match=r"mine\.onnx cannot be read: Is a directory"):
        load_policy(policy_path)


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def empty(content: bytes) -> bytes:
    return b""


def longer(content: bytes) -> bytes:
    return content + b"\0"


@pytest.mark.parametrize("spoil", [cut, flip, empty, longer])
@pytest.mark.parametrize("suffix", [".onnx", ".safetensors"])
def test_altered_files(suffix: str, spoil: Callable[[bytes], bytes], policy_path: Path) -> None:
    path = policy_path.with_suffix(suffix)
    path.write_bytes(spoil(path.read_bytes()))
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(PolicyError, match=rf"mine{suffix} was altered or cut: its SHA-256 is {found}, the card says "):
        load_policy(policy_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no policy card: Expecting value"),
        ("{", "is no policy card: "),
        ("\x80", "is no policy card: 'utf-8'"),
        ("[]", "expected a JSON object, it holds a list"),
        ("{}", "it has no 'format'"),
        ("[" * 100_000, "is no policy card: "),
        ('{"format": 1, "name": "x"}', "it has no 'game'"),
    ],
)
def test_malformed_cards(text: str, message: str, policy_path: Path) -> None:
    policy_path.with_suffix(".json").write_bytes(text.encode("latin-1"))
    with pytest.raises(PolicyError, match=r"mine\.json .*" + message):
        load_policy(policy_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", 2, "has card format 2, expected 1"),
        ("format", "1", "'format' must be of type int, got '1'"),
        ("name", None, "'name' must be of type str, got None"),
        ("parameters", [], "'parameters' must be of type dict"),
        ("sha256", "abc", "'sha256' must be of type dict"),
        ("sha256", {}, r"onnx was altered or cut: .* the card says None"),
        ("game", "chess", "is for the game 'chess', expected one of domaster, five_bridges, mate, third_level"),
        ("game", "domaster", "is for num_actions 42, expected 100"),
        ("parameters", {"hand_size": 3}, "has parameters that mate does not take: .*hand_size"),
        ("parameters", {"hand_size": []}, "has parameters that mate does not take"),
        ("rules_version", 99, "is for rules_version 99, expected 1"),
        ("num_actions", 41, "is for num_actions 41, expected 42"),
        ("layout", [], "another layout of the observation of mate: expected 14 fields, the card has 0"),
        (
            "layout",
            [["my_hand", [22], 0, 1]],
            r"another layout .*: expected the field \['my_hand', \[21\], 0, 1\], the card has \['my_hand', \[22\]",
        ),
    ],
)
def test_cards_of_something_else(key: str, value: Any, message: str, policy_path: Path) -> None:
    card = json.loads(policy_path.with_suffix(".json").read_text())
    policy_path.with_suffix(".json").write_text(json.dumps({**card, key: value}))
    with pytest.raises(PolicyError, match=message):
        load_policy(policy_path)


def test_a_policy_of_another_game_or_with_other_parameters(original: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"mine\.json is for game 'mate', expected 'domaster'"):
        load_policy(original, get_game("domaster"))
    with pytest.raises(PolicyError, match="is for game 'mate', expected 'five_bridges'"):
        gymnasium.make("domino_envs/FiveBridges-v0", opponent=str(original))
    small = {"hand_size": 2, "board_size": 9}
    other = write_random_policy(tmp_path / "other", get_game("third_level", small))
    assert load_policy(other).game is get_game("third_level", small)
    with pytest.raises(
        PolicyError,
        match=r"is for parameters \{'hand_size': 2, 'board_size': 9\}, expected \{'hand_size': 3, 'board_size': 23\}",
    ):
        make_agent(other, get_game("third_level"))


def seal(path: Path, graph: bytes) -> None:
    """Put in another graph, with a card that says so."""
    path.with_suffix(".onnx").write_bytes(graph)
    write_card(path, read_card_unchecked(path))


def read_card_unchecked(path: Path) -> dict[str, Any]:
    card: dict[str, Any] = json.loads(path.with_suffix(".json").read_text())
    return card


class Foreign(nn.Module):
    """A graph of another kind; ``change`` spoils the results."""

    def __init__(self, change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], actions: int = 42) -> None:
        super().__init__()
        self.change = change
        self.actions = actions

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        value = observation.float().mean(dim=1) + action_mask.float().mean(dim=1)
        return self.change(value.unsqueeze(1).expand(-1, self.actions) + 0.0, value)


def export(
    module: nn.Module,
    path: Path,
    *,
    sizes: tuple[int, int] | None = None,
    dtype: torch.dtype = torch.int8,
    outputs: tuple[str, str] = ("logits", "value"),
    inputs: tuple[str, str] = ("observation", "action_mask"),
    rows: bool = True,
) -> bytes:
    import warnings

    observation, mask = sizes or (get_game("mate").layout.size, 42)
    batch = {0: "n"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            (torch.zeros(3, observation, dtype=dtype), torch.ones(3, mask, dtype=dtype)),
            str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=dict.fromkeys((*inputs, *outputs), batch) if rows else None,
            opset_version=17,
            dynamo=False,
        )
    return path.read_bytes()


def as_it_is(logits: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return logits, value


def too_few(logits: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return logits[:, :-1], value


def values_in_a_column(logits: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return logits, value.unsqueeze(1)


def in_double_precision(logits: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    return logits.double(), value


@pytest.mark.parametrize(
    ("change", "settings", "message"),
    [
        (as_it_is, {"outputs": ("scores", "value")}, "must map observation and action_mask to logits and value"),
        (as_it_is, {"inputs": ("obs", "mask")}, "must map .*, it maps mask, obs to logits, value"),
        (as_it_is, {"dtype": torch.float32}, r"observation must be int8 \(n, \d+\), it is tensor\(float\)"),
        (as_it_is, {"sizes": (80, 42)}, r"observation must be int8 \(n, \d+\), it is tensor\(int8\) \['n', 80\]"),
        (as_it_is, {"sizes": (get_game("mate").layout.size, 43)}, r"action_mask must be int8 \(n, 42\)"),
        (as_it_is, {"rows": False}, "does not run on 2 positions"),
        (too_few, {}, r"logits must be float32 \(2, 42\), it is float32 \(2, 41\)"),
        (values_in_a_column, {}, r"value must be float32 \(2,\), it is float32 \(2, 1\)"),
        (in_double_precision, {}, r"logits must be float32 \(2, 42\), it is float64"),
    ],
)
def test_graphs_that_are_no_policy(
    change: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]],
    settings: dict[str, Any],
    message: str,
    policy_path: Path,
    tmp_path: Path,
) -> None:
    seal(policy_path, export(Foreign(change), tmp_path / "foreign.onnx", **settings))
    with pytest.raises(PolicyError, match=r"mine\.onnx:? .*" + message):
        load_policy(policy_path)


@pytest.mark.parametrize("graph", [b"", b"PK\x03\x04 a zip", b"\x80\x04K\x01."])
def test_what_is_no_graph_at_all(graph: bytes, policy_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seal(policy_path, graph)
    with pytest.raises(PolicyError, match=r"mine\.onnx is no graph that ONNX Runtime can load"):
        load_policy(policy_path)
    assert capfd.readouterr() == ("", "")


def test_a_graph_that_reads_other_files_is_refused(
    policy_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = onnx.load(policy_path.with_suffix(".onnx"))
    weights = next(tensor for tensor in model.graph.initializer if tensor.raw_data)
    (tmp_path / "weights.bin").write_bytes(weights.raw_data)
    set_external_data(weights, location="weights.bin")
    weights.ClearField("raw_data")
    seal(policy_path, model.SerializeToString())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolicyError, match="is no graph that ONNX Runtime can load"):
        load_policy(policy_path)


def test_without_onnx_runtime(original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "domino_envs\[policies\]"') as error_info:
        load_policy(original)
    assert error_info.value.name == "onnxruntime"
    assert read_card(original)["name"] == "mine"  # the card needs no runtime


def test_nothing_of_ours_reads_a_pickle() -> None:
    root = Path(domino_envs.__file__).parent
    words = ("torch.load", "pickle.load", "np.load", "numpy.load", "joblib", "cloudpickle", "allow_pickle")
    for path in [*root.rglob("*.py"), *(root.parent / "training").glob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in words), path


# Playing


def test_evaluate_says_what_is_wrong_with_its_input(original: Path) -> None:
    policy = load_policy(original)
    seen, masks = positions(policy.game, 3)
    with pytest.raises(ValueError, match=r"observations must have the shape \(n, \d+\), got \(3, 5\)"):
        policy.evaluate(seen[:, :5], masks)
    with pytest.raises(ValueError, match=r"observations must have the shape \(n, \d+\), got \(\d+,\)"):
        policy.evaluate(seen[0], masks[0])
    with pytest.raises(ValueError, match=r"action_masks must have the shape \(3, 42\), got \(2, 42\)"):
        policy.evaluate(seen, masks[:2])


def test_masks_may_be_bool_and_arrays_may_be_strided(original: Path) -> None:
    policy = load_policy(original)
    seen, masks = positions(policy.game, 40)
    expected = policy.evaluate(seen, masks)
    np.testing.assert_array_equal(policy.evaluate(seen, masks.astype(bool))[0], expected[0])
    np.testing.assert_allclose(policy.evaluate(seen[::2], masks[::2])[0], expected[0][::2], rtol=1e-5, atol=1e-5)
    assert policy.evaluate(seen[:0], masks[:0])[0].shape == (0, 42)


def test_probabilities_are_those_that_moves_are_drawn_with(original: Path) -> None:
    game = get_game("mate")
    seen, masks = positions(game, 30)
    row = int(masks.sum(axis=1).argmax())
    agent = PolicyAgent(game, str(original), seed=1)
    chances = agent.probabilities(seen, masks)
    assert chances.dtype == np.float32
    np.testing.assert_allclose(chances.sum(axis=1), 1, rtol=1e-5)
    assert (chances[masks == 0] == 0).all()
    many = 20_000
    drawn = agent.act(seen[[row] * many], masks[[row] * many])
    np.testing.assert_allclose(np.bincount(drawn, minlength=42) / many, chances[row], atol=0.015)
    one_by_one = [agent.act_one(seen[row], masks[row]) for _ in range(2000)]
    np.testing.assert_allclose(np.bincount(one_by_one, minlength=42) / 2000, chances[row], atol=0.05)


def test_the_best_move_is_the_likeliest_one(original: Path) -> None:
    game = get_game("mate")
    seen, masks = positions(game, 30)
    agent = PolicyAgent(game, str(original), mode="best")
    best = agent.act(seen, masks)
    np.testing.assert_array_equal(best, agent.probabilities(seen, masks).argmax(axis=1))
    assert [agent.act_one(*position) for position in zip(seen, masks, strict=True)] == best.tolist()
    policy = load_policy(original)
    assert [policy(*position) for position in zip(seen, masks, strict=True)] == best.tolist()


def test_illegal_actions_are_never_chosen_whatever_the_logits() -> None:
    rng = np.random.default_rng(0)
    masks = rng.random((500, 30)) < 0.1
    masks[np.arange(500), rng.integers(30, size=500)] = True
    logits = np.where(masks, rng.normal(scale=50, size=masks.shape) - 3e9, 1e6).astype(np.float32)
    for generator in (rng, None):
        chosen = choose_from_logits(logits, masks, generator)
        assert masks[np.arange(500), chosen].all()


def test_equal_seeds_draw_equal_moves(original: Path) -> None:
    game = get_game("mate")
    seen, masks = positions(game, 200)
    first, second, other = (PolicyAgent(game, str(original), seed=seed) for seed in (5, 5, 6))
    moves = first.act(seen, masks)
    np.testing.assert_array_equal(moves, second.act(seen, masks))
    assert (moves != other.act(seen, masks)).any()
    first.reseed(5)
    np.testing.assert_array_equal(moves, first.act(seen, masks))


def test_copies_and_pickles_go_on_alike(original: Path) -> None:
    game = get_game("mate")
    seen, masks = positions(game, 200)
    agent = PolicyAgent(game, str(original), seed=5)
    agent.act(seen, masks)
    copied, pickled = copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))
    moves = agent.act(seen, masks)
    for twin in (copied, pickled):
        assert twin.name == agent.name
        np.testing.assert_array_equal(twin.act(seen, masks), moves)
    assert copied.policy is agent.policy
    assert pickled.policy.card == agent.policy.card


@pytest.mark.parametrize("how", ["path", "loaded", "callable"])
def test_as_the_opponent_of_an_environment(how: str, original: Path) -> None:
    policy = load_policy(original)
    opponent = {"path": str(original), "loaded": policy, "callable": policy.__call__}[how]
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


def test_a_loaded_policy_of_another_game_is_no_opponent(original: Path) -> None:
    with pytest.raises(PolicyError, match=r"the policy mine plays Game\(mate\), not Game\(domaster\)"):
        make_agent(load_policy(original), get_game("domaster"))


def test_in_a_match(original: Path) -> None:
    result = play_match("mate", str(original), "random", deals=10)
    assert result.complete
    assert result.players == [str(original), "random"]


# The command line


def test_the_table_of_policies(original: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["policies", str(original)]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["policy", "game", "Elo"]
    assert row.split()[:3] == [str(original), "mate", "-"]
    assert " 512 " in row


def test_policies_as_json(policy_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_card(policy_path, {**read_card(policy_path), "scorecard": {"elo": {"value": 612.3, "low": 590, "high": 640}}})
    assert command_line(["policies", "--json", str(policy_path)]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["game"] == "mate"
    assert shown["elo"] == 612.3
    assert shown["bytes"]["onnx"] == policy_path.with_suffix(".onnx").stat().st_size
    assert command_line(["policies", str(policy_path)]) == 0
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


def test_a_spoilt_policy_is_not_listed(policy_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy_path.with_suffix(".onnx").write_bytes(b"")
    assert command_line(["policies", str(policy_path)]) == 2
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


def test_playing_needs_no_torch(original: Path) -> None:
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
    assert float(run_python(code, str(original))) in (-1.0, 0.0, 1.0)


def test_load_policy_is_part_of_the_package() -> None:
    assert domino_envs.load_policy is load_policy
    with pytest.raises(AttributeError, match="module 'domino_envs' has no attribute 'load_polices'"):
        domino_envs.load_polices  # noqa: B018
