"""Ready-made controllers: functions of (t, q, v) that return joint forces.

Those with states of their own are functions of (t, q, v, x), and return dx/dt as well.  They have
`x0`, the states at the start, and `sample_time`: None for a rate dx/dt, or the length of a step for
one that returns x at the next step (hold=True).

Each is built from arithmetic and sixfold functions, so it compiles into a simulation; called on one
state it returns plain numbers.  A floating base has no motor: free joints get no force.

Dry friction is never compensated by the sign of the measured speed, which near rest is noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from sixfold.control.targets import Pose
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    NumberError,
    OptionError,
    ShapeError,
    StateError,
    UnlikelyInputWarning,
    quote,
    real_number,
    visible,
    yes_or_no,
)
from sixfold.model import Body, Model
from sixfold.quantities.configurations import difference
from sixfold.quantities.dynamics import (
    bias_force,
    coriolis_matrix,
    gravity_force,
    inverse_dynamics,
    mass_matrix,
)
from sixfold.quantities.kinematics import frame_pose, jacobian, jacobian_bias
from sixfold.quantities.operational_space import operational_space_mobility, task_rows
from sixfold.runtime import Argument, checked_array, in_order, require_model
from sixfold.scalar import if_positive
from sixfold.simulation.arguments import degree_notes
from sixfold.spatial import Inertia, Matrix3, Vector3, ldl, ldl_solve
from sixfold.spatial.rotations import quaternion_logarithm, rotation_to_quaternion

__all__ = [
    "PD",
    "PID",
    "ComputedTorque",
    "DisturbanceObserver",
    "FilteredVelocity",
    "GravityCompensation",
    "OperationalSpace",
    "Saturated",
    "computed_torque",
    "disturbance_observer",
    "filtered_velocity",
    "gravity_compensation",
    "minimum_jerk",
    "operational_space",
    "pd",
    "pid",
    "saturate",
]

Numbers = tuple[float, ...]
#: Proximal steps of `operational_space`, and their eps as a share of the mean eigenvalue of G: at
#: 0.1 rad from an elbow's singularity forces differ by 6e-4 from the exact ones (ur5).
PROXIMAL_STEPS, PROXIMAL_SHARE = 3, 1e-4
#: What a turn of 1 rad counts as in comparison with a shift [m]: at the size of a hand.
TURN_LENGTH = 0.3
# v_s [rad/s or m/s] with which a controller smooths dry friction that jumps at rest
FRICTION_SPEED = 0.01


@dataclass(frozen=True)
class PID:
    """tau = kp e + ki x - kd v, plus g(q) if asked; e = target - q and dx/dt = e."""

    model: Model
    target: Numbers
    kp: Numbers
    ki: Numbers
    kd: Numbers
    gravity: bool = True
    sample_time: float | None = None

    @property
    def x0(self) -> Numbers:
        """The integral of the error at the start."""
        return (0.0,) * self.model.nv

    def __call__(self, t: Any, q: Any, v: Any, x: Any) -> tuple[Any, Any]:
        """Return the joint forces, and the error or the next integral of it."""
        error = difference(self.model, q, np.array(self.target))
        tau = np.array(self.kp) * error + np.array(self.ki) * x - np.array(self.kd) * v
        if self.gravity:
            tau = tau + gravity_force(self.model, q)
        after = error if self.sample_time is None else x + self.sample_time * error
        return without_base_forces(self.model, tau), after


@dataclass(frozen=True)
class FilteredVelocity:
    """Another controller that sees positions only: v is estimated as w (q - x), dx/dt = w (q - x).

    The estimate is the velocity behind a low-pass filter, w / (s + w).
    """

    control: Callable[..., Any]
    bandwidth: Numbers
    x0: Numbers
    sample_time: ClassVar[None] = None

    def estimate(self, q: Any, x: Any) -> Any:
        """Return the estimated velocity, shape (..., nv)."""
        return np.array(self.bandwidth) * (q - x)

    def __call__(self, t: Any, q: Any, v: Any, x: Any, *parameters: Any) -> tuple[Any, Any]:
        """Return the joint forces and the rate of the filter."""
        speed = self.estimate(q, x)
        return self.control(t, q, speed, *parameters), speed


@dataclass(frozen=True)
class DisturbanceObserver:
    """Another controller, less the joint forces that the model does not explain.

    With the momentum p = M v, the estimate is r = K (p - x), and x is what p would be without a
    disturbance d: dx/dt = tau - C + dM/dt v + r, with C = ID(q, v, 0).  Then dr/dt = K (d - r).
    Dry friction in C is smoothed, so that noise about rest does not shake the estimate.
    (De Luca, Albu-Schaeffer, Haddadin and Hirzinger 2006, with passive forces in C.)
    """

    model: Model
    control: Callable[..., Any]
    gain: Numbers
    compensate: bool = True
    sample_time: ClassVar[None] = None

    @property
    def x0(self) -> Numbers:
        """The momentum at the start, for a start at rest."""
        return (0.0,) * self.model.nv

    def estimate(self, q: Any, v: Any, x: Any) -> Any:
        """Return the estimated disturbance, shape (..., nv)."""
        # momentum p = M v; written as a sum, it holds for batches as well
        p = (mass_matrix(self.model, q) * v[..., None, :]).sum(axis=-1)
        return np.array(self.gain) * (p - x)

    def __call__(self, t: Any, q: Any, v: Any, x: Any, *parameters: Any) -> tuple[Any, Any]:
        """Return the joint forces and the rate of the expected momentum."""
        # dx/dt = tau - C + dM/dt v + r, with dM/dt = C_matrix + C_matrix^T
        r = self.estimate(q, v, x)
        given = self.control(t, q, v, *parameters)
        names = [self.model.coordinates.v_names]
        tau = np.asarray(in_order("disturbance_observer", "control", given, names))
        if self.compensate:
            tau = without_base_forces(self.model, tau - r)
        C = coriolis_matrix(self.model, q, v)
        return tau, tau - bias_force(smooth_friction(self.model), q, v) + (C + C.T) @ v + r


def smooth_friction(model: Model) -> Model:
    """Return a model whose dry friction does not jump at rest."""

    def smooth(body: Body) -> Body:
        return replace(body, friction_speed=tuple(x or FRICTION_SPEED for x in body.friction_speed))

    return replace(model, bodies=tuple(map(smooth, model.bodies)))


def without_base_forces(model: Model, tau: Any) -> Any:
    """Return joint forces without those of free joints, which have no motor."""
    floating = model.coordinates.floating
    if floating:
        tau = tau.copy()
        for base in floating:
            tau[..., base.v] = 0.0
    return tau


# function of t that returns positions, velocities and accelerations
Reference = Callable[[Any], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class GravityCompensation:
    """tau = g(q): holds the robot still wherever it is."""

    model: Model

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        return without_base_forces(self.model, gravity_force(self.model, q))


@dataclass(frozen=True)
class PD:
    """tau = kp (target - q) - kd v, plus g(q) if asked."""

    model: Model
    target: Numbers
    kp: Numbers
    kd: Numbers
    gravity: bool = True

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        error = difference(self.model, q, np.array(self.target))
        tau = np.array(self.kp) * error - np.array(self.kd) * v
        if self.gravity:
            tau = tau + gravity_force(self.model, q)
        return without_base_forces(self.model, tau)


@dataclass(frozen=True)
class ComputedTorque:
    """tau = ID(q, v, a_ref + kd (v_ref - v) + kp (q_ref - q)): linear, decoupled error motion.

    Dry friction in ID is that of v_ref: by the sign of v, a motor that is to rest would chatter.
    """

    model: Model
    reference: Reference
    kp: Numbers
    kd: Numbers
    _rigid: Model = field(init=False, repr=False, compare=False)
    _dry: Model | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Split the model: all but dry friction, and dry friction alone."""
        rigid, dry = require_model("computed_torque", self.model), None
        if any(any(body.friction) or any(body.friction_negative) for body in rigid.bodies):
            # dry friction alone: a massless model without all other forces
            rigid = self.model.without(friction=True)
            alone = self.model.without(
                damping=True, springs=True, armature=True, gravity=True, constraints=True
            )
            massless = tuple(replace(body, inertia=Inertia.zero()) for body in alone.bodies)
            dry = smooth_friction(replace(alone, bodies=massless))
        object.__setattr__(self, "_rigid", rigid)
        object.__setattr__(self, "_dry", dry)

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        names = self.model.coordinates
        labels = (names.q_names, names.v_names, names.v_names)
        q_ref, v_ref, a_ref = (
            in_order("computed_torque", f"reference(t)[{k}]", x, [label])
            for k, (x, label) in enumerate(zip(self.reference(t), labels, strict=True))
        )
        error = difference(self.model, q, _objects(q_ref, q))
        a = a_ref + np.array(self.kd) * (v_ref - v) + np.array(self.kp) * error
        tau = inverse_dynamics(self._rigid, q, v, a)
        if self._dry is None:
            return tau
        return tau + bias_force(self._dry, q, _objects(v_ref, q))


