"""Saved policies: an ONNX graph to play, safetensors to train on, a JSON card that describes and seals both.

A policy named ``P`` lies in three files beside each other: ``P.onnx``, ``P.safetensors``, ``P.json``. None of them is a
pickle. Playing needs ONNX Runtime (extra ``policies``) and no torch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .games import Game, game_names, get_game

__all__ = ["CARD_FORMAT", "PolicyError", "SavedPolicy", "card_for", "load_policy", "policy_paths", "write_card"]

CARD_FORMAT = 1
_SUFFIXES = (".onnx", ".safetensors", ".json")
_NEEDED = ("format", "name", "game", "parameters", "rules_version", "layout", "num_actions", "sha256")
PRETRAINED = Path(__file__).parent / "pretrained"


class PolicyError(ValueError):
    """A policy's files are missing, altered, malformed, or of another game or layout."""


def policy_paths(source: str | Path) -> dict[str, Path]:
    """Return the paths of a policy's files by suffix.

    Args:
        source: the name of a shipped policy, the common path of the files without suffix, or the path of one of them.
    """
    path = Path(source)
    if path.suffix in _SUFFIXES:
        path = path.with_suffix("")
    elif path == Path(path.name) and not path.with_name(path.name + ".json").exists():
        path = PRETRAINED / path.name
    return {suffix: path.with_name(path.name + suffix) for suffix in _SUFFIXES}


def shipped_policies() -> tuple[str, ...]:
    """Return the names of the policies that come with the package."""
    return tuple(sorted(path.stem for path in PRETRAINED.glob("*.json")))


