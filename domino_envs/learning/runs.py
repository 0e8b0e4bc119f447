"""What a training script needs around the learning: folders of runs, flags in errors, a command that repeats a run."""

from __future__ import annotations

import dataclasses
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = [
    "POINTS_SCALE",
    "about",
    "card_facts",
    "command_of",
    "default_of",
    "flag",
    "interrupt_calls",
    "new_folder",
    "run_folders",
]


def flag(name: str) -> str:
    """Return how a field of a script's arguments is written on the command line."""
    return f"--{name.replace('_', '-')}"


@contextmanager
def about(name: str) -> Iterator[None]:
    """Let a ``ValueError`` say which argument it is about."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{flag(name)}: {error}") from error


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a dataclass's field."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def command_of(
    script: str, args: Any, positional: str, *, defaults: Mapping[str, Any], without: Collection[str] = ()
) -> str:
    """Return the command line that gives a script these arguments, leaving out what is the default.

    Args:
        script: path of the script.
        args: a dataclass.
        positional: name of its positional field.
        defaults: values that stand for a field's default besides the dataclass's own.
        without: names of fields to leave out.
    """
    words = ["python", script, str(getattr(args, positional))]
    for field in dataclasses.fields(args):
        value, default = getattr(args, field.name), default_of(field)
        if field.name in (positional, *without) or value in (default, defaults.get(field.name, default)):
            continue
        if isinstance(value, Mapping):
            words += [flag(field.name), *(str(part) for pair in value.items() for part in pair)]
        elif isinstance(value, (list, tuple)):
            words += [flag(field.name), *map(str, value)]
        else:
            words += [flag(field.name)] if value is True else [flag(field.name), str(value)]
    return shlex.join(words)


POINTS_SCALE = 0.02  # Mate's points, about 60 a game, to rewards of about 1


def card_facts(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a policy's card says of the run that made it.

    Args:
        run: facts of the run as its checkpoint has them: ``arguments`` (with ``network`` and ``sizes``), ``command``,
            ``steps``, ``seconds``, ``history``, and ``continues``, the same of the run that it started from.
    """
    arguments = run["arguments"]
    return {
        "architecture": {"network": arguments["network"], "sizes": arguments["sizes"]},
        # What a value of 1 is worth: points where they were the reward, else a deal.
        "value_points": 1.0 / POINTS_SCALE if arguments["reward"] == "points" else 1.0,
        "training": {
            "command": run.get("command"),
            "arguments": arguments,
            "plies": run["steps"],
            "seconds": round(run["seconds"], 1),
            "history": run["history"],
            **({"continues": run["continues"]} if run.get("continues") else {}),
        },
        "created": time.strftime("%Y-%m-%d"),
    }


def run_folders(root: Path, name: str) -> list[Path]:
    """Return the folders of runs ``name``, ``name-2``, ``name-3`` ... that there are, oldest first."""
    found = {}
    for folder in root.glob(f"{name}*"):
        number = folder.name.removeprefix(name).removeprefix("-")
        if folder.name == name or (folder.name == f"{name}-{number}" and number.isdecimal()):
            found[int(number or 1)] = folder
    return [found[number] for number in sorted(found)]


def new_folder(root: Path, name: str) -> Path:
    """Return the folder for the next run: ``name``, or with the next number after it."""
    runs = run_folders(root, name)
    if not runs:
        return root / name
    return root / f"{name}-{int(runs[-1].name.removeprefix(name).removeprefix('-') or 1) + 1}"


@contextmanager
def interrupt_calls(stop: Callable[[], None], message: str) -> Iterator[None]:
    """Let the first Ctrl-C call ``stop`` and show ``message``; the second one interrupts as it always does."""
    if threading.current_thread() is not threading.main_thread():  # signals are for the main thread alone
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def interrupted(*_: Any) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        stop()
        print(f"\n{message}", file=sys.stderr, flush=True)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
