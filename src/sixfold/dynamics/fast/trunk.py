"""The factor M = L^T D L by articulated bodies, for the freedoms that rows of constraints act on.

The trunk is every body between the base and a body that a row acts on; limbs hang from it.  A force
on the trunk moves limbs only through the body that carries them, so limbs are eliminated by the
articulated-body recursion alone, and L is formed for the trunk.  Freedom by freedom, from the tips
to the base,

    U_k = IA S_k,     D_k = S_k . U_k,     L_kj = S_j . U_k / D_k  for each j that supports k,

which is the factor of `book.factorization.ltdl` without the mass matrix (Rodriguez, Jain and
Kreutz-Delgado, A Spatial Operator Algebra for Manipulator Modeling and Control, IJRR 10(4), 1991).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sixfold.dynamics.fast.factor import Factor, Matrix, ltdl
from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, Scalar, dot
from sixfold.spatial import (
    ArticulatedInertia,
    Column,
    Force,
    ForceSubspace,
    JointMatrix,
    Motion,
)


class FreeMotion(NamedTuple):
    """A model without constraints, as solves with their rows take it."""

    factor: Factor
    """M = L^T D L of the freedoms that rows act on."""
    z: list[Scalar]
    """L^-T (tau - C)."""
    trunk: Trunk | None = None
    """Carries limbs that the factor does not know."""

    def accelerations(self, z: Sequence[Scalar]) -> list[Scalar]:
        """Return the accelerations M^-1 b of all freedoms, of z = L^-T b."""
        return self.outward(self.factor.scaled(z))

    def outward(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return the same of D^-1 z."""
        return self.whole(self.factor.outward(y))

    def whole(self, x: list[Scalar]) -> list[Scalar]:
        """Return the accelerations of all joints from those of the trunk."""
        return x if self.trunk is None else self.trunk.outward(x)


class Freedoms(NamedTuple):
    """What the elimination of a joint leaves behind, freedom by freedom."""

    L: Matrix
    """Of D = S^T U + armature = L^T diag(pivots) L."""
    pivots: list[Scalar]
    gains: tuple[Force, ...]
    """U_k / D_k."""
    z: list[Scalar]
    """L^-T of the forces that are left to accelerate the joint."""


class Trunk(NamedTuple):
    """A tree after the inward sweep."""

    tree: Tree
    bodies: frozenset[int]
    """Of the trunk."""
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
        """Return the accelerations of all freedoms from those of the trunk."""
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
    """Eliminate a joint from its last freedom to its first; return U freedom by freedom, too."""
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
