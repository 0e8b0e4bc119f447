"""Wrong input to games and environments: an error that names the value and what was expected, and nothing changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domino_envs.agents import make_agent
from domino_envs.games import add_game, game_names, get_game
from domino_envs.games.layout import Field, Layout
from domino_envs.single import DominoSinglePlayerEnv
from playing import GAMES, face, first_legal, play_on, snapshot

all_games = pytest.mark.parametrize("game", GAMES)


def refuses(call: Callable[[], Any], *parts: str, error: type[Exception] = ValueError) -> None:
    with pytest.raises(error) as caught:
        call()
    for part in parts:
        assert part in str(caught.value), caught.value


# -- making an environment --------------------------------------------------------------------------------------------


@all_games
@pytest.mark.parametrize("kind", ["env", "raw_env", "single"])
def test_arguments(game: str, kind: str) -> None:
    def make(**kwargs: Any) -> Any:
        if kind == "single":
            return DominoSinglePlayerEnv(game, **kwargs)
        return getattr(face(game), kind)(**kwargs)

    refuses(lambda: make(episode="rubber"), "episode must be one of 'match'", "got 'rubber'")
    refuses(lambda: make(reward="money"), "reward must be one of 'win', 'points'", "got 'money'")
    refuses(lambda: make(reward=None), "reward must be one of 'win', 'points'", "got None")
    refuses(lambda: make(render_mode="hologram"), "render_mode must be one of 'ansi'", "got 'hologram'")
    refuses(lambda: make(colour="red"), "colour", error=TypeError)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hand_size": 0}, "hand_size must be a whole number from 1 to 10, got 0"),
        ({"hand_size": 11}, "hand_size must be a whole number from 1 to 10, got 11"),
        ({"hand_size": 2.5}, "hand_size must be a whole number from 1 to 10, got 2.5"),
        ({"hand_size": "3"}, "hand_size must be a whole number from 1 to 10, got '3'"),
        ({"board_size": 6}, "board_size must be a whole number from 7 to 41, got 6"),
        ({"board_size": 42}, "board_size must be a whole number from 7 to 41, got 42"),
        ({"board_size": None}, "board_size must be a whole number from 7 to 41, got None"),
    ],
)
def test_parameters_of_third_level(parameters: dict[str, Any], message: str) -> None:
    refuses(lambda: face("third_level").env(**parameters), message)
    refuses(lambda: DominoSinglePlayerEnv("third_level", **parameters), message)


def test_games_by_name() -> None:
    refuses(lambda: get_game("chess"), "unknown game 'chess'", *map(repr, GAMES))
    refuses(lambda: DominoSinglePlayerEnv("chess"), "unknown game 'chess'")
    refuses(lambda: add_game("mate", lambda: get_game("domaster")), "there is a game 'mate' already")
    assert set(GAMES) <= set(game_names())


@pytest.mark.parametrize("seat", ["player_2", "opener", 0, None, ["player_0"]])
def test_seats(seat: Any) -> None:
    expected = "seat must be one of 'random', 'player_0', 'player_1', got " + repr(seat)
    refuses(lambda: DominoSinglePlayerEnv("mate", seat=seat), expected)
    env = DominoSinglePlayerEnv("mate")
    refuses(lambda: env.reset(options={"seat": seat}), expected)


@pytest.mark.parametrize(
    ("opponent", "parts"),
    [
        ("grandmaster", ("unknown opponent 'grandmaster'", "random")),
        ("random:3", ("random:3",)),
        (17, ("17",)),
        (None, ("None",)),
        (Path("no/such/policy.json"), ("no/such/policy.json",)),
        ("no/such/policy.json", ("no/such/policy.json",)),
    ],
)
def test_opponents(opponent: Any, parts: tuple[str, ...]) -> None:
    refuses(lambda: DominoSinglePlayerEnv("mate", opponent=opponent), *parts)


def test_opponents_of_another_game_or_mode() -> None:
    agent = make_agent("random", get_game("domaster"))
    refuses(lambda: DominoSinglePlayerEnv("mate", opponent=agent), "domaster", "mate")
    small = make_agent("random", get_game("third_level", {"hand_size": 2}))
    refuses(lambda: DominoSinglePlayerEnv("third_level", opponent=small), "hand_size=2", "hand_size=3")
    refuses(lambda: DominoSinglePlayerEnv("mate", opponent_mode="greedy"), "'sample', 'best'", "got 'greedy'")


# -- reset ------------------------------------------------------------------------------------------------------------


def bad_options(tiles: int, limit: int) -> list[tuple[Any, tuple[str, ...]]]:
    good = list(range(tiles))
    return [
        ({"deal": 1}, ("unknown reset option 'deal'", "'orders'", "'opener'")),
        ({3: 4}, ("unknown reset option '3'",)),
        ("orders", ("reset options must be a mapping", "'orders'")),
        ([("orders", [good])], ("reset options must be a mapping",)),
        (7, ("reset options must be a mapping", "7")),
        ({"opener": "player_2"}, ("opener must be one of 'player_0', 'player_1'", "got 'player_2'")),
        ({"opener": 0}, ("opener must be one of", "got 0")),
        ({"opener": ["player_0"]}, ("opener must be one of", "got ['player_0']")),
        ({"orders": 5}, ("orders must be a list of draw orders, got 5",)),
        ({"orders": "abc"}, ("orders must be a list of draw orders, got 'abc'",)),
        ({"orders": [good] * (limit + 1)}, (f"uses at most {limit} draw orders, got {limit + 1}",)),
        ({"orders": good}, (f"uses at most {limit} draw orders, got {tiles}",)),
        ({"orders": [good[:-1]]}, (f"draw order 0 must have {tiles} tile numbers, got {tiles - 1}",)),
        ({"orders": [[]]}, ("draw order 0",)),
        ({"orders": [[*good, 0]]}, (f"draw order 0 must have {tiles} tile numbers, got {tiles + 1}",)),
        ({"orders": [[*good[:-1], 0]]}, ("draw order 0 repeats tile 0",)),
        ({"orders": [[tile + 1 for tile in good]]}, (f"draw order 0 has tile {tiles}, expected 0 to {tiles - 1}",)),
        ({"orders": [[-1, *good[1:]]]}, (f"draw order 0 has tile -1, expected 0 to {tiles - 1}",)),
        ({"orders": [[256, *good[1:]]]}, (f"draw order 0 has tile 256, expected 0 to {tiles - 1}",)),
        ({"orders": [[2**70, *good[1:]]]}, ("draw order 0 must be a flat list of whole tile numbers",)),
        ({"orders": [[float(tile) for tile in good]]}, ("draw order 0 must be a flat list of whole tile numbers",)),
        ({"orders": [[str(tile) for tile in good]]}, ("draw order 0 must be a flat list of whole tile numbers",)),
        ({"orders": [[good]]}, ("draw order 0 must be a flat list of whole tile numbers",)),
        ({"orders": [[[0], *good[1:]]]}, ("draw order 0 is not a list of tile numbers",)),
        ({"orders": [None]}, ("draw order 0 must be a flat list of whole tile numbers, got None",)),
    ]


@all_games
def test_reset_options(game: str) -> None:
    """The environment goes on where it was, random generator included."""
    env, twin = face(game).env(), face(game).env()
    single = DominoSinglePlayerEnv(game)
    _, info = single.reset(seed=0)
    for one in (env, twin):
        one.reset(seed=1)
        play_on(one, 4)
    before = snapshot(env)
    for options, parts in bad_options(env.unwrapped.game.num_tiles, env.unwrapped.game.num_orders("match")):
        refuses(lambda options=options: env.reset(options=options), *parts)
        refuses(lambda options=options: env.reset(seed=5, options=options), *parts)
        refuses(lambda options=options: single.reset(seed=5, options=options), *parts)
        assert snapshot(env) == before
    env.reset()
    twin.reset()
    assert snapshot(env) == snapshot(twin)
    single.step(first_legal(info["action_mask"]))


def test_the_second_order_is_checked_too() -> None:
    env = face("domaster").raw_env()
    orders = [list(range(55)), [0] * 55]
    refuses(lambda: env.reset(options={"orders": orders}), "draw order 1 repeats tile 0")


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, [1], np.float64(2)])
def test_seeds(seed: Any) -> None:
    message = "seed must be a non-negative whole number or None, got " + repr(seed)
    for env in (face("mate").env(), face("mate").raw_env(), DominoSinglePlayerEnv("mate")):
        refuses(lambda env=env: env.reset(seed=seed), message)


# -- step, and what else takes an agent or a move ---------------------------------------------------------------------


@all_games
@pytest.mark.parametrize("kind", ["env", "raw_env"])
def test_actions_outside_of_the_space(game: str, kind: str) -> None:
    env = getattr(face(game), kind)()
    env.reset(seed=2)
    play_on(env, 3)
    before = snapshot(env)
    size = env.unwrapped.game.num_actions
    whole = (-1, size, size + 1, 2**31, 2**63, -(2**63) - 1, 10**30, np.int64(-5), np.uint64(2**64 - 1), np.array(size))
    for action in (*whole, None, 1.0, np.float32(1), "1", [1], np.array([1]), float("nan"), {}):
        written = repr(int(action)) if any(action is number for number in whole) else repr(action)
        message = f"action must be a whole number from 0 to {size - 1}, got {written}"
        with pytest.raises(ValueError, match="^" + re.escape(message) + "$"):
            env.step(action)
        assert snapshot(env) == before
    mask = env.observe(env.agent_selection)["action_mask"]
    env.step(np.array(first_legal(mask), dtype=np.int16))  # any kind of whole number is one


@all_games
def test_every_number_of_the_action_space_is_safe(game: str) -> None:
    """Illegal ones too: they are named in an error, at several stages of the game, and never reach the rules."""
    env = face(game).raw_env()
    env.reset(seed=3)
    for stage in range(6):
        mask = env.observe(env.agent_selection)["action_mask"]
        before = env.position
        for action in np.flatnonzero(mask == 0)[stage::61].tolist():
            written = env.game.notation(env.position, action)
            refuses(lambda action=action: env.step(action), f"action {action} ({written}) is not legal for")
        assert env.position == before
        play_on(env, 2, seed=stage)


@all_games
def test_agents(game: str) -> None:
    env = face(game).env()
    env.reset(seed=0)
    for call in (env.observe, env.observation_space, env.action_space):
        refuses(lambda call=call: call("player_2"), "unknown agent 'player_2', expected one of 'player_0', 'player_1'")


@all_games
def test_notation(game: str) -> None:
    env = face(game).raw_env()
    env.reset(seed=0)
    legal = env.game.notation(env.position, int(env.game.legal_actions(env.position)[0]))
    for text in ("", "9-9", "resign", legal + "x", "x" * 1000):
        refuses(lambda text=text: env.game.parse(env.position, text), "is no legal move here; legal:", legal)
    assert env.game.notation(env.position, env.game.parse(env.position, f"  {legal} ")) == legal
    for action in (-1, env.game.num_actions):
        refuses(lambda action=action: env.game.notation(env.position, action), "action must be from 0 to", str(action))


def test_layouts() -> None:
    layout = Layout([Field("a", (2,), 0, 1, ""), Field("b", (), 0, 3, "")])
    refuses(lambda: layout.decode(np.zeros(4)), "expected vectors of 3 components", "(4,)")
    refuses(
        lambda: get_game("mate").layout.decode(np.zeros((5, 661))), "expected vectors of 120 components", "(5, 661)"
    )
