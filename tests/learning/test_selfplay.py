"""Tests of self-play PPO: advantages whose sign follows the mover, what is learned from, masks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from domino_envs.agents import make_agent
from domino_envs.games import get_game
from domino_envs.learning.legal_moves import ForeseenObservations
from domino_envs.learning.policy import NetworkPolicy, make_network
from domino_envs.learning.selfplay import SelfPlayBuffer, SelfPlayPPO, SnapshotAgent
from domino_envs.vector import sb3_vec_env


def filled_buffer(
    rewards: Any, values: Any, signs: Any, starts: Any, gamma: float = 1.0, gae_lambda: float = 1.0
) -> SelfPlayBuffer:
    steps, lanes = np.shape(rewards)
    buffer = SelfPlayBuffer(
        steps, spaces.Box(0, 1, (3,), np.int8), spaces.Discrete(4), "cpu", gae_lambda, gamma, n_envs=lanes
    )
    buffer.reset()
    for name, array in (("rewards", rewards), ("values", values), ("signs", signs), ("episode_starts", starts)):
        getattr(buffer, name)[:] = array
    return buffer


def column(*numbers: float) -> NDArray[np.float32]:
    return np.array(numbers, dtype=np.float32)[:, None]


def returns_of(buffer: SelfPlayBuffer, last_value: float, done: bool) -> list[float]:
    buffer.compute_returns_and_advantage(torch.tensor([last_value]), np.array([done]))
    return np.asarray(buffer.returns)[:, 0].tolist()


def test_the_opponents_win_is_my_loss() -> None:
    # A, B, A, B move in turn, and B's second move wins.
    buffer = filled_buffer(column(0, 0, 0, 1), column(0, 0, 0, 0), column(-1, -1, -1, -1), column(1, 0, 0, 0))
    assert returns_of(buffer, 0.7, done=True) == [-1, 1, -1, 1]


def test_a_late_win_is_worth_less_with_a_discount() -> None:
    buffer = filled_buffer(column(0, 0, 0, 1), column(0, 0, 0, 0), column(-1, -1, 1, -1), column(1, 0, 0, 0), gamma=0.5)
    assert returns_of(buffer, 0.7, done=True) == [0.125, -0.25, 0.5, 1]


def test_the_same_player_twice() -> None:
    # A, A, B, A: A wins with the last move; between A's first two moves the sign does not change.
    buffer = filled_buffer(column(0, 0, 0, 1), column(0, 0, 0, 0), column(1, -1, -1, -1), column(1, 0, 0, 0))
    assert returns_of(buffer, 0.7, done=True) == [1, 1, -1, 1]


def test_an_unfinished_episode_goes_on_with_the_last_value() -> None:
    # A, B, and then A is to move, who expects 0.5.
    buffer = filled_buffer(column(0, 0), column(0, 0), column(-1, -1), column(1, 0))
    assert returns_of(buffer, 0.5, done=False) == [0.5, -0.5]
    assert returns_of(buffer, 0.5, done=True) == [0, 0]


def test_an_episode_does_not_see_the_next_one() -> None:
    # The first episode ends with step 1, the second goes on and is worth 9.
    buffer = filled_buffer(column(0, 1, 0, 9), column(0, 0, 0, 0), column(-1, -1, -1, -1), column(1, 0, 1, 0))
    assert returns_of(buffer, 0, done=True) == [-1, 1, -9, 9]


def test_lambda_weighs_what_values_say_on_the_way() -> None:
    # A then B, who wins; values 0.4 (A) and 0.6 (B). By hand: errors 0 - 0.6 - 0.4 = -1 and 1 - 0.6 = 0.4,
    # advantages -1 - 0.5 * 0.4 = -1.2 and 0.4.
    buffer = filled_buffer(column(0, 1), column(0.4, 0.6), column(-1, -1), column(1, 0), gae_lambda=0.5)
    assert returns_of(buffer, 0, done=True) == pytest.approx([-0.8, 1.0])
    np.testing.assert_allclose(buffer.advantages[:, 0], [-1.2, 0.4], rtol=1e-6)


def test_advantages_equal_the_sum_written_out() -> None:
    rng = np.random.default_rng(5)
    steps, lanes, gamma, lam = 40, 7, 0.9, 0.8
    rewards, values = rng.normal(size=(2, steps, lanes)).astype(np.float32)
    signs = rng.choice([-1.0, 1.0], size=(steps, lanes)).astype(np.float32)
    starts = (rng.random((steps, lanes)) < 0.2).astype(np.float32)
    last, dones = rng.normal(size=lanes).astype(np.float32), rng.random(lanes) < 0.5
    buffer = filled_buffer(rewards, values, signs, starts, gamma, lam)
    buffer.compute_returns_and_advantage(torch.from_numpy(last), dones)
    for lane in range(lanes):
        over = [*(starts[1:, lane] != 0), bool(dones[lane])]
        following = [*values[1:, lane], last[lane]]
        for first in range(steps):
            total, weight = 0.0, 1.0
            for t in range(first, steps):
                worth_next = 0.0 if over[t] else signs[t, lane] * following[t]
                total += weight * (rewards[t, lane] + gamma * worth_next - values[t, lane])
                if over[t]:
                    break
                weight *= gamma * lam * signs[t, lane]
            assert buffer.advantages[first, lane] == pytest.approx(total, abs=1e-4)


class Silent(BaseCallback):
    def _on_step(self) -> bool:
        return True


def make_learner(
    game_name: str, opponents: list[Any], weights: list[float], network_name: str = "mlp", **changes: Any
) -> SelfPlayPPO:
    game = get_game(game_name)
    torch.manual_seed(0)
    network = make_network(network_name, game, {"width": 8, "blocks": 1} if network_name == "mlp" else {"width": 8})
    opening = changes.pop("opening", 0)
    env = sb3_vec_env(game, 12, opponent=opponents, weights=weights, opening=opening, episode="deal", reward="win")
    arguments = {"n_steps": 48, "batch_size": 32, "n_epochs": 1, "gamma": 1.0, "gae_lambda": 1.0, "seed": 3, **changes}
    learner = SelfPlayPPO(NetworkPolicy, env, policy_kwargs={"make_module": lambda: network}, **arguments)
    learner.set_logger(Logger(None, []))
    return learner


def watched_rollout(learner: SelfPlayPPO) -> list[dict[str, NDArray[Any]]]:
    """Collect a rollout, and return who was to move in each step, who the opponent was, and whether the deal ended."""
    _, callback = learner._setup_learn(10**6, Silent())
    players = learner.players
    seen: list[dict[str, NDArray[Any]]] = []
    step = players.step

    def watched(actions: NDArray[Any]) -> None:
        before = {"movers": players.batch.movers.copy(), "opponents": players.opponent_of.copy()}
        before |= {
            "opening_left": players.opening_left.copy(),
            "masks": players.batch.action_masks.copy(),
            "actions": actions.copy(),
        }
        step(actions)
        scores = players.batch.states["scores"]
        winners = np.sign(scores[:, 0].astype(np.int64) - scores[:, 1])
        seen.append({**before, "dones": players.dones.copy(), "winners": winners})

    players.step = watched  # type: ignore[method-assign]
    buffer = learner.rollout_buffer
    assert learner.collect_rollouts(learner.env, callback, buffer, learner.n_steps)  # type: ignore[arg-type]
    return seen


@pytest.mark.parametrize("game_name", ["mate", "third_level"])
def test_returns_are_the_results_of_the_deals_for_whoever_moved(game_name: str) -> None:
    learner = make_learner(game_name, ["self", "random", "greedy"], [0.5, 0.25, 0.25])
    seen = watched_rollout(learner)
    buffer = learner.rollout_buffer
    checked = dict.fromkeys(("self", "random", "greedy", "won", "lost", "same player"), 0)
    for lane in range(12):
        for first in range(len(seen)):
            ends = [t for t in range(first, len(seen)) if seen[t]["dones"][lane]]
            if not ends:
                break
            mover = seen[first]["movers"][lane]
            result = seen[ends[0]]["winners"][lane] * (1 if mover == 0 else -1)
            assert buffer.returns[first, lane] == pytest.approx(result, abs=1e-5)
            checked[("self", "random", "greedy")[seen[first]["opponents"][lane]]] += 1
            checked["won"] += result == 1
            checked["lost"] += result == -1
            if not seen[first]["dones"][lane] and seen[first]["opponents"][lane] == 0:
                checked["same player"] += seen[first + 1]["movers"][lane] == mover
    assert all(count > 5 for name, count in checked.items() if name != "same player"), checked
    assert (checked["same player"] > 5) == (game_name == "third_level")


def test_every_turn_has_a_legal_action_and_a_legal_one_is_taken() -> None:
    for seen in watched_rollout(make_learner("domaster", ["self", "random"], [0.7, 0.3])):
        assert seen["masks"].any(axis=1).all()
        assert (seen["masks"][np.arange(12), seen["actions"]] == 1).all()


def test_forced_moves_are_left_out_and_every_other_one_is_learned_from_once() -> None:
    learner = make_learner("mate", ["self"], [1.0])
    watched_rollout(learner)
    buffer = learner.rollout_buffer
    assert isinstance(buffer, SelfPlayBuffer)
    free = int((buffer.action_masks.sum(axis=2) > 1).sum())
    assert 0 < free < buffer.buffer_size * buffer.n_envs
    (samples,) = buffer.get(None)
    assert len(samples.observations) == free
    assert (samples.action_masks.sum(dim=1) > 1).all()
    assert samples.observations.dtype == torch.int8
    flat = buffer.log_probs[buffer.action_masks.sum(axis=2) > 1]
    np.testing.assert_array_equal(np.sort(samples.old_log_prob.numpy()), np.sort(flat))
    sizes = [len(batch.observations) for batch in buffer.get(100)]
    assert sizes[:-1] == [100] * (len(sizes) - 1)
    assert 50 < sizes[-1] <= 100


def test_openings_are_not_learned_from_and_what_follows_is() -> None:
    learner = make_learner("domaster", ["self", "random"], [0.5, 0.5], opening=30, n_steps=96)
    seen = watched_rollout(learner)
    buffer = learner.rollout_buffer
    assert isinstance(buffer, SelfPlayBuffer)
    learned = np.stack([step["opening_left"] for step in seen]) == 0
    assert buffer.learned.tolist() == learned.tolist()
    assert 0.2 < learned.mean() < 0.8
    (samples,) = buffer.get(None)
    chosen = learned & (buffer.action_masks.sum(axis=2) > 1)
    assert len(samples.observations) == chosen.sum()
    np.testing.assert_array_equal(np.sort(samples.old_log_prob.numpy()), np.sort(buffer.log_probs[chosen]))
    for lane in range(12):
        for first in np.flatnonzero(learned[:, lane]):
            ends = [t for t in range(first, len(seen)) if seen[t]["dones"][lane]]
            if ends:
                result = seen[ends[0]]["winners"][lane] * (1 - 2 * int(seen[first]["movers"][lane]))
                assert buffer.returns[first, lane] == pytest.approx(result, abs=1e-5)


def test_a_rollout_of_nothing_but_forced_moves_does_no_harm() -> None:
    learner = make_learner("mate", ["self"], [1.0])
    watched_rollout(learner)
    buffer = learner.rollout_buffer
    assert isinstance(buffer, SelfPlayBuffer)
    buffer.action_masks[:] = 0
    buffer.action_masks[:, :, 0] = 1
    buffer.actions[:] = 0
    learner.train()
    assert all(torch.isfinite(parameter).all() for parameter in learner.policy.parameters())


def test_schedules_go_from_start_to_end() -> None:
    learner = make_learner(
        "mate", ["self"], [1.0], n_steps=16, entropy=(0.5, 0.1), learning_rate=lambda left: 0.01 * left
    )
    seen = []

    class Watch(Silent):
        def _on_rollout_end(self) -> None:
            assert isinstance(self.model, SelfPlayPPO)
            seen.append((self.model.ent_coef, self.model.policy.optimizer.param_groups[0]["lr"]))

    learner.learn(4 * 16 * 12, callback=Watch())
    assert [entropy for entropy, _ in seen] == pytest.approx([0.5, 0.4, 0.3, 0.2])
    assert [rate for _, rate in seen[1:]] == pytest.approx([0.0075, 0.005, 0.0025])


def test_stop_ends_between_two_iterations() -> None:
    learner = make_learner("mate", ["self"], [1.0], n_steps=16)

    class StopInTheSecond(Silent):
        def _on_step(self) -> bool:
            if self.num_timesteps == 24 * 12:
                assert isinstance(self.model, SelfPlayPPO)
                self.model.stop()
            return True

    learner.learn(100 * 16 * 12, callback=StopInTheSecond())
    assert learner.num_timesteps == 32 * 12


def test_a_snapshot_is_a_copy_and_agrees_with_the_policy() -> None:
    learner = make_learner("mate", ["self"], [1.0], n_steps=16)
    agent = SnapshotAgent(get_game("mate"), learner.network, mode="best")
    batch = learner.players.batch
    expected, _ = learner.predict(batch.observations, action_masks=batch.action_masks.astype(bool), deterministic=True)
    np.testing.assert_array_equal(agent.act(batch.observations, batch.action_masks), expected)
    before = agent.act(batch.observations, batch.action_masks)
    with torch.no_grad():
        for parameter in learner.network.parameters():
            parameter.normal_(std=3.0)
    np.testing.assert_array_equal(agent.act(batch.observations, batch.action_masks), before)
    agent.copy_from(learner.network)
    assert (agent.act(batch.observations, batch.action_masks) != before).any()


def test_sampled_actions_follow_the_policy() -> None:
    learner = make_learner("mate", ["self"], [1.0])
    batch = learner.players.batch
    rows = np.full(20_000, np.argmax(batch.action_masks.sum(axis=1)))
    seen, masks = batch.observations[rows], batch.action_masks[rows]
    with torch.no_grad():
        learner.network.score.bias.normal_()  # type: ignore[union-attr, operator]
        torch.manual_seed(0)
        actions, _, log_probs = learner.policy(torch.from_numpy(seen), action_masks=masks)
        _, again, entropies = learner.policy.evaluate_actions(torch.from_numpy(seen), actions, torch.from_numpy(masks))
    np.testing.assert_allclose(log_probs, again, rtol=1e-5)
    legal = np.flatnonzero(masks[0])
    assert set(actions.tolist()) == set(legal.tolist())
    shares = np.bincount(actions.numpy(), minlength=42)[legal] / len(rows)
    expected = {int(action): math.exp(log) for action, log in zip(actions, log_probs, strict=True)}
    np.testing.assert_allclose(shares, [expected[action] for action in legal], atol=0.02)
    own_entropy = -sum(p * np.log(p) for p in expected.values())
    assert entropies[0] == pytest.approx(own_entropy, rel=1e-4)


def test_an_opponent_in_the_pool_plays_for_itself() -> None:
    # Against the perfect player a fresh network loses far more than it wins, seen from its own seat.
    learner = make_learner("mate", [make_agent("perfect", get_game("mate"))], [1.0])
    seen = watched_rollout(learner)
    over = np.array([step["dones"] for step in seen])
    final = np.asarray(learner.rollout_buffer.rewards)[over]
    assert len(final) > 20
    assert final.mean() < -0.2


def test_what_is_foreseen_in_the_rollout_is_learned_from() -> None:
    learner = make_learner("domaster", ["self"], [1.0], network_name="domaster_graph", n_steps=40)
    watched_rollout(learner)
    sample = next(learner.rollout_buffer.get(200))
    seen, masks = sample.observations, sample.action_masks
    assert isinstance(seen, ForeseenObservations)
    assert len(seen) == 200
    assert torch.equal(seen.foreseen, learner.network.foresee(seen.observations, masks))  # type: ignore[operator]
    known = learner.policy.evaluate_actions(seen, sample.actions, action_masks=masks)
    anew = learner.policy.evaluate_actions(seen.observations, sample.actions, action_masks=masks)
    assert all(torch.allclose(ours, theirs, atol=1e-6) for ours, theirs in zip(known, anew, strict=True))
    assert torch.allclose(known[1], sample.old_log_prob, atol=1e-5)
