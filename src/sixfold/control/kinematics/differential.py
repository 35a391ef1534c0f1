"""`differential_ik`: joint velocities that move frames as asked, or towards their targets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.control.kinematics.solve import broadcast
from sixfold.control.kinematics.step import by_priority, damped_step, stopped_step
from sixfold.control.kinematics.targets import Targets
from sixfold.control.kinematics.task import Task, task_of
from sixfold.errors import OptionError, yes_or_no
from sixfold.evaluate import KERNELS, enough_memory, model_checked, numbers_array, user_kernel
from sixfold.evaluate.quantities import refuse_constraints
from sixfold.model import Model
from sixfold.scalar import Scalar, absolute, if_positive
from sixfold.simulation.arguments import states_of

NAME = "differential_ik"


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
    freedom that the others leave.

    Args:
        model: the robot.
        q: configurations [rad or m], shape (..., nq).
        targets: velocities (omega; v) [rad/s; m/s] by the names of bodies or frames, world axes and
            the frame's origin, {name: (..., 6)}; or a list of `sixfold.targets`: Velocity, or
            a place to go to.
        gain: how fast targets that are places are approached [1/s]: error times gain.
        damping: how much a squared joint velocity counts beside a squared error, from 0.  Without
            damping, velocities grow without bound near singular configurations.
        limits: False to leave limits aside.  Otherwise all velocities are scaled down together
            until none exceeds its limit, and joints at a position limit do not move further out.

    Returns:
        Joint velocities [rad/s or m/s], shape (..., nv).

    Raises:
        ArgumentError, ShapeError, NumberError, OptionError, StateError: if an argument makes no
            sense.
        UnknownNameError: if there is no body, frame or joint of a name.
        NotApplicableError: if the model has constraints beside its joints.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm, q = sf.load("puma560"), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
        >>> wanted = [0.0, 0.0, 0.0, 0.1, 0.0, 0.0]  # 0.1 m/s along x, without turning
        >>> v = sf.differential_ik(arm, q, {"dh6": wanted}, damping=0.0)
        >>> v.round(3)
        array([-0.043, -0.111, -0.137, -0.105,  0.236,  0.162])
        >>> np.allclose(sf.jacobian(arm, q, "dh6") @ v, wanted)
        True
    """
    model_checked(NAME, model)
    refuse_constraints(NAME, model, "add their rows as targets of another model")
    yes_or_no(NAME, limits=limits)
    for name, value, least in (("gain", gain, "> 0"), ("damping", damping, ">= 0")):
        real = isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)
        if not (real and 0 <= value < math.inf and (value or name == "damping")):
            raise OptionError(NAME, name, f"a number {least}", value)
    task = task_of(NAME, model, targets, rates=True)
    arrays, _ = states_of(NAME, model, q, None)
    at = arrays["q0"]
    lead = broadcast(NAME, {"q": at, "targets": task.numbers})
    with enough_memory(NAME, f"velocities {lead}"), np.errstate(all="ignore"):
        kernel = _kernel(task, bool(limits))
        found: Array = kernel(at, task.numbers, np.array([float(gain), float(damping)]))
    return found


def _kernel(task: Task, bounded: bool) -> Any:
    """Return the kernel of one step."""
    key = (NAME, task.model.digest, task.key, bounded)
    known = KERNELS.find(key)
    if known is not None:
        return known[0].ufunc

    def run(q: Any, goals: Any, numbers: Any) -> Any:
        return numbers_array(_velocity(task, list(q), list(goals), numbers[0], numbers[1], bounded))

    kernel = user_kernel(run, NAME, [(task.model.nq,), (task.numbers.shape[-1],), (2,)], "float64")
    KERNELS.keep(key, kernel)
    return kernel.ufunc


def _velocity(
    task: Task,
    q: list[Scalar],
    goals: list[Scalar],
    gain: Scalar,
    damping: Scalar,
    bounded: bool,
) -> list[Scalar]:
    """Return the velocities of one state."""
    model = task.model
    parts = [
        (list(e), J) if kind == "velocity" else ([x * gain for x in e], J)
        for (e, J), kind in zip(task.parts(q, goals), task.kinds, strict=True)
    ]
    found = by_priority(task, parts)
    lam = [damping] * len(found)
    if not bounded:
        return damped_step(found, [1.0] * model.nv, lam)
    return _scaled(stopped_step(model, q, found, lam), model.velocity_limit.tolist())


def _scaled(v: list[Scalar], most: list[float]) -> list[Scalar]:
    """Return velocities in their direction, none above its limit."""
    over: Scalar = 1.0
    for x, limit in zip(v, most, strict=True):
        if math.isfinite(limit) and limit > 0:
            ratio = absolute(x) / limit
            over = if_positive(ratio - over, ratio, over)
    return [x / over for x in v]
