"""The convex soft model with carriers: many points of one body.

They act on it by one force and one moment: A = P G P^T, where G, the response of the carriers, is
smaller than A, and P has three numbers in a row.  What is inverted is of the size of G (Woodbury).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sixfold.dynamics.contact.cones import Box, Cone, Push
from sixfold.dynamics.contact.matrices import (
    Dense,
    Matrix,
    Numbers,
    symmetric,
    times,
    transposed_times,
)
from sixfold.dynamics.contact.problems import OVER_RELAXATION, Problem, Round
from sixfold.scalar import ZERO, Scalar, dot, total

TINY = 1e-13
"""Part of the mean response that is added to that of each carrier, which may be none."""


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
            f = self.project(w)
            turned = [2.0 * x - y for x, y in zip(f, w, strict=True)]
            g = [(rho * s + c) * e for s, c, e in zip(turned, self.b, E, strict=True)]
            back = times(self.P, shared(transposed_times(self.P, g)))
            x = [y - e * d for y, e, d in zip(g, E, back, strict=True)]
            return [z + (y - p) * OVER_RELAXATION for z, y, p in zip(w, x, f, strict=True)]

        return around

    def newton(self, z: Numbers) -> list[Scalar]:
        """Return z after a step of Newton on R z + A project(z) = b.

        With W the slope of the projection over R, the carriers move by c = L s with
        (D^-1 + L^T P^T W P L) s = L^T P^T (f + W (b - R z)): a symmetric positive matrix.
        """
        L = self.factor.L
        weights, t = [], []
        for (cone, part), start in zip(self.parts(z), self.starts, strict=True):
            r = self.R[start]
            over = 1.0 / r
            W = [[x * over for x in row] for row in cone.slope(part)]
            rest = [self.b[start + k] - r * y for k, y in enumerate(part)]
            t += [x + dot(row, rest) for x, row in zip(cone.project(part), W, strict=True)]
            weights.append(W)
        s = self._stiffened(weights).solve(transposed_times(L, transposed_times(self.P, t)))
        c = times(self.P, times(L, s))
        return [(x - y) / r for x, y, r in zip(self.b, c, self.R, strict=True)]
