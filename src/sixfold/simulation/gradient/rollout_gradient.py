"""`sf.rollout_gradient`: what a rollout costs, and how the cost depends on all that goes in."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.choices import Callback, FixedStep, ForceFrame, ForceInput, Method, Stabilization
from sixfold.errors import (
    ArgumentError,
    NonFiniteStateWarning,
    NotApplicableError,
    visible,
)
from sixfold.evaluate import enough_memory, model_checked, refuse_singular
from sixfold.model import Model
from sixfold.show import fields_line
from sixfold.simulation.callbacks.callbacks import control_callback, declared, force_callback
from sixfold.simulation.checks.constraints import closed_start, stabilization_of
from sixfold.simulation.checks.options import (
    check_fixed_step,
    check_force_frame,
    check_rate,
    check_shared,
    choice,
    inertial_parameters,
    open_loop_forces,
    refuse_negative_masses,
    vector,
    wrenches,
)
from sixfold.simulation.checks.start import states_of, step_count, step_length
from sixfold.simulation.gradient.costs import cost_callback, identify
from sixfold.simulation.gradient.sweep import Found, Sweep, sweep, tangent
from sixfold.simulation.setup import Setup

NAME = "rollout_gradient"


@dataclass(frozen=True, eq=False)
class RolloutGradient:
    """The cost of each trajectory of a batch and its derivatives; None for what was not given."""

    cost: Array
    """Running and final cost, shape (...)."""
    q0: Array
    """By the configuration at the start, along the motion subspaces, shape (..., nv)."""
    v0: Array
    """By the velocity at the start, shape (..., nv)."""
    tau: Array | None
    """By the joint forces, with the axes of `tau` after those of the batch."""
    x0: Array | None
    """By the controller's states at the start, shape (..., nx)."""
    parameters: Array | None
    """By the controller's parameters, shape (..., n)."""
    inertias: Array | None
    """By the inertial parameters of all bodies, shape (..., nb, 10)."""

    def __repr__(self) -> str:
        """Print small arrays, and the shapes of large ones."""
        return fields_line(self)


