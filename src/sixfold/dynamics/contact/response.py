"""What constraints that may become active do to a motion: rows, forces, accelerations."""

from __future__ import annotations

from collections import Counter
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
from sixfold.dynamics.contact.matrices import Matrix, symmetric, times, transposed_times
from sixfold.dynamics.contact.problems import Carried, Problem
from sixfold.dynamics.contact.rows import Contact, Places, along, bias, contacts, jacobian
from sixfold.dynamics.contact.scene import Drag, Scene, Stop
from sixfold.dynamics.contact.solver import solve
from sixfold.dynamics.fast.factor import Factor
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


def carriers_of(scene: Scene, places: Places, reduce: Reduce) -> dict[int, list[list[Scalar]]]:
    """Return the rows of the bodies with more rows of contact than six; none without Newton."""
    if not scene.newton:
        return {}
    rows: Counter[int] = Counter()
    for touch, size in zip(scene.touches, scene.sizes, strict=False):
        if touch.other is None:
            rows[touch.ball.body] += size
    many = [body for body, n in rows.items() if n > 6]
    return {body: [reduce(row) for row in places.spatial(body)] for body in many}


def respond(scene: Scene, at: State, factor: Factor, net: Numbers, warm: Numbers) -> Response:
    """Return accelerations and forces.

    Args:
        scene: what may touch.
        at: the state.
        factor: of the mass matrix.
        net: joint forces less those that hold the motion without acceleration.
        warm: what the solver starts from: the memory of the step before, or zeros.
    """
    found = contacts(scene, at.places)
    constraints = [_touching(scene, at, each) for each in found]
    constraints += [_stopping(scene, at, stop) for stop in scene.stops]
    constraints += [_dragging(scene, at, drag) for drag in scene.drags]
    rows = [row for constraint in constraints for row in constraint.rows]

    free = factor.half(net)
    carriers, P = _carriers(scene, at, rows)
    y = [factor.half(row) for row in carriers]
    if at.held is not None:
        loops, asked = at.held
        free, none = loops.held(free, asked), [ZERO] * len(asked)
        y = [loops.held(each, none) for each in y]
    scaled = [factor.scaled(each) for each in y]
    G = symmetric(len(y), lambda r, s: dot(y[r], scaled[s]))
    pulls = [dot(x, free) for x in scaled]
    sizes = [len(constraint.rows) for constraint in constraints]
    R = [constraint.R for constraint in constraints for _ in constraint.rows]
    cones = [constraint.cone for constraint in constraints]
    active = [row.active for row in rows]
    if P is None:
        b = [(row.asked - pull) * row.active for row, pull in zip(rows, pulls, strict=True)]
        A = symmetric(len(y), lambda r, s: G[r][s] * _both(active[r], active[s]))
        problem = Problem(R, b, cones, sizes, A)
    else:
        pulls = times(P, pulls)
        b = [row.asked * row.active - pull for row, pull in zip(rows, pulls, strict=True)]
        problem = Carried(R, b, cones, sizes, P, G)
    start = [x * on for x, on in zip(warm, active, strict=True)]
    f, memory, residual = solve(problem, start, scene.iterations, scene.newton)

    # M a = net + J^T f, by the same factor
    on = [x * k for x, k in zip(f, active, strict=True)] if P is None else transposed_times(P, f)
    pushed = list(free)
    for force, each in zip(on, y, strict=True):
        pushed = [p + force * x for p, x in zip(pushed, each, strict=True)]
    a = factor.outward(factor.scaled(pushed))
    closed = [force * row.active for force, row in zip(f, rows, strict=True)]
    forces, rest = _by_contact(scene, found, closed)
    joints: list[Scalar] = [ZERO] * len(a)
    for force, row in zip(rest, rows[len(rows) - len(rest) :], strict=True):
        joints = [x + j * force for x, j in zip(joints, row.J, strict=True)]
    points, normals = [c.point for c in found], [c.frame.n for c in found]
    gaps = [c.gap for c in found]
    return Response(a, forces, points, normals, gaps, joints, residual, memory)


