"""`inverse_kinematics`: configurations that meet targets, for many rows at once.

One kernel takes a few damped steps.  Rows that are solved leave after it; rows whose error shrinks
go on; the others start again elsewhere.  A row depends on its own targets and start alone, so the
result has the same bits in any batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.control.kinematics import rows
from sixfold.control.kinematics.step import MU, ik_step, moved, settling_step
from sixfold.control.kinematics.targets import Targets
from sixfold.control.kinematics.task import Task, task_of
from sixfold.control.kinematics.turns import turning, unwound
from sixfold.errors import OptionError, yes_or_no
from sixfold.evaluate import (
    KERNELS,
    Argument,
    enough_memory,
    get_threads,
    leading_shape,
    model_checked,
    numbers_array,
    random_state,
    share,
    user_kernel,
)
from sixfold.evaluate.quantities import refuse_constraints
from sixfold.model import Model
from sixfold.scalar import Scalar, absolute, if_positive, repeat, total
from sixfold.show import block, table
from sixfold.simulation.arguments import states_of, step_count

NAME = "inverse_kinematics"
ROUNDS = 4
"""Steps of one call of the kernel, between two looks at what is solved."""
PROGRESS = 0.1
"""A start is given up when a call leaves more of the squared error than this."""
SETTLE_ROUNDS, MAX_CALLS = 20, 20
"""Steps of one call, and calls, in which lower priorities are met as well as they can be."""
SETTLED = 1e-9
"""Step [rad or m] below which they count as met."""
MAX_SETTLE_STEP = 0.2
"""Largest step [rad or m] of a joint for the sake of lower priorities, which the first survives."""
POLISH_ROUNDS = 200
"""Steps towards the nearest configuration of rows that were not solved."""
HUGE = 1e300
"""A squared error that every other is smaller than."""
MAX_SHOWN = 20
"""Rows that a notebook shows."""
MIN_CHUNK_ROWS, MAX_CHUNK_ROWS = 4096, 65536
"""Rows that are worked on together."""


@dataclass(frozen=True, eq=False)
class InverseKinematics:
    """Configurations that meet targets, or come as near as was found."""

    q: Array
    """Configurations [rad or m], shape (..., nq)."""
    error: Array
    """What is left of each part of the targets [m or rad], shape (..., parts)."""
    converged: Array
    """Whether the targets of the first priority are met to the tolerance, shape (...)."""
    starts: Array
    """How many starts were tried, shape (...)."""
    parts: tuple[str, ...]
    """Names of the parts: the frame, and "position", "rotation", "direction" or "joints"."""
    tolerance: float
    """What could be left of each part [m and rad]."""

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
    """Return configurations at which frames, the centre of mass and joints are where they should.

    Leading axes of all targets and of q0 broadcast: a million poses are one call.  Rows are solved
    by damped Gauss-Newton steps with the exact logarithm of rotations, inside a kernel.  A row that
    gets stuck starts again from other configurations, the same ones for every row.

    Args:
        model: the robot.
        targets: world-from-frame matrices by the names of bodies or frames, {name: (..., 4, 4)};
            or a list of `sixfold.targets`: Pose, Position, Direction, LookAt, CenterOfMass, Joints,
            each with a weight and a priority.
        q0: configurations to start from [rad or m], shape (..., nq); others if left out.
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
        NotApplicableError: if the model has constraints beside its joints.

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
    model_checked(NAME, model)
    refuse_constraints(NAME, model, "close the loops with sixfold.assemble")
    yes_or_no(NAME, limits=limits)
    count = step_count(NAME, "starts", starts)
    good = tolerance_of(NAME, tolerance)
    task = task_of(NAME, model, targets)
    first, lead = _starts_of(model, task, q0)
    table = start_table(model, count, given=q0 is not None)
    rows_ = math.prod(lead)
    with enough_memory(NAME, f"{rows_:,} configurations"):
        goals = np.broadcast_to(task.numbers, (*lead, task.numbers.shape[-1]))
        goals = np.ascontiguousarray(goals).reshape(rows_, task.numbers.shape[-1])
        solver = Solver(task, bool(limits), good, table)
        given = first.reshape(rows_, model.nq) if q0 is not None else None
        found = solver.run(given, goals)
        fixed = {k for target in task.targets for k in target.coordinates(model)}
        about = 0.0 if given is None else given
        found.q = unwound(model, found.q, turning(model, fixed), about, bool(limits))
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
    """Return a tolerance; refuse what is none."""
    real = isinstance(tolerance, (int, float, np.floating)) and not isinstance(tolerance, bool)
    if not (real and 0 < tolerance < math.inf):
        raise OptionError(function, "tolerance", "a number > 0 [m and rad]", tolerance)
    return float(tolerance)


def _starts_of(model: Model, task: Task, q0: ArrayLike | None) -> tuple[Array, Shape]:
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
class Found:
    """What is known of each row."""

    q: Array
    error: Array
    worst: Array
    """The largest error among the parts of the first priority."""
    starts: Array


