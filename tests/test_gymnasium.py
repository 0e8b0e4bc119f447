"""The single-player environments: one step until it is your turn again, and against whom."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from domino_envs.aec import DominoEnv
from domino_envs.agents import Agent
from domino_envs.games import SEATS, get_game
from domino_envs.single import DominoSinglePlayerEnv
from playing import GAMES, face, first_legal, gym_id, plain, random_legal

all_games = pytest.mark.parametrize("game", GAMES)


def lays_first(observation: Any, mask: Any) -> int:
    return first_legal(mask)


def by_hash(observation: Any, mask: Any) -> int:
    """A deterministic player whose choices look random."""
    legal = np.flatnonzero(mask)
    weights = np.arange(1, len(observation) + 1)
    return int(legal[int(observation.astype(np.int64) @ weights) % len(legal)])


def six(name: str) -> int:
    names = [f"{a}-{b}" for a in range(7) for b in range(a + 1, 7)]
    return names.index(name)


def mate_order(opener_hand: str, starter: str) -> list[int]:
    hand = [six(name) for name in opener_hand.split()]
    return [*hand, *(tile for tile in range(21) if tile not in hand and tile != six(starter)), six(starter)]


#: Both tiles that the opener can lay leave a 6, and the responder has none.
OPENER_WINS_AT_ONCE = mate_order("0-6 1-6 2-6 3-6 4-6 5-6 2-3 2-4 2-5 3-4", "0-1")
#: The opener has neither 0 nor 1 (R7).
DEAD = mate_order("2-3 2-4 2-5 2-6 3-4 3-5 3-6 4-5 4-6 5-6", "0-1")


# -- against the PettingZoo environment -------------------------------------------------------------------------------


class Shadow:
    """The same game played move by move on the PettingZoo environment."""

    def __init__(self, game: str, opponent: Callable[..., int], **kwargs: Any) -> None:
        self.env = face(game).raw_env(**kwargs)
        self.opponent = opponent

    def reset(self, learner: str, seed: int | None) -> tuple[Any, dict[str, Any]]:
        self.learner = learner
        while True:
            self.env.reset(seed=seed)
            self.moves: list[Any] = []
            self.results = list(self.env.infos[learner]["deal_results"])
            self.reward = self.env.rewards[learner]
            self._wait()
            if not self.env.terminations[learner]:
                return self._seen()
            seed = None

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._move(action)
        self._wait()
        observation, info = self._seen()
        reward, self.reward = self.reward, 0.0
        return observation, reward, self.env.terminations[self.learner], False, info

    def _wait(self) -> None:
        while self.env.agent_selection != self.learner and not self.env.terminations[self.learner]:
            seen = self.env.observe(self.env.agent_selection)
            self._move(self.opponent(seen["observation"], seen["action_mask"]))

    def _move(self, action: int) -> None:
        agent = self.env.agent_selection
        text = self.env.game.notation(self.env.position, action)
        self.env.step(action)
        self.moves.append((agent, text))
        self.results += self.env.infos[self.learner]["deal_results"]
        self.reward += self.env.rewards[self.learner]

    def _seen(self) -> tuple[Any, dict[str, Any]]:
        seen = self.env.observe(self.learner)
        info = {
            **self.env.infos[self.learner],
            "deal_results": self.results,
            "moves": self.moves,
            "seat": self.learner,
            "action_mask": seen["action_mask"].tolist(),
        }
        self.moves, self.results = [], []
        return seen["observation"].tolist(), info


@pytest.mark.parametrize("reward", ["win", "points"])
@pytest.mark.parametrize("episode", ["match", "deal"])
@all_games
def test_a_step_is_all_until_the_learners_next_turn(game: str, episode: str, reward: str) -> None:
    """Every observation, reward, end and info is the PettingZoo environment's, summed over what happened meanwhile."""
    env = gymnasium.make(gym_id(game), opponent=by_hash, episode=episode, reward=reward)
    shadow = Shadow(game, by_hash, episode=episode, reward=reward)
    rng = np.random.default_rng(0)
    kinds = set()
    for seed in range(40 if episode == "deal" else 12):
        observation, info = env.reset(seed=seed, options={"seat": SEATS[seed % 2]})
        assert info["seat"] == SEATS[seed % 2]
        assert plain((observation, info)) == shadow.reset(info["seat"], seed)
        kinds.add(("second", bool(info["moves"])))
        terminated = False
        while not terminated:
            assert info["action_mask"].any()
            assert observation in env.observation_space
            assert (env.get_wrapper_attr("action_masks")() == info["action_mask"].astype(bool)).all()
            action = random_legal(info["action_mask"], rng)
            observation, reward_now, terminated, truncated, info = env.step(action)
            assert plain((observation, reward_now, terminated, truncated, info)) == shadow.step(action)
            assert type(reward_now) is float
            movers = [agent for agent, _ in info["moves"]]
            assert movers[0] == info["seat"]
            kinds.add(("again without the opponent", movers == [info["seat"]] and not terminated))
            kinds.add(("opponent twice", len(movers) > 2))
            if terminated:
                kinds.add(("last move by the opponent", movers[-1] != info["seat"]))
        assert not info["action_mask"].any()
        assert not env.get_wrapper_attr("action_masks")().any()
    assert {("second", True), ("second", False)} <= kinds
    assert {("last move by the opponent", True), ("last move by the opponent", False)} <= kinds
    if game == "third_level":
        assert {("again without the opponent", True), ("opponent twice", True)} <= kinds


