"""`sf.opencl_rollout`: many trajectories on an OpenCL device, the loop over time inside."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from numpy.typing import ArrayLike

from sixfold.choices import (
    Callback,
    DeviceMath,
    FixedStep,
    ForceFrame,
    ForceInput,
    Precision,
    Stabilization,
)
from sixfold.contact import Ground
from sixfold.devices.opencl import MATH, built, launch, program_of, queue_of, refuse_single
from sixfold.devices.trajectories import GIVEN, launch_of, step_kernel
from sixfold.errors import NumberError, OptionError, one_of
from sixfold.evaluate import model_checked, opencl_scan_source
from sixfold.model import Model
from sixfold.optional import optional
from sixfold.simulation.joint_stops import JointStops
from sixfold.simulation.rollout import Asked, asked_for, warn_not_finite

NAME = "opencl_rollout"

MAX_PROGRAMS = 32
"""Programs of steps that are kept, built for their device."""


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
    """Return the states that many starts pass through, computed on an OpenCL device.

    The steps are those of `rollout`, with the same bits; each trajectory is a work item, and its
    state stays on the device until the end.

    Args:
        model: the robot.
        q0: configurations at the start, shape (..., nq); None for the neutral one.
        v0: velocities at the start, shape (..., nv); None for rest.
        tau: joint forces: (..., steps, nv) for each step, (..., 1, nv) or (nv,) for all of them.
        dt: length of a step [s].
        steps: how many steps.
        integrator: "semi_implicit_euler", "rk4", "lie_rk4" or "midpoint".
        every: keep one state out of this many.
        control: function of (t, q, v), or of (t, q, v, parameters), that returns joint forces to be
            added to tau.  It is part of the device's program, so it has to be one that `rollout`
            compiles.
        parameters: numbers for the controller, shape (..., n): gains, targets...
        x0: states of the controller itself at the start, shape (..., nx), as in `rollout`.
        hold: evaluate the controller once at the start of each step.
        compiled: True says that your functions remember nothing between calls.
        f_ext: external forces on all bodies, shape (..., nb, 6), or a function of (t, q, v) for one
            state that returns (nb, 6).
        f_ext_frame: "world" or "body", as in `inverse_dynamics`.
        limits: True or `JointStops(...)` makes joint limits push back; off when left out.
        contacts: the ground and what may touch it, as in `rollout`.
        inertias: inertial parameters in place of the model's own, shape (..., nb, 10).
        stabilize: what keeps the constraints of a model, as in `simulate`.
        dtype: precision of steps and results, "float64" or "float32".
        math: "kernel" or "device", whose sines and other elementary functions are taken, as in
            `opencl_function`; the device's own do not have the same bits.
        device: a `pyopencl.Device`; a graphics card if there is one, else any, if left out.

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
        >>> q, v = sf.opencl_rollout(model, q0, None, dt=1e-3, steps=100, every=10)
        >>> q.shape, np.allclose(q, sf.rollout(model, q0, None, dt=1e-3, steps=100, every=10)[0])
        ((1000, 10, 1), True)
    """
    model_checked(NAME, model)
    one_of(NAME, "math", MATH, math)
    double = math == "kernel" or dtype == "float64"
    given = (q0, v0, tau, parameters, x0, f_ext, inertias)
    there = _device_queue(given)
    asked = asked_for(
        NAME,
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
        raise OptionError(NAME, "device", "the device of the arrays", device)
    if there is not None and double:
        refuse_single(NAME, there.device)
    queue = queue_of(NAME, device, double) if there is None else there
    results = _run(queue, asked, math == "device")
    if there is not None:
        return results
    found = tuple(x.get() for x in results)
    warn_not_finite(NAME, model, found[0], found[1], asked.dt * asked.every)
    return found


def _device_queue(given: Sequence[Any]) -> Any:
    """Return the queue of the first array on a device, None if there is none."""
    for x in given:
        if type(x).__module__.startswith("pyopencl") and getattr(x, "queue", None) is not None:
            return x.queue
    return None


def _on_host(name: str, x: Any) -> Any:
    """Return an argument in host memory."""
    if not type(x).__module__.startswith("pyopencl"):
        return x
    if not x.flags.c_contiguous:
        where, fix = f"{NAME}: argument '{name}'", "copy it on the device first"
        raise NumberError(where, "an array in C order without gaps", "strides", fix)
    return x.get()


def _run(queue: Any, asked: Asked, own: bool) -> tuple[Any, ...]:
    """Run all steps of all trajectories; return arrays on the device."""
    array, kernel = optional("pyopencl.array", NAME), step_kernel(asked)
    work = launch_of(kernel, asked)
    results = [array.empty(queue, shape, work.dtype) for shape in work.results]
    if work.arrays:
        placed = [array.to_device(queue, x) for x in work.arrays]
        program = _program(queue, kernel.texts, kernel.scan, work.shared, own)
        launch(queue, built(program), [*placed, *results], len(results), *work.counts)
    return tuple(results[: work.returned])


@lru_cache(maxsize=MAX_PROGRAMS)
def _program(
    queue: Any, texts: tuple[str, ...], scan: Any, shared: tuple[bool, ...], own: bool
) -> Any:
    """Return the program of a step for a queue's device; equal steps have equal texts."""
    return program_of(queue, opencl_scan_source(texts, scan, shared, own))
