"""The table of operations on numbers, and the functions that follow the type of their argument.

`RULES` has one row for each operation.  Every part of the library that handles operations reads it:
the functions below, dual numbers, graph nodes and their derivatives, the writers of machine code
and of C, NumPy, Julia, MATLAB and OpenCL text, and the array libraries.

``sin(x)`` asks the type of ``x`` which sine to use: ``math`` for floats, NumPy for arrays, SymPy
for expressions, gmpy2 for MPFR numbers.  Other kinds of numbers (dual numbers, graph nodes) are
added with ``register``.  No library is imported before one of its numbers appears.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sixfold.errors import DomainError, NumberError, TooLargeError
from sixfold.scalar.zero import ZERO, Zero, plain

Scalar = Any  # A number of any kind: float, array, symbol, MPFR number, dual number or graph node
Apply = Callable[..., Any]
Bits = Callable[[Any], float]
#: A function by its name in a library, or one made of the library's others.
Named = str | Callable[..., Any]
DOUBLE = 53  # bits of precision of a double


class Op(Enum):
    """The closed list of operations on numbers."""

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    NEG = "neg"
    SQRT = "sqrt"
    SIN = "sin"
    COS = "cos"
    EXP = "exp"
    LOG = "log"
    TANH = "tanh"
    ATAN2 = "atan2"
    ABS = "abs"
    SIGN = "sign"
    IF_POSITIVE = "if_positive"


# -- the table


@dataclass(frozen=True)
class Rule:
    """One row: an operation for each kind of number and in each language.

    Texts of languages have {0}, {1}, ... for the arguments.
    """

    arity: int
    value: Callable[..., Any]  # on floats; NaN gives NaN
    partials: Callable[..., tuple[Scalar, ...]]  # derivatives with respect to each argument
    #: An instruction ("fadd"), an intrinsic ("llvm.sqrt"), a function of `llvm.text` ("@exp"), or
    #: instructions: lines "name := instruction", the last without a name; {r} is the type, {s} its
    #: suffix, {bit} that of comparisons, {zero}, {one} and {minus_one} are constants.
    llvm: str
    c: str
    python: str
    julia: str
    matlab: str
    opencl: str  # like c, with {zero}, {one} and {minus_one}
    numpy: str = ""  # NumPy's name, by which it asks the elements of object arrays too
    gmpy2: Named = ""
    sympy: Named = ""
    #: Name in the Python array API, or a function of (library, arguments); `value` if empty.
    array: Named = ""
    parity: str = ""  # "odd": f(-x) = -f(x); "even": f(-x) = f(x)


def _arithmetic(
    text: str,
    arity: int,
    value: Callable[..., Any],
    partials: Callable[..., Any],
    llvm: str,
    numpy: str,
    *,
    opencl: str = "",
) -> Rule:
    """Return the row of an operator, which all languages write alike."""
    return Rule(arity, value, partials, llvm, text, text, text, text, opencl or text, numpy)


def _function(
    name: str,
    value: Callable[..., Any],
    partials: Callable[..., Any],
    *,
    arity: int = 1,
    numpy: str = "",
    parity: str = "",
    **other: Any,
) -> Rule:
    """Return the row of a function; its name and texts are those of `name` where none is given."""
    arguments = ", ".join(f"{{{k}}}" for k in range(arity))
    text, numpy = f"{name}({arguments})", numpy or name
    columns = {
        "llvm": f"@{name}",
        "c": text,
        "python": f"np.{numpy}({arguments})",
        "julia": text,
        "matlab": text,
        "opencl": text,
        "gmpy2": name,
        "sympy": name,
        "array": name,
        **other,
    }
    return Rule(arity, value, partials, numpy=numpy, parity=parity, **columns)


def _sign(x: float) -> float:
    return x if math.isnan(x) else float((x > 0) - (x < 0))


def _if_positive(x: float, then: Any, otherwise: Any) -> Any:
    return then if x > 0 else otherwise if x <= 0 else x


def _mpfr_sign(x: Any) -> Any:
    import gmpy2

    return x if gmpy2.is_nan(x) else gmpy2.mpfr(gmpy2.sign(x))


def _piecewise(x: Any, then: Any, otherwise: Any) -> Any:
    import sympy

    return sympy.Piecewise((then, x > 0), (otherwise, True))


def _array_sign(xp: Any, x: Any) -> Any:
    one = xp.ones_like(x)
    return xp.where(x > 0, one, xp.where(x < 0, -one, x * 0.0))  # NaN stays NaN


def _array_if_positive(xp: Any, x: Any, then: Any, otherwise: Any) -> Any:
    return xp.where(x > 0, then, xp.where(x <= 0, otherwise, x))


_C_SIGN = "{0} > 0 ? 1 : ({0} < 0 ? -1 : {0})"
_C_CHOICE = "{0} > 0 ? {1} : ({0} <= 0 ? {2} : {0})"
_LLVM_SIGN = """positive := fcmp ogt {r} {0}, {zero}
negative := fcmp olt {r} {0}, {zero}
neither := fmul {r} {0}, {zero}
below := select {bit} {negative}, {r} {minus_one}, {r} {neither}
select {bit} {positive}, {r} {one}, {r} {below}"""
_LLVM_CHOICE = """positive := fcmp ogt {r} {0}, {zero}
other := fcmp ole {r} {0}, {zero}
rest := select {bit} {other}, {r} {2}, {r} {0}
select {bit} {positive}, {r} {1}, {r} {rest}"""

RULES: dict[Op, Rule] = {
    Op.ADD: _arithmetic("{0} + {1}", 2, operator.add, lambda x, y: (1, 1), "fadd", "add"),
    Op.SUB: _arithmetic("{0} - {1}", 2, operator.sub, lambda x, y: (1, -1), "fsub", "subtract"),
    Op.MUL: _arithmetic("{0} * {1}", 2, operator.mul, lambda x, y: (y, x), "fmul", "multiply"),
    Op.DIV: _arithmetic(
        "{0} / {1}", 2, operator.truediv, lambda x, y: (1 / y, -x / (y * y)), "fdiv", "divide"
    ),
    Op.NEG: _arithmetic(
        "-{0}", 1, operator.neg, lambda x: (-1,), "fneg", "negative", opencl="-({0})"
    ),
    Op.SQRT: _function("sqrt", math.sqrt, lambda x: (0.5 / sqrt(x),), llvm="llvm.sqrt"),
    Op.SIN: _function("sin", math.sin, lambda x: (cos(x),), parity="odd"),
    Op.COS: _function("cos", math.cos, lambda x: (-sin(x),), parity="even"),
    Op.EXP: _function("exp", math.exp, lambda x: (exp(x),)),
    Op.LOG: _function("log", math.log, lambda x: (1 / x,)),
    Op.TANH: _function("tanh", math.tanh, lambda x: (1 - tanh(x) * tanh(x),), parity="odd"),
    Op.ATAN2: _function(
        "atan2",
        math.atan2,
        lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y)),
        arity=2,
        numpy="arctan2",
        julia="atan({0}, {1})",
    ),
    Op.ABS: _function(
        "abs",
        abs,
        lambda x: (sign(x),),
        numpy="absolute",
        llvm="llvm.fabs",
        c="fabs({0})",
        python="np.abs({0})",
        opencl="fabs({0})",
        gmpy2=abs,
        sympy="Abs",
        array="",
        parity="even",
    ),
    Op.SIGN: _function(
        "sign",
        _sign,
        lambda x: (ZERO,),
        llvm=_LLVM_SIGN,
        c=_C_SIGN,
        opencl="{0} > {zero} ? {one} : ({0} < {zero} ? {minus_one} : {0} * {zero})",
        gmpy2=_mpfr_sign,
        array=_array_sign,
        parity="odd",
    ),
    Op.IF_POSITIVE: Rule(
        3,
        _if_positive,
        lambda x, a, b: (ZERO, if_positive(x, 1.0, 0.0), if_positive(x, 0.0, 1.0)),
        llvm=_LLVM_CHOICE,
        c=_C_CHOICE,
        python="np.where({0} > 0, {1}, np.where({0} <= 0, {2}, {0}))",
        julia=_C_CHOICE,
        matlab="({0} > 0) .* {1} + ({0} <= 0) .* {2} + 0 .* {0}",
        opencl="{0} > {zero} ? {1} : ({0} <= {zero} ? {2} : {0})",
        gmpy2=_if_positive,
        sympy=_piecewise,
        array=_array_if_positive,
    ),
}


def _fused_row(text: str, value: Callable[..., Any], llvm: str, opencl: str) -> Rule:
    """Return the row of a product and a sum with one rounding; it has no derivatives."""
    return _arithmetic(text, 3, value, lambda *_: (), llvm, "", opencl=opencl)


_LLVM_FMA = "call {r} @llvm.fma.{s}"
#: Operations that only a pass over programs makes; one rounding in kernels and in OpenCL.
FUSED: dict[str, Rule] = {
    "fma": _fused_row(
        "{0} * {1} + {2}", lambda x, y, z: x * y + z, "llvm.fma", "fma({0}, {1}, {2})"
    ),
    "fms": _fused_row(
        "{0} * {1} - {2}",
        lambda x, y, z: x * y - z,
        "minus := fneg {r} {2}\n" + _LLVM_FMA + "({r} {0}, {r} {1}, {r} {minus})",
        "fma({0}, {1}, -({2}))",
    ),
    "fnma": _fused_row(
        "{2} - {0} * {1}",
        lambda x, y, z: z - x * y,
        "minus := fneg {r} {0}\n" + _LLVM_FMA + "({r} {minus}, {r} {1}, {r} {2})",
        "fma(-({0}), {1}, {2})",
    ),
}

#: Rows of all operations that a program may contain, by name.
BY_NAME: dict[str, Rule] = {op.value: row for op, row in RULES.items()} | FUSED


# -- kinds of numbers


class Reading:
    """How one kind of number carries out operations; the highest rank among arguments decides."""

    def __init__(
        self, rank: int, apply: Apply, bits: Bits | None = None, takes_arrays: bool = False
    ) -> None:
        """Take `apply(op, *arguments)`, the rank of this kind of number, and its precision.

        Arrays next to numbers that do not take them are handled element by element.
        """
        self.rank, self.apply, self.takes_arrays = rank, apply, takes_arrays
        self.bits = bits or (lambda _: DOUBLE)


def _functions(library: Any, column: str) -> dict[Op, Callable[..., Any]]:
    """Return a library's functions by operation, from a column of the table."""
    named = {op: getattr(row, column) for op, row in RULES.items() if getattr(row, column)}
    return {op: getattr(library, f) if isinstance(f, str) else f for op, f in named.items()}


