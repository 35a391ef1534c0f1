"""Inverse dynamics by the recursive Newton-Euler algorithm."""

from __future__ import annotations

from sixfold.model.tree import Table, Tree
from sixfold.spatial import Force, Motion


def rnea(model: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> tuple[Table, Table]:
    """Joint forces that produce qdd, and the force through each joint: RBDA table 5.1, Carius (38).

    f_ext[i] is the external force on body i in body coordinates.
    """
    Xup, S, tau = model.table(), model.table(), model.table()
    v, a, f = model.table(Motion.zero()), model.table(-model.gravity), model.table(Force.zero())

    # base to tips: velocity, acceleration, net force less external force
    for i in model.bodies:
        p, I = model.parent[i], model.inertia[i]
        XJ, S[i], vJ, cJ = model.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ model.Xtree[i]
        v[i] = Xup[i] @ v[p] + vJ
        a[i] = Xup[i] @ a[p] + S[i] @ qdd[i] + cJ + v[i].cross(vJ)
        f[i] = I @ a[i] + v[i].cross(I @ v[i]) - f_ext[i]

    # tips to base: project on the joint, hand the force on to the parent
    for i in reversed(model.bodies):
        tau[i] = S[i].T @ f[i] + model.armature[i] * qdd[i]
        f[model.parent[i]] += Xup[i].T @ f[i]

    return tau, f
