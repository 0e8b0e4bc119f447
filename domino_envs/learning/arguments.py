"""The arguments of training/train.py: their defaults by game, what is wrong with them, and those of a stopped run."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tyro

from ..games import Game, get_game
from .checkpoint import CheckpointError, checkpoint_path, read_checkpoint_facts
from .export import load_network
from .policy import default_network
from .runs import about, default_of, flag, new_folder, run_folders

__all__ = [
    "DEFAULTS",
    "UNLIMITED",
    "Arguments",
    "as_json",
    "game_of",
    "help_text",
    "policy_source",
    "restore",
    "with_defaults",
]

RUNS = Path("runs")
UNLIMITED = 10**9  # steps, where the clock decides


@dataclass
class Arguments:
    """Self-play training of one game. None means: the game's own default, see DEFAULTS."""

    game: tyro.conf.Positional[Literal["domaster", "five_bridges", "mate", "third_level"]]
    """Which game."""
    minutes: float | None = None
    """Time budget; schedules follow the clock, so such a run cannot be repeated exactly."""
    steps: int | None = None
    """Budget in plies that the learner decides; the default, three to six minutes on two cores."""
    seed: int = 0
    """Equal seed and equal steps give an equal policy, on one thread for sure (see threads)."""
    out: Path | None = None
    """Folder of the run; runs/GAME by default."""
    resume: bool = False
    """Go on with the run in the folder, the latest one of the game by default, with the arguments that it was started
    with; --steps or --minutes may give it a new budget."""
    init: str | None = None
    """Start from a saved policy (a name or path): its network and its weights. --sizes rounds N may give it further
    rounds of message passing, which change little at first."""

    parameters: dict[str, int] = field(default_factory=dict)
    """Parameters of the game, such as --parameters hand_size 4."""
    episode: str = "deal"
    """What an episode is; policies look at the running deal alone."""
    reward: Literal["win", "points"] | None = None
    """What is rewarded; points in Mate, wins elsewhere."""
    lanes: int | None = None
    """Games side by side."""
    rollout: int | None = None
    """Plies in each lane between updates."""
    batch_size: int | None = None
    """Samples in a minibatch."""
    epochs: int | None = None
    """Passes over each rollout; 0 to learn from searched positions alone."""
    learning_rate: float = 1e-3
    """At the start; falls linearly to a twentieth."""
    gamma: float = 1.0
    """Discount for each turn of the learner's, in self-play each ply: below 1, soon is better than late."""
    gae_lambda: float | None = None
    """How far advantages look ahead: 0 for one ply, 1 for the whole deal."""
    clip: float = 0.2
    """How far an update may move the probability of a move."""
    entropy: tuple[float, float] = (0.02, 0.003)
    """Entropy coefficient at the start and at the end."""
    value_weight: float = 0.5
    """Weight of the value's error in the loss."""
    self_play: float = 0.85
    """Share of the games in which the learner plays both seats; the rest are against the pool."""
    past_selves: int = 3
    """Past selves in the pool."""
    scripted: tuple[str, ...] = ("random", "greedy")
    """Scripted opponents in the pool."""
    opponent_mode: Literal["sample", "best"] = "sample"
    """Whether scripted opponents draw their moves or play their best, as they do in evaluations."""
    opening: int | None = None
    """The most plies at the start of a game that are played by the learner alone and not learned from; how many is
    drawn for each game. So it learns more from late positions."""
    snapshot_every: int = 10
    """Iterations between two past selves."""

    search_simulations: int | None = None
    """Simulations of the searches whose findings are learned beside the policy gradient; 0 for none."""
    guided: bool | None = None
    """Whether the network guides these searches (PUCT, for which a hundred simulations do); else they are UCT."""
    exact: bool | None = None
    """Whether a solver takes the place of these searches (Mate): all best moves are learned alike, and only where
    moves differ."""
    regret_weight: float = 3.0
    """Weight of what the policy's moves cost by the solver's values in the loss, with exact."""
    target_sharpness: float = 1.0
    """Power of the visits that are learned."""
    target_priority: float = 0.0
    """Power of how far the network is from a searched position's target by which it is drawn; 0 for all alike."""
    searched: int | None = None
    """Positions of each rollout that are searched."""
    target_batches: int | None = None
    """Minibatches of searched positions after each rollout."""
    target_capacity: int | None = None
    """Searched positions that are kept."""

    network: str | None = None
    """mlp, mate_graph, domaster_graph or third_level_placements."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Sizes of the network, such as --sizes width 64 rounds 8."""

    rungs: tuple[str, ...] | None = None
    """Opponents in evaluations during training; the scripted ones of the pool by default."""
    evaluations: int = 6
    """Evaluations during training; the weights of the best are kept."""
    evaluation_deals: int = 200
    """Mirrored deals in each; in Mate also five times as many against itself."""
    final_deals: int = 1000
    """Mirrored deals against random at the end."""
    bfloat16: bool = False
    """Compute updates in that; with AMX a wide network learns twice as fast."""
    threads: int | None = None
    """Threads of torch. Only 1 is sure to repeat exactly: in Domaster two have done so, in Mate not. For trainings side
    by side take 1."""


