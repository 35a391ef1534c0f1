"""Elementary functions and control flow for any kind of number: floats, arrays, symbols, graphs.

A control law, cost or custom joint written with them can be compiled. `math.sin` and `numpy.sin`
of arrays work too; `if_positive` takes the place of `if`, `repeat` of a long loop.
"""

from sixfold.scalar import atan2, cos, exp, if_positive, log, repeat, sign, sin, sqrt, tanh

__all__ = ["atan2", "cos", "exp", "if_positive", "log", "repeat", "sign", "sin", "sqrt", "tanh"]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