# -- the traps, one by one --------------------------------------------------------------------------------------------


def test_the_loser_is_told_in_the_step_in_which_the_opponent_wins() -> None:
    env = DominoSinglePlayerEnv("mate", opponent=lays_first, episode="deal", seat="player_1")
    lost = 0
    for seed in range(60):
        _, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            observation, reward, terminated, _, info = env.step(first_legal(info["action_mask"]))
            assert reward == 0 or terminated
        winner = info["deal_results"][0]["winner"]
        assert reward == (1.0 if winner == "player_1" else -1.0)
        if info["moves"][-1][0] == "player_0":
            lost += 1
            assert (winner, reward, len(info["moves"])) == ("player_0", -1.0, 2)
        own = env.aec_env.observe("player_1")["observation"]
        assert observation.tolist() == own.tolist()
    assert 10 < lost < 50


def test_the_opponent_wins_at_once_and_the_episode_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    resets = []
    reset = DominoEnv.reset

    def counted_reset(env: DominoEnv, seed: int | None = None, options: Any = None) -> None:
        resets.append(seed)
        reset(env, seed, options)

    monkeypatch.setattr(DominoEnv, "reset", counted_reset)
    # Of its moves the opponent takes one that cannot be answered, if there is one.
    layout = get_game("mate").layout

    def killer(observation: Any, mask: Any) -> int:
        theirs = layout.decode(observation)["their_hand"]
        tiles = [(a, b) for a in range(7) for b in range(a + 1, 7)]
        held = [tile for tile, has in zip(tiles, theirs, strict=True) if has]
        for action in np.flatnonzero(mask):
            tile, k = divmod(int(action), 2)
            if not any(tiles[tile][1 - k] in other for other in held):
                return int(action)
        return first_legal(mask)

    env = DominoSinglePlayerEnv("mate", opponent=killer, episode="deal")
    for seed in range(300):
        _, info = env.reset(seed=seed)
        assert info["action_mask"].any()
        assert len(info["moves"]) <= 1
    assert len(resets) > 300  # some were drawn anew, without the seed
    assert [seed for seed in resets if seed is not None] == list(range(300))


