"""One measurement in a process of its own: ``python -m domino_envs.bench.child REQUEST`` prints its results as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

__all__ = ["measure", "run_child", "usable_cores"]

_THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def usable_cores() -> list[int]:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def run_child(request: dict[str, Any]) -> dict[str, list[float]]:
    """Measure in a fresh process.

    Args:
        request: ``what`` is measured (``single``, ``batch``, ``sb3``, ``memory``, ``startup``, ``ppo``, ``peer``), on
            how many ``cores``, and what :func:`measure` needs besides.

    Returns:
        Values by name.

    Raises:
        RuntimeError: if the process fails; the message is the last line that it wrote.
    """
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment |= dict.fromkeys(_THREAD_SETTINGS, str(request["cores"]))
    done = subprocess.run(
        [sys.executable, "-m", __name__, json.dumps(request)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1])
    found: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(request: dict[str, Any]) -> dict[str, list[float]]:
    """Measure in this process; see :func:`run_child`."""
    from . import ours

    what = request["what"]
    if what == "startup":
        from .startup import startup_seconds

        return startup_seconds(request["game"], request["repeats"])
    if what == "ppo":
        from .ppo import measure_ppo

        return measure_ppo(request["game"], request["repeats"])
    if what == "memory":
        return {"value": [ours.batch_memory(request["game"], request["lanes"])]}
    timing = request["seconds"], request["repeats"]
    if what == "peer":
        from .peers import peer_rates

        return {"value": peer_rates(request["peer"], *timing)}
    if what == "single":
        return {"value": ours.single_rates(request["game"], *timing)}
    if what == "sb3":
        return {"value": ours.sb3_rates(request["game"], request["lanes"], *timing)}
    if what == "batch":
        return {"value": ours.batch_rates(request["game"], request["lanes"], request["cores"], *timing)}
    raise ValueError(f"nothing is called {what!r} here")


def _main() -> None:
    request = json.loads(sys.argv[1])
    if request["cores"] == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, usable_cores()[-1:])
    print(json.dumps(measure(request)))


if __name__ == "__main__":
    _main()
