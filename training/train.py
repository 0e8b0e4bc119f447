"""Train a policy by self-play with MaskablePPO, evaluate it on mirrored deals, and save it to play with.

    python training/train.py mate
    python training/train.py domaster --minutes 15 --seed 1
    python training/train.py mate --resume            # goes on with an interrupted run
    tensorboard --logdir runs                         # learning curves

The run lies in runs/GAME (runs/GAME-2 and so on if there is one already): policy.onnx, policy.safetensors and
policy.json are the policy, checkpoint.safetensors is what --resume goes on from. Ctrl-C ends the current iteration,
saves a checkpoint and leaves; a second one leaves at once.
"""

from __future__ import annotations

import dataclasses
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from stable_baselines3.common.logger import configure

from domino_envs.agents.policy_agent import PolicyAgent
from domino_envs.arena import wilson_interval
from domino_envs.games import Game, get_game
from domino_envs.learning.checkpoint import CheckpointError, checkpoint_path, load_checkpoint, read_checkpoint_facts
from domino_envs.learning.evaluation import match_against
from domino_envs.learning.export import load_network, load_weights, save_policy
from domino_envs.learning.policy import NetworkPolicy, default_network, make_network
from domino_envs.learning.runs import (
    POINTS_SCALE,
    about,
    card_facts,
    command_of,
    default_of,
    flag,
    interrupt_calls,
    new_folder,
    run_folders,
)
from domino_envs.learning.search_targets import SearchTargets
from domino_envs.learning.selfplay import SelfPlayPPO, SnapshotAgent
from domino_envs.learning.supervisor import Supervisor
from domino_envs.policies import load_policy, read_card, write_card
from domino_envs.vector import sb3_vec_env


@dataclass
class Arguments:
    """Self-play training of one game. None means: the game's own default, see DEFAULTS in the script."""

    game: tyro.conf.Positional[Literal["domaster", "five_bridges", "mate", "third_level"]]
    """Which game."""
    minutes: float | None = None
    """Time budget; schedules follow the clock, so such a run cannot be repeated exactly."""
    steps: int | None = None
    """Budget in plies that the learner decides; the default, about three minutes on two cores."""
    seed: int = 0
    """Equal seed and equal steps give an equal policy."""
    out: Path | None = None
    """Folder of the run; runs/GAME by default."""
    resume: bool = False
    """Go on with the run in the folder, the latest one of the game by default, with the arguments that it was started
    with; --steps or --minutes may give it a new budget."""
    init: str | None = None
    """Start from a saved policy (a name or path): its network and its weights."""

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
    """Passes over each rollout."""
    learning_rate: float = 1e-3
    """At the start; falls linearly to a twentieth."""
    gae_lambda: float = 0.95
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
    snapshot_every: int = 10
    """Iterations between two past selves."""

    search_simulations: int | None = None
    """Simulations of the searches whose findings are learned beside the policy gradient; 0 for none."""
    guided: bool | None = None
    """Whether the network guides these searches (PUCT, for which a hundred simulations do); else they are UCT."""
    target_sharpness: float = 1.0
    """Power of the visits that are learned."""
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

    evaluations: int = 6
    """Evaluations during training; the weights of the best are kept."""
    evaluation_deals: int = 200
    """Mirrored deals in each."""
    final_deals: int = 1000
    """Mirrored deals against random at the end."""
    threads: int = 1
    """Threads of torch; only 1 repeats exactly."""


#: By game: what Arguments leaves open. Steps are for about three minutes on two cores.
DEFAULTS: dict[str, dict[str, Any]] = {
    "mate": {
        "steps": 230_000,
        "reward": "points",
        "lanes": 256,
        "rollout": 32,
        "batch_size": 1024,
        "epochs": 1,
        # A search of Mate nearly always ends with a proof, within a third of a millisecond.
        "search_simulations": 10_000,
        "guided": False,
        "searched": 8192,
        "target_batches": 24,
        "target_capacity": 400_000,
    },
    "domaster": {
        "steps": 300_000,
        "reward": "win",
        "lanes": 128,
        "rollout": 64,
        "batch_size": 1024,
        "epochs": 3,
        "search_simulations": 0,
        "guided": True,
        "searched": 512,
        "target_batches": 6,
        "target_capacity": 30_000,
    },
    "third_level": {
        "steps": 150_000,
        "reward": "win",
        "lanes": 128,
        "rollout": 64,
        "batch_size": 512,
        "epochs": 3,
        "search_simulations": 0,
        "guided": False,
        "searched": 256,
        "target_batches": 6,
        "target_capacity": 30_000,
    },
}
DEFAULTS["five_bridges"] = DEFAULTS["domaster"]
UNLIMITED = 10**9  # steps, where the clock decides
FINAL_SEED = 1_000_003  # of the deals at the end
RUNS = Path("runs")
INTERRUPTED = 130  # exit status, 128 + SIGINT, as shells have it


