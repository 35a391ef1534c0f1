"""Inertial parameters as an argument of a quantity: `inertias=`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import ModelError, NumberError
from sixfold.evaluate.arrays import Argument, checked
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.evaluate.quantities import Quantity


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
