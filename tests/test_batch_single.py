"""Single-player games in a batch: the learners' views, rewards and ends, the opponents' calls, self-play."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from domino_envs.agents import Agent
from domino_envs.batch_single import BatchSinglePlayer
from domino_envs.games import SEATS, get_game
from domino_envs.single import DominoSinglePlayerEnv
from playing import GAMES, random_legal

all_games = pytest.mark.parametrize("game", GAMES)


def by_hash(observation: Any, mask: Any) -> int:
    """A deterministic player whose choices look random."""
    legal = np.flatnonzero(mask)
    weights = np.arange(1, len(observation) + 1)
    return int(legal[int(observation.astype(np.int64) @ weights) % len(legal)])


class Counted(Agent):
    """Plays the last legal action, and keeps how many positions it was asked for in each call."""

    name = "counted"

    def __init__(self, game: Any, **named: Any) -> None:
        self.calls: list[int] = []
        super().__init__(game, **named)

    def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
        assert action_masks.any(axis=1).all()
        self.calls.append(len(observations))
        return action_masks.shape[1] - 1 - action_masks[:, ::-1].argmax(axis=1)


def legal_actions(players: BatchSinglePlayer, rng: np.random.Generator, lanes: Any = None) -> np.ndarray:
    lanes = range(players.num_lanes) if lanes is None else lanes
    return np.array([random_legal(players.batch.action_masks[lane], rng) for lane in lanes], dtype=np.int64)


def six(name: str) -> int:
    return [f"{a}-{b}" for a in range(7) for b in range(a + 1, 7)].index(name)


def mate_order(opener_hand: str, starter: str) -> list[int]:
    hand = [six(name) for name in opener_hand.split()]
    return [*hand, *(tile for tile in range(21) if tile not in hand and tile != six(starter)), six(starter)]


#: Both tiles that the opener can lay leave a 6, and the responder has none.
OPENER_WINS_AT_ONCE = mate_order("0-6 1-6 2-6 3-6 4-6 5-6 2-3 2-4 2-5 3-4", "0-1")


@pytest.mark.parametrize("reward", ["win", "points"])
@pytest.mark.parametrize("seat", SEATS)
@all_games
def test_every_lane_is_a_single_environment(game: str, seat: str, reward: str) -> None:
    """Equal orders, opener and actions: equal observations, masks, rewards and ends (trap 1)."""
    rng = np.random.default_rng(7)
    table = get_game(game)
    lanes = 3
    episode = "match" if game != "third_level" else "deal"
    settings: dict[str, Any] = {"opponent": by_hash, "seat": seat, "episode": episode, "reward": reward}
    players = BatchSinglePlayer(table, lanes, **settings)
    singles = [DominoSinglePlayerEnv(table, **settings) for _ in range(lanes)]
    for opener in SEATS:
        options = {
            "orders": [rng.permutation(table.num_tiles).tolist() for _ in range(table.num_orders(episode))],
            "opener": opener,
        }
        players.reset(options=options)
        shown = [single.reset(options=options) for single in singles]
        live = np.arange(lanes)
        for lane in live:
            assert players.batch.observations[lane].tolist() == shown[lane][0].tolist()
        while len(live):
            actions = legal_actions(players, rng, live)
            players.step(actions, live)
            own = players.own_observations(live)
            for lane, action, seen in zip(live, actions, own, strict=True):
                observation, brought, terminated, _, info = singles[lane].step(int(action))
                assert players.rewards[lane] == brought
                assert players.dones[lane] == terminated
                assert seen.tolist() == observation.tolist()
                assert players.batch.action_masks[lane].tolist() == info["action_mask"].tolist()
                if not terminated:
                    assert players.batch.observations[lane].tolist() == observation.tolist()
            live = live[~players.dones[live]]


@all_games
def test_rewards_are_the_learners_own(game: str) -> None:
    players = BatchSinglePlayer(get_game(game), 24, episode="deal", seed=3)
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(60):
        assert not players.dones.any()
        assert (players.batch.movers == players.seats).all()
        players.step(legal_actions(players, rng))
        scores = players.batch.states["scores"].astype(int)
        mine, theirs = scores[np.arange(24), players.seats], scores[np.arange(24), 1 - players.seats]
        assert players.rewards.tolist() == np.where(players.dones, np.sign(mine - theirs), 0).tolist()
        by_opponent = players.batch.states["last_mover"] != players.seats
        outcomes |= {(bool(a), int(b)) for a, b in zip(by_opponent, players.rewards, strict=True) if b}
        players.reset(lanes=np.flatnonzero(players.dones))
    if game == "mate":
        assert outcomes == {(True, -1), (False, 1)}


def test_points_won_before_the_first_decision_come_with_it() -> None:
    """The opponent wins the first game of the set with its first tile: 2 tiles on the table, the last one k-6."""
    players = BatchSinglePlayer(get_game("mate"), 2, seat="player_1", episode="set", reward="points", opponent=by_hash)
    players.reset(options={"orders": [OPENER_WINS_AT_ONCE], "opener": "player_0"})
    assert players.rewards.tolist() == [0, 0]
    points = int(players.batch.states["points"][0, 0])
    assert points in (12, 14)
    players.step(legal_actions(players, np.random.default_rng(0)))  # it opens the second game with that hand, and wins
    assert players.dones.all()
    second = players.batch.states["points"][:, 1]
    assert players.rewards.tolist() == (second - points).tolist()


def test_an_episode_without_a_decision_of_the_learner_is_drawn_anew() -> None:
    players = BatchSinglePlayer(get_game("mate"), 4, seat="player_1", episode="deal", seed=0)
    with pytest.raises(ValueError, match=r"lane 0: 100 episodes running ended before the learner's first decision"):
        players.reset(options={"orders": [OPENER_WINS_AT_ONCE], "opener": "player_0"})
    players = BatchSinglePlayer(get_game("mate"), 2000, seed=5, episode="deal")
    assert not players.dones.any()
    assert not players.rewards.any()
    assert (players.batch.movers == players.seats).all()


def test_an_opponent_acts_on_all_its_lanes_at_once() -> None:
    game = get_game("domaster")
    opponent = Counted(game)
    players = BatchSinglePlayer(game, 50, opponent=opponent, seat="player_0", seed=1, episode="deal")
    openers = int((players.batch.states["opener"] == 1).sum())
    assert opponent.calls == [openers]
    opponent.calls.clear()
    players.step(legal_actions(players, np.random.default_rng(0)))
    assert opponent.calls == [50]  # nobody can be done with a deal so early


def test_an_opponent_that_may_move_again_is_asked_again() -> None:
    """Third Level (trap 2): the learner waits until it is its turn, and may itself move twice running."""
    game = get_game("third_level")
    opponent = Counted(game)
    players = BatchSinglePlayer(game, 8, opponent=opponent, seed=2)
    rng = np.random.default_rng(0)
    asked, own = [], 0
    for _ in range(30):
        opponent.calls.clear()
        players.step(legal_actions(players, rng))
        assert ((players.batch.movers == players.seats) | players.dones).all()
        asked.append(list(opponent.calls))
        assert all(a >= b for a, b in zip(asked[-1], asked[-1][1:], strict=False))
        own += not asked[-1] or asked[-1][0] < 8
        players.reset(lanes=np.flatnonzero(players.dones))
    assert max(map(len, asked)) > 1
    assert own


def test_a_pool_has_one_opponent_in_each_lane() -> None:
    game = get_game("mate")
    pool = [Counted(game), Counted(game), Counted(game)]
    players = BatchSinglePlayer(game, 600, opponent=pool, weights=[0, 1, 3], seed=1, episode="deal", seat="player_1")
    drawn = np.bincount(players.opponent_of, minlength=3)
    assert drawn[0] == 0
    assert 100 < drawn[1] < 200  # 150, standard deviation 10.6
    for agent in pool:
        agent.calls.clear()
    lanes = players.opponent_of.copy()
    players.step(legal_actions(players, np.random.default_rng(0)))
    assert pool[0].calls == []
    asked = np.bincount(lanes[~players.dones | (players.rewards < 0)], minlength=3)
    assert [pool[1].calls, pool[2].calls] == [[asked[1]], [asked[2]]]
    assert (players.opponent_of == lanes).all()  # until the episode is over
    players.set_weights([1, 0, 0])
    over = np.flatnonzero(players.dones)
    players.reset(lanes=over)
    assert (players.opponent_of[over] == 0).all()
    assert (np.delete(players.opponent_of, over) == np.delete(lanes, over)).all()


def trajectory(players: BatchSinglePlayer, steps: int) -> list[Any]:
    rng = np.random.default_rng(4)
    found = []
    for _ in range(steps):
        players.step(legal_actions(players, rng))
        found.append([players.rewards.tolist(), players.dones.tolist(), players.batch.observations.tolist()])
        players.reset(lanes=np.flatnonzero(players.dones))
    return found


def test_a_seed_decides_deals_seats_and_opponents() -> None:
    game = get_game("mate")
    settings: dict[str, Any] = {"opponent": ["random", "greedy"], "episode": "deal"}
    first, second = (BatchSinglePlayer(game, 5, seed=9, **settings) for _ in range(2))
    expected = trajectory(first, 15)
    assert trajectory(second, 15) == expected
    second.reset(9)
    assert trajectory(second, 15) == expected
    second.reset()
    assert trajectory(second, 15) != expected
    second.reset(10)
    assert trajectory(second, 15) != expected
    many = BatchSinglePlayer(game, 80, seed=9, **settings)
    first.reset(9)
    assert many.seats[:5].tolist() == first.seats.tolist()
    assert many.opponent_of[:5].tolist() == first.opponent_of.tolist()
    assert set(many.seats) == set(many.opponent_of) == {0, 1}


@all_games
def test_self_play_asks_the_learner_at_every_ply(game: str) -> None:
    players = BatchSinglePlayer(get_game(game), 8, opponent="self", episode="deal", seed=0)
    rng = np.random.default_rng(1)
    again = 0
    for _ in range(45):
        actors = players.batch.movers.copy()
        plies = players.batch.states["ply"].copy()
        players.step(legal_actions(players, rng))
        assert (players.batch.states["ply"] == plies + 1).all()
        assert players.same_player.tolist() == (players.batch.movers == actors).tolist()
        again += int((players.same_player & ~players.dones).sum())
        scores = players.batch.states["scores"].astype(int)
        won = np.sign(scores[np.arange(8), actors] - scores[np.arange(8), 1 - actors])
        assert players.rewards.tolist() == np.where(players.dones, won, 0).tolist()
        players.reset(lanes=np.flatnonzero(players.dones))
    assert (again > 0) == (game == "third_level")


def test_self_play_beside_opponents() -> None:
    players = BatchSinglePlayer(get_game("mate"), 40, opponent=["self", "random"], seed=2, episode="deal")
    alone = players.opponent_of == 0
    assert 0 < alone.sum() < 40
    assert players.opponents[0] is None
    players.step(legal_actions(players, np.random.default_rng(0)))
    assert players.same_player[~alone].all()
    assert not players.same_player[alone & ~players.dones].any()
    assert (players.batch.states["ply"][alone] == 1).all()


@all_games
def test_in_an_opening_the_learner_plays_both_seats_then_the_opponent_takes_over(game: str) -> None:
    players = BatchSinglePlayer(get_game(game), 60, opponent=by_hash, opening=6, episode="deal", seed=0)
    rng = np.random.default_rng(1)
    drawn = players.opening_left.copy()
    assert set(drawn) == set(range(7))
    expected = drawn.copy()
    theirs = 0
    for _ in range(12):
        going_on = np.flatnonzero(~players.dones)
        own_turn = players.batch.movers == players.seats
        assert (own_turn | (expected > 0))[going_on].all()
        theirs += int((~own_turn)[going_on].sum())
        plies = players.batch.states["ply"].copy()
        players.step(legal_actions(players, rng, going_on), going_on)
        expected = np.maximum(expected - 1, 0)
        assert players.opening_left[going_on].tolist() == expected[going_on].tolist()
        opening = going_on[expected[going_on] > 0]
        assert (players.batch.states["ply"] == plies + 1)[opening].all()
    assert theirs > 30
    players.reset()
    assert players.opening_left.tolist() != drawn.tolist()
    players.reset(0)
    assert players.opening_left.tolist() == drawn.tolist()


def test_openings_change_neither_deals_nor_seats() -> None:
    settings: dict[str, Any] = {"opponent": ["self", "self"], "episode": "deal", "seed": 5}
    plain, late = (BatchSinglePlayer("domaster", 9, opening=opening, **settings) for opening in (0, 20))
    assert (plain.batch.observations == late.batch.observations).all()
    assert plain.seats.tolist() == late.seats.tolist()
    assert plain.opponent_of.tolist() == late.opponent_of.tolist()
    assert not plain.opening_left.any()


def test_saved_arrays_written_back_go_on_in_the_same_way() -> None:
    settings: dict[str, Any] = {"opponent": ["self", by_hash], "episode": "set", "reward": "points", "seed": 3}
    settings["opening"] = 4
    players = BatchSinglePlayer(get_game("mate"), 6, **settings)
    trajectory(players, 10)
    saved = {name: array.copy() for name, array in players.arrays().items()}
    expected = trajectory(players, 20)
    other = BatchSinglePlayer(get_game("mate"), 6, **{**settings, "seed": 4})
    for name, array in other.arrays().items():
        array[...] = saved[name]
    assert trajectory(other, 20) == expected


def test_an_illegal_action_of_the_learner_changes_nothing() -> None:
    players = BatchSinglePlayer(get_game("mate"), 2, seed=0)
    before = {name: array.copy() for name, array in players.arrays().items()}
    actions = legal_actions(players, np.random.default_rng(0))
    actions[1] = np.flatnonzero(players.batch.action_masks[1] == 0)[0]
    for wrong, lanes, message in (
        (actions, None, "lane 1: action"),
        (actions[:1], [2], "got 2"),
        (actions[:1], None, "of shape"),
    ):
        with pytest.raises(ValueError, match=message):
            players.step(wrong, lanes)
    assert all(np.array_equal(array, before[name]) for name, array in players.arrays().items())


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (lambda masks: masks.argmin(axis=1), r"the opponent 'rogue' chose the illegal action \d+ in lane \d"),
        (
            lambda masks: masks.argmax(axis=1)[:-1],
            "the opponent 'rogue' must choose 3 whole numbers, got int64 of shape",
        ),
        (lambda masks: masks.argmax(axis=1) * 1.0, "the opponent 'rogue' must choose 3 whole numbers, got float64"),
    ],
)
def test_an_opponent_that_does_what_it_may_not(choice: Any, message: str) -> None:
    class Rogue(Counted):
        name = "rogue"
        broken = False

        def act(self, observations: Any, action_masks: Any, states: Any = None) -> Any:
            legal = super().act(observations, action_masks)
            return choice(action_masks) if self.broken else legal

    game = get_game("domaster")
    rogue = Rogue(game)
    players = BatchSinglePlayer(game, 3, opponent=rogue, seed=0)
    rogue.broken = True
    with pytest.raises(ValueError, match=message):
        players.step(legal_actions(players, np.random.default_rng(0)))
    rogue.broken = False
    players.reset(1)
    players.step(legal_actions(players, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seat": "left"}, "seat must be one of 'random', 'player_0', 'player_1', got 'left'"),
        ({"opponent": "nobody"}, "unknown opponent 'nobody'"),
        ({"opponent": ["random", "self"], "weights": [1]}, r"weights must be 2 numbers .* got \[1\]"),
        ({"weights": [0]}, "not all 0"),
        ({"opponent": ["random", "self"], "weights": [2, -1]}, "at least 0"),
        ({"weights": [float("nan")]}, "weights must be"),
        ({"opponent": []}, "at least one, got an empty list"),
        ({"reward": "fame"}, "reward must be"),
        ({"episode": "week"}, "episode must be"),
        ({"seed": "x"}, "seed must be"),
        ({"opening": -1}, "opening must not be negative, got -1"),
    ],
)
def test_bad_settings(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BatchSinglePlayer(get_game("mate"), 2, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": {"seat": "player_0"}}, "unknown reset option 'seat'"),
        ({"options": {"opener": 1}}, "opener must be"),
        ({"options": {"orders": [[1, 2]]}}, "must have 21 tile numbers"),
        ({"lanes": [2]}, "got 2"),
        ({"seed": -5}, "seed must be"),
    ],
)
def test_a_bad_reset_changes_nothing(arguments: dict[str, Any], message: str) -> None:
    players = BatchSinglePlayer(get_game("mate"), 2, seed=1)
    before = {name: array.copy() for name, array in players.arrays().items()}
    with pytest.raises(ValueError, match=message):
        players.reset(**arguments)
    assert all(np.array_equal(array, before[name]) for name, array in players.arrays().items())
