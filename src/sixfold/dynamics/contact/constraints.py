"""Constraints that may become active: contacts, joint limits, dry friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sixfold.dynamics.contact.cones import Box, Cone, Push
from sixfold.dynamics.contact.joint_space import JointSpace
from sixfold.dynamics.contact.law import (
    RIGID_IMPEDANCE,
    damping,
    impedance,
    rebound,
    reference,
    softness,
)
from sixfold.dynamics.contact.newton import Constraint, JointRows, PointRows
from sixfold.dynamics.contact.rows import Contact, Places, along, bias, jacobian
from sixfold.dynamics.contact.scene import DryFriction, JointLimit, Scene
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, dot, if_positive, sqrt
from sixfold.spatial import Motion, Vector3

Numbers = Sequence[Scalar]
Reduce = Callable[[Mapping[int, Scalar]], list[Scalar]]
"""Makes a row over the coordinates of a model of one over the joint velocities of its tree."""


class State(NamedTuple):
    """Where a model is and how it moves, as constraints need it."""

    q: Numbers
    v: Numbers
    qd: Table
    places: Places
    space: JointSpace
    twists: Mapping[int, Motion]
    """Motion of the bodies that touch the ground."""
    reduce: Reduce
    gravity: Vector3
    h: Scalar | None
    """Length of the step, where it is known; rigid contacts need it."""


def contact_constraint(scene: Scene, at: State, contact: Contact) -> Constraint:
    """Return a contact: the normal row, and two tangential ones if there is friction."""
    touch = contact.touch
    directions = tuple(contact.frame) if touch.friction else (contact.frame.n,)
    # in tangential rows scaled so, softness is the same along all of them
    scale = scene.impratio**0.5
    if scale != 1.0:
        directions = (directions[0], *(direction * scale for direction in directions[1:]))
    rows: PointRows | JointRows
    if touch.other is None:
        body = touch.ball.body
        rows = PointRows(body, at.space.arm(body, contact.point), directions)
    else:
        columns = jacobian(at.places, contact)
        rows = JointRows([at.reduce(along(columns, direction)) for direction in directions])
    speeds = rows.rates(at.twists, at.v)
    turning = bias(at.places, contact, at.qd)
    asked, active, R = _normal(scene, at, contact, speeds[0])
    slips = [-(x / at.h) if scene.rigid else damping(touch.law, x) for x in speeds[1:]]
    asked_for = [
        x - direction.dot(turning) for x, direction in zip([asked, *slips], directions, strict=True)
    ]
    cone = Cone(touch.friction / scale) if touch.friction else Push()
    return Constraint(rows, cone, asked_for, active, R, touch.weight)


def _normal(
    scene: Scene, at: State, contact: Contact, speed: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Return the acceleration that a contact asks for, whether it is active, and its softness R."""
    touch = contact.touch
    gap = contact.gap - touch.margin if touch.margin else contact.gap
    if not scene.rigid:
        d = impedance(touch.law, gap)
        asked = reference(touch.law, d, gap, speed)
        return asked, if_positive(-gap, 1.0, 0.0), softness(d, touch.weight)
    assert at.h is not None, "rigid contacts need the length of a step"
    slow = sqrt(at.gravity.dot(at.gravity)) * (2.0 * at.h)
    reach = gap + (if_positive(speed, 0.0, speed) - slow) * at.h  # gravity may close it, too
    asked = rebound(gap, speed, at.h, scene.restitution, slow)
    return asked, if_positive(-reach, 1.0, 0.0), softness(RIGID_IMPEDANCE, touch.weight)


def limit_constraint(at: State, limit: JointLimit) -> Constraint:
    """Return the nearer limit of a joint."""
    q, v = at.q[limit.q], at.v[limit.v]
    low, high = q - limit.lower, limit.upper - q
    side = if_positive(high - low, 1.0, -1.0)
    gap = if_positive(high - low, low, high) - limit.margin
    d = impedance(limit.law, gap)
    asked = reference(limit.law, d, gap, v * side)
    rows = JointRows([_unit_row(at, limit.v, side)])
    active = if_positive(-gap, 1.0, 0.0)
    R = softness(d, limit.weight)
    return Constraint(rows, Push(), [asked], active, R, limit.weight)


def friction_constraint(at: State, friction: DryFriction) -> Constraint:
    """Return dry friction of a joint: it asks for no motion, with a bounded force."""
    law, k = friction.law, friction.v
    R = softness(impedance(law, 0.0), friction.weight)
    asked = damping(law, at.v[k])
    rows = JointRows([_unit_row(at, k, 1.0)])
    bounds = Box(-friction.forward, friction.backward)
    return Constraint(rows, bounds, [asked], 1.0, R, friction.weight)


def _unit_row(at: State, k: int, value: Scalar) -> list[Scalar]:
    return [value if n == k else ZERO for n in range(len(at.v))]


def joint_forces(constraints: Sequence[Constraint], forces: Sequence[Numbers], n: int) -> Numbers:
    """Return what limits and dry friction, the constraints given, add to the joint forces."""
    found: list[Scalar] = [ZERO] * n
    for each, f in zip(constraints, forces, strict=True):
        assert isinstance(each.rows, JointRows)
        for k in range(n):
            found[k] = found[k] + dot([row[k] for row in each.rows.rows], f)
    return found
