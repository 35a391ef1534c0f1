"""Newton-Euler with three-vectors: Khatib's outward and inward iterations, on trees.

For joints with one fixed axis in the body (revolute, prismatic, helical).  Independent of the
six-dimensional algebra: only positions, axes, masses and inertia tensors are read from the model.
"""

from __future__ import annotations

from sixfold.errors import NotApplicableError
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.spatial import ZERO3


def require_fixed_axes(tree: Tree, what: str) -> None:
    """Refuse joints other than those with one axis that rests in the body and its parent."""
    for i in tree.bodies:
        if not tree.joint[i].fixed_axis:
            raise NotApplicableError(
                what,
                f"the {tree.joint[i].kind} joint of body {i}",
                "use rnea, which takes every joint",
            )


def newton_euler(tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> Table:
    """Joint forces that produce qdd; Z is the joint's axis of turning, L its axis of sliding."""
    require_fixed_axes(tree, "Newton-Euler with three-vectors")
    R, p, Z, L, F, N, tau = (tree.table() for _ in range(7))
    w, wd, vd = tree.table(ZERO3), tree.table(ZERO3), tree.table(-tree.gravity.lin)
    f, n = tree.table(ZERO3), tree.table(ZERO3)

    # outward: angular velocity, accelerations of the frame and of the centre of mass, forces
    for i in tree.bodies:
        j, X = tree.parent[i], tree.Xtree[i]
        XJ, S, _, _ = tree.joint[i].calc(q[i], qd[i])
        ((Z[i], L[i]),) = S.columns
        R[i], p[i] = XJ.E @ X.E, X.r + X.E.T @ XJ.r
        (rate,), (accel,) = qd[i], qdd[i]
        w_in = R[i] @ w[j]
        w[i] = w_in + Z[i] * rate
        wd[i] = R[i] @ wd[j] + w_in.cross(Z[i] * rate) + Z[i] * accel
        vd[i] = R[i] @ (vd[j] + wd[j].cross(p[i]) + w[j].cross(w[j].cross(p[i])))
        vd[i] += w_in.cross(L[i]) * (rate * 2) + L[i] * accel
        m, c, I = tree.inertia[i].m, tree.inertia[i].center, tree.inertia[i].about_center
        F[i] = (vd[i] + wd[i].cross(c) + w[i].cross(w[i].cross(c))) * m
        N[i] = I @ wd[i] + w[i].cross(I @ w[i])
        f[i] = F[i] - f_ext[i].lin
        n[i] = N[i] + c.cross(F[i]) - f_ext[i].ang

    # inward: balance of forces and moments, n_i . Z_i or f_i . Z_i
    for i in reversed(tree.bodies):
        j = tree.parent[i]
        f_back = R[i].T @ f[i]
        f[j] += f_back
        n[j] += R[i].T @ n[i] + p[i].cross(f_back)
        working = n[i].dot(Z[i]) + f[i].dot(L[i])
        tau[i] = tree.armature[i] * qdd[i] + (working,)

    return tau
