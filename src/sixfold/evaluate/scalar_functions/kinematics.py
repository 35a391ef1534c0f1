"""Poses, motions, Jacobians and moves on the manifold as functions of flat lists of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sixfold.dynamics import kinematics
from sixfold.evaluate.scalar_functions.page import Numbers, page
from sixfold.model import Model, Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar
from sixfold.spatial import (
    IDENTITY3,
    Column,
    Force,
    Motion,
    Transform,
    Vector3,
    classical_acceleration,
)


class FixedFrame(NamedTuple):
    """A frame on a body, or on the base, in whose axes and at whose origin a result is taken."""

    body: int
    placement: Transform


@page(rolls=True)
def body_poses(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """World from body, 4x4 each."""
    _, X0 = kinematics.transforms(tree, model.positions(q))
    return tree.rows(lambda i: _pose(X0[i]))


def frame_pose(
    model: Model, tree: Tree, q: Numbers, *, body: int, placement: Transform
) -> list[Scalar]:
    """World from frame, 4x4."""
    _, X0 = kinematics.transforms(tree, model.positions(q))
    return _pose(placement @ X0[body])


@page(rolls=True)
def body_accelerations(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    a: Numbers,
    *,
    kind: str,
    frame: str | FixedFrame,
) -> list[Scalar]:
    """Spatial or classical accelerations of all bodies, in the frame asked for."""
    x = model.positions(q)
    vel, acc = kinematics.motions(tree, x, model.velocities(v), model.velocities(a))
    if kind == "classical":
        table = tree.table()
        for i in tree.bodies:
            table[i] = classical_acceleration(acc[i], vel[i])
        acc = table
    return _expressed(tree, x, acc, frame)


@page(rolls=True)
def body_velocities(
    model: Model, tree: Tree, q: Numbers, v: Numbers, *, frame: str | FixedFrame
) -> list[Scalar]:
    """Velocities of all bodies, in the frame asked for."""
    x = model.positions(q)
    vel, _ = kinematics.motions(tree, x, model.velocities(v), tree.zero_velocities())
    return _expressed(tree, x, vel, frame)


def _expressed(tree: Tree, q: Table, motions: Table, frame: str | FixedFrame) -> list[Scalar]:
    """Return motions of all bodies in the frame asked for."""
    if isinstance(frame, FixedFrame):
        seen = seen_from(tree, q, frame)
        return [x for i in tree.bodies for x in six(seen(i) @ motions[i])]
    if frame == "body":
        return tree.rows(lambda i: six(motions[i]))
    _, X0 = kinematics.transforms(tree, q)
    return tree.rows(lambda i: six(express(motions[i], X0[i], frame)))


def frame_velocity(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    *,
    body: int,
    placement: Transform,
    frame: str | FixedFrame,
) -> list[Scalar]:
    """Velocity of a body or frame, in the frame asked for."""
    if not body:
        return [ZERO] * 6
    x = model.positions(q)
    vel, _ = kinematics.motions(tree, x, model.velocities(v), tree.zero_velocities())
    if isinstance(frame, FixedFrame):
        return six(seen_from(tree, x, frame)(body) @ vel[body])
    if frame == "body":
        return six(placement @ vel[body])
    X0 = placement @ kinematics.transforms(tree, x)[1][body]
    return six(express(placement @ vel[body], X0, frame))


def jacobian(
    model: Model,
    tree: Tree,
    q: Numbers,
    point: Numbers | None = None,
    *,
    body: int,
    placement: Transform,
    frame: str | FixedFrame,
) -> list[Scalar]:
    """6 x nv, row by row, reduced by couplings; at a point of the frame, or its origin."""
    placement = at_point(point, placement)
    x = model.positions(q)
    columns = {i: [Motion.zero()] * tree.joint[i].nv for i in tree.bodies}
    if isinstance(frame, FixedFrame):
        X = seen_from(tree, x, frame)(body)
        for j, S in kinematics.jacobian(tree, x, body).items() if body else ():
            columns[j] = list((X @ S).columns)
    elif body:
        X0 = placement @ kinematics.transforms(tree, x)[1][body] if frame != "body" else None
        for j, S in kinematics.jacobian(tree, x, body).items():
            moved = placement @ S
            columns[j] = [express(c, X0, frame) if X0 else c for c in moved.columns]
    flat = {i: [six(c) for c in columns[i]] for i in tree.bodies}
    return [x for r in range(6) for x in model.gather({i: [c[r] for c in flat[i]] for i in flat})]


def jacobian_bias(
    model: Model,
    tree: Tree,
    q: Numbers,
    v: Numbers,
    point: Numbers | None = None,
    *,
    body: int,
    placement: Transform,
    frame: str | FixedFrame,
) -> list[Scalar]:
    """dJ/dt v in the frame's own components: the acceleration at a = 0."""
    placement = at_point(point, placement)
    if not body:
        return [ZERO] * 6
    x, xd = model.positions(q), model.velocities(v)
    vel, acc = kinematics.motions(tree, x, xd, tree.zero_velocities())
    if isinstance(frame, FixedFrame):
        X = seen_from(tree, x, frame)(body)
        turning = frame.placement @ vel[frame.body]
        return six(X @ acc[body] - turning.cross(X @ vel[body]))
    v_f, a_f = placement @ vel[body], placement @ acc[body]
    if frame == "body":
        return six(a_f)
    X0 = placement @ kinematics.transforms(tree, x)[1][body]
    m = classical_acceleration(a_f, v_f) if frame == "aligned" else a_f
    return six(express(m, X0, frame))


