"""A progress bar on standard error: tqdm's if it is installed, else a plain line."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import Any

__all__ = ["Progress"]

_SECONDS_BETWEEN_LINES = 0.5


class Progress:
    """Counts up to a total; a context manager. Shows nothing unless wanted and standard error is a terminal.

    Args:
        total: what it counts up to.
        done: what is done already.
        unit: what is counted, in the plural.
        show: whether it is wanted.
    """

    def __init__(self, total: int, *, done: int = 0, unit: str = "games", show: bool = True) -> None:
        self.total = total
        self.done = done
        self.unit = unit
        self._show = show and sys.stderr.isatty()
        self._start = monotonic()
        self._at_start = done
        self._last_line = -float("inf")
        self._bar: Any = None
        if self._show:
            try:
                from tqdm.auto import tqdm
            except ModuleNotFoundError:
                return
            self._bar = tqdm(total=total, initial=done, unit=f" {unit}", smoothing=0.05)

    def advance(self, count: int) -> None:
        """Count on."""
        self.done += count
        if self._bar is not None:
            self._bar.update(count)
        elif self._show:
            self._write(final=False)

    def _write(self, final: bool) -> None:
        now = monotonic()
        if final or now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            rate = (self.done - self._at_start) / max(now - self._start, 1e-9)
            left = f", {(self.total - self.done) / rate:.0f} s left" if rate > 0 else ""
            print(
                f"\r{self.done} of {self.total} {self.unit}, {rate:.1f}/s{left}   ", end="", file=sys.stderr, flush=True
            )

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._show:
            self._write(final=True)
            print(file=sys.stderr)