def _numpy_reading() -> Reading:
    import numpy as np

    def if_positive(x: Any, then: Any, otherwise: Any) -> Any:
        if np.result_type(*(np.asarray(a) for a in (x, then, otherwise))).hasobject:
            return _each(Op.IF_POSITIVE, x, then, otherwise)
        return np.where(x > 0, then, np.where(x <= 0, otherwise, x))[()]  # a scalar stays one

    # NumPy's where evaluates both sides, which is fine for numbers
    table = {**_functions(np, "numpy"), Op.IF_POSITIVE: if_positive}

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

    table = _functions(gmpy2, "gmpy2")

    def bits(_: Any) -> int:
        return int(gmpy2.get_context().precision)  # results are rounded to the context

    return Reading(2, lambda op, *arguments: table[op](*map(plain, arguments)), bits)


def _sympy_reading() -> Reading:
    import sympy

    table = _functions(sympy, "sympy")
    return Reading(3, lambda op, *arguments: table[op](*arguments), lambda _: math.inf)


_BY_LIBRARY: dict[str, Callable[[], Reading]] = {
    "numpy": _numpy_reading,
    "gmpy2": _gmpy2_reading,
    "sympy": _sympy_reading,
}
#: By type; filled by `register` and by the first number of each type.
_READINGS: dict[type, Reading] = {}


