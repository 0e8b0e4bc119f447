"""Saved policies: an ONNX graph to play, safetensors to train on, a JSON card that describes and seals both.

A policy named ``P`` lies in three files beside each other: ``P.onnx``, ``P.safetensors``, ``P.json``. None of them is a
pickle. Playing needs ONNX Runtime (extra ``policies``) and no torch.

The card is a JSON object. ``format``, ``name``, ``game``, ``parameters``, ``rules_version``, ``layout`` (the fields of
the observation as ``[name, shape, low, high]``), ``num_actions`` and ``sha256`` (of the two other files, by suffix) are
checked when a policy is loaded; what else it says is for people: ``architecture``, ``num_parameters``, ``training``,
``evaluation``, ``scorecard``, ``licence``, ``created``.

The graph maps ``observation`` ``int8 (n, layout.size)`` and ``action_mask`` ``int8 (n, num_actions)`` to ``logits``
``float32 (n, num_actions)`` and ``value`` ``float32 (n,)``, for any ``n``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .games import Game, game_names, get_game

__all__ = [
    "CARD_FORMAT",
    "POLICY_SUFFIXES",
    "PolicyError",
    "PolicyFiles",
    "SavedPolicy",
    "card_for",
    "is_policy_path",
    "load_policy",
    "policy_paths",
    "read_card",
    "read_policy",
    "shipped_policies",
    "write_card",
]

CARD_FORMAT = 1
PRETRAINED = Path(__file__).parent / "pretrained"
POLICY_SUFFIXES = (".onnx", ".safetensors", ".json")
#: What a card must have, and of which type.
_NEEDED: dict[str, type] = {
    "format": int,
    "name": str,
    "game": str,
    "parameters": dict,
    "rules_version": int,
    "layout": list,
    "num_actions": int,
    "sha256": dict,
}


class PolicyError(ValueError):
    """A policy's files are missing, altered, malformed, or of another game or layout."""


def policy_paths(source: str | Path) -> dict[str, Path]:
    """Return the paths of a policy's files by suffix, whether or not they exist.

    Args:
        source: the name of a shipped policy, the path of one of the files, their common path without suffix, or a
            folder that holds ``policy.json``. A name that a shipped policy has always means that one; write ``./NAME``
            for files in the working directory.

    Raises:
        PolicyError: for an empty name.
    """
    path = Path(source)
    bare = str(source) == path.name != ""
    if path.suffix in POLICY_SUFFIXES:
        path = path.with_suffix("")
    elif bare and ((PRETRAINED / f"{path}.json").is_file() or not is_policy_path(path)):
        path = PRETRAINED / path
    elif (path / "policy.json").is_file():
        path = path / "policy"
    if not path.name:
        raise PolicyError(f"a policy is given by its name or path, got {str(source)!r}")
    return {suffix: path.with_name(path.name + suffix) for suffix in POLICY_SUFFIXES}


def is_policy_path(source: str | Path) -> bool:
    """Return whether there is a policy at this path, in one of the ways that :func:`policy_paths` takes."""
    path = Path(source)
    if path.suffix in POLICY_SUFFIXES or (path / "policy.json").is_file():
        return True
    return bool(path.name) and path.with_name(f"{path.name}.json").is_file()


def shipped_policies() -> tuple[str, ...]:
    """Return the names of the policies that come with the package."""
    return tuple(sorted(path.stem for path in PRETRAINED.glob("*.json")))


def layout_description(game: Game) -> list[list[Any]]:
    """Return the observation's fields as a card writes them: name, shape, low, high."""
    return [[field.name, list(field.shape), field.low, field.high] for field in game.layout.fields]


