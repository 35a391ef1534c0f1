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
from sixfold.scalar import Scalar, Zero, dot, total
from sixfold.spatial import ldl, ldl_solve

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
        G = [[dot(w, y) for y in self.y[: r + 1]] for r, w in enumerate(self.w)]
        self.mu = total(row[-1] for row in G) * (MU / max(len(G), 1))
        for row in G:
            row[-1] = row[-1] + self.mu
        self._factors = ldl(G)

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
        return self.factor.outward(self.factor.scaled(self.added(z, lam)))

    def held(self, z: Sequence[Scalar], asked: Sequence[Scalar]) -> list[Scalar]:
        """Return z = L^-T b with the forces added that give the rows the accelerations asked.

        With none asked it is what a force b does to a mechanism that keeps its constraints: the
        products y1 . D^-1 y2 of such columns are those of the constrained inverse of M.
        """
        pulls = self.along(z)
        return self.added(z, self.solve([a - x for a, x in zip(asked, pulls, strict=True)]))

    def added(self, z: Sequence[Scalar], lam: Sequence[Scalar]) -> list[Scalar]:
        """Return z + L^-T J^T lam."""
        total = list(z)
        for x, y in zip(lam, self.y, strict=True):
            total = [t if isinstance(e, Zero) else t + e * x for t, e in zip(total, y, strict=True)]
        return total
