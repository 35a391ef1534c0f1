"""The closed list of operations on numbers; ``rules`` has a row for each."""

from __future__ import annotations

from enum import Enum
from typing import Any

Scalar = Any
"""A number of any kind: float, array, symbol, MPFR number, dual number or graph node."""


class Op(Enum):
    """Everything that an algorithm may do to a number."""

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
