"""`sf.devices.opencl_function` and `sf.devices.opencl_rollout`: functions and trajectories on an
OpenCL device.

A rollout has its loop over time inside the device's program, one trajectory a work item.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sixfold.arrays import Shape
from sixfold.choices import (
    Callback,
    DeviceMath,
    FixedStep,
    ForceFrame,
    ForceInput,
    Precision,
    Stabilization,
)
from sixfold.codegen.opencl import OPTIONS, function_source, rollout_source
from sixfold.errors import (
    ArgumentError,
    NotApplicableError,
    NumberError,
    OptionError,
    ShapeError,
    one_of,
)
from sixfold.interop.array_api import in_order, leading_shape, refuse_dtype
from sixfold.lazy import optional
from sixfold.model import Model
from sixfold.runtime import Argument, ArrayFunction, array_function, checked_array, require_model
from sixfold.simulation.contact.ground import Ground
from sixfold.simulation.joint_stops import JointStops
from sixfold.simulation.rollout import (
    RolloutRequest,
    parse_device_rollout,
    step_times,
    warn_not_finite,
)
from sixfold.simulation.step import stepper_of

GROUP = 64  # work items of a group
#: Elementary functions of a program: those of the kernels, in double, or the device's own.
MATH = ("kernel", "device")
MAX_PROGRAMS = 32  # programs of steps that are kept, built for their device
FUNCTION, ROLLOUT = "opencl_function", "opencl_rollout"
#: Arguments of a rollout that may be arrays on a device, in the order of `parse_device_rollout`.
GIVEN = ("q0", "v0", "tau", "parameters", "x0", "f_ext", "inertias")


# -- functions of many states


def opencl_function(
    function: Callable[..., Any],
    model: Model | None = None,
    *,
    inputs: Mapping[str, int | Shape] | None = None,
    math: DeviceMath = "kernel",
    device: Any = None,
) -> OpenclFunction:
    """Return a function of many states that runs on an OpenCL device, one state a work item.

    The program is the compiler's own graph: one statement an operation, products fused where the
    kernels fuse them, the same sine and cosine.  Results have the bits of the kernels of this
    machine (of `backend="unrolled"`, where a long tree has two forms).

    Args:
        function: one of sixfold's functions, such as `sixfold.inverse_dynamics`, with its options
            bound by `functools.partial` if there are any; or a function of arrays for one state, as
            `sixfold.compile` takes it.
        model: the robot; gives the sizes of arguments named q, v, a, tau and f_ext.
        inputs: sizes of other arguments, or of optional ones to be included, by name.
        math: "kernel" for the sines, logarithms and so on of the kernels, which are computed in
            double for the same bits; "device" for the device's own, in the precision of the arrays,
            which agree to some units in the last place.
        device: a `pyopencl.Device`; default: a graphics card if there is one, else any.

    Returns:
        A function of the arrays, by place or by name.  NumPy arrays are copied to the device and
        results back; arrays of `pyopencl.array` with equal leading axes stay where they are, and so
        do the results, which are computed on the queue of the first array after the call.

    Raises:
        NotApplicableError: if pyopencl is not installed, or no device has double precision, which
            only float32 arrays with math="device" can do without.
        ShapeError, NumberError: in a call, if an array does not fit.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.load("double_pendulum")
        >>> q, v = sf.random_state(model, 1000, seed=1)
        >>> on_device = sf.devices.opencl_function(sf.inverse_dynamics, model)
        >>> np.allclose(on_device(q, v, np.zeros_like(v)), sf.bias_force(model, q, v))
        True
    """
    one_of(FUNCTION, "math", MATH, math)
    queue = queue_of(FUNCTION, device, double=math == "kernel")
    return OpenclFunction(array_function(FUNCTION, function, model, inputs), queue, math)


class OpenclFunction:
    """A function on an OpenCL device; made by `sixfold.devices.opencl_function`."""

    def __init__(self, core: ArrayFunction, queue: Any, math: str) -> None:
        """Take the function, the queue of the device and whose elementary functions it uses."""
        self.__name__ = core.name
        self._core, self.queue, self._own = core, queue, math == "device"
        self._kernels: dict[str, Any] = {}

    def source(self, dtype: str = "float64") -> str:
        """Return the OpenCL C of the function."""
        refuse_dtype(self._core, dtype)
        return function_source(self._core, dtype, self._own)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Return the result, or a tuple of results."""
        array = optional("pyopencl.array", FUNCTION)
        given = in_order(self._core, arrays, named)
        there = [isinstance(x, array.Array) for x in given]
        if any(there) and not all(there):
            fix = "pass all arrays on the device, or all in host memory"
            expected = "arrays in one place"
            raise ArgumentError(f"{self.__name__}: arguments", expected, "some on a device", fix)
        results = self._on_device(given) if all(there) else self._from_host(given)
        return results if len(results) > 1 else results[0]

    def _from_host(self, given: list[Any]) -> tuple[Any, ...]:
        array, core = optional("pyopencl.array", FUNCTION), self._core
        # check, broadcast to one leading shape, copy to the device
        plain = [
            checked_array(core.name, name, Argument(x, shape, f"shape {shape} for one state"))
            for name, x, shape in zip(core.names, given, core.inputs, strict=True)
        ]
        dtype = np.result_type(*plain)
        refuse_dtype(core, str(dtype))
        lead = leading_shape(core, [x.shape for x in plain])
        wide = [
            np.ascontiguousarray(np.broadcast_to(x, (*lead, *shape)), dtype)
            for x, shape in zip(plain, core.inputs, strict=True)
        ]
        if prod(lead) == 0:
            return tuple(np.empty((*lead, *shape), dtype) for shape in core.outputs)
        queue = self.queue
        results = self._run(queue, [array.to_device(queue, x) for x in wide], lead, dtype)
        return tuple(x.get() for x in results)

    def _on_device(self, given: list[Any]) -> tuple[Any, ...]:
        core, first = self._core, given[0]
        lead = leading_shape(core, [x.shape for x in given])
        queue = first.queue or self.queue
        for name, x, shape in zip(core.names, given, core.inputs, strict=True):
            where = f"{core.name}: argument '{name}'"
            if x.shape != (*lead, *shape):
                expected = f"{(*lead, *shape)}, the leading axes of the others"
                fix = "broadcast on the device first"
                raise ShapeError(core.name, name, expected, x.shape, fix)
            if x.dtype != first.dtype:
                expected = f"{first.dtype}, like the first argument"
                raise NumberError(where, expected, str(x.dtype), "give all arrays the same dtype")
            if not x.flags.c_contiguous:
                fix = "copy it on the device first"
                raise NumberError(where, "an array in C order without gaps", "strides", fix)
            if x.context != queue.context:
                fix = "make all arrays with queues of one context"
                raise NumberError(where, "the context of the first argument", "another one", fix)
        refuse_dtype(core, str(first.dtype))
        # a kernel takes whole buffers
        whole = [x if x.offset == 0 else x.copy(queue) for x in given]
        return self._run(queue, whole, lead, first.dtype)

    def _run(self, queue: Any, arrays: list[Any], lead: Shape, dtype: Any) -> tuple[Any, ...]:
        array, core = optional("pyopencl.array", FUNCTION), self._core
        # one program for each precision and context
        key = f"{dtype} {queue.context.int_ptr}"
        if key not in self._kernels:
            if str(dtype) == "float64":
                refuse_single(self.__name__, queue.device)
            self._kernels[key] = kernel_of(
                program_of(queue, function_source(core, str(dtype), self._own))
            )
        results = [array.empty(queue, (*lead, *shape), dtype) for shape in core.outputs]
        if prod(lead):
            full, made = ([x for x in some if x.size] for some in (arrays, results))
            launch(queue, self._kernels[key], [*full, *made], len(made), prod(lead))
        return tuple(results)

    def __repr__(self) -> str:
        """Name the function, its arguments and the device."""
        where = self.queue.device.name.strip()
        return f"<OpenCL function {self.__name__}({', '.join(self._core.names)}) on {where}>"


