"""What constraints that may become active do to a motion: rows, forces, accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixfold.dynamics.contact.carried import Carried
from sixfold.dynamics.contact.carriers import carried_rows
from sixfold.dynamics.contact.constraints import (
    Constraint,
    Reduce,
    Row,
    State,
    dragging,
    stopping,
    touching,
)
from sixfold.dynamics.contact.matrices import Matrix, symmetric, times, transposed_times
from sixfold.dynamics.contact.problems import Problem
from sixfold.dynamics.contact.rows import Contact, Places, along, contacts
from sixfold.dynamics.contact.scene import Scene
from sixfold.dynamics.contact.solver import solve
from sixfold.dynamics.fast.factor import Factor
from sixfold.dynamics.fast.trunk import FreeMotion
from sixfold.scalar import ZERO, Scalar, dot
from sixfold.spatial import Vector3

Numbers = Sequence[Scalar]


class Response(NamedTuple):
    """How a model moves under its constraints."""

    a: list[Scalar]
    forces: list[Vector3]
    """Of each contact on the ball's body, in world axes."""
    points: list[Vector3]
    normals: list[Vector3]
    """From the ground, or from the other shape, to the ball."""
    gaps: list[Scalar]
    joints: list[Scalar]
    """Force of limits and dry friction on each freedom."""
    residual: Scalar
    memory: list[Scalar]
    """What the solver starts from in the next step."""


class _Responses(NamedTuple):
    """How the model gives way to unit forces on carriers."""

    y: list[list[Scalar]]
    """L^-T J^T of each carrier, of the mechanism whose loops stay closed."""
    G: Matrix
    """J M^-1 J^T."""
    free: list[Scalar]
    """L^-T of all forces but those of contact."""
    pulls: list[Scalar]
    """Accelerations J a without forces of contact."""


def respond(scene: Scene, at: State, motion: FreeMotion, warm: Numbers) -> Response:
    """Return accelerations and forces.

    Args:
        scene: what may touch.
        at: the state.
        motion: without these constraints.
        warm: what the solver starts from: the memory of the step before, or zeros.
    """
    found = contacts(scene, at.places)
    constraints = [touching(scene, at, each) for each in found]
    constraints += [stopping(scene, at, stop) for stop in scene.stops]
    constraints += [dragging(scene, at, drag) for drag in scene.drags]
    rows = [row for constraint in constraints for row in constraint.rows]
    carriers, P = carried_rows(scene, at, rows)
    to = _responses(at, motion, carriers)
    problem = _problem(constraints, rows, to, P)
    start = [x * row.active for x, row in zip(warm, rows, strict=True)]
    f, memory, residual = solve(problem, start, scene.iterations, scene.newton)

    # M a = net + J^T f, by the same factor
    closed = [x * row.active for x, row in zip(f, rows, strict=True)]
    pushed = list(to.free)
    for force, each in zip(closed if P is None else transposed_times(P, f), to.y, strict=True):
        pushed = [p + force * x for p, x in zip(pushed, each, strict=True)]
    a = motion.accelerations(pushed)

    forces, rest = _by_contact(scene, found, closed)
    joints: list[Scalar] = [ZERO] * len(a)
    for force, row in zip(rest, rows[len(rows) - len(rest) :], strict=True):
        joints = [x + j * force for x, j in zip(joints, row.J, strict=True)]
    points, normals = [c.point for c in found], [c.frame.n for c in found]
    gaps = [c.gap for c in found]
    return Response(a, forces, points, normals, gaps, joints, residual, memory)


def _responses(at: State, motion: FreeMotion, carriers: Sequence[list[Scalar]]) -> _Responses:
    """Return what the solver needs of the model."""
    factor, free = motion.factor, motion.z
    y = [factor.half(row) for row in carriers]
    if at.held is not None:
        loops, asked = at.held
        free, none = loops.held(free, asked), [ZERO] * len(asked)
        y = [loops.held(each, none) for each in y]
    scaled = [factor.scaled(each) for each in y]
    G = symmetric(len(y), lambda r, s: dot(y[r], scaled[s]))
    return _Responses(y, G, free, [dot(x, free) for x in scaled])


def _problem(
    constraints: Sequence[Constraint], rows: Sequence[Row], to: _Responses, P: Matrix | None
) -> Problem:
    """Return the convex model: b is what rows ask for less what they do without forces."""
    sizes = [len(constraint.rows) for constraint in constraints]
    R = [constraint.R for constraint in constraints for _ in constraint.rows]
    cones = [constraint.cone for constraint in constraints]
    on = [row.active for row in rows]
    if P is not None:
        pulls = times(P, to.pulls)
        b = [row.asked * row.active - pull for row, pull in zip(rows, pulls, strict=True)]
        return Carried(R, b, cones, sizes, P, to.G)
    b = [(row.asked - pull) * row.active for row, pull in zip(rows, to.pulls, strict=True)]
    A = symmetric(len(rows), lambda r, s: to.G[r][s] * _both(on[r], on[s]))
    return Problem(R, b, cones, sizes, A)


def _both(a: Scalar, b: Scalar) -> Scalar:
    """Return whether two rows are active."""
    return a if a is b else a * b


def _by_contact(
    scene: Scene, found: Sequence[Contact], f: Sequence[Scalar]
) -> tuple[list[Vector3], Numbers]:
    """Return the force of each contact in world axes, and the forces of other rows."""
    scale, rest = scene.impratio**0.5, list(f)
    forces = []
    for contact, size in zip(found, scene.sizes, strict=False):
        part, rest = rest[:size], rest[size:]
        total = contact.frame.n * part[0]
        for x, direction in zip(part[1:], contact.frame[1:], strict=False):
            total = total + direction * (x * scale if scale != 1.0 else x)
        forces.append(total)
    return forces, rest


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