@dataclass(frozen=True)
class OperationalSpace:
    """tau = ID(q, v, a_0) + J^T F: the frame follows its path, a_0 moves what the path leaves free.

    F = Lambda (dv/dt - dJ/dt v - J a_0), so that the frame accelerates with dv/dt for any a_0
    (Khatib 1987, with forces of the null space in their form as accelerations).  Lambda b comes
    from three proximal steps (G + eps) F+ = b + eps F with G = J M^-1 J^T: far from singular
    configurations that is exact to (eps / w)^3 for an eigenvalue w of G, and near them forces
    stay finite.
    """

    model: Model
    frame: str
    path: Reference
    kp: Numbers
    kd: Numbers
    rows: tuple[int, ...]
    posture: Reference | None
    posture_kp: Numbers
    posture_kd: Numbers
    _rigid: Model = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Leave dry friction out: by the sign of v, a motor that is to rest would chatter."""
        object.__setattr__(self, "_rigid", self.model.without(friction=True))

    def __call__(self, t: Any, q: Any, v: Any) -> Any:
        """Return the joint forces."""
        place, rate, acceleration = self.path(t)
        rows = list(self.rows)
        J = jacobian(self.model, q, self.frame)[rows]
        # dv/dt = a_ref + kd (v_ref - J v) + kp e
        wanted = np.array(self.kd) * (self._select_rows(rate) - J @ v) + self._select_rows(
            acceleration
        )
        wanted = wanted + np.array(self.kp) * self.error(q, place)
        # what the joints would do without the path
        a = -np.array(self.posture_kd) * v
        if self.posture is not None:
            q_ref, v_ref, a_ref = (_objects(x, q) for x in self.posture(t))
            error = np.array(self.posture_kp) * difference(self.model, q, q_ref)
            a = a + np.array(self.posture_kd) * v_ref + a_ref + error
        b = wanted - jacobian_bias(self.model, q, v, self.frame)[rows] - J @ a
        return inverse_dynamics(self._rigid, q, v, a) + J.T @ self._force(q, b)

    def error(self, q: Any, place: Any) -> Any:
        """Return how far the frame is from a place, (rotation vector; position) in world axes."""
        pose, place = frame_pose(self.model, q, self.frame), np.asarray(place)
        turn = [0.0, 0.0, 0.0]
        if place.ndim == 2:
            back = pose[:3, :3] @ place[:3, :3].T
            E = Matrix3(*(Vector3(*row) for row in back))
            turn = list(quaternion_logarithm(rotation_to_quaternion(E)))
        goal = place[:3, 3] if place.ndim == 2 else place
        return self._select_rows([*turn, *(goal - pose[:3, 3])])

    def tracked_shares(self, q: ArrayLike) -> tuple[Any, Any]:
        """Return which share of a wanted acceleration the frame gets, direction by direction.

        Shares (..., k), least first, are 1 far from singular configurations, and near 0 along a
        direction in which the joints cannot move the frame.  Directions are the columns of (...,
        k, k) over the rows of the task, turns in units of 1 / 0.3 rad.
        """
        w, axes = np.linalg.eigh(self._mobility(np.asarray(q)))
        eps = PROXIMAL_SHARE * w.mean(axis=-1, keepdims=True)
        return 1.0 - (eps / (np.maximum(w, 0.0) + eps)) ** PROXIMAL_STEPS, axes

    @property
    def _units(self) -> Any:
        """Lengths that make turns and shifts comparable."""
        return np.array([TURN_LENGTH if r < 3 else 1.0 for r in self.rows])

    def _mobility(self, q: Any) -> Any:
        """Return J M^-1 J^T in these units."""
        G = operational_space_mobility(self.model, q, self.frame, rows=self.rows)
        return G * np.outer(self._units, self._units)

    def _select_rows(self, x: Any) -> Any:
        """Return the rows of the task of six numbers, or of three for a point."""
        x = np.asarray(x)
        return x[[r - (6 - len(x)) for r in self.rows]]

    def _force(self, q: Any, b: Any) -> Any:
        """Return Lambda b by proximal steps."""
        G, n = self._mobility(q), len(self.rows)
        eps = G.trace() * (PROXIMAL_SHARE / n)
        factors = ldl(G + eps * np.eye(n))
        wanted = b * self._units
        F: Any = np.zeros(n)
        for _ in range(PROXIMAL_STEPS):
            F = np.array(ldl_solve(*factors, wanted + eps * F))
        return F * self._units


@dataclass(frozen=True)
class Saturated:
    """Another controller with its joint forces kept within the model's effort limits."""

    control: Callable[..., Any]
    limit: Numbers
    names: tuple[str, ...]  #: Of the joint forces, for a controller that returns them in a table.

    @property
    def x0(self) -> Any:
        """The states of the controller inside at the start, if it has any."""
        return getattr(self.control, "x0", None)

    @property
    def sample_time(self) -> float | None:
        """That of the controller inside."""
        return getattr(self.control, "sample_time", None)

    def __call__(self, t: Any, q: Any, v: Any, *rest: Any) -> Any:
        """Return the joint forces, and what the controller inside says about its states."""
        found = self.control(t, q, v, *rest)
        stateful = isinstance(found, tuple) and len(found) == 2 and np.ndim(found[0]) == 1
        given = found[0] if stateful else found
        tau = np.asarray(in_order("saturate", "control", given, [self.names]))
        clipped = [_clip(x, limit) for x, limit in zip(tau, self.limit, strict=True)]
        cut = np.array(clipped, dtype=tau.dtype)
        return (cut, found[1]) if stateful else cut