# -- rollouts


def opencl_rollout(
    model: Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    tau: ArrayLike | None = None,
    *,
    dt: float,
    steps: int,
    integrator: FixedStep = "semi_implicit_euler",
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
    inertias: ArrayLike | None = None,
    stabilize: Stabilization | None = None,
    dtype: Precision = "float64",
    math: DeviceMath = "kernel",
    device: Any = None,
) -> tuple[Any, ...]:
    """Simulate many initial states on an OpenCL device.

    The steps are those of `rollout`, with the same bits; each trajectory is a work item, and its
    state stays on the device until the end.

    Args:
        model: the robot.
        q0: configurations at the start, shape (..., nq); None for the neutral one.
        v0: velocities at the start, shape (..., nv); None for rest.
        tau: joint forces: (..., steps, nv) for each step, (..., 1, nv) or (nv,) for all of them.
        dt: length of a step [s].
        steps: number of steps.
        integrator: "semi_implicit_euler", "rk4", "lie_rk4" or "midpoint".
        every: keep one state out of this many.
        control: function of (t, q, v), or of (t, q, v, parameters), that returns joint forces to be
            added to tau.  It is part of the device's program, so it has to be one that `rollout`
            compiles.
        parameters: numbers for the controller, shape (..., n): gains, targets...
        x0: states of the controller itself at the start, shape (..., nx), as in `rollout`.
        hold: evaluate the controller once at the start of each step.
        compiled: True says that your functions keep no state between calls.
        f_ext: external forces on all bodies, shape (..., nb, 6), or a function of (t, q, v) for one
            state that returns (nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        limits: True or `JointStops(...)` makes joint limits push back; off by default.
        contacts: the ground and what may touch it, as in `rollout`.
        inertias: inertial parameters instead of the model's own, shape (..., nb, 10).
        stabilize: what keeps the constraints of a model, as in `simulate`.
        dtype: precision of steps and results, "float64" or "float32".
        math: "kernel" or "device", whose sines and other elementary functions are taken, as in
            `opencl_function`; the device's own do not have the same bits.
        device: a `pyopencl.Device`; default: a graphics card if there is one, else any.

    Returns:
        q, shape (..., steps // every, nq), and v, shape (..., steps // every, nv); with x0 also x,
        shape (..., steps // every, nx).  NumPy arrays; where an argument is an array of
        `pyopencl.array`, they are such arrays too and stay on its device.  Arguments on the device
        are read by the host, which checks them.  Where NumPy arrays are returned, one warning names
        time and joint of a trajectory that becomes infinite or NaN.

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: if a function of yours cannot be compiled, an option has no effect, or
            there is no pyopencl or no device.
        SingularModelError: if some joint has no inertia behind it.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> model = sf.load("pendulum")
        >>> q0 = np.linspace(0.0, 1.0, 1000)[:, None]
        >>> q, v = sf.devices.opencl_rollout(model, q0, None, dt=1e-3, steps=100, every=10)
        >>> q.shape, np.allclose(q, sf.rollout(model, q0, None, dt=1e-3, steps=100, every=10)[0])
        ((1000, 10, 1), True)
    """
    require_model(ROLLOUT, model)
    one_of(ROLLOUT, "math", MATH, math)
    double = math == "kernel" or dtype == "float64"
    given = (q0, v0, tau, parameters, x0, f_ext, inertias)
    there = _device_queue(given)
    request = parse_device_rollout(
        ROLLOUT,
        model,
        given if there is None else list(map(_on_host, GIVEN, given)),
        dt=dt,
        steps=steps,
        integrator=integrator,
        every=every,
        control=control,
        hold=hold,
        compiled=compiled,
        f_ext_frame=f_ext_frame,
        limits=limits,
        contacts=contacts,
        stabilize=stabilize,
        dtype=dtype,
    )
    if there is not None and device not in (None, there.device):
        raise OptionError(ROLLOUT, "device", "the device of the arrays", device)
    if there is not None and double:
        refuse_single(ROLLOUT, there.device)
    queue = queue_of(ROLLOUT, device, double) if there is None else there
    results = _run(queue, request, math == "device")
    if there is not None:
        return results
    found = tuple(x.get() for x in results)
    warn_not_finite(ROLLOUT, model, found[0], found[1], request.dt * request.every)
    return found