def card_for(game: Game, name: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a card without the hashes: what the policy plays, and the facts given (training, evaluation, ...).

    Raises:
        ValueError: if a fact has the name of something that is checked.
    """
    taken = sorted(set(facts) & set(_NEEDED))
    if taken:
        raise ValueError(f"the card says {taken[0]!r} itself, it cannot be among the facts")
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
    """Write the card beside the other two files, sealed with their hashes, and return its path.

    Raises:
        ValueError: if the card holds a number that JSON has not (NaN, infinity).
    """
    paths = policy_paths(source)
    hashes = {suffix[1:]: _sha256(paths[suffix].read_bytes()) for suffix in (".onnx", ".safetensors")}
    sealed = {**card, "sha256": hashes}
    lines = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in sealed.items()]
    paths[".json"].write_text("{" + ",\n ".join(lines) + "}\n", encoding="utf-8")
    return paths[".json"]


@dataclass(frozen=True)
class PolicyFiles:
    """What a policy's files hold, after all checks.

    Attributes:
        game: the game that it plays.
        card: the card.
        graph: the ONNX file.
        weights: the safetensors file.
        paths: where they lie, by suffix.
    """

    game: Game
    card: dict[str, Any]
    graph: bytes
    weights: bytes
    paths: dict[str, Path]


def read_policy(source: str | Path, game: Game | None = None) -> PolicyFiles:
    """Read a policy's files and check the card against the game and against the other two.

    Raises:
        PolicyError: if a file is missing or was altered, the card is malformed, or the policy is of another game,
            other parameters, rules or layout.
    """
    paths = policy_paths(source)
    content: dict[str, bytes] = {}
    for suffix in (".json", ".onnx", ".safetensors"):
        try:
            content[suffix] = paths[suffix].read_bytes()
        except OSError as error:
            raise PolicyError(_unreadable_text(source, paths[suffix], error)) from error
    card = _parse_card(content[".json"], paths[".json"])
    table = _check_game(card, paths[".json"], game)
    for suffix in (".onnx", ".safetensors"):
        expected, found = card["sha256"].get(suffix[1:]), _sha256(content[suffix])
        if expected != found:
            raise PolicyError(f"{paths[suffix]} was altered or cut: its SHA-256 is {found}, the card says {expected}")
    return PolicyFiles(table, card, content[".onnx"], content[".safetensors"], paths)


def read_card(source: str | Path, game: Game | None = None) -> dict[str, Any]:
    """Return a policy's card after the checks of :func:`read_policy`, which tells what is raised."""
    return read_policy(source, game).card


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _unreadable_text(source: str | Path, path: Path, error: OSError) -> str:
    if path.parent == PRETRAINED and path.suffix == ".json":
        names = ", ".join(shipped_policies()) or "none"
        return f"there is no policy {str(source)!r}: no such file, and the shipped policies are: {names}"
    if isinstance(error, FileNotFoundError):
        return f"policy {str(source)!r}: {path} is missing"
    return f"policy {str(source)!r}: {path} cannot be read: {error.strerror}"


def _parse_card(content: bytes, where: Path) -> dict[str, Any]:
    try:
        card = json.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise PolicyError(f"{where} is no policy card: {error}") from error
    if not isinstance(card, dict):
        raise PolicyError(f"{where} is no policy card: expected a JSON object, it holds a {type(card).__name__}")
    for key, kind in _NEEDED.items():
        if key not in card:
            raise PolicyError(f"{where} is no policy card: it has no {key!r}")
        if not isinstance(card[key], kind):
            raise PolicyError(f"{where} is no policy card: {key!r} must be of type {kind.__name__}, got {card[key]!r}")
    if card["format"] != CARD_FORMAT:
        raise PolicyError(f"{where} has card format {card['format']}, expected {CARD_FORMAT}")
    return card


def _check_game(card: Mapping[str, Any], where: Path, game: Game | None) -> Game:
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
        raise PolicyError(f"{where} is for another layout of the observation of {game.name}: {_difference(card, game)}")
    return game


def _difference(card: Mapping[str, Any], game: Game) -> str:
    """Return the first field in which two layouts differ, for people."""
    expected, found = layout_description(game), card["layout"]
    for ours, theirs in zip(expected, found, strict=False):
        if ours != theirs:
            return f"expected the field {ours}, the card has {theirs}"
    return f"expected {len(expected)} fields, the card has {len(found)}"


class SavedPolicy:
    """A policy loaded to play; can be copied and pickled (the graph goes along).

    Attributes:
        name: its name on the card.
        game: the game that it plays.
        card: the card as read.
        graph: the ONNX graph.

    Args:
        game: the game that it plays.
        card: its card.
        graph: the ONNX graph.
        where: what errors call it.

    Raises:
        PolicyError: if the graph does not load, or does not map what it should to what it should.
        ModuleNotFoundError: without ONNX Runtime.
    """

    def __init__(self, game: Game, card: dict[str, Any], graph: bytes, where: str | None = None) -> None:
        self.name: str = card["name"]
        self.game = game
        self.card = card
        self.graph = graph
        self._session = _start_session(graph, where or self.name)
        self._sizes = game.layout.size, game.num_actions
        self._check(where or self.name)

    def _check(self, where: str) -> None:
        inputs = {node.name: node for node in self._session.get_inputs()}
        outputs = {node.name for node in self._session.get_outputs()}
        if set(inputs) != {"observation", "action_mask"} or not {"logits", "value"} <= outputs:
            raise PolicyError(
                f"{where} must map observation and action_mask to logits and value, "
                f"it maps {', '.join(sorted(inputs))} to {', '.join(sorted(outputs))}"
            )
        for name, size in zip(("observation", "action_mask"), self._sizes, strict=True):
            node = inputs[name]
            if node.type != "tensor(int8)" or len(node.shape) != 2 or node.shape[1] != size:
                raise PolicyError(f"{where}: {name} must be int8 (n, {size}), it is {node.type} {node.shape}")
        size, actions = self._sizes
        rows = 2  # that it has no fixed number of rows shows when it is run
        try:
            # One position first: ONNX Runtime plans its memory by the first call, and after one of two positions
            # decided every single one a fifth more slowly (1.32, Domaster).
            for count in (1, rows):
                masks = np.zeros((count, actions), dtype=np.int8)
                masks[:, -1] = 1
                logits, values = self.evaluate(np.zeros((count, size), dtype=np.int8), masks)
        except Exception as error:  # the runtime's own exceptions have no common base
            raise PolicyError(f"{where} does not run on {rows} positions, or not on one: {error}") from error
        for name, array, shape in (("logits", logits, (rows, actions)), ("value", values, (rows,))):
            if array.dtype != np.float32 or array.shape != shape:
                raise PolicyError(f"{where}: {name} must be float32 {shape}, it is {array.dtype} {array.shape}")

    def evaluate(
        self, observations: NDArray[np.int8], action_masks: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return logits and values of positions.

        Args:
            observations: what the movers see, ``int8 (n, game.layout.size)``.
            action_masks: ``int8`` or ``bool (n, game.num_actions)``, non-zero where legal.

        Returns:
            Logits ``float32 (n, num_actions)``, about -1e9 where illegal, and values ``float32 (n,)``: the mover's
            expected reward in the unit that the policy was trained on.

        Raises:
            ValueError: for another shape.
        """
        size, actions = self._sizes
        if observations.ndim != 2 or observations.shape[1] != size:
            raise ValueError(f"observations must have the shape (n, {size}), got {observations.shape}")
        if action_masks.shape != (len(observations), actions):
            raise ValueError(f"action_masks must have the shape ({len(observations)}, {actions}), "
                             f"got {action_masks.shape}")  # fmt: skip
        logits, values = self._session.run(
            ("logits", "value"),
            {
                "observation": np.ascontiguousarray(observations, dtype=np.int8),
                "action_mask": np.ascontiguousarray(action_masks, dtype=np.int8),
            },
        )
        return logits, values

    def probabilities(self, observations: NDArray[np.int8], action_masks: NDArray[Any]) -> NDArray[np.float32]:
        """Return each action's probability, ``float32 (n, num_actions)``, 0 where illegal; see :meth:`evaluate`."""
        logits, _ = self.evaluate(observations, action_masks)
        weights = np.where(action_masks != 0, np.exp(logits - logits.max(axis=1, keepdims=True)), 0)
        probabilities: NDArray[np.float32] = weights / weights.sum(axis=1, keepdims=True)
        return probabilities

    def __call__(self, observation: NDArray[np.int8], action_mask: NDArray[Any]) -> int:
        """Return the likeliest legal action in one position, of observation ``(size,)`` and mask ``(num_actions,)``."""
        logits, _ = self.evaluate(observation[None], action_mask[None])
        return int(np.where(action_mask != 0, logits[0], -np.inf).argmax())

    def __reduce__(self) -> tuple[Any, ...]:
        return SavedPolicy, (self.game, self.card, self.graph)

    def __copy__(self) -> SavedPolicy:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> SavedPolicy:
        return self  # nothing in it changes

    def __repr__(self) -> str:
        return f"<SavedPolicy {self.name} for {self.game.name}>"


def _start_session(graph: bytes, where: str) -> Any:
    try:
        import onnxruntime
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            'playing a saved policy needs ONNX Runtime: pip install "domino_envs[policies]"', name="onnxruntime"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is told by the exception
    # A graph may name files to take weights from, which the card does not seal: there are none.
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", os.devnull)
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's own exceptions have no common base
        raise PolicyError(f"{where} is no graph that ONNX Runtime can load: {error}") from error


def load_policy(source: str | Path, game: Game | None = None) -> SavedPolicy:
    """Load a policy to play.

    Args:
        source: the name of a shipped policy (``"mate"``), or a path as in :func:`policy_paths`.
        game: the game that it must play; None to take what the card says.

    Raises:
        PolicyError: if a file is missing, altered or malformed, or the policy is of another game or layout.
        ModuleNotFoundError: without ONNX Runtime.
    """
    files = read_policy(source, game)
    return SavedPolicy(files.game, files.card, files.graph, str(files.paths[".onnx"]))
