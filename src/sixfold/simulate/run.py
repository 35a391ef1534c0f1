"""`sf.simulate`: a model, a start and a duration in; a trajectory out."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.errors import NotApplicableError, OptionError
from sixfold.evaluate import kinetic_energy, potential_energy
from sixfold.evaluate.arrays import Argument, Array, model_checked
from sixfold.evaluate.singular import refuse_singular
from sixfold.model import Model
from sixfold.simulate.adaptive import adaptive_step
from sixfold.simulate.callbacks import control_callback, declared, force_callback
from sixfold.simulate.drive import Outcome, drive
from sixfold.simulate.engine import STAGES, Engine, Setup, engine_of
from sixfold.simulate.events import Crossing, Watch, events_of
from sixfold.simulate.failures import lost_pivot, not_converged, not_finite
from sixfold.simulate.integrators import INTEGRATORS
from sixfold.simulate.limits import limit_notes
from sixfold.simulate.options import (
    check_force_frame,
    check_rate,
    check_shared,
    check_steps,
    vector,
)
from sixfold.simulate.progress import progress_of
from sixfold.simulate.start import grid_of, room_for, states_of
from sixfold.simulate.stops import JointStops, stops_of
from sixfold.simulate.system import System
from sixfold.simulate.trajectory import Trajectory


def simulate(
    model: Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    duration: float,
    *,
    dt: float = 1e-3,
    integrator: str = "rk4",
    control: Any = None,
    parameters: ArrayLike | None = None,
    x0: ArrayLike | None = None,
    hold: bool = False,
    compiled: bool | None = None,
    f_ext: Any = None,
    f_ext_frame: str = "world",
    limits: bool | JointStops | None = None,
    events: Any = None,
    every: int = 1,
    t0: float = 0.0,
    progress: Any = None,
    method: str | None = None,
    solver: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    backend: str | None = None,
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
            a trend in the energy) or "solve_ivp" (adaptive steps; needs SciPy).
        control: function of (t, q, v), or of (t, q, v, parameters), for one state, that returns
            the joint forces (nv,).  It is compiled if it is built from arithmetic and sixfold
            functions and is shown to remember nothing between calls; otherwise it runs as Python,
            step by step, and the trajectory's notes say so.
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
        events: functions of (t, q, v), or `Event`s, whose zero crossings are found (one start).
        every: keep each so many steps; the start and the end are always kept.
        t0: time at the start [s].
        progress: True for a bar on a terminal, or a function of (time reached, duration).
        method: of forward dynamics, as in `forward_dynamics`; by the model if left out.
        solver: "DOP853" (if left out), "RK45", "RK23", "Radau", "BDF" or "LSODA", for "solve_ivp".
        rtol: relative tolerance of "solve_ivp", 1e-9 if left out.
        atol: absolute tolerance of "solve_ivp", 1e-11 if left out.
        backend: "numpy" runs every step in Python, for looking into a controller.

    Returns:
        A Trajectory with arrays t, q, v, a, tau and energies, with x0 also x; time is the last axis
        but one.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect beside the others.
        CallbackError: if a function of yours gives no usable numbers.
        SimulationError: if a state becomes infinite or NaN; its `.trajectory` is what came before.
        SingularModelError: if some joint has no inertia behind it.
    """
    refuse_singular(model_checked("simulate", model))
    grid = grid_of(t0, duration, dt, every)
    if x0 is None:
        x0 = declared(control, "x0")
    given = {"control": control is not None, "parameters": parameters, "x0": x0, "f_ext": f_ext}
    check_shared("simulate", model, method, hold, compiled, backend, **given)
    check_rate("simulate", control, hold, grid.dt)
    adaptive = check_steps(integrator, solver, hold, rtol=rtol, atol=atol)
    check_force_frame(f_ext, f_ext_frame)
    tell = progress_of(progress)
    q, v, extra = states_of(
        model,
        q0,
        v0,
        parameters=vector("simulate", "parameters", parameters, "parameters of the controller"),
        x0=vector("simulate", "x0", x0, "states of the controller"),
        f_ext=None
        if f_ext is None or callable(f_ext)
        else Argument(f_ext, (model.nb, 6), "(nb, 6): one force (n; f) for each body"),
    )
    lead = q.shape[:-1]
    x = np.zeros((*lead, 0))
    if "x0" in extra:
        x = np.broadcast_to(extra["x0"], (*lead, extra["x0"].shape[-1]))
    watched = events_of(events)
    if watched and q.ndim > 1:
        fix = "simulate the starts one by one"
        raise NotApplicableError("simulate with events", f"a batch of starts {q.shape[:-1]}", fix)
    setup = Setup(
        model,
        INTEGRATORS.get(integrator, INTEGRATORS["rk4"]),
        STAGES.get(integrator, 4),
        None
        if control is None
        else control_callback(model, control, extra.get("parameters"), x.shape[-1]),
        force_callback(model, f_ext) if callable(f_ext) else None,
        extra.get("parameters"),
        extra.get("f_ext"),
        f_ext_frame,
        _stops(model, limits, q),
        hold,
        backend,
        method,
        compiled,
        (*(event.function for event in watched), *((progress,) if callable(progress) else ())),
    )
    fixed = not adaptive
    engine = engine_of(setup, grid.dt, fixed=fixed, single=bool(watched))
    if not fixed:
        end = grid.t0 + grid.duration
        engine = engine.advancing(adaptive_step(engine, grid.t0, end, **adaptive))
    room_for(grid, lead, engine.size, model)
    lost = np.zeros((*lead, engine.size - model.nq - model.nv - x.shape[-1]))
    row = np.concatenate([q, v, x, lost], -1)
    watch = Watch(model, watched, grid.t0, row) if watched else None
    with np.errstate(all="ignore"):
        begun = time.perf_counter()
        outcome = drive(engine, grid, row, watch, tell)
        elapsed = time.perf_counter() - begun
        about = {"integrator": integrator, "dt": grid.dt, "elapsed": elapsed}
        crossings = tuple(watch.crossings) if watch else ()
        made = _trajectory(setup, engine, outcome, about, crossings)
        if outcome.error is not None:
            outcome.error.trajectory = made
            raise outcome.error
        if outcome.failure is not None:
            raise not_finite(setup, engine, outcome, made)
        problem = lost_pivot(made)
        if problem is None and integrator == "midpoint" and not engine.live:
            problem = not_converged(engine.system, made, grid.dt, hold)
        if problem is not None:
            raise problem
    return made


