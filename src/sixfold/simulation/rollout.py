"""`sf.rollout`: many trajectories at once, the time loop inside one kernel."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import import_module
from itertools import combinations
from typing import Any, Protocol, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.choices import FixedStep, Precision, RolloutDevice
from sixfold.errors import (
    NonFiniteStateWarning,
    NotApplicableError,
    OptionError,
    PythonCallbackWarning,
    ShapeError,
    visible,
)
from sixfold.model import Model
from sixfold.runtime import (
    KERNELS,
    Call,
    call_on_dask_or_xarray,
    enough_memory,
    is_container,
    run_scan,
    threads_for,
    while_alive,
)
from sixfold.simulation.arguments import (
    check_fixed_step,
    choice,
    normalise_quaternions,
    refuse_idle,
    step_count,
    step_length,
)
from sixfold.simulation.contact.scene import warn_residual
from sixfold.simulation.step import Prepared, Setup, StepRunner, prepare, stepper_of
from sixfold.simulation.system import (
    FIELDS,
    System,
    SystemOptions,
    is_default,
    refuse_fields,
    system_of,
)

CACHED_STEPS = 10_000  #: Largest number of steps whose times are cached.


class Runs(Protocol):
    """Interface of a kernel; see `sixfold.compiler.llvm.ScanKernel`."""

    @property
    def operations(self) -> int:
        """Operations of a step, roughly."""

    def run(
        self, arrays: Sequence[Array], strides: Sequence[int], rows: int, steps: int, every: int
    ) -> bool:
        """Run all steps of all rows; return whether any state is not finite in the end."""


_DOUBLE = np.dtype(np.float64)
#: Kernels of plain calls, each with the sizes of a state, by the identity of the model or system,
#: the integrator, and whether there are joint forces.
_PREPARED: dict[tuple[int, Any, bool], tuple[Any, Runs, tuple[int, ...]]] = {}


def keep_kernel(system: System, setup: Setup, forces: bool, kernel: Runs | None) -> None:
    """Keep the kernel of q0, v0 and perhaps joint forces by steps for the next such call."""
    model = system.model
    by_steps = forces == setup.tau_each
    height = None if system.contacts is None else system.contacts.height
    own = setup.given.keys() - {"tau"}
    read_again = setup.control or setup.force or own or setup.states or callable(height)
    known = setup.dtype == "float64" and not setup.compensated and by_steps
    if kernel is None or read_again or model.constraints or not known:
        return
    # a model as such is described by its default system, which does not outlive the call
    owner = model if "_origin" not in vars(system) and is_default(system) else system
    place = (id(owner), setup.integrator, forces)
    entry = (while_alive(owner, _PREPARED, place), kernel, setup.state_sizes)
    KERNELS.short_cut(kernel, _PREPARED, place, entry)


def run_kept_kernel(
    system: System | Model,
    q0: Any,
    v0: Any,
    tau: Any,
    dt: Any,
    steps: Any,
    integrator: Any,
    every: Any,
    out: Any,
) -> tuple[Array, ...] | None:
    """Return a rollout of plain arrays, one row a trajectory; None where it is not prepared."""
    if (type(integrator), type(dt), type(steps), type(every)) != (str, float, int, int):
        return None
    place = (id(system), integrator, tau is not None)
    _, kernel, sizes = _PREPARED.get(place, (None, None, ()))
    if kernel is None or type(q0) is not np.ndarray or q0.ndim != 2:
        return None
    rows, (nq, nv) = len(q0), sizes[:2]
    if not (
        rows
        and 0 < dt < math.inf
        and steps > 0
        and every > 0
        and threads_for(kernel, rows, steps) == 1
    ):
        return None
    # everything below is a check that must hold before the kernel may run unseen
    kept = steps // every
    if out is None:
        out = (np.empty((rows, kept, nq)), np.empty((rows, kept, nv)))
    elif type(out) is not tuple or len(out) != 2:
        return None
    inputs = [q0, v0] if tau is None else [q0, v0, tau]
    by_steps = [(rows, kept, nq), (rows, kept, nv)]
    if tau is not None:
        by_steps.insert(0, (rows, steps, nv))
    shapes = [(rows, nq), (rows, nv), *by_steps]
    for x, shape in zip((*inputs, *out), shapes, strict=True):
        if type(x) is not np.ndarray or x.dtype is not _DOUBLE or x.shape != shape:
            return None
        if not x.flags.carray:
            return None
    if share_memory(inputs, out) or not all(np.isfinite(x).all() for x in inputs):
        return None
    model = system if isinstance(system, Model) else system.model
    model.refuse_changed_joints("rollout")
    q0 = normalise_quaternions("rollout", model, q0)
    # with contacts, the largest residual of the solver follows q and v
    first = [np.zeros(n) for n in sizes[2:]]
    last = [np.empty((rows, kept, n)) for n in sizes[2:]]
    # the order of a scan: state, constants, times, forces; then its outputs
    arrays = [q0, v0, *first, np.array([dt]), step_times(steps, dt), *inputs[2:], *out, *last]
    strides = [8 * nq, 0, 8 * nv, 0, *[0] * (2 * len(first)), 0, 0, 0, 8]
    for _, count, size in (*by_steps, *(x.shape for x in last)):
        strides += [8 * count * size, 8 * size]
    if kernel.run(arrays, strides, rows, steps, every):
        warn_not_finite("rollout", model, out[0], out[1], dt * every, stacklevel=4)
    for residual in last:
        if residual.size:
            warn_residual("rollout", model, float(np.nanmax(residual[:, -1], initial=0.0)), 4)
    return out


def step_times(steps: int, dt: float) -> Array:
    """Return when each step begins, as a read-only column."""
    return _cached_times(steps, dt) if steps <= CACHED_STEPS else _times(steps, dt)


def _times(steps: int, dt: float) -> Array:
    column = (np.arange(steps) * dt)[:, None]
    column.flags.writeable = False
    return column


_cached_times = lru_cache(maxsize=16)(_times)


def share_memory(inputs: Iterable[Array], results: Sequence[Array]) -> bool:
    """Return whether a result may share memory with an argument or another result."""
    pairs = [*combinations(results, 2), *((x, y) for x in inputs for y in results)]
    return any(np.may_share_memory(x, y) for x, y in pairs)


ARRAYS = ("q0", "v0", "tau", "parameters", "x0", "f_ext", "inertias")


def rollout_in_containers(
    rollout: Callable[..., Any],
    system: System,
    values: Sequence[Any],
    options: Mapping[str, Any],
    out: Any,
) -> Any:
    """Return a rollout some of whose arrays are Dask's or xarray's, in arrays of that kind.

    Args:
        rollout: the public function.
        system: what moves.
        values: those of ARRAYS.
        options: how steps are taken.
        out: refused.
    """
    tau, model = values[ARRAYS.index("tau")], system.model
    cores = {
        "q0": ("nq",),
        "v0": ("nv",),
        "tau": ("nv",) if getattr(tau, "ndim", 1) == 1 else ("time", "nv"),
        "parameters": ("parameter",),
        "x0": ("x_coordinate",),
        "f_ext": ("nb", "6"),
        "inertias": ("nb", "10"),
    }
    results = [("q", ("time", "nq")), ("v", ("time", "nv"))]
    if system.start_states is not None:
        results.append(("x", ("time", "x_coordinate")))
    run = partial(_on_arrays, rollout, system, dict(options))
    call = Call("rollout", run, cores, model, results, _result_times(options))
    return call_on_dask_or_xarray(call, values, out)


def _on_arrays(
    rollout: Callable[..., Any], system: System, options: dict[str, Any], *values: Any
) -> Any:
    """Take the steps of a chunk of states."""
    starts, own = values[:3], dict(zip(ARRAYS[3:], values[3:], strict=True))
    return rollout(replace(system, **own), *starts, **options)


def _result_times(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return when the states of the result are reached; nothing where the options are wrong."""
    dt, steps, every = (options[name] for name in ("dt", "steps", "every"))
    if not all(isinstance(n, (int, np.integer)) and n > 0 for n in (steps, every)):
        return {}
    if not isinstance(dt, (int, float)):
        return {}
    return {"time": np.arange(1, steps // every + 1) * every * dt}


def rollout(
    system: System | Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    steps: int,
    integrator: FixedStep = "semi_implicit_euler",
    every: int = 1,
    dtype: Precision = "float64",
    out: tuple[Array, ...] | None = None,
    device: RolloutDevice = "cpu",
    **options: Unpack[SystemOptions],
) -> tuple[Array, ...]:
    """Return the states that many starts pass through, all computed in one kernel.

    It takes the steps of `simulate` and records less: no forces, energies or events.  Leading axes
    of all arrays broadcast; each row of the batch is a trajectory of its own, and its bits do not
    depend on the others.  Batches are handed to threads.

    Args:
        system: what moves, a `System`, or a model with the fields of a system as keywords:
            `rollout(model, q0, v0, dt=1e-3, steps=100, control=law)`.  Joint forces of its
            controller are added to tau.
        q0: configurations at the start, shape (..., nq); None for the neutral one.
        v0: velocities at the start, shape (..., nv); None for rest.
        tau: joint forces: (..., steps, nv) for each step, (..., 1, nv) or (nv,) for all of them.
        dt: length of a step [s].
        steps: how many steps.
        integrator: "semi_implicit_euler", "rk4", "lie_rk4" or "midpoint".
        every: keep one state out of this many.
        dtype: precision of steps and results, "float64" or "float32", which takes about half the
            time and keeps about six digits of a step.
        out: arrays of this dtype in C order, of the results' shapes, to write the results to.
        device: "cpu", or "opencl" for an OpenCL device (needs pyopencl), where each trajectory is a
            work item; its bits are the same.
        options: fields of `System`.  A controller that cannot be compiled runs as Python, row by
            row, and one warning says so.

    Returns:
        q, shape (..., steps // every, nq), and v, shape (..., steps // every, nv); with x0 also x,
        shape (..., steps // every, nx).  A trajectory that becomes infinite or NaN is NaN from
        there on, and one warning names time and joint.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if an option has no effect with the others.
        CallbackError: if a function of yours gives no usable numbers.
        SingularModelError: if some joint has no inertia behind it.
        TooLargeError: if contact couples more bodies than can be compiled in a minute or so.

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
    # arrays have no single answer to ==
    on_cpu = isinstance(device, str) and device == "cpu"
    plain = on_cpu and isinstance(dtype, str) and dtype == "float64"
    if plain and not options:
        found = run_kept_kernel(system, q0, v0, tau, dt, steps, integrator, every, out)
        if found is not None:
            return found
    system = system_of(rollout, system, options)
    if plain and options:
        found = run_kept_kernel(system, q0, v0, tau, dt, steps, integrator, every, out)
        if found is not None:
            return found
    model = system.model
    # arrays of Dask or xarray: chunk by chunk, in this function
    given = (q0, v0, tau, system.parameters, system.x0, system.f_ext, system.inertias)
    if any(map(is_container, given)):
        how = {"dt": dt, "steps": steps, "integrator": integrator, "every": every, "dtype": dtype}
        return rollout_in_containers(rollout, system, given, how, out)
    if not on_cpu:
        choice("rollout", "device", ("cpu", "opencl"), device)
        return _on_device(system, (q0, v0, tau), out, dt, steps, integrator, every, dtype)
    request = parse_rollout(
        "rollout",
        system,
        (q0, v0, tau),
        dt=dt,
        steps=steps,
        integrator=integrator,
        every=every,
        dtype=dtype,
    )
    setup, arrays, lead = request.setup, request.arrays, request.lead
    h, count, between, nx = request.dt, request.steps, request.every, setup.states
    if out is not None:
        sizes = [model.nq, model.nv, *([nx] if nx else [])]
        _check_out(out, [(*lead, count // between, n) for n in sizes], arrays, setup.dtype)
    stepper = stepper_of(setup, h, record=False)
    if setup.dtype != "float64" and stepper.kernel is None:
        why = "; ".join(stepper.notes) or "backend 'numpy'"
        where = f"steps that are not compiled ({why})"
        raise NotApplicableError(f"rollout: dtype '{setup.dtype}'", where, "leave it out")
    if stepper.notes and system.compiled is None:
        text = "; ".join(stepper.notes)
        warnings.warn(f"rollout of '{model.name}': {text}", PythonCallbackWarning, stacklevel=2)
    keep_kernel(system, setup, tau is not None, stepper.kernel)
    parts = request.start()
    with enough_memory("rollout", f"trajectories {lead} of {count // between} states"):
        results, not_finite, residual = _run(stepper, parts, lead, count, between, out)
    if not_finite:
        warn_not_finite("rollout", model, results[0], results[1], h * between)
    warn_residual("rollout", model, residual)
    return results


@dataclass(frozen=True)
class RolloutRequest(Prepared):
    """The checked arguments of a rollout."""

    dt: float
    steps: int
    every: int


def parse_rollout(
    caller: str,
    system: System,
    given: Sequence[Any],
    *,
    dt: float,
    steps: int,
    integrator: str,
    every: int,
    dtype: str,
) -> RolloutRequest:
    """Check the arguments of a rollout; given are q0, v0 and tau."""
    check_fixed_step(caller, integrator)
    choice(caller, "dtype", ("float64", "float32"), dtype)
    h = step_length(caller, dt)
    count, between = step_count(caller, "steps", steps), step_count(caller, "every", every)
    q0, v0, tau = given
    found = prepare(
        caller,
        system,
        q0,
        v0,
        integrator=integrator,
        dt=h,
        compensated=bool(system.compensated),
        tau=tau,
        steps=count,
        dtype=dtype,
    )
    return RolloutRequest(found.setup, found.arrays, found.lead, h, count, between)


def parse_device_rollout(
    caller: str,
    model: Model,
    given: Sequence[Any],
    *,
    dt: float,
    steps: int,
    integrator: str,
    every: int = 1,
    dtype: str = "float64",
    **options: Any,
) -> RolloutRequest:
    """Check the arguments of a rollout on another device.

    Given are q0, v0, tau, parameters, x0, f_ext and inertias; options are other fields of `System`.
    """
    names = ("parameters", "x0", "f_ext", "inertias")
    system = System(model, **dict(zip(names, given[3:], strict=True)), **options)
    how: dict[str, Any] = {"dt": dt, "steps": steps, "every": every}
    return parse_rollout(caller, system, given[:3], integrator=integrator, dtype=dtype, **how)


def _on_device(
    system: System,
    given: tuple[Any, Any, Any],
    out: Any,
    dt: float,
    steps: int,
    integrator: str,
    every: int,
    dtype: str,
) -> tuple[Array, ...]:
    """Run a rollout on an OpenCL device."""
    where = "device 'opencl'"
    refuse_idle("rollout", "out", out is not None, where, "leave it out")
    reason = where, "leave it out, or use the CPU"
    refuse_fields("rollout", system, {"method": reason, "compensated": reason, "backend": reason})
    # devices lie above simulation in the layers
    run = import_module("sixfold.interop.opencl").opencl_rollout
    names = [name for name in FIELDS if name not in ("method", "compensated", "backend")]
    options = {name: getattr(system, name) for name in names}
    how = {"dt": dt, "steps": steps, "integrator": integrator, "every": every, "dtype": dtype}
    found: tuple[Array, ...] = run(system.model, *given, **how, **options)
    return found


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
    shapes = [(*lead, steps // every, n) for n in setup.state_sizes]
    times = step_times(steps, stepper.dt)
    if stepper.kernel is not None:
        if out is not None:
            out = (*out, *(np.empty(shape, setup.dtype) for shape in shapes[kept:]))
        arrays = setup.arrays(parts, stepper.dt, times)
        results, not_finite = run_scan(stepper.kernel, arrays, lead, steps, every, out)
        written = tuple(results if out is None else out)
        return written[:kept], not_finite, _residual(setup, written[-1])
    found = tuple(map(np.empty, shapes[:kept])) if out is None else out
    # no kernel: NumPy takes the steps of all rows, one after the other
    state = np.concatenate([np.broadcast_to(x, (*lead, x.shape[-1])) for x in parts], -1)
    tau = setup.given["tau"] if setup.tau_each else None
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


def warn_not_finite(
    caller: str, model: Model, q: Array, v: Array, between: float, stacklevel: int = 3
) -> None:
    """Warn of trajectories that end outside the finite numbers, with time and joint of the first.

    To be called by the public function.  States are (..., steps, n), `between` seconds apart.
    """
    if not q.size or (np.isfinite(q[..., -1, :]).all() and np.isfinite(v[..., -1, :]).all()):
        return
    # the first state that is not finite, in the order of rows and times
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
        stacklevel=stacklevel,
    )
