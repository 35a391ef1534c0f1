"""Newton-Euler about the joint points, in body axes: no linear velocity is ever formed.

Accelerations are those of the points themselves (Khatib's outward iterations) and inertias are
about the body origins, as in eqs. (5), (16) and (17) of Concurrent Dynamics: the equations of
`book.newton_euler` and `book.operators.inertial_axes` collected for the fewest operations, and for
every joint.  Linear velocities cancel in the end; without them, and with Euler's moment from
second moments, a quarter to a third of the operations of `book.rnea` are saved (panda: 868
instead of 1189).
"""

from __future__ import annotations

from typing import NamedTuple

from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import Scalar
from sixfold.spatial import (
    ZERO3,
    ZERO33,
    Force,
    JointMatrix,
    Matrix3,
    Motion,
    Subspace,
    Symmetric3,
    Vector3,
)


class BodyForces(NamedTuple):
    """How each body moves, and the force that it needs for that less the external force on it."""

    Xup: Table  # transform from the parent
    S: Table  # motion subspace of the joint
    f: Table  # the force, in body coordinates
    vJ: Table  # velocity across the joint
    w: Table  # angular velocity, in body axes
    wd: Table  # angular acceleration
    vd: Table  # acceleration of the body's origin, less gravity
    W: Table  # what rotation adds to the acceleration at r is W r


def body_forces(tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> BodyForces:
    """Return the net force of each body at qdd, less the external force on it.

    f_ext[i] is the external force on body i in body coordinates.
    """
    Xup, S, f = tree.table(), tree.table(), tree.table(Force.zero())
    w, wd, vd = tree.table(ZERO3), tree.table(ZERO3), tree.table(-tree.gravity.lin)
    vJ, W = tree.table(), tree.table(ZERO33)

    for i in tree.bodies:
        p, (m, h, _) = tree.parent[i], tree.inertia[i]
        XJ, S[i], vJ[i], cJ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = E, r = XJ @ tree.Xtree[i]
        aJ = S[i] @ qdd[i] + cJ
        w_in = E @ w[p]
        w[i] = w_in + vJ[i].ang
        wd[i] = E @ wd[p] + w_in.cross(vJ[i].ang) + aJ.ang
        vd[i] = E @ (vd[p] + W[p] @ r) + _sliding(w_in, vJ[i]) + aJ.lin
        T, W[i] = rotation_acceleration(w[i], wd[i])
        force = vd[i] * m + W[i] @ h
        moment = euler_moment(tree.inertia[i].second_moments, T) + h.cross(vd[i])
        f[i] = Force(moment, force) - f_ext[i]

    return BodyForces(Xup, S, f, vJ, w, wd, vd, W)


def rotation_acceleration(w: Vector3, wd: Vector3) -> tuple[Matrix3, Matrix3]:
    """Return T = w w^T + wd x and W = T - w.w 1, with W r = wd x r + w x (w x r).

    W r is what rotation adds to the acceleration at r.
    """
    x, y, z = w
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    a, b, c = (xy - wd.z, xz + wd.y), (xy + wd.z, yz - wd.x), (xz - wd.y, yz + wd.x)

    def around(p: Scalar, q: Scalar, r: Scalar) -> Matrix3:
        return Matrix3(Vector3(p, *a), Vector3(b[0], q, b[1]), Vector3(*c, r))

    return around(xx, yy, zz), around(-(yy + zz), -(xx + zz), -(xx + yy))


def euler_moment(second: Symmetric3, T: Matrix3) -> Vector3:
    """Return the integral of r x (T r) over a body, from that of r r^T.

    A multiple of 1 in T adds nothing.  For T of `rotation_acceleration` it is Euler's
    I wd + w x (I w), from three fifths of the products.
    """
    xx, yy, zz, xy, xz, yz = second
    a, b, c = T
    return Vector3(
        yy * c.y - zz * b.z + yz * (c.z - b.y) + xy * c.x - xz * b.x,
        zz * a.z - xx * c.x + xz * (a.x - c.z) + yz * a.y - xy * c.y,
        xx * b.x - yy * a.y + xy * (b.y - a.x) + xz * b.z - yz * a.z,
    )


def _sliding(w: Vector3, vJ: Motion) -> Vector3:
    """Return what sliding by vJ adds on a parent that turns with w (Coriolis)."""
    return w.cross(vJ.lin) * 2 + vJ.ang.cross(vJ.lin)


def joint_forces(tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> tuple[Table, Table]:
    """Joint forces that produce qdd, and the force through each joint, as `rnea` has them."""
    Xup, S, f, *_ = body_forces(tree, q, qd, qdd, f_ext)
    tau = tree.table()

    for i in reversed(tree.bodies):
        tau[i] = S[i].T @ f[i] + tree.armature[i] * qdd[i]
        f[tree.parent[i]] += Xup[i].T @ f[i]

    return tau, f


def joint_wrenches(tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> Table:
    """Return the force of each parent on its body in body coordinates (f_J of Carius eq. 37)."""
    _, f = joint_forces(tree, q, qd, qdd, f_ext)
    return {i: f[i] for i in tree.bodies}


def constraint_forces(tree: Tree, q: Table, qd: Table, qdd: Table, f_ext: Table) -> Table:
    """Return the joint wrenches without their working part: f - S (S^T S)^-1 S^T f.

    In body axes at the body origin the working part lies along S; the rest, T T^T f with T the
    orthonormal constraint basis, bears load without working (Concurrent Dynamics eq. 20).
    """
    wrench = joint_wrenches(tree, q, qd, qdd, f_ext)
    return {
        i: wrench[i] - working_part(tree.joint[i].calc(q[i], qd[i]).S, wrench[i])
        for i in tree.bodies
    }


def working_part(S: Subspace, f: Force) -> Force:
    """Return S (S^T S)^-1 S^T f, reading the columns of S as forces."""
    along = [Force(*column) for column in S.columns]
    gram = JointMatrix([[as_motion(a).dot(b) for b in along] for a in along])
    rates = (S.T @ f) / gram
    total = Force.zero()
    for column, rate in zip(along, rates, strict=True):
        total = total + column * rate
    return total


def as_motion(f: Force) -> Motion:
    """Read the coordinates of a force as those of a motion."""
    return Motion(f.ang, f.lin)