#: By game: what Arguments leaves open. Steps are for three to six minutes on two cores.
DEFAULTS: dict[str, dict[str, Any]] = {
    "mate": {
        "steps": 400_000,
        "reward": "points",
        "threads": 1,
        "opening": 0,
        "gae_lambda": 0.95,
        "lanes": 256,
        "rollout": 32,
        "batch_size": 1024,
        "epochs": 1,
        # A search of Mate nearly always ends with a proof, within a third of a millisecond.
        "search_simulations": 10_000,
        "guided": False,
        "exact": False,
        "searched": 8192,
        "target_batches": 24,
        "target_capacity": 400_000,
    },
    "domaster": {
        "steps": 500_000,
        "reward": "win",
        "threads": 2,
        # Of some 38 plies: what decides deals are the plies from the twentieth on.
        "opening": 30,
        # The value learns fast there: with 0.6 and 0.8 six minutes came to 39 % against search:100, with 0.95 to 30 %.
        "gae_lambda": 0.7,
        "lanes": 128,
        "rollout": 64,
        "batch_size": 1024,
        "epochs": 3,
        "search_simulations": 0,
        "guided": True,
        "exact": False,
        "searched": 512,
        "target_batches": 6,
        "target_capacity": 30_000,
    },
    "third_level": {
        "steps": 400_000,
        "reward": "win",
        "threads": 1,
        "opening": 0,
        "gae_lambda": 0.95,
        "lanes": 128,
        "rollout": 64,
        "batch_size": 512,
        "epochs": 3,
        "search_simulations": 0,
        "guided": False,
        "exact": False,
        "searched": 256,
        "target_batches": 6,
        "target_capacity": 30_000,
    },
}
DEFAULTS["five_bridges"] = DEFAULTS["domaster"]


def problems(args: Arguments) -> Iterator[str]:
    """Yield what is wrong with the arguments, flag by flag."""
    at_least = {
        0: ("seed", "past_selves", "opening", "search_simulations", "searched", "target_batches", "evaluations",
            "value_weight", "target_priority", "regret_weight", "epochs"),
        1: ("steps", "lanes", "rollout", "snapshot_every", "evaluation_deals", "final_deals", "threads",
            "target_capacity"),
        2: ("batch_size",),
    }  # fmt: skip
    for least, names in at_least.items():
        for name in names:
            if getattr(args, name) < least:
                yield f"{flag(name)} must be at least {least}, got {getattr(args, name)}"
    for name in ("self_play", "gamma", "gae_lambda"):
        if not 0.0 <= getattr(args, name) <= 1.0:
            yield f"{flag(name)} must be from 0 to 1, got {getattr(args, name)}"
    for name in ("learning_rate", "clip", "minutes", "target_sharpness"):
        value = getattr(args, name)
        if value is not None and not 0.0 < value < float("inf"):
            yield f"{flag(name)} must be above 0, got {value}"
    if not (args.epochs or ((args.search_simulations or args.exact) and args.target_batches)):
        yield f"--epochs must be at least 1 where no searched positions are learned, got {args.epochs}"
    if not all(value >= 0.0 for value in args.entropy):
        yield f"--entropy must be two numbers of at least 0, got {args.entropy}"
    for name, size in args.sizes.items():
        if size < 1:
            yield f"--sizes must be at least 1, got {name} {size}"
    if (args.lanes or 1) * (args.rollout or 1) < 2:
        yield "--lanes times --rollout must be at least 2"