def gravity_compensation(model: Model) -> GravityCompensation:
    """Return a controller that balances gravity: tau = g(q).

    Args:
        model: the robot.

    Returns:
        A function of (t, q, v) that returns joint forces, shape (nv,) [N m or N].

    Raises:
        ArgumentError: if `model` is not a `Model`.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> control = sf.control.gravity_compensation(arm)
        >>> control(0.0, np.array([0.3, 0.0]), np.zeros(2)).round(3)
        array([7.248, 2.899])
        >>> held = sf.simulate(arm, [0.3, 0.0], [0.0, 0.0], 1.0, control=control)
        >>> np.allclose(held.q, [0.3, 0.0])
        True
    """
    return GravityCompensation(require_model("gravity_compensation", model))


def pd(
    model: Model, target: ArrayLike, kp: ArrayLike, kd: ArrayLike, *, gravity: bool = True
) -> PD:
    """Return a PD controller: a spring and a damper at each joint.

    tau = kp (target - q) - kd v + g(q).

    Args:
        model: the robot.
        target: desired configuration [rad or m], shape (nq,).
        kp: stiffness [N m/rad or N/m], one number or (nv,).
        kd: damping [N m s/rad or N s/m], one number or (nv,).
        gravity: whether to add the gravity term g(q).

    Returns:
        A function of (t, q, v) that returns joint forces, shape (nv,) [N m or N].

    Raises:
        ArgumentError: if `model` is not a `Model`.
        ShapeError: if the target or a gain has the wrong size.
        StateError: if one of them contains NaN or infinity.
        OptionError: if a gain is negative.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> control = sf.control.pd(arm, [0.5, 0.0], kp=100.0, kd=20.0)
        >>> motion = sf.simulate(arm, [0.0, 0.0], [0.0, 0.0], 5.0, control=control)
        >>> np.allclose(motion.q[-1], [0.5, 0.0], atol=1e-3)
        True
    """
    require_model("pd", model)
    yes_or_no("pd", gravity=gravity)
    goal = _goal("pd", model, target)
    return PD(model, goal, _gains(model, "kp", kp), _gains(model, "kd", kd), bool(gravity))