def rollout_gradient(
    model: Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    steps: int,
    cost: Callback | None = None,
    final_cost: Callback | None = None,
    cost_parameters: ArrayLike | None = None,
    integrator: FixedStep = "semi_implicit_euler",
    control: Callback | None = None,
    parameters: ArrayLike | None = None,
    x0: ArrayLike | None = None,
    hold: bool = False,
    compiled: bool | None = None,
    f_ext: ForceInput | None = None,
    f_ext_frame: ForceFrame = "world",
    limits: None = None,
    inertias: ArrayLike | None = None,
    inertial: bool = False,
    method: Method | None = None,
    checkpoint: int | None = None,
    stabilize: Stabilization | None = None,
) -> RolloutGradient:
    """Return what rollouts cost, and the derivatives of the cost by all that they start from.

    The steps are those of `rollout`.  With t_k = k dt
    and k = 0 ... steps - 1, the cost is

        sum over k of dt cost(t_k, q_k, v_k, tau_k)  +  final_cost(q_steps, v_steps):

    the running cost is paid at the beginning of each step, per second; the state after the last
    step has the final cost only.  tau_k are the joint forces there: `tau` and those of the
    controller together.

    Derivatives are exact, those of the steps as they are computed, by the adjoint method: forward
    through the steps, then backward inside a second kernel.  All of them together take the time of
    a few rollouts, however many numbers there are to differentiate by.  Leading axes of all arrays
    broadcast and each row has derivatives of its own: for a number that all rows share, add theirs.

    Args:
        model: the robot.
        q0: configurations at the start, shape (..., nq); None for the neutral one.
        v0: velocities at the start, shape (..., nv); None for rest.
        tau: joint forces: (..., steps, nv) for each step, (..., 1, nv) or (nv,) for all of them.
        dt: length of a step [s].
        steps: how many steps.
        cost: function of (t, q, v, tau) for one state that returns one number: the running cost
            per second.  It is compiled, like a controller; one that branches by value or remembers
            something is refused.
        final_cost: function of (q, v) that returns one number.
        cost_parameters: numbers that both cost functions get as one more argument, shape (..., n):
            targets, weights.  A batch of them is a batch of costs.
        integrator: "semi_implicit_euler", "rk4", "lie_rk4" or "midpoint".
        control: function of (t, q, v), or of (t, q, v, parameters), that returns joint forces to be
            added to tau, as in `rollout`.
        parameters: numbers for the controller, shape (..., n).
        x0: states of the controller itself at the start, shape (..., nx), as in `rollout`.
        hold: evaluate the controller once at the start of each step, as in `rollout`.
        compiled: True to take functions that hold objects whose state cannot be saved (locks,
            files): you say that they are pure.
        f_ext: external forces on all bodies, shape (..., nb, 6), or a function of (t, q, v) for one
            state that returns (nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        limits: refused; joint stops depend on the start, and have no derivative where they touch.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10), each (m, h, Ixx, Iyy, Izz, Ixy, Ixz, Iyz) about the body's origin.
        inertial: True for derivatives by all inertial parameters: those of `inertias`, or the
            model's own.
        method: of forward dynamics, as in `forward_dynamics`; by the model if left out.
        checkpoint: keep the state after every so many steps and compute the others again on the way
            back, which takes less memory and the time of another rollout.  By the memory if left
            out: all states, or about every sqrt(steps)-th.  It changes no bit.
        stabilize: what keeps the constraints of a model, as in `simulate`.

    Returns:
        A `RolloutGradient`: the cost, shape (...), and its derivatives by q0 (along the motion
        subspaces: nv numbers, for spherical and free joints too; add them up with `integrate`), v0,
        tau, x0, parameters and inertias, each with the leading axes of the whole batch.  Steps are
        taken in float64, whatever the dtype of the arguments.  Of a model with constraints, those
        by q0 and v0 count along changes that keep the constraints.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect beside the others, or no derivative.
        CallbackError: if a function of yours gives no usable numbers, or cannot be compiled.
        SingularModelError: if some joint has no inertia behind it.
        TooLargeError: if the derivative of a step is too large to compile.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model, tau = sf.load("pendulum"), np.zeros((20, 1))
        >>> def cost(q, v):
        ...     return (q[0] - 1.0) ** 2 + 0.1 * v[0] ** 2
        >>> options = {"dt": 0.01, "steps": 20, "final_cost": cost}
        >>> found = sf.rollout_gradient(model, [0.2], [0.0], tau, **options)
        >>> found.tau.shape
        (20, 1)
        >>> better = sf.rollout_gradient(model, [0.2], [0.0], tau - found.tau, **options)
        >>> bool(better.cost < found.cost)
        True
    """
    model_checked(NAME, model)
    if not model.nv:
        fix = "give a model with a joint that moves"
        raise NotApplicableError(NAME, f"model '{visible(model.name)}' without freedoms", fix)
    check_fixed_step(NAME, integrator)
    if x0 is None:
        x0 = declared(control, "x0")
    has = {"control": control is not None, "parameters": parameters, "x0": x0, "f_ext": f_ext}
    check_shared(NAME, model, method, hold, None, None, **has)
    choice(NAME, "compiled", (None, True), compiled)
    choice(NAME, "inertial", (True, False), inertial)
    check_force_frame(NAME, f_ext, f_ext_frame)
    _check_costs(cost, final_cost, cost_parameters, limits)
    h = step_length(NAME, dt)
    check_rate(NAME, control, bool(hold), h)
    count = step_count(NAME, "steps", steps)
    interval = None if checkpoint is None else step_count(NAME, "checkpoint", checkpoint)
    if inertias is None:
        refuse_singular(model)
        if inertial:
            inertias = np.array([body.inertia.array() for body in model.bodies])
    forces = open_loop_forces(NAME, model, tau, count)
    arrays, lead = states_of(
        NAME,
        model,
        q0,
        v0,
        tau=forces,
        parameters=vector(NAME, "parameters", parameters, "parameters of the controller"),
        x0=vector(NAME, "x0", x0, "states of the controller"),
        f_ext=wrenches(model, f_ext),
        inertias=inertial_parameters(model, inertias),
        cost_parameters=vector(NAME, "cost_parameters", cost_parameters, "numbers for the costs"),
    )
    refuse_negative_masses(NAME, arrays)
    closed_start(NAME, model, arrays)
    x = arrays.get("x0")
    law = None
    if control is not None:
        nx = 0 if x is None else x.shape[-1]
        law = control_callback(model, control, arrays.get("parameters"), nx, NAME)
    setup = Setup(
        NAME,
        model,
        integrator,
        False,
        law,
        force_callback(model, f_ext, NAME) if callable(f_ext) else None,
        arrays.get("parameters"),
        arrays.get("inertias"),
        arrays.get("f_ext"),
        f_ext_frame,
        tau=arrays.get("tau"),
        tau_each=forces is not None and len(forces.shape) == 2,
        hold=bool(hold),
        dynamics=method,
        stabilization=stabilization_of(NAME, model, stabilize),
    )
    given = arrays.get("cost_parameters")
    numbers = None if given is None else given.shape[-1]
    running, final = (
        cost_callback(function, name, numbers)
        for function, name in ((cost, "cost"), (final_cost, "final_cost"))
    )
    callbacks = [each for each in (setup.control, setup.force, running, final) if each is not None]
    tracings, known = identify(model, callbacks, compiled)
    plan = Sweep(setup, running, final, given, bool(inertial), known)
    kept = [each.reach.memory() for each in tracings]
    with enough_memory(NAME, f"gradients {lead} of {count} steps"):
        start = setup.start(arrays["q0"], arrays["v0"], x)
        try:
            found = sweep(plan, start, lead, h, count, interval)
        finally:
            for memory in kept:
                memory.restore()
        result = _result(model, found, arrays, lead, np.ndim(tau) if tau is not None else 0)
    if any(found.lost):
        _warn_not_finite(model, result, lead)
    return result


