"""Constraints that may become active: contacts, joint limits, dry friction, and their response.

Their softness is MuJoCo's: an impedance and a reference acceleration; rigid contacts are a limit of
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sixfold.dynamics.constrained.solve import Delassus
from sixfold.dynamics.contact.newton import (
    Cone,
    Constraint,
    ContactProblem,
    CoordinateMap,
    ForceBox,
    JointRows,
    NonNegative,
    PointRows,
)
from sixfold.dynamics.contact.rows import (
    ContactGeometry,
    JointSpace,
    Places,
    along,
    bias,
    contacts,
    jacobian,
)
from sixfold.dynamics.contact.scene import DryFriction, JointLimit, Law, Scene
from sixfold.dynamics.fast.factor import Factor, FreeMotion
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, absolute, dot, exp, if_positive, log, sqrt
from sixfold.spatial import Motion, Vector3

MIN_IMPEDANCE, MAX_IMPEDANCE = 1e-4, 0.9999
RIGID_IMPEDANCE = 1.0 - 1e-6  # impedance of the rigid limit: forces give way by this little
CORRECTION = 0.1  # share of a penetration that a rigid contact removes in a step


def impedance(law: Law, depth: Scalar) -> Scalar:
    """Return d of a constraint that is violated by `depth`, from d0 to dwidth by a sigmoid."""
    # MuJoCo's bounds on these numbers
    first, last, width, midpoint, power = law.solimp
    first, last, midpoint = (
        min(max(x, MIN_IMPEDANCE), MAX_IMPEDANCE) for x in (first, last, midpoint)
    )
    width, power = max(width, 0.0), max(power, 1.0)
    if first == last or width <= 1e-15:
        return 0.5 * (first + last)
    x = absolute(depth) * (1.0 / width)
    x = if_positive(1.0 - x, x, 1.0)
    if power == 1.0:
        ramp = x
    else:
        # sigmoid of two power functions that meet at the midpoint
        low = _power(x, power) * (1.0 / midpoint ** (power - 1.0))
        high = 1.0 - _power(1.0 - x, power) * (1.0 / (1.0 - midpoint) ** (power - 1.0))
        ramp = if_positive(midpoint - x, low, high)
    return first + ramp * (last - first)


def _power(x: Scalar, power: float) -> Scalar:
    """Return x^power for x >= 0."""
    if power == int(power) and power <= 8:
        product = x
        for _ in range(int(power) - 1):
            product = product * x
        return product
    return if_positive(x, exp(log(if_positive(x, x, 1.0)) * power), 0.0)


def softness(d: Scalar, weight: float) -> Scalar:
    """Return R = (1 - d) / d times the inverse mass felt."""
    return (1.0 - d) / d * weight


def gains(law: Law) -> tuple[float, float]:
    """Return stiffness k [1/s^2] and damping b [1/s] of a reference acceleration.

    Negative numbers in solref are the stiffness and the damping themselves.
    """
    # critically damped or not: k = 1 / (dmax T ratio)^2, b = 2 / (dmax T)
    last = min(max(law.solimp[1], MIN_IMPEDANCE), MAX_IMPEDANCE)
    time, ratio = law.solref
    if time <= 0:
        return -time / (last * last), -ratio / last
    return 1.0 / (last * time * ratio) ** 2, 2.0 / (last * time)


def reference(law: Law, d: Scalar, gap: Scalar, speed: Scalar) -> Scalar:
    """Return the acceleration that a constraint asks for: a spring and a damper."""
    k, b = gains(law)
    return -(speed * b) - gap * d * k


def damping(law: Law, speed: Scalar) -> Scalar:
    """Return the acceleration that a row of friction asks for."""
    return -(speed * gains(law)[1])


def rebound(gap: Scalar, speed: Scalar, h: Scalar, restitution: float, slow: Scalar) -> Scalar:
    """Return the normal acceleration of a rigid contact over a step of length h.

    The speed after the step is -e times that before it, or what just closes the gap; e = 0 below
    the speed `slow`, where bounces are those of the steps themselves.
    """
    # speed that closes the gap in this step; a share of it where the bodies overlap already
    rate = gap / h
    after = if_positive(gap, -rate, rate * -CORRECTION)
    if restitution:
        bounce = if_positive(-speed - slow, speed * -restitution, after)
        after = if_positive(bounce - after, bounce, after)
    return (after - speed) / h


Numbers = Sequence[Scalar]
# makes a row over the coordinates of a model of one over the joint velocities of its tree
Reduce = Callable[[Mapping[int, Scalar]], list[Scalar]]


class ContactState(NamedTuple):
    """Where a model is and how it moves, as constraints need it."""

    q: Numbers
    v: Numbers
    qd: Table
    places: Places
    space: JointSpace
    twists: Mapping[int, Motion]  # motion of the bodies that touch the ground
    reduce: Reduce
    gravity: Vector3
    h: Scalar | None  # length of the step, where it is known; rigid contacts need it


def contact_constraint(scene: Scene, at: ContactState, contact: ContactGeometry) -> Constraint:
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
        # a pair acts on all coordinates that move either body: rows over coordinates
        columns = jacobian(at.places, contact)
        rows = JointRows([at.reduce(along(columns, direction)) for direction in directions])
    speeds = rows.rates(at.twists, at.v)
    turning = bias(at.places, contact, at.qd)
    asked, active, R = _normal(scene, at, contact, speeds[0])
    # tangential rows ask for rest: at once if rigid, by a damper if soft
    slips = [-(x / at.h) if scene.rigid else damping(touch.law, x) for x in speeds[1:]]
    asked_for = [
        x - direction.dot(turning) for x, direction in zip([asked, *slips], directions, strict=True)
    ]
    cone = Cone(touch.friction / scale) if touch.friction else NonNegative()
    return Constraint(rows, cone, asked_for, active, R, touch.weight)


def _normal(
    scene: Scene, at: ContactState, contact: ContactGeometry, speed: Scalar
) -> tuple[Scalar, Scalar, Scalar]:
    """Return the acceleration that a contact asks for, whether it is active, and its softness R."""
    touch = contact.touch
    gap = contact.gap - touch.margin if touch.margin else contact.gap
    if not scene.rigid:
        d = impedance(touch.law, gap)
        asked = reference(touch.law, d, gap, speed)
        return asked, if_positive(-gap, 1.0, 0.0), softness(d, touch.weight)
    assert at.h is not None, "rigid contacts need the length of a step"
    # speed that gravity gives within two steps: bounces below it are not physical
    slow = sqrt(at.gravity.dot(at.gravity)) * (2.0 * at.h)
    reach = gap + (if_positive(speed, 0.0, speed) - slow) * at.h  # gravity may close it, too
    asked = rebound(gap, speed, at.h, scene.restitution, slow)
    return asked, if_positive(-reach, 1.0, 0.0), softness(RIGID_IMPEDANCE, touch.weight)


def limit_constraint(at: ContactState, limit: JointLimit) -> Constraint:
    """Return the nearer limit of a joint."""
    q, v = at.q[limit.q], at.v[limit.v]
    # distance from the nearer end; forces push towards the middle
    low, high = q - limit.lower, limit.upper - q
    side = if_positive(high - low, 1.0, -1.0)
    gap = if_positive(high - low, low, high) - limit.margin
    d = impedance(limit.law, gap)
    asked = reference(limit.law, d, gap, v * side)
    rows = JointRows([_unit_row(at, limit.v, side)])
    active = if_positive(-gap, 1.0, 0.0)
    R = softness(d, limit.weight)
    return Constraint(rows, NonNegative(), [asked], active, R, limit.weight)


def friction_constraint(at: ContactState, friction: DryFriction) -> Constraint:
    """Return dry friction of a joint: it asks for no motion, with a bounded force."""
    law, k = friction.law, friction.v
    R = softness(impedance(law, 0.0), friction.weight)
    asked = damping(law, at.v[k])
    rows = JointRows([_unit_row(at, k, 1.0)])
    bounds = ForceBox(-friction.forward, friction.backward)
    return Constraint(rows, bounds, [asked], 1.0, R, friction.weight)


def _unit_row(at: ContactState, k: int, value: Scalar) -> list[Scalar]:
    return [value if n == k else ZERO for n in range(len(at.v))]


def joint_forces(constraints: Sequence[Constraint], forces: Sequence[Numbers], n: int) -> Numbers:
    """Return what limits and dry friction, the constraints given, add to the joint forces."""
    found: list[Scalar] = [ZERO] * n
    for each, f in zip(constraints, forces, strict=True):
        assert isinstance(each.rows, JointRows)
        for k in range(n):
            found[k] = found[k] + dot([row[k] for row in each.rows.rows], f)
    return found


# by which rigid contacts are softer in problems that are solved before: from no force, Newton's
# method would take up to 200 rounds
RIGID_FACTORS = (1e3, 1e1)


class Response(NamedTuple):
    """How a model moves under its constraints."""

    a: list[Scalar]
    forces: list[Vector3]  # of each contact on the ball's body, in world axes
    points: list[Vector3]
    normals: list[Vector3]  # from the ground, or from the other shape, to the ball
    gaps: list[Scalar]
    joints: Numbers  # force of limits and dry friction on each coordinate
    residual: Scalar


class Loops(NamedTuple):
    """Constraints that always hold; they are kept exactly."""

    rows: list[list[Scalar]]
    asked: list[Scalar]  # accelerations of the rows


def contact_response(
    scene: Scene,
    at: ContactState,
    motion: FreeMotion,
    coordinates: CoordinateMap,
    loops: Loops | None,
) -> Response:
    """Return accelerations and forces."""
    found = contacts(scene, at.places)
    constraints = [contact_constraint(scene, at, each) for each in found]
    joints = [limit_constraint(at, limit) for limit in scene.limits]
    joints += [friction_constraint(at, friction) for friction in scene.frictions]
    # free acceleration a0 = L^-1 D^-1 z, with the forces of loops if there are any
    factor, z = motion.factor, motion.z
    if loops is not None:
        z = Delassus(factor, loops.rows).with_constraints(z, loops.asked)
    y = factor.scaled(z)
    problem = ContactProblem(
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


def _world_force(scene: Scene, contact: ContactGeometry, f: Numbers) -> Vector3:
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
    # trace of J M^-1 J^T over three world axes
    columns = places.columns(body, center)
    axes = (Vector3(1.0, ZERO, ZERO), Vector3(ZERO, 1.0, ZERO), Vector3(ZERO, ZERO, 1.0))
    total: Scalar = 0.0
    for axis in axes:
        y = factor.half(reduce(along(columns, axis)))
        total = total + dot(y, factor.scaled(y))
    return total / 3.0
