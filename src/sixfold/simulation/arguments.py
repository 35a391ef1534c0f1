"""Arguments of `simulate`, `rollout` and others, checked before the first step."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.choices import Solver, StepBackend
from sixfold.errors import (
    NotApplicableError,
    NumberError,
    OptionError,
    StateError,
    TooLargeError,
    real_number,
    visible,
    whole_number,
)
from sixfold.model import Model
from sixfold.model.validate import beyond_turns
from sixfold.quantities import readings
from sixfold.quantities.configurations import neutral
from sixfold.quantities.constraints import constraint_gaps, constraint_jacobian, project
from sixfold.runtime import (
    FEWER_STATES,
    Argument,
    checked_array,
    enough_memory,
    in_order,
    leading_shape,
    names_along,
    refuse_masses_below_zero,
)
from sixfold.runtime.quantity import FORCE_FRAMES, refuse_method_with_couplings
from sixfold.simulation.callbacks import static_attribute
from sixfold.simulation.integrators import INTEGRATORS


class Stabilization(NamedTuple):
    """What keeps constraints from drifting apart."""

    #: Gaps are pulled shut like exp(-rate t) by the constraint forces (Baumgarte 1972).
    rate: float | None = None
    projects: bool = False  #: States are projected after each step.


NO_STABILIZATION = Stabilization()  #: For models without constraints, and for those that may drift.


SOLVERS: tuple[str, ...] = get_args(Solver)
ADAPTIVE = "solve_ivp"  #: The first of the solvers, by the name of SciPy's function.
CHOICES = (*INTEGRATORS, ADAPTIVE, *SOLVERS)
METHODS = tuple(readings.METHODS)  #: Methods of forward dynamics.
DEFAULT_TOLERANCES = (1e-9, 1e-11)  #: Relative and absolute tolerance of adaptive methods.
BACKENDS: tuple[str, ...] = get_args(StepBackend)


def choice(function: str, option: str, choices: Iterable[Any], got: Any) -> None:
    """Refuse anything but one of the choices."""
    if not isinstance(got, (str, bool, type(None))) or got not in tuple(choices):
        raise OptionError(function, option, tuple(choices), got)


def refuse_idle(function: str, option: str, given: bool, where: str, fix: str) -> None:
    """Refuse an option that would have no effect."""
    if given:
        raise NotApplicableError(f"{function}: option '{option}'", where, fix)


def check_fields(
    function: str, model: Model, method: Any, hold: Any, compiled: Any, backend: Any, **has: Any
) -> None:
    """Check what `simulate` and `rollout` have in common.

    Args:
        function: the caller.
        model: the robot.
        method: of forward dynamics.
        hold: whether the controller is evaluated once a step.
        compiled: whether to insist on compiled callbacks, or on Python.
        backend: of the steps.
        has: the controller and what goes with it.
    """
    if isinstance(method, str) and method in SOLVERS:
        fix = f"write integrator={method!r}: method is that of forward dynamics"
        raise NotApplicableError(f"{function}: method {method!r}", "forward dynamics", fix)
    choice(function, "method", (None, *METHODS), method)
    choice(function, "hold", (True, False), hold)
    choice(function, "compiled", (None, True, False), compiled)
    choice(function, "backend", (None, *BACKENDS), backend)
    where, fix = "a motion without a controller", "pass control=..., or leave it out"
    for option in ("parameters", "x0"):
        refuse_idle(function, option, has[option] is not None and not has["control"], where, fix)
    refuse_idle(function, "hold", hold and not has["control"], where, fix)
    calls = bool(has["control"]) or callable(has.get("f_ext"))
    refuse_idle(function, "compiled", compiled is not None and not calls, where, fix)
    refuse_idle(
        function,
        "compiled",
        compiled is True and backend == "numpy",
        "backend 'numpy', which runs everything as Python",
        "leave one of the two out",
    )
    refuse_method_with_couplings(function, model, method)


def check_rate(function: str, control: Any, hold: bool, dt: float) -> None:
    """Refuse a controller whose states advance in another way than those of this run."""
    missing = object()
    rate = static_attribute(control, "sample_time", missing)
    if rate is missing or static_attribute(control, "x0") is None:
        return
    if hold and rate is None:
        where = "a controller with a rate dx/dt"
        fix = "leave hold out, or give the controller sample_time=dt"
        raise NotApplicableError(f"{function} with hold=True", where, fix)
    if rate is not None and not (hold and math.isclose(rate, dt, rel_tol=1e-9)):
        where = f"steps of dt = {dt:g} s, {'with' if hold else 'without'} hold=True"
        fix = f"pass dt={rate:g} and hold=True, or another sample_time"
        raise NotApplicableError(f"a controller with sample_time = {rate:g} s", where, fix)


def check_fixed_step(function: str, integrator: Any) -> None:
    """Check the integrator of `rollout`, which takes steps of fixed length."""
    if isinstance(integrator, str) and integrator in (ADAPTIVE, *SOLVERS):
        fix = f"choose one of {', '.join(INTEGRATORS)}, or use sixfold.simulate"
        where = f"{function}, whose steps have the length dt"
        raise NotApplicableError(f"integrator '{integrator}'", where, fix)
    choice(function, "integrator", INTEGRATORS, integrator)


def check_steps(integrator: Any, hold: bool, compensated: Any, tolerances: Any) -> dict[str, Any]:
    """Check the integrator of `simulate` and return the settings of an adaptive one."""
    choice("simulate", "integrator", CHOICES, integrator)
    if integrator in INTEGRATORS:
        where = f"integrator '{integrator}', whose steps have the length dt"
        fix = "leave it out, or choose integrator='solve_ivp'"
        refuse_idle("simulate", "tolerances", tolerances is not None, where, fix)
        return {}
    where, fix = f"integrator '{integrator}'", "choose an integrator with fixed steps"
    refuse_idle("simulate", "hold", hold, where, fix)
    refuse_idle("simulate", "compensated", compensated is not None, where, fix)
    words = "(relative, absolute), two numbers between 0 and 1"
    if tolerances is None:
        tolerances = DEFAULT_TOLERANCES
    try:
        relative, absolute = tolerances
    except (TypeError, ValueError):
        raise OptionError("simulate", "tolerances", words, tolerances) from None
    for value in (relative, absolute):
        real_number("simulate", "tolerances", value, words, lambda x: 0 < x < 1)
    solver = SOLVERS[0] if integrator == ADAPTIVE else integrator
    return {"solver": solver, "rtol": float(relative), "atol": float(absolute)}


def check_force_frame(function: str, f_ext: Any, f_ext_frame: Any) -> None:
    """Check the frame of external forces."""
    choice(function, "f_ext_frame", FORCE_FRAMES, f_ext_frame)
    idle = f_ext is None and f_ext_frame != "world"
    where = "a motion without external forces"
    refuse_idle(function, "f_ext_frame", idle, where, "pass f_ext=..., or leave it out")


EULER: Final = "semi_implicit_euler"


def constant_wrenches(model: Model, f_ext: Any) -> Argument | None:
    """Return constant external forces as an argument; None for a function, or for none."""
    if f_ext is None or callable(f_ext):
        return None
    labels = (names_along(model, "nb"), names_along(model, "6"))
    meaning = "(nb, 6): one force (n; f) for each body"
    return Argument(f_ext, (model.nb, 6), meaning, labels=labels)


def vector(function: str, name: str, given: Any, meaning: str) -> Argument | None:
    """Return an array (..., n) with n >= 1 as an argument; a number counts as one of length 1."""
    if given is None:
        return None
    try:
        shape = np.shape(given)
    except ValueError:
        shape = (0,)
    size = shape[-1] if shape else 1
    if not size:
        where = f"{function}: argument '{name}'"
        raise NumberError(where, "an array (..., n)", repr(given), "leave it out if there are none")
    return Argument(given if shape else np.reshape(given, 1), (size,), meaning)


def open_loop_forces(caller: str, model: Model, tau: Any, steps: int) -> Argument | None:
    """Return joint forces as an argument: an array for each step, or one for all of them."""
    if tau is None:
        return None
    tau = in_order(caller, "tau", tau, [model.coordinates.v_names])
    shape: Shape = (steps, model.nv)
    with contextlib.suppress(Exception):  # what is no array is refused later
        if np.ndim(tau) == 1:
            shape = (model.nv,)
        elif np.ndim(tau) > 1 and np.shape(tau)[-2] == 1:
            tau, shape = np.asarray(tau)[..., 0, :], (model.nv,)
    return Argument(tau, shape, "(steps, nv) for each step; (1, nv) or (nv,) for all of them")


def inertial_parameters(model: Model, inertias: Any) -> Argument | None:
    """Return inertial parameters of all bodies as an argument."""
    if inertias is None:
        return None
    meaning = "(nb, 10): inertial parameters of each body"
    return Argument(inertias, (model.nb, 10), meaning, labels=(model.body_names, None))


def refuse_negative_masses(function: str, arrays: Mapping[str, Array]) -> None:
    """Refuse inertial parameters with a negative mass."""
    if "inertias" in arrays:
        refuse_masses_below_zero(function, arrays["inertias"][..., 0])


MAX_START_GAP = 1e-4  #: Largest gap [m or rad] at the start that is closed without a word.
#: Largest rate of a gap at the start, of the largest velocity, that is taken away in silence.
MAX_START_RATE = 1e-3
#: Solvers of "solve_ivp" that begin each step anew, so that a state may be projected between.
ONE_STEP = ("DOP853", "RK45", "RK23")
DEFAULT_RATE = 20.0  #: Baumgarte's rate [1/s] for solvers that keep a history.


def stabilization_of(
    function: str, model: Model, stabilize: Any, solver: str | None = None
) -> Stabilization:
    """Return what keeps the constraints of a model, or raise if the option is wrong."""
    if not model.constraints:
        if stabilize is not None:
            where = f"model '{model.name}', which has no constraints"
            raise NotApplicableError(f"{function}: option 'stabilize'", where, "leave it out")
        return NO_STABILIZATION
    history = solver is not None and solver not in ONE_STEP
    if stabilize is None:
        return Stabilization(DEFAULT_RATE) if history else Stabilization(projects=True)
    if isinstance(stabilize, str) and stabilize == "project":
        if history:
            where, fix = f"solver '{solver}', which keeps a history", f"choose {ONE_STEP[0]}"
            raise NotApplicableError(f"{function}: stabilize='project'", where, fix)
        return Stabilization(projects=True)
    words = '"project", or a rate >= 0 [1/s]'
    rate = real_number(function, "stabilize", stabilize, words, lambda x: 0 <= x < 1e9)
    return Stabilization(rate or None)


def satisfy_constraints(function: str, model: Model, arrays: dict[str, Array]) -> None:
    """Let q0 and v0 satisfy the constraints; refuse those that are far from it."""
    if not model.constraints:
        return
    q, v = arrays["q0"], arrays["v0"]
    lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    gaps = np.abs(constraint_gaps(model, q))
    _refuse(function, model, "q0", gaps, MAX_START_GAP, "is open by {:.3g} m or rad", "assemble")
    wide = np.broadcast_to(v, (*lead, model.nv))
    rates = np.abs((constraint_jacobian(model, q) @ wide[..., None])[..., 0])
    limit = MAX_START_RATE * np.abs(v).max(initial=0.0)
    _refuse(function, model, "v0", rates, limit, "opens at {:.3g} m/s or rad/s", "project")
    arrays["q0"], arrays["v0"] = project(model, np.broadcast_to(q, (*lead, model.nq)), wide)


def _refuse(
    function: str, model: Model, name: str, found: Array, limit: float, words: str, use: str
) -> None:
    bad = found > limit
    if not bad.any():
        return
    row = int(np.unravel_index(int(np.argmax(found)), found.shape)[-1])
    call = {"assemble": "q0 = sixfold.loops.assemble(model, q0)"}.get(
        use, "q0, v0 = sixfold.loops.project(model, q0, v0)"
    )
    raise StateError(
        f"{function}: argument '{name}', constraint '{visible(model.constraint_rows[row])}'",
        "a start that satisfies the constraints",
        words.format(float(found.max())),
        call,
    )


MAX_LENGTH_ERROR = 1e-6  #: Largest accepted difference of a quaternion's length from 1.

#: Largest difference of a normalised quaternion's length from 1, by rounding.
LENGTH_ROUNDING = 4 * float(np.finfo(float).eps)

#: More steps than this take days: probably a mistake in the units of dt or duration.
MAX_STEPS = 10**10

#: Most steps of one rollout, whose times are kept, 8 bytes each, and between two samples.
MAX_KERNEL_STEPS = 10**9


@dataclass(frozen=True)
class Grid:
    """The times of a simulation: whole steps, and a shorter last one if need be."""

    t0: float
    duration: float
    dt: float
    every: int

    steps: int = field(init=False)  #: Number of steps, the shorter last one included.
    uneven: float = field(init=False)  #: Length of the shorter last step; 0 if all are equal.

    def __post_init__(self) -> None:
        """Count the steps; a duration within rounding of a multiple of dt is one."""
        ratio = self.duration / self.dt
        whole = round(ratio)
        even = abs(ratio - whole) <= 1e-9 * max(1.0, ratio)
        steps = whole if even else math.floor(ratio) + 1
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "uneven", 0.0 if even else self.duration - (steps - 1) * self.dt)

    @property
    def samples(self) -> int:
        """Number of samples: the start, each `every` steps, and the end."""
        return 1 + -(-self.steps // self.every)

    def time(self, k: int) -> float:
        """Return the time after k steps."""
        return self.t0 + (self.duration if k == self.steps else k * self.dt)

    def length(self, k: int) -> float:
        """Return the length of step k, from 0."""
        return self.uneven if self.uneven and k == self.steps - 1 else self.dt


def grid_of(t0: Any, duration: Any, dt: Any, every: Any) -> Grid:
    """Return the times of a simulation, or raise if a number is wrong."""
    duration = real_number("simulate", "duration", duration, "a time >= 0 [s]", lambda x: x >= 0)
    t0 = real_number("simulate", "t0", t0, "a time [s]", lambda _: True)
    length, between = step_length("simulate", dt), step_count("simulate", "every", every)
    if duration / length > MAX_STEPS:
        words = f"a step of at least {duration / MAX_STEPS:.1g} s for this duration"
        raise OptionError("simulate", "dt", words, dt)
    return Grid(t0, duration, length, between)


def step_length(function: str, dt: Any) -> float:
    """Return the length of a step; refuse what is not a positive time."""
    return real_number(function, "dt", dt, "a time > 0 [s]", lambda x: x > 0)


def step_count(function: str, option: str, got: Any) -> int:
    """Return a number of steps; refuse what is not one."""
    return whole_number(function, option, got, 1, MAX_KERNEL_STEPS)


def states_of(
    function: str,
    model: Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    **others: Argument | None,
) -> tuple[dict[str, Array], Shape]:
    """Return finite arrays by name, q0 and v0 first, and their common leading shape.

    Arrays are neither copied nor broadcast where that can be avoided.  Quaternions whose length
    differs from 1 by more than rounding are normalised.
    """
    coordinates = model.coordinates
    q0 = neutral(model) if q0 is None else q0
    v0 = np.zeros(model.nv) if v0 is None else v0
    names = (coordinates.q_names,), (coordinates.v_names,)
    given = {
        "q0": Argument(q0, (model.nq,), "nq coordinates", labels=names[0]),
        "v0": Argument(v0, (model.nv,), "nv coordinates", labels=names[1]),
    } | {name: argument for name, argument in others.items() if argument is not None}
    arrays = {name: _floats(function, name, argument) for name, argument in given.items()}
    lead = leading_shape(function, given, arrays)
    rows = dict.fromkeys(("v0", "tau"), coordinates.v_names) | {"q0": coordinates.q_names}
    with enough_memory(function, f"states {lead}"):
        for name, array in arrays.items():
            _finite(function, name, array, rows.get(name, ()))
        arrays["q0"] = normalise_quaternions(function, model, arrays["q0"])
    return arrays, lead


def normalise_quaternions(function: str, model: Model, q0: Array) -> Array:
    """Return configurations with quaternions of length 1; refuse those of another length."""
    q = q0
    for joint, part in model.coordinates.quaternions:
        turns = q0[..., part]
        off = np.abs(np.sqrt((turns**2).sum(axis=-1)) - 1.0)
        if (off > MAX_LENGTH_ERROR).any():
            worst = turns.reshape(-1, 4)[int(np.argmax(off))]
            raise StateError(
                f"{function}: argument 'q0', joint '{joint}'",
                "a quaternion (x, y, z, w) of length 1",
                f"{worst.tolist()}, of length {float(np.linalg.norm(worst)):.6g}",
                "divide it by its length, or start from sixfold.neutral(model)",
            )
        if (off > LENGTH_ROUNDING).any():
            q = q0.copy() if q is q0 else q
            length = np.linalg.norm(turns, axis=-1, keepdims=True)
            q[..., part] = np.where(off[..., None] > LENGTH_ROUNDING, turns / length, turns)
    return q


def room_for(grid: Grid, lead: Shape, size: int, model: Model) -> None:
    """Refuse a run whose samples would not fit into memory."""
    numbers = grid.samples * max(1, int(np.prod(lead))) * (size + model.nq + 4 * model.nv + 3)
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        there = 16 << 30
    if 8 * numbers > 0.8 * there:
        raise OptionError(
            "simulate",
            "every",
            (f"at least {math.ceil(grid.every * 8 * numbers / (0.4 * there))} for this duration",),
            f"{grid.every}: {grid.samples} samples take {8 * numbers / 2**30:.1f} GiB",
        )


def _floats(function: str, name: str, argument: Argument) -> Array:
    array = checked_array(function, name, argument)
    try:
        return np.asarray(array, np.float64)
    except MemoryError as error:
        raise TooLargeError(function, f"argument '{name}': {error}", FEWER_STATES) from None
    except (TypeError, ValueError):
        where = f"{function}: argument '{name}' does not hold plain numbers"
        raise NumberError(
            where, "floats", f"dtype {array.dtype}", "convert it by astype(float)"
        ) from None


def _finite(function: str, name: str, array: Array, names: Sequence[str]) -> None:
    bad = ~np.isfinite(array)
    if bad.any():
        index = tuple(int(k) for k in np.argwhere(bad)[0])
        joint = f", joint '{names[index[-1]]}'" if names else ""
        raise StateError(
            f"{function}: argument '{name}' at {list(index)}{joint}",
            "finite numbers",
            array[index],
            "look for rows that failed, or divisions by zero, where it was computed",
        )


def degree_notes(model: Model, q0: Array) -> tuple[str, ...]:
    """Return a note for starts many turns beyond the limits of a joint.

    Args:
        model: the robot.
        q0: configurations, shape (..., nq).
    """
    found = []
    for free in model.coordinates.free:
        body, start = model.bodies[free.body], q0[..., free.q].reshape(-1, free.joint.nq)
        if not len(start):
            continue
        farthest = start[np.abs(start).argmax(axis=0), range(start.shape[1])]
        for k, angle in beyond_turns(body, farthest.tolist()):
            low, high = body.lower[k], body.upper[k]
            limits = f"its limits {low:.4g} to {high:.4g} rad"
            found.append(f"'{free.q_names[k]}' at {angle:.4g} rad, {limits}")
    if not found:
        return ()
    listed = "; ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
    return (f"many turns beyond the limits: {listed} (numpy.deg2rad converts degrees)",)
