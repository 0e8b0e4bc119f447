"""Tests of saved policies against the networks that they come from: equal logits, equal moves, any architecture."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from torch import Tensor, nn

from domino_envs.agents.positions import random_positions
from domino_envs.arena.exact import views
from domino_envs.games import Game, get_game
from domino_envs.learning.export import Sb3Network, load_network, load_weights, network_of, save_policy
from domino_envs.learning.policy import NETWORKS, NetworkPolicy, default_network, make_network
from domino_envs.policies import PolicyError, SavedPolicy, load_policy
from domino_envs.vector import sb3_vec_env

CASES: list[tuple[str, dict[str, int], str]] = [
    ("mate", {}, "mate_graph"),
    ("mate", {}, "mlp"),
    ("domaster", {}, "domaster_graph"),
    ("five_bridges", {}, "domaster_graph"),
    ("five_bridges", {}, "mlp"),
    ("third_level", {}, "third_level_placements"),
    ("third_level", {"hand_size": 5, "board_size": 11}, "third_level_placements"),
    ("third_level", {"hand_size": 1, "board_size": 9}, "mlp"),
]


def random_network(name: str, game: Game) -> nn.Module:
    """A network whose every weight matters: a fresh one has zeros that hide mistakes."""
    network = make_network(name, game, {"width": 16})
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(std=0.15, generator=generator)
    return network


def of_network(network: nn.Module, observations: NDArray[Any], masks: NDArray[Any]) -> tuple[Any, Any]:
    with torch.no_grad():
        logits, values = network(torch.from_numpy(observations), torch.from_numpy(masks != 0))
    return logits.numpy(), values.numpy()


def assert_equal(network: nn.Module, policy: SavedPolicy, observations: NDArray[Any], masks: NDArray[Any]) -> int:
    """Compare logits, values and moves; return in how many positions the best move leads by more than rounding."""
    expected, expected_values = of_network(network, observations, masks)
    logits, values = policy.evaluate(observations, masks)
    legal = masks != 0
    np.testing.assert_allclose(logits[legal], expected[legal], rtol=0, atol=1e-4)
    np.testing.assert_allclose(values, expected_values, rtol=0, atol=1e-4)
    assert (logits[~legal] < -1e8).all()
    ours, theirs = (np.where(legal, array, -np.inf) for array in (expected, logits))
    top = np.sort(ours, axis=1)[:, -2:]
    clear = top[:, 1] - top[:, 0] > 2e-4
    np.testing.assert_array_equal(ours.argmax(axis=1)[clear], theirs.argmax(axis=1)[clear])
    return int(clear.sum())


@pytest.mark.parametrize(("game_name", "parameters", "network_name"), CASES)
def test_the_graph_computes_what_the_network_does(
    game_name: str, parameters: dict[str, int], network_name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    game = get_game(game_name, parameters)
    network = random_network(network_name, game)
    save_policy(tmp_path / "policy", game, network, {})
    assert capfd.readouterr() == ("", "")  # the exporter's own words are not for users
    policy = load_policy(tmp_path / "policy", game)
    states = random_positions(game, 300, seed=4)
    observations, masks = views(game, states)
    assert assert_equal(network, policy, observations, masks) > 200
    counts = masks.sum(axis=1, dtype=np.int64)
    forced, most = int(np.argmin(counts)), int(np.argmax(counts))
    for row in {*range(20), forced, most}:
        assert_equal(network, policy, observations[row : row + 1], masks[row : row + 1])
    if game_name != "third_level":
        assert counts[forced] == 1
    else:
        bonus = game.layout.decode(observations)["phase"][:, 0] != 0
        assert 10 < bonus.sum() < 300
        assert_equal(network, policy, observations[bonus], masks[bonus])


@pytest.mark.parametrize("game_name", ["mate", "domaster", "five_bridges", "third_level"])
def test_every_game_has_a_network_of_its_own(game_name: str) -> None:
    assert default_network(get_game(game_name)) in set(NETWORKS) - {"mlp"}


def test_equal_networks_give_equal_files(tmp_path: Path) -> None:
    game = get_game("mate")
    network = random_network("mate_graph", game)
    first = save_policy(tmp_path / "policy", game, network, {})
    second = save_policy(tmp_path / "again" / "policy.onnx", game, network, {})
    assert {path.parent.name for path in second.values()} == {"again"}
    for suffix, path in first.items():
        assert path.read_bytes() == second[suffix].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again", "policy.json", "policy.onnx", "policy.safetensors"
    ]  # fmt: skip


def test_saving_leaves_the_network_as_it_was(tmp_path: Path) -> None:
    game = get_game("mate")
    network = nn.ModuleDict({"inner": random_network("mlp", game), "unused": nn.Dropout()})
    network.forward = network["inner"].forward  # type: ignore[method-assign]
    network.train()
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    save_policy(tmp_path / "policy", game, network, {})
    assert network.training
    assert network["unused"].training
    assert all(torch.equal(weight, before[name]) for name, weight in network.state_dict().items())


class DependsOnTheBatch(nn.Module):
    """Branches in Python, which a traced graph cannot."""

    def __init__(self, game: Game) -> None:
        super().__init__()
        self.inner = make_network("mlp", game, {"width": 4, "blocks": 1})

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor]:
        logits, value = self.inner(observation, action_mask)
        return (logits, value) if len(observation) == 2 else (logits + 1.0, value)


def test_a_graph_that_computes_something_else_is_not_saved(tmp_path: Path) -> None:
    game = get_game("mate")
    with pytest.raises(ValueError, match="does not compute what the network does: logits differ by up to 1 "):
        save_policy(tmp_path / "policy", game, DependsOnTheBatch(game), {})
    assert list(tmp_path.iterdir()) == []


def test_facts_must_be_json_and_must_not_stand_for_what_is_checked(tmp_path: Path) -> None:
    game = get_game("mate")
    network = random_network("mlp", game)
    with pytest.raises(ValueError, match="the card says 'game' itself"):
        save_policy(tmp_path / "policy", game, network, {"game": "chess"})
    with pytest.raises(ValueError, match="Out of range float values are not JSON compliant"):
        save_policy(tmp_path / "policy", game, network, {"regret": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_a_saved_network_can_be_trained_on(tmp_path: Path) -> None:
    game = get_game("mate")
    network = random_network("mlp", game)
    sizes = {"width": 16}
    save_policy(tmp_path / "policy", game, network, {"architecture": {"network": "mlp", "sizes": sizes}})
    again, card = load_network(tmp_path / "policy", game)
    assert card["num_parameters"] == sum(parameter.numel() for parameter in network.parameters())
    observations, masks = views(game, random_positions(game, 5, seed=0))
    for ours, theirs in zip(
        of_network(network, observations, masks), of_network(again, observations, masks), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert all(parameter.requires_grad for parameter in again.parameters())
    fresh = make_network("mlp", game, sizes)
    load_weights(tmp_path / "policy", game, fresh)
    assert all(torch.equal(a, b) for a, b in zip(fresh.parameters(), network.parameters(), strict=True))


def test_a_card_that_promises_further_rounds_is_refused(tmp_path: Path) -> None:
    game = get_game("mate")
    network = make_network("mate_graph", game, {"width": 8, "rounds": 1})
    sizes = {"width": 8, "rounds": 2}
    save_policy(tmp_path / "policy", game, network, {"architecture": {"network": "mate_graph", "sizes": sizes}})
    with pytest.raises(PolicyError, match="does not fit this network"):
        load_network(tmp_path / "policy", game)
    load_weights(tmp_path / "policy", game, make_network("mate_graph", game, sizes))  # which asks for them


@pytest.mark.parametrize(
    ("architecture", "message"),
    [
        (None, "names no network of this package"),
        ({"network": "mlp"}, "names no network of this package"),
        ({"network": "transformer", "sizes": {}}, "unknown network 'transformer', expected one of 'mlp', 'mate_graph'"),
        ({"network": "mlp", "sizes": {"depth": 3}}, "does not take the sizes {'depth': 3}"),
        ({"network": "mlp", "sizes": {"width": 17}}, "does not fit this network"),
    ],
)
def test_weights_without_their_network_cannot_be_trained_on(architecture: Any, message: str, tmp_path: Path) -> None:
    game = get_game("mate")
    save_policy(tmp_path / "policy", game, random_network("mlp", game), {"architecture": architecture})
    with pytest.raises(PolicyError, match="policy.*" + message):
        load_network(tmp_path / "policy", game)


def test_a_policy_of_a_game_that_looks_the_same_can_be_trained_on(tmp_path: Path) -> None:
    domaster, five_bridges = get_game("domaster"), get_game("five_bridges")
    network = random_network("domaster_graph", domaster)
    architecture = {"network": "domaster_graph", "sizes": {"width": 16}}
    save_policy(tmp_path / "policy", domaster, network, {"architecture": architecture})
    again, card = load_network(tmp_path / "policy", five_bridges)
    assert card["game"] == "domaster"
    assert all(torch.equal(weight, network.state_dict()[name]) for name, weight in again.state_dict().items())
    with pytest.raises(PolicyError, match="is for game 'domaster', expected 'mate'"):
        load_network(tmp_path / "policy", get_game("mate"))


@pytest.fixture(scope="module")
def plain_model() -> MaskablePPO:
    """sb3-contrib's own policy after a little training."""
    model = MaskablePPO("MlpPolicy", sb3_vec_env("mate", 64), n_steps=8, batch_size=128, n_epochs=1, seed=1)
    model.learn(512)
    return model


