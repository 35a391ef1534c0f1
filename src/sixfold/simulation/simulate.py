"""`sf.simulate`: a model, a start and a duration in; a trajectory out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.choices import (
    Callback,
    ForceFrame,
    ForceInput,
    Integrator,
    Method,
    Progress,
    Solver,
    Stabilization,
    StepBackend,
)
from sixfold.contact import Ground
from sixfold.errors import NotApplicableError
from sixfold.evaluate import kinetic_energy, model_checked, potential_energy, refuse_singular
from sixfold.model import Model
from sixfold.simulation.adaptive import adaptive_step
from sixfold.simulation.callbacks.callbacks import control_callback, declared, force_callback
from sixfold.simulation.callbacks.progress import progress_of
from sixfold.simulation.callbacks.tracing import memory_of
from sixfold.simulation.checks.constraints import closed_start, stabilization_of
from sixfold.simulation.checks.contacts import (
    MAX_RESIDUAL,
    contact_notes,
    residual_text,
    warn_residual,
)
from sixfold.simulation.checks.failures import lost_pivot, not_converged, not_finite
from sixfold.simulation.checks.friction import friction_notes
from sixfold.simulation.checks.limits import degree_notes, limit_notes
from sixfold.simulation.checks.options import (
    EULER,
    check_force_frame,
    check_rate,
    check_shared,
    check_steps,
    touching,
    vector,
    wrenches,
)
from sixfold.simulation.checks.start import grid_of, room_for, states_of
from sixfold.simulation.events import Crossing, Event, events_of
from sixfold.simulation.events.watch import Watch
from sixfold.simulation.run_steps import Outcome, run_steps
from sixfold.simulation.setup import Setup
from sixfold.simulation.stepper import DisturbedError, StepRunner, stepper_of
from sixfold.simulation.stops import JointStops, stops_of
from sixfold.simulation.trajectory.trajectory import Trajectory


def simulate(
    model: Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    duration: float,
    *,
    dt: float = 1e-3,
    integrator: Integrator | None = None,
    compensated: bool | None = None,
    control: Callback | None = None,
    parameters: ArrayLike | None = None,
    x0: ArrayLike | None = None,
    hold: bool = False,
    compiled: bool | None = None,
    f_ext: ForceInput | None = None,
    f_ext_frame: ForceFrame = "world",
    limits: bool | JointStops | None = None,
    contacts: Ground | None = None,
    events: Event | Callback | Sequence[Event | Callback] | None = None,
    every: int = 1,
    t0: float = 0.0,
    progress: Progress | None = None,
    method: Method | None = None,
    stabilize: Stabilization | None = None,
    solver: Solver | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    backend: StepBackend | None = None,
) -> Trajectory:
    """Return the motion of a model from a start, or from each start of a batch.

    Args:
        model: the robot.
        q0: configurations at the start, shape (..., nq); None for the neutral one.
        v0: velocities at the start, shape (..., nv); None for rest.
        duration: how long [s].  If it is no multiple of dt, the last step is shorter.
        dt: length of a step [s]; with "solve_ivp" the distance of samples.
        integrator: "semi_implicit_euler" (order 1), "rk4" (order 4 on the coordinates),
            "lie_rk4" (order 4 on the group of rotations), "midpoint" (order 2, implicit, without
            a trend in the energy) or "solve_ivp" (adaptive steps; needs SciPy).  Left out, "rk4",
            and "semi_implicit_euler" with contacts.
        compensated: carry what rounding takes from the sums of a step over to the next one, as
            when left out; False takes the plain steps of `rollout`, and so do contacts.
        control: function of (t, q, v), or of (t, q, v, parameters), for one state, that returns
            the joint forces (nv,).  It is compiled if it is built from arithmetic and sixfold
            functions and is pure: traced at the start of each call of `simulate`, when everything
            that it reads is read.  One that keeps something between calls, or draws random numbers,
            runs as Python, step by step, and the trajectory's notes say so.
        parameters: numbers for the controller, its last argument, shape (..., n), for example gains
            of a batch.
        x0: states of the controller itself at the start, shape (..., nx).  The controller is then a
            function of (t, q, v, x), or of (t, q, v, x, parameters), that returns the joint forces
            and dx/dt, which is integrated with the motion; with hold=True the second is x at the
            next step.  Left out, `control.x0` if there is one.
        hold: evaluate the controller once at the start of each step, as a digital one does.
        compiled: True to compile control and f_ext in any case, or fail and say why; False to run
            them as Python; left out, as described under control.
        f_ext: external forces on all bodies, shape (..., nb, 6), or a function of (t, q, v) for one
            state that returns (nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        limits: True or `JointStops(...)` makes joint limits push back; off when left out.
        contacts: the ground and what may touch it; the trajectory records forces, points and gaps.
        events: functions of (t, q, v), or objects of `Event`, whose zero crossings are found (for
            one start).
            An event with a reset changes the state; the samples hold both sides of the jump.
        every: keep one step out of this many; the start and the end are always kept.
        t0: time at the start [s].
        progress: True for a bar on a terminal, or a function of (time reached, duration).
        method: of forward dynamics: "aba" (articulated bodies), "crba" (composite bodies),
            "operators" (Concurrent Dynamics (19b), O(N)) or "operators_dense" ((19a), O(N^3)), as
            in `forward_dynamics`; by the model if left out.
        stabilize: what keeps the constraints of a model: "project" takes q and v back to them after
            each step, a rate [1/s] lets constraint forces pull gaps shut (Baumgarte), 0 does
            nothing.  Left out, "project", and 20/s with solvers that keep a history.
        solver: "DOP853" (if left out), "RK45", "RK23", "Radau", "BDF" or "LSODA", for "solve_ivp".
        rtol: relative tolerance of "solve_ivp", 1e-9 if left out.
        atol: absolute tolerance of "solve_ivp", 1e-11 if left out.
        backend: "numpy" runs every step in Python, for debugging a controller.

    Returns:
        A Trajectory with arrays t, q, v, a, tau and energies, with x0 also x, with contacts also
        contact_forces, contact_points, contact_normals, contact_gaps and contact_friction; time is
        the last axis but one of q and v.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect beside the others.
        CallbackError: if a function of yours gives no usable numbers.
        SimulationError: if a state becomes infinite or NaN, or if resets follow each other without
            end; its `.trajectory` is what came before.
        SingularModelError: if some joint has no inertia behind it.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.load("cart_pendulum")
        >>> run = sf.simulate(model, [0.0, 0.5], None, 0.5, dt=1e-3)
        >>> run.q.shape, bool(np.ptp(run.total) < 1e-10)  # the energy stays
        ((501, 2), True)
        >>> def hold(t, q, v):
        ...     return np.array([-50.0 * q[0] - 20.0 * v[0], 0.0])
        >>> held = sf.simulate(model, [0.0, 0.5], None, 0.5, control=hold)
        >>> bool(abs(held.q[-1, 0]) < abs(run.q[-1, 0]))
        True
    """
    refuse_singular(model_checked("simulate", model))
    grid = grid_of(t0, duration, dt, every)
    if integrator is None:
        integrator = "rk4" if contacts is None else EULER
    if x0 is None:
        x0 = declared(control, "x0")
    given = {"control": control is not None, "parameters": parameters, "x0": x0, "f_ext": f_ext}
    check_shared("simulate", model, method, hold, compiled, backend, **given)
    check_rate("simulate", control, hold, grid.dt)
    adaptive = check_steps(integrator, solver, hold, compensated, rtol=rtol, atol=atol)
    kept = stabilization_of("simulate", model, stabilize, adaptive.get("solver"))
    check_force_frame("simulate", f_ext, f_ext_frame)
    idle = {"method": method is not None, "compensated": compensated is True}
    scene = touching("simulate", model, contacts, integrator, grid.dt, **idle)
    tell = progress_of(progress)
    arrays, lead = states_of(
        "simulate",
        model,
        q0,
        v0,
        parameters=vector("simulate", "parameters", parameters, "parameters of the controller"),
        x0=vector("simulate", "x0", x0, "states of the controller"),
        f_ext=wrenches(model, f_ext),
    )
    closed_start("simulate", model, arrays)
    watched = events_of(events)
    if watched and lead:
        fix = "simulate the starts one by one"
        raise NotApplicableError("simulate with events", f"a batch of starts {lead}", fix)
    if hold and any(event.reset is not None for event in watched):
        where = "hold=True: a reset within a step would end what is held"
        raise NotApplicableError("simulate with events that reset", where, "leave hold out")
    x = arrays.get("x0")
    stops, gains = stops_of("simulate", model, limits, arrays["q0"])
    setup = Setup(
        "simulate",
        model,
        "rk4" if adaptive else integrator,
        compensated is not False and scene is None,
        None
        if control is None
        else control_callback(
            model, control, arrays.get("parameters"), 0 if x is None else x.shape[-1]
        ),
        force_callback(model, f_ext) if callable(f_ext) else None,
        arrays.get("parameters"),
        f_ext=arrays.get("f_ext"),
        f_ext_frame=f_ext_frame,
        stops=stops,
        gains=gains,
        hold=hold,
        backend=backend,
        dynamics=method,
        compiled=compiled,
        others=(
            *(event.function for event in watched),
            *(event.reset for event in watched if event.reset is not None),
            *((progress,) if callable(progress) else ()),
        ),
        stabilization=kept,
        contacts=scene,
    )
    room_for(grid, lead, setup.size, model)
    parts = setup.start(arrays["q0"], arrays["v0"], x)
    start = np.concatenate([np.broadcast_to(y, (*lead, y.shape[-1])) for y in parts], -1)
    # a second time, as Python, where an event or `progress` has changed what the controller reads
    callbacks = [each.function for each in (setup.control, setup.force) if each is not None]
    before = memory_of([*callbacks, *setup.others]) if callbacks and setup.others else None
    for each in (setup, replace(setup, disturbed=True)):
        stepper = stepper_of(each, grid.dt, fixed=not adaptive, single=bool(watched))
        if adaptive:
            end = grid.t0 + grid.duration
            stepper = stepper.advancing(*adaptive_step(stepper, end, **adaptive))
        watch = None
        begun = time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                if watched:
                    watch = Watch(model, watched, grid.t0, start, setup.states, stepper.restart)
                outcome = run_steps(stepper, grid, start, watch, tell)
            break
        except DisturbedError:
            if before is not None:
                before.restore()
    with np.errstate(all="ignore"):
        elapsed = time.perf_counter() - begun
        about = {"integrator": integrator, "dt": grid.dt, "elapsed": elapsed}
        crossings = tuple(watch.crossings) if watch else ()
        made = _trajectory(setup, stepper, outcome, about, crossings)
        if outcome.error is not None:
            outcome.error.trajectory = made
            raise outcome.error
        if outcome.failure is not None:
            raise not_finite(setup, stepper, outcome, made)
        problem = lost_pivot(made)
        if problem is None and integrator == "midpoint" and not stepper.live:
            problem = not_converged(stepper.system, made, grid.dt, hold)
        if problem is not None:
            raise problem
    warn_residual("simulate", model, made.contact_residual)
    return made


def _trajectory(
    setup: Setup,
    stepper: StepRunner,
    outcome: Outcome,
    about: dict[str, Any],
    crossings: tuple[Crossing, ...],
) -> Trajectory:
    """Return the samples of a run with forces, accelerations and energies."""
    model, n = setup.model, setup.model.nv + setup.states
    q, both = outcome.x[..., : model.nq], outcome.x[..., model.nq : model.nq + n]
    v, x = both[..., : model.nv], both[..., model.nv :]
    if stepper.live:
        seen = tuple(np.stack(each, axis=-2) for each in zip(*outcome.seen, strict=True))
    else:
        seen = stepper.observe(outcome.t, outcome.x)
    tau, a, *touched = seen
    arrays: dict[str, Any] = {"q": q, "v": v, "a": a, "tau": np.broadcast_to(tau, v.shape)}
    arrays |= {"kinetic": kinetic_energy(model, q, v), "potential": potential_energy(model, q)}
    for each in touched:
        each = each.reshape((*each.shape[:-1], -1, 10))
        arrays |= {"contact_forces": each[..., :3], "contact_points": each[..., 3:6]}
        arrays |= {"contact_normals": each[..., 6:9], "contact_gaps": each[..., 9]}
    if setup.contacts is not None:
        arrays["contact_friction"] = [touch.friction for touch in setup.contacts.touches]
    limited = bool(setup.stops) or bool(setup.contacts and setup.contacts.limits)
    notes = (
        *stepper.notes,
        *degree_notes(model, q[..., :1, :]),
        *limit_notes(model, outcome.t, q, limited),
        *friction_notes(model, v),
    )
    if setup.contacts is not None:
        about["contact_residual"] = residual = float(np.nanmax(outcome.x[..., -1], initial=0.0))
        notes += contact_notes(model, setup.contacts, outcome.t, q, arrays["contact_gaps"])
        notes += (residual_text(residual),) if residual > MAX_RESIDUAL else ()
    return Trajectory(
        model,
        outcome.t,
        **arrays,
        **about,
        x=x if setup.states else None,
        steps=outcome.steps,
        events=crossings,
        notes=notes,
    )