def unable(op: Op, error: BaseException) -> Exception:
    """Return the error to raise for numbers outside the domain of an operation."""
    where = f"{op.value}: no result for these numbers"
    if isinstance(error, MemoryError):
        return TooLargeError(where, f"{error}", "pass fewer numbers at a time")
    kind = DomainError if isinstance(error, ValueError) else NumberError
    fix = "pass real numbers within the range of the function, arrays of one shape"
    return kind(where, "real numbers within its range", error, fix)


def register(
    kind: type, rank: int, apply: Apply, bits: Bits | None = None, takes_arrays: bool = False
) -> None:
    """Add a kind of number with its own way to carry out every operation.

    Args:
        kind: the type.
        rank: which kind decides where several meet; the highest does.
        apply: takes an operation and its arguments.
        bits: returns the precision of a number; default: that of a double.
        takes_arrays: whether such a number may be a whole batch, as arrays next to it are;
            otherwise arrays are handled element by element.
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
    # the highest rank knows how to treat the others
    found = max((reading_of(type(x)) for x in arguments), key=lambda r: r.rank)
    if not found.takes_arrays and any(getattr(x, "ndim", 0) for x in arguments):
        return _each(op, *arguments)
    return found.apply(op, *arguments)


def _each(op: Op, *arguments: Any) -> Any:
    """Carry out an operation on each element of arrays of any numbers; they broadcast."""
    import numpy as np

    return np.frompyfunc(lambda *each: apply(op, *each), len(arguments), 1)(*arguments)


def _on_floats(op: Op, *arguments: Any) -> Any:
    try:
        return RULES[op].value(*map(plain, arguments))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise unable(op, error) from None


for _kind in (int, float, Zero):
    register(_kind, 0, _on_floats)


# -- functions


def sin(x: Scalar) -> Scalar:
    """Return the sine.

    Args:
        x: angle [rad]; a number of any kind.

    Returns:
        The sine, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.math.sin(np.array([0.0, np.pi / 6])).round(3)
        array([0. , 0.5])
        >>> wave = sf.compile(lambda t: sf.math.sin(2.0 * t[0]), inputs={"t": 1})
        >>> np.allclose(wave(np.array([0.3])), np.sin(0.6))
        True
    """
    return x if isinstance(x, Zero) else reading_of(type(x)).apply(Op.SIN, x)


def cos(x: Scalar) -> Scalar:
    """Return the cosine.

    Args:
        x: angle [rad]; a number of any kind.

    Returns:
        The cosine, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.math.cos(np.array([0.0, np.pi / 3])).round(3)
        array([1. , 0.5])
        >>> np.isclose(sf.math.cos(0.7) ** 2 + sf.math.sin(0.7) ** 2, 1.0).item()
        True
    """
    return 1.0 if isinstance(x, Zero) else reading_of(type(x)).apply(Op.COS, x)


def sqrt(x: Scalar) -> Scalar:
    """Return the square root.

    Args:
        x: zero or positive; a number of any kind.

    Returns:
        The square root, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.math.sqrt(np.array([0.0, 4.0, 9.0]))
        array([0., 2., 3.])
    """
    return x if isinstance(x, Zero) else reading_of(type(x)).apply(Op.SQRT, x)


def exp(x: Scalar) -> Scalar:
    """Return e to the power x.

    Args:
        x: the exponent; a number of any kind.

    Returns:
        The power, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.math.exp(np.array([0.0, 1.0])).round(3)
        array([1.   , 2.718])
    """
    return reading_of(type(x)).apply(Op.EXP, x)


def log(x: Scalar) -> Scalar:
    """Return the natural logarithm.

    Args:
        x: positive; a number of any kind.

    Returns:
        The logarithm, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.math.log(np.array([1.0, 10.0])).round(3)
        array([0.   , 2.303])
    """
    return reading_of(type(x)).apply(Op.LOG, x)


def tanh(x: Scalar) -> Scalar:
    """Return the hyperbolic tangent.

    Args:
        x: the argument; a number of any kind.

    Returns:
        The hyperbolic tangent, from -1 to 1, of the kind and shape of x.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.math.tanh(np.array([-20.0, 0.0, 0.5])).round(3)
        array([-1.   ,  0.   ,  0.462])
    """
    return x if isinstance(x, Zero) else reading_of(type(x)).apply(Op.TANH, x)


def absolute(x: Scalar) -> Scalar:
    """Return |x|."""
    return x if isinstance(x, Zero) else reading_of(type(x)).apply(Op.ABS, x)


def sign(x: Scalar) -> Scalar:
    """Return -1, 0 or 1 with the sign of x.

    Args:
        x: the argument; a number of any kind.

    Returns:
        -1, 0 or 1, of the kind and shape of x; NaN where x is NaN.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.math.sign(-2.5), sf.math.sign(np.array([-3.0, 0.0, 4.0]))
        (-1.0, array([-1.,  0.,  1.]))
    """
    return x if isinstance(x, Zero) else reading_of(type(x)).apply(Op.SIGN, x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Return the angle of the point (x, y).

    Args:
        y: second coordinate of the point; a number of any kind.
        x: first coordinate, likewise.

    Returns:
        The angle from the x axis [rad], from -pi to pi; arrays broadcast.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> angle = sf.math.atan2(np.array([1.0, 1.0, -1.0]), np.array([1.0, -1.0, -1.0]))
        >>> np.rad2deg(angle).round(3)
        array([  45.,  135., -135.])
    """
    return apply(Op.ATAN2, y, x)