def _stops(model: Model, limits: Any, q: Array) -> Any:
    if limits is None or limits is False:
        return ()
    law = JointStops() if limits is True else limits
    if not isinstance(law, JointStops):
        raise OptionError("simulate", "limits", (True, None, "sixfold.JointStops(...)"), limits)
    found = stops_of(model, law, q.reshape(-1, model.nq)[0], System(model).additive)
    if not found:
        where = f"model '{model.name}', no joint of which has a limit to stop at"
        raise NotApplicableError("simulate: option 'limits'", where, "leave it out")
    return found


def _trajectory(
    setup: Setup,
    engine: Engine,
    outcome: Outcome,
    about: dict[str, Any],
    crossings: tuple[Crossing, ...],
) -> Trajectory:
    """Return the samples of a run with forces, accelerations and energies."""
    model, n = setup.model, setup.model.nv + setup.states
    q, both = outcome.x[..., : model.nq], outcome.x[..., model.nq : model.nq + n]
    v, x = both[..., : model.nv], both[..., model.nv :]
    if engine.live:
        tau, a = (np.stack(both, axis=-2) for both in zip(*outcome.seen, strict=True))
    else:
        tau, a = engine.survey(outcome.t, q, both)
    arrays: dict[str, Any] = {"q": q, "v": v, "a": a, "tau": np.broadcast_to(tau, v.shape)}
    arrays |= {"kinetic": kinetic_energy(model, q, v), "potential": potential_energy(model, q)}
    return Trajectory(
        model,
        outcome.t,
        **arrays,
        **about,
        x=x if setup.states else None,
        steps=outcome.steps,
        events=crossings,
        notes=(*engine.notes, *limit_notes(model, outcome.t, q, bool(setup.stops))),
    )
