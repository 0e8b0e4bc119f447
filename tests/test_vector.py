"""The Gymnasium vector environment, in both autoreset modes, against Gymnasium's own over the single environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from domino_envs.games import get_game
from domino_envs.single import DominoSinglePlayerEnv
from domino_envs.vector import DominoVectorEnv
from playing import GAMES, gym_id

all_games = pytest.mark.parametrize("game", GAMES)
MODES = [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]
both_modes = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


def by_hash(observation: Any, mask: Any) -> int:
    """A deterministic player whose choices look random."""
    legal = np.flatnonzero(mask)
    weights = np.arange(1, len(observation) + 1)
    return int(legal[int(observation.astype(np.int64) @ weights) % len(legal)])


def legal_actions(masks: Any, rng: np.random.Generator) -> np.ndarray:
    return np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in masks], dtype=np.int64)


def assert_same_info(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """What Gymnasium gathers of the single environment's info, as far as a batch tells it."""
    assert ours["action_mask"].tolist() == theirs["action_mask"].tolist()
    assert [f"player_{seat}" for seat in ours["seat"]] == theirs["seat"].tolist()
    for name in ("action_mask", "seat", "illegal_action"):
        assert (f"_{name}" in ours) == (f"_{name}" in theirs), name
        if name in ours:
            assert ours[f"_{name}"].tolist() == theirs[f"_{name}"].tolist(), name
    if "illegal_action" in ours:
        assert ours["illegal_action"].tolist() == theirs["illegal_action"].tolist()