def _device_queue(given: Sequence[Any]) -> Any:
    """Return the queue of the first array on a device, or None."""
    for x in given:
        if type(x).__module__.startswith("pyopencl") and getattr(x, "queue", None) is not None:
            return x.queue
    return None


def _on_host(name: str, x: Any) -> Any:
    """Return an argument in host memory."""
    if not type(x).__module__.startswith("pyopencl"):
        return x
    if not x.flags.c_contiguous:
        where, fix = f"{ROLLOUT}: argument '{name}'", "copy it on the device first"
        raise NumberError(where, "an array in C order without gaps", "strides", fix)
    return x.get()


def _run(queue: Any, request: RolloutRequest, own: bool) -> tuple[Any, ...]:
    """Run all steps of all trajectories; return arrays on the device."""
    array, kernel = optional("pyopencl.array", ROLLOUT), step_kernel(request)
    work = launch_of(kernel, request)
    results = [array.empty(queue, shape, work.dtype) for shape in work.results]
    if work.arrays:
        placed = [array.to_device(queue, x) for x in work.arrays]
        program = _program(queue, kernel.texts, kernel.scan, work.shared, own)
        launch(queue, kernel_of(program), [*placed, *results], len(results), *work.counts)
    return tuple(results[: work.returned])


@lru_cache(maxsize=MAX_PROGRAMS)
def _program(
    queue: Any, texts: tuple[str, ...], scan: Any, shared: tuple[bool, ...], own: bool
) -> Any:
    """Return the program of a step for a queue's device; equal steps have equal texts."""
    return program_of(queue, rollout_source(texts, scan, shared, own))


@dataclass(frozen=True)
class Launch:
    """Arrays and counts of the launch of a rollout."""

    dtype: str
    #: Inputs of a step in C order; empty if there is nothing to compute.
    arrays: tuple[NDArray[Any], ...]
    #: Whether all trajectories share an array, which then has no row for each.
    shared: tuple[bool, ...]
    #: Shapes of what is carried: q, v, states of the controller, memory of contacts.
    results: tuple[Shape, ...]
    returned: int  # number of results that a rollout returns
    counts: tuple[int, int, int]  # trajectories, steps, and steps from one result to the next


