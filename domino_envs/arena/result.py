"""What a tournament came to: points, win rates, crosstable, ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from math import isnan
from pathlib import Path
from typing import Any

from ..games import SEATS, get_game
from .elo import Rating, fit_elo
from .intervals import Interval, score_interval
from .match import Settings
from .record import GameRecord
from .tables import format_table

__all__ = ["Pairing", "Result", "Standing"]

_ANCHOR = "random"


def _by_deal(games: Iterable[GameRecord], value: Any) -> list[float]:
    """Return the mean of ``value(game)`` for each deal: one number for a mirrored pair."""
    sums: defaultdict[int | None, list[float]] = defaultdict(list)
    for game in games:
        sums[game.deal].append(value(game))
    return [sum(values) / len(values) for values in sums.values()]


@dataclass(frozen=True)
class Pairing:
    """How two players did against each other; shares are of the games, intervals take a mirrored pair as one.

    Attributes:
        first: the one player.
        second: the other.
        wins: games won by ``first``.
        draws: drawn games.
        losses: games won by ``second``.
        score: points of ``first`` (wins and half the draws) a game.
        draw_rate: share of drawn games.
        opener_score: points a game of whoever opened.
    """

    first: str
    second: str
    wins: int
    draws: int
    losses: int
    score: Interval
    draw_rate: Interval
    opener_score: Interval

    @property
    def num_games(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    def as_json(self) -> dict[str, Any]:
        """Return all numbers by name."""
        intervals = {name: getattr(self, name).as_json() for name in ("score", "draw_rate", "opener_score")}
        counts = {name: getattr(self, name) for name in ("first", "second", "wins", "draws", "losses")}
        return {**counts, **intervals}


@dataclass(frozen=True)
class Standing:
    """A player's line in the final table.

    Attributes:
        name: of the player.
        rating: see :func:`~domino_envs.arena.elo.fit_elo`.
        wins: games won.
        draws: games drawn.
        losses: games lost.
        score: points a game, over all opponents.
        seconds: thinking time a game.
    """

    name: str
    rating: Rating
    wins: int
    draws: int
    losses: int
    score: Interval
    seconds: float

    @property
    def points(self) -> float:
        """Wins and half the draws."""
        return self.wins + self.draws / 2

    def as_json(self) -> dict[str, Any]:
        """Return all numbers by name."""
        counts = {name: getattr(self, name) for name in ("name", "wins", "draws", "losses", "points")}
        return {
            **counts,
            "score": self.score.as_json(),
            "elo": self.rating.as_json(),
            "seconds": round(self.seconds, 6),
        }


def _score(name: str) -> Any:
    return lambda game: game.score_of(game.players.index(name))


@dataclass(frozen=True)
class Result:
    """A tournament: how it was set up, and the games that have been played.

    Attributes:
        settings: what decides the games.
        deals: how many deals each two players were to play.
        games: the records, ordered by pairing, deal and seat.
    """

    settings: Settings
    deals: int
    games: list[GameRecord] = field(repr=False)

    @property
    def players(self) -> list[str]:
        """The players' names."""
        return list(self.settings.players)

    @property
    def num_games(self) -> int:
        """How many games there are when all are played."""
        count = len(self.players)
        return self.deals * count * (count - 1)

    @property
    def complete(self) -> bool:
        """Whether all games have been played."""
        return len(self.games) == self.num_games

    def games_of(self, *players: str) -> list[GameRecord]:
        """Return the games in which all of these played."""
        return [game for game in self.games if all(name in game.players for name in players)]

    def pairing(self, first: str, second: str) -> Pairing:
        """Return how two players did against each other.

        Raises:
            ValueError: for a name that is no player's, or one name twice.
        """
        for name in (first, second):
            if name not in self.players or first == second:
                raise ValueError(f"expected two of {', '.join(map(repr, self.players))}, got {first!r} and {second!r}")
        games = self.games_of(first, second)
        scores = [_score(first)(game) for game in games]
        return Pairing(
            first,
            second,
            scores.count(1),
            scores.count(0.5),
            scores.count(0),
            score_interval(_by_deal(games, _score(first))),
            score_interval(_by_deal(games, lambda game: float(game.winner is None))),
            self._opener_score(games),
        )

    def pairings(self) -> list[Pairing]:
        """Return all pairings."""
        return [self.pairing(first, second) for first, second in combinations(self.players, 2)]

    @staticmethod
    def _opener_score(games: list[GameRecord]) -> Interval:
        return score_interval(_by_deal(games, lambda game: game.score_of(SEATS.index(game.opener))))

    def opener_score(self) -> Interval:
        """Return the points a game of whoever opened (the first deal of the episode), over all games."""
        return self._opener_score(self.games)

    def draw_rate(self) -> Interval:
        """Return the share of drawn games."""
        return score_interval(_by_deal(self.games, lambda game: float(game.winner is None)))

    def elo(self, anchor: str | None = None) -> list[Rating]:
        """Return the ratings by maximum likelihood, in the players' order; see :func:`~domino_envs.arena.elo.fit_elo`.

        Args:
            anchor: whose rating is 0; None for ``random``, or the first player where it did not take part.
        """
        if anchor is None:
            anchor = _ANCHOR if _ANCHOR in self.players else self.players[0]
        outcomes = [(*game.players, game.score_of(0), game.deal or 0) for game in self.games]
        return fit_elo(outcomes, self.players, {anchor: 0.0})

    def standings(self, anchor: str | None = None) -> list[Standing]:
        """Return the players' results, best rating first."""
        standings = []
        for rating in self.elo(anchor):
            name = rating.name
            games = self.games_of(name)
            scores = [_score(name)(game) for game in games]
            seconds = sum(game.seconds[game.players.index(name)] for game in games) / max(1, len(games))
            interval = score_interval(_by_deal(games, _score(name)))
            counts = scores.count(1), scores.count(0.5), scores.count(0)
            standings.append(Standing(name, rating, *counts, interval, seconds))
        return sorted(standings, key=lambda s: (isnan(s.rating.elo), -s.rating.elo))

    def title(self) -> str:
        """Return one line on what was played."""
        game = get_game(self.settings.game, self.settings.parameters)
        clock = f", clock {self.settings.clock}" if self.settings.clock else ""
        played = "" if self.complete else f" ({len(self.games)} of {self.num_games} games played)"
        return (
            f"{game.title}, episode {self.settings.episode!r}, {self.deals} deals a pairing, each played twice with "
            f"seats exchanged, seed {self.settings.seed}{clock}{played}"
        )

    def table(self, anchor: str | None = None) -> str:
        """Return the final table, the crosstable, and who profits from opening, as text."""
        standings = self.standings(anchor)
        header = ("player", "Elo [95 %]", "points", "games", "score % [95 %]", "won", "drawn", "lost", "s/game")
        rows = [
            (
                s.name,
                s.rating.text(),
                f"{s.points:g}",
                str(s.wins + s.draws + s.losses),
                s.score.text(100),
                str(s.wins),
                str(s.draws),
                str(s.losses),
                f"{s.seconds:.3g}",
            )
            for s in standings
        ]
        parts = [self.title(), format_table(header, rows), self.crosstable([s.name for s in standings])]
        if self.games:
            parts.append(
                f"Opener's score % {self.opener_score().text(100)}; drawn % {self.draw_rate().text(100)}; "
                f"{sum(len(game.moves) for game in self.games) / len(self.games):.1f} moves a game"
            )
        return "\n\n".join(parts)

    def crosstable(self, order: list[str] | None = None) -> str:
        """Return the scores of row against column in percent, with 95 % intervals, as text."""
        names = self.players if order is None else order
        rows = [
            (
                row,
                *("" if row == column else self.pairing(row, column).score.text(100) for column in names),
            )
            for row in names
        ]
        return format_table(("score % of row", *names), rows)

    def save(self, path: str | Path) -> None:
        """Write the tournament with all its games; :func:`~domino_envs.arena.load` reads it, JSON lines."""
        from .files import write_tournament

        write_tournament(Path(path), self)

    def as_json(self) -> dict[str, Any]:
        """Return settings and statistics (not the games) as a JSON object."""
        return {
            "game": self.settings.game,
            "parameters": dict(self.settings.parameters),
            "episode": self.settings.episode,
            "players": self.players,
            "seed": self.settings.seed,
            "mode": self.settings.mode,
            "clock": None if self.settings.clock is None else str(self.settings.clock),
            "deals": self.deals,
            "complete": self.complete,
            "standings": [standing.as_json() for standing in self.standings()],
            "pairings": [pairing.as_json() for pairing in self.pairings()],
            "opener_score": self.opener_score().as_json(),
            "draw_rate": self.draw_rate().as_json(),
        }