@dataclass(frozen=True)
class Solver:
    """The kernels of a task, and the loop over starts."""

    task: Task
    bounded: bool
    tolerance: float
    table: Array
    """Where to start: row k is the k-th start."""

    def run(self, first: Array | None, goals: Array, polish: bool = True) -> Found:
        """Solve all rows, in chunks on several threads; bring the others as near as they come."""
        n, model = len(goals), self.task.model
        q = np.broadcast_to(self.table[0], (n, model.nq)) if first is None else first
        parts = len(self.task.names)
        found = Found(np.array(q, float), np.empty((n, parts)), np.full(n, np.inf), np.ones(n, int))
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

    def _again(self, how: str, found: Found, goals: Array, left: Array, calls: int) -> None:
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

    def met(self, found: Found) -> Array:
        """Return which rows meet the targets of the first priority."""
        return np.asarray(found.worst <= self.tolerance)

    def _search(self, kernel: Any, found: Found, goals: Array, first: int, stop: int) -> None:
        """Solve some rows from one start after the other; the rest keep their best."""
        left, q = np.arange(first, stop), found.q[first:stop]
        last = np.full(len(left), np.inf)  # squared error before the call
        start, best = np.zeros(len(left), int), np.full(stop, np.inf)
        while len(left):
            q, error, size, worst, _ = kernel(q, goals[left])
            going = (worst > self.tolerance) & (size < PROGRESS * last)
            ends = np.flatnonzero(~going)
            met = worst[ends] <= self.tolerance
            better = ends[met | (size[ends] < best[left[ends]])]
            at = left[better]
            found.q[at], found.error[at], found.worst[at] = q[better], error[better], worst[better]
            best[at] = size[better]
            start[ends] += 1
            found.starts[left[ends]] = start[ends]
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
        key = (NAME, task.model.digest, task.key, bounded, how)
        known = KERNELS.find(key)
        if known is not None:
            return known[0].ufunc
        steps = {"search": _search, "descend": _descend, "settle": _settle}[how]

        def run(q: Any, goals: Any) -> Any:
            q, dq = steps(task, bounded, q, goals)
            parts = task.parts(list(q), list(goals))
            errors = [rows.norm(e) for e, _ in parts]
            first = min(task.priorities)
            weighted = zip(errors, task.weights, task.priorities, strict=True)
            mine = [(x, w) for x, w, p in weighted if p == first]
            size = total((w * x) * (w * x) for x, w in mine)
            worst = largest([x for x, _ in mine])
            return q, numbers_array(errors), size, worst, largest(list(dq))

        shapes = [(task.model.nq,), (task.numbers.shape[-1],)]
        kernel = user_kernel(run, NAME, shapes, "float64")
        KERNELS.keep(key, kernel)
        return kernel.ufunc


def largest(numbers: list[Scalar]) -> Scalar:
    """Return the largest absolute value."""
    found: Scalar = absolute(numbers[0])
    for x in numbers[1:]:
        found = if_positive(absolute(x) - found, absolute(x), found)
    return found


def _search(task: Task, bounded: bool, q: Any, goals: Any) -> tuple[Any, Any]:
    """Take damped steps of the first priority, whatever the error does."""
    return _steps(task, bounded, q, ROUNDS, lambda now: ik_step(task, now, list(goals), bounded)[0])


def _settle(task: Task, bounded: bool, q: Any, goals: Any) -> tuple[Any, Any]:
    """Take steps of all priorities, short enough for the first to survive."""

    def short(now: list[Scalar]) -> list[Scalar]:
        dq = settling_step(task, now, list(goals), bounded)
        over = largest([x / MAX_SETTLE_STEP for x in dq])
        return [if_positive(over - 1.0, x / over, x) for x in dq]

    return _steps(task, bounded, q, SETTLE_ROUNDS, short)


def _steps(
    task: Task,
    bounded: bool,
    q: Any,
    rounds: int,
    step: Callable[[list[Scalar]], list[Scalar]],
) -> tuple[Any, Any]:
    """Take some steps; return the configuration and the last step."""

    def one(carried: Any) -> Any:
        now = list(carried[0])
        dq = step(now)
        return numbers_array(moved(task.model, now, dq, bounded)), numbers_array(dq)

    return repeat(rounds, one, (q, _zeros(q, task.model.nv)))


def _descend(task: Task, bounded: bool, q: Any, goals: Any) -> tuple[Any, Any]:
    """Take steps that make the error of the first priority smaller, for goals out of reach.

    A step that does not is tried again with a quarter of its length, and the next is damped more.
    """

    def step(carried: Any) -> Any:
        best, dq, numbers = (list(x) for x in carried)
        least, mu = numbers
        tried = moved(task.model, best, dq, bounded)
        onward, size = ik_step(task, tried, list(goals), bounded, mu)
        gain = least - size

        def either(new: list[Scalar], old: list[Scalar]) -> Any:
            pairs = zip(new, old, strict=True)
            return numbers_array([if_positive(gain, x, y) for x, y in pairs])

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
