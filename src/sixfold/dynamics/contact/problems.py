"""The convex soft model as the solver sees it.

f = argmin over the cones of 1/2 f . (A + R) f - b . f
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sixfold.dynamics.contact.cones import Box, Cone, Push
from sixfold.dynamics.contact.matrices import Dense, Matrix, Numbers, times
from sixfold.scalar import ZERO, Scalar, dot

OVER_RELAXATION = 1.8

Round = Callable[[list[Scalar]], list[Scalar]]


class Problem:
    """A convex soft model with rows of its own."""

    penalty = 0.8
    """Penalty of ADMM over the mean of diag(A + R); as measured on states of a quadruped."""

    def __init__(
        self,
        R: list[Scalar],
        b: list[Scalar],
        cones: Sequence[Cone | Push | Box],
        sizes: Sequence[int],
        A: Matrix,
    ) -> None:
        """Take R for each row, the same for all rows of a cone, and the rows of each cone."""
        self.R, self.b, self.cones, self.sizes, self.A = R, b, cones, sizes, A
        self.starts = [sum(sizes[:k]) for k in range(len(sizes))]

    def project(self, z: Numbers) -> list[Scalar]:
        """Return the nearest forces of the cones."""
        return [x for cone, part in self.parts(z) for x in cone.project(part)]

    def parts(self, z: Numbers) -> list[tuple[Any, Numbers]]:
        """Return each cone with its part of z."""
        spans = zip(self.cones, self.starts, self.sizes, strict=True)
        return [(cone, z[start : start + n]) for cone, start, n in spans]

    def response(self, f: Numbers) -> list[Scalar]:
        """Return A f."""
        return times(self.A, f)

    def diagonal(self) -> list[Scalar]:
        """Return the diagonal of A."""
        return [row[k] for k, row in enumerate(self.A)]

    def round(self, rho: Scalar) -> Round:
        """Return a round of over-relaxed ADMM, in terms of w, the force before its projection f.

        w <- w + o (K^-1 (b + rho (2 f - w)) - f) with K = A + R + rho and o the over-relaxation
        (Boyd et al., 2011, section 3.4.3, with both of its variables in one).  Of K = L D L^T the
        inverse of L is taken: a triangular solve, whose steps wait for each other, is none.
        """
        n = len(self.b)
        K = [[self.A[i][j] if j <= i else ZERO for j in range(n)] for i in range(n)]
        for k in range(n):
            K[k][k] = K[k][k] + (self.R[k] + rho)
        factor = Dense(K)
        V = factor.inverse_factor()
        over = [x * OVER_RELAXATION for x in factor.over]
        firm = [x * rho for x in over]
        columns = [list(column) for column in zip(*V, strict=True)]
        given = times(columns, [x * y for x, y in zip(times(V, self.b), over, strict=True)])

        def around(w: list[Scalar]) -> list[Scalar]:
            f = self.project(w)
            turned = [2.0 * x - y for x, y in zip(f, w, strict=True)]
            inner = [x * y for x, y in zip(times(V, turned), firm, strict=True)]
            kept = [(y + c) - x * OVER_RELAXATION for y, c, x in zip(w, given, f, strict=True)]
            return [k + dot(column, inner) for k, column in zip(kept, columns, strict=True)]

        return around

    def newton(self, z: Numbers) -> list[Scalar]:
        """Return z after a step of Newton on R z + A project(z) = b; carriers have one."""
        return list(z)
