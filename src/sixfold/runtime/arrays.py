"""From arrays to numbers and back: shapes and dtypes are checked here, at the edge, once.

A core is a function of flat lists of numbers.  Run on NumPy arrays, each number of a list holds the
whole batch; run on object arrays (SymPy, MPFR), the core is called once for each state.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from numbers import Complex, Real
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array as Array
from sixfold.arrays import Shape as Shape
from sixfold.errors import (
    ModelError,
    NumberError,
    ShapeError,
    SixfoldError,
    StateError,
    TooLargeError,
    brief,
    kind_of,
    quote,
)
from sixfold.model import Model
from sixfold.runtime.array_libraries import Names, as_array, in_order
from sixfold.scalar import Scalar, Zero, is_plain, plain, sin

Core = Callable[..., Sequence[Scalar]]
Results = tuple[Array, ...]
Native = Callable[[Mapping[str, Array], Shape, Results | None], Results | None]
_PLAIN = (int, float, np.integer, np.floating, Zero)
FEWER_STATES = "pass fewer states at a time, for example 100,000"
_REFUSED = (str, bytes, bool, np.bool_, np.ndarray, NoneType)


@dataclass(frozen=True)
class PerItem:
    """A result of a rolled form: a list of numbers for each symbolic body."""

    values: Mapping[Any, Sequence[Any]]


@dataclass(frozen=True)
class Argument:
    """One array argument: its value, the shape of one state and what that shape is called."""

    value: ArrayLike
    shape: Shape
    meaning: str
    weak: bool = False  #: Follows the precision of the other arguments, as a Python number does.
    #: Names along the axes of one state: tables are put in their order.
    labels: tuple[Names, ...] = ()


def evaluate(
    function: str,
    core: Core,
    arguments: Mapping[str, Argument],
    shapes: Sequence[Shape],
    native: Native | None = None,
    lean: Callable[[], Core] | None = None,
    out: Any = None,
) -> Results:
    """Run a core over the leading axes of its arguments and return its results as arrays.

    Args:
        function: name for error messages.
        core: takes one flat list of numbers for each argument; returns the numbers of all results.
        arguments: what was passed, by name.
        shapes: shape of each result for one state.
        native: evaluates float64 or float32 arrays of a leading shape by machine code, if it can.
        lean: gives the core for the compiler's symbols, where it differs.
        out: where results go: an array, or a tuple where there are several; None for new arrays.
    """
    arrays = {name: checked_array(function, name, given) for name, given in arguments.items()}
    lead = leading_shape(function, arguments, arrays)
    with enough_memory(function, f"results of states {lead}"):
        return _evaluate_batch(function, core, arguments, arrays, lead, shapes, native, lean, out)


@contextmanager
def enough_memory(function: str, purpose: str) -> Iterator[None]:
    """Turn a MemoryError into one that says what there is no memory for."""
    try:
        yield
    except SixfoldError:  # KernelMemoryError says more
        raise
    except MemoryError as error:
        what = f"no memory for {purpose} ({error})"
        raise TooLargeError(function, what, FEWER_STATES) from None


def _evaluate_batch(
    function: str,
    core: Core,
    arguments: Mapping[str, Argument],
    arrays: dict[str, Array],
    lead: Shape,
    shapes: Sequence[Shape],
    native: Native | None,
    lean: Callable[[], Core] | None,
    out: Any,
) -> Results:
    # weak arguments follow the precision of the others
    for name, argument in arguments.items():
        if argument.weak and arrays[name].dtype.kind == "O" and _plain_numbers(arrays[name]):
            arrays[name] = arrays[name].astype(float)
    strong = [x for name, x in arrays.items() if x.dtype.kind == "O" or not arguments[name].weak]
    dtype = np.result_type(*strong) if strong else np.dtype(float)
    # objects that are plain numbers are computed as floats
    if dtype.kind == "O" and all(map(_plain_numbers, arrays.values())):
        floats = {
            name: replace(given, value=arrays[name].astype(float))
            for name, given in arguments.items()
        }
        found = tuple(x.astype(object) for x in evaluate(function, core, floats, shapes, native))
        return _put(found, result_arrays(function, out, lead, shapes, found[0].dtype))
    # symbols of the compiler are traced on the reduced tree, like kernels
    if dtype.kind == "O" and lean is not None and any(map(_holds_nodes, arrays.values())):
        core = lean()
    # other kinds of numbers: the reading itself, one state at a time
    if dtype.kind == "O":
        for name, array in arrays.items():
            _check_finite(function, name, array)
        found = _one_by_one(function, core, arguments, arrays, lead, shapes)
        return _put(found, result_arrays(function, out, lead, shapes, found[0].dtype))
    # float32 next to float64 is widened before anything is computed
    arrays = {name: array.astype(dtype, copy=False) for name, array in arrays.items()}
    given = result_arrays(function, out, lead, shapes, dtype)
    # machine code, where it can be made
    if native is not None and dtype in (np.float64, np.float32):
        with np.errstate(all="ignore"):
            result = native(arrays, lead, given)
        if result is not None:
            return result
    # NumPy: the reading on columns, each of which holds the batch
    values = [_columns(array, arguments[name].shape) for name, array in arrays.items()]
    with np.errstate(all="ignore"):
        return _put(
            _split(join_numbers(core(*values), lead, (_total(shapes),), dtype), shapes), given
        )


def result_arrays(
    function: str, out: Any, lead: Shape, shapes: Sequence[Shape], dtype: Any
) -> Results | None:
    """Return the arrays that results go to, or say why they cannot."""
    if out is None:
        return None
    if len(shapes) == 1:
        return (_result_array(function, "out", out, (*lead, *shapes[0]), dtype),)
    if not isinstance(out, (tuple, list)) or len(out) != len(shapes):
        got = f"{len(out)} of them" if isinstance(out, (tuple, list)) else kind_of(out)
        fix = "pass a tuple with one array for each result, or leave out= away"
        raise ShapeError(function, "out", f"a tuple of {len(shapes)} arrays", got, fix)
    found = tuple(
        _result_array(function, f"out[{k}]", x, (*lead, *shape), dtype)
        for k, (x, shape) in enumerate(zip(out, shapes, strict=True))
    )
    # two results in the same memory would overwrite each other
    for k, one in enumerate(found):
        for n, other in enumerate(found[:k]):
            if _overlap(one, other):
                fix = "pass arrays with memory of their own"
                expected = "results that do not overlap"
                raise ShapeError(function, "out", expected, f"out[{n}] over out[{k}]", fix)
    return found


def _overlap(one: Array, other: Array) -> bool:
    """Return whether two arrays share memory; false where that is hard to tell."""
    try:
        return bool(np.shares_memory(one, other, max_work=10_000))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return False


def _result_array(function: str, name: str, out: Any, shape: Shape, dtype: Any) -> Array:
    """Return an array that a result goes to."""
    fix = f"pass numpy.empty({shape}, numpy.{dtype}), or leave out= away"
    if not isinstance(out, np.ndarray) or out.dtype != dtype:
        got = f"dtype {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
        where = f"{function}: argument '{name}' cannot hold the result"
        raise NumberError(where, f"an array of dtype {dtype}", got, fix)
    if out.shape != shape:
        raise ShapeError(function, name, f"{shape}, the shape of the result", out.shape, fix)
    if not out.flags.writeable:
        raise ShapeError(function, name, "an array that can be written to", "a read-only one", fix)
    return out


def _put(results: Results, out: Results | None) -> Results:
    """Return results, in the arrays of `out=` if given."""
    if out is None:
        return results
    for target, result in zip(out, results, strict=True):
        target[...] = result
    return out


def _total(shapes: Sequence[Shape]) -> int:
    return sum(map(prod, shapes))


def _split(flat: Array, shapes: Sequence[Shape]) -> Results:
    """Return the results of all states from an array (..., numbers of a state)."""
    if len(shapes) == 1:
        return (flat.reshape((*flat.shape[:-1], *shapes[0])),)
    # results follow each other in the flat row
    ends = np.cumsum([prod(shape) for shape in shapes])
    return tuple(
        np.ascontiguousarray(flat[..., end - prod(shape) : end]).reshape((*flat.shape[:-1], *shape))
        for end, shape in zip(ends, shapes, strict=True)
    )


def join_numbers(values: Sequence[Scalar], lead: Shape, shape: Shape, dtype: Any) -> Array:
    """Return an array from numbers that each hold a batch."""
    out = np.empty((*lead, prod(shape)), dtype)
    for k, value in enumerate(values):
        out[..., k] = plain(value)
    return out.reshape((*lead, *shape))


def checked_array(function: str, name: str, given: Argument) -> Array:
    """Return the argument as a native float or object array, or say what is wrong with it."""
    where = f"{function}: argument '{name}' does not hold real numbers"
    with enough_memory(function, f"argument '{name}'"):
        try:
            array = _plain_array(function, name, given)
            return _fitting(function, name, given, array, where)
        except OverflowError as error:
            raise NumberError(where, "numbers below 1e308", error, "scale the values") from None


def finite_floats(where: str, array: Any) -> Array:
    """Return an array as finite floats; `where` names it in messages."""
    try:
        floats = np.asarray(array, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise NumberError(where, "real numbers", error, "pass an array of floats") from None
    bad = np.argwhere(~np.isfinite(floats))
    if len(bad):
        place = f"{where} is not finite{f' at {bad[0].tolist()}' if bad[0].size else ''}"
        fix = "leave such rows out, or correct them"
        raise NumberError(place, "finite numbers", floats[tuple(bad[0])], fix)
    return floats


def _plain_array(function: str, name: str, given: Argument) -> Array:
    """Return what was passed as a NumPy array."""
    if type(given.value) is np.ndarray:
        return given.value
    try:
        return as_array(function, name, in_order(function, name, given.value, given.labels))
    except SixfoldError:
        raise
    except (OverflowError, MemoryError):
        raise
    except (ValueError, TypeError) as error:
        if not isinstance(given.value, (list, tuple)):
            place, fix = f"{function}: argument '{name}'", "pass a list or an array of numbers"
            got = f"{kind_of(given.value)} ({brief(error)})"
            raise NumberError(place, "numbers in a NumPy array", got, fix) from error
        fix = "pass a rectangular array"
        raise ShapeError(
            function, name, _shape_text(given), f"ragged data ({error})", fix
        ) from None
    except Exception as error:  # what the object's own library says
        place = f"{function}: argument '{name}'"
        got = f"{kind_of(given.value)}, which says: {brief(error)}"
        fix = "convert it to a NumPy array with its own library first"
        raise NumberError(place, "numbers in a NumPy array", got, fix) from error


def _fitting(function: str, name: str, given: Argument, array: Array, where: str) -> Array:
    """Return an array in one of the dtypes that are worked with, or say why it does not fit."""
    kind = array.dtype.kind
    # integers and halves become doubles, foreign byte orders native
    if kind in "iu" or (kind == "f" and array.dtype.itemsize < 4):
        array = array.astype(np.float64)
    elif kind == "f":
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    elif kind == "O":
        _check_objects(where, array)
        array = _python_numbers(array)
    else:
        fix = "convert it, for example with numpy.asarray(x, float)"
        raise NumberError(where, "float or integer array", f"dtype {array.dtype}", fix)
    # the last axes are those of one state
    n = len(given.shape)
    if array.ndim < n or array.shape[array.ndim - n :] != given.shape:
        raise ShapeError(function, name, _shape_text(given), array.shape, _shape_hint(given, array))
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
        given_shapes = ", ".join(f"{name} {arrays[name].shape}" for name in arrays)
        raise ShapeError(
            function,
            "/".join(arrays),
            "leading axes that broadcast against each other",
            given_shapes,
            "give all arguments the same number of states, or one state",
        ) from None


def _columns(array: Array, shape: Shape) -> list[Any]:
    """Return one number for each element of a state; each holds the batch."""
    lead = array.shape[: array.ndim - len(shape)]
    flat = array.reshape((*lead, prod(shape)))
    return [flat[..., k] for k in range(prod(shape))]


def _one_by_one(
    function: str,
    core: Core,
    arguments: Mapping[str, Argument],
    arrays: Mapping[str, Array],
    lead: Shape,
    shapes: Sequence[Shape],
) -> Results:
    wide = [
        np.broadcast_to(_python_numbers(array), (*lead, *arguments[name].shape))
        for name, array in arrays.items()
    ]
    # a state whose numbers fail is named by its index
    out = np.empty((*lead, _total(shapes)), object)
    for index in np.ndindex(*lead):
        try:
            with np.errstate(all="ignore"):
                values = core(*(_number_list(array[index]) for array in wide))
        except ArithmeticError as error:
            where = f"{function}: arguments '{'/'.join(arrays)}' have no result at state {index}"
            fix = "look for quaternions of length zero and values that overflow"
            raise NumberError(where, "a state with a result", error, fix) from None
        for k, value in enumerate(values):
            out[(*index, k)] = plain(value)
    return _split(out, shapes)


def _number_list(one: Any) -> list[Any]:
    """Return the numbers of one state's argument, which may be a single number."""
    return list(one.reshape(-1)) if isinstance(one, np.ndarray) else [one]


