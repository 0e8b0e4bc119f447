"""Two agents at the table: mirrored deals, many games side by side, or one after the other against the clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ..agents import Agent, make_agent
from ..batch import BatchGame
from ..engine import lane_streams, start_episode
from ..games import SEATS, Game, get_game
from ..policies import SavedPolicy
from .clock import Clock, points_on_time
from .record import FLAG, GameRecord

__all__ = ["Block", "Referee", "Settings", "Spec", "deal_of", "default_episode"]

#: What :func:`domino_envs.agents.make_agent` takes.
Spec = str | Path | Agent | SavedPolicy | Callable[..., Any]

#: So many deals, each played twice, are side by side when both agents act in batches.
_DEALS_AT_ONCE = 64


def default_episode(game: Game) -> str:
    """Return what the arena plays: single deals, but in Mate sets (two games on one draw, the same hand opens both)."""
    return "set" if "set" in game.episodes else "deal" if "deal" in game.episodes else next(iter(game.episodes))


@dataclass(frozen=True)
class Settings:
    """Everything that decides the games of a tournament.

    Attributes:
        game: its name.
        parameters: of the game.
        episode: what one game is: a key of ``Game.episodes``.
        players: what each name stands for.
        seed: decides deals and the agents' choices.
        mode: ``"sample"`` or ``"best"``, for all agents that are given by name.
        clock: None to let everybody think as long as they like.
    """

    game: str
    parameters: dict[str, int] = field(default_factory=dict)
    episode: str = "deal"
    players: Mapping[str, Spec] = field(default_factory=dict)
    seed: int = 0
    mode: str = "best"
    clock: Clock | None = None


@dataclass(frozen=True)
class Block:
    """A piece of work: two players meet on these deals, each played twice with the seats exchanged."""

    first: str
    second: str
    deals: tuple[int, ...]

    @property
    def num_games(self) -> int:
        """Number of games."""
        return 2 * len(self.deals)


def deal_of(game: Game, episode: str, seed: int, deal: int) -> tuple[NDArray[np.int8], str]:
    """Return a deal of a tournament: draw orders ``int8 (shuffles, tiles)`` and opener; a function of the arguments.

    A deal that leaves no decision in the whole episode is drawn anew.
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(deal,)))
    states = np.zeros(1, dtype=game.dtype)
    shuffles = game.num_orders(episode)
    while True:
        orders = np.array([rng.permutation(game.num_tiles) for _ in range(shuffles)], dtype=np.int8)
        opener = int(rng.integers(2))
        given = np.array([shuffles], dtype=np.int8)
        if start_episode(game.start_record(episode), states, lane_streams(0, 1), orders[None], given, 0, opener):
            return orders, SEATS[opener]


