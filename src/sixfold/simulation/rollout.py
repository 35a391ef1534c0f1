"""`sf.rollout`: many trajectories at once, the time loop inside one kernel."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.choices import (
    Callback,
    FixedStep,
    ForceFrame,
    ForceInput,
    Method,
    Precision,
    Stabilization,
    StepBackend,
)
from sixfold.contact import Ground
from sixfold.errors import (
    NonFiniteStateWarning,
    NotApplicableError,
    OptionError,
    PythonCallbackWarning,
    ShapeError,
    visible,
)
from sixfold.evaluate import enough_memory, is_container, model_checked, refuse_singular, run_scan
from sixfold.model import Model
from sixfold.simulation.callbacks.callbacks import control_callback, declared, force_callback
from sixfold.simulation.checks.constraints import closed_start, stabilization_of
from sixfold.simulation.checks.contacts import warn_residual
from sixfold.simulation.checks.options import (
    check_fixed_step,
    check_force_frame,
    check_no_events,
    check_rate,
    check_shared,
    choice,
    inertial_parameters,
    open_loop_forces,
    refuse_negative_masses,
    touching,
    vector,
    wrenches,
)
from sixfold.simulation.checks.start import states_of, step_count, step_length
from sixfold.simulation.containers import in_containers
from sixfold.simulation.prepared_rollout import prepare, run_prepared, share_memory, step_times
from sixfold.simulation.setup import Setup
from sixfold.simulation.stepper import StepRunner, stepper_of
from sixfold.simulation.stops import JointStops, stops_of


def rollout(
    model: Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    steps: int,
    integrator: FixedStep = "semi_implicit_euler",
    compensated: bool = False,
    every: int = 1,
    control: Callback | None = None,
    parameters: ArrayLike | None = None,
    x0: ArrayLike | None = None,
    hold: bool = False,
    compiled: bool | None = None,
    f_ext: ForceInput | None = None,
    f_ext_frame: ForceFrame = "world",
    limits: bool | JointStops | None = None,
    contacts: Ground | None = None,
    events: None = None,
    inertias: ArrayLike | None = None,
    method: Method | None = None,
    stabilize: Stabilization | None = None,
    dtype: Precision = "float64",
    out: tuple[Array, ...] | None = None,
    backend: StepBackend | None = None,
) -> tuple[Array, ...]:
    """Return the states that many starts pass through, all computed in one kernel.

    It takes the steps of `simulate` and records less: no forces, energies or events.  Leading axes
    of all arrays broadcast; each row of the batch is a trajectory of its own, and its bits do not
    depend on the others.  Batches are handed to threads.

    Args:
        model: the robot.
        q0: configurations at the start, shape (..., nq); None for the neutral one.
        v0: velocities at the start, shape (..., nv); None for rest.
        tau: joint forces: (..., steps, nv) for each step, (..., 1, nv) or (nv,) for all of them.
        dt: length of a step [s].
        steps: how many steps.
        integrator: "semi_implicit_euler", "rk4", "lie_rk4" or "midpoint".
        compensated: carry what rounding takes from the sums of a step over to the next one, as
            `simulate` does.
        every: keep one state out of this many.
        control: function of (t, q, v), or of (t, q, v, parameters), that returns joint forces to be
            added to tau, evaluated in every stage of a step.  It is compiled into the kernel if it
            is built from arithmetic and sixfold functions and is pure: traced at the start of each
            call of `rollout`, when everything that it reads is read.  Otherwise (it keeps something
            between calls, draws random numbers) it runs as Python, row by row, and one warning says
            so.
        parameters: numbers for the controller, shape (..., n): gains, targets...
        x0: states of the controller itself at the start, shape (..., nx): as in `simulate`, the
            controller takes x after v and returns the joint forces and dx/dt.
        hold: evaluate the controller once at the start of each step; with x0 it then returns the
            joint forces and x at the next step.
        compiled: True to compile control and f_ext in any case, or fail and say why; False to run
            them as Python without a warning.
        f_ext: external forces on all bodies, shape (..., nb, 6), or a function of (t, q, v) for one
            state that returns (nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        limits: True or `JointStops(...)` makes joint limits push back; off when left out.
        contacts: the ground and what may touch it, with semi-implicit Euler steps.
        events: refused; `simulate` finds them.
        inertias: inertial parameters of all bodies in place of the model's own, shape
            (..., nb, 10), each (m, h, Ixx, Iyy, Izz, Ixy, Ixz, Iyz).
        method: of forward dynamics, as in `forward_dynamics`; by the model if left out.
        stabilize: what keeps the constraints of a model, as in `simulate`.
        dtype: precision of steps and results, "float64" or "float32", which takes about half the
            time and keeps about six digits of a step.
        out: arrays of this dtype in C order, of the results' shapes, to write the results to.
        backend: "numpy" takes the same steps in NumPy, for debugging.

    Returns:
        q, shape (..., steps // every, nq), and v, shape (..., steps // every, nv); with x0 also x,
        shape (..., steps // every, nx).  A trajectory that becomes infinite or NaN is NaN from
        there on, and one warning names time and joint.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect beside the others.
        CallbackError: if a function of yours gives no usable numbers.
        SingularModelError: if some joint has no inertia behind it.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model, starts = sf.load("pendulum"), np.array([[0.1], [0.2], [0.3]])
        >>> q, v = sf.rollout(model, starts, None, dt=1e-3, steps=100, every=10)
        >>> q.shape
        (3, 10, 1)
        >>> brake = {"control": lambda t, q, v: -v}
        >>> slower, _ = sf.rollout(model, starts, None, dt=1e-3, steps=100, every=10, **brake)
        >>> bool((slower[:, -1] > q[:, -1]).all())  # they fall more slowly
        True
    """
    special = (control, parameters, x0, compiled, f_ext, limits, events, inertias, method, backend)
    plain = all(option is None for option in (*special, stabilize, contacts))
    plain = plain and hold is False and compensated is False and f_ext_frame == "world"
    plain = plain and dtype == "float64"
    if plain:
        found = run_prepared(model, q0, v0, tau, dt, steps, integrator, every, out)
        if found is not None:
            q, v, not_finite = found
            if not_finite:
                warn_not_finite("rollout", model, q, v, dt * every)
            return q, v
    model_checked("rollout", model)
    given = (q0, v0, tau, parameters, x0, f_ext, inertias)
    options: dict[str, Any] = {
        **{"dt": dt, "steps": steps, "integrator": integrator, "compensated": compensated},
        **{"every": every, "control": control, "hold": hold, "compiled": compiled},
        **{"f_ext_frame": f_ext_frame, "limits": limits, "contacts": contacts},
        **{"events": events, "method": method, "stabilize": stabilize, "dtype": dtype},
        "backend": backend,
    }
    if any(map(is_container, given)):
        return in_containers(rollout, model, given, options, out)
    asked = asked_for("rollout", model, given, **options)
    setup, arrays, lead = asked.setup, asked.arrays, asked.lead
    h, count, between, nx = asked.dt, asked.steps, asked.every, setup.states
    if out is not None:
        sizes = [model.nq, model.nv, *([nx] if nx else [])]
        _check_out(out, [(*lead, count // between, n) for n in sizes], arrays, setup.dtype)
    stepper = stepper_of(setup, h, record=False)
    if setup.dtype != "float64" and stepper.kernel is None:
        why = "; ".join(stepper.notes) or "backend 'numpy'"
        where = f"steps that are not compiled ({why})"
        raise NotApplicableError(f"rollout: dtype '{setup.dtype}'", where, "leave it out")
    if stepper.notes and compiled is None:
        text = "; ".join(stepper.notes)
        warnings.warn(f"rollout of '{model.name}': {text}", PythonCallbackWarning, stacklevel=2)
    by_steps = tau is None or setup.tau_each
    checked_starts = model.coordinates.quaternions or model.constraints
    if plain and by_steps and stepper.kernel is not None and not checked_starts:
        prepare(model, integrator, setup.tau_each, stepper.kernel)
    parts = asked.start()
    with enough_memory("rollout", f"trajectories {lead} of {count // between} states"):
        results, not_finite, residual = _run(stepper, parts, lead, count, between, out)
    if not_finite:
        warn_not_finite("rollout", model, results[0], results[1], h * between)
    warn_residual("rollout", model, residual)
    return results


@dataclass(frozen=True)
class Asked:
    """What a rollout is asked for, checked."""

    setup: Setup
    arrays: dict[str, Array]
    lead: Shape
    dt: float
    steps: int
    every: int

    def start(self) -> list[Array]:
        """Return the parts of the states at the start."""
        return self.setup.start(self.arrays["q0"], self.arrays["v0"], self.arrays.get("x0"))


def asked_for(
    caller: str,
    model: Model,
    given: Sequence[Any],
    *,
    dt: float,
    steps: int,
    integrator: str,
    compensated: bool = False,
    every: int = 1,
    control: Any = None,
    hold: bool = False,
    compiled: bool | None = None,
    f_ext_frame: str = "world",
    limits: Any = None,
    contacts: Ground | None = None,
    events: None = None,
    method: str | None = None,
    stabilize: str | float | None = None,
    dtype: str = "float64",
    backend: str | None = None,
) -> Asked:
    """Check what a rollout is asked for; the keywords are those of `rollout`.

    The caller is the public function, for messages; given are q0, v0, tau, parameters, x0, f_ext
    and inertias.
    """
    check_fixed_step(caller, integrator)
    check_no_events(caller, events)
    q0, v0, tau, parameters, x0, f_ext, inertias = given
    if x0 is None:
        x0 = declared(control, "x0")
    has = {"control": control is not None, "parameters": parameters, "x0": x0, "f_ext": f_ext}
    check_shared(caller, model, method, hold, compiled, backend, **has)
    choice(caller, "compensated", (True, False), compensated)
    choice(caller, "dtype", ("float64", "float32"), dtype)
    check_force_frame(caller, f_ext, f_ext_frame)
    h = step_length(caller, dt)
    check_rate(caller, control, bool(hold), h)
    idle = {"method": method is not None, "compensated": bool(compensated)}
    scene = touching(caller, model, contacts, integrator, h, **idle)
    count, between = step_count(caller, "steps", steps), step_count(caller, "every", every)
    if inertias is None:
        refuse_singular(model)
    forces = open_loop_forces(caller, model, tau, count)
    arrays, lead = states_of(
        caller,
        model,
        q0,
        v0,
        tau=forces,
        parameters=vector(caller, "parameters", parameters, "parameters of the controller"),
        x0=vector(caller, "x0", x0, "states of the controller"),
        f_ext=wrenches(model, f_ext),
        inertias=inertial_parameters(model, inertias),
    )
    refuse_negative_masses(caller, arrays)
    closed_start(caller, model, arrays)
    x = arrays.get("x0")
    nx = 0 if x is None else x.shape[-1]
    law = None
    if control is not None:
        law = control_callback(model, control, arrays.get("parameters"), nx, caller)
    stops, gains = stops_of(caller, model, limits, arrays["q0"], arrays.get("inertias"))
    setup = Setup(
        caller,
        model,
        integrator,
        bool(compensated),
        law,
        force_callback(model, f_ext, caller) if callable(f_ext) else None,
        arrays.get("parameters"),
        arrays.get("inertias"),
        arrays.get("f_ext"),
        f_ext_frame,
        stops,
        gains,
        arrays.get("tau"),
        forces is not None and len(forces.shape) == 2,
        bool(hold),
        backend,
        method,
        compiled,
        stabilization=stabilization_of(caller, model, stabilize),
        contacts=scene,
        dtype=str(dtype),
    )
    return Asked(setup, arrays, lead, h, count, between)


def _run(
    stepper: StepRunner,
    parts: Sequence[Array],
    lead: Shape,
    steps: int,
    every: int,
    out: tuple[Array, ...] | None,
) -> tuple[tuple[Array, ...], bool, float]:
    """Take all steps of all rows.

    Return also whether some state may be not finite, and the residual of the contact solver.
    """
    setup = stepper.setup
    kept = len(parts) - setup.compensated - (setup.contacts is not None)
    shapes = [(*lead, steps // every, n) for n in setup.carried]
    times = step_times(steps, stepper.dt)
    if stepper.kernel is not None:
        if out is not None:
            out = (*out, *(np.empty(shape, setup.dtype) for shape in shapes[kept:]))
        arrays = setup.arrays(parts, stepper.dt, times)
        results, not_finite = run_scan(stepper.kernel, arrays, lead, steps, every, out)
        written = tuple(results if out is None else out)
        return written[:kept], not_finite, _residual(setup, written[-1])
    found = tuple(map(np.empty, shapes[:kept])) if out is None else out
    state = np.concatenate([np.broadcast_to(x, (*lead, x.shape[-1])) for x in parts], -1)
    tau = setup.tau if setup.tau_each else None
    with np.errstate(all="ignore"):
        for k in range(steps):
            push = None if tau is None else tau[..., k, :]
            state = stepper.advance(float(times[k, 0]), stepper.dt, state, push)
            if (k + 1) % every == 0:
                for result, part in zip(found, setup.parts(state), strict=False):
                    result[..., (k + 1) // every - 1, :] = part
    return found, True, _residual(setup, state[..., None, -1:])


def _residual(setup: Setup, carried: Array) -> float:
    """Return the largest residual of all rows, of the part of states that holds it."""
    if setup.contacts is None or not carried.size:
        return 0.0
    return float(np.nanmax(carried[..., -1, 0], initial=0.0))


def _check_out(
    out: Any, shapes: Sequence[Shape], arguments: Mapping[str, Array], dtype: str
) -> None:
    """Refuse results that are not plain arrays of the right shapes, apart from all others."""
    expected = f"{dtype} arrays in C order, of shapes {' and '.join(map(str, shapes))}"
    fix = "pass (numpy.empty(...), numpy.empty(...)), one for each result"
    if not isinstance(out, tuple) or len(out) != len(shapes):
        raise ShapeError("rollout", "out", expected, type(out).__name__, fix)
    for array, shape in zip(out, shapes, strict=True):
        plain = isinstance(array, np.ndarray) and array.dtype == dtype
        if not (plain and array.shape == shape and array.flags.carray):
            raise ShapeError("rollout", "out", expected, getattr(array, "shape", array), fix)
    if share_memory(arguments.values(), out):
        apart = "arrays apart from the arguments and from each other"
        raise OptionError("rollout", "out", apart, "arrays that share memory")


def warn_not_finite(caller: str, model: Model, q: Array, v: Array, between: float) -> None:
    """Warn of trajectories that end outside the finite numbers, with time and joint of the first.

    To be called by the public function.  States are (..., steps, n), so many seconds apart.
    """
    if not q.size or (np.isfinite(q[..., -1, :]).all() and np.isfinite(v[..., -1, :]).all()):
        return
    bad_q, bad_v = ~np.isfinite(q), ~np.isfinite(v)
    bad = bad_q.any(axis=-1) | bad_v.any(axis=-1)
    rows = bad.any(axis=-1)
    first = tuple(int(k) for k in np.argwhere(bad)[0])
    # velocities usually overflow first; a long step can overflow q alone
    fast = bool(bad_v[first].any())
    place = int(np.argmax(bad_v[first] if fast else bad_q[first]))
    names = model.coordinates.v_names if fast else model.coordinates.q_names
    warnings.warn(
        f"{caller} of '{visible(model.name)}': {int(rows.sum())} of {rows.size} trajectories leave"
        f" the finite numbers; first joint '{visible(names[place])}' of row {first[:-1]} by "
        f"t = {(first[-1] + 1) * between:.6g} s",
        NonFiniteStateWarning,
        stacklevel=3,
    )
