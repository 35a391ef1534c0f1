"""What a target asks for, as rows: how far the robot is from it, and how joints change that.

A part of a target is (e, J): e points from where the robot is to where it should be, and J is the
rate of what e is measured on, one row for each number of e.  A step dq of the joints takes e to e -
J dq, up to terms of second order.  Rotations are rotation vectors, the exact logarithm.  Its rate
is the angular velocity through the inverse left Jacobian of the logarithm.  That matrix leaves e
itself as it is, so it changes neither J^T e nor the solution of J dq = e, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

from sixfold.evaluate import scalar_functions
from sixfold.model import Model
from sixfold.scalar import ZERO, Scalar, atan2, if_positive, sqrt, total
from sixfold.spatial import Motion, Transform, Vector3, rotations

Numbers = Sequence[Scalar]
Rows = list[list[Scalar]]
Part = tuple[list[Scalar], Rows]
NEARLY_ALIGNED = 1e-24
"""Square of the sine of an angle between directions below which it has no axis."""


class Frame:
    """A frame of the robot: where it is, and its Jacobian in its own axes, at its own origin."""

    def __init__(self, model: Model, q: Numbers, body: int, placement: Transform) -> None:
        """Go from the frame to the base once: the pose is what the last column is moved by."""
        tree, x = model.tree, model.positions(q)
        columns = {i: [Motion.zero()] * tree.joint[i].nv for i in tree.bodies}
        X = placement
        for j in (body, *tree.ancestors(body)) if body else ():
            XJ, S, _, _ = tree.joint[j].calc(x[j], tree.zero_velocity(j))
            columns[j] = list((X @ S).columns)
            X = X @ (XJ @ tree.Xtree[j])
        self.X = X
        """From the base to the frame."""
        flat = {i: [(*c.ang, *c.lin) for c in columns[i]] for i in columns}
        self.J = [model.gather({i: [c[r] for c in flat[i]] for i in flat}) for r in range(6)]
        """Angular rows first."""


def position(frame: Frame, goal: Numbers) -> Part:
    """The frame's origin is somewhere."""
    E, r = frame.X
    return list(E @ (Vector3(*goal) - r)), frame.J[3:]


def rotation(frame: Frame, goal: Numbers) -> Part:
    """The frame's axes are the columns of a rotation matrix, given row by row."""
    X = Transform.from_pose([goal[0:3], goal[3:6], goal[6:9]], (ZERO, ZERO, ZERO))
    turn = X.E @ frame.X.E.T
    return list(rotations.quaternion_logarithm(rotations.rotation_to_quaternion(turn))), frame.J[:3]


def direction(frame: Frame, axis: Numbers, across: Sequence[Numbers], goal: Numbers) -> Part:
    """An axis of the frame points along a direction of the world.

    The rotation vector that aligns them has no part along the axis: two rows, across it.
    """
    turn = _aligning(Vector3(*axis), across, frame.X.E @ Vector3(*goal))
    return _across(turn, across, frame.J[:3])


def look_at(frame: Frame, axis: Numbers, across: Sequence[Numbers], goal: Numbers) -> Part:
    """An axis of the frame points from its origin to a point of the world.

    The direction c of the point turns against the frame with omega + c x v / |c|^2.
    """
    E, r = frame.X
    c = E @ (Vector3(*goal) - r)
    over = 1.0 / c.dot(c)
    columns = zip(*frame.J, strict=True)
    rates = [Vector3(*x[:3]) + c.cross(Vector3(*x[3:])) * over for x in columns]
    J = [[rate[r] for rate in rates] for r in range(3)]
    return _across(_aligning(Vector3(*axis), across, c), across, J)


def center_of_mass(model: Model, q: Numbers, goal: Numbers) -> Part:
    """The centre of mass is somewhere."""
    at = scalar_functions.center_of_mass(model, model.tree, q)
    J = scalar_functions.center_of_mass_jacobian(model, model.tree, q)
    return [g - x for g, x in zip(goal, at, strict=True)], _cut(J, model.nv)


def joints(model: Model, q: Numbers, chosen: Sequence[int], goal: Numbers) -> Part:
    """Some velocity coordinates have nothing left to go to a configuration."""
    apart = scalar_functions.difference(model, model.tree, q, goal)
    n = model.nv
    by_q = scalar_functions.difference_derivatives(model, model.tree, q, goal)[: n * n]
    rows = [[-x for x in row] for row in _cut(by_q, n)]
    return [apart[k] for k in chosen], [rows[k] for k in chosen]


def velocity(frame: Frame, goal: Numbers) -> Part:
    """The frame moves with a velocity (omega; v), world axes, its own origin."""
    E = frame.X.E
    return [*(E @ Vector3(*goal[:3])), *(E @ Vector3(*goal[3:]))], frame.J


def norm(e: Numbers) -> Scalar:
    """Return the length of a vector."""
    return sqrt(total(x * x for x in e))


def _aligning(u: Vector3, across: Sequence[Numbers], t: Vector3) -> Vector3:
    """Return the rotation vector that takes the direction u to the direction t.

    Opposite directions have no shortest turn: half a turn about an axis across u is taken.
    """
    n, along = u.cross(t), u.dot(t)
    s2 = n.dot(n)
    large = s2 - NEARLY_ALIGNED * t.dot(t)
    s = sqrt(if_positive(large, s2, 1.0))
    opposite = Vector3(*across[0]) * pi
    near = [if_positive(along, x / along, y) for x, y in zip(n, opposite, strict=True)]
    turn = n * (atan2(s, along) / s)
    return Vector3(*(if_positive(large, x, y) for x, y in zip(turn, near, strict=True)))


def _across(turn: Vector3, across: Sequence[Numbers], J: Any) -> Part:
    """Return the parts of a turn and of an angular velocity along two axes."""
    axes = [Vector3(*axis) for axis in across]
    columns = [Vector3(*column) for column in zip(*J, strict=True)]
    return [turn.dot(a) for a in axes], [[a.dot(c) for c in columns] for a in axes]


def _cut(flat: Numbers, n: int) -> Rows:
    return [list(flat[k : k + n]) for k in range(0, len(flat), n)]
