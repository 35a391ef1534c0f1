"""One step of damped least squares: in all joints that are free to move, by priorities.

With rows e and J of one priority, the step within a space P (P = P^T = P^2) is

    dq = P J^T (J P J^T + lam 1)^-1 e,        lam = MU |e|^2 + LEAST:

Gauss-Newton near the goal, where the damping goes with the square of the error, so that errors are
squared in each step, and short steps far from it (Sugihara, IEEE Transactions on Robotics, 2011).
Rows of the next priority go on with what is left of e and within the space that the rows before
leave free, P - P J^T (J P J^T + lam 1)^-1 J P (Siciliano and Slotine, ICAR 1991).

Joints at a limit that the error pushes further out take no part.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from sixfold.arrays import Array
from sixfold.control.matrices import Dense, symmetric, transposed_times
from sixfold.control.targets import IKTask, Numbers, Part, Rows
from sixfold.model import Joint, Model
from sixfold.quantities import readings
from sixfold.scalar import ZERO, Scalar, dot, if_positive, plain
from sixfold.spatial import Column

MU = 0.02  # damping for each unit of the squared error; 0.005 to 0.1 take up to a tenth more steps
# the same for lower priorities, whose error stays: less, and steps along a bend turn back
SETTLE_MU = 0.5
STOPS = 2  # times that the joints which a limit stops are looked for
LEAST = 1e-14  # least damping: above what rounding leaves of a pivot


def group_by_priority(task: IKTask, parts: Sequence[Part]) -> list[Part]:
    """Return the weighted rows of each priority, the first one first."""
    found: dict[int, Part] = {p: ([], []) for p in sorted(set(task.priorities))}
    for part, weight, priority in zip(parts, task.weights, task.priorities, strict=True):
        w: Scalar = 1 if weight == 1.0 else weight
        found[priority][0].extend(x * w for x in part[0])
        found[priority][1].extend([x * w for x in row] for row in part[1])
    return list(found.values())


def free_mask(model: Model, q: Numbers, push: Numbers) -> list[Scalar]:
    """Return one for each velocity coordinate, zero where a limit stops the way it is pushed."""
    found: list[Scalar] = [1.0] * model.nv
    for k, v, lower, upper in limited_coordinates(model):
        distance = if_positive(push[v], upper - q[k], q[k] - lower)
        found[v] = if_positive(distance, 1.0, 0.0)
    return found


def limited_coordinates(model: Model) -> list[tuple[int, int, float, float]]:
    """Return the coordinates with a limit: places in q and v, lower and upper."""
    low, high = model.lower_position, model.upper_position
    pairs = model.coordinates.additive
    bounds = [(k, v, float(low[k]), float(high[k])) for k, v in pairs]
    return [each for each in bounds if np.isfinite(each[2:]).any()]


def damped_step(found: Sequence[Part], free: Numbers, damping: Sequence[Scalar]) -> list[Scalar]:
    """Return the step of all priorities, from weighted rows and the damping lam of each.

    `free` has a zero for each velocity coordinate that must not move, and one for the others.
    """
    n = len(free)
    # P projects on what earlier priorities leave free; at first all joints that may move
    P: Rows = [[free[i] if i == j else ZERO for j in range(n)] for i in range(n)]
    dq: list[Scalar] = [ZERO] * n
    for level, ((e, J), lam) in enumerate(zip(found, damping, strict=True)):
        JP = [[x * y for x, y in zip(row, free, strict=True)] for row in J]
        if level:
            JP = [transposed_times(P, row) for row in J]
            e = [x - dot(row, dq) for x, row in zip(e, J, strict=True)]
        # dq += P J^T (J P J^T + lam 1)^-1 (e - J dq)
        inverse = _Damped(JP, lam)
        dq = [x + y for x, y in zip(dq, inverse.step(e), strict=True)]
        if level + 1 < len(found):
            # P -= P J^T (J P J^T + lam 1)^-1 J P
            columns = [inverse.step([row[j] for row in JP]) for j in range(n)]
            P = [[P[i][j] - columns[j][i] for j in range(n)] for i in range(n)]
    return dq


class _Damped:
    """A^T (A A^T + lam 1)^-1 = (A^T A + lam 1)^-1 A^T, by the smaller of the two matrices."""

    def __init__(self, A: Rows, lam: Scalar) -> None:
        """Factorise."""
        self.A, self.wide = A, len(A) <= len(A[0])
        rows = A if self.wide else [list(column) for column in zip(*A, strict=True)]
        self.factor = Dense(
            symmetric(len(rows), lambda i, j: dot(rows[i], rows[j]) + (lam if i == j else ZERO))
        )

    def step(self, e: Numbers) -> list[Scalar]:
        """Return the damped least-squares solution of A x = e."""
        if self.wide:
            return transposed_times(self.A, self.factor.solve(e))
        return self.factor.solve(transposed_times(self.A, e))


def step_configuration(model: Model, q: Numbers, dq: Numbers, bounded: bool) -> list[Scalar]:
    """Return the configuration after a step, within its limits."""
    new = list(readings.integrate(model, model.tree, q, dq))
    for k, _, lower, upper in limited_coordinates(model) if bounded else ():
        new[k] = if_positive(new[k] - upper, upper, if_positive(lower - new[k], lower, new[k]))
    return new


def limited_step(
    model: Model, q: Numbers, found: Sequence[Part], damping: Sequence[Scalar]
) -> list[Scalar]:
    """Return the step of all priorities in which no joint at a limit moves further out.

    It is solved again without the joints that a limit stops, as often as it may take.
    """
    free: list[Scalar] = [1.0] * model.nv
    for _ in range(STOPS):
        dq = damped_step(found, free, damping)
        free = [x * y for x, y in zip(free, free_mask(model, q, dq), strict=True)]
    return [x * y for x, y in zip(damped_step(found, free, damping), free, strict=True)]


def ik_step(
    task: IKTask, q: Numbers, goals: Numbers, bounded: bool, mu: Scalar = MU
) -> tuple[list[Scalar], Scalar]:
    """Return the step of the first priority from a configuration, and the squared error there."""
    e, J = group_by_priority(task, task.parts(q, goals))[0]
    n, size = task.model.nv, dot(e, e)
    free = free_mask(task.model, q, transposed_times(J, e)) if bounded else [1.0] * n
    return damped_step([(e, J)], free, [mu * size + LEAST]), size


def settling_step(task: IKTask, q: Numbers, goals: Numbers, bounded: bool) -> list[Scalar]:
    """Return the step of all priorities, near a configuration that meets the first."""
    found = group_by_priority(task, task.parts(q, goals))
    factors = [MU] + [SETTLE_MU] * (len(found) - 1)
    damping = [mu * dot(e, e) + LEAST for mu, (e, _) in zip(factors, found, strict=True)]
    if bounded:
        return limited_step(task.model, q, found, damping)
    return damped_step(found, [1.0] * task.model.nv, damping)


TURN = 2 * math.pi
SAME_POSE = 1e-6  # largest difference of two poses of a joint that are one


def turning_coordinates(model: Model, but: Collection[int] = ()) -> Array:
    """Return the places in q of angles: a whole turn puts their joint where it was.

    Velocity coordinates in `but` do not count.
    """
    # a turn of a joint that others follow moves those as well
    leaders = {master for coupling in model.couplings for master, _ in coupling.terms}
    places: list[int] = []
    for free in model.coordinates.free:
        if not free.joint.velocity_is_rate or free.body in leaders:
            continue
        # compare the pose of the joint before and after a whole turn, at a generic configuration
        at = [0.3 + 0.1 * k for k in range(free.joint.nq)]
        for k in range(free.joint.nq):
            turned = [x + TURN * (i == k) for i, x in enumerate(at)]
            same = np.abs(_pose(free.joint, turned) - _pose(free.joint, at)).max() < SAME_POSE
            if same and free.v.start + k not in but:
                places.append(free.q.start + k)
    return np.array(places, int)


def unwind_turns(model: Model, q: Array, at: Array, about: Array | float, bounded: bool) -> Array:
    """Return configurations (n, nq) whose angles, at given places, are in the turn nearest `about`.

    With `bounded`, limits of joints come first; an angle beyond them stays where it is.
    """
    q = q.copy()
    angles = q[:, at]
    near = angles - TURN * np.round((angles - np.broadcast_to(about, q.shape)[:, at]) / TURN)
    if bounded:
        low, high = model.lower_position[at], model.upper_position[at]
        # whole turns back within the limits; where none fits, the angle as it was
        short, long = np.maximum(low - near, 0.0), np.maximum(near - high, 0.0)
        near = near + TURN * (np.ceil(short / TURN) - np.ceil(long / TURN))
        near = np.where((near >= low) & (near <= high), near, angles)
    q[:, at] = near
    return q


def _pose(joint: Joint, q: list[float]) -> Array:
    X = joint.calc(Column(q), Column.zero(joint.nv)).XJ
    return np.array([[float(plain(x)) for x in row] for row in X.pose()])
