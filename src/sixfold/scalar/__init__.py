"""What a number is: a closed list of operations that follow the type of their arguments."""

from sixfold.scalar.check import (
    is_number,
    items_of,
    mistaken,
    number_of,
    several_numbers,
    together,
    unconverted,
)
from sixfold.scalar.dual import Dual, differentiate
from sixfold.scalar.functions import (
    absolute,
    apply,
    atan2,
    cos,
    exp,
    if_positive,
    log,
    precision,
    register,
    sign,
    sin,
    sqrt,
    tanh,
)
from sixfold.scalar.ops import Op, Scalar
from sixfold.scalar.repeat import repeat
from sixfold.scalar.rules import RULES, Rule
from sixfold.scalar.subroutine import subroutine
from sixfold.scalar.sums import dot, positive, total
from sixfold.scalar.zero import ZERO, Zero, exact, is_one, is_plain, plain

__all__ = [
    "RULES",
    "ZERO",
    "Dual",
    "Op",
    "Rule",
    "Scalar",
    "Zero",
    "absolute",
    "apply",
    "atan2",
    "cos",
    "differentiate",
    "dot",
    "exact",
    "exp",
    "if_positive",
    "is_number",
    "is_one",
    "is_plain",
    "items_of",
    "log",
    "mistaken",
    "number_of",
    "plain",
    "positive",
    "precision",
    "register",
    "repeat",
    "several_numbers",
    "sign",
    "sin",
    "sqrt",
    "subroutine",
    "tanh",
    "together",
    "total",
    "unconverted",
]
