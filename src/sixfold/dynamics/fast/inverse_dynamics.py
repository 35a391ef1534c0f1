"""Inverse dynamics by Newton-Euler about the joint points.

Equals `book.rnea.rnea`; `body_forces` says what it saves.
"""

from __future__ import annotations

from sixfold.dynamics.fast.body_forces import body_forces
from sixfold.model.tree import Table, Tree


def joint_forces(tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> tuple[Table, Table]:
    """Joint forces that produce qdd, and the force through each joint, as `rnea` has them."""
    Xup, S, f, *_ = body_forces(tree, q, qd, qdd, f_ext)
    tau = tree.table()

    for i in reversed(tree.bodies):
        tau[i] = S[i].T @ f[i] + tree.armature[i] * qdd[i]
        f[tree.parent[i]] += Xup[i].T @ f[i]

    return tau, f
