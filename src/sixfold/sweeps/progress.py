"""How far a sweep is, and how long it will still take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from sixfold.errors import ArgumentError

Progress = Callable[[int, int], object]
"""Called with the rows done and the rows in all."""


def progress_of(given: Any, known: int) -> Progress | None:
    """Return the callback: a bar for True (on a terminal), a function as given."""
    if given is None or given is False:
        return None
    if given is True:
        return Bar(known) if sys.stderr.isatty() else None
    if not callable(given):
        expected = "True, or a function of (rows done, rows in all)"
        fix = "pass progress=True for a bar"
        raise ArgumentError("sweep: argument 'progress'", expected, given, fix)
    found: Progress = given
    return found


class Bar:
    """A bar on the terminal, drawn at most ten times a second."""

    WIDTH = 32

    def __init__(self, known: int = 0, stream: Any = None, clock: Any = time.monotonic) -> None:
        """Take how many rows were there before; draw on the standard error stream by default."""
        self._known, self._clock = known, clock
        self._stream = sys.stderr if stream is None else stream
        self._begun, self._drawn = clock(), float("-inf")

    def __call__(self, done: int, rows: int) -> None:
        """Draw; go to a new line at the end."""
        now = self._clock()
        if done < rows and now - self._drawn < 0.1:
            return
        self._drawn = now
        full = self.WIDTH * done // rows
        bar = "#" * full + "-" * (self.WIDTH - full)
        fresh = done - self._known
        spent = now - self._begun
        if done >= rows:
            tail = f"{_duration(spent)} in all\n"
        else:
            tail = f"{_duration(spent * (rows - done) / fresh)} left" if fresh > 0 else ""
        self._stream.write(f"\r[{bar}] {100 * done // rows:3d} %  {tail:<16}")
        self._stream.flush()


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
