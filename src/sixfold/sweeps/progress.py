"""How far a sweep is, and how long it will still take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sixfold.errors import ArgumentError
from sixfold.progress import bar

Progress = Callable[[int, int], object]
"""Called with the rows done and the rows in all."""


def progress_of(given: Any, known: int) -> Progress | None:
    """Return the callback: a bar for True (on a terminal), a function as given."""
    if given is None or given is False:
        return None
    if given is True:
        return bar("sweep", known=known)
    if not callable(given):
        expected = "True, or a function of (rows done, rows in all)"
        fix = "pass progress=True for a bar"
        raise ArgumentError("sweep: argument 'progress'", expected, given, fix)
    found: Progress = given
    return found
