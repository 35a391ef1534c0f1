"""First derivatives of forward dynamics: those of inverse dynamics, solved with the sparse factor.

With M = L^T D L (RBDA section 6.5), d qdd/dq = -M^-1 d tau/dq and d qdd/dqd = -M^-1 d tau/dqd at
the accelerations of forward dynamics, and d qdd/dtau = M^-1: one solve for each column, no inverse.
A column of freedom c is zero but for the freedoms that support c and those that c supports; what a
limb beside them does follows from its trunk by one small matrix (`Factor.hanging`).  Some columns
of a floating base need no solve (`base_columns`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sixfold.dynamics.book.factorization import ltdl, path
from sixfold.model import Free
from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, Scalar, Zero, subroutine
from sixfold.spatial import IDENTITY3, Vector3

Matrix = list[list[Scalar]]


class Factor:
    """M = L^T D L of a tree, and what solves share."""

    def __init__(self, M: Matrix, parent: Sequence[int]) -> None:
        """Factorise; `parent` is `Tree.dof_parent`."""
        self.L, pivots = ltdl(M, parent)
        self.reciprocals = [1.0 / d for d in pivots]
        """Of the pivots D; computed once, for all solves."""
        self.paths = [tuple(path(parent, k)) for k in range(len(parent))]
        """The freedoms that support each one, nearest first."""
        self.n = len(parent)

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return x with M x = b; what is exactly zero in b costs nothing."""
        x = self._inward(b)
        for k in range(self.n):
            for i in self.paths[k]:
                x[k] = x[k] - self.L[k][i] * x[i]
        return x

    def column(self, c: int, b: Sequence[Scalar]) -> list[Scalar]:
        """Return x with M x = b for b that is zero beside freedom c's support and its subtree.

        Columns of one limb do the same operations, which a long program keeps once.
        """
        support = self.beside(c)

        def solve(given: Sequence[Scalar]) -> list[Scalar]:
            at = dict(zip(support, given, strict=True))
            x = self._inward([at.get(k, ZERO) for k in range(self.n)])
            return [self._outward(k, x, support) for k in range(self.n)]

        return list(subroutine(solve, [b[k] for k in support]))

    def beside(self, c: int) -> list[int]:
        """Return freedom c with those that support it and those that it supports."""
        return [k for k in range(self.n) if k == c or k in self.paths[c] or c in self.paths[k]]

    def _outward(self, k: int, x: list[Scalar], support: Sequence[int]) -> Scalar:
        """Solve for freedom k, after those that support it; put it in its place."""
        row = {i: self.L[k][i] for i in self.paths[k]}
        for i, factor in (row if k in support else self.hanging(k, support)).items():
            x[k] = x[k] - factor * x[i]
        return x[k]

    def inverse(self) -> Matrix:
        """Return M^-1: column by column, the rows behind the diagonal by symmetry."""
        found: Matrix = [[ZERO] * self.n for _ in range(self.n)]
        for c in range(self.n):
            x = self._inward([1.0 if k == c else ZERO for k in range(self.n)])
            support = self.beside(c)
            for k in range(c + 1):
                found[k][c] = found[c][k] = self._outward(k, x, support)
        return found

    def _inward(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return D^-1 L^-T b."""
        x = list(b)
        for k in reversed(range(self.n)):
            if not isinstance(x[k], Zero):
                for i in self.paths[k]:
                    x[i] = x[i] - self.L[k][i] * x[k]
        return [value * r for value, r in zip(x, self.reciprocals, strict=True)]

    def hanging(self, k: int, trunk: Sequence[int]) -> dict[int, Scalar]:
        """Return how freedom k, beside a trunk, gives way to the freedoms of the trunk below it."""
        below = tuple(i for i in self.paths[k] if i in trunk)
        if (k, below) not in self._hanging:
            rows = {i: self.hanging(i, trunk) for i in self.paths[k] if i not in trunk}
            row: dict[int, Scalar] = {}
            for t in below:
                row[t] = self.L[k][t]
                for i, other in rows.items():
                    row[t] = row[t] - self.L[k][i] * other[t]
            self._hanging[k, below] = row
        return self._hanging[k, below]

    @cached_property
    def _hanging(self) -> dict[tuple[int, tuple[int, ...]], dict[int, Scalar]]:
        return {}


def base_columns(tree: Tree, q: Table, qd: Table) -> tuple[dict[int, Vector3], dict[int, Vector3]]:
    """Return columns of d qdd/dq and d qdd/dqd that a floating base gives by itself.

    They hold three numbers: the rates of the base's own linear acceleration, in its axes; all else
    is zero.  Turning the base by e_t turns gravity, g x e_t for its axes; the base's position
    changes nothing, and its linear velocity enters as w x v.  So it is where no force on the base
    depends on them: no armature, damping, friction or spring, and no force fixed in the world.
    """
    if not tree.bodies:
        return {}, {}
    passive = (tree.armature, tree.damping, tree.friction, tree.friction_negative, tree.stiffness)
    alone = all(isinstance(x, Zero) for each in passive for x in each[1])
    if not isinstance(tree.joint[1], Free) or tree.parent[1] or not alone:
        return {}, {}
    w = Vector3(*qd[1][:3])
    g = (tree.joint[1].calc(q[1], qd[1]).XJ @ tree.Xtree[1]).E @ tree.gravity.lin
    still = Vector3(ZERO, ZERO, ZERO)
    by_q = {t: g.cross(e) for t, e in enumerate(IDENTITY3)} | dict.fromkeys((3, 4, 5), still)
    return by_q, {3 + t: -w.cross(e) for t, e in enumerate(IDENTITY3)}
