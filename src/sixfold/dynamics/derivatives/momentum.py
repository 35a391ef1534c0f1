"""Derivatives of energies, momenta and the centre of mass, from composites of the bodies.

With K_j = Ic_j s_j and hc_j the momentum of all bodies behind joint j, T changes along column j by
psi_j . hc_j and the momentum by s_j x* hc_j + Ic_j psi_j.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sixfold.dynamics.derivatives.joints import subspace_rates
from sixfold.dynamics.energy import center_of_mass, mass_moments
from sixfold.dynamics.fast.body_forces import body_forces
from sixfold.dynamics.kinematics import no_forces, transforms
from sixfold.model.tree import Table, Tree
from sixfold.scalar import Scalar
from sixfold.spatial import Force, Inertia, Motion, Vector3


class Composites(NamedTuple):
    """Sums over the bodies behind each joint, in body coordinates."""

    S: Table
    psi: Table
    """Change of velocities along each column of S, beside turning with the joint."""
    hc: Table
    """Momentum; of all bodies at the base."""
    Ic: Table
    """Inertia."""


def composites(tree: Tree, q: Table, qd: Table) -> Composites:
    """Return momentum and inertia of what each joint carries."""
    Xup, S, psi = (tree.table() for _ in range(3))
    v, hc, Ic = (tree.table(x.zero()) for x in (Motion, Force, Inertia))
    for i in tree.bodies:
        XJ, S[i], vJ, _ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ tree.Xtree[i]
        vp = Xup[i] @ v[tree.parent[i]]
        e = subspace_rates(tree, i, q, qd, tree.zero_velocities()).e
        psi[i] = [vp.cross(s) + de for s, de in zip(S[i].columns, e, strict=True)]
        v[i] = vp + vJ
        hc[i], Ic[i] = tree.inertia[i] @ v[i], tree.inertia[i]
    for i in reversed(tree.bodies):
        p = tree.parent[i]
        hc[p] += Xup[i].T @ hc[i]
        Ic[p] += Xup[i].T @ Ic[i] @ Xup[i]
    return Composites(S, psi, hc, Ic)


def energy_derivatives(tree: Tree, q: Table, qd: Table) -> tuple[list[Scalar], list[Scalar]]:
    """Return the derivatives of the kinetic energy by q, and by v: M v."""
    S, psi, hc, _ = composites(tree, q, qd)
    by_q = [p.dot(hc[i]) for i in tree.bodies for p in psi[i]]
    by_v = [x for i in tree.bodies for x in S[i].T @ hc[i] + tree.armature[i] * qd[i]]
    return by_q, by_v


class Momenta(NamedTuple):
    """Derivatives of the momentum in world axes about the centre of mass, by freedom."""

    by_q: list[Force]
    by_v: list[Force]
    """Columns of the centroidal momentum matrix A."""
    center: list[Vector3]
    """How the centre of mass moves with each freedom."""


def momentum_derivatives(tree: Tree, q: Table, qd: Table) -> Momenta:
    """Return how the centroidal momentum L - c x p and the centre of mass c change."""
    S, psi, hc, Ic = composites(tree, q, qd)
    _, X0 = transforms(tree, q)
    (mass, _), c = mass_moments(tree, q), center_of_mass(tree, q)
    found = Momenta([], [], [])
    for i in tree.bodies:
        for s, p in zip(S[i].columns, psi[i], strict=True):
            K = X0[i].T @ (Ic[i] @ s)
            rate = X0[i].T @ (s.cross(hc[i]) + Ic[i] @ p)
            dc = K.lin / mass
            turned = dc.cross(hc[0].lin) + c.cross(rate.lin)
            found.by_q.append(Force(rate.ang - turned, rate.lin))
            found.by_v.append(Force(K.ang - c.cross(K.lin), K.lin))
            found.center.append(dc)
    return found


def centroidal_bias(tree: Tree, q: Table, qd: Table) -> Force:
    """Return dA/dt qd: the rate of the centroidal momentum without accelerations."""
    free = replace(tree, gravity=Motion.zero())
    Xup, _, f, *_ = body_forces(free, q, qd, tree.zero_velocities(), no_forces(tree))
    for i in reversed(tree.bodies):
        f[tree.parent[i]] += Xup[i].T @ f[i]
    return Force(f[0].ang - center_of_mass(tree, q).cross(f[0].lin), f[0].lin)
