"""Elementary functions that follow the type of their argument.

``sin(x)`` asks the type of ``x`` which sine to use: ``math`` for floats, NumPy for arrays, SymPy
for expressions, gmpy2 for MPFR numbers.  Other kinds of numbers (dual numbers, graph nodes) join
with ``register``.  No library is imported before one of its numbers appears.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from sixfold.errors import DomainError, NumberError, TooLargeError
from sixfold.scalar.ops import Op, Scalar
from sixfold.scalar.zero import Zero, plain

Apply = Callable[..., Any]
Bits = Callable[[Any], float]
DOUBLE = 53
"""Bits of precision of a double."""


class Reading:
    """How one kind of number carries out an operation; the highest rank among arguments decides."""

    def __init__(
        self, rank: int, apply: Apply, bits: Bits | None = None, takes_arrays: bool = False
    ) -> None:
        """Take `apply(op, *arguments)`, the rank of this kind of number, and its precision.

        Arrays beside numbers that do not take them are gone through element by element.
        """
        self.rank, self.apply, self.takes_arrays = rank, apply, takes_arrays
        self.bits = bits or (lambda _: DOUBLE)


_TABLE: dict[Op, tuple[Any, Any, Any]] = {}
"""NumPy's, gmpy2's and SymPy's function of each operation; see `rules`."""


def read_table(columns: dict[Op, tuple[Any, Any, Any]]) -> None:
    """Take what the libraries call each operation from the table of operations."""
    _TABLE.update(columns)


def _functions(library: Any, column: int) -> dict[Op, Callable[..., Any]]:
    """Return a library's functions, by operation."""
    named = {op: row[column] for op, row in _TABLE.items() if row[column]}
    return {op: getattr(library, f) if isinstance(f, str) else f for op, f in named.items()}


