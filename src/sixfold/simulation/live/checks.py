"""Sizes and bounds of what a stepper takes, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import NotApplicableError, NumberError, OptionError
from sixfold.evaluate import Argument, checked, enough_memory, numbers_array
from sixfold.model import Model
from sixfold.scalar import if_positive
from sixfold.simulation.checks.options import refuse_idle

MAX_ROWS = 1 << 28
"""More rows than any memory holds."""
MAX_ACTIONS = 10_000
"""Numbers of an action, each of them a symbol."""


def floats(
    caller: str, name: str, value: Any, n: int, dtype: Any, labels: Sequence[str] | None = None
) -> Array:
    """Return numbers (..., n) as an array of a dtype in C order, or say what is wrong."""
    meaning = "one number for each of an action"
    array = checked(caller, name, Argument(value, (n,), meaning, labels=(labels,)))
    try:
        with enough_memory(caller, f"argument '{name}'"):
            return np.ascontiguousarray(array, dtype)
    except (TypeError, ValueError):
        where = f"{caller}: argument '{name}' does not hold plain numbers"
        raise NumberError(where, "floats", f"dtype {array.dtype}", "give numbers") from None


def are_plain(model: Model, chosen: Any, q: Any, v: Any) -> bool:
    """Return whether states need no check: finite arrays, one for each of some rows by number."""
    if model.constraints or model.coordinates.quaternions or not isinstance(chosen, np.ndarray):
        return False
    if chosen.dtype == bool or type(q) is not np.ndarray or type(v) is not np.ndarray:
        return False
    shapes = (len(chosen), model.nq), (len(chosen), model.nv)
    if (q.shape, v.shape) != shapes or q.dtype != np.float64 or v.dtype != np.float64:
        return False
    return bool(np.isfinite(q).all() and np.isfinite(v).all())


def chosen_rows(rows: Any, count: int, several: bool) -> Any:
    """Return an index of rows, or say what is wrong with it.

    Args:
        rows: a mask, numbers, or None for all rows.
        count: how many rows there are.
        several: whether arrays have an axis of rows.
    """
    if rows is None:
        return slice(None)
    if not several:
        raise NotApplicableError("Stepper: option 'rows'", "one row", "leave it out")
    index = np.asarray(rows)
    mask = index.dtype == bool and index.shape == (count,)
    whole = np.issubdtype(index.dtype, np.integer) and index.ndim == 1
    if not mask and not whole:
        words = f"a mask of shape {(count,)}, or numbers of rows"
        raise OptionError("Stepper", "rows", words, rows)
    if whole and index.size and not (-count <= index.min() and index.max() < count):
        raise OptionError("Stepper", "rows", f"numbers from 0 to {count - 1}", rows)
    return index


def object_array(numbers: Sequence[Any]) -> Any:
    """Return traced numbers as an array that may be carried by `repeat`."""
    found = np.empty(len(numbers), object)
    found[:] = numbers
    return found


def clipped(action: Any, bounds: Sequence[tuple[float, float]]) -> Any:
    """Return an action within its bounds."""
    if not bounds:
        return action
    inside = []
    for x, (low, high) in zip(action, bounds, strict=True):
        above = if_positive(x - low, x, low)
        inside.append(if_positive(above - high, high, above))
    return numbers_array(inside)


def bounds_of(bounds: Any, actions: int) -> tuple[tuple[float, float], ...]:
    """Return (low, high) for each number of an action; none if they are not bounded."""
    if bounds is None:
        return ()
    words = f"(low, high), numbers or arrays ({actions},), with low < high"
    try:
        low, high = (np.broadcast_to(np.asarray(x, float), (actions,)) for x in bounds)
    except (TypeError, ValueError):
        raise OptionError("Stepper", "bounds", words, bounds) from None
    if not (low < high).all():
        raise OptionError("Stepper", "bounds", words, bounds)
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def row_count(rows: Any) -> int:
    """Return how many rows a stepper has."""
    if rows is None:
        return 1
    whole = isinstance(rows, (int, np.integer)) and not isinstance(rows, bool)
    if not whole or not 1 <= rows <= MAX_ROWS:
        raise OptionError("Stepper", "rows", f"a whole number from 1 to {MAX_ROWS}, or None", rows)
    return int(rows)


def action_size(model: Model, control: Any, actions: Any) -> int:
    """Return how many numbers an action has."""
    if control is None:
        refuse_idle(
            "Stepper",
            "actions",
            actions is not None and actions != model.nv,
            "a stepper without a controller, whose action is the joint forces",
            "leave it out, or pass control=...",
        )
        return model.nv
    whole = isinstance(actions, (int, np.integer)) and not isinstance(actions, bool)
    if not whole or not 1 <= actions <= MAX_ACTIONS:
        words = f"how many numbers an action has, from 1 to {MAX_ACTIONS}"
        raise OptionError("Stepper", "actions", words, actions)
    return int(actions)