def test_orders_in_which_the_opponent_always_wins_at_once() -> None:
    env = DominoSinglePlayerEnv("mate", episode="deal", seat="player_0")
    options = {"orders": [OPENER_WINS_AT_ONCE], "opener": "player_1"}
    with pytest.raises(ValueError, match="'random' ended 100 episodes running before the learner's first decision"):
        env.reset(options=options)
    with pytest.raises(ResetNeeded):
        env.step(0)
    _, info = env.reset(options={**options, "opener": "player_0"})
    _, reward, terminated, _, info = env.step(first_legal(info["action_mask"]))
    assert (reward, terminated, info["scores"]) == (1.0, True, {"player_0": 12, "player_1": 0})
    free = DominoSinglePlayerEnv("mate", episode="deal")  # the seat is drawn anew as well
    assert free.reset(seed=0, options=options)[1]["seat"] == "player_1"


def test_what_is_lost_before_the_first_decision_counts_to_the_first_step() -> None:
    env = DominoSinglePlayerEnv("mate", episode="set", reward="points", seat="player_0")
    _, info = env.reset(seed=0, options={"orders": [OPENER_WINS_AT_ONCE], "opener": "player_1"})
    assert len(info["moves"]) == 1
    (lost,) = info["deal_results"]
    assert lost["winner"] == "player_1"
    assert lost["points"] > 0
    _, reward, terminated, _, info = env.step(first_legal(info["action_mask"]))  # it opens, and wins at once
    (won,) = info["deal_results"]
    assert won["winner"] == "player_0"
    assert terminated
    assert reward == won["points"] - lost["points"]


def test_dead_games_before_the_first_decision() -> None:
    env = DominoSinglePlayerEnv("mate", seat="player_0")
    _, info = env.reset(seed=0, options={"orders": [DEAD], "opener": "player_0"})
    played = [(r["winner"], r["points"]) for r in info["deal_results"]]
    assert played[:2] == [("player_1", 1), ("player_0", 1)]
    assert all(move for _, move in info["moves"])
    with pytest.raises(ValueError, match="no decision"):
        env.reset(options={"orders": [DEAD, DEAD]})


# -- illegal actions, order of calls ----------------------------------------------------------------------------------


@all_games
@pytest.mark.parametrize("reward", ["win", "points"])
def test_an_illegal_action_ends_the_episode(game: str, reward: str) -> None:
    env = gymnasium.make(gym_id(game), reward=reward)
    for seed in range(2):
        _, info = env.reset(seed=seed)
        for _ in range(seed):
            _, _, _, _, info = env.step(first_legal(info["action_mask"]))
        illegal = int(np.flatnonzero(info["action_mask"] == 0)[-1])
        observation, earned, terminated, truncated, info = env.step(np.int64(illegal))
        assert (earned, terminated, truncated) == (-1.0, True, False)
        assert info["illegal_action"] == illegal
        assert info["moves"] == []
        assert not info["action_mask"].any()
        assert observation in env.observation_space
        with pytest.raises(ResetNeeded, match="after the end of the episode"):
            env.step(illegal)


def test_an_action_outside_of_the_space_changes_nothing() -> None:
    env = DominoSinglePlayerEnv("mate")
    _, info = env.reset(seed=0)
    twin = copy.deepcopy(env)
    for action in (-1, 42, 2**70, 1.5, None, "5", np.array([3])):
        with pytest.raises(ValueError, match="action must be a whole number from 0 to 41, got"):
            env.step(action)  # type: ignore[arg-type]
    action = first_legal(info["action_mask"])
    assert plain(env.step(action)) == plain(twin.step(action))


def test_order_of_calls() -> None:
    env = DominoSinglePlayerEnv("mate", episode="deal", render_mode="ansi")
    for call in (lambda: env.step(0), env.action_masks, env.render):
        with pytest.raises(ResetNeeded, match=r"before reset\(\)"):
            call()
    _, info = env.reset(seed=0)
    terminated = False
    while not terminated:
        _, _, terminated, _, info = env.step(first_legal(info["action_mask"]))
    with pytest.raises(ResetNeeded, match="after the end of the episode"):
        env.step(0)
    assert "Over" in str(env.render())
    env.reset()
    env.close()
    env.close()


