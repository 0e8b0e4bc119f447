"""The environments as PettingZoo sees them: its own tests, what agents are shown and told, what is refused."""

from __future__ import annotations

import copy
import re
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium.error import ResetNeeded
from pettingzoo.test import api_test, performance_benchmark, render_test, seed_test
from pettingzoo.utils import average_total_reward, wrappers

from domino_envs.games import SEATS
from playing import GAMES, face, first_legal, play_on, random_legal, snapshot, trace, turns

Maker = Callable[..., Any]


def made_by_registry(game: str) -> Maker:
    return lambda **kwargs: pettingzoo.make("aec", f"domino_envs/{game}_v0", **kwargs)


MAKERS = [
    pytest.param(maker, id=f"{game}-{kind}")
    for game in GAMES
    for kind, maker in (
        ("env", face(game).env),
        ("raw_env", face(game).raw_env),
        *((("make", made_by_registry(game)),) if hasattr(pettingzoo, "make") else ()),
    )
]
all_makers = pytest.mark.parametrize("maker", MAKERS)
all_games = pytest.mark.parametrize("game", GAMES)


# -- PettingZoo's tests, warnings being errors ------------------------------------------------------------------------


@all_makers
def test_api(maker: Maker) -> None:
    api_test(maker(), num_cycles=200)
    api_test(maker(episode="deal", reward="points"), num_cycles=50)


@all_makers
def test_seed(maker: Maker) -> None:
    seed_test(maker, num_cycles=50)


@pytest.mark.parametrize("maker", [face("mate").raw_env, face("mate").env])
def test_render(maker: Maker) -> None:
    """The other games: tests/draw."""
    render_test(maker, custom_tests={"ansi": lambda text: "player_0" in text and "player_1" in text})


@all_makers
def test_performance_benchmark(maker: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs, over several episodes; how fast is not a test's business, so its clock is a fake."""
    seconds = iter(np.arange(0, 1000, 0.05).tolist())
    clock = types.SimpleNamespace(time=lambda: next(seconds))
    monkeypatch.setattr(sys.modules["pettingzoo.test.performance_benchmark"], "time", clock)
    performance_benchmark(maker())


@all_games
def test_the_standard_wrappers_take_the_raw_environment(game: str) -> None:
    """Ours has their guarantees; who wants theirs can have them."""
    env = wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(face(game).raw_env(episode="deal")))
    with pytest.raises(AttributeError):
        env.agent_selection  # noqa: B018
    env.reset(seed=1)
    play_on(env, 4)
    with pytest.raises(AssertionError, match="action"):
        env.step(env.action_space(env.agent_selection).n)
    env.reset(seed=1)
    ours = face(game).env(episode="deal")
    ours.reset(seed=1)
    assert trace(env)[-1] == trace(ours)[-1]
    assert average_total_reward(ours, max_episodes=3) == 0


# -- what agents see --------------------------------------------------------------------------------------------------


@all_games
def test_observations_and_masks(game: str) -> None:
    env = face(game).env()
    rng = np.random.default_rng(3)
    for seed in range(3):
        env.reset(seed=seed)
        for agent in turns(env, rng):
            seen, reward, terminated, truncated, info = env.last()
            assert (terminated, truncated) == (False, False)
            assert reward == 0
            assert info is env.infos[agent]
            assert seen["observation"].dtype == seen["action_mask"].dtype == np.int8
            assert seen in env.observation_space(agent)
            assert seen["action_mask"].any()
            legal = env.unwrapped.game.legal_actions(env.unwrapped.position)
            assert np.flatnonzero(seen["action_mask"]).tolist() == legal.tolist()
            assert env.action_space(agent).sample(mask=seen["action_mask"]) in legal
            other = SEATS[1 - SEATS.index(agent)]
            their = env.observe(other)
            assert their in env.observation_space(other)
            assert not their["action_mask"].any()
            assert env.state() in env.unwrapped.state_space
        for agent in SEATS:
            seen = env.observe(agent)
            assert seen in env.observation_space(agent)
            assert not seen["action_mask"].any()
        assert env.state() in env.unwrapped.state_space


@all_games
def test_what_was_returned_stays_as_it_was(game: str) -> None:
    env = face(game).env()
    env.reset(seed=0)
    kept = []
    for agent in turns(env, np.random.default_rng(0)):
        seen, *_, info = env.last()
        state = env.state()
        kept.append((seen, info, state, copy.deepcopy((seen, info, state))))
        assert env.observe(agent)["observation"].tolist() == seen["observation"].tolist()
    env.reset()
    for seen, info, state, (seen_then, info_then, state_then) in kept:
        assert seen["observation"].tolist() == seen_then["observation"].tolist()
        assert seen["action_mask"].tolist() == seen_then["action_mask"].tolist()
        assert info == info_then
        assert state.tolist() == state_then.tolist()


