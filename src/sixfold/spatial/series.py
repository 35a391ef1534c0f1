"""Power series for small angles, with as many terms as the precision of a number asks for.

A quotient such as sin(x) / x is 0 / 0 at zero and its derivatives lose digits near it.  There a
power series in the squared angle takes its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import comb, factorial, inf
from typing import TYPE_CHECKING, NamedTuple

from sixfold.forks import lazily
from sixfold.scalar import Scalar, precision

if TYPE_CHECKING:
    from fractions import Fraction

_DOUBLE = 53  # bits


class Series(NamedTuple):
    """The sum of coefficient(j) x^j."""

    coefficient: Callable[[int], Fraction]
    below: float
    """Squared angle below which the series is used on numbers of finite precision."""
    terms: int
    """How many terms a double needs there."""

    def beyond(self, x: Scalar) -> Scalar:
        """Return a number that is positive where the quotient is to be used.

        Exact numbers use the quotient everywhere but at zero.
        """
        return x if precision(x) == inf else x - self.below

    def value(self, x: Scalar) -> Scalar:
        """Return the sum of as many terms as the precision of x asks for."""
        bits = precision(x)
        (top, bottom), *rest = _coefficients(self, bits)
        if bits <= _DOUBLE:
            total: Scalar = top / bottom
        else:  # one rounding, and to the precision of x
            total = (x * 0 + top) / bottom
        power = None
        for top, bottom in rest:
            power = x if power is None else power * x
            size = abs(top)
            term = (power if size == 1 else power * size) / bottom
            total = total + term if top > 0 else total - term
        return total


@lru_cache(maxsize=256)
def _coefficients(series: Series, bits: float) -> tuple[tuple[int, int], ...]:
    """Return fractions of as many terms as leave less than the last bit, in second derivatives too.

    Exact numbers use the series at zero alone.
    """
    n = series.terms
    if _DOUBLE < bits < inf:
        x, last = _over(series.below), abs(series.coefficient(0)) / 2 ** (int(bits) + 4)
        while abs(series.coefficient(n)) * n * n * x ** (n - 2) > last:
            n += 1
    fractions = map(series.coefficient, range(n))
    return tuple((c.numerator, c.denominator) for c in fractions)


def _over(top: float, bottom: int = 1) -> Fraction:
    """Return a fraction; its module is imported with the first."""
    found: Fraction = lazily("fractions").Fraction(top) / bottom
    return found


def _alternating(size: Callable[[int], Fraction]) -> Callable[[int], Fraction]:
    return lambda j: (-1) ** j * size(j)


@lru_cache(maxsize=256)
def _bernoulli(n: int) -> Fraction:
    if n == 0:
        return _over(1)
    return -sum((comb(n + 1, k) * _bernoulli(k) for k in range(n)), _over(0)) / (n + 1)


COS_HALF = Series(_alternating(lambda j: _over(1, 4**j * factorial(2 * j))), 1e-6, 3)
"""cos(t / 2), of t^2."""
SIN_HALF = Series(_alternating(lambda j: _over(1, 2 * 4**j * factorial(2 * j + 1))), 1e-6, 3)
"""sin(t / 2) / t, of t^2."""
ONE_LESS_COS = Series(_alternating(lambda j: _over(1, factorial(2 * j + 2))), 1e-6, 3)
"""(1 - cos t) / t^2, of t^2."""
ANGLE_LESS_SIN = Series(_alternating(lambda j: _over(1, factorial(2 * j + 3))), 1e-2, 5)
"""(t - sin t) / t^3, of t^2."""
ONE_LESS_COT = Series(lambda j: abs(_bernoulli(2 * j + 2)) / factorial(2 * j + 2), 1e-2, 5)
"""(1 - (t / 2) cot(t / 2)) / t^2, of t^2."""
TWICE_ATAN = Series(_alternating(lambda j: _over(2, 2 * j + 1)), 1e-6, 3)
"""2 atan(x) / x, of x^2."""
