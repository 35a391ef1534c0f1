"""Forward dynamics by the articulated-body algorithm."""

from __future__ import annotations

from sixfold.model.tree import Table, Tree
from sixfold.spatial import ArticulatedInertia, Force, Motion


def aba(model: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    """Joint accelerations that tau produces: RBDA table 7.1.

    f_ext[i] is the external force on body i in body coordinates.
    """
    Xup, S, c, U, D, u, qdd = (model.table() for _ in range(7))
    v, a = model.table(Motion.zero()), model.table(-model.gravity)
    IA, pA = model.table(ArticulatedInertia.zero()), model.table(Force.zero())

    # base to tips: velocities, and every articulated body starts as its own rigid body
    for i in model.bodies:
        I = model.inertia[i]
        XJ, S[i], vJ, cJ = model.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ model.Xtree[i]
        v[i] = Xup[i] @ v[model.parent[i]] + vJ
        c[i] = cJ + v[i].cross(vJ)
        IA[i] = ArticulatedInertia.of(I)
        pA[i] = v[i].cross(I @ v[i]) - f_ext[i]

    # tips to base: inertia and bias force of each articulated body, seen across its joint
    for i in reversed(model.bodies):
        p = model.parent[i]
        U[i] = IA[i] @ S[i]
        D[i] = S[i].T @ U[i] + model.armature[i]
        u[i] = tau[i] - S[i].T @ pA[i]
        K = U[i] / D[i]
        Ia = IA[i] - K @ U[i].T
        IA[p] += Xup[i].T @ Ia @ Xup[i]
        pA[p] += Xup[i].T @ (pA[i] + Ia @ c[i] + K @ u[i])

    # base to tips: accelerations
    for i in model.bodies:
        ap = Xup[i] @ a[model.parent[i]] + c[i]
        qdd[i] = (u[i] - U[i].T @ ap) / D[i]
        a[i] = ap + S[i] @ qdd[i]

    return qdd
