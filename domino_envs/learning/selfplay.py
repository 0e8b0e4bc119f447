"""MaskablePPO for self-play: both seats learn, with a pool of past selves and scripted opponents beside.

In a lane where the learner plays both seats every ply is a sample, and the advantage recursion changes sign where the
mover changes: what the opponent will get is what I shall lose. In the other lanes it is the usual one. (Both-seats
self-play and the entropy, clip and learning-rate schedules: Rudolph et al., arXiv 2502.08938.)
"""

from __future__ import annotations

import copy
import time
from collections.abc import Generator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.buffers import MaskableRolloutBuffer, MaskableRolloutBufferSamples
from stable_baselines3.common.buffers import RolloutBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ..agents import Agent
from ..agents.policy_agent import choose_from_logits
from ..batch_single import BatchSinglePlayer
from ..games import Game
from ..vector_sb3 import DominoVecEnv
from .legal_moves import ForeseenObservations, LegalMovesNetwork
from .policy import NetworkPolicy
from .search_targets import SearchTargets

__all__ = ["SelfPlayBuffer", "SelfPlayPPO", "SnapshotAgent"]


class SnapshotAgent(Agent):
    """A copy of a network as an opponent, in memory."""

    def __init__(
        self, game: Game, network: torch.nn.Module, *, seed: int | None = None, mode: str = "sample", name: str = "self"
    ) -> None:
        super().__init__(game, seed=seed, mode=mode)
        self.network = copy.deepcopy(network)
        self.name = name

    def copy_from(self, network: torch.nn.Module) -> None:
        """Take over a network's present weights."""
        self.network.load_state_dict(network.state_dict())

    def act(
        self,
        observations: NDArray[np.int8],
        action_masks: NDArray[np.int8],
        states: NDArray[Any] | None = None,
    ) -> NDArray[np.int64]:
        """Evaluate the whole batch in one call and choose."""
        with torch.no_grad():
            logits, _ = self.network(torch.from_numpy(observations), torch.from_numpy(action_masks))
        return choose_from_logits(logits.numpy(), action_masks, self.rng if self.mode == "sample" else None)


