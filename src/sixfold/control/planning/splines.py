"""Splines through waypoints that are as smooth as can be: least squared jerk, or acceleration.

Among all motions through the waypoints at given times that rest at both ends, the one with the
least integral of the squared k-th derivative is a spline of degree 2 k - 1 with 2 k - 2 continuous
derivatives.  On a segment it is the polynomial with given derivatives at both ends; the integral is
a quadratic form in them, and the free ones are where it is least: one linear system.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, perm

import numpy as np

from sixfold.arrays import Array


@dataclass(frozen=True, eq=False)
class Spline:
    """A function of s in [0, 1] with values in configuration space."""

    knots: Array
    """Shape (n,), from 0 to 1."""
    coefficients: Array
    """Of powers of s - knot, lowest first, shape (n - 1, 2 k, nq)."""

    def __call__(self, s: Array, derivative: int = 0) -> Array:
        """Return a derivative by s, shape (len(s), nq)."""
        place = np.clip(np.searchsorted(self.knots, s, side="right") - 1, 0, len(self.knots) - 2)
        x = (s - self.knots[place])[:, None]
        total = np.zeros((len(s), self.coefficients.shape[-1]))
        for power in reversed(range(derivative, self.coefficients.shape[1])):
            total = total * x + perm(power, derivative) * self.coefficients[place, power]
        return total


def smoothest_spline(knots: Array, points: Array, order: int) -> Spline:
    """Return the spline with the least integral of the squared derivative of an order.

    Args:
        knots: values of s, increasing from 0 to 1, shape (n,).
        points: where it passes, shape (n, nq).
        order: 2 for the least acceleration, 3 for the least jerk.
    """
    n, k = len(knots), order
    steps = np.diff(knots)
    from_ends = [np.linalg.inv(_ends(h, k)) for h in steps]
    # derivatives 0 ... k - 1 at all knots; the values and all at both ends are known
    H = np.zeros((n * k, n * k))
    for i, (h, C) in enumerate(zip(steps, from_ends, strict=True)):
        part = slice(i * k, (i + 2) * k)
        H[part, part] += C.T @ _squared(h, k) @ C
    x = np.zeros((n * k, points.shape[1]))
    x[::k] = points
    free = np.array([i * k + d for i in range(1, n - 1) for d in range(1, k)], int)
    x[free] = np.linalg.solve(H[np.ix_(free, free)], -H[free] @ x)
    rows = [C @ x[i * k : (i + 2) * k] for i, C in enumerate(from_ends)]
    return Spline(knots, np.array(rows))


def _ends(h: float, k: int) -> Array:
    """Return the matrix from coefficients to derivatives 0 ... k - 1 at 0 and at h."""
    top = np.zeros((k, 2 * k))
    top[range(k), range(k)] = [factorial(d) for d in range(k)]
    end = [[perm(p, d) * h ** (p - d) if p >= d else 0.0 for p in range(2 * k)] for d in range(k)]
    return np.vstack([top, end])


def _squared(h: float, k: int) -> Array:
    """Return the integral of the squared k-th derivative as a quadratic form in coefficients."""
    Q = np.zeros((2 * k, 2 * k))
    for i in range(k, 2 * k):
        for j in range(k, 2 * k):
            power = i + j - 2 * k + 1
            Q[i, j] = perm(i, k) * perm(j, k) * h**power / power
    return Q
