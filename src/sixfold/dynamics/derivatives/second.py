"""Second derivatives of inverse dynamics, contracted with weights: lam . tau in O(N d) operations.

Newton's method, differential dynamic programming and sensitivities need sum_k lam_k d2 tau_k, four
matrices, not the tensor.  Read lam as joint velocities: mu is the velocity that each body has with
them, and lam . tau the power of all forces on it.  The sweeps are those of the first derivatives,
with three more composites: P = sum I mu, R = sum 2 B^T mu and Bm = sum B(I, mu).  The key identity
is mu . 2 B(I, u) y = -u . 2 B(I, mu) y.

The tensor of second derivatives is in Singh et al., arXiv 2203.01497 and 2302.06001; the idea of
the contraction in Nganga and Wensing, arXiv 2103.03293.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sixfold.dynamics.derivatives.inverse_dynamics import InverseDynamicsDerivatives, first_order
from sixfold.dynamics.derivatives.joints import units
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, differentiate
from sixfold.spatial import Column, CoriolisInertia, Force, Inertia, Motion

Matrix = list[list[Scalar]]


class SecondDerivatives(NamedTuple):
    """Second derivatives of lam . tau; the first letter is the row."""

    qq: Matrix  # row: the first derivative. Of one spherical or free joint it is not symmetric.
    qv: Matrix
    vv: Matrix
    qa: Matrix


class _Column(NamedTuple):
    """One column of a joint's motion subspace, and what it does to the bodies behind the joint."""

    s: Motion
    psi: Motion
    psidd: Motion
    theta: Motion
    phi: Motion  # along it, mu changes by phi, in addition to turning with the joint
    bare: Motion  # the part of psidd that the acceleration of the parent gives, ap x s