@all_games
def test_both_agents_see_one_position(game: str) -> None:
    """Fields of one seat about itself are those of the other about its opponent."""
    env = face(game).env()
    layout = env.unwrapped.game.layout
    pairs = [(f"my_{rest}", f"their_{rest}") for rest in ("hand", "played", "columns", "deals", "points_high")]
    pairs = [pair for pair in pairs if set(pair) <= set(layout.slices)]
    own = {name for pair in pairs for name in pair} | {"my_points_low", "their_points_low", "opened", "my_turn"}
    own |= {"my_hand", "unseen", "their_hand_count"}
    env.reset(seed=5)
    for _ in turns(env, np.random.default_rng(5)):
        first, second = (layout.decode(env.observe(agent)["observation"]) for agent in SEATS)
        for mine, theirs in pairs:
            assert (first[mine] == second[theirs]).all()
            assert (first[theirs] == second[mine]).all()
        assert first["opened"] + second["opened"] == 1
        for name in set(layout.slices) - own:
            assert (first[name] == second[name]).all(), name


@all_games
def test_state_is_the_full_information(game: str) -> None:
    env = face(game).env()
    env.reset(seed=2)
    layout = env.unwrapped.game.layout
    rng = np.random.default_rng(2)
    for agent in turns(env, rng):
        parts = env.unwrapped.game.state_layout.decode(env.state())
        assert parts["mover"].tolist() == [agent == seat for seat in SEATS]
        first, second = (layout.decode(env.observe(seat)["observation"]) for seat in SEATS)
        for name in layout.slices:
            assert (parts[name] == first[name]).all()
        if game == "third_level":
            assert (parts["their_hand"] == second["my_hand"]).all()
            pool = parts["pool"][parts["pool"] > 0] - 1
            assert len(set(pool)) == len(pool) == first["pool_count"]
            assert sorted([*pool, *np.flatnonzero(parts["their_hand"])]) == np.flatnonzero(first["unseen"]).tolist()
    assert not env.unwrapped.game.state_layout.decode(env.state())["mover"].any()


@all_games
def test_info_tells_what_happened(game: str) -> None:
    env = face(game).raw_env()
    rng = np.random.default_rng(8)
    env.reset(seed=8)
    assert [env.infos[agent]["move"] for agent in SEATS] == [None, None]
    results: list[dict[str, Any]] = []
    while not env.terminations[agent := env.agent_selection]:
        action = random_legal(env.observe(agent)["action_mask"], rng)
        text = env.game.notation(env.position, action)
        assert env.game.parse(env.position, text) == action
        env.step(action)
        results += env.infos[agent]["deal_results"]
        for info in env.infos.values():
            assert (info["move_by"], info["move"]) == (agent, text)
            assert info["scores"] == dict(zip(SEATS, env.position["scores"][0].tolist(), strict=True))
        if not env.terminations[agent]:
            mover = env.agent_selection
            assert ("outside_window" in env.infos[mover]) == (game == "third_level")
            assert "outside_window" not in env.infos[SEATS[1 - SEATS.index(mover)]]
    assert [result["deal"] for result in results] == list(range(env.game.num_deals("match")))
    for agent in SEATS:
        assert sum(r["points"] for r in results if r["winner"] == agent) == env.infos[agent]["scores"][agent]


# -- turns and rewards ------------------------------------------------------------------------------------------------


def test_the_same_agent_may_move_twice_in_a_row() -> None:
    env = face("third_level").env()
    rng = np.random.default_rng(0)
    phases = []
    for seed in range(5):
        env.reset(seed=seed)
        before = None
        for agent in turns(env, rng):
            if agent == before:
                phases.append(env.unwrapped.game.layout.decode(env.observe(agent)["observation"])["phase"].argmax())
            before = agent
    assert {0, 1, 2} == set(phases)  # after an automatic pass of the other, for a bonus, for a further move


@all_games
@pytest.mark.parametrize("reward", ["win", "points"])
def test_rewards_are_zero_sum_and_come_when_they_are_earned(game: str, reward: str) -> None:
    env = face(game).env(reward=reward)
    decided = 0
    for seed in range(4):
        env.reset(seed=seed)
        total = dict.fromkeys(SEATS, 0.0)
        rng = np.random.default_rng(seed)
        while not env.terminations[agent := env.agent_selection]:
            env.step(random_legal(env.observe(agent)["action_mask"], rng))
            assert env.rewards["player_0"] == -env.rewards["player_1"]
            ended = env.terminations["player_0"]
            assert env.terminations["player_1"] == ended  # nobody is left behind
            if not (ended if reward == "win" else env.infos[agent]["deal_results"]):
                assert env.rewards["player_0"] == 0
            for seat in SEATS:
                total[seat] += env.rewards[seat]
        scores = env.infos["player_0"]["scores"]
        difference = scores["player_0"] - scores["player_1"]
        decided += difference != 0
        assert total["player_0"] == (difference if reward == "points" else np.sign(difference))
        # Both are told, by last(), before they leave.
        told = {}
        for agent in env.agent_iter():
            _, told[agent], terminated, _, _ = env.last()
            assert terminated
            env.step(None)
        if reward == "win":
            assert told == total
        assert env.agents == []
    assert game == "third_level" or decided


