"""Free flight: a floating tree on which only gravity acts conserves its momentum.

Where nothing but gravity acts on a floating base, the centre of mass flies along a parabola and the
angular momentum about it is constant.  A step of order p violates that by O(h^(p+1)); pose and
velocity of the base are corrected by this error, so that the order is unchanged and both laws hold
to rounding.

For a single rigid body the velocity may change its length only.  Near the middle axis, omega moves
along planes through the origin, I1 (I2 - I1) wx^2 = I3 (I3 - I2) wz^2, which a Runge-Kutta method
keeps exactly, as any invariant subspace; a correction across them lets the body flip at another
time.  So the body is turned until its momentum has the old direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sixfold.model import Free, Model, Tree
from sixfold.model.tree import Table
from sixfold.scalar import Scalar, Zero
from sixfold.spatial import Force, Inertia, Motion, Transform, Vector3, ldl, ldl_solve

TINY = 1e-37  #: Keeps ratios of momenta finite at rest.


def has_free_base(model: Model) -> bool:
    """Return whether all bodies descend from one free joint that nothing holds or resists."""
    if model.constraints or not model.bodies or not isinstance(model.bodies[0].joint, Free):
        return False
    base = model.bodies[0]
    own = (*base.damping, *base.friction, *base.friction_negative, *base.stiffness, *base.armature)
    return all(body.parent >= 0 for body in model.bodies[1:]) and not any(own)


def are_zero(values: Any) -> bool:
    """Return whether all numbers are known to be zero: constants, or arrays of zeros."""
    return all(
        not np.any(x) if isinstance(x, np.ndarray) else isinstance(x, (Zero, float, int)) and x == 0
        for x in values
    )


def correct_turn(tree: Tree, q0: Table, v0: Table, q1: Table, v1: Table, turn: Vector3) -> Vector3:
    """Return a rigid body's rotation vector in a step, corrected so that momentum keeps its axis.

    The velocity takes no part in it, as the planes that omega moves along are not to be left.
    """
    _, h0, I0 = _whole(tree, q0, v0)
    _, h1, I1 = _whole(tree, q1, v1)
    u, w = _relative(q0[1][3:], q1[1][3:])
    L, after = _spin(h0, I0), _spin(h1, I1)
    before = L + _rotate(u, L, -w)

    # the small rotation that gives the momentum its direction
    rho = after.cross(before) / (before.dot(before) + TINY)

    # d(turn) with exp(turn + d) = exp(turn) exp(rho): the inverse right Jacobian, as a series
    square = turn.dot(turn)
    third = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0))
    across = turn.cross(rho)
    return turn + (rho + across * 0.5 + turn.cross(across) * third)


def momentum_drift(
    tree: Tree, q0: Table, v0: Table, q1: Table, v1: Table, h: Scalar
) -> tuple[Vector3, tuple[Scalar, ...]]:
    """Return the corrections of the base's position and velocity after a step from 0 to 1.

    The displacement [m] is in the base's axes before the step, the velocity (omega; v) in those
    after it.
    """
    X0, h0, I0 = _whole(tree, q0, v0)
    X1, h1, I1 = _whole(tree, q1, v1)
    c0, c1, m = I0.h / I0.m, I1.h / I1.m, I0.m
    u, w = _relative(q0[1][3:], q1[1][3:])

    # the centre of mass is in free fall
    g = X0.E @ (tree.Xtree[1].E @ tree.gravity.lin)
    fall = h0.lin * (h / m) + g * (h * h * 0.5)
    apart = (c0 - c1) - _rotate(u, c1, w) + (fall - X0.E @ (X1.r - X0.r))

    # linear momentum gains the impulse of gravity, angular momentum about the centre is constant
    p = h0.lin + g * (m * h)
    push = (p - h1.lin) + _rotate(u, p, -w)
    L, after = _spin(h0, I0), _spin(h1, I1)
    spin = (L - after) + _rotate(u, L, -w)
    if is_rigid(tree):  # all but rounding is along the momentum: the velocity changes its length
        spin = after * (after.dot(spin) / (after.dot(after) + TINY))
    omega = Vector3(*ldl_solve(*ldl(_rows(I1)), tuple(spin)))
    return apart, (*omega, *(push / m + c1.cross(omega)))


def is_rigid(tree: Tree) -> bool:
    """Return whether nothing moves within the tree."""
    return all(joint.nv == 0 for joint in list(tree.joint)[2:])


def _relative(q0: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Vector3, Scalar]:
    """Return the quaternion (u, w) that turns the axes before a step into those after it."""
    a, b = Vector3(*q0[:3]), Vector3(*q1[:3])
    u = (b * q0[3] - a * q1[3]) - a.cross(b)
    return u, q0[3] * q1[3] + a.dot(b)


def _rotate(u: Vector3, x: Vector3, w: Scalar) -> Vector3:
    """Return R x - x for the rotation (u, w), without forming R x."""
    across = u.cross(x)
    return (across * w + u.cross(across)) * 2.0


def _spin(h: Force, I: Inertia) -> Vector3:
    """Return the angular momentum about the centre of mass."""
    return h.ang - (I.h / I.m).cross(h.lin)


def _rows(I: Inertia) -> tuple[tuple[Scalar, ...], ...]:
    """Return the rotational inertia about the centre of mass, row by row."""
    xx, yy, zz, xy, xz, yz = I.about_center
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


def _whole(tree: Tree, q: Table, qd: Table) -> tuple[Transform, Force, Inertia]:
    """Return the base's transform, and momentum and inertia of all bodies in base coordinates."""
    Xup, v = tree.table(), tree.table(Motion.zero())
    H, Ic = tree.table(Force.zero()), tree.table(Inertia.zero())
    for i in tree.bodies:
        XJ, _, vJ, _ = tree.joint[i].calc(q[i], qd[i])
        Xup[i] = XJ @ tree.Xtree[i]
        v[i] = Xup[i] @ v[tree.parent[i]] + vJ
        H[i], Ic[i] = tree.inertia[i] @ v[i], tree.inertia[i]
    for i in reversed(tree.bodies[1:]):
        p = tree.parent[i]
        H[p] = H[p] + Xup[i].T @ H[i]
        Ic[p] = Ic[p] + Xup[i].T @ Ic[i] @ Xup[i]
    return tree.joint[1].calc(q[1], qd[1]).XJ, H[1], Ic[1]