def pid(
    model: Model,
    target: ArrayLike,
    kp: ArrayLike,
    ki: ArrayLike,
    kd: ArrayLike,
    *,
    gravity: bool = True,
    sample_time: float | None = None,
) -> PID:
    """Return a PID controller: a PD controller with a term for the integral of the error.

    tau = kp e + ki x - kd v + g(q), with e = target - q and dx/dt = e.  The states x of the
    controller are the integrals of the errors, one for each velocity coordinate.

    Args:
        model: the robot.
        target: desired configuration [rad or m], shape (nq,).
        kp: stiffness [N m/rad or N/m], one number or (nv,).
        ki: gain on the integral of the error [N m/(rad s) or N/(m s)], one number or (nv,).
        kd: damping [N m s/rad or N s/m], one number or (nv,).
        gravity: whether to add the gravity term g(q).
        sample_time: length of a step [s], for a digital controller (hold=True).

    Returns:
        A function of (t, q, v, x) that returns the joint forces, shape (nv,) [N m or N], and dx/dt,
        or x at the next step if there is a `sample_time`.  `x0` is the initial x, zero.

    Raises:
        ArgumentError: if `model` is not a `Model`.
        ShapeError: if the target or a gain has the wrong size.
        StateError: if one of them contains NaN or infinity.
        OptionError: if a gain is negative, or `sample_time` is not positive.

    Example:
        The integral takes the place of the gravity term:

        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> control = sf.control.pid(arm, [0.5, 0.0], kp=100.0, ki=50.0, kd=20.0, gravity=False)
        >>> motion = sf.simulate(arm, [0.0, 0.0], [0.0, 0.0], 20.0, control=control)
        >>> np.allclose(motion.q[-1], [0.5, 0.0], atol=1e-3)
        True
    """
    require_model("pid", model)
    goal = _goal("pid", model, target)
    gains = {name: _gains(model, name, k) for name, k in (("kp", kp), ("ki", ki), ("kd", kd))}
    if sample_time is not None:
        (sample_time,) = _numbers("pid", "sample_time", sample_time, 1)
        if sample_time <= 0:
            raise OptionError("pid", "sample_time", "a time > 0, or None", sample_time)
    return PID(model, goal, **gains, gravity=bool(gravity), sample_time=sample_time)


