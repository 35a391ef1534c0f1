"""The joint-space inertia matrix by the composite-rigid-body algorithm."""

from __future__ import annotations

from typing import Any

from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import Inertia, JointMatrix

Blocks = dict[tuple[int, int], JointMatrix]


def crba(model: Tree, q: Table) -> Blocks:
    """Blocks H[i, j] for j = i and each j that supports i: RBDA table 6.2.

    Pairs on different branches are absent: they are zero (branch-induced sparsity).
    """
    Xup, S, Ic = model.table(), model.table(), model.table(Inertia.zero())
    H: Blocks = {}

    # base to tips: transforms, and every composite starts as its own body
    for i in model.bodies:
        XJ, S[i], _, _ = model.joint[i].calc(q[i], model.zero_velocity(i))
        Xup[i] = XJ @ model.Xtree[i]
        Ic[i] = model.inertia[i]

    # tips to base: composites grow; the force of unit accelerations runs down to the base
    for i in reversed(model.bodies):
        Ic[model.parent[i]] += Xup[i].T @ Ic[i] @ Xup[i]
        F, j = Ic[i] @ S[i], i
        H[i, i] = S[i].T @ F + model.armature[i]
        for p in model.ancestors(i):
            F, j = Xup[j].T @ F, p
            H[i, j] = F.T @ S[j]

    return H


def dense(model: Tree, H: Blocks) -> list[list[Scalar]]:
    """Return the full symmetric matrix; elements between branches are exact zeros."""
    n = model.nv
    full: list[list[Any]] = [[ZERO] * n for _ in range(n)]
    for (i, j), block in H.items():
        for r, row in enumerate(block.rows, model.velocity_slices[i].start):
            for c, x in enumerate(row, model.velocity_slices[j].start):
                if i != j or r >= c:
                    full[r][c] = full[c][r] = x
    return full