def layout_description(game: Game) -> list[list[Any]]:
    """Return the observation's fields as a card writes them: name, shape, low, high."""
    return [[field.name, list(field.shape), field.low, field.high] for field in game.layout.fields]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def card_for(game: Game, name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a card without the hashes: what the policy plays, and the facts given (training, evaluation, ...)."""
    return {
        "format": CARD_FORMAT,
        "name": name,
        "game": game.name,
        "parameters": dict(game.parameters),
        "rules_version": game.rules_version,
        "layout": layout_description(game),
        "num_actions": game.num_actions,
        **facts,
    }


def write_card(source: str | Path, card: Mapping[str, Any]) -> Path:
    """Write the card beside the other two files, sealed with their hashes, and return its path."""
    paths = policy_paths(source)
    hashes = {suffix[1:]: _sha256(paths[suffix]) for suffix in (".onnx", ".safetensors")}
    text = json.dumps({**card, "sha256": hashes}, indent=1)
    paths[".json"].write_text(text + "\n", encoding="utf-8")
    return paths[".json"]


def read_card(source: str | Path, game: Game | None = None) -> dict[str, Any]:
    """Read a card and check it against the game and the files beside it.

    Raises:
        PolicyError: if a file is missing or was altered, the card is malformed, or the policy is of another game,
            other parameters, rules or layout.
    """
    paths = policy_paths(source)
    for path in paths.values():
        if not path.is_file():
            raise PolicyError(_missing_text(source, path))
    where = paths[".json"]
    try:
        card: dict[str, Any] = json.loads(where.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise PolicyError(f"{where} is no policy card: {error}") from error
    missing = [key for key in _NEEDED if not isinstance(card, dict) or key not in card]
    if missing:
        raise PolicyError(f"{where} is no policy card: it has no {missing[0]!r}")
    if card["format"] != CARD_FORMAT:
        raise PolicyError(f"{where} has card format {card['format']!r}, expected {CARD_FORMAT}")
    if not isinstance(card["sha256"], dict) or not isinstance(card["parameters"], dict):
        raise PolicyError(f"{where} is no policy card: 'sha256' and 'parameters' must be tables")
    _check_game(card, where, game)
    for suffix in (".onnx", ".safetensors"):
        expected, found = card["sha256"].get(suffix[1:]), _sha256(paths[suffix])
        if expected != found:
            raise PolicyError(f"{paths[suffix]} was altered or cut: its SHA-256 is {found}, the card says {expected}")
    return card


def _missing_text(source: str | Path, path: Path) -> str:
    if path.parent == PRETRAINED:
        names = ", ".join(shipped_policies()) or "none"
        return f"there is no policy {str(source)!r}: no such file, and the shipped policies are: {names}"
    return f"policy {str(source)!r}: {path} is missing"


def _check_game(card: Mapping[str, Any], where: Path, game: Game | None) -> None:
    if game is None:
        if card["game"] not in game_names():
            raise PolicyError(f"{where} is for the game {card['game']!r}, expected one of {', '.join(game_names())}")
        try:
            game = get_game(card["game"], card["parameters"])
        except (TypeError, ValueError) as error:
            raise PolicyError(f"{where} has parameters that {card['game']} does not take: {error}") from error
    for key, expected in (
        ("game", game.name),
        ("parameters", dict(game.parameters)),
        ("rules_version", game.rules_version),
        ("num_actions", game.num_actions),
    ):
        if card[key] != expected:
            raise PolicyError(f"{where} is for {key} {card[key]!r}, expected {expected!r}")
    if card["layout"] != layout_description(game):
        raise PolicyError(f"{where} is for another layout of the observation of {game.name}")


@dataclass(frozen=True)
class SavedPolicy:
    """A policy loaded to play.

    Attributes:
        name: its name on the card.
        game: the game that it plays.
        card: the card as read.
        session: the ONNX Runtime session.
    """

    name: str
    game: Game
    card: dict[str, Any]
    session: Any

    def evaluate(
        self, observations: NDArray[np.int8], action_masks: NDArray[np.int8]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits ``float32 (n, num_actions)``, -1e9 or less where illegal, and values ``float32 (n,)``.

        Values are the mover's expected reward in the unit that the policy was trained on.
        """
        logits, values = self.session.run(
            ("logits", "value"),
            {"observation": np.ascontiguousarray(observations), "action_mask": np.ascontiguousarray(action_masks)},
        )
        return logits, values

    def probabilities(self, observations: NDArray[np.int8], action_masks: NDArray[np.int8]) -> NDArray[np.float32]:
        """Return the probability of each action, ``float32 (n, num_actions)``, 0 where illegal."""
        logits, _ = self.evaluate(observations, action_masks)
        logits = logits - logits.max(axis=1, keepdims=True)
        weights = np.exp(logits) * (action_masks != 0)
        probabilities: NDArray[np.float32] = weights / weights.sum(axis=1, keepdims=True)
        return probabilities


def load_policy(source: str | Path, game: Game | None = None) -> SavedPolicy:
    """Load a policy to play.

    Args:
        source: the name of a shipped policy (``"mate"``), or a path as in :func:`policy_paths`.
        game: the game that it must play; None to take what the card says.

    Raises:
        PolicyError: if a file is missing, altered or malformed, or the policy is of another game or layout.
        ModuleNotFoundError: without ONNX Runtime.
    """
    card = read_card(source, game)
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'playing a saved policy needs ONNX Runtime: pip install "domino_envs[policies]"'
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    path = policy_paths(source)[".onnx"]
    try:
        session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's own exceptions have no common base
        raise PolicyError(f"{path} is no graph that ONNX Runtime can load: {error}") from error
    inputs = {node.name: node for node in session.get_inputs()}
    outputs = {node.name for node in session.get_outputs()}
    if set(inputs) != {"observation", "action_mask"} or not {"logits", "value"} <= outputs:
        raise PolicyError(f"{path} must map observation and action_mask to logits and value, it has {sorted(inputs)}")
    table = game or get_game(card["game"], card["parameters"])
    for name, size in (("observation", table.layout.size), ("action_mask", table.num_actions)):
        if inputs[name].shape[-1] != size or inputs[name].type != "tensor(int8)":
            raise PolicyError(
                f"{path}: {name} must be int8 (n, {size}), it is {inputs[name].type} {inputs[name].shape}"
            )
    return SavedPolicy(str(card["name"]), table, card, session)