def _check_objects(where: str, array: Array) -> None:
    for x in array.flat:
        if isinstance(x, _REFUSED) or (isinstance(x, Complex) and not isinstance(x, Real)):
            raise NumberError(
                where, "real numbers", f"{type(x).__name__} objects", "convert them to floats"
            )
        # numbers are what sin takes; units, strings and complex numbers are not
        try:
            float(x) if is_plain(x) else sin(x)
        except NumberError:
            raise NumberError(
                where, "real numbers", f"{type(x).__name__} objects", "convert them to floats"
            ) from None
        except OverflowError:
            got = f"an integer of {x.bit_length()} bits"
            raise NumberError(where, "numbers below 1e308", got, "scale the value") from None
        except Exception as error:  # a number's own complaint, for example a domain error
            raise NumberError(
                where, "real numbers", f"{quote(x)} ({error})", "fix the value"
            ) from None


def _python_numbers(array: Array) -> Array:
    """Return an object array with NumPy's scalars as floats, which go with every other number."""
    result = np.empty(array.shape, object)
    for index in np.ndindex(array.shape):
        x = array[index]
        result[index] = float(x) if isinstance(x, np.generic) else x
    return result


def _plain_numbers(array: Array) -> bool:
    """Return true when an array holds floats and integers, be it as objects."""
    return array.dtype.kind == "f" or all(isinstance(x, _PLAIN) for x in array.flat)