def filtered_velocity(
    model: Model, control: Callable[..., Any], bandwidth: ArrayLike, start: ArrayLike
) -> FilteredVelocity:
    """Return a controller that measures positions only and estimates velocities with a filter.

    The estimate is w (q - x) with dx/dt = w (q - x): the velocity after the low-pass filter
    w / (s + w).

    Args:
        model: the robot, without spherical and free joints.
        control: function of (t, q, v) that returns joint forces.
        bandwidth: bandwidth w of the filter [rad/s], one number or (nv,).
        start: initial configuration [rad or m], shape (nq,), for which the first estimate is zero.

    Returns:
        A function of (t, q, v, x) that ignores v and returns the joint forces, shape (nv,)
        [N m or N], and dx/dt.  `estimate(q, x)` returns the estimated velocity; `x0` is `start`.

    Raises:
        ArgumentError: if `model` is not a `Model` or `control` is not a function.
        NotApplicableError: for a model with spherical or free joints, or a controller with states.
        ShapeError, StateError, OptionError: if the bandwidth or the start has the wrong size, is
            not finite or is a negative bandwidth.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> pd = sf.control.pd(arm, [0.5, 0.0], kp=100.0, kd=20.0)
        >>> control = sf.control.filtered_velocity(arm, pd, bandwidth=200.0, start=[0.0, 0.0])
        >>> control.estimate(np.array([0.01, 0.0]), np.zeros(2))
        array([2., 0.])
        >>> motion = sf.simulate(arm, [0.0, 0.0], [0.0, 0.0], 5.0, control=control)
        >>> np.allclose(motion.q[-1], [0.5, 0.0], atol=1e-3)
        True
    """
    require_model("filtered_velocity", model)
    _stateless("filtered_velocity", control)
    for joint in (free.joint for free in model.coordinates.free):
        if not joint.velocity_is_rate:
            where = f"a {joint.kind} joint, whose velocity is no rate of coordinates"
            fix = "leave the velocities of such joints as they are, in a controller of your own"
            raise NotApplicableError("filtered_velocity", where, fix)
    x0 = _numbers("filtered_velocity", "start", start, model.nq, names=model.coordinates.q_names)
    return FilteredVelocity(control, _gains(model, "bandwidth", bandwidth), x0)


def disturbance_observer(
    model: Model, control: Callable[..., Any], gain: ArrayLike, *, compensate: bool = True
) -> DisturbanceObserver:
    """Return a controller that estimates and cancels joint forces missing from the model.

    It observes the generalised momentum M(q) v.  Start it at rest, or with x0 = M(q0) v0.

    Args:
        model: the robot.
        control: function of (t, q, v) that returns joint forces.
        gain: bandwidth of the estimate [1/s], one number or (nv,).
        compensate: whether to subtract the estimate from the joint forces.

    Returns:
        A function of (t, q, v, x) that returns the joint forces, shape (nv,) [N m or N], and dx/dt.
        `estimate(q, v, x)` returns the estimated disturbance, shape (nv,) [N m or N].

    Raises:
        ArgumentError: if `model` is not a `Model` or `control` is not a function.
        NotApplicableError: for a controller with states.
        ShapeError, StateError, OptionError: if the gain has the wrong size, is not finite or is
            negative.

    Example:
        An arm carries 1 kg that its controller does not know of:

        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> loaded = sf.add_payload(arm, "lower", mass=1.0)
        >>> pd = sf.control.pd(arm, [0.5, 0.0], kp=100.0, kd=20.0)
        >>> sf.simulate(loaded, [0.0, 0.0], [0.0, 0.0], 5.0, control=pd).q[-1, 0].round(3)
        np.float64(0.457)
        >>> control = sf.control.disturbance_observer(arm, pd, gain=20.0)
        >>> sf.simulate(loaded, [0.0, 0.0], [0.0, 0.0], 5.0, control=control).q[-1, 0].round(3)
        np.float64(0.5)

    Reference:
        De Luca, Albu-Schaeffer, Haddadin and Hirzinger, Collision Detection and Safe Reaction with
        the DLR-III Lightweight Manipulator Arm, IROS 2006.
    """
    require_model("disturbance_observer", model)
    _stateless("disturbance_observer", control)
    yes_or_no("disturbance_observer", compensate=compensate)
    return DisturbanceObserver(model, control, _gains(model, "gain", gain), bool(compensate))


