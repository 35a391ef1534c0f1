"""First derivatives of inverse dynamics with spatial vectors: IDSVA, as it is printed.

Singh, Russell and Wensing, Efficient Analytical Derivatives of Rigid-Body Dynamics using Spatial
Vector Algebra, RA-L 7(2), 2022; here in body coordinates, and for joints whose S depends on q too.
With the composites of the bodies behind joint j (Ic, Bc, fc), for one column s of it,

    F = 2 Bc psi + Ic psidd + s x* fc,   G = 2 Bc s + Ic theta,   H = 2 Bc^T s,   K = Ic s,

and for a column of an ancestor i, with all four in its coordinates,

    Q[i, j] = s_i . F   Q[j, i] = H . psi_i + K . psidd_i
    V[i, j] = s_i . G   V[j, i] = H . s_i + K . theta_i     M[i, j] = M[j, i] = K . s_i.
"""

from __future__ import annotations

from sixfold.dynamics.derivatives.inverse_dynamics import ColumnMotion, InverseDynamicsDerivatives
from sixfold.dynamics.derivatives.joints import subspace_rates
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO
from sixfold.spatial import CoriolisInertia, Force, Inertia, Motion


def first_order(
    tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table
) -> InverseDynamicsDerivatives:
    """Return d tau/dq, d tau/dqd and d tau/dqdd of `book.rnea.rnea`.

    f_ext[i] is the external force on body i in body coordinates; it turns with the body.
    """
    at = tree.velocity_slices
    Q, V, M = ([[ZERO] * tree.nv for _ in range(tree.nv)] for _ in range(3))
    Xup, S, rates, along = (tree.table() for _ in range(4))
    v, a, fc = tree.table(Motion.zero()), tree.table(-tree.gravity), tree.table(Force.zero())
    Ic, Bc = tree.table(Inertia.zero()), tree.table(CoriolisInertia.zero())

    # base to tips: motions, and what each column of each joint does to them
    for i in tree.bodies:
        p, I = tree.parent[i], tree.inertia[i]
        XJ, S[i], vJ, cJ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ tree.Xtree[i]
        vp, ap = Xup[i] @ v[p], Xup[i] @ a[p]
        v[i] = vp + vJ
        a[i] = ap + S[i] @ qdd[i] + cJ + v[i].cross(vJ)
        fc[i] = I @ a[i] + v[i].cross(I @ v[i]) - f_ext[i]
        Ic[i], Bc[i] = I, CoriolisInertia.of(I, v[i])
        rates[i], along[i] = subspace_rates(tree, i, q, qd, qdd), []
        for t, s in enumerate(S[i].columns):
            e, g, own = rates[i].of(t)
            psi = vp.cross(s) + e
            psidd = ap.cross(s) + vp.cross(psi) + g + v[i].cross(e)
            along[i].append(ColumnMotion(s, psi, psidd, psi + v[i].cross(s) + own))

    # tips to base: composites, and the forces of each column on the way to the base
    for j in reversed(tree.bodies):
        p = tree.parent[j]
        fc[p] += Xup[j].T @ fc[j]
        Ic[p] += Xup[j].T @ Ic[j] @ Xup[j]
        Bc[p] += Xup[j].T @ Bc[j] @ Xup[j]
        for t, (s, psi, psidd, theta) in enumerate(along[j]):
            c, i = at[j].start + t, j
            F = (Bc[j] @ psi) * 2 + Ic[j] @ psidd
            G, H, K = (Bc[j] @ s) * 2 + Ic[j] @ theta, (Bc[j].T @ s) * 2, Ic[j] @ s
            for b, own in enumerate(along[j]):
                k = at[j].start + b
                turned = rates[j].dS[t].columns[b].dot(fc[j])
                Q[k][c], V[k][c] = own.s.dot(F) + turned, own.s.dot(G)
                M[k][c] = own.s.dot(K) + (tree.armature[j][t] if b == t else ZERO)
            F = F + s.cross(fc[j])
            for anc in tree.ancestors(j):
                F, G, H, K = (Xup[i].T @ force for force in (F, G, H, K))
                i = anc
                for k, up in enumerate(along[anc], at[anc].start):
                    Q[k][c], Q[c][k] = up.s.dot(F), H.dot(up.psi) + K.dot(up.psidd)
                    V[k][c], V[c][k] = up.s.dot(G), H.dot(up.s) + K.dot(up.theta)
                    M[k][c] = M[c][k] = K.dot(up.s)

    return InverseDynamicsDerivatives(Q, V, M)
