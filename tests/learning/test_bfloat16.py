"""Tests of updates in bfloat16: every network takes them; what leaves it is float32 and nearly the same."""

from __future__ import annotations

import pytest
import torch
from gymnasium import spaces

from domino_envs.agents.positions import random_positions
from domino_envs.arena.exact import views
from domino_envs.games import get_game
from domino_envs.learning.policy import NetworkPolicy, default_network, make_network


@pytest.mark.parametrize(
    ("name", "network"),
    [("mate", None), ("domaster", None), ("five_bridges", None), ("third_level", None), ("mate", "mlp")],
)
def test_nearly_the_same_and_learns(name: str, network: str | None) -> None:
    game = get_game(name)
    observations, masks = (torch.from_numpy(part) for part in views(game, random_positions(game, 64, seed=1)))
    actions = masks.argmax(dim=1)
    torch.manual_seed(0)
    module = make_network(network or default_network(game), game, {})
    for parameter in module.parameters():  # the last layers start at 0, which any precision has
        torch.nn.init.normal_(parameter, std=0.1) if not parameter.any() else None
    policy = NetworkPolicy(
        spaces.Box(-128, 127, (game.layout.size,), "int8"),
        spaces.Discrete(game.num_actions),
        lambda _: 1e-4,
        make_module=lambda: module,
    )
    exact = policy.evaluate_actions(observations, actions, masks)
    policy.in_bfloat16 = True
    rounded = policy.evaluate_actions(observations, actions, masks)
    for one, other in zip(exact, rounded, strict=True):
        assert other.dtype == torch.float32
        assert not torch.equal(one, other)
        assert torch.allclose(one, other, atol=0.05 * max(1.0, float(one.detach().abs().max())))
    (-rounded[1].mean()).backward()  # type: ignore[no-untyped-call]
    assert all(parameter.grad is None or parameter.grad.dtype == torch.float32 for parameter in module.parameters())
    policy.optimizer.step()
    after = policy.evaluate_actions(observations, actions, masks)[1]
    assert after.mean() > rounded[1].mean()  # the new weights are used, not those turned before