def computed_torque(
    model: Model, reference: Reference, kp: ArrayLike, kd: ArrayLike
) -> ComputedTorque:
    """Return a controller that cancels the dynamics and tracks a trajectory.

    tau = ID(q, v, a_ref + kd (v_ref - v) + kp (q_ref - q)): the tracking error is linear and
    decoupled.  Dry friction is computed from the velocity of the reference and smoothed with the
    model's `friction_speed`, or with 0.01 rad/s or m/s if the model's friction jumps at rest.

    Args:
        model: the robot; every joint must have a motor.
        reference: function of t that returns (q, v, a), such as `minimum_jerk(...)`.
        kp: gain on the position error [1/s^2], one number or (nv,).
        kd: gain on the velocity error [1/s], one number or (nv,); critically damped for 2 sqrt(kp).

    Returns:
        A function of (t, q, v) that returns joint forces, shape (nv,) [N m or N].

    Raises:
        ArgumentError: if `model` is not a `Model` or `reference` is not a function.
        ShapeError, StateError, OptionError: if a gain has the wrong size, is not finite or is
            negative.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("double_pendulum")
        >>> path = sf.control.minimum_jerk([0.0, 0.0], [1.0, -0.5], 2.0)
        >>> control = sf.control.computed_torque(arm, path, kp=100.0, kd=20.0)
        >>> motion = sf.simulate(arm, [0.0, 0.0], [0.0, 0.0], 2.0, control=control)
        >>> np.allclose(motion.q[-1], [1.0, -0.5], atol=1e-6)
        True
    """
    require_model("computed_torque", model)
    if not callable(reference):
        raise ArgumentError(
            "computed_torque: argument 'reference'",
            "a function of t that returns (q, v, a)",
            reference,
            "pass minimum_jerk(start, goal, duration), or a function of your own",
        )
    return ComputedTorque(model, reference, _gains(model, "kp", kp), _gains(model, "kd", kd))


def operational_space(
    model: Model,
    frame: str,
    path: Reference | ArrayLike,
    kp: ArrayLike,
    kd: ArrayLike,
    *,
    rows: str | tuple[int, ...] = "pose",
    posture: Reference | ArrayLike | None = None,
    posture_kp: ArrayLike = 25.0,
    posture_kd: ArrayLike = 10.0,
) -> OperationalSpace:
    """Return a controller that moves a frame along a path, with decoupled linear errors.

    The error e of the frame obeys e'' + kd e' + kp e = 0 for any inertia of the robot.  The degrees
    of freedom that the path leaves go to the posture, by joint forces that do not accelerate the
    frame.  Near singular configurations joint forces stay finite, and the directions in which the
    joints cannot move the frame are given up: `tracked_shares(q)` of the controller says which.
    Dry friction is not compensated.

    Args:
        model: the robot; every joint must have a motor.
        frame: name of a body or frame.
        path: where the frame shall be, or a function of t that returns (place, velocity,
            acceleration).  A place is a pose (4, 4), or a point (3,) [m] for rows of the position
            alone.  Velocity and acceleration are those of `frame_velocity`, (angular; linear) in
            world axes, shape (6,); shape (3,) with points.
        kp: gain on the error [1/s^2], one number or one for each row.
        kd: gain on its rate [1/s], likewise; critically damped for 2 sqrt(kp).
        rows: "pose", "position", "orientation", or a tuple of rows of `jacobian`, such as (3, 5)
            for x and z.
        posture: a configuration, or a function of t that returns (q, v, a).  Without it motions
            that do not move the frame are damped.
        posture_kp: gain on the error of the posture [1/s^2], one number or (nv,).
        posture_kd: gain on its rate [1/s], one number or (nv,).

    Returns:
        A function of (t, q, v) that returns joint forces, shape (nv,) [N m or N].

    Raises:
        UnknownNameError: if there is no such frame.
        NotApplicableError: for a model with a floating base or constraints.
        ShapeError, StateError, OptionError: if a place, a configuration or a gain has the wrong
            size, is not finite, or a gain is negative.

    Reference: Khatib, A Unified Approach for Motion and Force Control of Robot Manipulators, 1987.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm, goal = sf.load("double_pendulum"), (0.5, 0.0, -1.2)
        >>> rows = (3, 5)  # x and z: it moves in this plane
        >>> control = sf.control.operational_space(arm, "tip", goal, kp=25.0, kd=10.0, rows=rows)
        >>> motion = sf.simulate(arm, [0.5, 0.8], [0.0, 0.0], 4.0, control=control)
        >>> np.allclose(sf.frame_pose(arm, motion.q[-1], "tip")[:3, 3], goal, atol=1e-4)
        True
    """
    caller = "operational_space"
    require_model(caller, model)
    model.locate(frame)
    chosen = task_rows(caller, rows)
    if model.coordinates.floating or model.constraints:
        kind = "constraints" if model.constraints else "a floating base, which has no motor"
        fix = "control a model without them: model.without(constraints=True), or a fixed base"
        raise NotApplicableError(caller, f"model '{model.name}' with {kind}", fix)
    reference = path if callable(path) else partial(_still, _place(model, frame, path), 6)
    _refuse_sizes(reference(0.0), min(chosen) >= 3)
    given = posture
    if given is not None and not callable(given):
        given = partial(_still, np.array(_goal(caller, model, given)), model.nv)
    gains = [
        _positive(name, _numbers(caller, name, x, len(chosen), spread=True), x)
        for name, x in (("kp", kp), ("kd", kd))
    ]
    own = (_gains(model, "posture_kp", posture_kp), _gains(model, "posture_kd", posture_kd))
    return OperationalSpace(model, frame, reference, gains[0], gains[1], chosen, given, *own)


