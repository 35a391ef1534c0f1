"""Numbers that remember how large the terms were that they are the sum of.

`size` is what the same operations give when every term is taken positive.  Rounding each operation
once, in whatever order they are done, changes the result by eps x size x the number of roundings
that a term goes through: no evaluation of the rounded constants can be held to less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.scalar import RULES, Op, Zero, plain, register

NUMBERS = (int, float, np.floating, Zero)


class Sized:
    """A float with the size of its terms."""

    __slots__ = ("size", "value")

    def __init__(self, value: float, size: float | None = None) -> None:
        """Take a value; by itself it is as large as it is."""
        self.value = float(value)
        self.size = abs(self.value) if size is None else size

    def __add__(self, other: Any) -> Any:
        """Add values and sizes."""
        if not isinstance(other, (Sized, *NUMBERS)):
            return NotImplemented
        if isinstance(other, Zero):
            return self
        other = _sized(other)
        return Sized(self.value + other.value, self.size + other.size)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        """Subtract values, add sizes."""
        if not isinstance(other, (Sized, *NUMBERS)):
            return NotImplemented
        return self if isinstance(other, Zero) else self + -_sized(other)

    def __rsub__(self, other: Any) -> Any:
        """Subtract values, add sizes."""
        return -self + other

    def __mul__(self, other: Any) -> Any:
        """Multiply values and sizes."""
        if not isinstance(other, (Sized, *NUMBERS)):
            return NotImplemented
        if isinstance(other, Zero):
            return other
        other = _sized(other)
        return Sized(self.value * other.value, self.size * other.size)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        """Divide by a number without terms, such as the square of a quaternion's length."""
        if not isinstance(other, (Sized, *NUMBERS)):
            return NotImplemented
        other = _sized(other)
        return Sized(self.value / other.value, self.size / abs(other.value))

    def __rtruediv__(self, other: Any) -> Any:
        """Divide."""
        return _sized(other) / self

    def __neg__(self) -> Sized:
        """Change the sign of the value."""
        return Sized(-self.value, self.size)

    def __abs__(self) -> Sized:
        """Take the value positive."""
        return Sized(abs(self.value), self.size)

    def __eq__(self, other: object) -> bool:
        """Compare values."""
        return bool(self.value == _sized(other).value)

    def __gt__(self, other: Any) -> bool:
        """Compare values."""
        return bool(self.value > _sized(other).value)

    def __le__(self, other: Any) -> bool:
        """Compare values."""
        return bool(self.value <= _sized(other).value)

    def __hash__(self) -> int:
        """Hash as the value does."""
        return hash(self.value)

    def __float__(self) -> float:
        """Return the value."""
        return self.value


def _sized(x: Any) -> Sized:
    return x if isinstance(x, Sized) else Sized(plain(x))


def _apply(op: Op, *arguments: Any) -> Sized:
    return Sized(RULES[op].value(*(_sized(x).value for x in arguments)))


register(Sized, 1, _apply)


def size_of(x: Any) -> float:
    """Return the size of a result."""
    return _sized(x).size