def problems(args: Arguments) -> Iterator[str]:
    """Yield what is wrong with the arguments, flag by flag."""
    at_least = {
        0: ("seed", "past_selves", "search_simulations", "searched", "target_batches", "evaluations", "value_weight"),
        1: ("steps", "lanes", "rollout", "epochs", "snapshot_every", "evaluation_deals", "final_deals", "threads",
            "target_capacity"),
        2: ("batch_size",),
    }  # fmt: skip
    for least, names in at_least.items():
        for name in names:
            if getattr(args, name) < least:
                yield f"{flag(name)} must be at least {least}, got {getattr(args, name)}"
    for name in ("self_play", "gae_lambda"):
        if not 0.0 <= getattr(args, name) <= 1.0:
            yield f"{flag(name)} must be from 0 to 1, got {getattr(args, name)}"
    for name in ("learning_rate", "clip", "minutes", "target_sharpness"):
        value = getattr(args, name)
        if value is not None and not 0.0 < value < float("inf"):
            yield f"{flag(name)} must be above 0, got {value}"
    if not all(value >= 0.0 for value in args.entropy):
        yield f"--entropy must be two numbers of at least 0, got {args.entropy}"
    for name, size in args.sizes.items():
        if size < 1:
            yield f"--sizes must be at least 1, got {name} {size}"
    if (args.lanes or 1) * (args.rollout or 1) < 2:
        yield "--lanes times --rollout must be at least 2"


def help_text() -> str:
    """Return what --help says first: what this script does, and what None stands for."""
    lines = [
        f"    {game}: " + ", ".join(f"{name.replace('_', '-')} {value}" for name, value in defaults.items())
        for game, defaults in DEFAULTS.items()
    ]
    return f"{__doc__}\nDefaults that depend on the game:\n\n" + "\n".join(lines)


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
            network, sizes = architecture["network"], architecture["sizes"]
    return dataclasses.replace(
        args, network=args.network or network, sizes=sizes, out=args.out or new_folder(RUNS, args.game)
    )


def policy_source(name: str) -> str:
    """Return a policy's name or path; it may be written as opponents are, ``policy:NAME``."""
    return name.removeprefix("policy:")


def build(args: Arguments, game: Game) -> SelfPlayPPO:
    """Return the learner with its games and its pool of opponents."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    with about("network"):
        network = make_network(args.network or "mlp", game, args.sizes)
    if args.init is not None:
        with about("init"):
            load_weights(policy_source(args.init), game, network)
    others = [*args.scripted, *(SnapshotAgent(game, network, name=f"past {i}") for i in range(args.past_selves))]
    share = (1.0 - args.self_play) / max(1, len(others))
    with about("scripted"):
        env = sb3_vec_env(
            game,
            args.lanes or 1,
            opponent=["self", *others],
            weights=[args.self_play or (1.0 if not others else 0.0), *([share] * len(others))],
            episode=args.episode,
            reward=args.reward,
        )
    rate = args.learning_rate
    scale = POINTS_SCALE if args.reward == "points" else 1.0
    targets = None
    if args.search_simulations:
        if args.guided and game.hidden.size:
            raise ValueError(f"--guided needs a game of perfect information, and {game.name} has hidden tiles")
        targets = SearchTargets(
            game,
            simulations=args.search_simulations,
            capacity=args.target_capacity or 1,
            value_scale=scale,
            guided=bool(args.guided),
            sharpness=args.target_sharpness,
        )
    return SelfPlayPPO(
        NetworkPolicy,
        env,
        policy_kwargs={"make_module": lambda: network},
        entropy=args.entropy,
        minutes=args.minutes,
        reward_scale=scale,
        targets=targets,
        searched=args.searched or 0,
        target_batches=args.target_batches or 0,
        learning_rate=lambda left: rate * (0.05 + 0.95 * left),
        n_steps=args.rollout or 1,
        batch_size=args.batch_size or 1,
        n_epochs=args.epochs or 1,
        gamma=1.0,
        gae_lambda=args.gae_lambda,
        clip_range=args.clip,
        vf_coef=args.value_weight,
        seed=args.seed,
    )


def origin(args: Arguments) -> dict[str, Any] | None:
    """Return what made the policy that the run starts from, as its card says it; None if it starts from nothing."""
    if args.init is None:
        return None
    with about("init"):
        training = read_card(policy_source(args.init)).get("training") or {}
    return {name: training[name] for name in ("command", "plies", "seconds", "continues") if name in training}


def folder_of(args: Arguments) -> Path:
    """Return the run's folder."""
    assert args.out is not None
    return args.out


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


