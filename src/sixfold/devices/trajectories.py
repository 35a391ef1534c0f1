"""What rollouts need on any device: the kernel of a step, and its arrays as a launch takes them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.arrays import Shape
from sixfold.errors import NotApplicableError
from sixfold.simulation.rollout import Asked, step_times
from sixfold.simulation.step import stepper_of

GIVEN = ("q0", "v0", "tau", "parameters", "x0", "f_ext", "inertias")
"""Arguments of a rollout that may be arrays on a device, in the order of `asked_for`."""


@dataclass(frozen=True)
class Launch:
    """Arrays of the steps of many trajectories."""

    dtype: str
    arrays: tuple[NDArray[Any], ...]
    """Those that a step takes, in C order; none if nothing is to be done."""
    shared: tuple[bool, ...]
    """Which of them have no row for each trajectory, but one for all."""
    results: tuple[Shape, ...]
    """Shapes of what is carried: q, v, states of the controller, memory of contacts."""
    returned: int
    """How many of the results a rollout returns."""
    counts: tuple[int, int, int]
    """Trajectories, steps, and steps from one result to the next."""


def step_kernel(asked: Asked) -> Any:
    """Return the kernel of a rollout's step, a ScanKernel, or say why there is none."""
    setup = asked.setup
    stepper = stepper_of(setup, asked.dt, record=False)
    if stepper.kernel is None:
        why = "; ".join(stepper.notes) or "its step is too long"
        where = f"steps of '{setup.model.name}' that cannot be compiled ({why})"
        fix = "use sixfold.rollout, which takes them in Python"
        raise NotApplicableError(setup.caller, where, fix)
    return stepper.kernel


def launch_of(kernel: Any, asked: Asked) -> Launch:
    """Return what the launch of a rollout takes.

    Carried arrays have a row for each trajectory.  The others have one where trajectories differ.
    """
    setup, lead = asked.setup, asked.lead
    written = asked.steps // asked.every
    results = tuple((*lead, written, n) for n in setup.carried)
    returned = 2 + (setup.states > 0)
    counts = (prod(lead), asked.steps, asked.every)
    if prod(lead) == 0 or written == 0:
        return Launch(setup.dtype, (), (), results, returned, counts)
    parts = asked.start()
    given = setup.arrays(parts, asked.dt, step_times(asked.steps, asked.dt))
    fixed = len(setup.carried) + len(setup.fixed)
    arrays, shared = [], []
    for k, (x, size) in enumerate(zip(given, kernel.scan.sizes, strict=True)):
        core = (size,) if k < fixed else (asked.steps, size)
        by_row = k < len(parts) or prod(x.shape[: x.ndim - len(core)]) > 1
        one = x if by_row else x.reshape(x.shape[x.ndim - len(core) :])
        wide = np.broadcast_to(one, (*lead, *core) if by_row else core)
        arrays.append(np.ascontiguousarray(wide, setup.dtype))
        shared.append(not by_row)
    return Launch(setup.dtype, tuple(arrays), tuple(shared), results, returned, counts)
