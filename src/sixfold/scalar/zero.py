"""The number that is known to be zero: products with it vanish and sums with it are free."""

from __future__ import annotations

from typing import Any


class Zero:
    """An exact zero.  Arithmetic with it costs nothing, with any other number."""

    __slots__ = ()
    __array_ufunc__ = None  # arrays leave the operation to us

    def __add__(self, other: Any) -> Any:
        """0 + x = x."""
        return other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """0 - x = -x."""
        return -other

    def __rsub__(self, other: Any) -> Any:
        """X - 0 = x."""
        return other

    def __mul__(self, other: Any) -> Zero:
        """0 x = 0."""
        return self

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Zero:
        """0 / x = 0 for any x."""
        if isinstance(other, Zero):
            raise ZeroDivisionError("an exact zero divided by an exact zero")
        return self

    def __rtruediv__(self, other: Any) -> Any:
        """X / 0 is an error: the divisor is zero for every value of its inputs."""
        raise ZeroDivisionError("division by an exact zero")

    def __pow__(self, exponent: Any) -> Any:
        """0 ** n."""
        return self if exponent > 0 else 0.0**exponent

    def __neg__(self) -> Zero:
        """-0 = 0."""
        return self

    def __pos__(self) -> Zero:
        """+0 = 0."""
        return self

    def __abs__(self) -> Zero:
        """|0| = 0."""
        return self

    def __eq__(self, other: object) -> bool:
        """Equal to every plain zero."""
        return isinstance(other, Zero) or bool(other == 0.0)

    def __lt__(self, other: Any) -> bool:
        """0 < x."""
        return bool(other > 0.0)

    def __le__(self, other: Any) -> bool:
        """0 <= x."""
        return bool(other >= 0.0)

    def __gt__(self, other: Any) -> bool:
        """0 > x."""
        return bool(other < 0.0)

    def __ge__(self, other: Any) -> bool:
        """0 >= x."""
        return bool(other <= 0.0)

    def __hash__(self) -> int:
        """Hash as the number does."""
        return hash(0.0)

    def __bool__(self) -> bool:
        """Zero is false."""
        return False

    def __float__(self) -> float:
        """Return 0.0."""
        return 0.0

    def _sympy_(self) -> Any:
        """Let SymPy see its own zero."""
        from sympy import Integer

        return Integer(0)

    def __repr__(self) -> str:
        """Print as the digit."""
        return "0"

    def __format__(self, spec: str) -> str:
        """Format as 0.0 does, or print as the digit without a format."""
        return format(0.0, spec) if spec else repr(self)

    def __reduce__(self) -> str:
        """Pickle as the one exact zero."""
        return "ZERO"


ZERO = Zero()


def exact(x: Any) -> Any:
    """Return ZERO for a plain number that is zero, and the number itself otherwise."""
    return ZERO if isinstance(x, (int, float)) and x == 0 else x


def is_plain(*values: Any) -> bool:
    """Return whether values are plain numbers or exact zeros, not arrays or symbols."""
    return all(isinstance(x, (int, float, Zero)) for x in values)


def is_one(x: Any) -> bool:
    """Return whether a number is exactly one for every input of a program."""
    value = x if isinstance(x, (int, float)) else getattr(x, "constant_value", None)
    return isinstance(value, (int, float)) and value == 1


def plain(x: Any) -> Any:
    """Return 0.0 for an exact zero, and the number itself otherwise."""
    return 0.0 if isinstance(x, Zero) else x
