"""One page on one agent: results and Elo on a fixed ladder, speed, and exactness where exact values exist."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..agents import Agent, make_agent
from ..agents.best_response import exploitability
from ..agents.positions import opening_positions, random_positions
from ..games import Game, get_game
from .elo import Outcome, Rating, fit_elo
from .exact import LATE_TILES, Accuracy, accuracy, decide, decisions_of, exact_values, has_exact_values, views
from .intervals import Interval, mean_interval
from .match import Spec, default_episode
from .protocol import PROTOCOL_VERSION, Protocol, protocol_for
from .result import Pairing
from .tables import format_table
from .tournament import name_players, round_robin

__all__ = ["Exactness", "Scorecard", "Speed", "measure_speed", "scorecard"]

SCORECARD_FORMAT = "domino_envs.scorecard"
_AGENT, _TWIN = "agent", "twin"  # names that decide the random streams, whatever the agent is called
_MOST_SECONDS = 20.0  # for the speed of a very slow agent


@dataclass(frozen=True)
class Speed:
    """Time of a decision on the machine at hand.

    Attributes:
        median: milliseconds for one position, median.
        slowest: milliseconds, 95th percentile.
        batch: milliseconds a position when many are decided at once; None for agents that play one game at a time.
    """

    median: float
    slowest: float
    batch: float | None

    def as_json(self) -> dict[str, float | None]:
        """Return all numbers by name."""
        return {
            "median_ms": round(self.median, 4),
            "p95_ms": round(self.slowest, 4),
            "batch_ms": None if self.batch is None else round(self.batch, 4),
        }


@dataclass(frozen=True)
class Exactness:
    """Decisions against exact values.

    Attributes:
        own_games: on the positions that the agent gets into against itself; intervals take a deal as one observation.
        random_positions: on positions from random play, each from a deal of its own.
        exploitability: points a deal that a best response gains over the value of the deal, for the agent as ``first``
            to move and as ``second``; empty where it is not known.
    """

    own_games: Accuracy
    random_positions: Accuracy
    exploitability: dict[str, Interval] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return all numbers by name."""
        return {
            "own_games": self.own_games.as_json(),
            "random_positions": self.random_positions.as_json(),
            "exploitability": {seat: interval.as_json() for seat, interval in self.exploitability.items()} or None,
        }


