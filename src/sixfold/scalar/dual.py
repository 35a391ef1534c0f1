"""Dual numbers: a value and its derivative along one direction, over any other kind of number.

Nesting gives higher derivatives.  Each differentiation has its own level, higher than any begun
before it, so that a number from an outer one is a constant to an inner one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from sixfold.scalar.operations import RULES, Op, Scalar, apply, precision, register
from sixfold.scalar.repeat import on_repeat, repeat
from sixfold.scalar.zero import ZERO, Zero


class Dual:
    """value + dot * epsilon, with epsilon^2 = 0."""

    __slots__ = ("dot", "level", "value")
    __array_ufunc__ = None

    def __init__(self, value: Scalar, dot: Scalar, level: int = 0) -> None:
        """Hold a value, its derivative, and the level of differentiation they belong to."""
        self.value, self.dot, self.level = value, dot, level

    def __add__(self, other: Any) -> Dual:
        """Add."""
        (x, dx), (y, dy), level = _pair(self, other)
        return Dual(x + y, dx + dy, level)

    def __radd__(self, other: Any) -> Dual:
        """Add."""
        return self + other

    def __sub__(self, other: Any) -> Dual:
        """Subtract."""
        (x, dx), (y, dy), level = _pair(self, other)
        return Dual(x - y, dx - dy, level)

    def __rsub__(self, other: Any) -> Dual:
        """Subtract."""
        return -self + other

    def __mul__(self, other: Any) -> Any:
        """Multiply: d(xy) = dx y + x dy."""
        if isinstance(other, Zero):
            return other
        (x, dx), (y, dy), level = _pair(self, other)
        return Dual(x * y, dx * y + x * dy, level)

    def __rmul__(self, other: Any) -> Any:
        """Multiply."""
        return self * other

    def __truediv__(self, other: Any) -> Dual:
        """Divide: d(x/y) = (dx - (x/y) dy) / y."""
        (x, dx), (y, dy), level = _pair(self, other)
        ratio = x / y
        return Dual(ratio, (dx - ratio * dy) / y, level)

    def __rtruediv__(self, other: Any) -> Dual:
        """Divide."""
        return Dual(other, ZERO, self.level) / self

    def __neg__(self) -> Dual:
        """Change the sign."""
        return Dual(-self.value, -self.dot, self.level)

    def __pow__(self, exponent: int) -> Dual:
        """Raise to a whole power."""
        if exponent == 0:
            return Dual(1.0, ZERO, self.level)
        power = self.value ** (exponent - 1)
        return Dual(power * self.value, exponent * power * self.dot, self.level)

    def __repr__(self) -> str:
        """Print as value + derivative."""
        return f"Dual({self.value!r}, {self.dot!r})"


def _pair(a: Any, b: Any) -> tuple[tuple[Any, Any], tuple[Any, Any], int]:
    level = max(x.level for x in (a, b) if isinstance(x, Dual))
    return _parts(a, level), _parts(b, level), level


def _parts(x: Any, level: int) -> tuple[Any, Any]:
    return (x.value, x.dot) if isinstance(x, Dual) and x.level == level else (x, ZERO)


def _apply(op: Op, *arguments: Any) -> Dual:
    level = max(x.level for x in arguments if isinstance(x, Dual))
    # the chain rule: sum of partial derivative times rate
    parts = [_parts(x, level) for x in arguments]
    values = [value for value, _ in parts]
    dot: Scalar = ZERO
    for partial, (_, rate) in zip(RULES[op].partials(*values), parts, strict=True):
        dot = dot + partial * rate
    return Dual(apply(op, *values), dot, level)


register(Dual, 10, _apply, lambda x: max(precision(x.value), precision(x.dot)), takes_arrays=True)


def _repeat(rounds: int, step: Callable[[Any], Any], carried: Any, _: int | None) -> Any:
    """Repeat a step on values and rates, whose own kind of number may record it.

    All rounds are run: a row that has ended keeps what it has.
    """
    level = max(_level(carried), default=-1)
    if level < 0:  # in arrays: round by round
        for _ in range(rounds):
            carried = step(carried)
        return carried

    def both(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        return _split(step(_join(*pair, level)), level)

    return _join(*repeat(rounds, both, _split(carried, level)), level)


def _level(carried: Any) -> Iterator[int]:
    if isinstance(carried, (tuple, list)):
        for x in carried:
            yield from _level(x)
    elif isinstance(carried, Dual):
        yield carried.level


def _split(carried: Any, level: int) -> tuple[Any, Any]:
    """Return values and rates of what is carried, each in its form."""
    if not isinstance(carried, (tuple, list)):
        return _parts(carried, level)
    parts = [_split(x, level) for x in carried]
    form = type(carried)
    return form(value for value, _ in parts), form(dot for _, dot in parts)


def _join(values: Any, dots: Any, level: int) -> Any:
    if not isinstance(values, (tuple, list)):
        return Dual(values, dots, level)
    return type(values)(_join(x, dx, level) for x, dx in zip(values, dots, strict=True))


on_repeat(Dual, _repeat)


_levels = count(1)


def differentiate(
    function: Callable[[tuple[Scalar, ...]], Sequence[Scalar]],
    at: Sequence[Scalar],
    along: Sequence[Scalar],
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Return the values of a function of several numbers and their rates along a direction."""
    level = next(_levels)
    results = function(tuple(Dual(x, dx, level) for x, dx in zip(at, along, strict=True)))
    parts = [_parts(x, level) for x in results]
    return tuple(value for value, _ in parts), tuple(dot for _, dot in parts)
