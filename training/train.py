"""Train a policy by self-play with MaskablePPO, evaluate it on mirrored deals, and save it to play with.

    python training/train.py mate
    python training/train.py domaster --minutes 15 --seed 1
    python training/train.py mate --resume            # goes on with an interrupted run
    tensorboard --logdir runs                         # learning curves

Ctrl-C ends the current iteration, saves a checkpoint and leaves; a second one leaves at once.
"""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from tqdm import tqdm

from domino_envs.agents import make_agent
from domino_envs.agents.mate_accuracy import mate_accuracy
from domino_envs.games import Game, get_game
from domino_envs.learning.checkpoint import CheckpointError, load_checkpoint, read_checkpoint_facts, save_checkpoint
from domino_envs.learning.evaluation import play_mirrored_deals
from domino_envs.learning.export import load_weights, save_policy
from domino_envs.learning.policy import NetworkPolicy, default_network, make_network
from domino_envs.learning.search_targets import SearchTargets
from domino_envs.learning.selfplay import SelfPlayPPO, SnapshotAgent
from domino_envs.policies import read_card
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
    """Go on from the checkpoint in the folder, with the arguments that it was started with."""
    init: str | None = None
    """Start from the weights of a saved policy (a name or path)."""

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
    clip: float = 0.2
    entropy: tuple[float, float] = (0.02, 0.003)
    """Entropy coefficient at the start and at the end."""
    value_weight: float = 0.5
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
    searched: int = 1024
    """Positions of each rollout that are searched."""
    target_batches: int = 8
    """Minibatches of searched positions after each rollout."""
    target_capacity: int = 100_000
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
        "steps": 600_000,
        "reward": "points",
        "lanes": 256,
        "rollout": 32,
        "batch_size": 1024,
        "epochs": 3,
        "search_simulations": 0,
    },
    "domaster": {
        "steps": 300_000,
        "reward": "win",
        "lanes": 128,
        "rollout": 64,
        "batch_size": 1024,
        "epochs": 3,
        "search_simulations": 0,
    },
    "five_bridges": {
        "steps": 300_000,
        "reward": "win",
        "lanes": 128,
        "rollout": 64,
        "batch_size": 1024,
        "epochs": 3,
        "search_simulations": 0,
    },
    "third_level": {
        "steps": 250_000,
        "reward": "win",
        "lanes": 128,
        "rollout": 64,
        "batch_size": 512,
        "epochs": 3,
        "search_simulations": 0,
    },
}
POINTS_SCALE = 0.02  # Mate's points, about 60 a game, to numbers about 1
CHECKPOINT_EVERY = 60.0  # seconds