class Referee:
    """Plays the games of a tournament; equal settings and equal blocks give equal games (thinking times aside).

    Raises:
        ValueError: for an unknown game, agent, episode or mode.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.game = get_game(settings.game, settings.parameters)
        self.game.num_deals(settings.episode)
        self.agents = {
            name: make_agent(spec, self.game, seed=settings.seed, mode=settings.mode)
            for name, spec in settings.players.items()
        }

    def side_by_side(self, first: str, second: str) -> bool:
        """Return whether these two can play many games at once."""
        return self.settings.clock is None and not any(self.agents[name].one_at_a_time for name in (first, second))

    def blocks(self, first: str, second: str, deals: list[int]) -> list[Block]:
        """Cut the work up; whatever number of processes shares it, a block's games are the same."""
        size = _DEALS_AT_ONCE if self.side_by_side(first, second) else 1
        cut: dict[int, list[int]] = {}
        for deal in deals:
            cut.setdefault(deal // size, []).append(deal)
        return [Block(first, second, tuple(part)) for part in cut.values()]

    def play(self, block: Block) -> list[GameRecord]:
        """Play a block: each deal twice with the seats exchanged."""
        one, two = sorted((block.first, block.second))  # so that it does not matter who is named first
        games = [(deal, names) for deal in block.deals for names in ((one, two), (two, one))]
        if self.side_by_side(block.first, block.second):
            self._seat(block, 0)
            return _Table(self, games).play()
        records = []
        for i, game in enumerate(games):
            self._seat(block, i)
            records += _Table(self, [game]).play()
        return records

    def _seat(self, block: Block, number: int) -> None:
        """Give both agents the random stream that belongs to these games and to their name."""
        for name in (block.first, block.second):
            key = (block.deals[0], number, crc32(name.encode()))
            words = np.random.SeedSequence(self.settings.seed, spawn_key=key).generate_state(2)
            self.agents[name].reseed(int(words[0]) << 31 | int(words[1]) >> 1)


class _Table:
    """Games side by side; with a clock or with agents that play one at a time, a single one."""

    def __init__(self, referee: Referee, games: list[tuple[int, tuple[str, str]]]) -> None:
        self.referee = referee
        self.game = referee.game
        self.games = games
        settings = referee.settings
        self.clock = settings.clock
        self.batch = BatchGame(self.game, len(games), episode=settings.episode, seed=0, auto_reset=False)
        self.deals = [deal_of(self.game, settings.episode, settings.seed, deal) for deal, _ in games]
        self.batch.reset(orders=[orders for orders, _ in self.deals], openers=[opener for _, opener in self.deals])
        self.names = sorted({name for _, seats in games for name in seats})
        self.owners = np.array([[self.names.index(name) for name in seats] for _, seats in games])
        self.seconds = np.zeros((len(games), 2))
        self.moves: list[list[str]] = [[] for _ in games]
        self.times: list[float] = []

    @cached_property
    def agents(self) -> list[Agent]:
        """The agents by number."""
        return [self.referee.agents[name] for name in self.names]

    def play(self) -> list[GameRecord]:
        """Play all games to the end."""
        for agent in self.agents:
            agent.start_deal()
        single = len(self.games) == 1
        budgets = self._full_budgets()
        live = np.arange(len(self.games), dtype=np.int64)
        while len(live):
            finished = int(self.batch.states["finished"][0])
            actions = self._ask(live)
            if self.clock is not None:
                self._press_clock(self.clock, budgets, int(actions[0]))
            else:
                self._make(actions, live)
            live = live[~self.batch.dones[live]]
            if single and len(live) and int(self.batch.states["finished"][0]) != finished:
                budgets = self._full_budgets()
                for agent in self.agents:
                    agent.start_deal()
        return [self._record(lane) for lane in range(len(self.games))]

    def _full_budgets(self) -> list[float]:
        return [self.clock.budget if self.clock else 0.0] * 2

    def _ask(self, live: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the action of each live lane's mover."""
        batch = self.batch
        movers = batch.movers[live]
        owners = self.owners[live, movers]
        actions = np.empty(len(live), dtype=np.int64)
        for number, agent in enumerate(self.agents):
            rows = np.flatnonzero(owners == number)
            if not len(rows):
                continue
            lanes = live[rows]
            observations, masks = batch.observations[lanes], batch.action_masks[lanes]
            states = batch.states[lanes] if agent.needs_states else None
            start = perf_counter()
            if agent.one_at_a_time or self.clock is not None:
                chosen = np.array([agent.act_one(observations[0], masks[0], states)])
            else:
                chosen = agent.act(observations, masks, states)
            elapsed = perf_counter() - start
            self._check(number, lanes, chosen)
            self.seconds[lanes, movers[rows]] += elapsed / len(rows)
            actions[rows] = chosen
            if self.clock is not None:
                self.times.append(round(elapsed, 6))
        return actions

    def _check(self, number: int, lanes: NDArray[np.int64], chosen: NDArray[Any]) -> None:
        name = self.names[number]
        if chosen.shape != lanes.shape or chosen.dtype.kind not in "iu":
            raise ValueError(
                f"{name} must return {len(lanes)} whole action numbers, got {chosen.dtype} of shape {chosen.shape}"
            )
        for lane, action in zip(lanes, chosen, strict=True):
            legal = 0 <= action < self.game.num_actions and self.batch.action_masks[lane, action]
            if not legal:
                raise ValueError(f"{name} chose the illegal action {action} in deal {self.games[lane][0]}")

    def _make(self, actions: NDArray[np.int64], lanes: NDArray[np.int64]) -> None:
        for lane, action in zip(lanes.tolist(), actions.tolist(), strict=True):
            self.moves[lane].append(self.game.notation(self.batch.states, action, lane))
        self.batch.step(actions, lanes)

    def _press_clock(self, clock: Clock, budgets: list[float], action: int) -> None:
        """Make the only lane's move if it came in time."""
        seat = int(self.batch.movers[0])
        budgets[seat] -= self.times[-1]
        if budgets[seat] < 0:
            self.moves[0].append(FLAG)
            self.batch.end_deal(0, SEATS[1 - seat], points_on_time(self.game, self.batch.states[0]))
            return
        budgets[seat] += clock.increment
        self._make(np.array([action]), np.zeros(1, dtype=np.int64))

    def _record(self, lane: int) -> GameRecord:
        settings = self.referee.settings
        deal, players = self.games[lane]
        orders, opener = self.deals[lane]
        first, second = self.batch.states["scores"][lane].tolist()
        return GameRecord(
            game=settings.game,
            parameters=dict(self.game.parameters),
            rules_version=self.game.rules_version,
            episode=settings.episode,
            orders=orders.tolist(),
            opener=opener,
            players=players,
            moves=self.moves[lane],
            over=True,
            scores=(first, second),
            winner=None if first == second else SEATS[int(second > first)],
            seconds=(round(float(self.seconds[lane, 0]), 6), round(float(self.seconds[lane, 1]), 6)),
            clock=None if self.clock is None else str(self.clock),
            times=self.times if self.clock is not None else None,
            deal=deal,
        )