@all_games
def test_render(game: str) -> None:
    env = gymnasium.make(gym_id(game), render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == env.unwrapped.aec_env.render()  # type: ignore[attr-defined]
    assert "player_0" in str(env.render())


# -- opponents --------------------------------------------------------------------------------------------------------


class Witness(Agent):
    """Plays the first legal action and notes what it is told."""

    name = "witness"
    needs_states = True

    def reseed(self, seed: int | None) -> None:
        super().reseed(seed)
        self.calls: list[Any] = [*getattr(self, "calls", []), ("seed", seed)]

    def start_deal(self) -> None:
        self.calls.append("deal")

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
        assert observations.shape == (1, self.game.layout.size)
        assert action_masks.shape == (1, self.game.num_actions)
        assert states.shape == (1,)
        legal = self.game.legal_actions(states)
        assert np.flatnonzero(action_masks[0]).tolist() == legal.tolist()
        return np.array([legal[0]])


def test_an_agent_is_seeded_and_told_when_deals_begin() -> None:
    agent = Witness(get_game("mate"))
    env = DominoSinglePlayerEnv("mate", opponent=agent)
    assert env.opponent is agent
    for seed in (5, 5, 6):
        agent.calls = []
        _, info = env.reset(seed=seed)
        terminated = False
        while not terminated:
            _, _, terminated, _, info = env.step(first_legal(info["action_mask"]))
        assert agent.calls[0][0] == "seed"
        assert agent.calls[1:] == ["deal"] * 4
        if seed == 5:
            seeds = agent.calls[0]
    assert agent.calls[0] != seeds
    agent.calls = []
    env.reset()
    assert agent.calls[0] == "deal"  # without a seed its choices go on


@all_games
def test_a_function_is_shown_its_own_side(game: str) -> None:
    seen: list[Any] = []

    def player(observation: Any, mask: Any) -> int:
        seen.append((observation.copy(), mask.copy()))
        return first_legal(mask)

    env = DominoSinglePlayerEnv(game, opponent=player, seat="player_1")
    env.reset(seed=3)
    while not seen:
        env.step(int(np.flatnonzero(env.action_masks())[0]))
    layout = env.game.layout
    for observation, mask in seen:
        assert observation.dtype == mask.dtype == np.int8
        assert observation in env.observation_space
        assert mask.shape == (env.game.num_actions,)
        if game == "third_level":
            assert layout.decode(observation)["my_turn"] == 1


@pytest.mark.parametrize("bad", [lambda seen, mask: int(np.flatnonzero(mask == 0)[0]), lambda seen, mask: 10**6])
def test_an_opponent_that_plays_what_it_may_not(bad: Callable[..., int]) -> None:
    bad.__name__ = "cheat"
    env = DominoSinglePlayerEnv("domaster", opponent=bad, seat="player_0")
    env.reset(seed=0, options={"opener": "player_0"})
    with pytest.raises(ValueError, match=r"^the opponent 'cheat' chose what it may not: action"):
        env.step(first_legal(env.action_masks()))
    with pytest.raises(ResetNeeded):  # the learner's move is made, the answer is not
        env.step(0)


@pytest.mark.parametrize("answer", [None, 1.5, "3", [2]])
def test_an_opponent_that_answers_with_no_number(answer: Any) -> None:
    env = DominoSinglePlayerEnv("domaster", opponent=lambda seen, mask: answer, seat="player_0")
    env.reset(seed=0, options={"opener": "player_0"})
    with pytest.raises(ValueError, match=r"^the opponent '<lambda>' must return the number of an action, got "):
        env.step(first_legal(env.action_masks()))


def test_the_opponents_random_choices_do_not_repeat_without_a_seed() -> None:
    env = DominoSinglePlayerEnv("domaster", episode="deal", seat="player_0")
    options = {"orders": [list(range(55))], "opener": "player_1"}
    first_moves = {env.reset(options=options)[1]["move"] for _ in range(20)}
    assert len(first_moves) > 5
    assert len({env.reset(seed=1, options=options)[1]["move"] for _ in range(3)}) == 1
