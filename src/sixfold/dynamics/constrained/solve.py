"""Constraint forces by the Delassus matrix G = J M^-1 J^T, with a fixed number of proximal steps.

With M = L^T D L and y_r = L^-T J_r^T, G_rs = y_r . D^-1 y_s: no inverse of M is formed, and a row
costs only the DOFs that support its bodies.  Redundant rows make G singular.  Proximal steps

    (G + mu 1) lam <- b + mu lam

(Carpentier, Budhiraja, Mansard, RSS 2021) converge for consistent rows whatever the rank: a part of
lam along an eigenvalue s is left with an error of (mu / (mu + s))^steps, and one along the null
space stays zero, so that lam has the least norm.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sixfold.dynamics.fast.factor import Factor
from sixfold.scalar import Scalar, Zero, dot, total
from sixfold.spatial import ldl, ldl_solve

# proximal steps; each takes a factor of mu / (mu + s) from the error along an eigenvalue s
STEPS = 3
# of the mean of G's diagonal. eps / MU is the accuracy along directions that are redundant,
# MU^STEPS = 1e-24 what three steps leave along a mean eigenvalue; one of 1e-4 of the mean is still
# solved to 1e-12.
MU = 1e-8


class Delassus:
    """G of some rows, factorised."""

    def __init__(self, factor: Factor, J: Iterable[Sequence[Scalar]]) -> None:
        """Take the factor of M and the rows over its DOFs."""
        self.factor = factor
        self.y: list[list[Scalar]] = []
        self.w: list[list[Scalar]] = []
        G: list[list[Scalar]] = []
        # row by row, each with the w of those before: a kernel then need not keep the y
        for row in J:
            y = factor.half(row)
            self.y.append(y)
            self.w.append(factor.scaled(y))
            G.append([dot(y, w) for w in self.w])
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

    def with_forces(self, z: Sequence[Scalar], lam: Sequence[Scalar]) -> list[Scalar]:
        """Return D^-1 L^-T (b + J^T lam) of z = L^-T b."""
        return _add_multiples(self.factor.scaled(z), lam, self.w)

    def with_constraints(self, z: Sequence[Scalar], asked: Sequence[Scalar]) -> list[Scalar]:
        """Return z = L^-T b with the forces added that give the rows the accelerations asked.

        With none asked it is what a force b does to a mechanism that keeps its constraints: the
        products y1 . D^-1 y2 of such columns are those of the constrained inverse of M.
        """
        pulls = self.along(z)
        return self.add_forces(z, self.solve([a - x for a, x in zip(asked, pulls, strict=True)]))

    def add_forces(self, z: Sequence[Scalar], lam: Sequence[Scalar]) -> list[Scalar]:
        """Return z + L^-T J^T lam."""
        return _add_multiples(z, lam, self.y)


def _add_multiples(
    z: Sequence[Scalar], lam: Sequence[Scalar], rows: Sequence[Sequence[Scalar]]
) -> list[Scalar]:
    """Return z plus multiples of rows."""
    found = list(z)
    for k in range(len(found)):  # each sum is finished before the next is begun
        for x, row in zip(lam, rows, strict=True):
            if not isinstance(row[k], Zero):
                found[k] = found[k] + row[k] * x
    return found
