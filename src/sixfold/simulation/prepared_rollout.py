"""A prepared call for plain rollouts: straight to the kernel when all arguments are float64 arrays.

The general call broadcasts, shares the work among threads and says clearly what is wrong.  It is
taken the first time, and whenever an argument is anything else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from sixfold.arrays import Array
from sixfold.evaluate import KERNELS, threads_for, while_alive
from sixfold.model import Model

CACHED_STEPS = 10_000
"""Largest number of steps whose times are cached."""


class Runs(Protocol):
    """Interface of a kernel; see `sixfold.llvm.ScanKernel`."""

    @property
    def operations(self) -> int:
        """Operations of a step, roughly."""

    def run(
        self, arrays: Sequence[Array], strides: Sequence[int], rows: int, steps: int, every: int
    ) -> bool:
        """Run all steps of all rows; return whether any state is not finite in the end."""


_DOUBLE = np.dtype(np.float64)
_PREPARED: dict[tuple[int, Any, bool], tuple[Any, Runs]] = {}
"""Kernels of plain calls, by id of the model, integrator, and whether there are joint forces."""


def prepare(model: Model, integrator: str, forces: bool, kernel: Runs) -> None:
    """Keep the kernel of q0, v0 and perhaps joint forces by steps for the next plain call."""
    place = (id(model), integrator, forces)
    entry = (while_alive(model, _PREPARED, place), kernel)
    KERNELS.short_cut(kernel, _PREPARED, place, entry)


def run_prepared(
    model: Model,
    q0: Any,
    v0: Any,
    tau: Any,
    dt: Any,
    steps: Any,
    integrator: Any,
    every: Any,
    out: Any,
) -> tuple[Array, Array, bool] | None:
    """Return a rollout of plain arrays, one row a trajectory, and whether one is not finite.

    None where the general call has to be taken.
    """
    if (type(integrator), type(dt), type(steps), type(every)) != (str, float, int, int):
        return None
    _, kernel = _PREPARED.get((id(model), integrator, tau is not None), (None, None))
    if kernel is None or type(q0) is not np.ndarray or q0.ndim != 2:
        return None
    rows, nq, nv = len(q0), model.nq, model.nv
    if not (
        rows
        and 0 < dt < math.inf
        and steps > 0
        and every > 0
        and threads_for(kernel, rows, steps) == 1
    ):
        return None
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
    q, v = out
    arrays = [q0, v0, np.array([dt]), step_times(steps, dt), *inputs[2:], q, v]
    strides = [8 * nq, 0, 8 * nv, 0, 0, 0, 0, 8]
    for _, count, size in by_steps:
        strides += [8 * count * size, 8 * size]
    return q, v, kernel.run(arrays, strides, rows, steps, every)


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