def _still(place: Any, rates: int, t: Any) -> tuple[Any, Any, Any]:
    """Return the motion at time t of what stays at a place."""
    return place, np.zeros(rates), np.zeros(rates)


def _place(model: Model, frame: str, given: Any) -> Any:
    """Return a point or a pose, or say what is wrong with it."""
    if np.ndim(given) == 2:
        return Pose(frame, given).numbers("operational_space", model)
    return np.array(_numbers("operational_space", "path", given, 3))


def _refuse_sizes(motion: Any, point: bool) -> None:
    """Refuse a path that does not return a place and its derivatives; points have three each."""
    several = isinstance(motion, (tuple, list))
    shapes = [np.shape(x) for x in motion] if several else [type(motion).__name__]
    poses, points = [(4, 4), (6,), (6,)], [(3,), (3,), (3,)]
    if shapes != poses and not (point and shapes in (points, [(3,), (6,), (6,)])):
        wanted = f"shapes {poses}" + f", or {points}" * point
        fix = "return (pose, velocity, acceleration), or points with rows='position'"
        raise ShapeError("operational_space", "path", wanted, shapes, fix)


def saturate(model: Model, control: Callable[..., Any]) -> Saturated:
    """Return a controller with its joint forces clipped to the model's effort limits.

    Args:
        model: the robot.
        control: function of (t, q, v), or of (t, q, v, x), that returns joint forces.

    Returns:
        A function of the same arguments that returns clipped joint forces, shape (nv,) [N m or N],
        and the rates of the states of `control`, if it has states.

    Raises:
        ArgumentError: if `model` is not a `Model` or `control` is not a function.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> rod = sf.spatial.rod(1.0, mass=1.0)
        >>> arm = sf.ModelBuilder("arm")
        >>> arm = arm.add_body("link", joint=sf.Revolute("y"), inertia=rod, effort_limit=3.0)
        >>> model = arm.build()
        >>> pd = sf.control.pd(model, [1.0], kp=100.0, kd=10.0)
        >>> pd(0.0, np.zeros(1), np.zeros(1))
        array([100.])
        >>> sf.control.saturate(model, pd)(0.0, np.zeros(1), np.zeros(1))
        array([3.])
    """
    require_model("saturate", model)
    _callable("saturate", control)
    limit = tuple(model.effort_limit.tolist())
    return Saturated(control, limit, model.coordinates.v_names)