def with_defaults(args: Arguments) -> Arguments:
    """Fill in what the user left open and check the rest."""
    chosen = {k: v for k, v in DEFAULTS[args.game].items() if getattr(args, k) is None}
    chosen["network"] = args.network or default_network(get_game(args.game))
    chosen["out"] = args.out or Path("runs") / args.game
    if args.minutes is not None:
        chosen["steps"] = args.steps or 10**9
    args = dataclasses.replace(args, **chosen)
    for name in ("steps", "lanes", "rollout", "batch_size", "epochs", "threads", "evaluation_deals", "final_deals"):
        if getattr(args, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be at least 1, got {getattr(args, name)}")
    if not 0.0 <= args.self_play <= 1.0:
        raise ValueError(f"--self-play must be from 0 to 1, got {args.self_play}")
    return args


def build(args: Arguments, game: Game) -> SelfPlayPPO:
    """Return the learner with its games and its pool of opponents."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    network = make_network(args.network or "mlp", game, args.sizes)
    if args.init is not None:
        load_weights(args.init, game, network)
    others = [*args.scripted, *(SnapshotAgent(game, network, name=f"past {i}") for i in range(args.past_selves))]
    share = (1.0 - args.self_play) / max(1, len(others))
    env = sb3_vec_env(
        game,
        args.lanes or 1,
        opponent=["self", *others],
        weights=[args.self_play or 1e-9, *([share] * len(others))],
        episode=args.episode,
        reward=args.reward,
    )
    rate = args.learning_rate
    scale = POINTS_SCALE if args.reward == "points" else 1.0
    targets = None
    if args.search_simulations:
        targets = SearchTargets(
            game, simulations=args.search_simulations, capacity=args.target_capacity, value_scale=scale
        )
    return SelfPlayPPO(
        NetworkPolicy,
        env,
        policy_kwargs={"make_module": lambda: network},
        entropy=args.entropy,
        minutes=args.minutes,
        reward_scale=scale,
        targets=targets,
        searched=args.searched,
        target_batches=args.target_batches,
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


class Supervisor(BaseCallback):
    """Between iterations: progress bar, past selves, evaluations, checkpoints, Ctrl-C."""

    def __init__(self, args: Arguments, game: Game, folder: Path) -> None:
        super().__init__()
        self.args, self.game, self.folder = args, game, folder
        self.best: dict[str, torch.Tensor] = {}
        self.history: list[dict[str, Any]] = []
        self.iterations = 0
        self.saved_at = time.monotonic()
        self.bar: tqdm[Any] | None = None

    @property
    def learner(self) -> SelfPlayPPO:
        """The learner, with its own type."""
        assert isinstance(self.model, SelfPlayPPO)
        return self.model

    def share_done(self) -> float:
        """Return how much of the budget is spent, 0 to 1."""
        return 1.0 - self.learner._current_progress_remaining

    def _on_training_start(self) -> None:
        self.bar = tqdm(total=100, desc=f"training {self.args.game}", bar_format="{l_bar}{bar}| {postfix}", leave=False)
        signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, *_: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.learner.stop_requested = True
        tqdm.write("stopping after this iteration; Ctrl-C again leaves at once")

    def _on_rollout_start(self) -> None:
        """All updates of the iterations before are done: the run can be saved as it is."""
        if self.bar is not None:
            self.bar.n = round(100 * self.share_done(), 1)
            latest = {k: v for k, v in (self.history[-1] if self.history else {}).items() if isinstance(v, float)}
            self.bar.set_postfix({"plies": self.num_timesteps, **{k: f"{v:.2f}" for k, v in latest.items()}})
        if self.iterations % self.args.snapshot_every == 0:
            self._keep_past_self(self.iterations // self.args.snapshot_every)
        if self.iterations and self.share_done() * self.args.evaluations >= len(self.history) + 1:
            self.evaluate()
        if time.monotonic() - self.saved_at > CHECKPOINT_EVERY or self.learner.stop_requested:
            self.save()
        self.iterations += 1

    def _on_step(self) -> bool:
        return True

    def _keep_past_self(self, number: int) -> None:
        past = [agent for agent in self.learner.players.opponents if isinstance(agent, SnapshotAgent)]
        if past:
            past[number % len(past)].copy_from(self.learner.network)

    def evaluate(self) -> None:
        """Play the scripted rungs, in Mate compare with exact values too; keep the weights if they are the best."""
        agent = SnapshotAgent(self.game, self.learner.network, name="learner")
        result: dict[str, Any] = {"plies": self.num_timesteps, "seconds": round(self.learner.seconds_used, 1)}
        for name in self.args.scripted:
            rung = make_agent(name, self.game)
            played = play_mirrored_deals(self.game, agent, rung, deals=self.args.evaluation_deals, seed=7)
            result[name] = played.points
        quality = sum(result[name] for name in self.args.scripted)
        if self.game.name == "mate":
            agent.mode = "best"
            accuracy = mate_accuracy(agent, deals=self.args.evaluation_deals, seed=7)
            result |= {"preserving": accuracy.preserving, "regret": accuracy.regret}
            quality = -accuracy.regret
        result["quality"] = quality
        if not self.history or quality >= max(entry["quality"] for entry in self.history):
            self.best = {k: v.detach().clone() for k, v in self.learner.network.state_dict().items()}
        self.history.append(result)
        for key, value in result.items():
            self.logger.record(f"evaluation/{key}", value)
        tqdm.write(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in result.items()}))

    def save(self) -> None:
        """Write the checkpoint."""
        facts = {"arguments": as_json(self.args), "history": self.history, "iterations": self.iterations}
        save_checkpoint(self.folder, self.learner, facts, self.best)
        self.saved_at = time.monotonic()


def as_json(args: Arguments) -> dict[str, Any]:
    """Return the arguments as JSON can hold them."""
    return {k: str(v) if isinstance(v, Path) else v for k, v in dataclasses.asdict(args).items()}


def restore(args: Arguments) -> tuple[Arguments, dict[str, Any]]:
    """Return the arguments with which the run in the folder was started, and what else was kept of it."""
    facts = read_checkpoint_facts(args.out or Path("runs") / args.game)
    kept = facts["arguments"]
    if kept["game"] != args.game:
        raise CheckpointError(f"the run in {args.out} trains {kept['game']}, not {args.game}")
    kept |= {"out": Path(kept["out"]), "resume": True}
    kept |= {key: tuple(kept[key]) for key in ("entropy", "scripted")}
    return Arguments(**kept), facts


def final_evaluation(args: Arguments, game: Game, agent: SnapshotAgent) -> dict[str, Any]:
    """Play mirrored deals against random and return the figures for the card."""
    played = play_mirrored_deals(game, agent, make_agent("random", game), deals=args.final_deals, seed=1_000_003)
    points, wins = played.points_interval(), played.win_interval()
    print(
        f"against random, {args.final_deals} mirrored deals: {played.wins} won, {played.draws} drawn, "
        f"{played.losses} lost; points {100 * played.points:.1f} % "
        f"({100 * points.low:.1f} to {100 * points.high:.1f}), "
        f"win rate {100 * played.wins / played.games:.1f} % (Wilson {100 * wins.low:.1f} to {100 * wins.high:.1f})"
    )
    return {
        "opponent": "random",
        "mirrored_deals": args.final_deals,
        "wins": played.wins,
        "draws": played.draws,
        "losses": played.losses,
        "points": played.points,
        "points_interval": [points.low, points.high],
        "win_rate_wilson": [wins.low, wins.high],
    }


def main(args: Arguments) -> None:
    """Train, evaluate, save."""
    facts: dict[str, Any] = {}
    if args.resume:
        args, facts = restore(args)
    else:
        args = with_defaults(args)
    folder = args.out or Path("runs")
    game = get_game(args.game)
    learner = build(args, game)
    supervisor = Supervisor(args, game, folder)
    learner.set_logger(configure(str(folder / "tensorboard"), ["tensorboard"]))
    if args.resume:
        learner._setup_learn(args.steps or 1, None)
        supervisor.best = load_checkpoint(folder, learner)
        supervisor.history, supervisor.iterations = facts["history"], facts["iterations"]
        print(f"going on after {learner.num_timesteps} plies, {learner.seconds_used:.0f} s")
    learner.learn(args.steps or 1, callback=supervisor, reset_num_timesteps=not args.resume)
    if learner.stop_requested:
        print(f"stopped after {learner.num_timesteps} plies; go on with: python training/train.py {args.game} --resume")
        return
    supervisor.evaluate()
    supervisor.save()
    if supervisor.bar is not None:
        supervisor.bar.close()
    learner.network.load_state_dict(supervisor.best)
    agent = SnapshotAgent(game, learner.network, name="learner")
    facts = {
        "architecture": {"network": args.network, "sizes": args.sizes},
        "training": {
            "command": " ".join(["python", "training/train.py", *sys.argv[1:]]),
            "arguments": as_json(args),
            "plies": learner.num_timesteps,
            "seconds": round(learner.seconds_used, 1),
            "history": supervisor.history,
        },
        "evaluation": [final_evaluation(args, game, agent)],
        "licence": "MIT",
        "created": time.strftime("%Y-%m-%d"),
    }
    paths = save_policy(folder / "policy", game, learner.network, facts)
    read_card(paths[".json"], game)
    print(f"saved {', '.join(str(path) for path in paths.values())}")


if __name__ == "__main__":
    try:
        main(tyro.cli(Arguments, description=__doc__))
    except ValueError as error:
        sys.exit(f"error: {error}")
