"""Quaternions among the coordinates: one of length zero is no rotation, and is refused by name.

The check reads one number of each state: only where the w of a quaternion is zero, which half turns
and mistakes have, does it look at the other three.  A kernel's plain call reads that number itself
and gives up where it is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sixfold.errors import StateError
from sixfold.evaluate.arrays import Array
from sixfold.model import Model

CONFIGURATIONS = ("q", "q0", "q1")
"""Names of the arguments that hold configurations."""


def last_numbers(model: Model) -> tuple[int, ...]:
    """Return where in q the w of each quaternion lies."""
    return tuple(part.stop - 1 for _, part in model.coordinates.quaternions)


def nonzero_numbers(model: Model, names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return which numbers of which arguments are a w, for a kernel's plain call to look at."""
    ws = last_numbers(model)
    return tuple((k, w) for k, name in enumerate(names) if name in CONFIGURATIONS for w in ws)


def some_zero(q: Array, places: Sequence[int]) -> bool:
    """Return whether any state of q, shape (..., nq), has a zero at one of the places."""
    for place in places:
        column = q[..., place]
        if np.count_nonzero(column) != column.size:
            return True
    return False


def refuse_zero(function: str, model: Model, arrays: Mapping[str, Array]) -> None:
    """Raise StateError if a configuration among the arrays has a quaternion of length zero."""
    for name in CONFIGURATIONS:
        for joint, part in model.coordinates.quaternions if name in arrays else ():
            zero = ~np.asarray(arrays[name][..., part].any(axis=-1))
            if zero.any():
                state = [int(k) for k in np.argwhere(zero)[0]]
                at = f" at {state}" if state else ""
                raise StateError(
                    f"{function}: argument '{name}'{at}, joint '{joint}'",
                    "a quaternion (x, y, z, w) that is not zero",
                    "(0, 0, 0, 0), which is no rotation",
                    "start from sixfold.neutral(model), whose quaternions are (0, 0, 0, 1)",
                )


def checked_ufunc(
    ufunc: Callable[..., Any], function: str, model: Model, arrays: Mapping[str, Array]
) -> Callable[..., Any]:
    """Return a gufunc that looks for quaternions of length zero in the rows it is given.

    A part of a big batch is looked at by the thread that works it out, just before it does: its
    rows are then read from memory once.

    Args:
        ufunc: takes the arrays in their order, and `out`.
        function: name for messages.
        model: the robot.
        arrays: all rows, by name.
    """
    ws = last_numbers(model)
    places = [k for k, name in enumerate(arrays) if name in CONFIGURATIONS]
    if not ws or not places:
        return ufunc

    def call(*pieces: Array, out: Array) -> None:
        if any(some_zero(pieces[k], ws) for k in places):
            refuse_zero(function, model, arrays)
        ufunc(*pieces, out=out)

    return call


def checked_core(
    core: Callable[..., Sequence[Any]], function: str, model: Model, names: Sequence[str]
) -> Callable[..., Sequence[Any]]:
    """Return a core on lists of numbers, each of which may hold a batch, with the same check."""
    places = [(k, name) for k, name in enumerate(names) if name in CONFIGURATIONS]
    if not model.coordinates.quaternions or not places:
        return core

    def call(*lists: Sequence[Any]) -> Sequence[Any]:
        for k, name in places:
            nonzero = np.broadcast_arrays(*map(_nonzero, lists[k]))
            refuse_zero(function, model, {name: np.stack(nonzero, -1)})
        return core(*lists)

    return call


def _nonzero(x: Any) -> Array:
    """Return where a number, which may hold a batch, is not known to be zero."""
    if isinstance(x, np.ndarray):
        return np.asarray(x != 0)
    try:
        zero = x == 0
    except TypeError:  # a number that is being traced
        zero = False
    return np.asarray(not (isinstance(zero, (bool, np.bool_)) and zero))
