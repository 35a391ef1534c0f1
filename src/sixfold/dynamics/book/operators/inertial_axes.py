"""The paper's own reading of the operator equations: inertial axes, joint points, classical
accelerations, gravity and contact as external forces (Concurrent Dynamics eqs. (1) to (17)).

For joints with one fixed axis in the body (revolute, prismatic, helical).
"""

from __future__ import annotations

from typing import NamedTuple

from sixfold.dynamics.book.newton_euler import require_fixed_axes
from sixfold.dynamics.book.operators.equations import System, accelerations
from sixfold.dynamics.kinematics import no_forces
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.spatial import (
    IDENTITY3,
    ZERO3,
    Force,
    Inertia,
    Motion,
    Subspace,
    Transform,
    Vector3,
    steiner,
)


class Geometry(NamedTuple):
    """Positions and velocities in inertial axes, one entry for each body (Fig. 1)."""

    R: Table  # direction cosines: body axes to inertial axes
    eta: Table  # position of the joint
    d: Table  # joint from the parent's joint
    s: Table  # centre of mass from the joint
    g: Table  # axis of turning, zero for a slide
    p: Table  # axis of sliding, zero for a hinge
    omega: Table  # angular velocity
    eta_rate: Table  # velocity of the joint


def geometry(tree: Tree, q: Table, qd: Table) -> Geometry:
    """Return steps a to c of the O(N) solution: axes, points and velocities."""
    require_fixed_axes(tree, "the inertial reading of the operator equations")
    R, eta = tree.table(IDENTITY3), tree.table(ZERO3)
    omega, eta_rate = tree.table(ZERO3), tree.table(ZERO3)
    d, s, g, p = (tree.table() for _ in range(4))
    for i in tree.bodies:
        j, X = tree.parent[i], tree.Xtree[i]
        XJ, S, _, _ = tree.joint[i].calc(q[i], qd[i])
        ((Z, L),), (rate,) = S.columns, qd[i]
        R[i] = R[j] @ (XJ.E @ X.E).T
        d[i] = R[j] @ (X.r + X.E.T @ XJ.r)
        eta[i] = eta[j] + d[i]
        g[i], p[i], s[i] = R[i] @ Z, R[i] @ L, R[i] @ tree.inertia[i].center
        omega[i] = omega[j] + g[i] * rate
        eta_rate[i] = eta_rate[j] + omega[j].cross(d[i]) + p[i] * rate
    return Geometry(R, eta, d, s, g, p, omega, eta_rate)


def inertial(tree: Tree, q: Table, qd: Table, f_ext: Table | None = None) -> System:
    """Return the system of the paper: D (4), G (4), M (16), A (5a), B (17), Y^T Fbar (11).

    f_ext[i] is the external force on body i in body coordinates; none by default.
    """
    x, f_ext = geometry(tree, q, qd), f_ext or no_forces(tree)
    D, G, M, A, B, YF = (tree.table() for _ in range(6))
    for i in tree.bodies:
        j, (rate,) = tree.parent[i], qd[i]
        w, wp, s = x.omega[i], x.omega[j], x.s[i]
        m, Ic = tree.inertia[i].m, tree.inertia[i].about_center.congruence(x.R[i].T)
        D[i] = Transform(IDENTITY3, x.d[i])
        G[i] = Subspace(Motion(x.g[i], x.p[i]))
        M[i] = Inertia(m, s * m, Ic + steiner(m, s))
        sliding = wp.cross(x.p[i]) * (rate * 2)
        A[i] = Motion(wp.cross(x.g[i] * rate), wp.cross(wp.cross(x.d[i])) + sliding)
        B[i] = Force(w.cross(M[i].I @ w), w.cross(w.cross(s)) * m)
        contact = Force(x.R[i] @ f_ext[i].ang, x.R[i] @ f_ext[i].lin)
        weight = Force(ZERO3, tree.gravity.lin * m)
        YF[i] = contact + Transform(IDENTITY3, s).T @ weight
    return System(tree, D, G, M, A, B, YF)


class CenterTerms(NamedTuple):
    """Terms of the equations about the centres of mass, one entry for each body."""

    S: Table  # shift from the joint to the centre of mass (1)
    M_bar: Table  # mass matrix about the centre of mass (11)
    A_bar: Table  # (0; w x (w x s)), what a centre accelerates by turning (2)
    B_bar: Table  # (w x I w; 0), nonlinear force pair (11)


def center_terms(tree: Tree, q: Table, qd: Table) -> CenterTerms:
    """Return S (1), A-bar (2), M-bar and B-bar (11), with M = S^T M-bar S (16)."""
    x = geometry(tree, q, qd)
    S, M_bar, A_bar, B_bar = (tree.table() for _ in range(4))
    for i in tree.bodies:
        w, s = x.omega[i], x.s[i]
        Ic = tree.inertia[i].about_center.congruence(x.R[i].T)
        S[i] = Transform(IDENTITY3, s)
        M_bar[i] = Inertia(tree.inertia[i].m, ZERO3, Ic)
        A_bar[i] = Motion(ZERO3, w.cross(w.cross(s)))
        B_bar[i] = Force(w.cross(Ic @ w), ZERO3)
    return CenterTerms(S, M_bar, A_bar, B_bar)


def center_accelerations(tree: Tree, q: Table, qd: Table, qdd: Table) -> dict[int, Motion]:
    """Return (angular acceleration; acceleration of the centre of mass) of each body (8)."""
    S, _, A_bar, _ = center_terms(tree, q, qd)
    vdot = accelerations(inertial(tree, q, qd), qdd)
    return {i: S[i] @ vdot[i] + A_bar[i] for i in tree.bodies}


def center_velocities(tree: Tree, q: Table, qd: Table) -> dict[int, Vector3]:
    """Return rdot_i, the velocity of each centre of mass (1)."""
    x = geometry(tree, q, qd)
    return {i: x.eta_rate[i] + x.omega[i].cross(x.s[i]) for i in tree.bodies}
