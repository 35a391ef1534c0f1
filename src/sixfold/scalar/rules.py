"""The table of operations: one row each, one column for each kind of number.

A row gives the number of arguments, the value on floats, the partial derivatives, and what the
operation is called in NumPy, gmpy2, SymPy and LLVM.  Everything that handles operations reads this
table: the functions of `functions`, dual numbers, graph nodes and the methods through which NumPy
reaches them, derivatives, and the writer of machine code.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sixfold.scalar.functions import (
    cos,
    exp,
    if_positive,
    read_table,
    register,
    sign,
    sin,
    sqrt,
    tanh,
    unable,
)
from sixfold.scalar.ops import Op, Scalar
from sixfold.scalar.zero import ZERO, Zero, plain

Named = str | Callable[..., Any]
"""A function by its name in a library, or one made of the library's others."""


@dataclass(frozen=True)
class Rule:
    """One row."""

    arity: int
    value: Callable[..., float]
    """The result on floats."""
    partials: Callable[..., tuple[Scalar, ...]]
    """The derivatives by each argument."""
    numpy: str = ""
    """NumPy's name, by which it also asks the elements of object arrays for the operation."""
    gmpy2: Named = ""
    sympy: Named = ""
    llvm: str = ""
    """An LLVM instruction, or the name of an intrinsic (llvm.*) or of a library function."""


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


RULES: dict[Op, Rule] = {
    Op.ADD: Rule(2, operator.add, lambda x, y: (1, 1), "add", llvm="fadd"),
    Op.SUB: Rule(2, operator.sub, lambda x, y: (1, -1), "subtract", llvm="fsub"),
    Op.MUL: Rule(2, operator.mul, lambda x, y: (y, x), "multiply", llvm="fmul"),
    Op.DIV: Rule(2, operator.truediv, lambda x, y: (1 / y, -x / (y * y)), "divide", llvm="fdiv"),
    Op.NEG: Rule(1, operator.neg, lambda x: (-1,), "negative", llvm="fneg"),
    Op.SQRT: Rule(1, math.sqrt, lambda x: (0.5 / sqrt(x),), "sqrt", "sqrt", "sqrt", "llvm.sqrt"),
    Op.SIN: Rule(1, math.sin, lambda x: (cos(x),), "sin", "sin", "sin", "sin"),
    Op.COS: Rule(1, math.cos, lambda x: (-sin(x),), "cos", "cos", "cos", "cos"),
    Op.EXP: Rule(1, math.exp, lambda x: (exp(x),), "exp", "exp", "exp", "exp"),
    Op.LOG: Rule(1, math.log, lambda x: (1 / x,), "log", "log", "log", "log"),
    Op.TANH: Rule(1, math.tanh, lambda x: (1 - tanh(x) * tanh(x),), "tanh", "tanh", "tanh", "tanh"),
    Op.ATAN2: Rule(
        2,
        math.atan2,
        lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y)),
        "arctan2",
        "atan2",
        "atan2",
        "atan2",
    ),
    Op.ABS: Rule(1, abs, lambda x: (sign(x),), "absolute", abs, "Abs", "llvm.fabs"),
    Op.SIGN: Rule(1, _sign, lambda x: (ZERO,), "sign", _mpfr_sign, "sign", "sign"),
    Op.IF_POSITIVE: Rule(
        3,
        _if_positive,
        lambda x, a, b: (ZERO, if_positive(x, 1.0, 0.0), if_positive(x, 0.0, 1.0)),
        "",
        _if_positive,
        _piecewise,
        "if_positive",
    ),
}


def _on_floats(op: Op, *arguments: Any) -> Any:
    try:
        return RULES[op].value(*map(plain, arguments))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise unable(op, error) from None


for _kind in (int, float, Zero):
    register(_kind, 0, _on_floats)
read_table({op: (row.numpy, row.gmpy2, row.sympy) for op, row in RULES.items()})