def at_point(point: Numbers | None, placement: Transform) -> Transform:
    """Return a frame's placement moved to a point given in its coordinates."""
    return placement if point is None else Transform(IDENTITY3, Vector3(*point)) @ placement


def seen_from(tree: Tree, q: Table, frame: FixedFrame) -> Callable[[int], Transform]:
    """Return, by body, the transform from its coordinates to those of a frame."""
    X = kinematics.relative_transforms(tree, q, frame.body)
    return lambda i: frame.placement @ X[i].inverse()


def express(m: Motion, X0: Transform, frame: str) -> Motion:
    """Return a motion in body coordinates in world coordinates, or in world axes at its point."""
    if frame == "world":
        return X0.inverse() @ m
    back = X0.E.T
    return Motion(back @ m.ang, back @ m.lin)


def point_force(
    model: Model,
    tree: Tree,
    q: Numbers,
    force: Numbers,
    point: Numbers | None = None,
    *,
    body: int,
    placement: Transform,
) -> list[Scalar]:
    """f_ext with one force in world axes at a point of a frame, about the world origin."""
    result: list[Scalar] = [ZERO] * (6 * model.nb)
    if body:
        X = at_point(point, placement) @ kinematics.transforms(tree, model.positions(q))[1][body]
        result[6 * body - 6 : 6 * body] = six(Force.at_point(Vector3(*force), X.r))
    return result


def integrate(
    model: Model, tree: Tree, q: Numbers, v: Numbers, dt: Numbers | None = None
) -> list[Scalar]:
    """Position reached from q by moving with v for dt, or for one second."""
    dq = v if dt is None else [x * dt[0] for x in v]
    return _free_joints(model, lambda joint, x, dx: joint.step(x, dx), q, dq, "nv")


def difference(model: Model, tree: Tree, q0: Numbers, q1: Numbers) -> list[Scalar]:
    """Increment that leads from q0 to q1."""
    return _free_joints(model, lambda joint, x, y: joint.difference(x, y), q0, q1, "nq")


def position_rate(model: Model, tree: Tree, q: Numbers, v: Numbers) -> list[Scalar]:
    """dq/dt."""
    return _free_joints(model, lambda joint, x, xd: joint.rate(x, xd), q, v, "nv")


def _free_joints(
    model: Model, rule: Callable[..., Column], q: Numbers, other: Numbers, size: str
) -> list[Scalar]:
    result: list[Scalar] = []
    for free in model.coordinates.free:
        result += rule(free.joint, q[free.q], other[free.q if size == "nq" else free.v])
    return result


def six(x: Motion | Force) -> list[Scalar]:
    """Return the numbers of a spatial vector, angular ones first."""
    return [*x.ang, *x.lin]


def _pose(X: Transform) -> list[Scalar]:
    return [x for row in X.pose() for x in row]