def _numpy_reading() -> Reading:
    import numpy as np

    def if_positive(x: Any, then: Any, otherwise: Any) -> Any:
        if np.result_type(*(np.asarray(a) for a in (x, then, otherwise))).hasobject:
            return _each(Op.IF_POSITIVE, x, then, otherwise)
        return np.where(x > 0, then, np.where(x <= 0, otherwise, x))[()]  # a scalar stays one

    table = {**_functions(np, 0), Op.IF_POSITIVE: if_positive}

    def carry_out(op: Op, *arguments: Any) -> Any:
        try:
            return table[op](*map(plain, arguments))
        except (TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
            raise unable(op, error) from None

    def bits(x: Any) -> int:
        longer = x.dtype.kind == "f" and x.dtype.itemsize > 8
        return np.finfo(x.dtype).nmant + 1 if longer else DOUBLE

    return Reading(1, carry_out, bits, takes_arrays=True)


def _gmpy2_reading() -> Reading:
    import gmpy2

    table = _functions(gmpy2, 1)

    def bits(_: Any) -> int:
        return int(gmpy2.get_context().precision)  # results are rounded to the context

    return Reading(2, lambda op, *arguments: table[op](*map(plain, arguments)), bits)


def _sympy_reading() -> Reading:
    import sympy

    table = _functions(sympy, 2)
    return Reading(3, lambda op, *arguments: table[op](*arguments), lambda _: math.inf)


_BY_LIBRARY: dict[str, Callable[[], Reading]] = {
    "numpy": _numpy_reading,
    "gmpy2": _gmpy2_reading,
    "sympy": _sympy_reading,
}
_READINGS: dict[type, Reading] = {}


def unable(op: Op, error: BaseException) -> Exception:
    """Return the error to raise when numbers have no sine, logarithm or what else was asked."""
    where = f"{op.value}: no result for these numbers"
    if isinstance(error, MemoryError):
        return TooLargeError(where, f"{error}", "pass fewer numbers at a time")
    kind = DomainError if isinstance(error, ValueError) else NumberError
    fix = "pass real numbers within the range of the function, arrays of one shape"
    return kind(where, "real numbers within its range", error, fix)


def register(
    kind: type,
    rank: int,
    apply: Apply,
    bits: Bits | None = None,
    takes_arrays: bool = False,
) -> None:
    """Add a kind of number with its own way to carry out every operation.

    Args:
        kind: the type.
        rank: which kind decides where several meet; the highest does.
        apply: takes an operation and its arguments.
        bits: returns the precision of a number; that of a double if left out.
        takes_arrays: whether such a number may be a whole batch, so that arrays beside it are too;
            otherwise they are gone through element by element.
    """
    _READINGS[kind] = Reading(rank, apply, bits, takes_arrays)


def reading_of(kind: type) -> Reading:
    """Return how numbers of this type carry out operations."""
    found = _READINGS.get(kind)
    if found is None:
        found = _READINGS[kind] = _search(kind)
    return found


def _search(kind: type) -> Reading:
    for base in kind.__mro__:
        library = base.__module__.partition(".")[0]
        if library in _BY_LIBRARY:
            return _BY_LIBRARY[library]()
        if base in _READINGS:
            return _READINGS[base]
    raise NumberError(
        f"{kind.__module__}.{kind.__qualname__} is not a number that Sixfold knows",
        "float, NumPy array, SymPy expression or gmpy2 mpfr",
        kind,
        "convert the value, or register its type with sixfold.scalar.register",
    )


def precision(x: Scalar) -> float:
    """Return how many bits results of arithmetic with a number have; infinity where it is exact."""
    return reading_of(type(x)).bits(x)


def apply(op: Op, *arguments: Scalar) -> Scalar:
    """Carry out one operation in the reading of its highest-ranked argument."""
    found = max((reading_of(type(x)) for x in arguments), key=lambda r: r.rank)
    if not found.takes_arrays and any(getattr(x, "ndim", 0) for x in arguments):
        return _each(op, *arguments)
    return found.apply(op, *arguments)


def _each(op: Op, *arguments: Any) -> Any:
    """Carry out an operation on each element of arrays of any numbers; they broadcast."""
    import numpy as np

    return np.frompyfunc(lambda *each: apply(op, *each), len(arguments), 1)(*arguments)


def sin(x: Scalar) -> Scalar:
    """Return the sine.

    Args:
        x: angle [rad]; a number, an array, a SymPy expression, an MPFR number, or a number in a
            function to compile.

    Returns:
        The sine, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.sin(np.array([0.0, np.pi / 6])).round(3)
        array([0. , 0.5])
        >>> wave = sf.compile(lambda t: sf.sin(2.0 * t[0]), inputs={"t": 1})
        >>> np.allclose(wave(np.array([0.3])), np.sin(0.6))
        True
    """
    return x if isinstance(x, Zero) else reading_of(type(x)).apply(Op.SIN, x)


def cos(x: Scalar) -> Scalar:
    """Return the cosine.

    Args:
        x: angle [rad]; a number, an array, a SymPy expression, an MPFR number, or a number in a
            function to compile.

    Returns:
        The cosine, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.cos(np.array([0.0, np.pi / 3])).round(3)
        array([1. , 0.5])
        >>> np.isclose(sf.cos(0.7) ** 2 + sf.sin(0.7) ** 2, 1.0).item()
        True
    """
    return 1.0 if isinstance(x, Zero) else reading_of(type(x)).apply(Op.COS, x)


def sqrt(x: Scalar) -> Scalar:
    """Return the square root.

    Args:
        x: zero or positive; a number, an array, a SymPy expression, an MPFR number, or a number in
            a function to compile.

    Returns:
        The square root, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.sqrt(np.array([0.0, 4.0, 9.0]))
        array([0., 2., 3.])
    """
    return x if isinstance(x, Zero) else reading_of(type(x)).apply(Op.SQRT, x)


def exp(x: Scalar) -> Scalar:
    """Return e to the power x.

    Args:
        x: the exponent; a number, an array, a SymPy expression, an MPFR number, or a number in a
            function to compile.

    Returns:
        The power, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.exp(np.array([0.0, 1.0])).round(3)
        array([1.   , 2.718])
    """
    return reading_of(type(x)).apply(Op.EXP, x)


def log(x: Scalar) -> Scalar:
    """Return the natural logarithm.

    Args:
        x: positive; a number, an array, a SymPy expression, an MPFR number, or a number in a
            function to compile.

    Returns:
        The logarithm, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.log(np.array([1.0, 10.0])).round(3)
        array([0.   , 2.303])
    """
    return reading_of(type(x)).apply(Op.LOG, x)


def tanh(x: Scalar) -> Scalar:
    """Return the hyperbolic tangent.

    Args:
        x: the argument; a number, an array, a SymPy expression, an MPFR number, or a number in a
            function to compile.

    Returns:
        The hyperbolic tangent, from -1 to 1, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.tanh(np.array([-20.0, 0.0, 0.5])).round(3)
        array([-1.   ,  0.   ,  0.462])
    """
    return x if isinstance(x, Zero) else reading_of(type(x)).apply(Op.TANH, x)


def absolute(x: Scalar) -> Scalar:
    """Return |x|."""
    return x if isinstance(x, Zero) else reading_of(type(x)).apply(Op.ABS, x)


def sign(x: Scalar) -> Scalar:
    """Return -1, 0 or 1 with the sign of x.

    Args:
        x: the argument; a number, an array, a SymPy expression, an MPFR number, or a number in a
            function to compile.

    Returns:
        -1, 0 or 1, of the kind and shape of x; NaN where x is NaN.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.sign(-2.5), sf.sign(np.array([-3.0, 0.0, 4.0]))
        (-1.0, array([-1.,  0.,  1.]))
    """
    return x if isinstance(x, Zero) else reading_of(type(x)).apply(Op.SIGN, x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Return the angle of the point (x, y).

    Args:
        y: second coordinate of the point; a number, an array, a SymPy expression, an MPFR number,
            or a number in a function to compile.
        x: first coordinate, likewise.

    Returns:
        The angle from the x axis [rad], from -pi to pi; arrays broadcast.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> np.rad2deg(sf.atan2(np.array([1.0, 1.0, -1.0]), np.array([1.0, -1.0, -1.0]))).round(3)
        array([  45.,  135., -135.])
    """
    return apply(Op.ATAN2, y, x)


def if_positive(x: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """Return `then` where x > 0 and `otherwise` where x <= 0; NaN where x is NaN.

    Args:
        x: what decides; a number, an array, a SymPy expression, an MPFR number, or a number in a
            function to compile.
        then: the result where x > 0, likewise.
        otherwise: the result where x <= 0, likewise.

    Returns:
        `then` or `otherwise`, element by element; arrays broadcast.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.if_positive(np.array([-1.0, 0.0, 2.0]), 10.0, 20.0)
        array([20., 20., 10.])
        >>> spring = sf.compile(lambda x: sf.if_positive(x[0], -50.0 * x[0], 0.0), inputs={"x": 1})
        >>> spring(np.array([[0.1], [-0.1]])).tolist()
        [-5.0, 0.0]
    """
    return apply(Op.IF_POSITIVE, x, then, otherwise)
