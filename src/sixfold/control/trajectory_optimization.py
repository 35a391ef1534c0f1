"""`optimal_control`: the joint forces with which a motion costs least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.choices import Callback, Search
from sixfold.control.ddp import STATUSES, DDPState, StateLimits, Sweeps
from sixfold.control.ddp_kernels import DDPProblem
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    OptionError,
    real_number,
    visible,
    yes_or_no,
)
from sixfold.model import Model
from sixfold.quantities.dynamics import forward_dynamics
from sixfold.quantities.energies import kinetic_energy, potential_energy
from sixfold.runtime import enough_memory, refuse_singular
from sixfold.runtime.quantity import refuse_constraints
from sixfold.show import Panel, block, curves, plain
from sixfold.simulation.arguments import (
    choice,
    open_loop_forces,
    states_of,
    step_count,
    step_length,
    vector,
)
from sixfold.simulation.callbacks import cost_callback
from sixfold.simulation.system import System, unpack
from sixfold.simulation.tracing import identify
from sixfold.simulation.trajectory import Trajectory

NAME = "optimal_control"
METHODS: tuple[str, ...] = get_args(Search)
# weight of state limits at first, how it grows, and how often multipliers move
FIRST_RHO, RHO_FACTOR, MAX_ROUNDS = 10.0, 10.0, 8


@dataclass(frozen=True, eq=False)
class OptimalControl:
    """Locally optimal motions, near those of the guess."""

    model: Model  #: The robot.
    t: Array  #: Times of the states [s], shape (steps + 1,).
    q: Array  #: Configurations [rad or m], shape (..., steps + 1, nq).
    v: Array  #: Velocities [rad/s or m/s], shape (..., steps + 1, nv).
    tau: Array  #: Joint forces of each step [N m or N], shape (..., steps, nv).
    cost: Array  #: Running and final cost, in the units of your functions, shape (...).
    #: Whether no more than the tolerance can be gained, and state limits hold, shape (...).
    converged: Array
    #: Why each motion stopped, shape (...): "converged", "iterations" (used up), "saddle point" (no
    #: slope, and the cost curves downward), "stalled" (no step costs less), "not finite" (the guess
    #: costs infinity) or "state limits" (exceeded).
    status: Array
    #: Whether the motion came to a saddle point, was pushed and then cost less, shape (...).
    pushed: Array
    iterations: Array  #: How many were done, shape (...).
    gains: Array  #: K of tau = tau_0 + K (x - x_0) with x = (q, v), shape (..., steps, nv, 2 nv).
    #: How far states are beyond their limits at most [rad, m, rad/s or m/s], shape (...); 0 without
    #: state limits.
    violation: Array
    #: Cost after each iteration, state limits included, shape (iterations + 1, ...).
    history: Array

    def trajectory(self, *index: int) -> Trajectory:
        """Return one motion of a batch, by its place along the leading axes."""
        lead = self.cost.shape
        whole = all(isinstance(k, int) and not isinstance(k, bool) for k in index)
        inside = len(index) == len(lead) and whole
        if not (inside and all(-n <= k < n for k, n in zip(index, lead, strict=True))):
            words = f"a whole number for each leading axis of shape {lead}"
            raise OptionError("OptimalControl.trajectory", "index", words, index)
        q, v = self.q[index], self.v[index]
        tau = np.concatenate([self.tau[index], self.tau[index][-1:]])  # the last is held
        a = forward_dynamics(self.model, q, v, tau)
        energy = kinetic_energy(self.model, q, v), potential_energy(self.model, q)
        h = float(self.t[1] - self.t[0])
        return Trajectory(
            *(self.model, self.t, q, v, a, tau, *energy),
            integrator="semi_implicit_euler",
            dt=h,
            steps=len(self.t) - 1,
        )

    def __repr__(self) -> str:
        """Print how many motions converged, and what they cost."""
        good, rows = int(self.converged.sum()), self.converged.size
        costs = self.cost.reshape(-1)
        ends = [f"{x:.6g}" for x in (costs.min(initial=np.inf), costs.max(initial=-np.inf))]
        span = ends[0] if rows == 1 else " to ".join(ends) if rows else "of none"
        most = int(self.iterations.max(initial=0))
        found = self.status.reshape(-1).tolist()
        others = {name: found.count(name) for name in STATUSES if name != "converged"}
        why = "".join(f", {count} {STATUSES[name]}" for name, count in others.items() if count)
        left = int(self.pushed.sum())
        pushed = f", {left} pushed off a saddle point" if left else ""
        return (
            f"OptimalControl of '{visible(self.model.name)}': {good} of {rows} converged{why}"
            f"{pushed}, cost {span}, {most} iterations"
        )

    def _repr_html_(self) -> str:
        """Return plots of the cheapest motion and of how the costs fell, for notebooks."""
        head = f"<p>{plain(repr(self))}</p>"
        costs = self.cost.reshape(-1)
        if not costs.size or not np.isfinite(costs).any():
            return block(head)
        best = int(np.nanargmin(costs))
        names = self.model.coordinates
        q, v, tau = (x.reshape(-1, *x.shape[-2:])[best] for x in (self.q, self.v, self.tau))
        panels = [
            Panel("positions q", names.q_names, q),
            Panel("velocities v", names.v_names, v),
            Panel("joint forces", names.v_names, np.concatenate([tau, tau[-1:]])),
        ]
        falls = self.history.reshape(len(self.history), -1)
        labels = [f"motion {k}" for k in range(falls.shape[1])]
        costs_panel = Panel("cost", labels, falls)
        rounds = np.arange(len(falls), dtype=float)
        which = f"<p>shown: motion {best}, the cheapest</p>" if costs.size > 1 else ""
        return block(
            head, which, curves(self.t, panels), curves(rounds, [costs_panel], "iteration")
        )


def optimal_control(
    model: System | Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    steps: int,
    cost: Callback | None = None,
    final_cost: Callback | None = None,
    cost_parameters: ArrayLike | None = None,
    joints: Sequence[str] | None = None,
    method: Search = "ddp",
    limits: bool = True,
    state_limits: bool = False,
    tolerance: float = 1e-9,
    iterations: int = 200,
) -> OptimalControl:
    """Return the joint forces that minimise a cost, by differential dynamic programming.

    The motion is that of `rollout`, and the cost that of `rollout_gradient`:

        sum over k of dt cost(t_k, q_k, v_k, tau_k)  +  final_cost(q_steps, v_steps).

    Leading axes of q0, v0, tau and cost_parameters broadcast: a batch of starts, of guesses or of
    costs is one call.  The minimum is a local one, near the guess.

    Args:
        model: the robot; every velocity must be the rate of a coordinate (no quaternions).
        q0: configurations at the start [rad or m], shape (..., nq); None for the neutral one.
        v0: velocities at the start [rad/s or m/s], shape (..., nv); None for rest.
        tau: guess of the joint forces [N m or N]: (..., steps, nv), (..., 1, nv) or (nv,); zero if
            left out.
        dt: length of a step [s].
        steps: how many steps.
        cost: function of (t, q, v, tau) for one state that returns one number: the running cost
            per second.  It is compiled, with its first and second derivatives.
        final_cost: function of (q, v) that returns one number.
        cost_parameters: numbers that both cost functions get as one more argument, shape (..., n).
        joints: names of the joints that have a motor; by default all.
        method: "ddp" (second derivatives of the motion count: quadratic convergence) or "ilqr"
            (they do not: cheaper iterations, linear convergence).
        limits: False to leave the effort limits of the model aside.
        state_limits: True to keep the position and velocity limits of the model as well, by an
            augmented Lagrangian.
        tolerance: what may still be gained when a motion counts as converged, relative to 1 + cost;
            with state limits, how far they may be exceeded is its square root.
        iterations: how many at most.

    Returns:
        An `OptimalControl`: q, v, tau, the cost, feedback gains, and `converged`, for each row.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect with the others, or the model has
            quaternions, couplings or constraints.
        CallbackError: if a function of yours gives no usable numbers, or cannot be compiled.
        SingularModelError: if some joint has no inertia behind it.

    Example:
        >>> import sixfold as sf
        >>> found = sf.control.optimal_control(
        ...     sf.load("pendulum"),
        ...     [0.0],
        ...     [0.0],
        ...     dt=0.02,
        ...     steps=50,
        ...     cost=lambda t, q, v, tau: 0.01 * tau[0] ** 2,
        ...     final_cost=lambda q, v: 100.0 * ((q[0] - 1.0) ** 2 + v[0] ** 2),
        ...     method="ilqr",
        ... )
        >>> bool(found.converged), found.cost.round(4).item()
        (True, 0.0286)
        >>> found.q[-1].round(2), found.tau.shape, found.gains.shape
        (array([1.]), (50, 1), (50, 1, 2))

    Reference:
        Jacobson and Mayne, Differential Dynamic Programming, 1970; Tassa, Mansard and Todorov,
        Control-Limited Differential Dynamic Programming, ICRA 2014.  Second derivatives of the
        motion are weighted by the costate of the present motion, which is the gradient of the value
        at the solution, so that all nodes are one batch.
    """
    model, _ = unpack(NAME, model)
    _check_model(model)
    choice(NAME, "method", METHODS, method)
    yes_or_no(NAME, limits=limits, state_limits=state_limits)
    h, count = step_length(NAME, dt), step_count(NAME, "steps", steps)
    most = step_count(NAME, "iterations", iterations)
    tolerance = real_number(NAME, "tolerance", tolerance, "a number > 0", lambda x: x > 0)
    if cost is None and final_cost is None:
        fix = "pass cost=..., a function of (t, q, v, tau), or final_cost=..., one of (q, v)"
        raise ArgumentError(f"{NAME}: arguments 'cost' and 'final_cost'", "a function", None, fix)
    driven = _driven_coordinates(model, joints)
    # one row for each start, guess and set of cost parameters
    forces = open_loop_forces(NAME, model, tau, count)
    arrays, lead = states_of(
        NAME,
        model,
        q0,
        v0,
        tau=forces,
        cost_parameters=vector(NAME, "cost_parameters", cost_parameters, "numbers for the costs"),
    )
    given = arrays.get("cost_parameters")
    numbers = None if given is None else given.shape[-1]
    running = cost_callback(cost, "cost", numbers, NAME)
    final = cost_callback(final_cost, "final_cost", numbers, NAME)
    # kernels are kept by what the cost functions compute
    callbacks = [each for each in (running, final) if each is not None]
    _, known = identify(model, list(callbacks), None)
    problem = DDPProblem(model, driven, running, final, numbers or 0, known)
    rows = math.prod(lead)
    with enough_memory(NAME, f"{rows:,} motions of {count:,} steps"), np.errstate(all="ignore"):
        each = forces is not None and len(forces.shape) == 2
        u = _controls(arrays.get("tau"), each, lead, rows, count, driven)
        low, high = _effort(model, driven) if limits else (None, None)
        if low is not None and high is not None:
            u = np.clip(u, low, high)
        parameters = np.zeros((rows, 1)) if given is None else _rows(given, lead, rows)
        bounds = _bounds(model, rows, count) if state_limits else None
        times = np.arange(count) * h
        sweeps = Sweeps(problem, h, times, parameters, low, high, method == "ddp", bounds)
        state = sweeps.start(_rows(arrays["q0"], lead, rows), _rows(arrays["v0"], lead, rows), u)
        _minimise(sweeps, state, tolerance, most)
        return _result(sweeps, state, lead, tolerance)


def _minimise(sweeps: Sweeps, state: DDPState, tolerance: float, most: int) -> None:
    """Iterate until nothing is gained; move the multipliers of state limits between."""
    for round_ in range(1 if sweeps.bounds is None else MAX_ROUNDS):
        if round_ and sweeps.bounds is not None:
            if _violation(sweeps.bounds, state).max(initial=0.0) <= math.sqrt(tolerance):
                break
            # augmented Lagrangian: move the multipliers, then minimise again
            sweeps.bounds.update(state.q, state.v, RHO_FACTOR)
            everything = np.arange(len(state.q))
            state.k[:] = 0.0
            *_, state.cost = sweeps.forward(state, everything, np.zeros(len(state.q)))
            state.done = ~np.isfinite(state.cost)
            state.status[~state.done] = "iterations"
            state.mu[:] = 0.0
        while not state.done.all() and len(state.history) <= most:
            sweeps.iterate(state, tolerance)


def _violation(bounds: StateLimits, state: DDPState) -> Array:
    return np.maximum(0.0, bounds.over(state.q, state.v)).max((-1, -2))


def _result(sweeps: Sweeps, state: DDPState, lead: Shape, tolerance: float) -> OptimalControl:
    """Return what was found, in the shapes of the arguments."""
    model, driven = sweeps.problem.model, list(sweeps.problem.driven)
    rows, steps, _ = state.u.shape
    # joints without a motor have no force and no gain
    tau, gains = np.zeros((rows, steps, model.nv)), np.zeros((rows, steps, model.nv, 2 * model.nv))
    tau[..., driven], gains[:, :, driven] = state.u, state.K
    status, violation, cost = state.status, np.zeros(rows), state.cost
    if sweeps.bounds is not None:
        violation = _violation(sweeps.bounds, state)
        beyond = violation > math.sqrt(tolerance)
        status[beyond & (status == "converged")] = "state limits"
        cost = cost - sweeps.bounds.cost(state.q, state.v, np.arange(rows))
    history = np.array(state.history)

    def reshape(x: Array) -> Array:
        return x.reshape((*lead, *x.shape[1:]))

    return OptimalControl(
        model,
        np.arange(steps + 1) * sweeps.h,
        reshape(state.q),
        reshape(state.v),
        reshape(tau),
        reshape(cost),
        reshape(status == "converged"),
        reshape(status),
        reshape(state.cost < state.saddle - tolerance * (1.0 + np.abs(state.saddle))),
        reshape(state.iterations),
        reshape(gains),
        reshape(violation),
        history.reshape((len(history), *lead)),
    )


def _check_model(model: Model) -> None:
    refuse_constraints(NAME, model)
    refuse_singular(model)
    if len(model.coordinates.additive) != model.nq or not model.nq or model.couplings:
        where = f"model '{visible(model.name)}': every velocity must be the rate of a coordinate"
        fix = "lock spherical, free and coupled joints, or use sixfold.rollout_gradient"
        raise NotApplicableError(NAME, where, fix)


def _driven_coordinates(model: Model, joints: Any) -> tuple[int, ...]:
    """Return the places in tau of the joints with a motor."""
    if joints is None:
        return tuple(range(model.nv))
    if isinstance(joints, str) or not isinstance(joints, Sequence) or not len(joints):
        fix = "pass names, as joints=('elbow',)"
        raise ArgumentError(f"{NAME}: argument 'joints'", "a list of joint names", joints, fix)
    places = [k for name in joints for k in range(model.nv)[model.v_slice(name)]]
    return tuple(sorted(set(places)))


def _effort(model: Model, driven: tuple[int, ...]) -> tuple[Array | None, Array | None]:
    """Return the limits of the controls; None where there are none."""
    most = model.effort_limit[list(driven)]
    return (-most, most) if np.isfinite(most).any() else (None, None)


def _bounds(model: Model, rows: int, steps: int) -> StateLimits:
    """Return the limits of states."""
    # limits of x = (q, v)
    low = np.concatenate([model.lower_position, -model.velocity_limit])
    high = np.concatenate([model.upper_position, model.velocity_limit])
    if not (np.isfinite(low).any() or np.isfinite(high).any()):
        where = f"model '{visible(model.name)}', which has no limits of position or velocity"
        raise NotApplicableError(f"{NAME}: option 'state_limits'", where, "leave it out")
    y = np.zeros((rows, steps + 1, 4 * model.nv))
    return StateLimits(low, high, y, np.full(rows, FIRST_RHO))


def _controls(
    tau: Any, each: bool, lead: Shape, rows: int, steps: int, driven: tuple[int, ...]
) -> Array:
    """Return the guess of the controls, shape (rows, steps, m)."""
    m = len(driven)
    if tau is None:
        return np.zeros((rows, steps, m))
    guess = tau if each else tau[..., None, :]
    wide = np.broadcast_to(guess, (*lead, steps, tau.shape[-1]))[..., list(driven)]
    return np.array(wide, order="C").reshape(rows, steps, m)


def _rows(x: Array, lead: Shape, rows: int) -> Array:
    return np.ascontiguousarray(np.broadcast_to(x, (*lead, x.shape[-1]))).reshape(rows, x.shape[-1])
