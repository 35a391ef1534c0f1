"""`plan_trajectory`: a smooth motion through waypoints, as fast as limits allow.

The path q(s) is a spline; time runs along it at a constant rate r = 1 / duration.  So v = q' r and
a = q'' r^2, and joint forces are g(q) + d r + c r^2: gravity and springs, damping, and all that is
quadratic.  So each sample gives the largest rate that a limit allows in closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from math import factorial, perm
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import SplineName
from sixfold.errors import (
    NotApplicableError,
    NumberError,
    OptionError,
    ShapeError,
    StateError,
    real_number,
)
from sixfold.model import Model
from sixfold.quantities.dynamics import inverse_dynamics
from sixfold.quantities.energies import kinetic_energy, potential_energy
from sixfold.runtime import (
    Argument,
    checked_array,
    enough_memory,
    finite_floats,
    in_order,
    require_model,
)
from sixfold.runtime.quantity import refuse_constraints
from sixfold.simulation.arguments import choice, step_length
from sixfold.simulation.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Spline:
    """A function of s in [0, 1] with values in configuration space."""

    knots: Array  # shape (n,), from 0 to 1
    coefficients: Array  # of powers of s - knot, lowest first, shape (n - 1, 2 k, nq)

    def __call__(self, s: Array, derivative: int = 0) -> Array:
        """Return a derivative by s, shape (len(s), nq)."""
        place = np.clip(np.searchsorted(self.knots, s, side="right") - 1, 0, len(self.knots) - 2)
        x = (s - self.knots[place])[:, None]
        # Horner's rule on the derivative of each segment's polynomial
        total = np.zeros((len(s), self.coefficients.shape[-1]))
        for power in reversed(range(derivative, self.coefficients.shape[1])):
            total = total * x + perm(power, derivative) * self.coefficients[place, power]
        return total


def smoothest_spline(knots: Array, points: Array, order: int) -> Spline:
    """Return the spline with the least integral of the squared derivative of an order."""
    n, k = len(knots), order
    steps = np.diff(knots)
    from_ends = [np.linalg.inv(_ends(h, k)) for h in steps]
    # derivatives 0 ... k - 1 at all knots; the values and all at both ends are known
    H = np.zeros((n * k, n * k))
    for i, (h, C) in enumerate(zip(steps, from_ends, strict=True)):
        part = slice(i * k, (i + 2) * k)
        H[part, part] += C.T @ _squared_integral(h, k) @ C
    x = np.zeros((n * k, points.shape[1]))
    x[::k] = points
    free = np.array([i * k + d for i in range(1, n - 1) for d in range(1, k)], int)
    x[free] = np.linalg.solve(H[np.ix_(free, free)], -H[free] @ x)
    # coefficients of each segment from the derivatives at its ends
    rows = [C @ x[i * k : (i + 2) * k] for i, C in enumerate(from_ends)]
    return Spline(knots, np.array(rows))


def _ends(h: float, k: int) -> Array:
    """Return the matrix from coefficients to derivatives 0 ... k - 1 at 0 and at h."""
    top = np.zeros((k, 2 * k))
    top[range(k), range(k)] = [factorial(d) for d in range(k)]
    end = [[perm(p, d) * h ** (p - d) if p >= d else 0.0 for p in range(2 * k)] for d in range(k)]
    return np.vstack([top, end])


def _squared_integral(h: float, k: int) -> Array:
    """Return the integral of the squared k-th derivative as a quadratic form in coefficients."""
    Q = np.zeros((2 * k, 2 * k))
    for i in range(k, 2 * k):
        for j in range(k, 2 * k):
            power = i + j - 2 * k + 1
            Q[i, j] = perm(i, k) * perm(j, k) * h**power / power
    return Q


NAME = "plan_trajectory"
ORDERS = {"minimum_jerk": 3, "cubic": 2}
SAMPLES = 200  # of a segment, at which limits are checked
MAX_SAMPLES = 10**7


def plan_trajectory(
    model: Model,
    waypoints: ArrayLike,
    *,
    times: ArrayLike | None = None,
    duration: float | None = None,
    dt: float = 0.01,
    spline: SplineName = "minimum_jerk",
    velocity_limit: ArrayLike | None = None,
    acceleration_limit: ArrayLike | None = None,
    effort_limit: ArrayLike | None = None,
) -> Trajectory:
    """Return a smooth motion through waypoints, at rest at both ends, as fast as limits allow.

    Args:
        model: the robot; every velocity must be the rate of a coordinate (no quaternions).
        waypoints: configurations [rad or m], shape (n, nq), n >= 2.
        times: when each waypoint is passed [s], shape (n,): only the ratios count, unless
            there is no `duration` and no limit holds.  By default by the lengths of segments.
        duration: of the whole motion [s]; by default the shortest that limits allow.
        dt: time between samples [s]; they are at most so far apart.
        spline: "minimum_jerk" (least squared jerk, four continuous derivatives) or "cubic" (least
            squared acceleration, two).
        velocity_limit: speeds [rad/s or m/s], shape (nv,) or one number; by default the model's.
        acceleration_limit: accelerations [rad/s^2 or m/s^2], shape (nv,) or one number; none if
            left out.
        effort_limit: joint forces [N m or N], shape (nv,) or one number; by default the model's.
            Dry friction is counted in full, at any speed.

    Returns:
        A `Trajectory` with joint forces by `inverse_dynamics`; its notes say which limit holds.

    Raises:
        ShapeError, NumberError, OptionError: if an argument makes no sense.
        StateError: if the robot cannot even stand at some point of the path, or the duration that
            was asked for exceeds a limit.
        NotApplicableError: if there is neither a limit nor a duration, or the model has quaternions
            or constraints.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.load("double_pendulum")
        >>> corners = [[0.0, 0.0], [1.0, 0.5], [0.0, 1.0]]
        >>> motion = sf.control.plan_trajectory(model, corners, velocity_limit=1.0)
        >>> np.abs(motion.v).max().round(2).item(), motion.notes
        (1.0, ('velocity limit holds',))
        >>> np.allclose(motion.v[[0, -1]], 0.0), np.allclose(motion.q[-1], corners[-1])
        (True, True)
        >>> model, points = sf.load("pendulum"), [[0.0], [1.0]]
        >>> slow = sf.control.plan_trajectory(model, points, duration=1.0, dt=0.25)
        >>> slow.q[:, 0].round(3)
        array([0.   , 0.104, 0.5  , 0.896, 1.   ])
    """
    require_model(NAME, model)
    refuse_constraints(NAME, model, "plan for the joints that drive it")
    if len(model.coordinates.additive) != model.nq or not model.nq:
        where = f"model '{model.name}', some velocities of which are no rates of coordinates"
        raise NotApplicableError(NAME, where, "lock spherical and free joints")
    choice(NAME, "spline", ORDERS, spline)
    step = step_length(NAME, dt)
    points = _points(model, waypoints)
    limits = {
        "velocity": _limit(model, "velocity_limit", velocity_limit, model.velocity_limit),
        "acceleration": _limit(model, "acceleration_limit", acceleration_limit, None),
        "effort": _limit(model, "effort_limit", effort_limit, model.effort_limit),
    }
    knots, given = _knots(points, times, limits["velocity"])
    path = smoothest_spline(knots, points, ORDERS[spline])
    with enough_memory(NAME, "the samples"):
        # the shortest duration at many samples, then again at those of the result
        s = np.concatenate([np.linspace(a, b, SAMPLES) for a, b in pairwise(knots)])
        shortest, binding = _shortest(model, path, s, limits)
        T = _duration(duration, given, shortest, binding)
        count = math.ceil(T / step * (1 - 1e-12))
        if count > MAX_SAMPLES:
            raise OptionError(NAME, "dt", f"a time of at least {T / MAX_SAMPLES:.1g} s", dt)
        s = np.linspace(0.0, 1.0, count + 1)
        more, name = _shortest(model, path, s, limits)
        if duration is None and more > T:  # a sample between those that were checked
            T, binding = more, name
        note = f"{binding} limit holds" if max(shortest, more) == T else f"{T:g} s as asked"
        return _sample(model, path, s, T, note)


def _sample(model: Model, path: Spline, s: Array, T: float, note: str) -> Trajectory:
    """Return the motion along a path in a time."""
    # s = t / T: each derivative with respect to time divides by T
    q, v, a = path(s), path(s, 1) / T, path(s, 2) / T**2
    tau = inverse_dynamics(model, q, v, a)
    energy = kinetic_energy(model, q, v), potential_energy(model, q)
    dt = T / (len(s) - 1)
    return Trajectory(model, s * T, q, v, a, tau, *energy, dt=dt, steps=len(s) - 1, notes=(note,))


def _shortest(model: Model, path: Spline, s: Array, limits: dict[str, Array]) -> tuple[float, str]:
    """Return the shortest duration that limits allow at some samples, and what limits it."""
    # tau = g + d r + c r^2 with the rate r = 1 / duration: three evaluations give g, d and c
    q, first, second = path(s), path(s, 1), path(s, 2)
    bare = model.without(friction=True)
    g = inverse_dynamics(bare, q, 0 * first, 0 * first)
    ahead, back = (inverse_dynamics(bare, q, sign * first, second) for sign in (1.0, -1.0))
    d, c = (ahead - back) / 2, (ahead + back) / 2 - g
    spare = limits["effort"] - _friction(model)
    if (np.abs(g) > spare).any():
        row, joint = np.argwhere(np.abs(g) > spare)[0]
        name = model.coordinates.v_names[joint]
        got = f"{abs(g[row, joint]):.4g} at s = {s[row]:.3f} of the path"
        words = f"at most {spare[joint]:.4g} to stand there, its effort limit less dry friction"
        raise StateError(f"{NAME}: joint '{name}'", words, got, "choose other waypoints")
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = {
            "velocity": limits["velocity"] / np.abs(first),
            "acceleration": np.sqrt(limits["acceleration"] / np.abs(second)),
            "effort": np.minimum(_first_root(c, d, g - spare), _first_root(-c, -d, -g - spare)),
        }
    largest = {name: float(np.nanmin(rate, initial=np.inf)) for name, rate in rates.items()}
    name = min(largest, key=lambda each: largest[each])
    return 1.0 / largest[name], name


def _first_root(c: Array, d: Array, e: Array) -> Array:
    """Return the smallest r > 0 with c r^2 + d r + e = 0, or infinity; e <= 0.

    2 e / (-d -+ sqrt(...)) is the form in which nothing cancels, and c may be zero.
    """
    under = d * d - 4 * c * e
    root = 2 * e / (-d - np.sqrt(np.maximum(under, 0.0)))
    return np.where((under >= 0) & (root > 0), root, np.inf)


def _friction(model: Model) -> Array:
    """Return the largest dry friction of each coordinate."""
    both = model.without(damping=True, springs=True, armature=True)
    still = np.zeros(model.nq), np.zeros(model.nv)
    fast = 1e6 * np.ones(model.nv)
    with_it = inverse_dynamics(both, still[0], fast, still[1])
    without = inverse_dynamics(both.without(friction=True), still[0], fast, still[1])
    return np.abs(with_it - without)


def _points(model: Model, waypoints: Any) -> Array:
    """Return waypoints as finite numbers."""
    names = (model.coordinates.q_names,)
    argument = Argument(waypoints, (model.nq,), "nq coordinates", labels=names)
    given = checked_array(NAME, "waypoints", argument)
    if given.ndim != 2 or len(given) < 2:
        fix = "give two configurations or more, one a row"
        raise ShapeError(NAME, "waypoints", f"(n, {model.nq}) with n >= 2", given.shape, fix)
    return finite_floats(f"{NAME}: argument 'waypoints'", given)


def _limit(model: Model, name: str, given: Any, otherwise: Array | None) -> Array:
    """Return a limit of each velocity coordinate, infinity without a limit."""
    if given is None:
        return np.full(model.nv, np.inf) if otherwise is None else otherwise
    given = in_order(NAME, name, given, [model.coordinates.v_names])
    array = checked_array(NAME, name, Argument(given, (), "numbers"))
    try:
        array = np.asarray(array, float)
        wide = np.broadcast_to(array, (model.nv,))
    except (TypeError, ValueError):
        expected, fix = f"({model.nv},) or ()", "give one number for each velocity, or one for all"
        raise ShapeError(NAME, name, expected, array.shape, fix) from None
    if not (wide > 0).all():
        raise OptionError(NAME, name, "numbers > 0", given)
    return wide


def _knots(points: Array, times: Any, speed: Array) -> tuple[Array, float | None]:
    """Return the values of s at the waypoints, and the duration that the times say."""
    if times is None:
        # length of a segment: the time that its slowest joint needs
        scale = np.where(np.isfinite(speed), speed, 1.0)
        lengths = (np.abs(np.diff(points, axis=0)) / scale).max(axis=1)
        if not (lengths > 0).all():
            where = f"{NAME}: argument 'waypoints', rows {int(np.argmin(lengths))} and the next"
            raise NumberError(
                where, "two that differ", "equal ones", "leave one out, or pass times"
            )
        at, duration = np.concatenate([[0.0], np.cumsum(lengths)]), None
    else:
        given = checked_array(NAME, "times", Argument(times, (), "times"))
        at = finite_floats(f"{NAME}: argument 'times'", given)
        if at.shape != (len(points),):
            fix = "give one time for each waypoint"
            raise ShapeError(NAME, "times", f"({len(points)},)", at.shape, fix)
        if not (np.diff(at) > 0).all():
            raise OptionError(NAME, "times", "increasing numbers", at.tolist())
        duration = float(at[-1] - at[0])
    return (at - at[0]) / (at[-1] - at[0]), duration


def _duration(asked: Any, given: float | None, shortest: float, binding: str) -> float:
    """Return how long the motion takes."""
    if asked is None:
        if shortest > 0:
            return shortest
        if given is not None:
            return given
        where = "a robot without limits"
        fix = "pass duration=..., times=..., or velocity_limit=..."
        raise NotApplicableError(f"{NAME} without a duration", where, fix)
    asked = real_number(NAME, "duration", asked, "a time > 0 [s]", lambda x: x > 0)
    if asked < shortest * (1 - 1e-9):
        fix = f"allow {shortest:.6g} s or more, or leave duration out"
        words = f"at least {shortest:.6g} s, by the {binding} limit"
        raise StateError(f"{NAME}: option 'duration'", words, f"{asked:g} s", fix)
    return asked
