"""`sf.opencl_rollout`: many trajectories on an OpenCL device, the loop over time inside."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.choices import FixedStep, Precision
from sixfold.devices.opencl import built, launch, queue_of
from sixfold.errors import NotApplicableError, one_of
from sixfold.evaluate import model_checked, opencl_scan_source, refuse_singular
from sixfold.model import Model
from sixfold.optional import optional
from sixfold.simulation.checks.options import open_loop_forces
from sixfold.simulation.checks.start import states_of, step_count, step_length
from sixfold.simulation.integrators import INTEGRATORS
from sixfold.simulation.setup import Setup
from sixfold.simulation.stepper import stepper_of

NAME = "opencl_rollout"


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
    dtype: Precision = "float64",
    device: Any = None,
) -> tuple[Array, Array]:
    """Return the states that many starts pass through, computed on an OpenCL device.

    The steps are those of `rollout`, with the same bits; each trajectory is a work item, and its
    state stays on the device until the end.

    Args:
        model: the robot, without constraints.
        q0: configurations at the start, shape (..., nq); None for the neutral one.
        v0: velocities at the start, shape (..., nv); None for rest.
        tau: joint forces: (..., steps, nv) for each step, (..., 1, nv) or (nv,) for all of them.
        dt: length of a step [s].
        steps: how many steps.
        integrator: "semi_implicit_euler", "rk4", "lie_rk4" or "midpoint".
        every: keep the state after every so many steps.
        dtype: precision of steps and results, "float64" or "float32".
        device: a `pyopencl.Device`; a graphics card if there is one, else any, if left out.

    Returns:
        q, shape (..., steps // every, nq), and v, shape (..., steps // every, nv).

    Raises:
        ShapeError, NumberError, StateError, OptionError: if an argument makes no sense.
        NotApplicableError: for a model with constraints, or without pyopencl or a device.
        SingularModelError: if some joint has no inertia behind it.
    """
    model_checked(NAME, model)
    one_of(NAME, "integrator", INTEGRATORS, integrator)
    one_of(NAME, "dtype", ("float64", "float32"), dtype)
    if model.constraints:
        where = f"model '{model.name}' with constraints"
        raise NotApplicableError(NAME, where, "use sixfold.rollout, which keeps them")
    h = step_length(NAME, dt)
    count, between = step_count(NAME, "steps", steps), step_count(NAME, "every", every)
    refuse_singular(model)
    arrays, lead = states_of(NAME, model, q0, v0, tau=open_loop_forces(model, tau, count))
    queue = queue_of(NAME, device)
    shapes = {"q0": (model.nq,), "v0": (model.nv,), "tau": (count, model.nv)}
    if tau is not None and arrays["tau"].shape[-2:] != shapes["tau"]:
        arrays["tau"] = arrays["tau"][..., None, :]  # the same forces at all steps
    wide = {
        name: np.ascontiguousarray(np.broadcast_to(x, (*lead, *shapes[name])), dtype)
        for name, x in arrays.items()
    }
    forces = wide.get("tau")
    setup = Setup(
        "rollout", model, integrator, False, tau=forces, tau_each=tau is not None, dtype=dtype
    )
    kernel = stepper_of(setup, h, record=False).kernel
    if kernel is None:
        raise NotApplicableError(NAME, f"model '{model.name}'", "use sixfold.rollout")
    return _run(queue, built(queue, opencl_scan_source(kernel)), wide, lead, h, count, between)


def _run(
    queue: Any,
    kernel: Any,
    given: dict[str, Array],
    lead: tuple[int, ...],
    dt: float,
    steps: int,
    every: int,
) -> tuple[Array, Array]:
    """Run all steps of all trajectories."""
    array = optional("pyopencl.array", NAME)
    q0, v0 = given["q0"], given["v0"]
    sizes = [(*lead, steps // every, x.shape[-1]) for x in (q0, v0)]
    if prod(lead) == 0 or steps // every == 0:
        return np.empty(sizes[0], q0.dtype), np.empty(sizes[1], v0.dtype)
    step, none = np.array([dt], q0.dtype), np.zeros(1, q0.dtype)
    # nothing but controllers reads the time: its array is not looked at
    inputs = [q0, v0, step, none, *([given["tau"]] if "tau" in given else [])]
    results = [array.empty(queue, shape, q0.dtype) for shape in sizes]
    placed = [array.to_device(queue, x) for x in inputs]
    launch(queue, kernel, [*placed, *results], prod(lead), steps, every)
    return results[0].get(), results[1].get()
