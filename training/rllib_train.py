"""Train with Ray RLlib instead: PPO on the PettingZoo environment, one network for both seats; saved as a policy.

    pip install ".[train]" "ray[rllib]"       # without -c constraints.txt: RLlib wants an older gymnasium
    python training/rllib_train.py mate

It shows how the environments, the networks and the saved policies go together with another library. train.py is the
faster way: it steps many games at once, and learns from both seats with one value function.
"""

from __future__ import annotations

import logging
import sys
import warnings
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import torch
import tyro
from torch import Tensor

try:
    import ray
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.core.columns import Columns
    from ray.rllib.core.rl_module import MultiRLModuleSpec, RLModuleSpec
    from ray.rllib.core.rl_module.apis import ValueFunctionAPI
    from ray.rllib.core.rl_module.torch import TorchRLModule
    from ray.rllib.env.wrappers.pettingzoo_env import PettingZooEnv
    from ray.tune.registry import register_env
except ModuleNotFoundError as error:
    sys.exit(f"error: this script needs {error.name}: pip install 'ray[rllib]'")

from domino_envs.agents.policy_agent import PolicyAgent
from domino_envs.arena import wilson_interval
from domino_envs.games import get_game
from domino_envs.learning.evaluation import match_against
from domino_envs.learning.export import save_policy
from domino_envs.learning.policy import default_network, make_network, masked_log_probabilities
from domino_envs.policies import load_policy

NAME = "both_seats"  # the one module


@dataclass
class Arguments:
    """Self-play PPO with RLlib."""

    game: tyro.conf.Positional[Literal["domaster", "five_bridges", "mate", "third_level"]]
    """Which game."""
    iterations: int = 10
    """Rounds of collecting and learning."""
    plies: int = 2000
    """Plies collected in each."""
    learning_rate: float = 1e-3
    seed: int = 0
    """Of RLlib's random choices; runs do not repeat exactly."""
    runners: int = 0
    """Processes that collect; 0 collects in the learner's own."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Sizes of the network, such as --sizes width 32 rounds 4."""
    deals: int = 500
    """Mirrored deals against random at the end."""
    out: Path | None = None
    """Where the policy goes: the common path of its files; runs/GAME-rllib/policy by default."""


class MaskedModule(TorchRLModule, ValueFunctionAPI):  # type: ignore[misc]
    """A network of this package as RLlib's module; it takes the environment's observations with their masks."""

    def setup(self) -> None:
        """Make the network."""
        facts = self.model_config
        self.network = make_network(facts["network"], get_game(facts["game"]), facts["sizes"])

    def _evaluate(self, batch: dict[str, Any]) -> tuple[Tensor, Tensor]:
        seen = batch[Columns.OBS]
        logits, values = self.network(seen["observation"], seen["action_mask"])
        return masked_log_probabilities(logits, seen["action_mask"]), values

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Tensor]:
        return {Columns.ACTION_DIST_INPUTS: self._evaluate(batch)[0]}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Tensor:
        """Return what each position is worth to its mover."""
        return self._evaluate(batch)[1]


def configure(args: Arguments) -> PPOConfig:
    """Return RLlib's configuration."""
    face = import_module(f"domino_envs.{args.game}_v0")
    register_env(args.game, lambda _: PettingZooEnv(face.env(episode="deal")))
    facts = {"game": args.game, "network": default_network(get_game(args.game)), "sizes": args.sizes}
    module = RLModuleSpec(module_class=MaskedModule, model_config=facts)
    return (
        PPOConfig()
        .environment(args.game)
        .framework("torch")
        .debugging(seed=args.seed, log_level="ERROR")
        .env_runners(num_env_runners=args.runners, num_envs_per_env_runner=1)
        .learners(num_learners=0)
        .multi_agent(policies={NAME}, policy_mapping_fn=lambda agent, *_, **__: NAME)
        .rl_module(rl_module_spec=MultiRLModuleSpec(rl_module_specs={NAME: module}))
        .training(
            train_batch_size_per_learner=args.plies,
            minibatch_size=512,
            num_epochs=3,
            lr=args.learning_rate,
            gamma=1.0,
            lambda_=0.95,
            clip_param=0.2,
            entropy_coeff=0.01,
            use_kl_loss=False,
        )
    )


def main(args: Arguments) -> Path:
    """Train, save, evaluate; return the path of the policy's card."""
    torch.set_num_threads(1)
    game = get_game(args.game)
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        algorithm = configure(args).build_algo()
        for iteration in range(args.iterations):
            found = algorithm.train()
            learned = found["learners"][NAME]
            print(
                f"{iteration + 1:>4} of {args.iterations}: {found['num_env_steps_sampled_lifetime']:,.0f} plies, "
                f"entropy {learned['entropy']:.2f}, value loss {learned['vf_loss']:.2f}",
                flush=True,
            )
        network = algorithm.get_module(NAME).network
    finally:
        ray.shutdown()
    facts = {
        "architecture": {"network": default_network(game), "sizes": args.sizes},
        "training": {"algorithm": "PPO of RLlib", "iterations": args.iterations, "plies": args.iterations * args.plies},
    }
    card = save_policy(args.out or Path("runs") / f"{args.game}-rllib" / "policy", game, network, facts)[".json"]
    print(f"saved {card}")
    agent = PolicyAgent(game, load_policy(card), mode="best")
    played = match_against(game, agent, "random", deals=args.deals, seed=0, episode="deal", progress=True)
    won = wilson_interval(played.wins, played.num_games)
    print(f"against random, {args.deals} mirrored deals: won {won.text(100)} % (95 % Wilson interval)")
    return card


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)  # RLlib's own
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)
    try:
        main(tyro.cli(Arguments, description=__doc__))
    except ValueError as error:
        sys.exit(f"error: {error}")