def _holds_nodes(array: Array) -> bool:
    """Return true when an array holds symbols of the compiler."""
    graph = sys.modules.get("sixfold.compiler.graph")
    return graph is not None and any(isinstance(x, graph.Node) for x in array.flat)


def _check_finite(function: str, name: str, array: Array) -> None:
    """Refuse numbers that are not finite next to symbols, whose arithmetic they break."""
    for x in array.flat:
        if isinstance(x, _PLAIN) and not np.isfinite(float(x)):
            where = f"{function}: argument '{name}' mixes symbols with a number that is not finite"
            raise NumberError(where, "finite numbers", x, "evaluate such states as floats")


def _shape_text(given: Argument) -> str:
    sizes = ", ".join(map(str, given.shape))
    return f"(..., {sizes}) = {given.meaning}" if given.shape else "(...)"


def _shape_hint(given: Argument, array: Array) -> str:
    if array.ndim and given.shape and len(given.shape) == 1 and array.shape[0] == given.shape[0]:
        return "states go along the leading axes: transpose the array"
    return f"the last axes must be {given.meaning}"


# -- quaternions of length zero
#
# The check reads one number of each state: only where the w of a quaternion is zero, which half
# turns and mistakes have, does it look at the other three.  A kernel's plain call reads that number
# itself and returns None where it is zero.

