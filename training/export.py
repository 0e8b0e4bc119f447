"""Turn a trained network into a policy to play with: an ONNX graph, safetensors and a card, none of them a pickle.

    python training/export.py runs/mate --out policies/mate                     # a run of train.py, also unfinished
    python training/export.py model.zip --game mate --out policies/mine --trust  # what MaskablePPO.save() wrote

Beware of .zip files: Stable-Baselines3 keeps pickles in them, and loading one runs whatever code is inside. Only load
those that you made yourself.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from sb3_contrib import MaskablePPO
from torch import nn

from domino_envs.games import Game, get_game
from domino_envs.learning.checkpoint import read_weights
from domino_envs.learning.export import save_policy
from domino_envs.learning.growth import with_further_inputs
from domino_envs.learning.policy import make_network
from domino_envs.learning.runs import card_facts
from domino_envs.policies import policy_paths


@dataclass
class Arguments:
    """Save a network as a policy."""

    source: tyro.conf.Positional[Path]
    """Folder of a run of train.py, or a .zip that MaskablePPO.save() wrote (any architecture)."""
    out: Path
    """Where the policy goes: the common path of its three files, without suffix."""
    game: Annotated[str | None, tyro.conf.arg(metavar="GAME")] = None
    """What a .zip was trained to play; a run knows it."""
    parameters: dict[str, int] = field(default_factory=dict)
    """Parameters of that game, such as --parameters hand_size 4."""
    trust: bool = False
    """I made this .zip myself: run the code in it."""
    weights: Literal["best", "latest"] = "best"
    """Which weights of a run: those that were rated best, or those of its last checkpoint."""
    licence: str | None = None
    """Licence of the policy, for its card."""
    overwrite: bool = False
    """Replace a policy that is there already."""


def from_run(args: Arguments) -> tuple[Game, nn.Module, dict[str, Any]]:
    """Return game, network and card facts of a run of train.py."""
    if args.game is not None or args.parameters:
        raise ValueError("--game and --parameters are for a .zip; a run knows what it trains")
    run, weights = read_weights(args.source, latest=args.weights == "latest")
    arguments = run["arguments"]
    game = get_game(arguments["game"], arguments["parameters"])
    network = make_network(arguments["network"], game, arguments["sizes"])
    network.load_state_dict(with_further_inputs(network, weights))
    return game, network, card_facts(run)


def from_zip(args: Arguments) -> tuple[Game, MaskablePPO, dict[str, Any]]:
    """Return game, model and card facts of a .zip of Stable-Baselines3."""
    if args.game is None:
        raise ValueError(f"--game: say which game {args.source} plays")
    if not args.trust:
        raise ValueError(
            f"{args.source} holds pickles, and loading it runs whatever code is inside. If you made it yourself, say "
            "--trust; a file from somebody else is better asked for as ONNX, safetensors and card"
        )
    try:
        game = get_game(args.game, args.parameters)
    except TypeError as error:
        raise ValueError(f"--parameters: {error}") from error
    print(f"warning: running the code in {args.source}", file=sys.stderr, flush=True)
    try:
        model = MaskablePPO.load(args.source, device="cpu")
    except Exception as error:  # whatever the code in it raises
        raise ValueError(f"{args.source} is no model that MaskablePPO can load: {error}") from error
    policy = type(model.policy)
    facts = {
        "architecture": {"stable_baselines3": f"{policy.__module__}.{policy.__qualname__}"},
        "training": {"algorithm": "MaskablePPO", "steps": model.num_timesteps},
        "created": time.strftime("%Y-%m-%d"),
    }
    return game, model, facts


def main(args: Arguments) -> Path:
    """Write the policy's files and return the path of its card.

    Raises:
        ValueError: for a wrong argument, a file that cannot be read, or a network that cannot be exported.
        FileExistsError: if there is a policy at ``out``, unless it may be overwritten.
    """
    card_path = policy_paths(f"{args.out}.json")[".json"]
    if card_path.exists() and not args.overwrite:
        raise FileExistsError(f"there is a policy at {args.out} already: choose another --out, or say --overwrite")
    game, network, facts = from_zip(args) if args.source.is_file() else from_run(args)
    if args.licence is not None:
        facts["licence"] = args.licence
    paths = save_policy(card_path, game, network, facts)
    for path in paths.values():
        print(f"{path}  {path.stat().st_size:,} bytes")
    return card_path


if __name__ == "__main__":
    try:
        main(tyro.cli(Arguments, description=__doc__))
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
