"""The joint-space inertia matrix by the composite-rigid-body algorithm."""

from __future__ import annotations

from typing import Any

from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import Inertia, JointMatrix

Blocks = dict[tuple[int, int], JointMatrix]


def crba(tree: Tree, q: Table) -> Blocks:
    """Blocks H[i, j] for j = i and each j that supports i: RBDA table 6.2.

    Pairs on different branches are absent: they are zero (branch-induced sparsity).
    """
    Xup, S, Ic = tree.table(), tree.table(), tree.table(Inertia.zero())
    H: Blocks = {}

    # base to tips: transforms, and every composite starts as its own body
    for i in tree.bodies:
        XJ, S[i], _, _ = tree.joint[i].calc(q[i], tree.zero_velocity(i))
        Xup[i] = XJ @ tree.Xtree[i]
        Ic[i] = tree.inertia[i]

    # tips to base: composites grow; the force of unit accelerations runs down to the base
    for i in reversed(tree.bodies):
        Ic[tree.parent[i]] += Xup[i].T @ Ic[i] @ Xup[i]
        F, j = Ic[i] @ S[i], i
        H[i, i] = S[i].T @ F + tree.armature[i]
        for p in tree.ancestors(i):
            F, j = Xup[j].T @ F, p
            H[i, j] = F.T @ S[j]

    return H


def dense(tree: Tree, H: Blocks) -> list[list[Scalar]]:
    """Return the full symmetric matrix; elements between branches are exact zeros."""
    n = tree.nv
    full: list[list[Any]] = [[ZERO] * n for _ in range(n)]
    for (i, j), block in H.items():
        for r, row in enumerate(block.rows, tree.velocity_slices[i].start):
            for c, x in enumerate(row, tree.velocity_slices[j].start):
                if i != j or r >= c:
                    full[r][c] = full[c][r] = x
    return full
