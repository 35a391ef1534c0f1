"""What constraints that may become active do to a motion: forces and accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixfold.dynamics.constrained.solve import Delassus
from sixfold.dynamics.contact.constraints import (
    Reduce,
    State,
    contact_constraint,
    friction_constraint,
    joint_forces,
    limit_constraint,
)
from sixfold.dynamics.contact.newton import Coordinates, Problem
from sixfold.dynamics.contact.rows import Contact, Places, along, contacts
from sixfold.dynamics.contact.scene import Scene
from sixfold.dynamics.fast.factor import Factor
from sixfold.dynamics.fast.trunk import FreeMotion
from sixfold.scalar import ZERO, Scalar, dot
from sixfold.spatial import Vector3

Numbers = Sequence[Scalar]
RIGID_FACTORS = (1e3, 1e1)
"""By which rigid contacts are softer in problems that are solved before: from no force, Newton's
method would take up to 200 rounds."""


class Response(NamedTuple):
    """How a model moves under its constraints."""

    a: list[Scalar]
    forces: list[Vector3]
    """Of each contact on the ball's body, in world axes."""
    points: list[Vector3]
    normals: list[Vector3]
    """From the ground, or from the other shape, to the ball."""
    gaps: list[Scalar]
    joints: Numbers
    """Force of limits and dry friction on each coordinate."""
    residual: Scalar


class Loops(NamedTuple):
    """Constraints that always hold; they are kept exactly."""

    rows: list[list[Scalar]]
    asked: list[Scalar]
    """Accelerations of the rows."""


def respond(
    scene: Scene, at: State, motion: FreeMotion, coordinates: Coordinates, loops: Loops | None
) -> Response:
    """Return accelerations and forces.

    Args:
        scene: what may touch.
        at: the state.
        motion: without these constraints.
        coordinates: of the model and of its tree.
        loops: of the model, if it has some.
    """
    found = contacts(scene, at.places)
    constraints = [contact_constraint(scene, at, each) for each in found]
    joints = [limit_constraint(at, limit) for limit in scene.limits]
    joints += [friction_constraint(at, friction) for friction in scene.frictions]
    factor, z = motion.factor, motion.z
    if loops is not None:
        z = Delassus(factor, loops.rows).held(z, loops.asked)
    y = factor.scaled(z)
    problem = Problem(
        [*constraints, *joints],
        at.space,
        coordinates,
        factor.matrix(),
        [] if loops is None else loops.rows,
    )
    softer = RIGID_FACTORS if scene.rigid else ()
    solution = problem.solve(factor.outward(y), dot(z, y), scene.iterations, softer)

    count = len(constraints)
    return Response(
        motion.whole(solution.a),
        [_world_force(scene, *each) for each in zip(found, solution.forces, strict=False)],
        [contact.point for contact in found],
        [contact.frame.n for contact in found],
        [contact.gap for contact in found],
        joint_forces(joints, solution.forces[count:], len(at.v)),
        solution.residual,
    )


def _world_force(scene: Scene, contact: Contact, f: Numbers) -> Vector3:
    """Return the force of a contact in world axes."""
    scale = scene.impratio**0.5
    total = contact.frame.n * f[0]
    for x, direction in zip(f[1:], contact.frame[1:], strict=False):
        total = total + direction * (x * scale if scale != 1.0 else x)
    return total


def weights(places: Places, factor: Factor, body: int, center: Vector3, reduce: Reduce) -> Scalar:
    """Return the mean inverse mass that is felt at a point of a body, over all directions."""
    if not body:
        return 0.0
    columns = places.columns(body, center)
    axes = (Vector3(1.0, ZERO, ZERO), Vector3(ZERO, 1.0, ZERO), Vector3(ZERO, ZERO, 1.0))
    total: Scalar = 0.0
    for axis in axes:
        y = factor.half(reduce(along(columns, axis)))
        total = total + dot(y, factor.scaled(y))
    return total / 3.0
