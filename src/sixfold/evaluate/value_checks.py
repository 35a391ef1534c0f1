"""Checks of values: quaternions of length zero, and masses of `inertias=`.

The check of quaternions reads one number of each state: only where the w of a quaternion is zero,
which half turns and mistakes have, does it look at the other three.  A kernel's plain call reads
that number itself and gives up where it is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import ModelError, NumberError, StateError
from sixfold.evaluate.arrays import Argument, checked
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.evaluate.quantity import Quantity

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


# -- inertial parameters


def checked_inertias(row: Quantity, given: Argument) -> Argument:
    """Return inertial parameters as an array, or say what is wrong with their masses."""
    array = checked(row.name, "inertias", given)
    _refuse_masses(row, array[..., 0])
    return replace(given, value=array)


def with_checked_masses(call: Callable[..., Any], row: Quantity, place: int) -> Callable[..., Any]:
    """Return a prepared call that looks at the masses of its argument at a place."""

    def checked_call(*arrays: Any) -> Any:
        if type(arrays[place]) is np.ndarray and arrays[place].dtype.kind == "f":
            result = call(*arrays)
            if result is not None:
                _refuse_masses(row, arrays[place][..., 0])
            return result
        return None

    return checked_call


def refuse_masses_below_zero(function: str, masses: Array) -> None:
    """Refuse inertial parameters with a negative mass."""
    numbers = masses if masses.dtype.kind == "f" else np.array([_number(x) for x in masses.flat])
    if (numbers < 0).any():
        raise NumberError(
            f"{function}: argument 'inertias' has a mass",
            "masses >= 0",
            float(numbers.min()),
            "fix the first of the ten numbers",
        )


def refuse_massless(function: str, model: Model) -> None:
    """Refuse a model that has no centre of mass."""
    if sum(float(body.inertia.m) for body in model.bodies) == 0:
        raise ModelError(
            f"{function}: model '{model.name}'",
            "has no mass, so no centre of mass",
            "give a body some mass",
        )


def _refuse_masses(row: Quantity, masses: Array) -> None:
    """Refuse masses, shape (..., nb), that are negative, or all zero where that has no result."""
    refuse_masses_below_zero(row.name, masses)
    if row.needs_mass and masses.dtype.kind == "f" and (masses.sum(axis=-1) == 0).any():
        raise NumberError(
            f"{row.name}: argument 'inertias'",
            "a positive mass in each set of bodies",
            "one in which all masses are zero, so no centre of mass",
            "fix the first of the ten numbers",
        )


def _number(x: Any) -> float:
    """Return a number's value; zero for a symbol, whose sign is not known."""
    try:
        return float(x)
    except Exception:
        return 0.0
