"""The sparse factor of the mass matrix, M = L^T D L (RBDA section 6.5), and what shares it.

`Factor` is made from M.  For the joint velocities that constraint rows act on, `eliminate` makes it
without M, by articulated bodies.  The trunk is every body between the base and a body that a
row acts on; limbs hang from it.  A force on the trunk moves limbs only through the body that
carries them, so limbs are eliminated by the articulated-body recursion alone, and L is formed for
the trunk.  Joint velocity by joint velocity, from the tips to the base,

    U_k = IA S_k,     D_k = S_k . U_k,     L_kj = S_j . U_k / D_k  for each j that supports k,

which is the factor of `book.factorization.ltdl` without the mass matrix (Rodriguez, Jain and
Kreutz-Delgado, A Spatial Operator Algebra for Manipulator Modeling and Control, IJRR 10(4), 1991).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple

from sixfold.dynamics.book.factorization import path
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, Zero, dot, subroutine, total
from sixfold.spatial import ArticulatedInertia, Column, Force, ForceSubspace, JointMatrix, Motion

Matrix = list[list[Scalar]]


class Factor:
    """M = L^T D L of a tree, and what solves share."""

    def __init__(self, L: Matrix, pivots: Sequence[Scalar], parent: Sequence[int]) -> None:
        """Take L and D; `parent` is `Tree.dof_parent`."""
        self.L, self.pivots, self.parent = L, list(pivots), parent
        # of the pivots D; computed once, for all solves
        self.reciprocals = [1.0 / d for d in pivots]
        # the DOFs that support each one, nearest first
        self.paths = [tuple(path(parent, k)) for k in range(len(parent))]
        self.n = len(parent)
        self._hanging: dict[tuple[int, tuple[int, ...]], dict[int, Scalar]] = {}

    @classmethod
    def of(cls, M: Matrix, parent: Sequence[int]) -> Factor:
        """Factorise."""
        return cls(*ltdl(M, parent), parent)

    @cached_property
    def opposite(self) -> Factor:
        """The factor of -M = L^T (-D) L: solves with it give -M^-1 b and need no signs."""
        found = copy(self)
        found.reciprocals = [-r for r in self.reciprocals]
        return found

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return x with M x = b; what is exactly zero in b costs nothing."""
        return self.outward(self._inward(b))

    def column(self, c: int, b: Sequence[Scalar]) -> list[Scalar]:
        """Return x with M x = b for b that is zero outside DOF c's support and its subtree.

        Columns of one limb do the same operations, which a long program keeps once.
        """
        support = self.related(c)

        def solve(given: Sequence[Scalar]) -> list[Scalar]:
            at = dict(zip(support, given, strict=True))
            x = self._inward([at.get(k, ZERO) for k in range(self.n)])
            return [self._outward(k, x, support) for k in range(self.n)]

        return list(subroutine(solve, [b[k] for k in support]))

    def related(self, c: int) -> list[int]:
        """Return DOF c with those that support it and those that it supports."""
        return [k for k in range(self.n) if k == c or k in self.paths[c] or c in self.paths[k]]

    def _outward(self, k: int, x: list[Scalar], support: Sequence[int]) -> Scalar:
        """Solve for DOF k, after those that support it; put it in its place.

        The DOF nearest to the base comes first: it has been there longest, so that the sum
        waits for the last alone.
        """
        row = {i: self.L[k][i] for i in self.paths[k]}
        for i, factor in reversed((row if k in support else self.limb_row(k, support)).items()):
            x[k] = x[k] - factor * x[i]
        return x[k]

    def inverse(self) -> Matrix:
        """Return M^-1: column by column, the rows behind the diagonal by symmetry."""
        found: Matrix = [[ZERO] * self.n for _ in range(self.n)]
        for c in range(self.n):
            x = self._inward([1.0 if k == c else ZERO for k in range(self.n)])
            support = self.related(c)
            for k in range(c + 1):
                found[k][c] = found[c][k] = self._outward(k, x, support)
        return found

    def matrix(self) -> Matrix:
        """Return M = L^T D L, element by element."""
        supported: list[list[int]] = [[k] for k in range(self.n)]
        for k in range(self.n):
            for i in self.paths[k]:
                supported[i].append(k)
        L = [[1.0 if k == j else x for j, x in enumerate(row)] for k, row in enumerate(self.L)]
        found: Matrix = [[ZERO] * self.n for _ in range(self.n)]
        for i in range(self.n):
            for j in (i, *self.paths[i]):
                products = [L[k][i] * L[k][j] * self.pivots[k] for k in supported[i]]
                found[i][j] = found[j][i] = total(products)
        return found

    def half(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return y = L^-T b; with it b1 . M^-1 b2 = y1 . D^-1 y2."""
        x = list(b)
        for k in reversed(range(self.n)):
            if not isinstance(x[k], Zero):
                for i in self.paths[k]:
                    x[i] = x[i] - self.L[k][i] * x[k]
        return x

    def scaled(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return D^-1 y."""
        return [value * r for value, r in zip(y, self.reciprocals, strict=True)]

    def outward(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return L^-1 y: the second half of a solve."""
        x = list(y)
        for k in range(self.n):
            for i in reversed(self.paths[k]):
                x[k] = x[k] - self.L[k][i] * x[i]
        return x

    def _inward(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return D^-1 L^-T b."""
        return self.scaled(self.half(b))

    def limb_row(self, k: int, trunk: Sequence[int]) -> dict[int, Scalar]:
        """Return the row of DOF k of a limb, over the DOFs of the trunk that support it."""
        below = tuple(i for i in self.paths[k] if i in trunk)
        if (k, below) not in self._hanging:
            rows = {i: self.limb_row(i, trunk) for i in self.paths[k] if i not in trunk}
            row: dict[int, Scalar] = {}
            for t in below:
                row[t] = self.L[k][t]
                for i, other in reversed(rows.items()):
                    row[t] = row[t] - self.L[k][i] * other[t]
            self._hanging[k, below] = row
        return self._hanging[k, below]


def ltdl(H: Sequence[Sequence[Scalar]], parent: Sequence[int]) -> tuple[Matrix, list[Scalar]]:
    """Return what `book.factorization.ltdl` does, bit by bit.

    Each element is finished before the next one starts.  Kernels compute in the order of the
    algorithm: so a sum stays in a register, where the book's order loads and stores it at each
    term.
    """
    n = len(H)
    behind: list[list[int]] = [[] for _ in range(n)]
    for k in reversed(range(n)):
        for i in path(parent, k):
            behind[i].append(k)
    L: Matrix = [[ZERO] * n for _ in range(n)]
    DL: Matrix = [[ZERO] * n for _ in range(n)]
    for i in reversed(range(n)):
        for j in (i, *path(parent, i)):
            x = H[i][j]
            for k in behind[i]:
                x = x - L[k][i] * DL[k][j]
            DL[i][j] = x
        L[i][i] = 1.0
        for j in path(parent, i):
            L[i][j] = DL[i][j] / DL[i][i]
    return L, [DL[i][i] for i in range(n)]


class FreeMotion(NamedTuple):
    """A model without constraints, as solves with their rows take it."""

    factor: Factor  # M = L^T D L of the DOFs that rows act on
    z: list[Scalar]  # L^-T (tau - C)
    trunk: Trunk | None = None  # carries limbs that the factor does not know

    def accelerations(self, z: Sequence[Scalar]) -> list[Scalar]:
        """Return the accelerations M^-1 b of all DOFs, of z = L^-T b."""
        return self.outward(self.factor.scaled(z))

    def outward(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return the same of D^-1 z."""
        return self.whole(self.factor.outward(y))

    def whole(self, x: list[Scalar]) -> list[Scalar]:
        """Return the accelerations of all joints from those of the trunk."""
        return x if self.trunk is None else self.trunk.outward(x)


class Freedoms(NamedTuple):
    """What the elimination of a joint leaves behind, DOF by DOF."""

    L: Matrix  # of D = S^T U + armature = L^T diag(pivots) L
    pivots: list[Scalar]
    gains: tuple[Force, ...]  # U_k / D_k
    z: list[Scalar]  # L^-T of the forces that are left to accelerate the joint


class Trunk(NamedTuple):
    """A tree after the inward sweep."""

    tree: Tree
    bodies: frozenset[int]  # of the trunk
    Xup: Table
    S: Table
    joints: dict[int, Freedoms]

    def motion(self) -> FreeMotion:
        """Return the motion without constraints; z of limbs is zero: they have acted already."""
        none = self.tree.zero_velocity
        z = self.tree.rows(lambda i: self.joints[i].z if i in self.bodies else none(i))
        return FreeMotion(self.factor(), z, self)

    def factor(self) -> Factor:
        """Return the factor; rows of limbs are those of the unit matrix."""
        tree, at = self.tree, self.tree.velocity_slices
        L: Matrix = [[ZERO] * tree.nv for _ in range(tree.nv)]
        pivots: list[Scalar] = [1.0] * tree.nv
        parent = [-1] * tree.nv
        for i in sorted(self.bodies):
            own, rows = self.joints[i], range(at[i].start, at[i].stop)
            for k, row in enumerate(rows):
                pivots[row], parent[row] = own.pivots[k], tree.dof_parent[row]
                L[row][at[i]] = own.L[k]
            # gains run down to the base
            forces, j = own.gains, i
            for p in tree.ancestors(i):
                forces, j = tuple(self.Xup[j].T @ force for force in forces), p
                for row, force in zip(rows, forces, strict=True):
                    L[row][at[p]] = self.S[p].T @ force
        return Factor(L, pivots, parent)

    def outward(self, x: Sequence[Scalar]) -> list[Scalar]:
        """Return the accelerations of all DOFs from those of the trunk."""
        tree, at = self.tree, self.tree.velocity_slices
        a, qdd = tree.table(Motion.zero()), tree.table()
        carrying = {p for i in tree.bodies if i not in self.bodies for p in tree.ancestors(i)}
        for i in tree.bodies:
            qdd[i] = Column(x[at[i]])
            if i in self.bodies and i not in carrying:
                continue
            ap = self.Xup[i] @ a[tree.parent[i]]
            if i not in self.bodies:
                qdd[i] = _accelerations(self.joints[i], ap)
            a[i] = ap + self.S[i] @ qdd[i]
        return tree.rows(lambda i: qdd[i])


def eliminate(
    tree: Tree, Xup: Table, S: Table, pA: Table, tau: Table, loaded: Collection[int]
) -> Trunk:
    """Sweep inward as `aba` does, and keep what rows on some bodies need.

    Args:
        tree: the bodies.
        Xup: transform from the parent, by body.
        S: motion subspaces.
        pA: force that each body needs at qdd = 0, less the external force on it; is added to.
        tau: joint forces.
        loaded: bodies that rows act on.
    """
    IA, joints = tree.table(ArticulatedInertia.zero()), {}
    for i in tree.bodies:
        IA[i] = ArticulatedInertia.of(tree.inertia[i])

    for i in reversed(tree.bodies):
        p, U = tree.parent[i], IA[i] @ S[i]
        u = tau[i] - S[i].T @ pA[i]
        joints[i], loads = _freedoms(U, S[i].T @ U + tree.armature[i], u)
        gains = ForceSubspace(*joints[i].gains)
        Ia = IA[i] - gains @ ForceSubspace(*loads).T
        IA[p] += Xup[i].T @ Ia @ Xup[i]
        pA[p] += Xup[i].T @ (pA[i] + gains @ Column(joints[i].z))

    bodies = frozenset(j for i in loaded if i for j in tree.support(i))
    return Trunk(tree, bodies, Xup, S, joints)


def _freedoms(U: ForceSubspace, D: JointMatrix, u: Column) -> tuple[Freedoms, list[Force]]:
    """Eliminate a joint from its last DOF to its first; return U DOF by DOF, too."""
    n = len(u)
    L, pivots = ltdl(D.rows, range(-1, n - 1))
    loads, z = list(U.columns), list(u)
    for k in reversed(range(n)):
        for m in range(k):
            loads[m] = loads[m] - loads[k] * L[k][m]
            z[m] = z[m] - L[k][m] * z[k]
    gains = tuple(Force(y.ang / d, y.lin / d) for y, d in zip(loads, pivots, strict=True))
    return Freedoms(L, pivots, gains, z), loads


def _accelerations(joint: Freedoms, ap: Motion) -> Column:
    """Return D^-1 (u - U^T ap)."""
    found: list[Scalar] = []
    for row, gain, z, d in zip(joint.L, joint.gains, joint.z, joint.pivots, strict=True):
        x = z / d - gain.dot(ap)
        found.append(x - dot(row[: len(found)], found))
    return Column(found)
