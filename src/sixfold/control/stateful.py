"""Controllers with states of their own: functions of (t, q, v, x) that return tau and dx/dt.

Each has `x0`, its states at the start, and `sample_time`: None for a rate dx/dt, or the length of a
step for one that returns x at the next step (hold=True).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sixfold.evaluate import (
    bias_force,
    coriolis_matrix,
    difference,
    gravity_force,
    in_order,
    mass_matrix,
)
from sixfold.model import Body, Model

Numbers = tuple[float, ...]
FRICTION_SPEED = 0.01
"""v_s [rad/s or m/s] with which a controller smooths dry friction that jumps at rest."""


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
        return driven(self.model, tau), after


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
        p = (mass_matrix(self.model, q) * v[..., None, :]).sum(axis=-1)
        return np.array(self.gain) * (p - x)

    def __call__(self, t: Any, q: Any, v: Any, x: Any, *parameters: Any) -> tuple[Any, Any]:
        """Return the joint forces and the rate of the expected momentum."""
        r = self.estimate(q, v, x)
        given = self.control(t, q, v, *parameters)
        names = [self.model.coordinates.v_names]
        tau = np.asarray(in_order("disturbance_observer", "control", given, names))
        if self.compensate:
            tau = driven(self.model, tau - r)
        C = coriolis_matrix(self.model, q, v)
        return tau, tau - bias_force(smooth_friction(self.model), q, v) + (C + C.T) @ v + r


def smooth_friction(model: Model) -> Model:
    """Return a model whose dry friction does not jump at rest."""

    def smooth(body: Body) -> Body:
        return replace(body, friction_speed=tuple(x or FRICTION_SPEED for x in body.friction_speed))

    return replace(model, bodies=tuple(map(smooth, model.bodies)))


def driven(model: Model, tau: Any) -> Any:
    """Return joint forces without those of free joints, which have no motor."""
    floating = model.coordinates.floating
    if floating:
        tau = tau.copy()
        for base in floating:
            tau[..., base.v] = 0.0
    return tau