class SelfPlayBuffer(MaskableRolloutBuffer):
    """A rollout buffer that keeps observations and masks as ``int8`` and knows where the mover changed.

    Attributes:
        signs: 1 where the next turn is the same player's, -1 where it is the other's, ``float32 (steps, lanes)``.
        learned: whether a sample is learned from, ``bool (steps, lanes)``; openings are not.
        foreseen: what the network foresees of each position, ``float32 (steps, lanes, size)``; None for nothing.
        rng: shuffles the samples.
    """

    rng: np.random.Generator
    signs: NDArray[np.float32]
    learned: NDArray[np.bool_]
    foreseen: NDArray[np.float32] | None

    def reset(self) -> None:
        """Empty the buffer."""
        self.mask_dims = int(self.action_space.n)  # type: ignore[attr-defined]
        shape = (self.buffer_size, self.n_envs)
        self.observations = np.zeros((*shape, *self.obs_shape), dtype=np.int8)
        self.action_masks = np.zeros((*shape, self.mask_dims), dtype=np.int8)
        self.actions = np.zeros((*shape, 1), dtype=np.int64)
        for name in ("rewards", "returns", "episode_starts", "values", "log_probs", "advantages", "signs"):
            setattr(self, name, np.zeros(shape, dtype=np.float32))
        self.learned = np.ones(shape, dtype=np.bool_)
        self.foreseen = None
        self.generator_ready = False
        self.pos = 0
        self.full = False

    def put(self, signs: NDArray[np.float32], foreseen: NDArray[np.float32] | None, **arrays: Any) -> None:
        """Add one step: arrays by the names of the attributes, each with a row per lane."""
        self.signs[self.pos] = signs
        if foreseen is not None:
            if self.foreseen is None:
                self.foreseen = np.zeros((self.buffer_size, *foreseen.shape), dtype=np.float32)
            self.foreseen[self.pos] = foreseen
        for name, array in arrays.items():
            getattr(self, name)[self.pos] = array
        self.pos += 1
        self.full = self.pos == self.buffer_size

    def compute_returns_and_advantage(self, last_values: torch.Tensor, dones: NDArray[Any]) -> None:
        """Compute generalised advantages with the sign changes; ``last_values`` belong to whoever is to move."""
        following = last_values.numpy().flatten()
        alive = 1.0 - dones.astype(np.float32)
        advantage = np.zeros(self.n_envs, dtype=np.float32)
        for step in reversed(range(self.buffer_size)):
            sign = self.signs[step] * alive
            error = self.rewards[step] + self.gamma * sign * following - self.values[step]
            advantage = error + self.gamma * self.gae_lambda * sign * advantage
            self.advantages[step] = advantage
            following = self.values[step]
            alive = 1.0 - self.episode_starts[step]
        self.returns = self.advantages + self.values

    def get(  # type: ignore[override]
        self, batch_size: int | None = None
    ) -> Generator[MaskableRolloutBufferSamples, None, None]:
        """Yield random minibatches; openings are left out, and forced moves: there is nothing to choose in them."""
        size = self.buffer_size * self.n_envs
        flat = {
            name: getattr(self, name).reshape(size, *getattr(self, name).shape[2:])
            for name in (
                "observations",
                "actions",
                "values",
                "log_probs",
                "advantages",
                "returns",
                "action_masks",
            )
        }
        free = np.flatnonzero((flat["action_masks"].sum(axis=1, dtype=np.int32) > 1) & self.learned.reshape(size))
        if len(free) < 2:  # of fewer than two the advantages cannot be normalised
            free = np.arange(size)
        chosen = self.rng.permutation(free)
        batch_size = batch_size or len(chosen)
        for start in range(0, max(1, len(chosen) - batch_size // 2), batch_size):
            rows = chosen[start : start + batch_size]
            samples = MaskableRolloutBufferSamples(*(torch.from_numpy(array[rows]) for array in flat.values()))
            if self.foreseen is not None:
                foreseen = torch.from_numpy(self.foreseen.reshape(size, -1)[rows])
                seen = ForeseenObservations(samples.observations, foreseen)
                samples = samples._replace(observations=seen)  # type: ignore[arg-type]
            yield samples


class SelfPlayPPO(MaskablePPO):
    """MaskablePPO that collects from a :class:`~domino_envs.vector_sb3.DominoVecEnv` with ``"self"`` in its pool.

    Args:
        policy: :class:`~domino_envs.learning.policy.NetworkPolicy`, with ``policy_kwargs`` among ``named``.
        env: the games.
        entropy: start and end of the entropy coefficient, linear in between.
        minutes: time budget; progress (and with it every schedule) goes by the clock then. None goes by the steps.
        reward_scale: what the environment's rewards are multiplied with.
        targets: searched positions to learn from beside the policy gradient; None for none.
        searched: positions of each rollout that are searched.
        target_batches: minibatches of searched positions to learn from after each rollout.
        named: MaskablePPO's other arguments.

    Every iteration seeds all random choices anew from the seed and its number, so that a run that was stopped between
    two iterations goes on as if it had not been.
    """

    def __init__(
        self,
        policy: type[NetworkPolicy],
        env: DominoVecEnv,
        *,
        entropy: tuple[float, float] = (0.02, 0.003),
        minutes: float | None = None,
        reward_scale: float = 1.0,
        targets: SearchTargets | None = None,
        searched: int = 0,
        target_batches: int = 0,
        **named: Any,
    ) -> None:
        self.targets = targets
        self.searched = searched
        self.target_batches = target_batches
        self.entropy = entropy
        self.minutes = minutes
        self.reward_scale = reward_scale
        self.seconds_used = 0.0
        self.stop_requested = False
        self._clock: float | None = None
        super().__init__(policy, env, rollout_buffer_class=SelfPlayBuffer, device="cpu", **named)

    @property
    def players(self) -> BatchSinglePlayer:
        """The games that it trains on."""
        env = self.env
        assert isinstance(env, DominoVecEnv)
        return env.players

    @property
    def network(self) -> torch.nn.Module:
        """The network being trained."""
        policy = self.policy
        assert isinstance(policy, NetworkPolicy)
        return policy.network

    def _update_current_progress_remaining(self, num_timesteps: int, total_timesteps: int) -> None:
        now = time.monotonic()
        self.seconds_used += 0.0 if self._clock is None else now - self._clock
        self._clock = now
        done = num_timesteps / total_timesteps
        if self.minutes is not None:
            done = max(done, self.seconds_used / (60.0 * self.minutes))
        self._current_progress_remaining = max(0.0, 1.0 - done)

    def stop(self) -> None:
        """Make :meth:`learn` return after the running iteration."""
        self.stop_requested = True

    def go_on_from(self, steps: int, seconds: float, updates: int) -> None:
        """Set the counters of a run that was stopped, and with them its schedules; learning must have been set up."""
        self.num_timesteps = steps
        self.seconds_used = seconds
        self._n_updates = updates
        self._update_current_progress_remaining(steps, self._total_timesteps)

    @property
    def budget_spent(self) -> bool:
        """Whether the time budget is over."""
        return self.minutes is not None and self.seconds_used >= 60.0 * self.minutes

    def collect_rollouts(
        self,
        env: VecEnv,
        callback: BaseCallback,
        rollout_buffer: RolloutBuffer,
        n_rollout_steps: int,
        use_masking: bool = True,
    ) -> bool:
        """Fill the buffer; see :class:`SelfPlayPPO`."""
        assert isinstance(env, DominoVecEnv) and isinstance(rollout_buffer, SelfPlayBuffer)
        if self._clock is None:
            self._clock = time.monotonic()
        callback.on_rollout_start()
        if self.stop_requested or self.budget_spent:
            return False
        self._seed_iteration(env, rollout_buffer)
        high, low = self.entropy
        self.ent_coef = low + (high - low) * self._current_progress_remaining
        self.policy.set_training_mode(False)
        players = env.players
        batch = players.batch
        rollout_buffer.reset()
        starts = np.asarray(self._last_episode_starts, dtype=np.float32)
        to_search: list[tuple[NDArray[Any], ...]] = []
        for step in range(n_rollout_steps):
            with torch.no_grad():
                seen, foreseen = self._foresee(batch.observations, batch.action_masks)
                actions, values, log_probs = self.policy(seen, action_masks=batch.action_masks)
            kept = {"observations": batch.observations.copy(), "action_masks": batch.action_masks.copy()}
            assert kept["action_masks"].any(axis=1).all(), "a turn without a legal action: the policy would be uniform"
            if self.targets is not None:
                rows = self._rows_to_search(step, batch.action_masks, rollout_buffer.rng)
                to_search.append((batch.states[rows], batch.observations[rows], batch.action_masks[rows]))
            chosen = actions.numpy()
            learned = players.opening_left == 0
            players.step(chosen)
            rollout_buffer.put(
                signs=np.where(players.same_player, 1.0, -1.0).astype(np.float32),
                foreseen=foreseen,
                learned=learned,
                actions=chosen[:, None],
                rewards=players.rewards * self.reward_scale,
                episode_starts=starts,
                values=values.numpy()[:, 0],
                log_probs=log_probs.numpy(),
                **kept,
            )
            starts = players.dones.astype(np.float32)
            over = np.flatnonzero(players.dones)
            if len(over):
                players.reset(lanes=over)
            self.num_timesteps += players.num_lanes
            callback.update_locals(locals())
            if not callback.on_step():
                return False
        self._last_episode_starts = starts.astype(np.bool_)
        with torch.no_grad():
            _, last_values = self.network(torch.from_numpy(batch.observations), torch.from_numpy(batch.action_masks))
        rollout_buffer.compute_returns_and_advantage(last_values, starts)
        if self.targets is not None:
            states, observations, masks = (np.concatenate(parts) for parts in zip(*to_search, strict=True))
            seed = int(rollout_buffer.rng.integers(2**31))
            self.targets.add(states, observations, masks, seed=seed, judge=self._judge)
        callback.on_rollout_end()
        return True

    def _foresee(
        self, observations: NDArray[np.int8], action_masks: NDArray[np.int8]
    ) -> tuple[Tensor | ForeseenObservations, NDArray[np.float32] | None]:
        """Return observations as the policy takes them, and what the network foresees of them to keep."""
        seen = torch.from_numpy(observations)
        network = self.network
        foreseen = None
        if isinstance(network, LegalMovesNetwork):
            foreseen = network.foresee(seen, torch.from_numpy(action_masks))
        return (seen, None) if foreseen is None else (ForeseenObservations(seen, foreseen), foreseen.numpy())

    def _judge(
        self, observations: NDArray[np.int8], action_masks: NDArray[np.int8]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the network's logits and values."""
        with torch.inference_mode():
            logits, values = self.network(torch.from_numpy(observations), torch.from_numpy(action_masks))
        return logits.numpy(), values.numpy()

    def _rows_to_search(self, step: int, masks: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int64]:
        """Choose lanes with a choice to make, so many that the rollout has ``searched`` of them."""
        count = self.searched * (step + 1) // self.n_steps - self.searched * step // self.n_steps
        free = np.flatnonzero(masks.sum(axis=1, dtype=np.int64) > 1)
        return rng.permutation(free)[:count]

    def train(self) -> None:
        """Update the policy from the rollout, unless ``n_epochs`` is 0, then from the searched positions."""
        if self.n_epochs:
            super().train()
        else:
            self.policy.set_training_mode(True)
            self._update_learning_rate(self.policy.optimizer)
        if self.targets is None:
            return
        buffer = self.rollout_buffer
        assert isinstance(buffer, SelfPlayBuffer)
        policy = self.policy
        assert isinstance(policy, NetworkPolicy)
        self.logger.record("train/search_divergence", self.targets.mean_divergence)
        self.logger.record("train/new_search_divergence", self.targets.newest_divergence)
        for rows in self.targets.draw(buffer.rng, self.target_batches, self.batch_size or 1):
            with policy.autocast():
                loss = self.targets.loss(policy.network, rows, self.vf_coef)
            policy.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(policy.parameters(), self.max_grad_norm)
            policy.optimizer.step()

    def _seed_iteration(self, env: DominoVecEnv, buffer: SelfPlayBuffer) -> None:
        iteration = self.num_timesteps // (self.n_steps * self.n_envs)
        words = np.random.SeedSequence([self.seed or 0, iteration]).generate_state(2 + len(env.players.opponents))
        torch.manual_seed(int(words[0]))
        buffer.rng = np.random.default_rng(int(words[1]))
        for agent, word in zip(env.players.opponents, words[2:], strict=True):
            if agent is not None:
                agent.reseed(int(word))