def final_evaluation(args: Arguments, game: Game, source: Path) -> dict[str, Any]:
    """Play mirrored deals against random with the policy as it was saved and return the figures for its card."""
    agent = PolicyAgent(game, load_policy(source, game), mode="best")
    played = match_against(
        game, agent, "random", deals=args.final_deals, seed=FINAL_SEED, episode=args.episode, progress=True
    )
    won = wilson_interval(played.wins, played.num_games)
    print(
        f"against random, {args.final_deals} mirrored deals: {played.wins} won, {played.draws} drawn, "
        f"{played.losses} lost\nwin rate {won.text(100)} % (95 % Wilson interval), points {played.score.text(100)} % "
        f"(95 %, a deal as one observation)"
    )
    return {
        "opponent": "random",
        "mode": "best",
        "episode": args.episode,
        "mirrored_deals": args.final_deals,
        "seed": FINAL_SEED,
        "wins": played.wins,
        "draws": played.draws,
        "losses": played.losses,
        "win_rate_wilson": won.as_json(),
        "points": played.score.as_json(),
    }


def save(args: Arguments, game: Game, supervisor: Supervisor) -> Path:
    """Save the best weights as a policy, rate it, and return the path of its card."""
    learner = supervisor.learner
    learner.network.load_state_dict(supervisor.best)
    progress = {"steps": learner.num_timesteps, "seconds": learner.seconds_used, "history": supervisor.history}
    facts = card_facts({**supervisor.facts, **progress})
    card = save_policy(folder_of(args) / "policy", game, learner.network, facts)[".json"]
    print(f"saved {card} with {card.stem}.onnx to play and {card.stem}.safetensors to train on", flush=True)
    evaluation = final_evaluation(args, game, card)
    write_card(card, {**read_card(card, game), "evaluation": [evaluation]})
    return card


def main(args: Arguments) -> Path | None:
    """Train, save, evaluate; return the path of the policy's card, None if the run was stopped before its end.

    Raises:
        ValueError: for a wrong argument or checkpoint.
        KeyboardInterrupt: for a second Ctrl-C, or one during the evaluation at the end.
    """
    kept: dict[str, Any] = {}
    if args.resume:
        args, kept = restore(args)
    else:
        args = with_defaults(args)
        if checkpoint_path(folder_of(args)).exists():
            raise ValueError(f"--out: there is a run in {args.out}; go on with --resume, or choose another folder")
    folder = folder_of(args)
    game = game_of(args)
    learner = build(args, game)
    implied = {**DEFAULTS[args.game], "network": default_network(game)}
    if args.minutes is not None:
        implied["steps"] = UNLIMITED
    command = command_of("training/train.py", args, "game", defaults=implied, without=("out", "resume"))
    supervisor = Supervisor(
        folder,
        {"arguments": as_json(args), "command": command, "continues": origin(args)},
        rungs=args.scripted,
        evaluations=args.evaluations,
        evaluation_deals=args.evaluation_deals,
        episode=args.episode,
        snapshot_every=args.snapshot_every,
        kept=kept,
    )
    learner.set_logger(configure(str(folder / "tensorboard"), ["tensorboard"]))
    steps = args.steps or 1
    if args.resume:
        learner._setup_learn(steps, None)
        supervisor.best = load_checkpoint(folder, learner)
        steps -= learner.num_timesteps
        print(f"going on with {folder} after {learner.num_timesteps:,} plies, {learner.seconds_used:.0f} s", flush=True)
    with interrupt_calls(learner.stop, "stopping after this iteration; Ctrl-C again leaves at once"):
        learner.learn(steps, callback=supervisor, reset_num_timesteps=not args.resume)
        supervisor.save()
    if learner.stop_requested:
        again = ["python", "training/train.py", args.game, "--resume", "--out", str(folder)]
        print(f"stopped after {learner.num_timesteps:,} plies; go on with: {shlex.join(again)}")
        return None
    supervisor.evaluate()
    supervisor.save()
    return save(args, game, supervisor)


if __name__ == "__main__":
    try:
        finished = main(tyro.cli(Arguments, description=help_text())) is not None
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        print("interrupted; --resume goes on from the last checkpoint, if there is one yet", file=sys.stderr)
        finished = False
    sys.exit(0 if finished else INTERRUPTED)