def _both(a: Scalar, b: Scalar) -> Scalar:
    """Return whether two rows are active."""
    return a if a is b else a * b


def _carriers(
    scene: Scene, at: State, rows: Sequence[Row]
) -> tuple[list[list[Scalar]], Matrix | None]:
    """Return rows of Jacobians that carry all constraints, and each constraint by its carriers.

    Without Newton's method each row is its own carrier.  With it, rows of a body with many points
    go by the six of the body.
    """
    if not scene.newton:
        return [row.J for row in rows], None
    found: list[list[Scalar]] = []
    place = {}
    for body, six in at.carriers.items():
        place[body] = len(found)
        found += six
    by: list[dict[int, Scalar]] = []
    for row in rows:
        if row.arm is None or row.body not in place:
            by.append({len(found): row.active})
            found.append(row.J)
        else:
            by.append({place[row.body] + k: x * row.active for k, x in enumerate(row.arm)})
    return found, [[each.get(k, ZERO) for k in range(len(found))] for each in by]


def _touching(scene: Scene, at: State, contact: Contact) -> Constraint:
    """Return the rows of a contact: the normal, and two tangents if there is friction."""
    touch, law = contact.touch, scene.law
    columns, turning = jacobian(at.places, contact), bias(at.places, contact, at.qd)
    n, *across = contact.frame
    body = 0 if touch.other is not None else touch.ball.body
    lever = contact.point - at.places.X0[touch.ball.body].r
    normal = at.reduce(along(columns, n))
    moving = None
    if body in at.carriers:
        twist = [dot(row, at.v) for row in at.carriers[body]]
        moving = Vector3(*twist[3:]) + Vector3(*twist[:3]).cross(lever)
    speed = dot(normal, at.v) if moving is None else n.dot(moving)
    gap = contact.gap - scene.margin if scene.margin else contact.gap
    if scene.rigid:
        assert at.h is not None, "rigid contacts need the length of a step"
        slow = sqrt(at.gravity.dot(at.gravity)) * (2.0 * at.h)
        asked = rebound(gap, speed, at.h, scene.restitution, slow)
        reach = gap + (if_positive(speed, 0.0, speed) - slow) * at.h  # gravity may close it, too
        active = if_positive(-reach, 1.0, 0.0)
        R: Scalar = softness(RIGID_IMPEDANCE, touch.weight)
    else:
        d = impedance(law, gap)
        asked, R = reference(law, d, gap, speed), softness(d, touch.weight)
        active = if_positive(-gap, 1.0, 0.0)

    def arm(direction: Vector3, scale: float = 1.0) -> list[Scalar] | None:
        if not body:
            return None
        return [x * scale if scale != 1.0 else x for x in (*lever.cross(direction), *direction)]

    rows = [Row(normal, asked - n.dot(turning), active, arm(n), body)]
    if not touch.friction:
        return Constraint(rows, Push(), R)
    # in rows scaled so, softness is the same along all of them
    scale = scene.impratio**0.5
    for t in across:
        row = at.reduce(along(columns, t))
        slip = dot(row, at.v) if moving is None else t.dot(moving)
        asked = -(slip / at.h) if scene.rigid else damping(law, slip)
        asked = asked - t.dot(turning)
        if scale != 1.0:
            row, asked = [x * scale for x in row], asked * scale
        rows.append(Row(row, asked, active, arm(t, scale), body))
    return Constraint(rows, Cone(touch.friction / scale), R)


def _stopping(scene: Scene, at: State, stop: Stop) -> Constraint:
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


def _dragging(scene: Scene, at: State, drag: Drag) -> Constraint:
    """Return the row of dry friction: it asks for no motion, with so much force."""
    d = impedance(scene.law, 0.0)
    J: list[Scalar] = [1.0 if k == drag.v else ZERO for k in range(len(at.v))]
    row = Row(J, damping(scene.law, at.v[drag.v]), 1.0)
    return Constraint([row], Box(-drag.forward, drag.backward), softness(d, drag.weight))


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
