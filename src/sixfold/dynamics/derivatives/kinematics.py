"""Derivatives of velocities, Jacobians, energies and momenta along the motion subspaces.

In body coordinates a joint changes what comes before it on the way from the base: moving joint k
turns the columns J_j of the joints before it by J_j x J_k and does not change those behind it.

With K_j = Ic_j s_j and hc_j the momentum of all bodies behind joint j, the kinetic energy changes
along column j by psi_j . hc_j and the momentum by s_j x* hc_j + Ic_j psi_j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from sixfold.dynamics.derivatives.joints import subspace_rates
from sixfold.dynamics.energy import center_of_mass, mass_moments
from sixfold.dynamics.fast.inverse_dynamics import body_forces
from sixfold.dynamics.kinematics import no_forces, transforms
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import Scalar
from sixfold.spatial import Force, Inertia, Motion, Transform, Vector3

Hessian = dict[tuple[int, int], Motion]


class JacobianColumns(NamedTuple):
    """What each DOF that supports a body does to it, in body coordinates."""

    J: dict[int, Motion]  # the column of the Jacobian, by DOF
    # derivatives of the subspace of a joint itself along its own DOFs: (column, along)
    own: Hessian
    joint: dict[int, int]  # the joint of each DOF


def columns(tree: Tree, q: Table, body: int, placement: Transform) -> JacobianColumns:
    """Return the columns of a frame's Jacobian in its own coordinates."""
    J: dict[int, Motion] = {}
    own: Hessian = {}
    joint: dict[int, int] = {}
    X, still = placement, tree.zero_velocities()
    for j in (body, *tree.ancestors(body)) if body else ():
        start = tree.velocity_slices[j].start
        XJ, S, _, _ = tree.joint[j].calc(q[j], still[j])
        rates = subspace_rates(tree, j, q, still, still)
        for t, s in enumerate(S.columns, start):
            J[t], joint[t] = X @ s, j
            for p, d in enumerate(rates.dS[t - start].columns, start):
                own[p, t] = X @ d
        X = X @ (XJ @ tree.Xtree[j])
    return JacobianColumns(J, own, joint)


def jacobian_derivatives(
    found: JacobianColumns, turned: Callable[[Motion, Motion], Motion] | None
) -> Hessian:
    """Return d J_j / dq_k by (j, k), in the frame's coordinates."""
    J, own, joint = found
    H: Hessian = {}
    for j, at in J.items():
        for k, along in J.items():
            rate = Motion.zero()
            if joint[j] < joint[k]:  # a joint nearer to the base has a smaller number
                rate = at.cross(along)
            elif joint[j] == joint[k]:
                rate = own[j, k]
            H[j, k] = rate if turned is None else rate + turned(along, at)
    return H


def in_moving_frame(
    found: JacobianColumns, own: dict[int, Motion], X: Transform
) -> tuple[dict[int, Motion], Hessian]:
    """Return the Jacobian of a body and d J_j / dq_k in the coordinates of another frame.

    That frame moves too, and the transform between the two with both: dX/dt = (v_A - v_B) x X
    (Carius eq. 16).

    Args:
        found: the columns of the body, in its own coordinates.
        own: the columns of the frame's own Jacobian, in the frame's coordinates.
        X: from the body's coordinates to the frame's.
    """
    J = {j: X @ column for j, column in found.J.items()}
    inner = jacobian_derivatives(found, None)
    still = Motion.zero()
    H: Hessian = {}
    for j, column in J.items():
        for k in dict.fromkeys((*J, *own)):
            moving = J.get(k, still) - own.get(k, still)
            rate = X @ inner[j, k] if k in J else still
            H[j, k] = rate + moving.cross(column)
    return J, H


class Composites(NamedTuple):
    """Sums over the bodies behind each joint, in body coordinates."""

    S: Table
    psi: Table  # change of velocities along each column of S, in addition to turning with the joint
    hc: Table  # momentum; of all bodies at the base
    Ic: Table  # inertia


def composites(tree: Tree, q: Table, qd: Table) -> Composites:
    """Return momentum and inertia of what each joint carries."""
    Xup, S, psi = (tree.table() for _ in range(3))
    v, hc, Ic = (tree.table(x.zero()) for x in (Motion, Force, Inertia))
    for i in tree.bodies:
        XJ, S[i], vJ, _ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ tree.Xtree[i]
        vp = Xup[i] @ v[tree.parent[i]]
        e = subspace_rates(tree, i, q, qd, tree.zero_velocities()).e
        psi[i] = [vp.cross(s) + de for s, de in zip(S[i].columns, e, strict=True)]
        v[i] = vp + vJ
        hc[i], Ic[i] = tree.inertia[i] @ v[i], tree.inertia[i]
    for i in reversed(tree.bodies):
        p = tree.parent[i]
        hc[p] += Xup[i].T @ hc[i]
        Ic[p] += Xup[i].T @ Ic[i] @ Xup[i]
    return Composites(S, psi, hc, Ic)


def energy_derivatives(tree: Tree, q: Table, qd: Table) -> tuple[list[Scalar], list[Scalar]]:
    """Return the derivatives of the kinetic energy by q, and by v: M v."""
    S, psi, hc, _ = composites(tree, q, qd)
    by_q = [p.dot(hc[i]) for i in tree.bodies for p in psi[i]]
    by_v = [x for i in tree.bodies for x in S[i].T @ hc[i] + tree.armature[i] * qd[i]]
    return by_q, by_v


class Momenta(NamedTuple):
    """Derivatives of the momentum in world axes about the centre of mass, by DOF."""

    by_q: list[Force]
    by_v: list[Force]  # columns of the centroidal momentum matrix A
    center: list[Vector3]  # how the centre of mass moves with each DOF


def momentum_derivatives(tree: Tree, q: Table, qd: Table) -> Momenta:
    """Return how the centroidal momentum L - c x p and the centre of mass c change."""
    S, psi, hc, Ic = composites(tree, q, qd)
    _, X0 = transforms(tree, q)
    (mass, _), c = mass_moments(tree, q), center_of_mass(tree, q)
    found = Momenta([], [], [])
    for i in tree.bodies:
        for s, p in zip(S[i].columns, psi[i], strict=True):
            K = X0[i].T @ (Ic[i] @ s)
            rate = X0[i].T @ (s.cross(hc[i]) + Ic[i] @ p)
            dc = K.lin / mass
            turned = dc.cross(hc[0].lin) + c.cross(rate.lin)
            found.by_q.append(Force(rate.ang - turned, rate.lin))
            found.by_v.append(Force(K.ang - c.cross(K.lin), K.lin))
            found.center.append(dc)
    return found


def centroidal_bias(tree: Tree, q: Table, qd: Table) -> Force:
    """Return dA/dt qd: the rate of the centroidal momentum without accelerations."""
    free = replace(tree, gravity=Motion.zero())
    Xup, _, f, *_ = body_forces(free, q, qd, tree.zero_velocities(), no_forces(tree))
    for i in reversed(tree.bodies):
        f[tree.parent[i]] += Xup[i].T @ f[i]
    return Force(f[0].ang - center_of_mass(tree, q).cross(f[0].lin), f[0].lin)
