"""The list of what is measured, and its execution one after the other."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..games import get_game
from .child import run_child, usable_cores
from .peers import PEERS

__all__ = ["Measurement", "make_plan", "run_plan"]

LANES = (1, 64, 1024, 16384)
MEMORY_LANES = 16384
SB3_LANES = 256


@dataclass
class Measurement:
    """What one process measures.

    Attributes:
        label: how tables call it.
        unit: ``"per second"`` (decisions), ``"seconds"`` or ``"bytes"``.
        request: what :func:`~domino_envs.bench.child.run_child` is asked.
        compared_with: label of the peer's measurement that the median is compared with.
        needs: module without which it cannot be done.
        values: results by name.
        error: why there are none.
    """

    label: str
    unit: str
    request: dict[str, Any]
    compared_with: str | None = None
    needs: str | None = None
    values: dict[str, list[float]] = field(default_factory=dict)
    error: str | None = None

    @property
    def game(self) -> str | None:
        """The game that it belongs to, None for a peer."""
        return self.request.get("game")


def _cores_text(cores: int) -> str:
    return "1 core" if cores == 1 else f"{cores} cores"


def _plan_peers(cores: int) -> list[Measurement]:
    found = []
    for peer, (module, _, _) in PEERS.items():
        # Only Pgx uses more than one thread.
        for count in sorted({1, cores}) if module == "pgx" else (1,):
            request = {"what": "peer", "peer": peer, "cores": count}
            found.append(Measurement(f"{peer}, {_cores_text(count)}", "per second", request, needs=module))
    return found


#: A plain network over more actions than this learns some hundred plies a second: that would measure it, not the games.
PPO_ACTIONS = 1000


def _plan_game(game: str, cores: int, quick: bool) -> list[Measurement]:
    def one(label: str, unit: str, what: str, *, compared_with: str | None = None, **more: Any) -> Measurement:
        needs = "sb3_contrib" if what in ("sb3", "ppo") else None
        return Measurement(label, unit, {"what": what, "game": game, "cores": 1, **more}, compared_with, needs)

    found = [one("single environment", "per second", "single", compared_with="PettingZoo connect_four_v3, 1 core")]
    for count in sorted({1, cores}):
        for lanes in (64, 1024) if quick else LANES:
            where = _cores_text(count)
            compared_with = f"Pgx connect_four, {where}"
            label = f"batch of {lanes}, {where}"
            found.append(one(label, "per second", "batch", cores=count, lanes=lanes, compared_with=compared_with))
    found.append(one(f"SB3 environment of {SB3_LANES}", "per second", "sb3", lanes=SB3_LANES))
    if not quick:
        if get_game(game).num_actions <= PPO_ACTIONS:
            found.append(one("MaskablePPO", "per second", "ppo"))
        found.append(one("first step", "seconds", "startup"))
    found.append(one(f"memory of {MEMORY_LANES} games", "bytes", "memory", lanes=MEMORY_LANES))
    return found


def make_plan(games: Sequence[str], *, peers: bool, seconds: float, quick: bool) -> list[Measurement]:
    """Return what is to be measured, in order.

    Args:
        games: names of ours.
        peers: whether to measure other projects' environments too.
        seconds: for each measurement of a speed.
        quick: fewer repeats, two sizes of batch, no training, no first compilation.
    """
    cores = len(usable_cores())
    found = _plan_peers(cores) if peers else []
    for game in games:
        found += _plan_game(game, cores, quick)
    for measurement in found:
        measurement.request |= {"seconds": seconds, "repeats": 3 if quick else 7}
    return found


def run_plan(measurements: Sequence[Measurement], progress: Callable[[str], None]) -> None:
    """Measure one after the other, saying what; what cannot be measured keeps the reason."""
    for number, measurement in enumerate(measurements, 1):
        progress(f"[{number}/{len(measurements)}] {measurement.game or 'peer'}: {measurement.label}")
        if measurement.needs is not None and importlib.util.find_spec(measurement.needs) is None:
            measurement.error = f"not measured: {measurement.needs} is not installed"
            continue
        try:
            measurement.values = run_child(measurement.request)
        except RuntimeError as error:
            measurement.error = f"not measured: {error}"
