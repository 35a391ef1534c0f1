"""The convex soft model as the solver sees it, with one matrix or with carriers.

    f = argmin over the cones of 1/2 f . (A + R) f - b . f

With carriers A = P G P^T: many points of one body act on it by one force and one moment, so that
G, the response of the carriers, is smaller than A, and P has three numbers in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from sixfold.dynamics.contact.cones import Box, Cone, Push
from sixfold.dynamics.contact.matrices import (
    Dense,
    Matrix,
    Numbers,
    symmetric,
    times,
    transposed_times,
)
from sixfold.scalar import ZERO, Scalar, dot, total

OVER_RELAXATION = 1.8
TINY = 1e-13
"""Part of the mean response that is added to that of each carrier, which may be none."""

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
        return [x for cone, part in self._parts(z) for x in cone.project(part)]

    def _parts(self, z: Numbers) -> list[tuple[Any, Numbers]]:
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

        A reflection at the cones and products with L^-1 of A + R + rho = L D L^T and its transpose:
        no triangular solve, whose steps wait for each other.
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
            turned = self.reflect(w)
            inner = [x * y for x, y in zip(times(V, turned), firm, strict=True)]
            kept = [
                y * (1.0 - 0.5 * OVER_RELAXATION) + c - s * (0.5 * OVER_RELAXATION)
                for y, c, s in zip(w, given, turned, strict=True)
            ]
            return [k + dot(column, inner) for k, column in zip(kept, columns, strict=True)]

        return around

    def reflect(self, w: Numbers) -> list[Scalar]:
        """Return 2 f - w."""
        return [2.0 * x - y for x, y in zip(self.project(w), w, strict=True)]

    def newton(self, z: Numbers) -> list[Scalar]:
        """Return z after a step of Newton on R z + A project(z) = b; carriers have one."""
        return list(z)


class Carried(Problem):
    """A convex soft model with carriers."""

    penalty = 0.2
    """As measured on states of a humanoid with flat feet."""

    def __init__(
        self,
        R: list[Scalar],
        b: list[Scalar],
        cones: Sequence[Cone | Push | Box],
        sizes: Sequence[int],
        P: Matrix,
        G: Matrix,
    ) -> None:
        """Take the carriers of each row, and the response of the carriers."""
        super().__init__(R, b, cones, sizes, [])
        n = len(G)
        few = total([G[k][k] for k in range(n)]) * (TINY / n)
        self.P, self.G = P, symmetric(n, lambda i, j: G[i][j] + few if i == j else G[i][j])

    @cached_property
    def factor(self) -> Dense:
        """G = L D L^T."""
        return Dense(self.G)

    def response(self, f: Numbers) -> list[Scalar]:
        """Return A f."""
        return times(self.P, times(self.G, transposed_times(self.P, f)))

    def diagonal(self) -> list[Scalar]:
        """Return the diagonal of A."""
        return [dot(row, times(self.G, row)) for row in self.P]

    def _stiffened(self, weights: Sequence[Matrix]) -> Dense:
        """Return D^-1 + L^T P^T W P L, factorised; W has a block for each cone."""
        n, L = len(self.G), self.factor.L
        H: Matrix = [[ZERO] * n for _ in range(n)]
        for start, W in zip(self.starts, weights, strict=True):
            rows = self.P[start : start + len(W)]
            WP = [[dot(w, column) for column in zip(*rows, strict=True)] for w in W]
            for i in range(n):
                left = [row[i] for row in rows]
                for j in range(i + 1):
                    H[i][j] = H[i][j] + dot(left, [row[j] for row in WP])
        whole = symmetric(n, lambda i, j: H[i][j])
        columns = [[row[k] for row in L] for k in range(n)]
        HL = [times(whole, column) for column in columns]

        def element(i: int, j: int) -> Scalar:
            x = dot(columns[i], HL[j])
            return x + self.factor.over[i] if i == j else x

        return Dense(symmetric(n, element))

    def round(self, rho: Scalar) -> Round:
        """Return a round of ADMM; its matrix is inverted in the space of carriers (Woodbury)."""
        E = [1.0 / (r + rho) for r in self.R]
        L = self.factor.L
        weights = [
            [[E[start] if i == j else ZERO for j in range(size)] for i in range(size)]
            for start, size in zip(self.starts, self.sizes, strict=True)
        ]
        inner = self._stiffened(weights)
        V = inner.inverse_factor()

        def shared(x: Numbers) -> list[Scalar]:
            """Return L (L^T P^T E^-1 P L + D^-1)^-1 L^T x."""
            y = times(V, transposed_times(L, x))
            y = [a * d for a, d in zip(y, inner.over, strict=True)]
            return times(L, transposed_times(V, y))

        def around(w: list[Scalar]) -> list[Scalar]:
            turned = self.reflect(w)
            g = [(rho * s + c) * e for s, c, e in zip(turned, self.b, E, strict=True)]
            back = times(self.P, shared(transposed_times(self.P, g)))
            x = [y - e * d for y, e, d in zip(g, E, back, strict=True)]
            kept = [
                y * (1.0 - 0.5 * OVER_RELAXATION) - s * (0.5 * OVER_RELAXATION)
                for y, s in zip(w, turned, strict=True)
            ]
            return [k + y * OVER_RELAXATION for k, y in zip(kept, x, strict=True)]

        return around

    def newton(self, z: Numbers) -> list[Scalar]:
        """Return z after a step of Newton on R z + A project(z) = b.

        With W the slope of the projection over R, the carriers move by c = L s with
        (D^-1 + L^T P^T W P L) s = L^T P^T (f + W (b - R z)): a symmetric positive matrix.
        """
        L = self.factor.L
        weights, t = [], []
        for (cone, part), start in zip(self._parts(z), self.starts, strict=True):
            r = self.R[start]
            over = 1.0 / r
            W = [[x * over for x in row] for row in cone.slope(part)]
            rest = [self.b[start + k] - r * y for k, y in enumerate(part)]
            t += [x + dot(row, rest) for x, row in zip(cone.project(part), W, strict=True)]
            weights.append(W)
        s = self._stiffened(weights).solve(transposed_times(L, transposed_times(self.P, t)))
        c = times(self.P, times(L, s))
        return [(x - y) / r for x, y, r in zip(self.b, c, self.R, strict=True)]
