"""What all spatial quantities share: equality, arrays, short text and LaTeX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from math import prod
from typing import Any, ParamSpec, TypeVar

import numpy as np

from sixfold.errors import ArgumentError, ShapeError
from sixfold.scalar import Zero, is_number, together

Kind = TypeVar("Kind", bound=type)
P = ParamSpec("P")
R = TypeVar("R")


def comparable(
    numbers: Callable[[Any], Sequence[Any]] = tuple, *, as_tuple: bool = False
) -> Callable[[Kind], Kind]:
    """Give a class `==`, `!=` and a hash that look at its numbers.

    Comparisons are always one bool.  Arrays are equal when their shapes and all their elements
    are, so that a quantity of many states is equal to another when it is so in every state.
    Symbols are compared as SymPy does, by form.  Graph nodes refuse to be compared.

    Args:
        numbers: how to get the numbers, or parts that are compared by themselves.
        as_tuple: whether a plain tuple of the same numbers is equal too.
    """

    def decorate(kind: Kind) -> Kind:
        others = (kind, tuple) if as_tuple else kind
        unlike = tuple if as_tuple else (tuple, np.ndarray)  # arrays would compare themselves

        def eq(self: Any, other: object) -> Any:
            if isinstance(other, others):
                return equal(numbers(self), numbers(other))
            return False if isinstance(other, unlike) else NotImplemented

        def ne(self: Any, other: object) -> Any:
            same = eq(self, other)
            return same if same is NotImplemented else not same

        def hashed(self: Any) -> int:
            return hash(tuple(numbers(self)))

        for name, method in (("__eq__", eq), ("__ne__", ne), ("__hash__", hashed)):
            setattr(kind, name, method)
        return kind

    return decorate


def equal(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Return whether two sequences are equal, element by element."""
    return len(left) == len(right) and all(map(_same, left, right))


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return bool(a == b)


Nested = Any
"""Numbers, or sequences of such."""


def to_array(quantity: Any) -> np.ndarray[Any, Any]:
    """Return a spatial quantity as an array; a batch inside its numbers becomes leading axes.

    `np.asarray(quantity)` is the same for the types below.  This function also takes the rows that
    `X.pose()`, `m.cross_matrix()` or `apparent_inverse_inertia` return.

    Args:
        quantity: a Motion (omega; v) or a Force (n; f), a Transform (the matrix that acts on
            motions), an Inertia or ArticulatedInertia (the matrix that acts on motions), a Subspace
            or ForceSubspace (one column for each degree of freedom), a Vector3, a Matrix3, a
            JointMatrix, or a tuple or list of numbers or of rows.

    Returns:
        An array of shape (..., 6), (..., 6, 6), (..., 6, n), (..., 3), (..., 3, 3) or (..., rows,
        columns).  It holds floats, and objects where a number is a symbol or an MPFR number.

    Raises:
        ArgumentError: if something else is given.
        ShapeError: if rows have different lengths.

    Example:
        >>> import sixfold as sf
        >>> sf.spatial.to_array(sf.spatial.Motion.of([0, 0, 1, 0.5, 0, 0])).tolist()
        [0.0, 0.0, 1.0, 0.5, 0.0, 0.0]
        >>> sf.spatial.to_array(sf.Transform.translation((1, 2, 3)).pose()).shape
        (4, 4)
    """
    parts = getattr(type(quantity), "_nested", None)
    nested = quantity if parts is None else parts(quantity)
    shape = _shape(nested)
    with together("to_array"):
        return _array(list(_flat(nested, len(shape))), shape)