@pytest.mark.parametrize("shared", [True, False])
def test_models_of_sb3_can_be_saved(shared: bool, plain_model: MaskablePPO, tmp_path: Path) -> None:
    game = get_game("mate")
    model = plain_model
    if not shared:
        settings = {"share_features_extractor": False, "net_arch": {"pi": [16], "vf": [8, 8]}}
        model = MaskablePPO("MlpPolicy", sb3_vec_env("mate", 2), policy_kwargs=settings, seed=1)
    save_policy(tmp_path / "mine", game, model, {})
    policy = load_policy(tmp_path / "mine", game)
    observations, masks = views(game, random_positions(game, 300, seed=4))
    assert_equal(Sb3Network(model.policy), policy, observations, masks)
    expected, _ = model.predict(observations, action_masks=masks != 0, deterministic=True)
    found = [policy(*position) for position in zip(observations, masks, strict=True)]
    assert (np.array(found) == expected).mean() > 0.99  # equal but for ties
    distribution = model.policy.get_distribution(torch.from_numpy(observations), action_masks=masks != 0)
    np.testing.assert_allclose(
        policy.probabilities(observations, masks), distribution.distribution.probs.detach().numpy(), atol=1e-5
    )
    values = model.policy.predict_values(torch.from_numpy(observations)).detach().numpy()[:, 0]
    np.testing.assert_allclose(policy.evaluate(observations, masks)[1], values, atol=1e-4)


