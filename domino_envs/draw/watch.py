"""``domino-envs watch``: see two agents play, or a recorded game, in the terminal, in a window or as a file."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..aec import DominoEnv
from ..agents import make_agent
from ..games import SEATS, Game, game_names, get_game
from .animation import FORMATS, check_format, save_animation
from .replay import Frame, frames_of_record, frames_to_svg, position_after
from .theme import THEMES

__all__ = ["add_arguments", "play_frames", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``domino-envs watch``."""
    parser.add_argument("game", metavar="GAME", help=f"{', '.join(game_names())}, or a file with recorded games")
    parser.add_argument("agents", metavar="AGENT", nargs="*", help="two players, as 'domino-envs agents' lists them")
    parser.add_argument("--seed", type=int, help="decides the deal and the agents' choices")
    parser.add_argument("--episode", help="how much to play: deal, match ... (default: deal)")
    parser.add_argument("--mode", choices=["sample", "best"], default="sample", help="of the agents")
    parser.add_argument("--number", type=int, default=1, help="which game of a file with several (from 1)")
    parser.add_argument("--delay", type=float, help="seconds for each move (default: 0.8 to see, else 0)")
    parser.add_argument("--save", metavar="FILE", help=f"write an animation: {', '.join(FORMATS)}")
    parser.add_argument("--window", action="store_true", help="show it in a window")
    parser.add_argument("--seat", choices=SEATS, help="show what this player sees (default: everything)")
    parser.add_argument("--theme", choices=list(THEMES), default="light")
    parser.add_argument("--scale", type=float, default=1.0, help="size of a GIF or of the window (default: 1)")


def play_frames(
    game: Game, agents: list[str], *, episode: str, seed: int | None = None, mode: str = "sample"
) -> Iterator[Frame]:
    """Let two agents, given by name, play an episode, and yield its positions as they come.

    Raises:
        ValueError: for an unknown agent, episode or mode, a wrong seed, or an agent's illegal move.
    """
    env = DominoEnv(game, episode=episode)
    players = [
        make_agent(name, game, seed=None if seed is None else 2 * seed + i, mode=mode) for i, name in enumerate(agents)
    ]
    env.reset(seed)
    yield Frame(env.position, None, None, 0)
    deal, number = -1, 0
    while not env.terminations[SEATS[0]]:
        position = env.position
        if position["deal"][0] != deal:
            if number:
                yield Frame(position, None, None, number)
            deal = int(position["deal"][0])
            for player in players:
                player.start_deal()
        seat = int(position["mover"][0])
        seen = env.observe(SEATS[seat])
        action = players[seat].act_one(
            seen["observation"], seen["action_mask"], position if players[seat].needs_states else None
        )
        env.step(action)
        number += 1
        yield Frame(position_after(game, position, action), env.infos[SEATS[0]]["move"], seat, number)


def _read_record(path: Path, number: int) -> Any:
    """Return a recorded game: a JSON file of one, or one of a tournament's lines."""
    lines = path.read_text(encoding="utf-8").strip()
    try:
        records = [json.loads(lines)]
    except json.JSONDecodeError:
        try:
            records = [json.loads(line) for line in lines.splitlines()][1:]
        except json.JSONDecodeError as error:
            raise ValueError(f"{path} holds no recorded game: {error}") from error
    if not 1 <= number <= len(records):
        raise ValueError(f"--number must be from 1 to {len(records)}, got {number}")
    record = records[number - 1]
    return record.get("record", record) if isinstance(record, dict) else record  # one of `domino-envs play` has more


def _names(agents: list[str]) -> tuple[str, str]:
    first, second = agents
    return (f"{first} (0)", f"{second} (1)") if first == second else (first, second)


def run(args: argparse.Namespace) -> int:
    """Show the game."""
    if args.delay is not None and not args.delay >= 0:
        raise ValueError(f"--delay must not be negative, got {args.delay}")
    if args.save:
        check_format(args.save)
    frames: Iterator[Frame]
    if args.game in game_names():
        if len(args.agents) != 2:
            raise ValueError(
                f"two agents are needed, got {len(args.agents)}: domino-envs watch {args.game} random greedy"
            )
        game, names = get_game(args.game), _names(args.agents)
        episode = args.episode or ("deal" if "deal" in game.episodes else next(iter(game.episodes)))
        frames = play_frames(game, args.agents, episode=episode, seed=args.seed, mode=args.mode)
    elif Path(args.game).suffix in (".json", ".jsonl") or Path(args.game).is_file():
        if args.agents:
            raise ValueError(f"{args.game} is a file of recorded games, so no agents can be given")
        record = _read_record(Path(args.game), args.number)
        game, recorded = frames_of_record(record)
        frames, names = iter(recorded), tuple(record["players"])
    else:
        raise ValueError(f"unknown game {args.game!r}, expected one of {', '.join(game_names())}, or a file")
    seat = SEATS.index(args.seat) if args.seat else None
    if args.save:
        _save(args, game, frames, seat, names)
    elif args.window:
        _show_window(args, game, frames, seat, names)
    else:
        _show_text(args, game, frames, seat, names)
    return 0


def _caption(frame: Frame, names: tuple[str, str]) -> str:
    if frame.move is None or frame.seat is None:
        return ""
    return f"{names[frame.seat]}: {frame.move}"


def _show_text(
    args: argparse.Namespace, game: Game, frames: Iterator[Frame], seat: int | None, names: tuple[str, str]
) -> None:
    """Print the positions; in a terminal each takes the place of the last."""
    terminal = sys.stdout.isatty()
    delay = (0.8 if terminal else 0.0) if args.delay is None else args.delay
    print(f"{game.title}: {names[0]} (player_0) against {names[1]} (player_1)")
    for frame in frames:
        if terminal:
            print("\x1b[2J\x1b[H", end="")
        heading = _caption(frame, names)
        print(f"\nMove {frame.number}, {heading}" if heading else "")
        print(game.text(frame.states[0], seat), flush=True)
        time.sleep(delay)


def _show_window(
    args: argparse.Namespace, game: Game, frames: Iterator[Frame], seat: int | None, names: tuple[str, str]
) -> None:
    """Show the positions in a window, the last one for some seconds."""
    from .drawing import draw_svg
    from .raster import rgb_array
    from .window import Window

    delay = 0.8 if args.delay is None else args.delay
    window = Window()
    for frame in frames:
        svg = draw_svg(game, frame.states, seat=seat, names=names, theme=args.theme, last=frame.move)
        window.show(rgb_array(svg, args.scale), game.title, 1 / max(delay, 0.01))
        print(_caption(frame, names), flush=True)
    time.sleep(4 * delay)
    window.close()


def _save(
    args: argparse.Namespace, game: Game, frames: Iterator[Frame], seat: int | None, names: tuple[str, str]
) -> None:
    """Write the animation, telling on the way what is played."""
    kept = []
    for frame in frames:
        kept.append(frame)
        if sys.stderr.isatty():
            print(f"\rmove {frame.number}", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    pictures = frames_to_svg(game, kept, seat=seat, names=names, theme=args.theme)
    captions = [_caption(frame, names) for frame in kept]
    title = f"{game.title}: {names[0]} against {names[1]}"
    delay = 0.8 if args.delay is None else max(args.delay, 0.01)
    save_animation(args.save, pictures, captions, delay=delay, title=title, scale=args.scale)
    print(f"{args.save}: {len(pictures)} pictures")
