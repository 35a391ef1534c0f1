"""Inverse kinematics: `inverse_kinematics`, `all_solutions` and `differential_ik`.

One kernel takes a few damped steps.  Rows that are solved leave after it; rows whose error shrinks
go on; the others start again elsewhere.  A row depends on its own targets and start alone, so the
result has the same bits in any batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.control.ik_step import (
    MU,
    TURN,
    damped_step,
    group_by_priority,
    ik_step,
    limited_step,
    settling_step,
    step_configuration,
    turning_coordinates,
    unwind_turns,
)
from sixfold.control.targets import IKTask, Targets, norm, task_of
from sixfold.errors import NotApplicableError, real_number, yes_or_no
from sixfold.model import Model
from sixfold.quantities.configurations import random_state
from sixfold.runtime import (
    KERNELS,
    Argument,
    enough_memory,
    get_threads,
    leading_shape,
    numbers_array,
    require_model,
    share,
    user_kernel,
)
from sixfold.runtime.quantity import refuse_constraints
from sixfold.scalar import Scalar, absolute, if_positive, repeat, total
from sixfold.show import block, table
from sixfold.simulation.arguments import states_of, step_count

NAME = "inverse_kinematics"
ROUNDS = 4  # steps of one call of the kernel, between two looks at what is solved
PROGRESS = 0.1  # A start is given up when a call leaves more of the squared error than this
# steps of one call, and calls, in which lower priorities are met as well as they can be
SETTLE_ROUNDS, MAX_CALLS = 20, 20
SETTLED = 1e-9  # step [rad or m] below which they count as met
# largest step [rad or m] of a joint for the sake of lower priorities, which the first survives
MAX_SETTLE_STEP = 0.2
POLISH_ROUNDS = 200  # steps towards the nearest configuration of rows that were not solved
HUGE = 1e300  # A squared error that every other is smaller than
MAX_SHOWN = 20  # rows that a notebook shows
MIN_CHUNK_ROWS, MAX_CHUNK_ROWS = 4096, 65536  # rows of a chunk


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """Configurations that meet targets, or come as near as was found."""

    q: Array  #: Configurations [rad or m], shape (..., nq).
    error: Array  #: Error of each part of the targets [m or rad], shape (..., parts).
    #: Whether the targets of the first priority are met to the tolerance, shape (...).
    converged: Array
    starts: Array  #: How many starts were tried, shape (...).
    #: Names of the parts: the frame, and "position", "rotation", "direction" or "joints".
    parts: tuple[str, ...]
    tolerance: float  #: What could be left of each part [m and rad].

    def __repr__(self) -> str:
        """Print how many rows converged, and the largest error of each part."""
        rows_, good = self.converged.size, int(self.converged.sum())
        shape = f", shape {self.converged.shape}" if self.converged.shape else ""
        worst = self.error.reshape(-1, len(self.parts)).max(0, initial=0.0)
        errors = ", ".join(f"{name} {x:.2g}" for name, x in zip(self.parts, worst, strict=True))
        return f"InverseKinematics: {good} of {rows_} converged{shape}; largest errors: {errors}"

    def _repr_html_(self) -> str:
        """Return the rows as a table, for notebooks."""
        q = self.q.reshape(-1, self.q.shape[-1])
        errors = self.error.reshape(-1, len(self.parts))
        rows_ = [
            (
                "yes" if good else "NO",
                ", ".join(f"{x:.4g}" for x in one),
                *(f"{e:.1e}" for e in error),
            )
            for good, one, error in zip(
                self.converged.reshape(-1)[:MAX_SHOWN],
                q[:MAX_SHOWN],
                errors[:MAX_SHOWN],
                strict=True,
            )
        ]
        head = ("converged", "q", *(f"error of {part}" for part in self.parts))
        return block(table(head, rows_, repr(self)))


def inverse_kinematics(
    model: Model,
    targets: Targets,
    q0: ArrayLike | None = None,
    *,
    tolerance: float = 1e-8,
    starts: int = 40,
    limits: bool = True,
) -> InverseKinematics:
    """Return configurations that put frames, the centre of mass and joints where they should be.

    Leading axes of all targets and of q0 broadcast: a million poses are one call.  Rows are solved
    by damped Gauss-Newton steps with the exact logarithm of rotations, inside a kernel.  A row that
    gets stuck starts again from other configurations, the same ones for every row.

    Args:
        model: the robot.
        targets: world-from-frame matrices by the names of bodies or frames, {name: (..., 4, 4)};
            or a list of `sixfold.targets`: Pose, Position, Direction, LookAt, CenterOfMass, Joints,
            each with a weight and a priority.
        q0: configurations to start from [rad or m], shape (..., nq); by default random ones.
        tolerance: what may be left of each part of the targets [m and rad].
        starts: how many configurations a row may start from, from 1; 1 keeps to q0.
        limits: False to leave the position limits of joints aside.

    Returns:
        An `InverseKinematics`: for each row q, the error of each part, and `converged`.  A row that
        did not converge has the configuration with the least error that was found; where targets
        cannot be met, that is the nearest one, up to other local minima.  `converged` is about the
        first priority; the others have their error.  Angles are given in the turn nearest to q0, or
        to zero without q0, that the limits allow.

    Raises:
        ArgumentError, ShapeError, NumberError, OptionError, StateError: if an argument makes no
            sense: a matrix that is no pose, numbers that are not finite.
        UnknownNameError: if there is no body, frame or joint of a name.
        NotApplicableError: if the model has constraints in addition to its joints.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> poses = sf.frame_pose(arm, sf.random_state(arm, 5, seed=0)[0], "dh6")
        >>> found = sf.inverse_kinematics(arm, {"dh6": poses})
        >>> found.q.shape, bool(found.converged.all()), found.parts
        ((5, 6), True, ('dh6 position', 'dh6 rotation'))
        >>> np.allclose(sf.frame_pose(arm, found.q, "dh6"), poses)
        True

    Reference:
        Sugihara, Solvability-Unconcerned Inverse Kinematics by the Levenberg-Marquardt Method, IEEE
        Transactions on Robotics 27, 2011.
    """
    require_model(NAME, model)
    refuse_constraints(NAME, model, "close the loops with sixfold.loops.assemble")
    yes_or_no(NAME, limits=limits)
    count = step_count(NAME, "starts", starts)
    good = tolerance_of(NAME, tolerance)
    task = task_of(NAME, model, targets)
    # the starts: the user's own first, then a table that is the same for every row
    first, lead = _starts_of(model, task, q0)
    table = start_table(model, count, given=q0 is not None)
    rows_ = math.prod(lead)
    with enough_memory(NAME, f"{rows_:,} configurations"):
        goals = np.broadcast_to(task.numbers, (*lead, task.numbers.shape[-1]))
        goals = np.ascontiguousarray(goals).reshape(rows_, task.numbers.shape[-1])
        solver = Solver(task, bool(limits), good, table)
        given = first.reshape(rows_, model.nq) if q0 is not None else None
        found = solver.run(given, goals)
        # angles are unwound to the turn nearest q0, except those that a target fixes
        fixed = {k for target in task.targets for k in target.coordinates(model)}
        about = 0.0 if given is None else given
        found.q = unwind_turns(
            model, found.q, turning_coordinates(model, fixed), about, bool(limits)
        )
    met = solver.met(found)
    return InverseKinematics(
        found.q.reshape((*lead, model.nq)),
        found.error.reshape((*lead, len(task.names))),
        met.reshape(lead),
        found.starts.reshape(lead),
        task.names,
        good,
    )


def tolerance_of(function: str, tolerance: Any) -> float:
    """Return a tolerance; refuse numbers that cannot be one."""
    words = "a number > 0 [m and rad]"
    return real_number(function, "tolerance", tolerance, words, lambda x: x > 0)


def _starts_of(model: Model, task: IKTask, q0: ArrayLike | None) -> tuple[Array, Shape]:
    """Return the starts that were given, broadcast to the rows."""
    arrays, _ = states_of(NAME, model, q0, None)
    q = arrays["q0"]
    given = {"q0": q, "targets": task.numbers}
    lead = broadcast(NAME, given)
    return np.broadcast_to(q, (*lead, model.nq)), lead


def broadcast(function: str, arrays: dict[str, Array]) -> Shape:
    """Return the common leading shape of arrays with one axis for each state."""
    arguments = {name: Argument(x, x.shape[-1:], name) for name, x in arrays.items()}
    return leading_shape(function, arguments, arrays)


def start_table(model: Model, count: int, given: bool = False) -> Array:
    """Return configurations to start from; the first is left to the caller if it has its own."""
    q, _ = random_state(model, max(count - given, 1), seed=0)
    return np.concatenate([q[:1], q]) if given else q


@dataclass
class IKRows:
    """What is known of each row."""

    q: Array
    error: Array
    worst: Array  # the largest error among the parts of the first priority
    starts: Array


@dataclass(frozen=True)
class Solver:
    """The kernels of a task, and the loop over starts."""

    task: IKTask
    bounded: bool
    tolerance: float
    table: Array  # where to start: row k is the k-th start

    def run(self, first: Array | None, goals: Array, polish: bool = True) -> IKRows:
        """Solve all rows, in chunks on several threads; bring the others as near as they come."""
        n, model = len(goals), self.task.model
        q = np.broadcast_to(self.table[0], (n, model.nq)) if first is None else first
        parts = len(self.task.names)
        found = IKRows(
            np.array(q, float), np.empty((n, parts)), np.full(n, np.inf), np.ones(n, int)
        )
        # four chunks for each thread, within bounds of memory and of overhead
        chunk = min(max(-(-n // (4 * get_threads())), MIN_CHUNK_ROWS), MAX_CHUNK_ROWS)
        search = self.kernel("search")
        with np.errstate(all="ignore"):
            share(
                lambda a, b: self._search(search, found, goals, a, b),
                [(a, min(a + chunk, n)) for a in range(0, n, chunk)],
            )
            if polish:
                left = np.flatnonzero(~self.met(found))
                self._again("descend", found, goals, left, 1)
            if len(set(self.task.priorities)) > 1:
                self._again("settle", found, goals, np.flatnonzero(self.met(found)), MAX_CALLS)
        return found

    def _again(self, how: str, found: IKRows, goals: Array, left: Array, calls: int) -> None:
        """Go on with some rows; keep what does not lose the first priority."""
        q = found.q[left]
        for _ in range(calls if len(left) else 0):
            q, error, _, worst, step = self.kernel(how)(q, goals[left])
            good = (worst <= self.tolerance) | (how == "descend")
            at = left[good]
            found.q[at], found.error[at], found.worst[at] = q[good], error[good], worst[good]
            going = np.flatnonzero(~good | (step > SETTLED))
            left, q = left[going], q[going]
            if not len(left):
                break

    def met(self, found: IKRows) -> Array:
        """Return which rows meet the targets of the first priority."""
        return np.asarray(found.worst <= self.tolerance)

    def _search(self, kernel: Any, found: IKRows, goals: Array, first: int, stop: int) -> None:
        """Solve some rows from one start after the other; the rest keep their best."""
        left, q = np.arange(first, stop), found.q[first:stop]
        last = np.full(len(left), np.inf)  # squared error before the call
        start, best = np.zeros(len(left), int), np.full(stop, np.inf)
        while len(left):
            # rows whose error shrinks go on from here
            q, error, size, worst, _ = kernel(q, goals[left])
            going = (worst > self.tolerance) & (size < PROGRESS * last)
            ends = np.flatnonzero(~going)
            # of the others, keep the best configuration so far
            met = worst[ends] <= self.tolerance
            better = ends[met | (size[ends] < best[left[ends]])]
            at = left[better]
            found.q[at], found.error[at], found.worst[at] = q[better], error[better], worst[better]
            best[at] = size[better]
            start[ends] += 1
            found.starts[left[ends]] = start[ends]
            # rows that are not solved start again elsewhere
            again = ends[~met & (start[ends] < len(self.table))]
            q[again], size[again] = self.table[start[again]], np.inf
            going[again] = True
            kept = np.flatnonzero(going)
            left, q, last, start = left[kept], q[kept], size[kept], start[kept]

    def kernel(self, how: str) -> Any:
        """Return the kernel of some steps.

        Its results are the configuration, the errors of all parts, the weighted square and the
        largest of those of the first priority, and the largest element of the last step.
        """
        task, bounded = self.task, self.bounded
        steps = {"search": _search, "descend": _descend, "settle": _settle}[how]

        def run(q: Any, goals: Any) -> Any:
            q, dq = steps(task, bounded, q, goals)
            # errors at the new configuration; those of the first priority decide
            parts = task.parts(list(q), list(goals))
            errors = [norm(e) for e, _ in parts]
            first = min(task.priorities)
            weighted = zip(errors, task.weights, task.priorities, strict=True)
            mine = [(x, w) for x, w, p in weighted if p == first]
            size = total((w * x) * (w * x) for x, w in mine)
            worst = largest([x for x, _ in mine])
            return q, numbers_array(errors), size, worst, largest(list(dq))

        return _kept_kernel(NAME, task, (bounded, how), run)


def _kept_kernel(
    name: str, task: IKTask, options: tuple[Hashable, ...], run: Callable[..., Any], *more: int
) -> Any:
    """Return the kernel of a function of (q, goals, ...), compiled once for tasks like this one."""
    key = (name, task.model.digest, task.key, *options)
    known = KERNELS.find(key)
    if known is not None:
        return known[0].ufunc
    sizes = task.model.nq, task.numbers.shape[-1], *more
    kernel = user_kernel(run, name, [(size,) for size in sizes], "float64")
    KERNELS.keep(key, kernel)
    return kernel.ufunc


def largest(numbers: list[Scalar]) -> Scalar:
    """Return the largest absolute value."""
    found: Scalar = absolute(numbers[0])
    for x in numbers[1:]:
        found = if_positive(absolute(x) - found, absolute(x), found)
    return found


def _search(task: IKTask, bounded: bool, q: Any, goals: Any) -> tuple[Any, Any]:
    """Take damped steps of the first priority, even where the error grows."""
    return _steps(task, bounded, q, ROUNDS, lambda now: ik_step(task, now, list(goals), bounded)[0])


def _settle(task: IKTask, bounded: bool, q: Any, goals: Any) -> tuple[Any, Any]:
    """Take steps of all priorities, short enough for the first to survive."""

    def short(now: list[Scalar]) -> list[Scalar]:
        dq = settling_step(task, now, list(goals), bounded)
        over = largest([x / MAX_SETTLE_STEP for x in dq])
        return [if_positive(over - 1.0, x / over, x) for x in dq]

    return _steps(task, bounded, q, SETTLE_ROUNDS, short)


def _steps(
    task: IKTask, bounded: bool, q: Any, rounds: int, step: Callable[[list[Scalar]], list[Scalar]]
) -> tuple[Any, Any]:
    """Take some steps; return the configuration and the last step."""

    def one(carried: Any) -> Any:
        now = list(carried[0])
        dq = step(now)
        return numbers_array(step_configuration(task.model, now, dq, bounded)), numbers_array(dq)

    return repeat(rounds, one, (q, _zeros(q, task.model.nv)))


def _descend(task: IKTask, bounded: bool, q: Any, goals: Any) -> tuple[Any, Any]:
    """Take steps that make the error of the first priority smaller, for goals out of reach.

    A step that does not is tried again with a quarter of its length, and the next is damped more.
    """

    def step(carried: Any) -> Any:
        best, dq, numbers = (list(x) for x in carried)
        least, mu = numbers
        tried = step_configuration(task.model, best, dq, bounded)
        onward, size = ik_step(task, tried, list(goals), bounded, mu)
        # take the new configuration if it gains, else try again from the best one
        gain = least - size

        def either(new: list[Scalar], old: list[Scalar]) -> Any:
            pairs = zip(new, old, strict=True)
            return numbers_array([if_positive(gain, x, y) for x, y in pairs])

        # a success halves the damping; a failure takes a quarter of the step, and damps more
        less = if_positive(mu - 2 * MU, mu * 0.5, MU)
        shorter = [x * 0.25 for x in dq]
        return either(tried, best), either(onward, shorter), either([size, less], [least, 4 * mu])

    zeros = _zeros(q, task.model.nv)
    carried = (q, zeros, numbers_array([zeros[0] + HUGE, zeros[0] + MU]))
    best, dq, _ = repeat(POLISH_ROUNDS, step, carried)
    return best, dq


def _zeros(q: Any, count: int) -> Any:
    """Return traced zeros."""
    return numbers_array([q[0] * 0.0] * count)


ALL_SOLUTIONS = "all_solutions"
SAME = 1e-5  # largest difference [rad or m] of two copies of one solution
MAX_ROWS = 1 << 20  # starts of a chunk


def all_solutions(
    model: Model,
    targets: Targets,
    *,
    tolerance: float = 1e-8,
    starts: int = 250,
    limits: bool = True,
) -> Array:
    """Return all configurations that meet the targets, as far as many starts find them.

    Solutions that differ by whole turns of joints are one.  A six-joint arm has up to sixteen, one
    with a spherical wrist, or with three parallel axes, up to eight.

    Args:
        model: the robot.
        targets: as in `inverse_kinematics`; together they must fix as many degrees of freedom as
            the joints have.
        tolerance: what may be left of each part of the targets [m and rad].
        starts: how many configurations each row starts from, the same ones for every row.
        limits: False to leave the position limits of joints aside.

    Returns:
        Configurations [rad or m], shape (..., n, nq), n being the largest number of solutions
        of a row; rows with fewer end in NaN.  Angles are as near to zero as limits allow.

    Raises:
        ArgumentError, ShapeError, NumberError, OptionError: if an argument makes no sense.
        UnknownNameError: if there is no body, frame or joint of a name.
        NotApplicableError: if the robot has more degrees of freedom than the targets fix, and so
            infinitely many solutions, or constraints in addition to its joints.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> pose = sf.frame_pose(arm, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "dh6")
        >>> found = sf.control.all_solutions(arm, {"dh6": pose})
        >>> found.shape, np.allclose(sf.frame_pose(arm, found, "dh6"), pose)
        ((8, 6), True)
        >>> found[:2].round(3)
        array([[ 0.1  ,  0.2  ,  0.3  , -2.742, -0.5  , -2.542],
               [ 0.1  ,  0.2  ,  0.3  ,  0.4  ,  0.5  ,  0.6  ]])
    """
    require_model(ALL_SOLUTIONS, model)
    refuse_constraints(ALL_SOLUTIONS, model, "close the loops with sixfold.loops.assemble")
    yes_or_no(ALL_SOLUTIONS, limits=limits)
    count = step_count(ALL_SOLUTIONS, "starts", starts)
    good = tolerance_of(ALL_SOLUTIONS, tolerance)
    task = task_of(ALL_SOLUTIONS, model, targets)
    _refuse_free_motion(model, task)
    lead, goals = task.numbers.shape[:-1], task.numbers.reshape(-1, task.numbers.shape[-1])
    table = start_table(model, count)
    found: list[list[Array]] = []
    with enough_memory(ALL_SOLUTIONS, f"{len(goals):,} times {count:,} starts"):
        step = max(1, MAX_ROWS // count)
        for a in range(0, len(goals), step):
            found += _solve_rows(
                Solver(task, bool(limits), good, table[:1]), goals[a : a + step], table
            )
    most = max(map(len, found), default=0)
    result = np.full((len(goals), most, model.nq), np.nan)
    for row, each in zip(result, found, strict=True):
        row[: len(each)] = each
    return result.reshape((*lead, most, model.nq))


def _refuse_free_motion(model: Model, task: IKTask) -> None:
    """Refuse a robot that can move without leaving its targets."""
    rows = task.row_count()
    if model.nv > rows:
        count = f"{model.nv} degrees of freedom, of which the targets fix {rows} at most"
        where = f"model '{model.name}': {count}"
        fix = "lock joints (sixfold.lock_joints), add targets, or use inverse_kinematics"
        raise NotApplicableError(ALL_SOLUTIONS, where, fix)


def _solve_rows(solver: Solver, goals: Array, table: Array) -> list[list[Array]]:
    """Return the solutions of each row, sorted."""
    n, k = len(goals), len(table)
    first = np.broadcast_to(table, (n, *table.shape)).reshape(n * k, table.shape[-1])
    found = solver.run(first, np.repeat(goals, k, axis=0), polish=False)
    # solutions that differ by whole turns are one: all angles into the turn about zero
    model, at = solver.task.model, turning_coordinates(solver.task.model)
    turned = unwind_turns(model, found.q, at, 0.0, solver.bounded).reshape(n, k, -1)
    met = solver.met(found).reshape(n, k)
    return [_distinct_solutions(model, q[good], at) for q, good in zip(turned, met, strict=True)]


def _distinct_solutions(model: Model, q: Array, at: Array) -> list[Array]:
    """Return configurations that differ by more than turns, in the order of their first angles."""
    _, few = np.unique(np.round(q / (10 * SAME)), axis=0, return_index=True)  # most of the copies
    found = np.empty((0, model.nq))
    for one in q[few]:
        apart = found - one
        apart[:, at] = np.remainder(apart[:, at] + math.pi, TURN) - math.pi
        if not (np.abs(apart) <= SAME).all(-1).any():
            found = np.vstack([found, one])
    return list(found)


DIFFERENTIAL_IK = "differential_ik"


def differential_ik(
    model: Model,
    q: ArrayLike,
    targets: Targets,
    *,
    gain: float = 1.0,
    damping: float = 1e-4,
    limits: bool = True,
) -> Array:
    """Return joint velocities that move frames with given velocities, or towards targets.

    Within a priority the weighted squares of what is missing are least, with damping times v . v
    added, which keeps velocities finite near singular configurations.  Lower priorities use the
    degrees of freedom that the others leave.

    Args:
        model: the robot.
        q: configurations [rad or m], shape (..., nq).
        targets: velocities (omega; v) [rad/s; m/s] by the names of bodies or frames, world axes and
            the frame's origin, {name: (..., 6)}; or a list of `sixfold.targets`: Velocity, or
            a place to go to.
        gain: how fast targets that are places are approached [1/s]: error times gain.
        damping: weight of a squared joint velocity relative to a squared error, from 0.  Without
            damping, velocities grow without bound near singular configurations.
        limits: False to leave limits aside.  Otherwise all velocities are scaled down together
            until none exceeds its limit, and joints at a position limit do not move further out.

    Returns:
        Joint velocities [rad/s or m/s], shape (..., nv).

    Raises:
        ArgumentError, ShapeError, NumberError, OptionError, StateError: if an argument makes no
            sense.
        UnknownNameError: if there is no body, frame or joint of a name.
        NotApplicableError: if the model has constraints in addition to its joints.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm, q = sf.load("puma560"), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
        >>> wanted = [0.0, 0.0, 0.0, 0.1, 0.0, 0.0]  # 0.1 m/s along x, without turning
        >>> v = sf.control.differential_ik(arm, q, {"dh6": wanted}, damping=0.0)
        >>> v.round(3)
        array([-0.043, -0.111, -0.137, -0.105,  0.236,  0.162])
        >>> np.allclose(sf.jacobian(arm, q, "dh6") @ v, wanted)
        True
    """
    require_model(DIFFERENTIAL_IK, model)
    refuse_constraints(DIFFERENTIAL_IK, model, "add their rows as targets of another model")
    yes_or_no(DIFFERENTIAL_IK, limits=limits)
    gain = real_number(DIFFERENTIAL_IK, "gain", gain, "a number > 0", lambda x: x > 0)
    damping = real_number(DIFFERENTIAL_IK, "damping", damping, "a number >= 0", lambda x: x >= 0)
    task = task_of(DIFFERENTIAL_IK, model, targets, rates=True)
    arrays, _ = states_of(DIFFERENTIAL_IK, model, q, None)
    at = arrays["q0"]
    lead = broadcast(DIFFERENTIAL_IK, {"q": at, "targets": task.numbers})
    bounded = bool(limits)

    def run(q: Any, goals: Any, numbers: Any) -> Any:
        return numbers_array(_velocity(task, list(q), list(goals), numbers[0], numbers[1], bounded))

    with enough_memory(DIFFERENTIAL_IK, f"velocities {lead}"), np.errstate(all="ignore"):
        kernel = _kept_kernel(DIFFERENTIAL_IK, task, (bounded,), run, 2)
        found: Array = kernel(at, task.numbers, np.array([gain, damping]))
    return found


def _velocity(
    task: IKTask, q: list[Scalar], goals: list[Scalar], gain: Scalar, damping: Scalar, bounded: bool
) -> list[Scalar]:
    """Return the velocities of one state."""
    model = task.model
    parts = [
        (list(e), J) if kind == "velocity" else ([x * gain for x in e], J)
        for (e, J), kind in zip(task.parts(q, goals), task.kinds, strict=True)
    ]
    found = group_by_priority(task, parts)
    lam = [damping] * len(found)
    if not bounded:
        return damped_step(found, [1.0] * model.nv, lam)
    return _scale_to_limits(limited_step(model, q, found, lam), model.velocity_limit.tolist())


def _scale_to_limits(v: list[Scalar], most: list[float]) -> list[Scalar]:
    """Return velocities in their direction, none above its limit."""
    # largest ratio of a velocity to its limit
    over: Scalar = 1.0
    for x, limit in zip(v, most, strict=True):
        if math.isfinite(limit) and limit > 0:
            ratio = absolute(x) / limit
            over = if_positive(ratio - over, ratio, over)
    return [x / over for x in v]
