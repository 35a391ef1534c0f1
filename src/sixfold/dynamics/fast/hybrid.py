"""Hybrid dynamics: some joints follow given accelerations, the others given forces.

The sweeps of `aba`.  A joint whose acceleration is given does not yield: its articulated inertia
goes to the parent as a rigid body's would (RBDA section 9.2).  With every joint given this is
recursive Newton-Euler, with none it is `aba`.
"""

from __future__ import annotations

from collections.abc import Collection

from sixfold.dynamics.fast.inverse_dynamics import body_forces
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.spatial import ArticulatedInertia, Motion


def hybrid_dynamics(
    tree: Tree, q: Table, qd: Table, tau: Table, qdd: Table, f_ext: Table, given: Collection[int]
) -> tuple[Table, Table]:
    """Return all accelerations and all joint forces, O(N).

    `given` are the bodies whose joint acceleration is given; qdd is read for them, tau for the
    others.  f_ext[i] is the external force on body i in body coordinates.
    """
    U, D, u, tau_all = (tree.table() for _ in range(4))
    IA, a = tree.table(ArticulatedInertia.zero()), tree.table(Motion.zero())

    # base to tips: forces at the given accelerations, the other joints not accelerating
    qdd_all = {i: qdd[i] if i in given else tree.zero_velocity(i) for i in tree.bodies}
    Xup, S, pA, *_ = body_forces(tree, q, qd, qdd_all, f_ext)
    for i in tree.bodies:
        IA[i] = ArticulatedInertia.of(tree.inertia[i])

    # tips to base: inertia and bias force of each articulated body, seen across its joint
    for i in reversed(tree.bodies):
        p, Ia, pa = tree.parent[i], IA[i], pA[i]
        if i not in given:
            U[i] = IA[i] @ S[i]
            D[i] = S[i].T @ U[i] + tree.armature[i]
            u[i] = tau[i] - S[i].T @ pA[i]
            K = U[i] / D[i]
            Ia = IA[i] - K @ U[i].T
            pa = pA[i] + K @ u[i]
        IA[p] += Xup[i].T @ Ia @ Xup[i]
        pA[p] += Xup[i].T @ pa

    # base to tips: the unknown accelerations, the motion that they add, and the unknown forces
    for i in tree.bodies:
        a[i] = Xup[i] @ a[tree.parent[i]]
        if i in given:
            tau_all[i] = S[i].T @ (IA[i] @ a[i] + pA[i]) + tree.armature[i] * qdd[i]
        else:
            tau_all[i] = tau[i]
            qdd_all[i] = (u[i] - U[i].T @ a[i]) / D[i]
            a[i] = a[i] + S[i] @ qdd_all[i]

    return qdd_all, tau_all