def second_order(tree: Tree, q: Table, qd: Table, qdd: Table, lam: Table) -> SecondDerivatives:
    """Return d2 (lam . tau) of `book.rnea.rnea` without external forces.

    For joints whose S is constant in the body; `by_columns` is for all.
    """
    at, n = tree.velocity_slices, tree.nv
    qq, qv, vv, qa = ([[ZERO] * n for _ in range(n)] for _ in range(4))
    Xup, S, along, vp = (tree.table() for _ in range(4))
    v, mu, a = (tree.table(x) for x in (Motion.zero(), Motion.zero(), -tree.gravity))
    fc, P, R = (tree.table(Force.zero()) for _ in range(3))
    Ic, Bc, Bm = (tree.table(x.zero()) for x in (Inertia, CoriolisInertia, CoriolisInertia))

    # base to tips: motions, and what each column of each joint does to them
    for i in tree.bodies:
        p, I = tree.parent[i], tree.inertia[i]
        XJ, S[i], vJ, _ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ tree.Xtree[i]
        vp[i], ap, mp = Xup[i] @ v[p], Xup[i] @ a[p], Xup[i] @ mu[p]
        v[i], mu[i] = vp[i] + vJ, mp + S[i] @ lam[i]
        a[i] = ap + S[i] @ qdd[i] + v[i].cross(vJ)
        Ic[i], Bc[i] = I, CoriolisInertia.of(I, v[i])
        Bm[i], P[i] = CoriolisInertia.of(I, mu[i]), I @ mu[i]
        R[i] = (Bc[i].T @ mu[i]) * 2
        fc[i] = I @ a[i] + v[i].cross(I @ v[i])
        along[i] = []
        for s in S[i].columns:
            psi, bare = vp[i].cross(s), ap.cross(s)
            psidd, theta = bare + vp[i].cross(psi), psi + v[i].cross(s)
            along[i].append(_Column(s, psi, psidd, theta, mp.cross(s), bare))

    # tips to base: composites, and the forces of each column on the way to the base
    for j in reversed(tree.bodies):
        p = tree.parent[j]
        for force in (fc, P, R):
            force[p] += Xup[j].T @ force[j]
        for inertia in (Ic, Bc, Bm):
            inertia[p] += Xup[j].T @ inertia[j] @ Xup[j]
        for c, (s, psi, psidd, theta, phi, bare) in enumerate(along[j], at[j].start):
            own = Ic[j] @ psidd + (Bc[j] @ psi) * 2
            F, G, K = own + s.cross(fc[j]), (Bc[j] @ s) * 2 + Ic[j] @ theta, Ic[j] @ s
            G2 = Ic[j] @ phi + s.cross(P[j])
            G3 = (Bc[j].T @ phi - Bm[j].T @ psi) * 2 + s.cross(R[j])
            L = (s.cross(P[j]) - Bm[j] @ s) * 2
            for r, t in enumerate(along[j], at[j].start):
                qv[r][c], qa[r][c] = t.phi.dot(G) + t.psi.dot(L), t.phi.dot(K)
                if len(along[j]) == 1:
                    qq[r][c] = phi.dot(F) + psidd.dot(G2) + psi.dot(G3)
                    vv[r][c] = s.dot(L)
                    continue
                vv[r][c] = P[j].dot(t.s.cross(s)) - t.s.dot(Bm[j] @ s) * 2
                back = Ic[j] @ t.psidd + (Bc[j] @ t.psi) * 2
                turned = bare.cross(t.s) + psi.cross(t.psi) + vp[j].cross(psi.cross(t.s))
                qq[r][c] = (
                    phi.cross(t.s).dot(fc[j]) + t.phi.dot(own) + phi.dot(back)
                    + R[j].dot(psi.cross(t.s)) - psi.dot(Bm[j] @ t.psi) * 2 + P[j].dot(turned)
                )  # fmt: skip
            i = j
            for up in tree.ancestors(j):
                F, G, K, G2, G3, L = (Xup[i].T @ force for force in (F, G, K, G2, G3, L))
                i = up
                for r, t in enumerate(along[up], at[up].start):
                    qq[r][c] = qq[c][r] = t.phi.dot(F) + t.psidd.dot(G2) + t.psi.dot(G3)
                    vv[r][c] = vv[c][r] = t.s.dot(L)
                    qv[r][c] = t.phi.dot(G) + t.psi.dot(L)
                    qv[c][r] = t.s.dot(G3) + t.theta.dot(G2)
                    qa[r][c], qa[c][r] = t.phi.dot(K), t.s.dot(G2)

    return SecondDerivatives(qq, qv, vv, qa)


def by_columns(tree: Tree, q: Table, qd: Table, qdd: Table, lam: Table) -> SecondDerivatives:
    """Return the same for any joints: derivatives of `first_order` along each column, O(N^2 d)."""
    weights = [x for i in tree.bodies for x in lam[i]]
    none = {i: Force.zero() for i in tree.bodies}

    def weighted(x: Table, xd: Table) -> list[Scalar]:
        found: InverseDynamicsDerivatives = first_order(tree, x, xd, qdd, none)
        return [
            sum((w * row[c] for w, row in zip(weights, matrix, strict=True)), ZERO)
            for matrix in found
            for c in range(tree.nv)
        ]

    by_q, by_v = [], []
    for i in tree.bodies:
        for unit in units(tree.joint[i].nv):
            along = tree.joint[i].rate(q[i], unit)
            by_q.append(_rate(lambda x, i=i: weighted({**q, i: Column(x)}, qd), q[i], along))
            by_v.append(_rate(lambda x, i=i: weighted(q, {**qd, i: Column(x)}), qd[i], unit))
    n = range(tree.nv)
    qq, vv = ([[rows[u][m + t] for u in n] for t in n] for rows, m in ((by_q, 0), (by_v, tree.nv)))
    qv, qa = ([[by_q[t][m + u] for u in n] for t in n] for m in (tree.nv, 2 * tree.nv))
    return SecondDerivatives(qq, qv, vv, qa)


def _rate(function: Any, at: Any, along: Any) -> tuple[Scalar, ...]:
    return differentiate(function, at, along)[1]
