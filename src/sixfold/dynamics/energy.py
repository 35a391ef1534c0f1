"""Energies, momentum and centre of mass of the whole tree."""

from __future__ import annotations

from sixfold.dynamics.kinematics import transforms
from sixfold.dynamics.passive import spring_energy
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import ZERO3, Force, Inertia, Motion, Vector3


def kinetic_energy(tree: Tree, q: Table, qd: Table) -> Scalar:
    """Return T = sum of (1/2) v . I v, and (1/2) armature qd^2 (Featherstone eq. 1)."""
    v, T = tree.table(Motion.zero()), tree.table()
    for i in tree.bodies:
        XJ, _, vJ, _ = tree.joint[i].calc(q[i], qd[i])
        v[i] = XJ @ (tree.Xtree[i] @ v[tree.parent[i]]) + vJ
        T[i] = tree.inertia[i].kinetic_energy(v[i])
        for rotor, rate in zip(tree.armature[i], qd[i], strict=True):
            T[i] = T[i] + rotor * rate * rate * 0.5
    return tree.total(T, ZERO)


def potential_energy(tree: Tree, q: Table) -> Scalar:
    """Return V = - sum of m g . c (zero with all mass at the origin), plus the springs' energy."""
    _, h = mass_moments(tree, q)
    return spring_energy(tree, q) - tree.gravity.lin.dot(h)


def mass_moments(tree: Tree, q: Table) -> tuple[Scalar, Vector3]:
    """Return the total mass and the sum of m c in world coordinates."""
    _, X0 = transforms(tree, q)
    m, h = tree.table(), tree.table()
    for i in tree.bodies:
        I, X = tree.inertia[i], X0[i]
        m[i] = I.m
        h[i] = X.E.T @ I.h + X.r * I.m
    return tree.total(m, ZERO), tree.total(h, ZERO3)


def momentum(tree: Tree, q: Table, qd: Table) -> Force:
    """Return h_tot = sum of I v in world axes about the world origin."""
    Xup, v, h = tree.table(), tree.table(Motion.zero()), tree.table(Force.zero())
    for i in tree.bodies:
        XJ, _, vJ, _ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ tree.Xtree[i]
        v[i] = Xup[i] @ v[tree.parent[i]] + vJ
        h[i] = tree.inertia[i] @ v[i]
    for i in reversed(tree.bodies):
        h[tree.parent[i]] += Xup[i].T @ h[i]
    return h[0]


def center_of_mass(tree: Tree, q: Table) -> Vector3:
    """Return the centre of mass in world coordinates."""
    m, h = mass_moments(tree, q)
    return h / m


def centroidal_momentum(tree: Tree, q: Table, qd: Table) -> Force:
    """Return the momentum in world axes about the centre of mass."""
    h = momentum(tree, q, qd)
    return Force(h.ang - center_of_mass(tree, q).cross(h.lin), h.lin)


def composite_inertias(tree: Tree, q: Table) -> Table:
    """Return I_i^c, the inertia of each subtree as one rigid body, in coordinates of its root.

    Entry 0 is the whole tree in world coordinates.
    """
    Xup, Ic = transforms(tree, q)[0], tree.table(Inertia.zero())
    for i in tree.bodies:
        Ic[i] = tree.inertia[i]
    for i in reversed(tree.bodies):
        Ic[tree.parent[i]] += Xup[i].T @ Ic[i] @ Xup[i]
    return Ic
