"""From arrays to numbers and back: shapes and dtypes are checked here, at the edge, once.

A core is a function of flat lists of numbers.  Run on NumPy arrays, each number of a list holds the
whole batch; run on object arrays (SymPy, MPFR), the core is called once for each state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sixfold.errors import NumberError, ShapeError
from sixfold.model import Model
from sixfold.scalar import Scalar, plain, sin
from sixfold.scalar.zero import Zero

Array = NDArray[Any]
Shape = tuple[int, ...]
Core = Callable[..., Sequence[Scalar]]


@dataclass(frozen=True)
class Argument:
    """One array argument: its value, the shape of one state and what that shape is called."""

    value: ArrayLike
    shape: Shape
    meaning: str


def evaluate(function: str, core: Core, arguments: Mapping[str, Argument], shape: Shape) -> Array:
    """Run a core over the leading axes of its arguments and return an array of results.

    Args:
        function: name for error messages.
        core: takes one flat list of numbers for each argument, returns prod(shape) numbers.
        arguments: what was passed, by name.
        shape: shape of the result for one state.
    """
    arrays = {name: checked(function, name, given) for name, given in arguments.items()}
    lead = leading_shape(function, arguments, arrays)
    dtype = np.result_type(*arrays.values()) if arrays else np.dtype(float)
    if dtype.kind == "O":
        return _one_by_one(core, arguments, arrays, lead, shape)
    values = [_columns(array, arguments[name].shape) for name, array in arrays.items()]
    with np.errstate(all="ignore"):
        return joined(core(*values), lead, shape, dtype)


def joined(values: Sequence[Scalar], lead: Shape, shape: Shape, dtype: Any) -> Array:
    """Return an array from numbers that each hold a batch."""
    out = np.empty((*lead, prod(shape)), dtype)
    for k, value in enumerate(values):
        out[..., k] = plain(value)
    return out.reshape((*lead, *shape))


def checked(function: str, name: str, given: Argument) -> Array:
    """Return the argument as a native float or object array, or say what is wrong with it."""
    where = f"{function}: argument '{name}' does not hold real numbers"
    try:
        array = np.asarray(given.value)
    except (ValueError, TypeError) as error:
        fix = "pass a rectangular array"
        raise ShapeError(function, name, _expected(given), f"ragged data ({error})", fix) from None
    kind = array.dtype.kind
    if kind in "iu" or (kind == "f" and array.dtype.itemsize < 4):
        array = array.astype(np.float64)
    elif kind == "f":
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    elif kind == "O":
        _check_objects(where, array)
    else:
        fix = "convert it, for example with numpy.asarray(x, float)"
        raise NumberError(where, "float or integer array", f"dtype {array.dtype}", fix)
    n = len(given.shape)
    if array.ndim < n or array.shape[array.ndim - n :] != given.shape:
        raise ShapeError(function, name, _expected(given), array.shape, _shape_hint(given, array))
    return array


def leading_shape(
    function: str, arguments: Mapping[str, Argument], arrays: Mapping[str, Array]
) -> Shape:
    """Return the common leading shape of all arguments."""
    leads = {
        name: array.shape[: array.ndim - len(arguments[name].shape)]
        for name, array in arrays.items()
    }
    try:
        return np.broadcast_shapes(*leads.values())
    except ValueError:
        shown = ", ".join(f"{name} {arrays[name].shape}" for name in arrays)
        raise ShapeError(
            function,
            "/".join(arrays),
            "leading axes that broadcast against each other",
            shown,
            "give all arguments the same number of states, or one state",
        ) from None


def model_checked(function: str, model: Any) -> Model:
    """Return the model, or say that the first argument is something else."""
    if not isinstance(model, Model):
        raise NumberError(
            f"{function}: the first argument must be a Model",
            "a sixfold.Model",
            type(model).__name__,
            "load one with sixfold.load(...), and pass it first",
        )
    return model


def _columns(array: Array, shape: Shape) -> list[Any]:
    """Return one number for each element of a state; each holds the batch."""
    lead = array.shape[: array.ndim - len(shape)]
    flat = array.reshape((*lead, prod(shape)))
    return [flat[..., k] for k in range(prod(shape))]


def _one_by_one(
    core: Core,
    arguments: Mapping[str, Argument],
    arrays: Mapping[str, Array],
    lead: Shape,
    shape: Shape,
) -> Array:
    wide = [
        np.broadcast_to(array, (*lead, *arguments[name].shape)) for name, array in arrays.items()
    ]
    out = np.empty((*lead, prod(shape)), object)
    for index in np.ndindex(*lead):
        values = core(*(list(array[index].reshape(-1)) for array in wide))
        for k, value in enumerate(values):
            out[(*index, k)] = plain(value)
    return out.reshape((*lead, *shape))


def _check_objects(where: str, array: Array) -> None:
    for x in array.flat[:1] if array.size else ():
        if isinstance(x, (str, bytes, complex, np.complexfloating, bool)) or x is None:
            raise NumberError(where, "numbers", f"{type(x).__name__} objects", "convert them")
    for x in array.flat:
        if not isinstance(x, (int, float, Zero)):
            try:
                sin(x)
            except NumberError:
                raise NumberError(
                    where, "numbers", f"{type(x).__name__} objects", "convert them to floats"
                ) from None
            except Exception as error:  # a number's own complaint, for example a domain error
                raise NumberError(where, "numbers", f"{x!r} ({error})", "mend the value") from None


def _expected(given: Argument) -> str:
    sizes = ", ".join(map(str, given.shape))
    return f"(..., {sizes}) = {given.meaning}" if given.shape else "(...)"


def _shape_hint(given: Argument, array: Array) -> str:
    if array.ndim and given.shape and len(given.shape) == 1 and array.shape[0] == given.shape[0]:
        return "states go along the leading axes: transpose the array"
    return f"the last axes must be {given.meaning}"
