"""Planners that sample: model predictive path integral control and the cross-entropy method."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    OptionError,
    ShapeError,
    real_number,
    whole_number,
)
from sixfold.simulation.stepper import Stepper


@dataclass(kw_only=True, eq=False, repr=False)
class _Planner:
    """A mean sequence of actions that is improved by what random ones around it earn.

    Random sequences are straight lines between `knots` instants, so that actions are smooth and few
    numbers are searched.
    """

    stepper: Stepper = field(kw_only=False)
    horizon: int
    samples: int
    noise: ArrayLike
    knots: int | None = None
    iterations: int = 1
    start: ArrayLike | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what was given, and compile what is tried."""
        name, stepper = type(self).__name__, self.stepper
        if not isinstance(stepper, Stepper):
            fix = "make one with sixfold.Stepper(model, dt=..., reward=...)"
            raise ArgumentError(f"{name}: argument 'stepper'", "a Stepper", stepper, fix)
        self.horizon = whole_number(name, "horizon", self.horizon, 1, 100_000)
        self.samples = whole_number(name, "samples", self.samples, 2, 10_000_000)
        self.iterations = whole_number(name, "iterations", self.iterations, 1, 1000)
        known = min(self.horizon, 8) if self.knots is None else self.knots
        self.knots = whole_number(name, "knots", known, 1, self.horizon)
        n = stepper.actions
        self._noise = _numbers(name, "noise", self.noise, n)
        if not (self._noise >= 0).all() or not self._noise.any():
            raise OptionError(name, "noise", "standard deviations >= 0, not all zero", self.noise)
        self._first = np.zeros(n) if self.start is None else _numbers(name, "start", self.start, n)
        seed = whole_number(name, "seed", self.seed, 0, 2**63)
        self._rng = np.random.Generator(np.random.Philox(seed))
        self._basis = _lines(self.horizon, self.knots)
        self.reset()
        stepper.returns(np.zeros((1, self.horizon, n)))  # compiled now, or refused

    def reset(self) -> None:
        """Forget the plan: all actions are those of the start."""
        self.plan = np.tile(self._first, (self.horizon, 1))
        self.best = -np.inf

    def __call__(self, q: ArrayLike, v: ArrayLike, *, t: float = 0.0) -> Array:
        """Improve the plan from a state and return its first action; the rest moves up by one.

        Args:
            q: configuration, shape (nq,).
            v: velocity, shape (nv,).
            t: time of the state [s], for functions that depend on it.

        Returns:
            The action, shape (actions,).
        """
        self.stepper.put(q, v, t=t)
        for _ in range(self.iterations):
            self.improve()
        action = self.plan[0].copy()
        self.plan = np.concatenate([self.plan[1:], self.plan[-1:]])
        return action

    def improve(self) -> None:
        """Try random sequences around the plan from where the stepper is, and move it."""
        n = self.stepper.actions
        drawn = self._rng.standard_normal((self.samples, self._basis.shape[1], n)) * self._spread()
        drawn[0] = 0.0  # the plan itself
        sequences = self.plan + self._basis @ drawn
        low_high = self.stepper.bounds
        if low_high is not None:
            np.clip(sequences, *low_high, out=sequences)
        earned = self.stepper.returns(sequences)
        if not np.isfinite(earned).any():
            where = f"{type(self).__name__}: all {self.samples} sequences leave the finite numbers"
            raise NotApplicableError(where, "this state", "use smaller steps, or less noise")
        self._move(sequences, drawn, np.where(np.isfinite(earned), earned, -np.inf))
        self.best = float(np.max(earned[np.isfinite(earned)]))

    def _spread(self) -> Array:
        return self._noise

    def _move(self, sequences: Array, drawn: Array, earned: Array) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        """Print the kind, the model and the size of the plan."""
        span = self.horizon * self.stepper.substeps * self.stepper.dt
        return (
            f"<{type(self).__name__} of '{self.stepper.model.name}', {self.samples} sequences of "
            f"{self.horizon} actions ({span:g} s)>"
        )


