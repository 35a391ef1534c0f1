"""`sf.simulate`: a model, a start and a duration in; a trajectory out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sixfold.choices import Callback, Integrator, Progress
from sixfold.errors import NotApplicableError
from sixfold.model import Model
from sixfold.progress import callback_of
from sixfold.quantities.energies import kinetic_energy, potential_energy
from sixfold.simulation.adaptive import adaptive_step
from sixfold.simulation.arguments import EULER, check_steps, degree_notes, grid_of, room_for
from sixfold.simulation.contact.scene import MAX_RESIDUAL, residual_text, warn_residual
from sixfold.simulation.diagnostics import (
    contact_notes,
    friction_notes,
    limit_notes,
    lost_pivot,
    midpoint_problem,
    not_finite,
)
from sixfold.simulation.events import Crossing, Event, Watch, events_of
from sixfold.simulation.step import DisturbedError, Setup, StepRunner, prepare, stepper_of
from sixfold.simulation.system import System, SystemOptions, system_of
from sixfold.simulation.time_loop import Outcome, run_steps
from sixfold.simulation.tracing import memory_of
from sixfold.simulation.trajectory import Trajectory


def simulate(
    system: System | Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    duration: float,
    *,
    dt: float = 1e-3,
    integrator: Integrator | None = None,
    tolerances: tuple[float, float] | None = None,
    events: Event | Callback | Sequence[Event | Callback] | None = None,
    every: int = 1,
    t0: float = 0.0,
    progress: Progress | None = None,
    **options: Unpack[SystemOptions],
) -> Trajectory:
    """Return the motion of a model from a start, or from each start of a batch.

    Args:
        system: what moves, a `System`, or a model with the fields of a system as keywords:
            `simulate(model, q0, v0, 2.0, control=law, contacts=ground)`.
        q0: configurations at the start, shape (..., nq); None for the neutral one.
        v0: velocities at the start, shape (..., nv); None for rest.
        duration: how long [s].  If it is no multiple of dt, the last step is shorter.
        dt: length of a step [s]; with an adaptive method the distance of samples.
        integrator: "semi_implicit_euler" (order 1), "rk4" (order 4 on the coordinates),
            "lie_rk4" (order 4 on the group of rotations), "midpoint" (order 2, implicit, without
            a trend in the energy) or one of SciPy's adaptive methods: "DOP853" (also
            "solve_ivp"), "RK45", "RK23", "Radau", "BDF" or "LSODA".  By default "rk4", and
            "semi_implicit_euler" with contacts.
        tolerances: relative and absolute tolerance of an adaptive method, (1e-9, 1e-11) by
            default.
        events: functions of (t, q, v), or objects of `Event`, whose zero crossings are found (for
            one start).
            An event with a reset changes the state; the samples hold both sides of the jump.
        every: keep one step out of this many; the start and the end are always kept.
        t0: time at the start [s].
        progress: True for a bar on a terminal, or a function of (time reached, duration).
        options: fields of `System`.

    Returns:
        A Trajectory with arrays t, q, v, a, tau and energies, with x0 also x, with contacts also
        contact_forces, contact_points, contact_normals, contact_gaps and contact_friction; time is
        the last axis but one of q and v.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect with the others.
        CallbackError: if a function of yours gives no usable numbers.
        SimulationError: if a state becomes infinite or NaN, or if resets follow each other without
            end; its `.trajectory` is what came before.
        SingularModelError: if some joint has no inertia behind it.
        TooLargeError: if contact couples more bodies than can be compiled in a minute or so.

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
    system = system_of(simulate, system, options)
    model, hold = system.model, bool(system.hold)
    grid = grid_of(t0, duration, dt, every)
    if integrator is None:
        integrator = "rk4" if system.contacts is None else EULER
    adaptive = check_steps(integrator, hold, system.compensated, tolerances)
    tell = callback_of("simulate", progress, "time reached, time to reach")
    prepared = prepare(
        "simulate",
        system,
        q0,
        v0,
        integrator="rk4" if adaptive else integrator,
        dt=grid.dt,
        compensated=system.compensated is not False,
        solver=adaptive.get("solver"),
    )
    lead = prepared.lead
    watched = events_of(events)
    if watched and lead:
        fix = "simulate the starts one by one"
        raise NotApplicableError("simulate with events", f"a batch of starts {lead}", fix)
    if hold and any(event.reset is not None for event in watched):
        where = "hold=True: a reset within a step would end what is held"
        raise NotApplicableError("simulate with events that reset", where, "leave hold out")
    setup = replace(
        prepared.setup,
        others=(
            *(event.function for event in watched),
            *(event.reset for event in watched if event.reset is not None),
            *((progress,) if callable(progress) else ()),
        ),
    )
    room_for(grid, lead, setup.size, model)
    parts = prepared.start()
    start = np.concatenate([np.broadcast_to(y, (*lead, y.shape[-1])) for y in parts], -1)
    # a second time, as Python, where an event or `progress` has changed what the controller reads
    callbacks = [each.function for each in (setup.control, setup.force) if each is not None]
    before = memory_of([*callbacks, *setup.others]) if callbacks and setup.others else None
    for each in (setup, replace(setup, disturbed=True)):
        stepper = stepper_of(each, grid.dt, fixed=not adaptive, single=bool(watched))
        if adaptive:
            end = grid.t0 + grid.duration
            stepper = stepper.with_advance(*adaptive_step(stepper, end, **adaptive))
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
        problem = lost_pivot(made) if system.inertias is None else None
        if problem is None and integrator == "midpoint" and not stepper.live:
            problem = midpoint_problem(stepper.system, made, grid.dt, hold)
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
    # inertias have the axes of the starts, states one of samples behind them
    own = setup.given.get("inertias")
    inertias = None if own is None else np.expand_dims(own, own.ndim - 2)
    arrays["kinetic"] = kinetic_energy(model, q, v, inertias=inertias)
    arrays["potential"] = potential_energy(model, q, inertias=inertias)
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
