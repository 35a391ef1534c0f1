"""Inverse dynamics by the recursive Newton-Euler algorithm."""

from __future__ import annotations

from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.spatial import Force, Motion


def rnea(tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> tuple[Table, Table]:
    """Joint forces that produce qdd, and the force through each joint: RBDA table 5.1, Carius (38).

    f_ext[i] is the external force on body i in body coordinates.
    """
    Xup, S, tau = tree.table(), tree.table(), tree.table()
    v, a, f = tree.table(Motion.zero()), tree.table(-tree.gravity), tree.table(Force.zero())

    # base to tips: velocity, acceleration, net force less external force
    for i in tree.bodies:
        p, I = tree.parent[i], tree.inertia[i]
        XJ, S[i], vJ, cJ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ tree.Xtree[i]
        v[i] = Xup[i] @ v[p] + vJ
        a[i] = Xup[i] @ a[p] + S[i] @ qdd[i] + cJ + v[i].cross(vJ)
        f[i] = I @ a[i] + v[i].cross(I @ v[i]) - f_ext[i]

    # tips to base: project on the joint, hand the force on to the parent
    for i in reversed(tree.bodies):
        tau[i] = S[i].T @ f[i] + tree.armature[i] * qdd[i]
        f[tree.parent[i]] += Xup[i].T @ f[i]

    return tau, f
