"""What a scorecard measures, fixed by version, so that the numbers of two people can be compared.

Everything that decides a number is here: opponents and their ratings, deals, seeds, positions. Whoever changes any of
it, or an agent on the ladder, raises :data:`PROTOCOL_VERSION`.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..games import Game

__all__ = ["PROTOCOL_VERSION", "Protocol", "protocol_for"]

PROTOCOL_VERSION = 2


@dataclass(frozen=True)
class Protocol:
    """The scorecard of one game.

    Attributes:
        ladder: the opponents, weakest first, with their Elo ratings (random is 0).
        deals: how many deals the agent plays against each, each twice with seats exchanged.
        seed: of these deals.
        self_play_deals: how many deals it plays against itself, where exact values judge its decisions.
        positions: how many random positions are drawn for the same purpose; in Domaster it decides the late ones.
        response_deals: how many deals the best responses in Mate are computed for.
        speed_positions: how many random positions the time of a move is measured on.
    """

    ladder: dict[str, float]
    deals: int = 200
    seed: int = 20_240_229
    self_play_deals: int = 200
    positions: int = 2000
    response_deals: int = 200
    speed_positions: int = 100


# Ratings as measured in docs/ladders.md.
_PROTOCOLS = {
    "domaster": Protocol(
        {"random": 0.0, "greedy": 434.0, "search:100": 836.0, "search:1000": 1053.0},
        positions=10_000,
    ),
    "five_bridges": Protocol(
        {"random": 0.0, "greedy": 392.0, "search:100": 764.0, "search:1000": 980.0},
        positions=10_000,
    ),
    "mate": Protocol(
        {
            "random": 0.0,
            "greedy": 175.0,
            "search:100": 449.0,
            "search:1000": 596.0,
            "search:10000": 658.0,
            "perfect": 669.0,
        }
    ),
    "third_level": Protocol({"random": 0.0, "greedy": 216.0, "search:100": 252.0, "search:1000": 402.0}),
}


def protocol_for(game: Game) -> Protocol:
    """Return a game's protocol.

    Raises:
        ValueError: for a game without one: of another name, or with parameters other than the default ones.
    """
    from ..games import get_game

    if game.name not in _PROTOCOLS:
        raise ValueError(f"there is no scorecard for {game.name!r}, expected one of {', '.join(map(repr, _PROTOCOLS))}")
    if game is not get_game(game.name):
        raise ValueError(f"the scorecard of {game.title} is for its default parameters, got {game}")
    return _PROTOCOLS[game.name]
