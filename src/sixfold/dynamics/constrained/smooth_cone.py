"""One contact of Coulomb's law with the cone |p_t| <= p_n: its projection, smooth and sharp.

A cone has two eigenvalues, x_n + |x_t| and x_n - |x_t|, along (1, e) and (1, -e) with e the
direction of x_t.  Its projection P takes the positive part of both; with
(x + sqrt(x^2 + 4 s^2)) / 2 in its place it is smooth (Fukushima, Luo and Tseng, Smoothing functions
for second-order-cone complementarity problems, SIAM Journal on Optimization 12(2), 2002).
"""

from __future__ import annotations

from typing import NamedTuple

from sixfold.scalar import Scalar, absolute, dot, if_positive, sqrt

Vector = list[Scalar]
Matrix = list[list[Scalar]]
TINY = 1e-36
"""Added to a squared length, so that roots and the direction of nothing are numbers."""


class Block(NamedTuple):
    """What one contact gives to a Newton step."""

    inverse: Matrix
    """E^-1 C."""
    right: Vector
    """E^-1 r."""


def newton_block(p: Vector, u: Vector, s: Scalar, blur: Scalar, proximal: float) -> Block:
    """Linearise p = P(p - w): E = 1 - P' + proximal, C = P' dw/du, r = P - p."""
    if len(p) == 1:
        f, _, slope, rest = _positive(p[0] - u[0], s)
        over = 1.0 / (rest + proximal)
        return Block([[slope * over]], [(f - p[0]) * over])
    speed = sqrt(u[1] * u[1] + u[2] * u[2] + blur * blur + TINY)
    x = [p[0] - u[0] - speed, p[1] - u[1], p[2] - u[2]]
    length = sqrt(x[1] * x[1] + x[2] * x[2] + TINY)
    e = [x[1] / length, x[2] / length]
    high, below_high, slope_high, rest_high = _positive(x[0] + length, s)
    low, below_low, slope_low, rest_low = _positive(x[0] - length, s)
    half = 0.5 / length
    slope_across = (high - low) * half
    rest_across = (below_low - below_high) * half
    f = [0.5 * (high + low), 0.5 * (high - low) * e[0], 0.5 * (high - low) * e[1]]
    over = [1.0 / (rest + proximal) for rest in (rest_high, rest_low, rest_across)]
    inverse = _symmetric(over[0], over[1], over[2], e)
    ratio = _symmetric(slope_high * over[0], slope_low * over[1], slope_across * over[2], e)
    d = [u[1] / speed, u[2] / speed]
    return Block(
        [[row[0], row[0] * d[0] + row[1], row[0] * d[1] + row[2]] for row in ratio],
        [dot(row, [y - x for x, y in zip(p, f, strict=True)]) for row in inverse],
    )


def _positive(x: Scalar, s: Scalar) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Return the smooth positive parts of x and -x and their slopes, without cancellation."""
    root = sqrt(x * x + 4.0 * s * s + TINY)
    large = 0.5 * (root + absolute(x))
    small = s * s / large
    value, other = if_positive(x, large, small), if_positive(x, small, large)
    return value, other, value / root, other / root


def _symmetric(high: Scalar, low: Scalar, across: Scalar, e: Vector) -> Matrix:
    """Return the matrix with eigenvalues high and low along (1, e) and (1, -e), and across e."""
    a, c = 0.5 * (high + low), 0.5 * (high - low)
    t, s = e
    return [
        [a, c * t, c * s],
        [c * t, a * t * t + across * s * s, (a - across) * t * s],
        [c * s, (a - across) * t * s, a * s * s + across * t * t],
    ]


def shifted(p: Vector, u: Vector) -> Vector:
    """Return p - w."""
    if len(p) == 1:
        return [p[0] - u[0]]
    speed = sqrt(u[1] * u[1] + u[2] * u[2] + TINY)
    return [p[0] - u[0] - speed, p[1] - u[1], p[2] - u[2]]


def project(x: Vector) -> Vector:
    """Return the nearest point of |x_t| <= x_n, or of x_n >= 0."""
    if len(x) == 1:
        return [if_positive(x[0], x[0], 0.0)]
    length = sqrt(x[1] * x[1] + x[2] * x[2] + TINY)
    edge = 0.5 * (x[0] + length)
    edge = if_positive(edge, edge, 0.0)
    inside = x[0] - length
    k = if_positive(inside, 1.0, edge / length)
    return [if_positive(inside, x[0], edge), k * x[1], k * x[2]]
