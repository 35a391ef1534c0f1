"""Energies, momentum and centre of mass of the whole tree."""

from __future__ import annotations

from sixfold.dynamics.kinematics import transforms
from sixfold.dynamics.passive import spring_energy
from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import ZERO3, Force, Inertia, Motion, Vector3


def kinetic_energy(model: Tree, q: Table, qd: Table) -> Scalar:
    """Return T = sum of (1/2) v . I v, and (1/2) armature qd^2 (Featherstone eq. 1)."""
    v, T = model.table(Motion.zero()), model.table()
    for i in model.bodies:
        XJ, _, vJ, _ = model.joint[i].calc(q[i], qd[i])
        v[i] = XJ @ (model.Xtree[i] @ v[model.parent[i]]) + vJ
        T[i] = model.inertia[i].kinetic_energy(v[i])
        for rotor, rate in zip(model.armature[i], qd[i], strict=True):
            T[i] = T[i] + rotor * rate * rate * 0.5
    return model.total(T, ZERO)


def potential_energy(model: Tree, q: Table) -> Scalar:
    """Return V = - sum of m g . c (zero with all mass at the origin), plus the springs' energy."""
    _, h = mass_moments(model, q)
    return spring_energy(model, q) - model.gravity.lin.dot(h)


def mass_moments(model: Tree, q: Table) -> tuple[Scalar, Vector3]:
    """Return the total mass and the sum of m c in world coordinates."""
    _, X0 = transforms(model, q)
    m, h = model.table(), model.table()
    for i in model.bodies:
        I, X = model.inertia[i], X0[i]
        m[i] = I.m
        h[i] = X.E.T @ I.h + X.r * I.m
    return model.total(m, ZERO), model.total(h, ZERO3)


def momentum(model: Tree, q: Table, qd: Table) -> Force:
    """Return h_tot = sum of I v in world axes about the world origin."""
    Xup, v, h = model.table(), model.table(Motion.zero()), model.table(Force.zero())
    for i in model.bodies:
        XJ, _, vJ, _ = model.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ model.Xtree[i]
        v[i] = Xup[i] @ v[model.parent[i]] + vJ
        h[i] = model.inertia[i] @ v[i]
    for i in reversed(model.bodies):
        h[model.parent[i]] += Xup[i].T @ h[i]
    return h[0]


def center_of_mass(model: Tree, q: Table) -> Vector3:
    """Return the centre of mass in world coordinates."""
    m, h = mass_moments(model, q)
    return h / m


def centroidal_momentum(model: Tree, q: Table, qd: Table) -> Force:
    """Return the momentum in world axes about the centre of mass."""
    h = momentum(model, q, qd)
    return Force(h.ang - center_of_mass(model, q).cross(h.lin), h.lin)


def composite_inertia(model: Tree, q: Table) -> Inertia:
    """Return the inertia of all bodies as one rigid body, in world coordinates."""
    Xup, Ic = transforms(model, q)[0], model.table(Inertia.zero())
    for i in model.bodies:
        Ic[i] = model.inertia[i]
    for i in reversed(model.bodies):
        Ic[model.parent[i]] += Xup[i].T @ Ic[i] @ Xup[i]
    return Ic[0]