def test_cumulative_reward_of_points() -> None:
    """In Mate last() returns what an agent has earned since its last action, its opponent's games included."""
    env = face("mate").env(reward="points")
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    waiting = dict.fromkeys(SEATS, 0.0)
    for agent in env.agent_iter():
        seen, reward, terminated, _, _ = env.last()
        assert reward == waiting[agent]
        waiting[agent] = 0.0
        env.step(None if terminated else random_legal(seen["action_mask"], rng))
        if not terminated:
            for seat in SEATS:
                waiting[seat] += env.rewards[seat]


# -- illegal actions and order of calls -------------------------------------------------------------------------------


def an_illegal_action(env: Any) -> int:
    return int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"] == 0)[-1])


@all_games
@pytest.mark.parametrize("moves", [0, 7])
def test_raw_env_refuses_an_illegal_action_and_stays(game: str, moves: int) -> None:
    env = face(game).raw_env()
    env.reset(seed=1)
    play_on(env, moves)
    for action in np.flatnonzero(env.observe(env.agent_selection)["action_mask"] == 0)[::97].tolist():
        before = snapshot(env)
        written = env.game.notation(env.position, action)
        message = f"action {action} ({written}) is not legal for {env.agent_selection}; "
        with pytest.raises(ValueError, match="^" + re.escape(message)):
            env.step(action)
        assert snapshot(env) == before
    env.step(first_legal(env.observe(env.agent_selection)["action_mask"]))


@all_games
@pytest.mark.parametrize("reward", ["win", "points"])
def test_env_ends_the_episode_on_an_illegal_action(game: str, reward: str) -> None:
    env = face(game).env(reward=reward)
    for seed in range(2):  # PettingZoo's wrapper fails in the second episode of some games
        env.reset(seed=seed)
        play_on(env, 3 * seed + 1)
        agent = env.agent_selection
        other = SEATS[1 - SEATS.index(agent)]
        action = an_illegal_action(env)
        env.step(action)
        assert env.rewards == {agent: -1.0, other: 1.0}
        assert env.terminations == {agent: True, other: True}
        assert env.truncations == {agent: False, other: False}
        assert [info["illegal_action"] for info in env.infos.values()] == [action, action]
        assert not env.unwrapped.game.state_layout.decode(env.state())["mover"].any()
        told = {}
        for agent_left in env.agent_iter():
            seen, told[agent_left], terminated, truncated, info = env.last()
            assert (terminated, truncated, info["illegal_action"]) == (True, False, action)
            assert not seen["action_mask"].any()
            env.step(None)
        assert told == {agent: -1.0, other: 1.0}
        assert env.agents == []
    env.reset(seed=5)
    assert "illegal_action" not in env.infos["player_0"]
    assert trace(env)[-1]["terminations"] == {"player_0": True, "player_1": True}


@all_makers
def test_order_of_calls(maker: Maker) -> None:
    env = maker()
    for call in (lambda: env.step(0), env.state, env.render, lambda: env.observe("player_0"), env.agent_iter):
        if env.unwrapped is env and call == env.agent_iter:
            continue  # PettingZoo's own
        with pytest.raises(ResetNeeded, match=r"before reset\(\)"):
            call()
    for name in ("agents", "agent_selection", "rewards", "terminations", "truncations", "infos"):
        with pytest.raises(AttributeError, match=rf"{name} cannot be accessed before reset\(\)"):
            getattr(env, name)
    env.reset(seed=0)
    for _ in turns(env, np.random.default_rng(0)):
        pass
    with pytest.raises(ValueError, match="is terminated: its only valid action is None, got 0"):
        env.step(0)
    env.step(None)
    env.step(None)
    assert env.agents == []
    with pytest.raises(ResetNeeded, match="after the end of the episode"):
        env.step(None)
    with pytest.raises(ResetNeeded, match="after the end of the episode"):
        env.last()
    env.reset(seed=0)
    env.step(first_legal(env.last()[0]["action_mask"]))


def test_a_loop_without_a_step_is_noticed() -> None:
    env = face("mate").env()
    env.reset(seed=0)
    with pytest.raises(AssertionError, match="need to call step"):
        for _ in env.agent_iter():
            pass
    agents = []
    for agent in env.agent_iter(max_iter=5):
        agents.append(agent)
        env.step(first_legal(env.last()[0]["action_mask"]))
    assert len(agents) == 5
