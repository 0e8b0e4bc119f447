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

import shlex
import sys
from pathlib import Path
from typing import Any

import torch
import tyro
from stable_baselines3.common.logger import configure

from domino_envs.agents import make_agent
from domino_envs.agents.policy_agent import PolicyAgent
from domino_envs.arena import wilson_interval
from domino_envs.games import Game
from domino_envs.learning.arguments import (
    DEFAULTS,
    UNLIMITED,
    Arguments,
    as_json,
    game_of,
    help_text,
    policy_source,
    restore,
    with_defaults,
)
from domino_envs.learning.checkpoint import checkpoint_path, load_checkpoint
from domino_envs.learning.evaluation import match_against
from domino_envs.learning.export import load_weights, save_policy
from domino_envs.learning.policy import NetworkPolicy, default_network, make_network
from domino_envs.learning.runs import POINTS_SCALE, about, card_facts, command_of, interrupt_calls
from domino_envs.learning.search_targets import SearchTargets
from domino_envs.learning.selfplay import SelfPlayPPO, SnapshotAgent
from domino_envs.learning.supervisor import Supervisor
from domino_envs.policies import load_policy, read_card, write_card
from domino_envs.vector import sb3_vec_env

FINAL_SEED = 1_000_003  # of the deals at the end
INTERRUPTED = 130  # exit status, 128 + SIGINT, as shells have it


def build(args: Arguments, game: Game) -> SelfPlayPPO:
    """Return the learner with its games and its pool of opponents."""
    torch.set_num_threads(args.threads or 1)
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
            opponent_mode=args.opponent_mode,
            opening=args.opening or 0,
            episode=args.episode,
            reward=args.reward,
        )
    with about("rungs"):
        for rung in args.rungs or ():
            make_agent(rung, game)
    rate = args.learning_rate
    scale = POINTS_SCALE if args.reward == "points" else 1.0
    targets = None
    if args.search_simulations or args.exact:
        if args.guided and game.hidden.size:
            raise ValueError(f"--guided needs a game of perfect information, and {game.name} has hidden tiles")
        with about("exact"):
            targets = SearchTargets(
                game,
                simulations=args.search_simulations or 1,
                capacity=args.target_capacity or 1,
                value_scale=scale,
                guided=bool(args.guided),
                sharpness=args.target_sharpness,
                exact=bool(args.exact),
                regret_weight=args.regret_weight,
                priority=args.target_priority,
            )
    return SelfPlayPPO(
        NetworkPolicy,
        env,
        policy_kwargs={"make_module": lambda: network, "in_bfloat16": args.bfloat16},
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
        gamma=args.gamma,
        gae_lambda=args.gae_lambda or 0.0,
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
        rungs=args.scripted if args.rungs is None else args.rungs,
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
        finished = main(tyro.cli(Arguments, description=help_text(__doc__ or ""))) is not None
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        print("interrupted; --resume goes on from the last checkpoint, if there is one yet", file=sys.stderr)
        finished = False
    sys.exit(0 if finished else INTERRUPTED)
