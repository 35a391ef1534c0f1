"""Progress of a simulation: a bar or a callback."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sixfold.errors import ArgumentError
from sixfold.progress import bar

Progress = Callable[[float, float], object]
"""Called with the time reached and the time to reach [s]."""


def progress_of(given: Any) -> Progress | None:
    """Return the callback: a bar for True (on a terminal), a function as given."""
    if given is None or given is False:
        return None
    if given is True:
        return bar("simulate")
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
