"""Constraint forces by the Delassus matrix G = J M^-1 J^T, with a fixed number of proximal steps.

With M = L^T D L and y_r = L^-T J_r^T, G_rs = y_r . D^-1 y_s: no inverse of M is formed, and a row
costs only the freedoms that support its bodies.  Redundant rows make G singular.  Proximal steps

    (G + mu 1) lam <- b + mu lam

(Carpentier, Budhiraja, Mansard, RSS 2021) converge for consistent rows whatever the rank: a part of
lam along an eigenvalue s is left with an error of (mu / (mu + s))^steps, and one along the null
space stays zero, so that lam has the least norm.
"""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.dynamics.fast.factor import Factor
from sixfold.scalar import ZERO, Scalar, Zero, dot
from sixfold.spatial import ldl_solve

STEPS = 3
"""Proximal steps; each takes a factor of mu / (mu + s) from the error along an eigenvalue s."""
MU = 1e-8
"""Of the mean of G's diagonal.  eps / MU is the accuracy along directions that are redundant,
MU^STEPS = 1e-24 what three steps leave along a mean eigenvalue; one of 1e-4 of the mean is still
solved to 1e-12."""


class Delassus:
    """G of some rows, factorised."""

    def __init__(self, factor: Factor, J: Sequence[Sequence[Scalar]]) -> None:
        """Take the factor of M and the rows over its freedoms."""
        self.factor = factor
        self.y = [factor.half(row) for row in J]
        self.w = [factor.scaled(y) for y in self.y]
        m = len(self.y)
        self.G: list[list[Scalar]] = [[ZERO] * m for _ in range(m)]
        for r in range(m):
            for s in range(r + 1):
                self.G[r][s] = self.G[s][r] = dot(self.y[r], self.w[s])
        trace: Scalar = ZERO
        for r in range(m):
            trace = trace + self.G[r][r]
        self.mu = trace * (MU / max(m, 1))
        self._factors = _ldl(self.G, self.mu)

    def along(self, z: Sequence[Scalar]) -> list[Scalar]:
        """Return J M^-1 b of z = L^-T b."""
        return [dot(w, z) for w in self.w]

    def solve(self, b: Sequence[Scalar], steps: int = STEPS) -> list[Scalar]:
        """Return lam with G lam = b, of least norm where rows are redundant."""
        lam: list[Scalar] = list(ldl_solve(*self._factors, b))
        for _ in range(steps - 1):
            kept = [x + self.mu * old for x, old in zip(b, lam, strict=True)]
            lam = list(ldl_solve(*self._factors, kept))
        return lam

    def pushed(self, z: Sequence[Scalar], lam: Sequence[Scalar]) -> list[Scalar]:
        """Return M^-1 (b + J^T lam) of z = L^-T b."""
        return self.factor.outward(self.factor.scaled(self._added(z, lam)))

    def held(self, z: Sequence[Scalar], asked: Sequence[Scalar]) -> list[Scalar]:
        """Return z = L^-T b with the forces added that give the rows the accelerations asked.

        With none asked it is what a force b does to a mechanism that keeps its constraints: the
        products y1 . D^-1 y2 of such columns are those of the constrained inverse of M.
        """
        pulls = self.along(z)
        return self._added(z, self.solve([a - x for a, x in zip(asked, pulls, strict=True)]))

    def _added(self, z: Sequence[Scalar], lam: Sequence[Scalar]) -> list[Scalar]:
        """Return z + L^-T J^T lam."""
        total = list(z)
        for x, y in zip(lam, self.y, strict=True):
            total = [t if isinstance(e, Zero) else t + e * x for t, e in zip(total, y, strict=True)]
        return total


def _ldl(G: Sequence[Sequence[Scalar]], mu: Scalar) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Return L and d of G + mu 1 = L diag(d) L^T.

    Each element is finished before the next is begun, so that its sum stays in a register.
    """
    m = len(G)
    L: list[list[Scalar]] = [[ZERO] * m for _ in range(m)]
    d: list[Scalar] = []
    for i in range(m):
        row: list[Scalar] = []  # of L diag(d)
        for j in range(i):
            x = G[i][j]
            for k in range(j):
                x = x - L[j][k] * row[k]
            row.append(x)
        pivot = G[i][i] + mu
        for j in range(i):
            L[i][j] = row[j] / d[j]
            pivot = pivot - L[i][j] * row[j]
        d.append(pivot)
    return L, d