def _as_array(quantity: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """Return the array of a spatial quantity, as NumPy's protocol wants it."""
    if copy is False:
        raise ValueError(f"a {type(quantity).__name__} is no array: one has to be made")
    array = to_array(quantity)
    return array if dtype is None else array.astype(dtype)


def displayable(
    nested: Callable[[Any], Nested], text: Callable[[Any], str]
) -> Callable[[Kind], Kind]:
    """Give a class a short `__str__`, `_repr_latex_` and `__array__`.

    Arrays leave operations to it: `array * quantity` is ours, as the batch lives inside the
    numbers, and `array @ quantity` is an error.

    Args:
        nested: the numbers of an object, nested as the axes of its array are.
        text: the short text of an object of plain numbers or symbols.
    """

    def decorate(kind: Kind) -> Kind:
        def short(self: Any) -> str:
            lead = _lead(_numbers(self))
            if lead:
                return f"{kind.__name__} of {' x '.join(map(str, lead))} states"
            return text(self)

        def latex(self: Any) -> str | None:
            return None if _lead(_numbers(self)) else f"${matrix_latex(nested(self))}$"

        def _numbers(self: Any) -> list[Any]:
            rows = nested(self)
            return list(_flat(rows, len(_shape(rows))))

        members = {"__str__": short, "_repr_latex_": latex, "__array__": _as_array}
        more = {"_nested": staticmethod(nested), "__array_ufunc__": None}
        for name, member in {**members, **more}.items():
            setattr(kind, name, member)
        return kind

    return decorate


def number_text(x: Any) -> str:
    """Return a number with five digits, or a symbol as it prints itself."""
    if isinstance(x, (int, float, Zero, np.number)):
        value = float(x)
        return "0" if value == 0 else f"{value:.5g}"
    return str(x)


def triple(numbers: Iterable[Any]) -> str:
    """Return numbers in brackets."""
    return f"({', '.join(map(number_text, numbers))})"


def inertia_text(x: Any) -> str:
    """Return the ten numbers of an inertia, moments in the order of its parameters."""
    return f"Inertia(m={number_text(x.m)}, h={triple(x.h)}, I={triple(x.I)})"


def articulated_text(x: Any) -> str:
    """Return the numbers of an articulated inertia."""
    H = ", ".join(map(triple, x.H))
    return f"ArticulatedInertia(I={triple(x.I)}, H=({H}), M={triple(x.M)})"


def number_latex(x: Any) -> str:
    """Return a number with five digits, or a symbol, as LaTeX."""
    own = getattr(x, "_repr_latex_", None)
    if own is not None:  # a symbol knows
        return str(own()).strip("$").removeprefix("\\displaystyle").strip()
    digits, e, power = number_text(x).partition("e")
    return f"{digits} \\cdot 10^{{{int(power)}}}" if e else digits


def matrix_latex(nested: Nested) -> str:
    """Return a column or rows as a LaTeX matrix; six rows or columns are ruled in the middle."""
    rows = [row if isinstance(row, (tuple, list)) else (row,) for row in nested]
    width = len(rows[0]) if rows else 0
    form = "ccc|ccc" if width == 6 else "c" * width
    lines = [" & ".join(map(number_latex, row)) for row in rows]
    if len(lines) == 6:
        lines[3] = f"\\hline {lines[3]}"
    body = " \\\\ ".join(lines)
    return f"\\left[\\begin{{array}}{{{form}}} {body} \\end{{array}}\\right]"


def _shape(nested: Nested) -> tuple[int, ...]:
    """Return the sizes of nested tuples or lists, or say what is wrong with them."""
    if not isinstance(nested, (tuple, list)):
        if is_number(nested):
            return ()
        fix = "pass a spatial quantity, or the rows of a matrix"
        raise ArgumentError("to_array", "numbers, or rows of numbers", nested, fix)
    shapes = {_shape(part) for part in nested}
    if len(shapes) > 1:
        fix = "pass rows of one length"
        raise ShapeError(
            "to_array", "quantity", "rows of one length", sorted(map(str, shapes)), fix
        )
    return (len(nested), *(shapes.pop() if shapes else ()))


def _flat(nested: Nested, depth: int) -> Iterable[Any]:
    if depth == 0:
        yield nested
        return
    for part in nested:
        yield from _flat(part, depth - 1)


def _lead(numbers: Sequence[Any]) -> tuple[int, ...]:
    """Return the leading axes that the numbers have together."""
    with together("to_array"):
        return np.broadcast_shapes(*(np.shape(x) for x in numbers if isinstance(x, np.ndarray)))


def _array(numbers: list[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    lead = _lead(numbers)
    # floats, unless a number is a symbol; the type of the arrays if there is a batch
    kinds = [x.dtype for x in numbers if isinstance(x, (np.ndarray, np.number))]
    dtype: Any = np.result_type(*kinds) if lead else np.dtype(np.float64)
    if not all(isinstance(x, (int, float, Zero, np.number, np.ndarray)) for x in numbers):
        dtype = np.dtype(object)
    made = np.empty((*lead, prod(shape)), dtype if dtype.kind in "fO" else np.float64)
    for k, x in enumerate(numbers):
        made[..., k] = 0 if isinstance(x, Zero) else x
    return made.reshape((*lead, *shape))


def check_kinds(**kinds: type | tuple[type, ...]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that looks at the kinds of arguments before the function runs.

    A Force in the place of a Motion would be taken for one: both hold two vectors.

    Args:
        kinds: class, or classes, of each argument that is looked at, by its name.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        names = tuple(inspect.signature(function).parameters)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name, given in (*zip(names, args, strict=False), *kwargs.items()):
                kind = kinds.get(name)
                if kind is not None and not isinstance(given, kind):
                    several = kind if isinstance(kind, tuple) else (kind,)
                    expected = " or ".join(_one(k) for k in several if k is not type(None))
                    fix = f"make one, for example with sf.{several[0].__name__}"
                    where = f"{function.__name__}: argument '{name}'"
                    raise ArgumentError(where, expected, given, fix)
            with together(function.__name__):
                return function(*args, **kwargs)

        return call

    return decorate


def _one(kind: type) -> str:
    name = kind.__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
