"""Third Level hides the opponent's hand and the pool: what a seat cannot know changes nothing that it is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from domino_envs.games import SEATS
from playing import face, random_legal


def unseen_tiles(env: Any, agent: str) -> set[int]:
    """What neither lies on the table nor in the agent's hand, from the position itself."""
    state = env.position[0]
    seat = SEATS.index(agent)
    return {tile for tile in range(21) if state["tile_level"][tile] == 0 and not int(state["hands"][seat]) >> tile & 1}


def shown(env: Any, agent: str) -> dict[str, Any]:
    """All that an agent is shown now: by last() and observe(), and the drawing for its seat."""
    seen = env.observe(agent)
    return {
        "observation": seen["observation"].tolist(),
        "action_mask": seen["action_mask"].tolist(),
        "info": dict(env.infos[agent]),
        "reward": env.rewards[agent],
        "to move": env.agent_selection,
        "ended": env.terminations[agent],
        "spaces": (env.observation_space(agent), env.action_space(agent)),
        "drawing": env.game.text(env.position[0], SEATS.index(agent)),
    }


def assert_alike(first: dict[str, Any], second: dict[str, Any]) -> None:
    for key, value in first.items():
        assert second[key] == value, key


def open_facts(env: Any, view: dict[str, Any]) -> Any:
    """What tells positions apart rightly: who is to move, for what, and whether one passed or the game is over.

    Passes, and the end of a turn with nothing to lay, happen by themselves and depend on the hand.
    """
    parts = env.game.layout.decode(np.array(view["observation"]))
    return view["to move"], view["ended"], parts["phase"].tolist(), parts["passed"].tolist()


def record(env: Any, rng: np.random.Generator) -> list[tuple[str, str]]:
    """Play at random to the end; return who made which move."""
    moves = []
    while not env.terminations[agent := env.agent_selection]:
        env.step(random_legal(env.observe(agent)["action_mask"], rng))
        moves.append((agent, env.infos[agent]["move"]))
    return moves


def replay(env: Any, order: list[int], opener: str, moves: list[tuple[str, str]]) -> Any:
    """Reset and make these moves; yields before the first and after each, and stops if it turns out otherwise."""
    env.reset(options={"orders": [order], "opener": opener})
    yield
    for agent, move in moves:
        if env.agent_selection != agent:
            return
        try:
            env.step(env.game.parse(env.position, move))
        except ValueError:
            return
        yield


@pytest.mark.parametrize(("hand_size", "board_size", "games"), [(3, 23, 10), (1, 23, 4), (6, 11, 3)])
def test_hidden_tiles_change_nothing_that_a_seat_is_shown(hand_size: int, board_size: int, games: int) -> None:
    env = face("third_level").raw_env(hand_size=hand_size, board_size=board_size)
    other = face("third_level").raw_env(hand_size=hand_size, board_size=board_size)
    rng = np.random.default_rng(hand_size)
    compared = other_hands = told_apart = 0
    for game in range(games):
        env.reset(seed=game)
        order, opener = env.orders[0], env.agent_selection
        moves = record(env, rng)
        for agent in SEATS:
            for length in rng.choice(len(moves), size=min(4, len(moves)), replace=False).tolist():
                views = []
                for _ in replay(env, order, opener, moves[:length]):
                    views.append(shown(env, agent))
                assert len(views) == length + 1
                # Another order of the same tiles that this agent cannot tell apart now: those that it has not seen
                # change places among themselves, in the opponent's hand and in the pool.
                unseen = unseen_tiles(env, agent)
                places = [place for place, tile in enumerate(order) if tile in unseen]
                hidden = order.copy()
                for place, tile in zip(places, rng.permutation([order[place] for place in places]), strict=True):
                    hidden[place] = int(tile)
                again = 0
                for _ in replay(other, hidden, opener, moves[:length]):
                    view = shown(other, agent)
                    if open_facts(env, view) != open_facts(env, views[again]):
                        break
                    assert_alike(views[again], view)
                    again += 1
                compared += again
                told_apart += again <= length
                opponent = 1 - SEATS.index(agent)
                if again > length:
                    other_hands += other.position[0]["hands"][opponent] != env.position[0]["hands"][opponent]
    assert compared > 25 * games
    assert other_hands > 2 * games  # the agent saw no difference between positions that did differ
    assert told_apart < compared / 10


def test_the_full_information_does_change() -> None:
    """So the test above compares positions that differ, and state() is not for players."""
    env = face("third_level").raw_env()
    states = []
    for order in (list(range(21)), [*range(7), *range(20, 6, -1)]):
        env.reset(options={"orders": [order], "opener": "player_0"})
        states.append((env.state().tolist(), env.observe("player_0")["observation"].tolist()))
    assert states[0][0] != states[1][0]
    assert states[0][1] == states[1][1]


@pytest.mark.parametrize("game", ["mate", "domaster", "five_bridges"])
def test_the_other_games_hide_nothing(game: str) -> None:
    """There the observation alone decides the rest of the game, so equal observations mean equal positions."""
    env = face(game).raw_env()
    assert env.game.hidden.size == 0
    env.reset(seed=1)
    size = env.game.layout.size
    assert env.state()[2:].tolist() == env.observe("player_0")["observation"].tolist()
    assert len(env.state()) == size + 2