@pytest.mark.parametrize("reward", ["win", "points"])
@both_modes
@all_games
def test_a_batch_of_one_is_gymnasiums_vector_of_the_single_environment(
    game: str, mode: AutoresetMode, reward: str
) -> None:
    """Episode after episode, some of them ended by an illegal action."""
    settings: dict[str, Any] = {"opponent": by_hash, "seat": "player_1", "episode": "deal", "reward": reward}
    ours = DominoVectorEnv(1, game=game, autoreset_mode=mode, **settings)
    theirs = SyncVectorEnv([lambda: DominoSinglePlayerEnv(game, **settings)], autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"] == mode
    rng = np.random.default_rng(3)
    shown, expected = ours.reset(seed=21), theirs.reset(seed=21)
    ends, ended = [], False
    for step in range(200 if game == "mate" else 60):
        assert shown[0].tolist() == expected[0].tolist()
        mask = shown[1]["action_mask"]
        assert mask.any() == (not ended or mode is AutoresetMode.SAME_STEP)
        action = legal_actions(mask, rng)
        illegal = step % 23 == 22 and not ended
        if illegal:
            action[:] = np.flatnonzero(mask[0] == 0)[0]
        stepped, wanted = ours.step(action), theirs.step(action)
        shown, expected = (stepped[0], stepped[4]), (wanted[0], wanted[4])
        for mine, other in zip(stepped[1:4], wanted[1:4], strict=True):
            assert (mine.dtype, mine.tolist()) == (other.dtype, other.tolist())
        if mode is AutoresetMode.SAME_STEP and stepped[2][0]:
            assert stepped[4]["final_obs"][0].tolist() == wanted[4]["final_obs"][0].tolist()
            assert stepped[4]["_final_obs"].tolist() == wanted[4]["_final_obs"].tolist() == [True]
            assert_same_info(stepped[4]["final_info"], wanted[4]["final_info"])
        else:
            assert "final_obs" not in stepped[4]
            assert_same_info(stepped[4], wanted[4])
        ended = bool(stepped[2][0])
        if ended:
            ends.append((float(stepped[1][0]), illegal))
    assert (-1.0, True) in ends
    assert any(not illegal for _, illegal in ends) or game == "third_level"


@both_modes
def test_lanes_end_and_start_independently(mode: AutoresetMode) -> None:
    env = DominoVectorEnv(40, game="mate", autoreset_mode=mode, episode="deal")
    rng = np.random.default_rng(0)
    observations, info = env.reset(seed=4)
    ended = np.zeros(40, dtype=bool)
    for _ in range(25):
        given = info["action_mask"]
        assert given.any(axis=1).tolist() == (~ended).tolist()
        assert env.action_masks().tolist() == given.astype(bool).tolist()
        observations, rewards, terminated, truncated, info = env.step(legal_actions(given, rng))
        assert env.observation_space.contains(observations)
        assert not truncated.any()
        assert (rewards[~terminated] == 0).all()
        assert set(rewards[terminated]) <= {-1, 1}
        if mode is AutoresetMode.SAME_STEP:
            assert ("final_obs" in info) == bool(terminated.any())
            if terminated.any():
                kept = [seen is not None for seen in info["final_obs"]]
                assert kept == info["_final_obs"].tolist() == info["_final_info"].tolist() == terminated.tolist()
                assert not info["final_info"]["action_mask"].any()
        else:
            assert not terminated[ended].any()
            assert not rewards[ended].any()
            ended = terminated
    if mode is AutoresetMode.NEXT_STEP:
        with pytest.raises(ValueError, match="from 0 to 41"):
            env.step(np.full(40, 42))


@all_games
def test_make_vec_makes_the_batch(game: str) -> None:
    env = gymnasium.make_vec(gym_id(game), num_envs=7, seat="player_0", episode="deal")
    assert isinstance(env, DominoVectorEnv)
    table = get_game(game)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert (env.num_envs, env.game, env.single_action_space.n) == (7, table, table.num_actions)
    assert env.observation_space.shape == (7, table.layout.size)
    observations, info = env.reset(seed=1)
    assert env.observation_space.contains(observations)
    assert info["seat"].tolist() == [0] * 7
    env.action_space.seed(0)
    assert env.action_space.contains(legal_actions(info["action_mask"], np.random.default_rng(0)))
    env.close()


def test_make_vec_passes_arguments_on() -> None:
    env = gymnasium.make_vec(
        gym_id("third_level"), num_envs=2, hand_size=4, board_size=21, autoreset_mode="NEXT_STEP", opponent="greedy"
    )
    assert isinstance(env, DominoVectorEnv)
    assert (env.game.parameters["hand_size"], env.game.parameters["board_size"]) == (4, 21)
    assert env.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert DominoVectorEnv.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert [agent.name for agent in env.players.opponents if agent] == ["greedy"]
    pool = gymnasium.make_vec(gym_id("mate"), num_envs=50, opponent=["random", "greedy"], opponent_weights=[0, 1])
    pool.reset(seed=0)
    assert set(pool.players.opponent_of) == {1}


def test_the_single_environment_is_still_vectorized_on_demand() -> None:
    env = gymnasium.make_vec(gym_id("mate"), num_envs=2, vectorization_mode="sync")
    assert isinstance(env, SyncVectorEnv)
    env.reset(seed=0)
    env.close()


@both_modes
def test_equal_seeds_and_actions_give_equal_trajectories(mode: AutoresetMode) -> None:
    def trajectory(env: DominoVectorEnv, seed: int | None) -> list[Any]:
        rng = np.random.default_rng(1)
        observations, info = env.reset(seed=seed)
        found = [observations.tolist()]
        for _ in range(20):
            observations, rewards, terminated, _, info = env.step(legal_actions(info["action_mask"], rng))
            found.append([observations.tolist(), rewards.tolist(), terminated.tolist(), info["seat"].tolist()])
        return found

    settings: dict[str, Any] = {"game": "mate", "episode": "deal", "autoreset_mode": mode}
    env, twin = DominoVectorEnv(5, **settings), DominoVectorEnv(5, **settings)
    expected = trajectory(env, 8)
    assert trajectory(twin, 8) == expected
    assert trajectory(env, 8) == expected
    assert trajectory(env, None) != expected
    assert trajectory(env, 9) != expected


@both_modes
@pytest.mark.parametrize("copy", [True, False])
def test_copies_are_the_callers_own(mode: AutoresetMode, copy: bool) -> None:
    env = DominoVectorEnv(30, game="mate", episode="deal", autoreset_mode=mode, copy=copy)
    twin = DominoVectorEnv(30, game="mate", episode="deal", autoreset_mode=mode)
    rng = np.random.default_rng(0)
    shown, other = env.reset(seed=2), twin.reset(seed=2)
    for _ in range(12):
        kept = (shown[0].copy(), shown[1]["action_mask"].copy())
        stepped, wanted = (
            e.step(legal_actions(other[1]["action_mask"], np.random.default_rng(5))) for e in (env, twin)
        )
        unchanged = np.array_equal(kept[0], shown[0]) and np.array_equal(kept[1], shown[1]["action_mask"])
        assert unchanged or not copy
        shown, other = (stepped[0], stepped[4]), (wanted[0], wanted[4])
        assert shown[0].tolist() == other[0].tolist()
        assert shown[1]["action_mask"].tolist() == other[1]["action_mask"].tolist()
        if copy:
            shown[0][:] = rng.integers(9)  # does not reach the games
            shown[1]["action_mask"][:] = 0
            stepped[1][:] = 5
            stepped[2][:] = True


@both_modes
def test_gymnasiums_vector_wrappers_count_episodes(mode: AutoresetMode) -> None:
    env = RecordEpisodeStatistics(DominoVectorEnv(10, game="mate", episode="deal", autoreset_mode=mode))
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=1)
    lengths = []
    for _ in range(30):
        _, _, terminated, _, info = env.step(legal_actions(info["action_mask"], rng))
        if terminated.any():
            assert info["_episode"].tolist() == terminated.tolist()
            assert set(info["episode"]["r"][terminated]) <= {-1, 1}
            lengths += info["episode"]["l"][terminated].tolist()
    assert 1 <= min(lengths) <= max(lengths) <= 10


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (np.zeros(2, dtype=np.int64), r"actions must be 3 whole numbers, got int64 \(2,\)"),
        (np.zeros(3), "float64"),
        (np.array([0, 42, 0]), "from 0 to 41, got 42"),
        (np.array([-1, 0, 0]), "from 0 to 41, got -1"),
    ],
)
def test_bad_actions_change_nothing(actions: Any, message: str) -> None:
    env = DominoVectorEnv(3, game="mate")
    with pytest.raises(ResetNeeded):
        env.step(np.zeros(3, dtype=np.int64))
    env.reset(seed=0)
    before = {name: array.copy() for name, array in env.players.arrays().items()}
    with pytest.raises(ValueError, match=message):
        env.step(actions)
    assert all(np.array_equal(array, before[name]) for name, array in env.players.arrays().items())


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"autoreset_mode": "DISABLED"}, ValueError, "SAME_STEP or NEXT_STEP, got DISABLED"),
        ({"autoreset_mode": "never"}, ValueError, "SAME_STEP or NEXT_STEP, got 'never'"),
        ({"render_mode": "human"}, ValueError, "render_mode must be None"),
        ({"game": "chess"}, ValueError, "unknown game 'chess'"),
        ({"hand_size": 3}, TypeError, "hand_size"),
        ({"game": get_game("mate"), "hand_size": 3}, TypeError, "hand_size"),
        ({"num_envs": 0}, ValueError, "num_lanes must be at least 1"),
    ],
)
def test_bad_settings(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        DominoVectorEnv(**arguments)


def test_reset_options() -> None:
    env = DominoVectorEnv(4, game="domaster", seat="player_0")
    order = list(range(55))
    observations, _ = env.reset(seed=0, options={"orders": [order], "opener": "player_0"})
    assert (observations == observations[0]).all()
    for options in ({"orders": [order[:-1]]}, {"openers": []}):
        with pytest.raises(ValueError, match=r"draw order 0|unknown reset option 'openers'"):
            env.reset(options=options)
