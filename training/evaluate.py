"""Measure a saved policy, or any agent, against others: every deal is played twice, with the seats exchanged.

    python training/evaluate.py mate runs/mate random greedy perfect
    python training/evaluate.py domaster policy:domaster search:1000 --deals 200
    python training/evaluate.py mate runs/mate random --save          # also writes the results into the policy's card
    python training/evaluate.py mate runs/mate --scorecard --save

The win rate has its 95 % Wilson interval, which takes the games as independent; points (wins and half the draws) have
an interval that takes the two games of a deal as one observation. 'domino-envs agents' lists what can play.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

from domino_envs.arena import Result, play_match, scorecard, wilson_interval
from domino_envs.arena.tables import format_table
from domino_envs.arena.tournament import available_cores
from domino_envs.games import Game, get_game
from domino_envs.policies import is_policy_path, read_policy, write_card

DEALS = 1000


@dataclass
class Arguments:
    """Let an agent play mirrored deals against others."""

    game: tyro.conf.Positional[Literal["domaster", "five_bridges", "mate", "third_level"]]
    """Which game."""
    agent: tyro.conf.Positional[str]
    """Whoever is measured: a policy's path, or a name such as greedy, search:1000 or policy:mate."""
    opponents: tyro.conf.Positional[tuple[str, ...]] = ("random",)
    """Whom it plays."""
    deals: int | None = None
    """Deals against each opponent, 1000 by default; twice as many games are played. With --scorecard the protocol's
    number; a card with another says that it is not by the protocol."""
    seed: int = 0
    """Decides deals and choices."""
    mode: Literal["best", "sample"] = "best"
    """How everybody chooses: the best action, or drawn from what the agent thinks of them."""
    episode: str | None = None
    """What counts as a game; single deals by default, in Mate sets of two."""
    scorecard: bool = False
    """Measure by the fixed protocol of 'domino-envs scorecard' instead; opponents and seed are its own."""
    save: bool = False
    """Write the results into the policy's card."""
    json: bool = False
    """Print JSON instead of a table."""
    workers: int = available_cores()
    """Processes."""


def figures(args: Arguments, result: Result) -> dict[str, Any]:
    """Return the result of one match, as a policy's card keeps it."""
    pairing = result.pairing(*result.players)
    return {
        "opponent": result.players[1],
        "mode": args.mode,
        "episode": result.settings.episode,
        "mirrored_deals": result.deals,
        "seed": args.seed,
        "wins": pairing.wins,
        "draws": pairing.draws,
        "losses": pairing.losses,
        "win_rate_wilson": wilson_interval(pairing.wins, pairing.num_games).as_json(),
        "points": pairing.score.as_json(),
    }


def measure(args: Arguments, game: Game) -> list[dict[str, Any]]:
    """Play all matches."""
    found = []
    for opponent in args.opponents:
        result = play_match(
            game,
            args.agent,
            opponent,
            deals=DEALS if args.deals is None else args.deals,
            seed=args.seed,
            episode=args.episode,
            mode=args.mode,
            workers=args.workers,
            progress=True,
        )
        if not result.complete:
            raise KeyboardInterrupt
        found.append(figures(args, result))
    return found


def table(args: Arguments, game: Game, found: list[dict[str, Any]]) -> str:
    """Return the results as text."""

    def percent(interval: dict[str, float]) -> str:
        value, low, high = (100 * interval[name] for name in ("value", "low", "high"))
        return f"{value:.1f} [{low:.1f}, {high:.1f}]"

    rows = [
        (
            one["opponent"],
            str(one["wins"]),
            str(one["draws"]),
            str(one["losses"]),
            percent(one["win_rate_wilson"]),
            percent(one["points"]),
        )
        for one in found
    ]
    header = ("against", "won", "drawn", "lost", "won % [Wilson]", "points % [by deal]")
    title = f"{args.agent}, {game.title}, {found[0]['mirrored_deals']} deals, each played twice, mode {args.mode!r}"
    return f"{title}\n\n{format_table(header, rows)}"


def add_to_card(source: str, game: Game, facts: dict[str, Any]) -> Path:
    """Write facts into a policy's card and return its path; evaluations are added to those that it has."""
    files = read_policy(source, game)
    card = files.card
    new = facts.get("evaluation", [])
    same = ("opponent", "mode", "episode")
    replaced = [[one[key] for key in same] for one in new]
    old = [one for one in card.get("evaluation", []) if [one.get(key) for key in same] not in replaced]
    if new:
        facts = {**facts, "evaluation": [*old, *new]}
    return write_card(files.paths[".json"], {**card, **facts})


def main(args: Arguments) -> dict[str, Any]:
    """Measure, print, and return what a card can keep: ``evaluation`` or ``scorecard``.

    Raises:
        ValueError: for a wrong argument.
        KeyboardInterrupt: by Ctrl-C.
    """
    game = get_game(args.game)
    source = args.agent.removeprefix("policy:")
    if args.save:
        if source == args.agent and not is_policy_path(source):
            raise ValueError(f"--save: {args.agent} is no saved policy, it has no card")
        game = read_policy(source, game).game
    if args.scorecard:
        card = scorecard(game, args.agent, mode=args.mode, workers=args.workers, progress=True, deals=args.deals)
        facts: dict[str, Any] = {"scorecard": card.as_json()}
        shown = card.table()
    else:
        facts = {"evaluation": measure(args, game)}
        shown = table(args, game, facts["evaluation"])
    print(json.dumps(facts, indent=1) if args.json else shown)
    if args.save:
        print(f"written into {add_to_card(source, game, facts)}", file=sys.stderr)
    return facts


if __name__ == "__main__":
    try:
        main(tyro.cli(Arguments, description=__doc__))
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)  # 128 + SIGINT, as shells have it
