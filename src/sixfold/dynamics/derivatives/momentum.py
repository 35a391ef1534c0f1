"""Derivatives of energies, momenta and the centre of mass, from composites of the bodies.

With K_j = Ic_j s_j and hc_j the momentum of all bodies behind joint j, T changes along column j by
psi_j . hc_j and the momentum by s_j x* hc_j + Ic_j psi_j.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sixfold.dynamics.derivatives.joints import subspace_rates
from sixfold.dynamics.fast.body_forces import body_forces
from sixfold.dynamics.kinematics import no_forces
from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import ZERO3, Force, Inertia, Motion, Vector3


class Momenta(NamedTuple):
    """Momentum of a tree and its derivatives, in world axes about the centre of mass."""

    by_q: list[Force]
    by_v: list[Force]
    """Columns of the centroidal momentum matrix A."""
    center: list[Vector3]
    """How the centre of mass moves with each freedom."""
    energy: list[Scalar]
    """Derivatives of the kinetic energy by q."""
    impulse: list[Scalar]
    """Those by v: M v."""


def momenta(tree: Tree, q: Table, qd: Table) -> Momenta:
    """Return all of them; what a caller does not use costs nothing in a kernel."""
    Xup, psi, S = (tree.table() for _ in range(3))
    v, hc, Ic = (tree.table(x.zero()) for x in (Motion, Force, Inertia))
    for i in tree.bodies:
        XJ, S[i], vJ, _ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ tree.Xtree[i]
        vp = Xup[i] @ v[tree.parent[i]]
        rates = subspace_rates(tree, i, q, qd, tree.zero_velocities())
        psi[i] = [vp.cross(s) + (rates.e[t] if rates else Motion.zero())
                  for t, s in enumerate(S[i].columns)]  # fmt: skip
        v[i] = vp + vJ
        hc[i], Ic[i] = tree.inertia[i] @ v[i], tree.inertia[i]
    for i in reversed(tree.bodies):
        p = tree.parent[i]
        hc[p] += Xup[i].T @ hc[i]
        Ic[p] += Xup[i].T @ Ic[i] @ Xup[i]
    X0 = tree.table()
    found = Momenta([], [], [], [], [])
    total, c = hc[0], Ic[0].h / Ic[0].m if not isinstance(Ic[0].m, type(ZERO)) else ZERO3
    for i in tree.bodies:
        X0[i] = Xup[i] @ X0[tree.parent[i]] if tree.parent[i] else Xup[i]
        for t, s in enumerate(S[i].columns):
            K = X0[i].T @ (Ic[i] @ s)
            rate = X0[i].T @ (s.cross(hc[i]) + Ic[i] @ psi[i][t])
            moved = K.lin / Ic[0].m if c is not ZERO3 else ZERO3
            found.by_v.append(Force(K.ang - c.cross(K.lin), K.lin))
            turned = moved.cross(total.lin) + c.cross(rate.lin)
            found.by_q.append(Force(rate.ang - turned, rate.lin))
            found.center.append(moved)
            found.energy.append(psi[i][t].dot(hc[i]))
            found.impulse.append(s.dot(hc[i]) + tree.armature[i][t] * qd[i][t])
    return found


def centroidal_bias(tree: Tree, q: Table, qd: Table) -> Force:
    """Return dA/dt qd: the rate of the centroidal momentum without accelerations."""
    free = replace(tree, gravity=Motion.zero())
    now = body_forces(free, q, qd, tree.zero_velocities(), no_forces(tree))
    f, Ic = now.f, tree.table(Inertia.zero())
    for i in tree.bodies:
        Ic[i] = tree.inertia[i]
    for i in reversed(tree.bodies):
        f[tree.parent[i]] += now.Xup[i].T @ f[i]
        Ic[tree.parent[i]] += now.Xup[i].T @ Ic[i] @ now.Xup[i]
    return Force(f[0].ang - (Ic[0].h / Ic[0].m).cross(f[0].lin), f[0].lin)