def _check_costs(cost: Any, final_cost: Any, cost_parameters: Any, limits: Any) -> None:
    if cost is None and final_cost is None:
        fix = "pass cost=..., final_cost=..., or both"
        raise ArgumentError(f"{NAME}: argument 'cost'", "a function of (t, q, v, tau)", None, fix)
    if limits is not None and limits is not False:
        where = "gradients: stops have no derivative where they touch"
        fix = "leave it out, or write a smooth force near the limits as control"
        raise NotApplicableError(f"{NAME}: option 'limits'", where, fix)


def _result(
    model: Model, found: Found, arrays: dict[str, Array], lead: Shape, tau_axes: int
) -> RolloutGradient:
    """Return the results of a sweep with the axes of the batch."""

    def shaped(x: Array, *core: int) -> Array:
        return x.reshape((*lead, *core))

    by_q, by_v, *by_x = found.adjoints
    tau, sums = found.tau, found.sums
    if tau is not None:
        tau = shaped(tau, *tau.shape[1:])
    elif "tau" in sums:
        tau = shaped(sums["tau"], *([1] if tau_axes > 1 else []), model.nv)
    return RolloutGradient(
        shaped(found.cost)[()],
        tangent(model, arrays["q0"], shaped(by_q, model.nq)),
        shaped(by_v, model.nv),
        tau,
        shaped(by_x[0], -1) if by_x else None,
        shaped(sums["parameters"], -1) if "parameters" in sums else None,
        shaped(sums["inertias"], model.nb, 10) if "inertias" in sums else None,
    )


def _warn_not_finite(model: Model, result: RolloutGradient, lead: Shape) -> None:
    bad = np.zeros(lead, bool)
    for x in vars(result).values():
        if x is not None:
            axes = tuple(range(len(lead), np.ndim(x)))
            bad |= ~np.isfinite(x).all(axis=axes)
    if not bad.any():
        return
    first = tuple(int(k) for k in np.argwhere(bad)[0])
    warnings.warn(
        f"{NAME} of '{visible(model.name)}': {int(bad.sum())} of {bad.size} trajectories have a "
        f"cost or derivatives that are not finite; first row {first}.  Either the motion leaves "
        "the finite numbers, as sixfold.rollout says, or a function has no derivative there",
        NonFiniteStateWarning,
        stacklevel=3,
    )
