"""Forward dynamics by the articulated-body algorithm."""

from __future__ import annotations

from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.spatial import ArticulatedInertia, Motion


def aba(tree: Tree, q: Table, qd: Table, tau: Table, f_ext: Table) -> Table:
    """Joint accelerations that tau produces: RBDA table 7.1.

    f_ext[i] is the external force on body i in body coordinates.
    """
    Xup, S, c, pA, U, D, u, qdd = (tree.table() for _ in range(8))
    v, a = tree.table(Motion.zero()), tree.table(-tree.gravity)
    IA = tree.table()

    # base to tips: velocity, velocity-product acceleration, bias force
    for i in tree.bodies:
        p, I = tree.parent[i], tree.inertia[i]
        XJ, S[i], vJ, cJ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ tree.Xtree[i]
        v[i] = Xup[i] @ v[p] + vJ
        c[i] = cJ + v[i].cross(vJ)
        IA[i] = ArticulatedInertia.of(I)
        pA[i] = v[i].cross(I @ v[i]) - f_ext[i]

    # tips to base: articulated-body inertia and bias force, seen across the joint
    for i in reversed(tree.bodies):
        p = tree.parent[i]
        U[i] = IA[i] @ S[i]
        D[i] = S[i].T @ U[i] + tree.armature[i]
        u[i] = tau[i] - S[i].T @ pA[i]
        if p:
            Ia = IA[i] - (U[i] / D[i]) @ U[i].T
            pa = pA[i] + Ia @ c[i] + U[i] @ (u[i] / D[i])
            IA[p] += Xup[i].T @ Ia @ Xup[i]
            pA[p] += Xup[i].T @ pa

    # base to tips: accelerations
    for i in tree.bodies:
        ap = Xup[i] @ a[tree.parent[i]] + c[i]
        qdd[i] = (u[i] - U[i].T @ ap) / D[i]
        a[i] = ap + S[i] @ qdd[i]

    return qdd
