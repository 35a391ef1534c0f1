"""Forward dynamics by the articulated-body algorithm."""

from __future__ import annotations

from sixfold.dynamics.fast.body_forces import loads
from sixfold.model.tree import Table, Tree
from sixfold.spatial import ArticulatedInertia, Motion


def aba(model: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    """Joint accelerations that tau produces: RBDA table 7.1 in its second and third sweep.

    The first sweep is Newton-Euler's: gravity and velocities enter as what each body needs at
    qdd = 0, so that pA holds all of them and a is only what qdd adds.  f_ext[i] is the external
    force on body i in body coordinates.
    """
    U, D, u, qdd = (model.table() for _ in range(4))
    IA, a = model.table(ArticulatedInertia.zero()), model.table(Motion.zero())

    # base to tips: loads at qdd = 0, and every articulated body starts as its own rigid body
    Xup, S, pA = loads(model, q, qd, model.zero_velocities(), f_ext)
    for i in model.bodies:
        IA[i] = ArticulatedInertia.of(model.inertia[i])

    # tips to base: inertia and load of each articulated body, seen across its joint
    for i in reversed(model.bodies):
        p = model.parent[i]
        U[i] = IA[i] @ S[i]
        D[i] = S[i].T @ U[i] + model.armature[i]
        u[i] = tau[i] - S[i].T @ pA[i]
        K = U[i] / D[i]
        Ia = IA[i] - K @ U[i].T
        IA[p] += Xup[i].T @ Ia @ Xup[i]
        pA[p] += Xup[i].T @ (pA[i] + K @ u[i])

    # base to tips: accelerations
    for i in model.bodies:
        ap = Xup[i] @ a[model.parent[i]]
        qdd[i] = (u[i] - U[i].T @ ap) / D[i]
        a[i] = ap + S[i] @ qdd[i]

    return qdd