def if_positive(x: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """Return `then` where x > 0 and `otherwise` where x <= 0; NaN where x is NaN.

    Args:
        x: what decides; a number of any kind.
        then: the result where x > 0, likewise.
        otherwise: the result where x <= 0, likewise.

    Returns:
        `then` or `otherwise`, element by element; arrays broadcast.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> sf.math.if_positive(np.array([-1.0, 0.0, 2.0]), 10.0, 20.0)
        array([20., 20., 10.])
        >>> def push(x):
        ...     return sf.math.if_positive(x[0], -50.0 * x[0], 0.0)
        >>> spring = sf.compile(push, inputs={"x": 1})
        >>> spring(np.array([[0.1], [-0.1]])).tolist()
        [-5.0, 0.0]
    """
    return apply(Op.IF_POSITIVE, x, then, otherwise)


# -- sums


def total(values: Iterable[Scalar]) -> Scalar:
    """Return the sum; exact zeros drop out."""
    found: Scalar = ZERO
    for x in values:
        found = found + x
    return found


def dot(a: Iterable[Scalar], b: Iterable[Scalar]) -> Scalar:
    """Return the sum of products; exact zeros drop out."""
    return total(x * y for x, y in zip(a, b, strict=True))


def positive(x: Scalar) -> Scalar:
    """Return x, or zero where it is negative."""
    return if_positive(x, x, 0.0)