CONFIGURATIONS = ("q", "q0", "q1")  #: Names of the arguments that hold configurations.


def last_numbers(model: Model) -> tuple[int, ...]:
    """Return where in q the w of each quaternion lies."""
    return tuple(part.stop - 1 for _, part in model.coordinates.quaternions)


def nonzero_numbers(model: Model, names: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return which numbers of which arguments are a w, for the check of a kernel's plain call."""
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
            # the first state with a quaternion (0, 0, 0, 0)
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

    The thread that computes a part of a large batch checks it just before: its
    rows are then read from memory once.

    Args:
        ufunc: takes the arrays in their order, and `out`.
        function: name for messages.
        model: the robot.
        arrays: all rows, by name.
    """
    # a zero quaternion has w = 0: look at that column first
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


def checked_inertias(function: str, given: Argument, needs_mass: bool) -> Argument:
    """Return inertial parameters as an array, or say what is wrong with their masses."""
    array = checked_array(function, "inertias", given)
    _refuse_masses(function, array[..., 0], needs_mass)
    return replace(given, value=array)


def with_checked_masses(
    call: Callable[..., Any], function: str, place: int, needs_mass: bool
) -> Callable[..., Any]:
    """Return a prepared call that looks at the masses of its argument at a place."""

    def checked_call(*arrays: Any) -> Any:
        if type(arrays[place]) is np.ndarray and arrays[place].dtype.kind == "f":
            result = call(*arrays)
            if result is not None:
                _refuse_masses(function, arrays[place][..., 0], needs_mass)
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


def _refuse_masses(function: str, masses: Array, needs_mass: bool) -> None:
    """Refuse masses, shape (..., nb), that are negative, or all zero where that has no result."""
    refuse_masses_below_zero(function, masses)
    if needs_mass and masses.dtype.kind == "f" and (masses.sum(axis=-1) == 0).any():
        raise NumberError(
            f"{function}: argument 'inertias'",
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
