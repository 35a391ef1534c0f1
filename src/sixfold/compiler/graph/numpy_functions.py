"""NumPy's functions on traced numbers: those of the table of operations, and others made of them.

NumPy asks the elements of an object array for most functions by name; `Node` has a method for each.
Some it computes by comparing, and some it asks of the first argument only, be it a plain number:
`TracedArray` hands those over itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.compiler.graph.build import Node
from sixfold.scalar import (
    RULES,
    Op,
    absolute,
    apply,
    atan2,
    cos,
    exp,
    if_positive,
    log,
    sign,
    sin,
    sqrt,
    tanh,
)


def _cosh(x: Any) -> Any:
    return 0.5 * (exp(x) + exp(-x))


def _other_leg(x: Any) -> Any:
    """Return the other leg of a right triangle with hypotenuse 1."""
    return sqrt((1.0 - x) * (1.0 + x))


def _log1p(x: Any) -> Any:
    """Return log(1 + x), right to the last digits for small x: Kahan's correction by x / d."""
    # x log(1 + x) / ((1 + x) - 1) with the rounded sum in both
    one = 1.0 + x
    rounded = one - 1.0  # x as the sum has it
    size = absolute(rounded)
    return if_positive(size, log(one) * (x / if_positive(size, rounded, 1.0)), x)


def _arcsinh(x: Any) -> Any:
    a = absolute(x)
    return sign(x) * _log1p(a + a * a / (1.0 + sqrt(a * a + 1.0)))


def _arccosh(x: Any) -> Any:
    more = x - 1.0
    return _log1p(more + sqrt(more * (x + 1.0)))


def _maximum(x: Any, y: Any) -> Any:
    return if_positive(x - y, x, y)


def _minimum(x: Any, y: Any) -> Any:
    return if_positive(x - y, y, x)


#: Functions of NumPy that are made of the operations in the table.
COMPOSED: dict[str, Callable[..., Any]] = {
    "tan": lambda x: sin(x) / cos(x),
    "arctan": lambda x: atan2(x, 1.0),
    "arcsin": lambda x: atan2(x, _other_leg(x)),
    "arccos": lambda x: atan2(_other_leg(x), x),
    "cosh": _cosh,
    "sinh": lambda x: tanh(x) * _cosh(x),
    "arcsinh": _arcsinh,
    "arccosh": _arccosh,
    "arctanh": lambda x: 0.5 * _log1p(2.0 * x / (1.0 - x)),
    "exp2": lambda x: exp(x * math.log(2.0)),
    "expm1": lambda x: tanh(0.5 * x) * (exp(x) + 1.0),
    "log2": lambda x: log(x) / math.log(2.0),
    "log10": lambda x: log(x) / math.log(10.0),
    "log1p": _log1p,
    "hypot": lambda x, y: sqrt(x * x + y * y),
    "fabs": absolute,
    "deg2rad": lambda x: x * (math.pi / 180.0),
    "radians": lambda x: x * (math.pi / 180.0),
    "rad2deg": lambda x: x * (180.0 / math.pi),
    "degrees": lambda x: x * (180.0 / math.pi),
    "maximum": _maximum,
    "minimum": _minimum,
    "clip": lambda x, low, high: _minimum(_maximum(x, low), high),
}

#: Operations that Python has operators for; NumPy uses those.
_OPERATORS = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.NEG, Op.ABS)

#: All functions of NumPy that traced numbers have, by name.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    row.numpy: partial(apply, op) for op, row in RULES.items() if row.numpy and op not in _OPERATORS
} | COMPOSED


def _method(name: str) -> Callable[..., Any]:
    def method(*arguments: Any) -> Any:
        return FUNCTIONS[name](*arguments)

    method.__name__, method.__doc__ = name, f"Trace NumPy's function '{name}'."
    return method


for _name in FUNCTIONS:
    setattr(Node, _name, _method(_name))


class TracedArray(np.ndarray[Any, np.dtype[Any]]):
    """An object array of traced numbers, on which all functions above work."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Trace a function of NumPy, element by element."""
        # as plain object arrays, so that NumPy does not come back here
        plain = [x.view(np.ndarray) if isinstance(x, TracedArray) else x for x in inputs]
        function = FUNCTIONS.get(ufunc.__name__)
        out = options.get("out")
        if out is not None:
            options["out"] = tuple(
                x.view(np.ndarray) if isinstance(x, TracedArray) else x for x in out
            )
        if method == "__call__" and function is not None:
            ufunc = np.frompyfunc(function, len(inputs), 1)
        found = getattr(ufunc, method)(*plain, **options)
        if out is not None:
            return out[0] if len(out) == 1 else out
        return found.view(TracedArray) if isinstance(found, np.ndarray) else found


def traced_array(values: list[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return traced numbers as an array."""
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape).view(TracedArray)