@dataclass(frozen=True)
class Scorecard:
    """What is known of an agent.

    Attributes:
        game: the table of its game.
        agent: how it was given.
        mode: ``"best"`` or ``"sample"``.
        protocol: what was measured; equal protocol versions give comparable numbers.
        standard: whether that is the protocol of this version, unchanged.
        ladder: results against the rungs, weakest first; the agent is ``first`` in each.
        elo: rating on the ladder, whose own ratings are given (random is 0).
        speed: time of a decision.
        exactness: against exact values; None where there are none.
    """

    game: Game
    agent: str
    mode: str
    protocol: Protocol
    standard: bool
    ladder: list[Pairing]
    elo: Rating
    speed: Speed
    exactness: Exactness | None

    def as_json(self) -> dict[str, Any]:
        """Return the card as a JSON object."""
        return {
            "format": SCORECARD_FORMAT,
            "protocol": PROTOCOL_VERSION if self.standard else None,
            "package": __version__,
            "game": self.game.name,
            "rules_version": self.game.rules_version,
            "agent": self.agent,
            "mode": self.mode,
            "deals": self.protocol.deals,
            "elo": self.elo.as_json(),
            "ladder": [
                {
                    "opponent": rung.second,
                    "elo": self.protocol.ladder[rung.second],
                    "wins": rung.wins,
                    "draws": rung.draws,
                    "losses": rung.losses,
                    "score": rung.score.as_json(),
                }
                for rung in self.ladder
            ],
            "speed": self.speed.as_json(),
            "exact": None if self.exactness is None else self.exactness.as_json(),
        }

    def save(self, path: str | Path) -> None:
        """Write the card as JSON."""
        Path(path).write_text(json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n", encoding="utf-8")

    def table(self) -> str:
        """Return the card as text."""
        version = f"protocol {PROTOCOL_VERSION}" if self.standard else "not by the protocol: for a quick look only"
        speed = f"{self.speed.median:.3g} ms a move (median; 95 % below {self.speed.slowest:.3g} ms)"
        if self.speed.batch is not None:
            speed += f", {self.speed.batch:.3g} ms in batches"
        rows = [
            (
                rung.second,
                f"{self.protocol.ladder[rung.second]:.0f}",
                rung.score.text(100),
                *(str(number) for number in (rung.wins, rung.draws, rung.losses)),
            )
            for rung in self.ladder
        ]
        parts = [
            f"{self.agent}, {self.game.title}, mode {self.mode!r} ({version})",
            f"Elo on the ladder: {self.elo.text()}\nSpeed: {speed}",
            format_table(("against", "Elo", "score % [95 %]", "won", "drawn", "lost"), rows),
        ]
        if self.exactness is not None:
            parts.append(self._exact_table(self.exactness))
            if self.game.name != "mate":
                parts.append(f"Judged are positions with at least {LATE_TILES} tiles in chains; won is 1, lost -1.")
        return "\n\n".join(parts)

    @staticmethod
    def _exact_table(exactness: Exactness) -> str:
        rows = [
            (name, str(found.decisions), found.preserving.text(100), found.regret.text(1, 3))
            for name, found in (("own games", exactness.own_games), ("random positions", exactness.random_positions))
        ]
        header = ("decisions that matter", "number", "value preserved % [95 %]", "mean regret [95 %]")
        lines = [format_table(header, rows)]
        lines += [
            f"A best response gains {interval.text(1, 2)} points a deal if the agent moves {seat}"
            for seat, interval in exactness.exploitability.items()
        ]
        return "\n".join(lines)


def measure_speed(agent: Agent, states: NDArray[Any]) -> Speed:
    """Return how long an agent takes for these positions, at least two, each taken for itself."""
    observations, masks = views(agent.game, states)
    given = states if agent.needs_states else None
    times: list[float] = []
    start = perf_counter()
    for i in range(len(states)):
        agent.start_deal()
        state = None if given is None else given[i : i + 1]
        before = perf_counter()
        agent.act_one(observations[i], masks[i], state)
        times.append((perf_counter() - before) * 1000)
        if perf_counter() - start > _MOST_SECONDS and len(times) > 1:
            break
    timed = times[1:]  # the first call may compile or warm up
    batch = None
    if not agent.one_at_a_time:
        agent.act(observations, masks, given)
        before = perf_counter()
        agent.act(observations, masks, given)
        batch = (perf_counter() - before) * 1000 / len(states)
    return Speed(float(np.median(timed)), float(np.percentile(timed, 95)), batch)


class _Strategy:
    """An agent's move probabilities in Mate, as it plays in its mode.

    In mode ``"best"`` an agent is asked twice with different seeds: if chance plays no part, its moves have
    probability 1, else the agent tells its probabilities (as it does in mode ``"sample"``).
    """

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.by_chance = agent.mode == "sample"

    def __call__(
        self, observations: NDArray[np.int8], masks: NDArray[np.int8], states: NDArray[Any]
    ) -> NDArray[np.floating[Any]]:
        if not self.by_chance:
            chosen = []
            for seed in (1, 2):
                self.agent.reseed(seed)
                chosen.append(self.agent.act(observations, masks, states))
            if (chosen[0] == chosen[1]).all():
                certain: NDArray[np.float64] = np.zeros(masks.shape)
                certain[np.arange(len(certain)), chosen[0]] = 1.0
                return certain
            self.by_chance = True
        return self.agent.probabilities(observations, masks, states)


def _exploitability(agent: Agent, protocol: Protocol) -> dict[str, Interval]:
    if agent.one_at_a_time:
        return {}
    states = opening_positions(agent.game, protocol.response_deals, protocol.seed)
    try:
        found = exploitability(_Strategy(agent), states)
    except NotImplementedError:
        return {}
    return {"first": mean_interval(found.as_first), "second": mean_interval(found.as_second)}


def _exactness(game: Game, spec: Spec, agent: Agent, protocol: Protocol, workers: int) -> Exactness | None:
    if not has_exact_values(game):
        return None
    games = round_robin(
        game,
        {_AGENT: spec, _TWIN: spec},
        deals=protocol.self_play_deals,
        seed=protocol.seed,
        episode="deal",
        mode=agent.mode,
        workers=workers,
    ).games
    # Of two mirrored games one: without chance in its play, both would be the same.
    states, actions, deals = decisions_of(games[::2])
    rows, values = exact_values(game, states)
    own = accuracy(values, views(game, states[rows])[1], actions[rows], deals[rows])
    states = random_positions(game, protocol.positions, protocol.seed)
    rows, values = exact_values(game, states)
    agent.reseed(protocol.seed)
    actions, masks = decide(agent, states[rows])
    found = accuracy(values, masks, actions)
    return Exactness(own, found, _exploitability(agent, protocol) if game.name == "mate" else {})


def scorecard(
    game: str | Game,
    agent: Spec,
    *,
    mode: str = "best",
    workers: int = 1,
    progress: bool = False,
    deals: int | None = None,
) -> Scorecard:
    """Measure an agent by the protocol of its game (:mod:`domino_envs.arena.protocol`).

    Args:
        game: a name, or the table of a game with default parameters.
        agent: what :func:`~domino_envs.agents.make_agent` takes.
        mode: ``"best"`` or ``"sample"``, if it is given by name or path.
        workers: processes, as in :func:`~domino_envs.arena.round_robin`.
        progress: show bars, if standard error is a terminal.
        deals: for a quick look, so many deals in place of the protocol's; everything else shrinks likewise. Such a card
            says that it is not by the protocol.

    Raises:
        ValueError: for a game without protocol, or a wrong argument.
    """
    table = game if isinstance(game, Game) else get_game(game)
    standard = protocol_for(table)
    protocol = standard if deals is None else _scaled(standard, deals)
    player = make_agent(agent, table, seed=protocol.seed, mode=mode)
    ladder: list[Pairing] = []
    outcomes: list[Outcome] = []
    for rung in protocol.ladder:
        result = round_robin(
            table,
            {_AGENT: agent, rung: rung},
            deals=protocol.deals,
            seed=protocol.seed,
            episode=default_episode(table),
            mode=mode,
            workers=workers,
            progress=progress,
        )
        if not result.complete:
            raise KeyboardInterrupt
        ladder.append(result.pairing(_AGENT, rung))
        outcomes += [(*one.players, one.score_of(0), one.deal or 0) for one in result.games]
    ratings = fit_elo(outcomes, [_AGENT, *protocol.ladder], protocol.ladder)
    return Scorecard(
        table,
        next(iter(name_players([agent]))),
        player.mode,
        protocol,
        protocol == standard,
        ladder,
        ratings[0],
        measure_speed(player, random_positions(table, protocol.speed_positions, protocol.seed)),
        _exactness(table, agent, player, protocol, workers),
    )


def _scaled(protocol: Protocol, deals: int) -> Protocol:
    if isinstance(deals, bool) or not isinstance(deals, int) or deals < 1:
        raise ValueError(f"deals must be a whole number of at least 1, got {deals!r}")

    def scaled(number: int) -> int:
        return max(2, number * deals // protocol.deals)

    return replace(
        protocol,
        deals=deals,
        self_play_deals=scaled(protocol.self_play_deals),
        positions=scaled(protocol.positions),
        response_deals=scaled(protocol.response_deals),
        speed_positions=scaled(protocol.speed_positions),
    )
