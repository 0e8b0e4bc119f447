"""Round robins: everybody against everybody over mirrored deals, in several processes if wanted, resumable."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from ..agents import Agent
from ..games import Game, get_game
from ..policies import SavedPolicy
from .clock import Clock
from .files import append_games, load, ordered_pairs, write_tournament
from .match import Block, Referee, Settings, Spec, default_episode
from .progress import Progress
from .record import GameRecord
from .result import Result

__all__ = ["available_cores", "name_players", "play_match", "resume", "round_robin"]

#: Plays a block; in worker processes the referee is a global one, made once for each.
Play = Callable[[Block], list[GameRecord]]
_REFEREES: list[Referee] = []


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def name_players(specs: Iterable[Spec] | Mapping[str, Spec]) -> dict[str, Spec]:
    """Return the players by name: a mapping as it is, else each under the name that it is given by.

    Equal names get ``#2``, ``#3`` ... appended.
    """
    if isinstance(specs, Mapping):
        return dict(specs)
    players: dict[str, Spec] = {}
    for spec in specs:
        if isinstance(spec, (str, Path)):
            name = str(spec)
        elif isinstance(spec, (Agent, SavedPolicy)):
            name = spec.name
        else:
            name = getattr(spec, "__name__", type(spec).__name__)
        number, unique = 1, name
        while unique in players:
            number += 1
            unique = f"{name}#{number}"
        players[unique] = spec
    return players


def _start_worker(settings: Settings) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    _REFEREES.append(Referee(settings))


def _play_in_worker(block: Block) -> list[GameRecord]:
    return _REFEREES[0].play(block)


def _play_blocks(referee: Referee, blocks: list[Block], workers: int) -> Iterator[list[GameRecord]]:
    if workers == 1 or len(blocks) < 2:
        yield from map(referee.play, blocks)
        return
    # Fresh processes rather than forks: the libraries that run policies keep threads.
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(workers, len(blocks)), multiprocessing.get_context("spawn"), _start_worker, (referee.settings,)
    )
    try:
        for done in as_completed([pool.submit(_play_in_worker, block) for block in blocks]):
            yield done.result()
    except BaseException:  # also when the consumer stops: GeneratorExit
        started = set(multiprocessing.active_children()) - others
        pool.shutdown(wait=False, cancel_futures=True)
        for process in started:
            process.terminate()
        raise
    pool.shutdown()


def _check(players: Mapping[str, Spec], deals: int, seed: int, workers: int) -> None:
    if len(players) < 2:
        raise ValueError(f"a tournament needs at least two players, got {', '.join(players) or 'none'}")
    for name, number, least in (("deals", deals, 1), ("seed", seed, 0), ("workers", workers, 1)):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {number!r}")
    if workers > 1:
        for name, spec in players.items():
            if not isinstance(spec, (str, Path)):
                raise ValueError(
                    f"{name} is no name of an agent, so it cannot be sent to other processes: use workers=1"
                )


def _run(result: Result, workers: int, show: bool, path: Path | None) -> Result:
    """Play what is missing; on Ctrl-C return what there is."""
    settings, deals = result.settings, result.deals
    referee = Referee(settings)
    played = {(frozenset(game.players), game.deal) for game in result.games}
    blocks: list[Block] = []
    for first, second in combinations(settings.players, 2):
        missing = [deal for deal in range(deals) if (frozenset((first, second)), deal) not in played]
        blocks += referee.blocks(first, second, missing)
    blocks.sort(key=lambda block: block.deals[0])  # a broken-off run has about equally many deals of each pairing
    games = list(result.games)
    if path is not None:
        write_tournament(path, result)
    with Progress(result.num_games, done=len(games), show=show) as progress, suppress(KeyboardInterrupt):
        for records in _play_blocks(referee, blocks, workers):
            games += records
            if path is not None:
                append_games(path, records)
            progress.advance(len(records))
    result = replace(result, games=ordered_pairs(games, settings.players, deals))
    if path is not None:
        write_tournament(path, result)
    return result


def round_robin(
    game: str | Game,
    players: Iterable[Spec] | Mapping[str, Spec],
    *,
    deals: int = 200,
    seed: int = 0,
    episode: str | None = None,
    mode: str = "best",
    clock: str | Clock | None = None,
    workers: int = 1,
    progress: bool = False,
    path: str | Path | None = None,
) -> Result:
    """Let everybody play everybody: each deal twice, the two players exchanging seats (and so hands and opening).

    All pairings play the same deals. Equal arguments give equal games whatever the number of workers, unless an agent
    thinks by the clock. Interrupted by Ctrl-C it returns what has been played (``result.complete`` is then False).

    Args:
        game: a name, or the table of a game.
        players: what :func:`~domino_envs.agents.make_agent` takes, at least two; or a mapping that names them.
        deals: how many deals each two players play.
        seed: decides deals and the agents' choices, at least 0.
        episode: what one game is, a key of ``game.episodes``; None for single deals, in Mate for sets.
        mode: ``"best"`` or ``"sample"``, for agents given by name or path.
        clock: a chess clock, ``"60+0.5"``: seconds for each player and deal, and increment for each move.
        workers: number of processes; more than one takes players by name or path only. With a clock or agents that
            think by time, take no more than there are idle cores. A script that uses several must guard its top level
            with ``if __name__ == "__main__":``.
        progress: show a bar, if standard error is a terminal.
        path: a new file that gets the games as they are finished; :func:`resume` goes on from it.

    Raises:
        ValueError: for a wrong argument, or an agent's illegal move.
        FileExistsError: if there is a file at ``path``.
    """
    table = game if isinstance(game, Game) else get_game(game)
    named = name_players(players)
    _check(named, deals, seed, workers)
    settings = Settings(
        game=table.name,
        parameters=dict(table.parameters),
        episode=default_episode(table) if episode is None else episode,
        players=named,
        seed=seed,
        mode=mode,
        clock=Clock.parse(clock) if isinstance(clock, str) else clock,
    )
    if path is not None and Path(path).exists():
        raise FileExistsError(17, "the file exists: resume it, or choose another name", str(path))
    return _run(Result(settings, deals, []), workers, progress, None if path is None else Path(path))


def resume(
    path: str | Path,
    *,
    deals: int | None = None,
    players: Mapping[str, Spec] | None = None,
    workers: int = 1,
    progress: bool = False,
) -> Result:
    """Go on with the tournament in a file that :func:`round_robin` has begun.

    Args:
        path: the file; it gets the further games.
        deals: how many deals each two players play in all, to play more; None for the number in the file.
        players: what the names stand for, where only a program can make them.
        workers: as in :func:`round_robin`.
        progress: as in :func:`round_robin`.

    Raises:
        ValueError: for a file that is no tournament, fewer deals than it has, or players that the file does not name.
        OSError: if it cannot be read or written.
    """
    found = load(path, players=players)
    settings = found.settings
    for name, spec in settings.players.items():
        if spec is None:
            raise ValueError(f"{path} does not say what {name} is: give players")
    if deals is not None and deals < found.deals:
        raise ValueError(f"{path} has {found.deals} deals, so deals cannot be {deals}")
    _check(settings.players, found.deals if deals is None else deals, settings.seed, workers)
    return _run(replace(found, deals=deals or found.deals), workers, progress, Path(path))


def play_match(game: str | Game, first: Spec, second: Spec, *, deals: int = 200, **options: object) -> Result:
    """Let two agents play mirrored deals; arguments and errors as in :func:`round_robin`.

    ``play_match(...).pairing(*names)`` has the score; the names are the result's ``players``.
    """
    return round_robin(game, [first, second], deals=deals, **options)  # type: ignore[arg-type]
