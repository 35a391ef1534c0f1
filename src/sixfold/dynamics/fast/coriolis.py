"""The Coriolis matrix in two sweeps, without derivatives of the mass matrix.

With J the Jacobian of a body, its share of C is J^T (I dJ/dt + B J) for B = (v x* I - I v x +
(I v) x-bar*) / 2, where f x-bar* m is m x* f: then C is that of the Christoffel symbols, and
dM/dt - 2 C is skew (Echeandia and Wensing, Numerical Methods to Compute the Coriolis Matrix and
Christoffel Symbols for Rigid-Body Systems, 2021).  B adds up over the bodies behind a joint as
inertias do.

Equals `book.lagrange.coriolis_matrix` in O(N d) operations instead of O(N^3) symbols, each with
derivatives of the mass matrix.
"""

from __future__ import annotations

from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, differentiate
from sixfold.spatial import Column, CoriolisInertia, ForceSubspace, Inertia, Motion, Subspace

Matrix = list[list[Scalar]]


def coriolis(tree: Tree, q: Table, qd: Table) -> Matrix:
    """Return C with C qd the velocity force and dM/dt - 2 C skew."""
    Xup, S, Sd = (tree.table() for _ in range(3))
    v, Ic, B = (tree.table(x.zero()) for x in (Motion, Inertia, CoriolisInertia))
    C: Matrix = [[ZERO] * tree.nv for _ in range(tree.nv)]
    at = tree.velocity_slices

    # base to tips: velocities, and how fast the joint directions turn
    for i in tree.bodies:
        XJ, S[i], vJ, _ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ tree.Xtree[i]
        v[i] = Xup[i] @ v[tree.parent[i]] + vJ
        own = apparent_rate(tree, i, q, qd).columns
        Sd[i] = Subspace(*(o + v[i].cross(s) for o, s in zip(own, S[i].columns, strict=True)))
        Ic[i] = tree.inertia[i]
        B[i] = CoriolisInertia.of(tree.inertia[i], v[i])

    # tips to base: what bodies behind joint j make of its velocity and of its ancestors'
    for j in reversed(tree.bodies):
        p = tree.parent[j]
        Ic[p] += Xup[j].T @ Ic[j] @ Xup[j]
        B[p] += Xup[j].T @ B[j] @ Xup[j]
        both = zip(S[j].columns, Sd[j].columns, strict=True)
        F = ForceSubspace(*(Ic[j] @ sd + B[j] @ s for s, sd in both))
        G = Ic[j] @ S[j]
        H = ForceSubspace(*(B[j].T @ s for s in S[j].columns))
        _put(C, at[j], at[j], (S[j].T @ F).rows)
        k = j
        for i in tree.ancestors(j):
            F, G, H, k = Xup[k].T @ F, Xup[k].T @ G, Xup[k].T @ H, i
            _put(C, at[i], at[j], (S[i].T @ F).rows)
            _put(C, at[j], at[i], (G.T @ Sd[i]).rows, (H.T @ S[i]).rows)

    return C


def apparent_rate(tree: Tree, i: int, q: Table, qd: Table) -> Subspace:
    """Return how fast the directions of a joint change in its own body's axes."""
    joint = tree.joint[i]

    def numbers(at: tuple[Scalar, ...]) -> list[Scalar]:
        S = joint.calc(Column(at), tree.zero_velocity(i)).S
        return [x for column in S.columns for x in (*column.ang, *column.lin)]

    _, rates = differentiate(numbers, q[i], joint.rate(q[i], qd[i]))
    return Subspace(*(Motion.of(rates[k : k + 6]) for k in range(0, len(rates), 6)))


def _put(C: Matrix, rows: slice, columns: slice, *blocks: list[list[Scalar]]) -> None:
    """Write the sum of blocks."""
    for r in range(rows.stop - rows.start):
        for c in range(columns.stop - columns.start):
            total: Scalar = ZERO
            for block in blocks:
                total = total + block[r][c]
            C[rows.start + r][columns.start + c] = total
