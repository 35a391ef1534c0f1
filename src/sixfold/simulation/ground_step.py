"""The step of motions with contact: semi-implicit Euler, free bodies in world axes.

Velocities of a free joint are in body axes.  A body that rolls turns its axes once in a round, and
Euler's step of turning coordinates gains speed.  So linear velocities are advanced in world axes,
as MuJoCo does: v' = R'^T R (v + h (a + w x v)), p' = p + h R' v'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sixfold.model import Free, Model
from sixfold.scalar import Scalar
from sixfold.spatial import Column, Vector3

Numbers = Sequence[Scalar]


def ground_step(
    system: Any, model: Model, t: Scalar, q: Numbers, v: Numbers, h: Scalar
) -> tuple[list[Scalar], list[Scalar]]:
    """Return q and v after a step of length h; states of a controller follow the velocities."""
    a = system.acceleration(t, q, v)
    faster = [x + y * h for x, y in zip(v, a, strict=True)]
    moved = system.move(q, [x * h for x in faster])
    for free in model.coordinates.free:
        if isinstance(free.joint, Free):
            _free_body(free, q, v, a, h, moved, faster)
    return moved, faster


def _free_body(
    free: Any, q: Numbers, v: Numbers, a: Numbers, h: Scalar, moved: Any, faster: Any
) -> None:
    """Write position and linear velocity of a free joint in their places."""
    w, u = Vector3(*v[free.v][:3]), Vector3(*v[free.v][3:])
    speed = u + (Vector3(*a[free.v][3:]) + w.cross(u)) * h
    along = _rotation(free, q).T @ speed
    way = Vector3(*q[free.q][:3]) + along * h
    moved[free.q.start : free.q.start + 3] = list(way)
    faster[free.v.start + 3 : free.v.stop] = list(_rotation(free, moved) @ along)


def _rotation(free: Any, q: Numbers) -> Any:
    """Return E: from the axes of the joint's frame to those of the body."""
    return free.joint.calc(Column(q[free.q]), Column.zero(6)).XJ.E
