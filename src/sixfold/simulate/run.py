"""`sf.simulate`: a model, a start and a duration in; a trajectory out."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.errors import NotApplicableError, NumberError, OptionError
from sixfold.evaluate import kinetic_energy, potential_energy
from sixfold.evaluate.arrays import Argument, Array, model_checked
from sixfold.evaluate.quantities import FORCE_FRAMES
from sixfold.evaluate.singular import refuse_singular
from sixfold.model import Model
from sixfold.simulate.adaptive import adaptive_step
from sixfold.simulate.callbacks import control_callback, force_callback
from sixfold.simulate.drive import Outcome, drive
from sixfold.simulate.engine import STAGES, Engine, Setup, engine_of
from sixfold.simulate.events import Crossing, Watch, events_of
from sixfold.simulate.failures import lost_pivot, not_converged, not_finite
from sixfold.simulate.integrators import INTEGRATORS
from sixfold.simulate.limits import limit_notes
from sixfold.simulate.progress import progress_of
from sixfold.simulate.start import grid_of, room_for, states_of
from sixfold.simulate.stops import JointStops, stops_of
from sixfold.simulate.system import System
from sixfold.simulate.trajectory import Trajectory

ADAPTIVE = "solve_ivp"
CHOICES = (*INTEGRATORS, ADAPTIVE)


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
    hold: bool = False,
    f_ext: Any = None,
    f_ext_frame: str = "world",
    limits: bool | JointStops | None = None,
    events: Any = None,
    every: int = 1,
    t0: float = 0.0,
    progress: Any = None,
    method: str = "DOP853",
    rtol: float = 1e-9,
    atol: float = 1e-11,
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
            functions; otherwise it runs as it is, and the trajectory's notes say so.
        parameters: numbers for the controller, shape (..., n), for example gains of a batch.
        hold: evaluate the controller once at the start of each step, as a digital one does.
        f_ext: external forces on all bodies, shape (..., nb, 6), or a function of (t, q, v) for one
            state that returns (nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        limits: True or `JointStops(...)` makes joint limits push back; off when left out.
        events: functions of (t, q, v), or `Event`s, whose zero crossings are found (one start).
        every: keep each so many steps; the start and the end are always kept.
        t0: time at the start [s].
        progress: True for a bar on a terminal, or a function of (time reached, duration).
        method: solver of "solve_ivp": "DOP853", "RK45", "Radau", "LSODA"...
        rtol: relative tolerance of "solve_ivp".
        atol: absolute tolerance of "solve_ivp".
        backend: "numpy" runs every step in Python, for looking into a controller.

    Returns:
        A Trajectory with arrays t, q, v, a, tau and energies; time is the last axis but one.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        CallbackError: if a function of yours gives no usable numbers.
        SimulationError: if a state becomes infinite or NaN; its `.trajectory` is what came before.
        SingularModelError: if some joint has no inertia behind it.
    """
    refuse_singular(model_checked("simulate", model))
    grid = grid_of(t0, duration, dt, every)
    _choices(integrator, f_ext_frame, hold, backend)
    tell = progress_of(progress)
    q, v, extra = states_of(
        model,
        q0,
        v0,
        parameters=_parameters(parameters),
        f_ext=None
        if f_ext is None or callable(f_ext)
        else Argument(f_ext, (model.nb, 6), "(nb, 6): one force (n; f) for each body"),
    )
    if control is None and parameters is not None:
        fix = "pass the controller that takes them, or leave them out"
        raise NotApplicableError("simulate with parameters", "a motion without control", fix)
    watched = events_of(events)
    if watched and q.ndim > 1:
        fix = "simulate the starts one by one"
        raise NotApplicableError("simulate with events", f"a batch of starts {q.shape[:-1]}", fix)
    setup = Setup(
        model,
        INTEGRATORS.get(integrator, INTEGRATORS["rk4"]),
        STAGES.get(integrator, 4),
        None if control is None else control_callback(model, control, extra.get("parameters")),
        force_callback(model, f_ext) if callable(f_ext) else None,
        extra.get("parameters"),
        extra.get("f_ext"),
        f_ext_frame,
        _stops(model, limits, q),
        hold,
        backend,
    )
    fixed = integrator != ADAPTIVE
    engine = engine_of(setup, grid.dt, fixed=fixed, single=bool(watched))
    if not fixed:
        end = grid.t0 + grid.duration
        step = adaptive_step(engine.system, grid.t0, end, method, rtol, atol)
        engine = engine.advancing(step)
    room_for(grid, q.shape[:-1], engine.size, model)
    x = np.concatenate([q, v, np.zeros((*q.shape[:-1], engine.size - model.nq - model.nv))], -1)
    watch = Watch(model, watched, grid.t0, x) if watched else None
    with np.errstate(all="ignore"):
        begun = time.perf_counter()
        outcome = drive(engine, grid, x, watch, tell)
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
            problem = not_converged(engine.system, made, grid.dt)
        if problem is not None:
            raise problem
    return made


def _choices(integrator: Any, f_ext_frame: Any, hold: Any, backend: Any) -> None:
    for name, value, choices in (
        ("integrator", integrator, CHOICES),
        ("f_ext_frame", f_ext_frame, FORCE_FRAMES),
        ("hold", hold, (True, False)),
        ("backend", backend, (None, "native", "numpy")),
    ):
        if not isinstance(value, (str, bool, type(None))) or value not in choices:
            raise OptionError("simulate", name, choices, value)
    if hold and integrator == ADAPTIVE:
        raise NotApplicableError(
            "simulate with hold=True",
            "integrator 'solve_ivp'",
            "choose an integrator with fixed steps",
        )


def _parameters(given: Any) -> Argument | None:
    if given is None:
        return None
    try:
        shape = np.shape(given)
    except ValueError:
        shape = ()
    size = shape[-1] if shape else 0
    if not size:
        where = "simulate: argument 'parameters'"
        raise NumberError(where, "an array (..., n)", repr(given), "pass a list of numbers")
    return Argument(given, (size,), "parameters of the controller")


def _stops(model: Model, limits: Any, q: Array) -> Any:
    if limits is None or limits is False:
        return ()
    law = JointStops() if limits is True else limits
    if not isinstance(law, JointStops):
        raise OptionError("simulate", "limits", (True, None, "sixfold.JointStops(...)"), limits)
    return stops_of(model, law, q.reshape(-1, model.nq)[0], System(model).additive)


def _parts(model: Model, x: Array) -> tuple[Array, Array]:
    return x[..., : model.nq], x[..., model.nq : model.nq + model.nv]


def _trajectory(
    setup: Setup,
    engine: Engine,
    outcome: Outcome,
    about: dict[str, Any],
    crossings: tuple[Crossing, ...],
) -> Trajectory:
    """Return the samples of a run with forces, accelerations and energies."""
    model = setup.model
    q, v = _parts(model, outcome.x)
    if engine.live:
        tau, a = (np.stack(both, axis=-2) for both in zip(*outcome.seen, strict=True))
    else:
        tau, a = engine.survey(outcome.t, q, v)
    arrays: dict[str, Any] = {"q": q, "v": v, "a": a, "tau": np.broadcast_to(tau, v.shape)}
    arrays |= {"kinetic": kinetic_energy(model, q, v), "potential": potential_energy(model, q)}
    return Trajectory(
        model,
        outcome.t,
        **arrays,
        **about,
        steps=outcome.steps,
        events=crossings,
        notes=(*engine.notes, *limit_notes(model, outcome.t, q, bool(setup.stops))),
    )