def test_a_policy_with_a_network_of_ours_is_saved_as_that_network(tmp_path: Path) -> None:
    game = get_game("mate")
    network = random_network("mate_graph", game)
    model = MaskablePPO(NetworkPolicy, sb3_vec_env("mate", 2), policy_kwargs={"make_module": lambda: network})
    assert network_of(model, game) is network
    observations, masks = views(game, random_positions(game, 20, seed=4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        actions, _ = model.predict(observations, action_masks=masks != 0, deterministic=True)
    logits, values = of_network(network, observations, masks)
    np.testing.assert_array_equal(actions, np.where(masks != 0, logits, -np.inf).argmax(axis=1))
    found = model.policy.predict_values(torch.from_numpy(observations)).detach().numpy()[:, 0]
    np.testing.assert_allclose(found, values, rtol=1e-5)


def test_a_model_of_other_spaces_is_refused(plain_model: MaskablePPO) -> None:
    with pytest.raises(ValueError, match=r"a policy of Domaster takes observations of shape .* has 100 actions"):
        network_of(plain_model, get_game("domaster"))


def test_a_model_behind_a_normalising_wrapper_is_refused() -> None:
    from stable_baselines3.common.vec_env import VecNormalize

    model = MaskablePPO("MlpPolicy", VecNormalize(sb3_vec_env("mate", 2)), n_steps=2, batch_size=2)
    with pytest.raises(ValueError, match="VecNormalize, which would be lost"):
        network_of(model, get_game("mate"))


def test_cards_are_plain_json(tmp_path: Path) -> None:
    game = get_game("third_level")
    paths = save_policy(tmp_path / "policy", game, make_network("mlp", game, {"width": 4}), {"made_by": "a test"})
    card = json.loads(paths[".json"].read_text())
    assert card["made_by"] == "a test"
    assert card["parameters"] == {"hand_size": 3, "board_size": 23}
    assert len(card["sha256"]["onnx"]) == 64
    assert str(Path.home()).encode() not in paths[".onnx"].read_bytes()
    assert str(Path(__file__).parents[2]).encode() not in paths[".onnx"].read_bytes()
