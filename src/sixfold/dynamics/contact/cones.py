"""Sets that forces belong to: projections on them, and the slopes of the projections.

The slope of a projection on a convex set is symmetric with eigenvalues from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sixfold.scalar import Scalar, dot, if_positive, positive, sqrt

Numbers = Sequence[Scalar]
Line = Callable[[Scalar], tuple[Scalar, Scalar]]
"""Takes alpha; returns u . project(z + alpha u), and its derivative with respect to alpha."""
TINY = 1e-36
"""Added to a squared length [N^2], so that the direction of no force is a number; single precision
has it too."""


class Cone(NamedTuple):
    """Forces (n, t, s) with |(t, s)| <= mu n: Coulomb's law."""

    mu: Scalar

    def project(self, z: Numbers) -> list[Scalar]:
        """Return the nearest force of the cone."""
        n, t, s = z
        r = sqrt(t * t + s * s + TINY)
        slide = positive((n + r * self.mu) * (1.0 / (1.0 + self.mu * self.mu)))
        sticks = n * self.mu - r
        k = if_positive(sticks, 1.0, slide * self.mu / r)
        return [if_positive(sticks, n, slide), k * t, k * s]

    def slope(self, z: Numbers) -> list[list[Scalar]]:
        """Return the matrix: 1 inside; on the edge, along it whole and across it by k."""
        n, t, s = z
        r = sqrt(t * t + s * s + TINY)
        over = 1.0 / r
        t, s = t * over, s * over
        scale = 1.0 / (1.0 + self.mu * self.mu)
        slide = positive((n + r * self.mu) * scale)
        sticks, touches = n * self.mu - r, if_positive(slide, scale, 0.0)
        k = if_positive(sticks, 1.0, slide * self.mu * over)
        a = if_positive(sticks, 1.0, touches)
        b = if_positive(sticks, 0.0, touches * self.mu)
        c = if_positive(sticks, 0.0, touches * (self.mu * self.mu) - k)
        bt, bs, ct = b * t, b * s, c * t
        return [[a, bt, bs], [bt, ct * t + k, ct * s], [bs, ct * s, c * s * s + k]]

    def along(self, z: Numbers, u: Numbers) -> Line:
        """Return the force along a line, by the products of tangential parts alone."""
        n0, *t = z
        n1, *w = u
        tt, tw, ww = dot(t, t), dot(t, w), dot(w, w)
        mu, scale = self.mu, 1.0 / (1.0 + self.mu * self.mu)

        def at(alpha: Scalar) -> tuple[Scalar, Scalar]:
            inner = tw + alpha * ww
            r = sqrt(positive(tt + alpha * (tw + inner)) + TINY)
            n = n0 + alpha * n1
            slide = positive((n + mu * r) * scale)
            rate, k = inner / r, slide * mu / r
            sticks = mu * n - r
            outward = n1 + mu * rate
            curved = if_positive(slide, outward * outward * scale, 0.0) + k * (ww - rate * rate)
            return (
                if_positive(sticks, n * n1 + inner, slide * n1 + k * inner),
                if_positive(sticks, n1 * n1 + ww, curved),
            )

        return at


class Push(NamedTuple):
    """One force that can only push."""

    def project(self, z: Numbers) -> list[Scalar]:
        """Return the nearest force that is not negative."""
        return [positive(z[0])]

    def slope(self, z: Numbers) -> list[list[Scalar]]:
        """Return one number."""
        return [[if_positive(z[0], 1.0, 0.0)]]

    def along(self, z: Numbers, u: Numbers) -> Line:
        """Return the force along a line."""
        return _along(self, z, u)


class Box(NamedTuple):
    """One force between bounds."""

    lower: Scalar
    upper: Scalar

    def project(self, z: Numbers) -> list[Scalar]:
        """Return the nearest force within the bounds."""
        below = if_positive(z[0] - self.lower, z[0], self.lower)
        return [if_positive(self.upper - below, below, self.upper)]

    def slope(self, z: Numbers) -> list[list[Scalar]]:
        """Return one number."""
        return [[if_positive(z[0] - self.lower, if_positive(self.upper - z[0], 1.0, 0.0), 0.0)]]

    def along(self, z: Numbers, u: Numbers) -> Line:
        """Return the force along a line."""
        return _along(self, z, u)


def _along(cone: Push | Box, z: Numbers, u: Numbers) -> Line:
    def at(alpha: Scalar) -> tuple[Scalar, Scalar]:
        (x,) = z
        moved = [x + alpha * u[0]]
        return cone.project(moved)[0] * u[0], cone.slope(moved)[0][0] * (u[0] * u[0])

    return at
