"""Progress of a simulation: a bar or a callback."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable
from typing import Any

from sixfold.errors import ArgumentError

Progress = Callable[[float, float], object]
"""Called with the time reached and the time to reach [s]."""


def progress_of(given: Any) -> Progress | None:
    """Return the callback: a bar for True (on a terminal), a function as given."""
    if given is None or given is False:
        return None
    if given is True:
        return Bar() if sys.stderr.isatty() else None
    if not callable(given):
        raise ArgumentError(
            "simulate: argument 'progress'",
            "True, or a function of (time reached, time to reach)",
            given,
            "pass progress=True for a bar",
        )
    if not _takes_two(given):
        raise ArgumentError(
            "simulate: argument 'progress'",
            "a function of (time reached, time to reach)",
            given,
            "write def progress(reached, end): ...",
        )
    return given


def _takes_two(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind(0.0, 1.0)
    except TypeError:
        return False
    except ValueError:  # a built-in without a signature
        return True
    return True


class Bar:
    """A bar on the terminal, drawn at most ten times a second."""

    WIDTH = 32

    def __init__(self, stream: Any = None) -> None:
        """Draw on the standard error stream, or on another one."""
        self._stream = sys.stderr if stream is None else stream
        self._drawn = 0.0

    def __call__(self, reached: float, end: float) -> None:
        """Draw; go to a new line at the end."""
        now = time.monotonic()
        if reached < end and now - self._drawn < 0.1:
            return
        self._drawn = now
        share = min(1.0, reached / end) if end > 0 else 1.0
        full = round(self.WIDTH * share)
        bar = "#" * full + "-" * (self.WIDTH - full)
        tail = "\n" if reached >= end else ""
        self._stream.write(f"\r[{bar}] {100 * share:3.0f} %  {reached:.3f} of {end:g} s{tail}")
        self._stream.flush()
