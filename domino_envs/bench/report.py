"""Results of the bench as tables and as JSON, with the machine that they come from."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

from .. import __version__
from ..games import get_game
from .child import usable_cores
from .plan import Measurement

__all__ = ["as_json", "describe_machine", "machine_text", "tables"]

_PACKAGES = ("numpy", "numba", "gymnasium", "pettingzoo", "torch", "stable_baselines3", "sb3_contrib", "chess",
             "open_spiel", "jax", "pgx")  # fmt: skip
_MIB = 2**20


def describe_machine() -> dict[str, Any]:
    """Return what the figures depend on: processor, cores, system, versions, and how busy the machine is (load)."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    versions = {"domino_envs": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "processor": name,
        "cores": len(usable_cores()),
        "system": platform.platform(terse=True),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "versions": versions,
    }


def machine_text(machine: dict[str, Any]) -> str:
    """Return the machine in two lines."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    load = "" if machine["load"] is None else f", load {machine['load']} at the start"
    return f"{machine['processor']}, {machine['cores']} cores, {machine['system']}{load}\n{versions}"


def _shown(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value / _MIB:,.0f} MiB"
    if unit == "seconds":
        return f"{value:.2f} s"
    return f"{value:,.0f}/s"


def _rows(measurement: Measurement, peers: dict[str, float]) -> list[tuple[str, str, str, str]]:
    """Return label, median, range and comparison of each value."""
    if measurement.error:
        return [(measurement.label, "-", "", measurement.error)]
    rows = []
    for name, values in measurement.values.items():
        label = measurement.label if name == "value" else f"{measurement.label}, {name}"
        middle, unit = median(values), measurement.unit
        spread = f"{_shown(min(values), unit)} to {_shown(max(values), unit)}" if len(values) > 1 else ""
        other = measurement.compared_with
        compared = f"{middle / peers[other]:.1f} x {other}" if other in peers else ""
        if name == "ours" and "free" in measurement.values:
            # In pairs: each iteration beside the one of the free environment that followed it.
            shares = [a / b for a, b in zip(values, measurement.values["free"], strict=True)]
            compared = f"{median(shares):.0%} of the free environment"
        rows.append((label, _shown(middle, unit), spread, compared))
    return rows


def tables(measurements: Sequence[Measurement]) -> str:
    """Return a table for the peers and one for each game: medians, ranges, and ratios to the peers of this run."""
    peers = {m.label: median(m.values["value"]) for m in measurements if m.game is None and m.values}
    blocks: dict[str, list[tuple[str, str, str, str]]] = {}
    for measurement in measurements:
        title = "Peers" if measurement.game is None else get_game(measurement.game).title
        blocks.setdefault(title, []).extend(_rows(measurement, peers))
    header = ("", "median", "lowest to highest", "compared")
    rows = [row for block in blocks.values() for row in block] + [header]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    lines = []
    for title, block in blocks.items():
        for label, middle, spread, compared in [(title, *header[1:]), *block]:
            cells = label.ljust(widths[0]), middle.rjust(widths[1]), spread.rjust(widths[2]), compared
            lines.append("  ".join(cells).rstrip())
        lines.append("")
    return "\n".join(lines).rstrip()


def as_json(machine: dict[str, Any], measurements: Sequence[Measurement]) -> dict[str, Any]:
    """Return everything, ready for JSON: every repeat of every measurement, and what was asked for."""
    return {
        "format": 1,
        "machine": machine,
        "measurements": [
            {
                "game": m.game,
                "label": m.label,
                "unit": m.unit,
                "request": m.request,
                "medians": {name: median(values) for name, values in m.values.items()},
                "values": m.values,
                "error": m.error,
            }
            for m in measurements
        ],
    }
