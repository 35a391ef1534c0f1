"""Ready-made controllers: functions of (t, q, v) that return joint forces.

Each is built from arithmetic and sixfold functions, so it compiles into a simulation; called by
hand on one state it returns plain numbers.  A floating base has no motor: free joints get no force.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sixfold.errors import NumberError, OptionError, StateError, shown, yes_or_no
from sixfold.evaluate import (
    difference,
    frame_pose,
    gravity_force,
    inverse_dynamics,
    jacobian,
)
from sixfold.evaluate.arrays import Argument, checked, model_checked
from sixfold.model import Free, Model
from sixfold.scalar import if_positive

Numbers = tuple[float, ...]
Reference = Callable[[Any], tuple[Any, Any, Any]]
"""Function of t that returns positions, velocities and accelerations."""


@dataclass(frozen=True)
class GravityCompensation:
    """tau = g(q): holds the robot still wherever it is."""

    model: Model
    frozen_law: ClassVar[bool] = True

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        return _driven(self.model, gravity_force(self.model, q))


@dataclass(frozen=True)
class PD:
    """tau = kp (target - q) - kd v, plus g(q) if asked."""

    model: Model
    target: Numbers
    kp: Numbers
    kd: Numbers
    gravity: bool = True
    frozen_law: ClassVar[bool] = True

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        error = difference(self.model, q, np.array(self.target))
        tau = np.array(self.kp) * error - np.array(self.kd) * v
        if self.gravity:
            tau = tau + gravity_force(self.model, q)
        return _driven(self.model, tau)


@dataclass(frozen=True)
class ComputedTorque:
    """tau = ID(q, v, a_ref + kd (v_ref - v) + kp (q_ref - q)): linear, decoupled error motion."""

    model: Model
    reference: Reference
    kp: Numbers
    kd: Numbers

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        q_ref, v_ref, a_ref = self.reference(t)
        error = difference(self.model, q, _objects(q_ref, q))
        a = a_ref + np.array(self.kd) * (v_ref - v) + np.array(self.kp) * error
        return inverse_dynamics(self.model, q, v, a)


@dataclass(frozen=True)
class OperationalSpace:
    """tau = J^T (kp (target - x) - kd dx/dt) - damping v + g(q): a spring and damper at a frame."""

    model: Model
    frame: str
    target: Numbers
    kp: float
    kd: float
    damping: float
    frozen_law: ClassVar[bool] = True

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        x = frame_pose(self.model, q, self.frame)[:3, 3]
        J = jacobian(self.model, q, self.frame)[3:]
        pull = self.kp * (np.array(self.target) - x) - self.kd * (J @ v)
        tau = J.T @ pull - self.damping * v + gravity_force(self.model, q)
        return _driven(self.model, tau)


@dataclass(frozen=True)
class Saturated:
    """Another controller with its joint forces kept within the model's effort limits."""

    control: Callable[..., Any]
    limit: Numbers

    @property
    def frozen_law(self) -> bool:
        """As fixed as the controller inside."""
        return bool(getattr(self.control, "frozen_law", False))

    def __call__(self, t: Any, q: Any, v: Any, *parameters: Any) -> Any:
        """Return the joint forces."""
        tau = np.asarray(self.control(t, q, v, *parameters))
        clipped = [_clip(x, limit) for x, limit in zip(tau, self.limit, strict=True)]
        return np.array(clipped, dtype=tau.dtype)


def gravity_compensation(model: Model) -> GravityCompensation:
    """Return a controller that carries the robot's weight and nothing else."""
    return GravityCompensation(model_checked("gravity_compensation", model))


def pd(
    model: Model, target: ArrayLike, kp: ArrayLike, kd: ArrayLike, *, gravity: bool = True
) -> PD:
    """Return a spring and damper at each joint, pulling to a configuration.

    Args:
        model: the robot.
        target: configuration to go to, shape (nq,).
        kp: stiffness [N m/rad or N/m], one number or (nv,).
        kd: damping [N m s/rad or N s/m], one number or (nv,).
        gravity: carry the weight as well.
    """
    model_checked("pd", model)
    yes_or_no("pd", gravity=gravity)
    goal = _numbers("pd", "target", target, model.nq)
    return PD(model, goal, _gains(model, "kp", kp), _gains(model, "kd", kd), bool(gravity))


def computed_torque(
    model: Model, reference: Reference, kp: ArrayLike, kd: ArrayLike
) -> ComputedTorque:
    """Return a controller that cancels the dynamics and follows a motion.

    Args:
        model: the robot; every joint must have a motor.
        reference: function of t that returns (q, v, a), such as `minimum_jerk(...)`.
        kp: gain on the position error [1/s^2], one number or (nv,).
        kd: gain on the velocity error [1/s], one number or (nv,); 2 sqrt(kp) is critical.
    """
    model_checked("computed_torque", model)
    if not callable(reference):
        raise NumberError(
            "computed_torque: argument 'reference'",
            "a function of t that returns (q, v, a)",
            type(reference).__name__,
            "pass minimum_jerk(start, goal, duration), or a function of your own",
        )
    return ComputedTorque(model, reference, _gains(model, "kp", kp), _gains(model, "kd", kd))


