"""Elementary functions and control flow for numbers of any kind.

These are floats, NumPy arrays, SymPy expressions, MPFR numbers, and numbers in a function to
compile.

A control law, cost or custom joint written with them can be compiled. `math.sin` and `numpy.sin`
of arrays work too; `if_positive` takes the place of `if`, `repeat` of a long loop.
"""

from sixfold.scalar import atan2, cos, exp, if_positive, log, repeat, sign, sin, sqrt, tanh

__all__ = ["atan2", "cos", "exp", "if_positive", "log", "repeat", "sign", "sin", "sqrt", "tanh"]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