@dataclass(kw_only=True, eq=False, repr=False)
class MPPI(_Planner):
    """Model predictive path integral control: sequences count by the exponential of their reward.

    Args:
        stepper: one robot with a reward, `sixfold.Stepper(model, dt=..., reward=...)`; contact,
            controllers and limits are the stepper's.
        horizon: number of actions of a plan.
        samples: sequences that are tried in each iteration.
        noise: standard deviation of each number of an action, in its units, shape (actions,), or
            one for all.
        temperature: how much worse sequences count, in standard deviations of the rewards: small
            numbers follow the best sequence, large ones the average.
        knots: instants between which random sequences are straight lines; 8 by default.
        iterations: rounds for each call.
        start: action that all of the first plan has, shape (actions,) or one number; zero if left
            out.
        seed: of the draws; same seed, same plans.

    Attributes:
        plan: mean sequence, shape (horizon, actions), in the units of actions.
        best: largest reward of the last round.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.load("pendulum")
        >>> def upright(t, q, v, action):
        ...     return -sf.math.cos(q[0]) - 0.01 * v[0] ** 2
        >>> stepper = sf.Stepper(model, dt=0.02, reward=upright)
        >>> plan = sf.control.MPPI(stepper, horizon=40, samples=100, noise=5.0)
        >>> plan
        <MPPI of 'pendulum', 100 sequences of 40 actions (0.8 s)>
        >>> robot = sf.Stepper(model, dt=0.02)  # hangs down, and is swung up
        >>> for _ in range(100):
        ...     _ = robot.step(plan(robot.q, robot.v))
        >>> bool(np.cos(robot.q[0]) < -0.8)
        True

    Reference: Williams, Aldrich, Theodorou, Model Predictive Path Integral Control, JGCD 40(2),
    2017.
    """

    temperature: float = 0.1

    def __post_init__(self) -> None:
        """Check the temperature as well."""
        real_number("MPPI", "temperature", self.temperature, "a number > 0", lambda x: 0 < x < 1e6)
        super().__post_init__()

    def _move(self, sequences: Array, drawn: Array, earned: Array) -> None:
        finite = earned[np.isfinite(earned)]
        scale = self.temperature * max(float(finite.std()), 1e-12)
        weights = np.exp((earned - finite.max()) / scale)
        weights /= weights.sum()
        self.plan = np.tensordot(weights, sequences, 1)


@dataclass(kw_only=True, eq=False, repr=False)
class CrossEntropy(_Planner):
    """The cross-entropy method: the plan and its spread become those of the best sequences.

    Args:
        stepper: as in `MPPI`.
        horizon: number of actions of a plan.
        samples: sequences that are tried in each iteration.
        noise: standard deviation of each number of an action at the start of a call, in its units,
            shape (actions,), or one for all.
        elites: how many of the best sequences count; by default a tenth.
        knots: instants between which random sequences are straight lines; 8 by default.
        iterations: rounds for each call, in which the spread shrinks.
        start: action that all of the first plan has, shape (actions,) or one number; zero if left
            out.
        seed: of the draws; same seed, same plans.

    Attributes:
        plan: mean sequence, shape (horizon, actions), in the units of actions.
        best: largest reward of the last round.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.load("pendulum")
        >>> def upright(t, q, v, action):
        ...     return -sf.math.cos(q[0]) - 0.01 * v[0] ** 2
        >>> stepper = sf.Stepper(model, dt=0.02, reward=upright)
        >>> plan = sf.control.CrossEntropy(stepper, horizon=40, samples=100, noise=5.0)
        >>> plan
        <CrossEntropy of 'pendulum', 100 sequences of 40 actions (0.8 s)>
        >>> robot = sf.Stepper(model, dt=0.02)  # hangs down, and is swung up
        >>> for _ in range(100):
        ...     _ = robot.step(plan(robot.q, robot.v))
        >>> bool(np.cos(robot.q[0]) < -0.8)
        True

    Reference: Rubinstein, The Cross-Entropy Method for Combinatorial and Continuous Optimization,
    Methodology and Computing in Applied Probability 1, 1999.
    """

    elites: int | None = None
    iterations: int = 4

    def __post_init__(self) -> None:
        """Check how many count as well."""
        samples = whole_number("CrossEntropy", "samples", self.samples, 2, 10_000_000)
        few = max(1, samples // 10) if self.elites is None else self.elites
        self._best = whole_number("CrossEntropy", "elites", few, 1, samples)
        self._width: Array | None = None
        super().__post_init__()

    def __call__(self, q: ArrayLike, v: ArrayLike, *, t: float = 0.0) -> Array:
        """Improve the plan from a state and return its first action; the rest moves up by one."""
        self._width = None
        return super().__call__(q, v, t=t)

    def _spread(self) -> Array:
        return self._noise if self._width is None else self._width

    def _move(self, sequences: Array, drawn: Array, earned: Array) -> None:
        best = np.argpartition(earned, -self._best)[-self._best :]
        self.plan = sequences[best].mean(axis=0)
        self._width = drawn[best].std(axis=0) + 0.01 * self._noise


def _lines(horizon: int, knots: int) -> Array:
    """Return what knots contribute to each instant, shape (horizon, knots): straight lines."""
    if knots == 1:
        return np.ones((horizon, 1))
    at = np.linspace(0.0, knots - 1.0, horizon)
    return np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(knots)))


def _numbers(caller: str, name: str, value: Any, n: int) -> Array:
    try:
        found = np.array(np.broadcast_to(np.asarray(value, float), (n,)))
    except (TypeError, ValueError):
        fix = "pass one number for each of an action, or one for all"
        raise ShapeError(caller, name, f"({n},), or one number", np.shape(value), fix) from None
    if not np.isfinite(found).all():
        raise OptionError(caller, name, "finite numbers", value)
    return found


__all__ = ["MPPI", "CrossEntropy"]
