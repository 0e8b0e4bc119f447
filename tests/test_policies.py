"""Tests of saved policies: how they are found, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import onnx
import pytest
import torch
from onnx.external_data_helper import set_external_data
from torch import Tensor, nn

import domino_envs
from domino_envs import policies
from domino_envs.agents import make_agent
from domino_envs.games import get_game
from domino_envs.policies import (
    PolicyError,
    load_policy,
    policy_paths,
    read_card,
    shipped_policies,
    write_card,
)
from saved_policies import SUFFIXES, write_random_policy

# Finding the files


@pytest.mark.parametrize("written", ["{}", "{}.onnx", "{}.safetensors", "{}.json"])
def test_a_policy_is_found_by_any_of_its_paths(written: str, mate_policy: Path) -> None:
    source = written.format(mate_policy)
    assert load_policy(source).name == "mine"
    assert load_policy(Path(source), get_game("mate")).game is get_game("mate")
    assert domino_envs.load_policy(source).card == read_card(mate_policy)


def test_a_folder_that_holds_a_policy_is_one(mate_policy: Path, tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        shutil.copy(f"{mate_policy}{suffix}", tmp_path / f"policy{suffix}")
    assert load_policy(tmp_path).game.name == "mate"
    assert make_agent(str(tmp_path), get_game("mate")).name == f"policy:{tmp_path}"


def test_a_name_means_the_shipped_policy_whatever_lies_around(
    mate_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "pretrained"
    shipped.mkdir()
    monkeypatch.setattr(policies, "PRETRAINED", shipped)
    for suffix in SUFFIXES:
        shutil.copy(f"{mate_policy}{suffix}", shipped / f"strong{suffix}")
        (tmp_path / f"strong{suffix}").write_text("something else")
        shutil.copy(f"{mate_policy}{suffix}", tmp_path / f"local{suffix}")
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
def test_missing_files(suffix: str, mate_policy_copy: Path) -> None:
    mate_policy_copy.with_suffix(suffix).unlink()
    with pytest.raises(PolicyError, match=rf"mine{suffix} is missing"):
        load_policy(mate_policy_copy)


@pytest.mark.skipif(os.name != "posix", reason="reads a folder")
def test_unreadable_file(mate_policy_copy: Path) -> None:
    mate_policy_copy.with_suffix(".onnx").unlink()
    mate_policy_copy.with_suffix(".onnx").mkdir()
    with pytest.raises(PolicyError, match=r"mine\.onnx cannot be read: Is a directory"):
        load_policy(mate_policy_copy)


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
def test_altered_files(suffix: str, spoil: Callable[[bytes], bytes], mate_policy_copy: Path) -> None:
    path = mate_policy_copy.with_suffix(suffix)
    path.write_bytes(spoil(path.read_bytes()))
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(PolicyError, match=rf"mine{suffix} was altered or cut: its SHA-256 is {found}, the card says "):
        load_policy(mate_policy_copy)


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
def test_malformed_cards(text: str, message: str, mate_policy_copy: Path) -> None:
    mate_policy_copy.with_suffix(".json").write_bytes(text.encode("latin-1"))
    with pytest.raises(PolicyError, match=r"mine\.json .*" + message):
        load_policy(mate_policy_copy)


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
def test_cards_of_something_else(key: str, value: Any, message: str, mate_policy_copy: Path) -> None:
    card = json.loads(mate_policy_copy.with_suffix(".json").read_text())
    mate_policy_copy.with_suffix(".json").write_text(json.dumps({**card, key: value}))
    with pytest.raises(PolicyError, match=message):
        load_policy(mate_policy_copy)


def test_a_policy_of_another_game_or_with_other_parameters(mate_policy: Path, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"mine\.json is for game 'mate', expected 'domaster'"):
        load_policy(mate_policy, get_game("domaster"))
    with pytest.raises(PolicyError, match="is for game 'mate', expected 'five_bridges'"):
        gymnasium.make("domino_envs/FiveBridges-v0", opponent=str(mate_policy))
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
    mate_policy_copy: Path,
    tmp_path: Path,
) -> None:
    seal(mate_policy_copy, export(Foreign(change), tmp_path / "foreign.onnx", **settings))
    with pytest.raises(PolicyError, match=r"mine\.onnx:? .*" + message):
        load_policy(mate_policy_copy)


@pytest.mark.parametrize("graph", [b"", b"PK\x03\x04 a zip", b"\x80\x04K\x01."])
def test_what_is_no_graph_at_all(graph: bytes, mate_policy_copy: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seal(mate_policy_copy, graph)
    with pytest.raises(PolicyError, match=r"mine\.onnx is no graph that ONNX Runtime can load"):
        load_policy(mate_policy_copy)
    assert capfd.readouterr() == ("", "")


def test_a_graph_that_reads_other_files_is_refused(
    mate_policy_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = onnx.load(mate_policy_copy.with_suffix(".onnx"))
    weights = next(tensor for tensor in model.graph.initializer if tensor.raw_data)
    (tmp_path / "weights.bin").write_bytes(weights.raw_data)
    set_external_data(weights, location="weights.bin")
    weights.ClearField("raw_data")
    seal(mate_policy_copy, model.SerializeToString())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolicyError, match="is no graph that ONNX Runtime can load"):
        load_policy(mate_policy_copy)


def test_without_onnx_runtime(mate_policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "domino_envs\[policies\]"') as error_info:
        load_policy(mate_policy)
    assert error_info.value.name == "onnxruntime"
    assert read_card(mate_policy)["name"] == "mine"  # the card needs no runtime


def test_nothing_of_ours_reads_a_pickle() -> None:
    root = Path(domino_envs.__file__).parent
    words = ("torch.load", "pickle.load", "np.load", "numpy.load", "joblib", "cloudpickle", "allow_pickle")
    for path in [*root.rglob("*.py"), *(root.parent / "training").glob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in words), path