def step_kernel(request: RolloutRequest) -> Any:
    """Return the ScanKernel of a rollout's step; raise where it cannot be compiled."""
    setup = request.setup
    stepper = stepper_of(setup, request.dt, record=False)
    if stepper.kernel is None:
        why = "; ".join(stepper.notes) or "its step is too long"
        where = f"steps of '{setup.model.name}' that cannot be compiled ({why})"
        fix = "use sixfold.rollout, which takes them in Python"
        raise NotApplicableError(setup.caller, where, fix)
    return stepper.kernel


def launch_of(kernel: Any, request: RolloutRequest) -> Launch:
    """Return the launch of a rollout.

    Carried arrays have a row for each trajectory; the others only where trajectories differ.
    """
    setup, lead = request.setup, request.lead
    written = request.steps // request.every
    results = tuple((*lead, written, n) for n in setup.state_sizes)
    returned = 2 + (setup.states > 0)
    counts = (prod(lead), request.steps, request.every)
    if prod(lead) == 0 or written == 0:
        return Launch(setup.dtype, (), (), results, returned, counts)
    # arrays that all trajectories share are copied once
    parts = request.start()
    given = setup.arrays(parts, request.dt, step_times(request.steps, request.dt))
    fixed = len(setup.state_sizes) + len(setup.constant_sizes)
    arrays, shared = [], []
    for k, (x, size) in enumerate(zip(given, kernel.scan.sizes, strict=True)):
        core = (size,) if k < fixed else (request.steps, size)
        by_row = k < len(parts) or prod(x.shape[: x.ndim - len(core)]) > 1
        one = x if by_row else x.reshape(x.shape[x.ndim - len(core) :])
        wide = np.broadcast_to(one, (*lead, *core) if by_row else core)
        arrays.append(np.ascontiguousarray(wide, setup.dtype))
        shared.append(not by_row)
    return Launch(setup.dtype, tuple(arrays), tuple(shared), results, returned, counts)


# -- devices


def queue_of(function: str, device: Any, double: bool = True) -> Any:
    """Return the queue of the given device, else of a graphics card, else of any device.

    With `double` the device must have double precision.
    """
    cl = optional("pyopencl", function)
    if device is not None and not isinstance(device, cl.Device):
        raise OptionError(function, "device", "a pyopencl.Device", device)
    found = device if device is not None else _default(function, double)
    if double:
        refuse_single(function, found)
    return _queue(found)


def refuse_single(function: str, device: Any) -> None:
    """Raise for a device without double precision."""
    if "cl_khr_fp64" not in device.extensions.split():
        where = f"device '{device.name.strip()}', which has no double precision"
        fix = "pass another device, or float32 arrays and math='device'"
        raise NotApplicableError(function, where, fix)


@lru_cache(maxsize=2)
def _default(function: str, double: bool) -> Any:
    cl = optional("pyopencl", function)
    try:
        devices = [d for platform in cl.get_platforms() for d in platform.get_devices()]
    except cl.Error:
        devices = []
    # devices with the precision that is needed, graphics cards first
    devices = [d for d in devices if not double or "cl_khr_fp64" in d.extensions.split()]
    if not devices:
        fix = "install the driver of your graphics card, or PoCL for the processor"
        raise NotApplicableError(function, "a machine without an OpenCL device", fix)
    cards = [d for d in devices if d.type & cl.device_type.GPU]
    return (cards or devices)[0]


@lru_cache(maxsize=8)
def _queue(device: Any) -> Any:
    cl = optional("pyopencl", "opencl")
    return cl.CommandQueue(cl.Context([device]))


def program_of(queue: Any, source: str) -> Any:
    """Return a source text compiled for a queue's device."""
    cl = optional("pyopencl", "opencl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks of the device's compiler
        return cl.Program(queue.context, source).build(options=list(OPTIONS))


def kernel_of(program: Any) -> Any:
    """Return a new kernel `run` of a program; each one keeps its own arguments."""
    return optional("pyopencl", "opencl").Kernel(program, "run")


def launch(queue: Any, kernel: Any, arrays: Sequence[Any], results: int, *counts: int) -> None:
    """Start a kernel with one work item for each of the first count.

    It begins when all arrays are there; the last ones, its results, are when it ends.
    """
    rows = -(-counts[0] // GROUP) * GROUP
    ready = [event for x in arrays for event in x.events]
    data = [x.data for x in arrays]
    event = kernel(queue, (rows,), (GROUP,), *data, *map(np.uint64, counts), wait_for=ready)
    for x in arrays[-results:]:
        x.add_event(event)
