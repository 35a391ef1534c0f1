"""The Coriolis matrix in two sweeps, without derivatives of the mass matrix.

With J the Jacobian of a body, its share of C is J^T (I dJ/dt + B J) for B = (v x* I - I v x +
(I v) x-bar*) / 2, where f x-bar* m is m x* f: then C is that of the Christoffel symbols, and
dM/dt - 2 C is skew (Echeandia and Wensing, Numerical Methods to Compute the Coriolis Matrix and
Christoffel Symbols for Rigid-Body Systems, 2021).  B adds up over the bodies behind a joint as
inertias do.
"""

from __future__ import annotations

from typing import NamedTuple

from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, Scalar, differentiate
from sixfold.spatial import (
    ZERO3,
    ZERO33,
    Column,
    Force,
    ForceSubspace,
    Inertia,
    Matrix3,
    Motion,
    Subspace,
    Vector3,
    skew,
)

Matrix = list[list[Scalar]]


class Swirl(NamedTuple):
    """B of rigid bodies, [[A, 0], [-p x, 0]]: the other blocks of the sum cancel.

    For one body A = -(w x) Sigma - (h x) (u x), with its second moments Sigma = integral of r r^T
    and the velocity u of its origin, and p = m u + w x h is its momentum.
    """

    A: Matrix3
    p: Vector3

    @classmethod
    def zero(cls) -> Swirl:
        """Return that of nothing."""
        return cls(ZERO33, ZERO3)

    @classmethod
    def of(cls, inertia: Inertia, v: Motion) -> Swirl:
        """Return that of a body that moves with v."""
        w, u = v
        A = skew(w) @ inertia.second_moments.matrix() + skew(inertia.h) @ skew(u)
        return cls(-A, u * inertia.m + w.cross(inertia.h))

    def __add__(self, other: Swirl) -> Swirl:  # type: ignore[override]
        """Add."""
        return Swirl(self.A + other.A, self.p + other.p)

    def __matmul__(self, m: Motion) -> Force:
        """Return B m."""
        return Force(self.A @ m.ang, m.ang.cross(self.p))

    def under(self, m: Motion) -> Force:
        """Return B^T m."""
        return Force(self.A.T @ m.ang + self.p.cross(m.lin), ZERO3)

    def moved_back(self, E: Matrix3, r: Vector3) -> Swirl:
        """Return X^T B X for X = (E, r)."""
        p = E.T @ self.p
        return Swirl(self.A.congruence(E) - skew(r) @ skew(p), p)


def coriolis(model: Tree, q: Table, qd: Table) -> Matrix:
    """Return C with C qd the velocity force and dM/dt - 2 C skew."""
    Xup, S, Sd = (model.table() for _ in range(3))
    v, Ic, B = (model.table(x.zero()) for x in (Motion, Inertia, Swirl))
    C: Matrix = [[ZERO] * model.nv for _ in range(model.nv)]

    # base to tips: velocities, and how fast the joint directions turn
    for i in model.bodies:
        XJ, S[i], vJ, _ = model.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ model.Xtree[i]
        v[i] = Xup[i] @ v[model.parent[i]] + vJ
        own = apparent_rate(model, i, q, qd).columns
        Sd[i] = Subspace(*(o + v[i].cross(s) for o, s in zip(own, S[i].columns, strict=True)))
        Ic[i] = model.inertia[i]
        B[i] = Swirl.of(model.inertia[i], v[i])

    # tips to base: what bodies behind joint j make of its velocity and of its ancestors'
    for j in reversed(model.bodies):
        p = model.parent[j]
        Ic[p] += Xup[j].T @ Ic[j] @ Xup[j]
        B[p] += B[j].moved_back(*Xup[j])
        both = zip(S[j].columns, Sd[j].columns, strict=True)
        F = ForceSubspace(*(Ic[j] @ sd + B[j] @ s for s, sd in both))
        G = Ic[j] @ S[j]
        H = ForceSubspace(*(B[j].under(s) for s in S[j].columns))
        _put(C, model.velocity_slices[j], model.velocity_slices[j], (S[j].T @ F).rows)
        k = j
        for i in model.ancestors(j):
            F, G, H, k = Xup[k].T @ F, Xup[k].T @ G, Xup[k].T @ H, i
            _put(C, model.velocity_slices[i], model.velocity_slices[j], (S[i].T @ F).rows)
            _put(
                C,
                model.velocity_slices[j],
                model.velocity_slices[i],
                (G.T @ Sd[i]).rows,
                (H.T @ S[i]).rows,
            )

    return C


def apparent_rate(model: Tree, i: int, q: Table, qd: Table) -> Subspace:
    """Return how fast the directions of a joint change in its own body's axes."""
    joint = model.joint[i]

    def numbers(at: tuple[Scalar, ...]) -> list[Scalar]:
        S = joint.calc(Column(at), model.zero_velocity(i)).S
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