def minimum_jerk(start: ArrayLike, goal: ArrayLike, duration: float) -> Reference:
    """Return a smooth motion from rest to rest between two configurations.

    The path is a polynomial of degree 5 in time, which minimises the integral of the squared jerk.
    Before t = 0 it stays at the start, after t = duration at the goal.  Quaternions are not
    supported.

    Args:
        start: initial positions [rad or m], shape (n,).
        goal: final positions [rad or m], shape (n,).
        duration: length of the motion [s].

    Returns:
        A function of t that returns positions, velocities and accelerations, shape (n,) each, for
        `computed_torque`.

    Raises:
        NumberError: if the positions are not finite numbers, or the sizes differ.
        OptionError: if the duration is not positive.

    Example:
        >>> import sixfold as sf
        >>> path = sf.control.minimum_jerk([0.0, 0.0], [1.0, -0.5], duration=2.0)
        >>> q, v, a = path(1.0)
        >>> q, v
        (array([ 0.5 , -0.25]), array([ 0.9375 , -0.46875]))
        >>> path(3.0)[0]
        array([ 1. , -0.5])
    """
    a, b = (
        checked_array("minimum_jerk", name, Argument(given, (), "a list of positions"))
        for name, given in (("start", start), ("goal", goal))
    )
    where = "minimum_jerk: arguments 'start' and 'goal'"
    if a.shape != b.shape or a.ndim != 1:
        got, fix = f"shapes {a.shape} and {b.shape}", "give one number of each for every joint"
        raise NumberError(where, "two lists of one length", got, fix)
    if a.dtype.kind != "f" or b.dtype.kind != "f" or not np.isfinite(a + b).all():
        raise NumberError(where, "finite numbers", f"{a}, {b}", "look for NaN in start and goal")
    T = real_number("minimum_jerk", "duration", duration, "a time > 0 [s]", lambda x: x > 0)
    displacement = b - a

    def reference(t: Any) -> tuple[Any, Any, Any]:
        s = t / T
        # phase from 0 to 1; 10 s^3 - 15 s^4 + 6 s^5 and its derivatives
        s = if_positive(s, if_positive(s - 1.0, 1.0, s), 0.0)
        path = s * s * s * (10.0 - s * (15.0 - 6.0 * s))
        rate = 30.0 * s * s * (1.0 - s) * (1.0 - s) / T
        acceleration = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / (T * T)
        return a + displacement * path, displacement * rate, displacement * acceleration

    return reference


def _clip(x: Any, limit: float) -> Any:
    if not np.isfinite(limit):
        return x
    return if_positive(x - limit, limit, if_positive(-limit - x, -limit, x))


def _callable(function: str, control: Any) -> None:
    if not callable(control):
        where = f"{function}: argument 'control'"
        expected, fix = "a function of (t, q, v)", "pass one of sixfold.control, such as pd(...)"
        raise ArgumentError(where, expected, control, fix)


def _stateless(function: str, control: Any) -> None:
    _callable(function, control)
    if getattr(control, "x0", None) is not None:
        where = f"{type(control).__name__}, a controller with states"
        fix = "pass a function of (t, q, v), or join the two in a function of (t, q, v, x)"
        raise NotApplicableError(function, where, fix)


def _objects(reference: Any, like: Any) -> Any:
    return np.asarray(reference, dtype=getattr(like, "dtype", float))


def _goal(function: str, model: Model, target: ArrayLike) -> Numbers:
    """Return a configuration to go to; say so if it is many turns beyond a joint's limits."""
    goal = _numbers(function, "target", target, model.nq, names=model.coordinates.q_names)
    for note in degree_notes(model, np.array(goal)):
        text = f"{function} of '{visible(model.name)}': argument 'target' is {note}"
        warnings.warn(text, UnlikelyInputWarning, stacklevel=3)
    return goal


def _gains(model: Model, name: str, value: ArrayLike) -> Numbers:
    names = model.coordinates.v_names
    return _positive(
        name, _numbers("controllers", name, value, model.nv, spread=True, names=names), value
    )


def _positive(name: str, numbers: Numbers, value: ArrayLike) -> Numbers:
    """Return gains, none of which may be negative."""
    if any(x < 0 for x in numbers):
        raise OptionError("controllers", name, "numbers >= 0", value)
    return numbers


def _numbers(
    function: str,
    name: str,
    value: ArrayLike,
    n: int,
    *,
    spread: bool = False,
    names: Sequence[str] | None = None,
) -> Numbers:
    """Return n finite numbers; one stands for all where a gain is wanted, never for a vector."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    if (n == 1 or spread) and (plain or getattr(value, "ndim", 1) == 0):
        value = [value] * n  # type: ignore[assignment]
    array = checked_array(function, name, Argument(value, (n,), f"{n} numbers", labels=(names,)))
    if array.ndim != 1 or array.dtype.kind != "f" or not np.isfinite(array).all():
        where, fix = f"{function}: argument '{name}'", "give one number for each coordinate"
        raise StateError(where, f"{n} finite numbers", quote(value), fix)
    return tuple(map(float, array.tolist()))
