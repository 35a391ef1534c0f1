"""Constraints that may become active, as rows: contacts, joint limits, dry friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sixfold.dynamics.constrained.solve import Delassus
from sixfold.dynamics.contact.cones import Box, Cone, Push
from sixfold.dynamics.contact.law import (
    RIGID_IMPEDANCE,
    damping,
    impedance,
    rebound,
    reference,
    softness,
)
from sixfold.dynamics.contact.rows import Contact, Places, along, bias, jacobian
from sixfold.dynamics.contact.scene import Drag, Scene, Stop
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, dot, if_positive, sqrt
from sixfold.spatial import Vector3

Numbers = Sequence[Scalar]
Reduce = Callable[[Mapping[int, Scalar]], list[Scalar]]
"""Makes a row over the coordinates of a model of one by freedoms of its tree."""


class Row(NamedTuple):
    """One row of a constraint."""

    J: list[Scalar]
    asked: Scalar
    """The acceleration J a that it asks for."""
    active: Scalar
    """One, or zero while the constraint is open."""
    arm: list[Scalar] | None = None
    """The same row over moment and force on the body that carries it, if one does."""
    body: int = 0


class Constraint(NamedTuple):
    """Rows that share a cone."""

    rows: list[Row]
    cone: Cone | Push | Box
    R: Scalar


class State(NamedTuple):
    """Where a model is and how it moves, as the rows need it."""

    q: Numbers
    v: Numbers
    qd: Table
    places: Places
    reduce: Reduce
    gravity: Vector3
    h: Scalar | None
    """Length of the step; rigid contacts need it."""
    held: tuple[Delassus, list[Scalar]] | None
    """Constraints that always hold, with the accelerations of their rows; they are kept exactly."""
    carriers: dict[int, list[list[Scalar]]]
    """The six rows of each body whose many points go by them: moment and force about its origin, in
    world axes."""


def touching(scene: Scene, at: State, contact: Contact) -> Constraint:
    """Return the rows of a contact: the normal, and two tangents if there is friction."""
    touch, h = contact.touch, at.h
    columns, turning = jacobian(at.places, contact), bias(at.places, contact, at.qd)
    n, *across = contact.frame
    body = 0 if touch.other is not None else touch.ball.body
    lever = contact.point - at.places.X0[touch.ball.body].r
    moving = None
    if body in at.carriers:
        twist = [dot(row, at.v) for row in at.carriers[body]]
        moving = Vector3(*twist[3:]) + Vector3(*twist[:3]).cross(lever)

    def row_along(direction: Vector3) -> tuple[list[Scalar], Scalar]:
        """Return the row, and how fast the surfaces part along it."""
        row = at.reduce(along(columns, direction))
        return row, dot(row, at.v) if moving is None else direction.dot(moving)

    def arm(direction: Vector3, scale: float = 1.0) -> list[Scalar] | None:
        if not body:
            return None
        return [x * scale if scale != 1.0 else x for x in (*lever.cross(direction), *direction)]

    normal, speed = row_along(n)
    asked, active, R = _normal(scene, at, contact, speed)
    rows = [Row(normal, asked - n.dot(turning), active, arm(n), body)]
    if not touch.friction:
        return Constraint(rows, Push(), R)
    # in rows scaled so, softness is the same along all of them
    scale = scene.impratio**0.5
    for t in across:
        row, slip = row_along(t)
        asked = -(slip / h) if scene.rigid else damping(scene.law, slip)
        asked = asked - t.dot(turning)
        if scale != 1.0:
            row, asked = [x * scale for x in row], asked * scale
        rows.append(Row(row, asked, active, arm(t, scale), body))
    return Constraint(rows, Cone(touch.friction / scale), R)


def _normal(
    scene: Scene, at: State, contact: Contact, speed: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Return the acceleration that a contact asks for, whether it is active, and its softness R."""
    gap = contact.gap - scene.margin if scene.margin else contact.gap
    if not scene.rigid:
        d = impedance(scene.law, gap)
        asked, R = reference(scene.law, d, gap, speed), softness(d, contact.touch.weight)
        return asked, if_positive(-gap, 1.0, 0.0), R
    assert at.h is not None, "rigid contacts need the length of a step"
    slow = sqrt(at.gravity.dot(at.gravity)) * (2.0 * at.h)
    reach = gap + (if_positive(speed, 0.0, speed) - slow) * at.h  # gravity may close it, too
    asked = rebound(gap, speed, at.h, scene.restitution, slow)
    return asked, if_positive(-reach, 1.0, 0.0), softness(RIGID_IMPEDANCE, contact.touch.weight)


def stopping(scene: Scene, at: State, stop: Stop) -> Constraint:
    """Return the row of the nearer limit of a joint."""
    q, v = at.q[stop.q], at.v[stop.v]
    low, high = q - stop.lower, stop.upper - q
    side = if_positive(high - low, 1.0, -1.0)
    gap = if_positive(high - low, low, high)
    d = impedance(scene.law, gap)
    J = [side if k == stop.v else ZERO for k in range(len(at.v))]
    asked = reference(scene.law, d, gap, v * side)
    row = Row(J, asked, if_positive(-gap, 1.0, 0.0))
    return Constraint([row], Push(), softness(d, stop.weight))


def dragging(scene: Scene, at: State, drag: Drag) -> Constraint:
    """Return the row of dry friction: it asks for no motion, with so much force."""
    d = impedance(scene.law, 0.0)
    J: list[Scalar] = [1.0 if k == drag.v else ZERO for k in range(len(at.v))]
    row = Row(J, damping(scene.law, at.v[drag.v]), 1.0)
    return Constraint([row], Box(-drag.forward, drag.backward), softness(d, drag.weight))