def help_text(about_script: str) -> str:
    """Return what --help says first: what the script does, and what None stands for."""
    lines = [
        f"    {game}: " + ", ".join(f"{name.replace('_', '-')} {value}" for name, value in defaults.items())
        for game, defaults in DEFAULTS.items()
    ]
    return f"{about_script}\nDefaults that depend on the game:\n\n" + "\n".join(lines)


def game_of(args: Arguments) -> Game:
    """Return the game that is trained."""
    with about("parameters"):
        try:
            return get_game(args.game, args.parameters)
        except TypeError as error:
            raise ValueError(f"{args.game} does not take {args.parameters}: {error}") from error


def with_defaults(args: Arguments) -> Arguments:
    """Fill in what the user left open and check the rest.

    Raises:
        ValueError: for a value that does not do; names its flag.
    """
    chosen = {name: value for name, value in DEFAULTS[args.game].items() if getattr(args, name) is None}
    if args.minutes is not None:
        chosen["steps"] = args.steps or UNLIMITED
    args = dataclasses.replace(args, **chosen)
    for problem in problems(args):
        raise ValueError(problem)
    game = game_of(args)
    with about("episode"):
        game.num_deals(args.episode)
    with about("init"):
        network, sizes = default_network(game), args.sizes
        if args.init is not None and args.network is None:
            architecture = load_network(policy_source(args.init), game)[1]["architecture"]
            network, sizes = architecture["network"], {**architecture["sizes"], **args.sizes}
    return dataclasses.replace(
        args, network=args.network or network, sizes=sizes, out=args.out or new_folder(RUNS, args.game)
    )


def policy_source(name: str) -> str:
    """Return a policy's name or path; it may be written as opponents are, ``policy:NAME``."""
    return name.removeprefix("policy:")


def as_json(args: Arguments) -> dict[str, Any]:
    """Return the arguments as JSON can hold them, but for where the run lies."""
    return {name: value for name, value in dataclasses.asdict(args).items() if name not in ("out", "resume")}


def restore(args: Arguments) -> tuple[Arguments, dict[str, Any]]:
    """Return the arguments of the run to go on with, and what else was kept of it.

    Raises:
        ValueError: if an argument besides the budget is given anew.
        CheckpointError: if there is no such run.
    """
    folder = args.out
    if folder is None:
        runs = [one for one in run_folders(RUNS, args.game) if checkpoint_path(one).exists()]
        if not runs:
            raise CheckpointError(f"there is no run of {args.game} in {RUNS} to go on with")
        folder = runs[-1]
    kept = read_checkpoint_facts(folder)
    started: dict[str, Any] = dict(kept["arguments"])
    started |= {name: tuple(value) for name, value in started.items() if isinstance(value, list)}
    if started["game"] != args.game:
        raise CheckpointError(f"the run in {folder} trains {started['game']}, not {args.game}")
    for one in dataclasses.fields(args):
        value = getattr(args, one.name)
        free = one.name in ("game", "out", "resume", "steps", "minutes")
        if not free and value not in (default_of(one), started.get(one.name)):
            raise ValueError(f"{flag(one.name)} cannot be changed by --resume, the run has {started.get(one.name)}")
    if args.minutes is not None:
        started |= {"minutes": args.minutes, "steps": args.steps or UNLIMITED}
    elif args.steps is not None:
        started |= {"minutes": None, "steps": args.steps}
    try:
        args = Arguments(**started, out=folder, resume=True)
    except TypeError as error:
        raise CheckpointError(f"the run in {folder} was started by another version of this script: {error}") from error
    for problem in problems(args):
        raise ValueError(problem)
    return args, kept