def operational_space(
    model: Model,
    frame: str,
    target: ArrayLike,
    kp: float,
    kd: float,
    *,
    damping: float = 0.0,
) -> OperationalSpace:
    """Return a spring and damper that pull the origin of a frame to a point.

    Args:
        model: the robot.
        frame: a body or frame.
        target: point in world coordinates [m], shape (3,).
        kp: stiffness [N/m].
        kd: damping [N s/m].
        damping: damping of every joint, for the motions that do not move the frame.
    """
    model_checked("operational_space", model)
    model.locate(frame)
    point = _numbers("operational_space", "target", target, 3)
    (stiffness,) = _numbers("operational_space", "kp", kp, 1)
    (damper,) = _numbers("operational_space", "kd", kd, 1)
    (own,) = _numbers("operational_space", "damping", damping, 1)
    return OperationalSpace(model, frame, point, stiffness, damper, own)


def saturated(model: Model, control: Callable[..., Any]) -> Saturated:
    """Return a controller with its joint forces cut at the model's effort limits."""
    model_checked("saturated", model)
    if not callable(control):
        where = "saturated: argument 'control'"
        raise NumberError(where, "a controller", type(control).__name__, "pass a function")
    return Saturated(control, tuple(model.effort_limit.tolist()))


def minimum_jerk(start: ArrayLike, goal: ArrayLike, duration: float) -> Reference:
    """Return a smooth motion between two configurations: (q, v, a) as functions of t.

    The path is the polynomial of degree 5 that rests at both ends; not for quaternions.
    """
    a, b = (
        checked("minimum_jerk", name, Argument(given, (), "a list of positions"))
        for name, given in (("start", start), ("goal", goal))
    )
    where = "minimum_jerk: arguments 'start' and 'goal'"
    if a.shape != b.shape or a.ndim != 1:
        raise NumberError(where, "two lists of one length", f"{a.shape}, {b.shape}", "match them")
    if a.dtype.kind != "f" or b.dtype.kind != "f" or not np.isfinite(a + b).all():
        raise NumberError(where, "finite numbers", f"{a}, {b}", "give positions in numbers")
    number = isinstance(duration, (int, float)) and not isinstance(duration, bool)
    if not number or not 0 < duration < np.inf or duration >= 1e308:
        raise OptionError("minimum_jerk", "duration", "a time > 0", duration)
    way, T = b - a, float(duration)

    def reference(t: Any) -> tuple[Any, Any, Any]:
        s = t / T
        s = if_positive(s, if_positive(s - 1.0, 1.0, s), 0.0)
        path = s * s * s * (10.0 - s * (15.0 - 6.0 * s))
        rate = 30.0 * s * s * (1.0 - s) * (1.0 - s) / T
        bend = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / (T * T)
        return a + way * path, way * rate, way * bend

    return reference


def _driven(model: Model, tau: Any) -> Any:
    """Return joint forces without those of free joints, which have no motor."""
    bases = [body for body in model.bodies if isinstance(body.joint, Free)]
    if bases:
        tau = tau.copy()
        for body in bases:
            tau[..., model.v_slice(body.joint_name)] = 0.0
    return tau


def _clip(x: Any, limit: float) -> Any:
    if not np.isfinite(limit):
        return x
    return if_positive(x - limit, limit, if_positive(-limit - x, -limit, x))


def _objects(reference: Any, like: Any) -> Any:
    return np.asarray(reference, dtype=getattr(like, "dtype", float))


def _gains(model: Model, name: str, value: ArrayLike) -> Numbers:
    numbers = _numbers("controllers", name, value, model.nv)
    if any(x < 0 for x in numbers):
        raise OptionError("controllers", name, "numbers >= 0", value)
    return numbers


def _numbers(function: str, name: str, value: ArrayLike, n: int) -> Numbers:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = [value] * n
    array = checked(function, name, Argument(value, (n,), f"{n} numbers"))
    if array.ndim != 1 or array.dtype.kind != "f" or not np.isfinite(array).all():
        where, fix = f"{function}: argument '{name}'", "give one number for each coordinate"
        raise StateError(where, f"{n} finite numbers", shown(value), fix)
    return tuple(map(float, array.tolist()))


__all__ = [
    "PD",
    "ComputedTorque",
    "GravityCompensation",
    "OperationalSpace",
    "Saturated",
    "computed_torque",
    "gravity_compensation",
    "minimum_jerk",
    "operational_space",
    "pd",
    "saturated",
]
