"""A short way for plain rollouts: straight to the kernel when all arguments are float64 arrays.

The long way broadcasts, shares the work among threads and says clearly what is wrong; it is taken
whenever anything is out of the ordinary, and the first time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from sixfold.evaluate.arrays import Array
from sixfold.evaluate.kernel_cache import KERNELS, while_alive
from sixfold.evaluate.scan import threads_for
from sixfold.model import Model


class Runs(Protocol):
    """What is asked of a kernel; see `sixfold.native.ScanKernel`."""

    def run(
        self, arrays: Sequence[Array], strides: Sequence[int], rows: int, steps: int, every: int
    ) -> bool:
        """Run all steps of all rows, and tell whether any has left the finite numbers."""


_DOUBLE = np.dtype(np.float64)
_READY: dict[tuple[int, Any, bool], tuple[Any, Runs]] = {}
"""Kernels of plain calls, by id of the model, integrator, and whether there are joint forces."""


def remember(
    model: Model, integrator: str, names: tuple[str, ...], sequence: bool, kernel: Runs
) -> None:
    """Keep a kernel for the short way, if its arguments are q0, v0 and perhaps forces by steps."""
    if names == ("q0", "v0") or (names == ("q0", "v0", "tau") and sequence):
        place = (id(model), integrator, sequence)
        entry = (while_alive(model, _READY, place), kernel)
        KERNELS.short_cut(kernel, _READY, place, entry)


def roll(
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
    """Return a rollout of plain arrays, one row a trajectory, and whether one has been lost.

    None where the long way has to look closer.
    """
    if (type(integrator), type(dt), type(steps), type(every)) != (str, float, int, int):
        return None
    _, kernel = _READY.get((id(model), integrator, tau is not None), (None, None))
    if kernel is None or type(q0) is not np.ndarray or q0.ndim != 2:
        return None
    rows, nq, nv = len(q0), model.nq, model.nv
    if not (
        rows and 0 < dt < math.inf and steps > 0 and every > 0 and threads_for(rows, steps) == 1
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
    if overlap(inputs, out) or not all(np.isfinite(x).all() for x in inputs):
        return None
    q, v = out
    arrays = [q0, v0, np.array([dt]), times(steps, dt), *inputs[2:], q, v]
    strides = [8 * nq, 0, 8 * nv, 0, 0, 0, 0, 8]
    for _, count, size in by_steps:
        strides += [8 * count * size, 8 * size]
    return q, v, kernel.run(arrays, strides, rows, steps, every)


def times(steps: int, h: float) -> Array:
    """Return when each step begins, as a column that is not to be written to."""
    return _kept_times(steps, h) if steps <= _FEW else _times(steps, h)


def _times(steps: int, h: float) -> Array:
    column = (np.arange(steps) * h)[:, None]
    column.flags.writeable = False
    return column


_FEW = 10_000
"""Steps whose times are worth keeping."""
_kept_times = lru_cache(maxsize=16)(_times)


def overlap(inputs: Iterable[Array], results: Sequence[Array]) -> bool:
    """Return whether a result lies where an argument or another result does."""
    pairs = [*combinations(results, 2), *((x, y) for x in inputs for y in results)]
    return any(np.may_share_memory(x, y) for x, y in pairs)
