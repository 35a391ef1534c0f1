"""One row for each operation: how many arguments, the value on floats, the derivatives."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sixfold.scalar.functions import cos, exp, if_positive, register, sign, sin, sqrt, tanh, unable
from sixfold.scalar.ops import Op, Scalar
from sixfold.scalar.zero import ZERO, Zero, plain


@dataclass(frozen=True)
class Rule:
    """One row: how many arguments, the value on floats, the partial derivatives."""

    arity: int
    value: Callable[..., float]
    partials: Callable[..., tuple[Scalar, ...]]


def _sign(x: float) -> float:
    return x if math.isnan(x) else float((x > 0) - (x < 0))


def _if_positive(x: float, then: Any, otherwise: Any) -> Any:
    return then if x > 0 else otherwise if x <= 0 else x


RULES: dict[Op, Rule] = {
    Op.ADD: Rule(2, operator.add, lambda x, y: (1, 1)),
    Op.SUB: Rule(2, operator.sub, lambda x, y: (1, -1)),
    Op.MUL: Rule(2, operator.mul, lambda x, y: (y, x)),
    Op.DIV: Rule(2, operator.truediv, lambda x, y: (1 / y, -x / (y * y))),
    Op.NEG: Rule(1, operator.neg, lambda x: (-1,)),
    Op.SQRT: Rule(1, math.sqrt, lambda x: (0.5 / sqrt(x),)),
    Op.SIN: Rule(1, math.sin, lambda x: (cos(x),)),
    Op.COS: Rule(1, math.cos, lambda x: (-sin(x),)),
    Op.EXP: Rule(1, math.exp, lambda x: (exp(x),)),
    Op.LOG: Rule(1, math.log, lambda x: (1 / x,)),
    Op.TANH: Rule(1, math.tanh, lambda x: (1 - tanh(x) * tanh(x),)),
    Op.ATAN2: Rule(2, math.atan2, lambda y, x: (x / (x * x + y * y), -y / (x * x + y * y))),
    Op.ABS: Rule(1, abs, lambda x: (sign(x),)),
    Op.SIGN: Rule(1, _sign, lambda x: (ZERO,)),
    Op.IF_POSITIVE: Rule(
        3, _if_positive, lambda x, a, b: (ZERO, if_positive(x, 1.0, 0.0), if_positive(x, 0.0, 1.0))
    ),
}


def _on_floats(op: Op, *arguments: Any) -> Any:
    try:
        return RULES[op].value(*map(plain, arguments))
    except (ArithmeticError, TypeError, ValueError) as error:
        raise unable(op, error) from None


for _kind in (int, float, Zero):
    register(_kind, 0, _on_floats)
