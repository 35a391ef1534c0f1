"""A step applied again and again to many rows: in one kernel, or step by step in NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sixfold.evaluate.arrays import Array
from sixfold.evaluate.kernels.kernel_cache import KERNELS
from sixfold.evaluate.kernels.kernels import announced
from sixfold.evaluate.kernels.threads import get_threads, share
from sixfold.evaluate.lazy_import import compiler, graphs

if TYPE_CHECKING:
    from sixfold.llvm import ScanKernel

Step = Callable[..., Sequence[Any]]
"""Takes one list of numbers for each array, returns what is carried as one list."""


class Steps(Protocol):
    """A kernel of steps, which knows how much work one is."""

    @property
    def operations(self) -> int:
        """Operations of a step, roughly."""


MAX_STEP_NODES = 400_000
"""Largest step that is compiled; beyond, NumPy takes the steps."""
MIN_THREAD_OPERATIONS = 30_000_000
"""Least operations that are worth a thread: about a millisecond."""


def scan_kernel(
    step: Step,
    carried: Sequence[int],
    fixed: Sequence[int],
    each: Sequence[int],
    *,
    name: str,
    key: Any = None,
    dtype: str = "float64",
    lanes: int | None = None,
) -> ScanKernel | None:
    """Return the kernel of a step, or None where NumPy has to take it.

    Args:
        step: takes a list for each array: carried, fixed, then those that come anew at each step.
        carried: sizes of the arrays that the step returns anew.
        fixed: sizes of the arrays that stay as they are.
        each: sizes of the arrays that have numbers for each step.
        name: for messages.
        key: what identifies the step; a step without one is traced again every time.
        dtype: precision of the steps.
        lanes: rows in one vector; as many as the processor has if left out.
    """
    llvm = compiler()
    scan = llvm.Scan(tuple(carried), tuple(fixed), tuple(each), dtype)
    known = None if key is None else KERNELS.find((key, scan, lanes))
    if known is not None:
        return known[0]
    with announced(name):
        program = graphs().trace(step, scan.sizes, boundaries=True)
        if not llvm.supported(program) or program.length > MAX_STEP_NODES:
            return None
        kernel = llvm.build_scan(program, scan, lanes=lanes)
    if key is not None:
        KERNELS.keep((key, scan, lanes), kernel)
    return kernel


def evaluated(function: Callable[..., Sequence[Any]], *lists: Sequence[Any]) -> Sequence[Any]:
    """Return function(*lists); what a traced step evaluates several times is compiled once."""
    graphs = {id(x.graph): x.graph for numbers in lists for x in numbers if hasattr(x, "graph")}
    if len(graphs) != 1:
        return function(*lists)
    (graph,) = graphs.values()
    return graph.evaluate(function, lists)


def run_scan(
    kernel: ScanKernel,
    arrays: Sequence[Array],
    lead: tuple[int, ...],
    steps: int,
    every: int,
    out: Sequence[Array] | None = None,
) -> tuple[list[Array], bool]:
    """Return what is carried after every so many steps, shape (*lead, steps // every, size) each.

    With it comes whether any of it has left the finite numbers in the end.

    Args:
        kernel: of the step.
        arrays: (*lead, size) or (*lead, steps, size); axes that broadcast may be missing or 1.
        lead: common leading shape.
        steps: how many.
        every: how many between two results.
        out: where results go, of their shapes, in C order.
    """
    scan = kernel.scan
    kept = len(scan.carried) + len(scan.fixed)
    rows = math.prod(lead)
    arrays = [np.asarray(x, scan.dtype) for x in arrays]
    flat = [
        _rows(x, lead, (steps, n) if k >= kept else (n,))
        for k, (x, n) in enumerate(zip(arrays, scan.sizes, strict=True))
    ]
    shapes = [(rows, steps // every, n) for n in scan.carried]
    given = [None] * len(shapes) if out is None else out
    outputs = [
        np.empty(shape, scan.dtype) if x is None else x.reshape(shape)
        for x, shape in zip(given, shapes, strict=True)
    ]
    rows_each = max(1, -(-rows // threads_for(kernel, rows, steps)))
    lost: list[bool] = []

    def part(start: int, stop: int) -> None:
        piece = slice(start, stop)
        lost.append(kernel([x[piece] for x in flat], [x[piece] for x in outputs], steps, every))

    share(part, [(start, start + rows_each) for start in range(0, rows, rows_each)])
    return [x.reshape((*lead, *x.shape[1:])) for x in outputs], any(lost)


def threads_for(kernel: Steps, rows: int, steps: int) -> int:
    """Return how many threads so many steps of so many rows are handed to."""
    worth = rows * steps * kernel.operations // MIN_THREAD_OPERATIONS
    return 1 if worth <= 1 else min(get_threads(), worth)


def _rows(x: Array, lead: tuple[int, ...], core: tuple[int, ...]) -> Array:
    """Return an array with one axis of rows, broadcast without copying where that is possible."""
    if x.shape == (*lead, *core) and x.flags.carray:
        return x.reshape((-1, *core))
    missing = x.ndim - len(core)
    if all(n == 1 for n in x.shape[:missing]):
        one = x.reshape(x.shape[missing:])
        if one.shape != core:
            one = np.broadcast_to(one, core)
        return np.broadcast_to(np.ascontiguousarray(one), (math.prod(lead), *core))
    wide = np.broadcast_to(x, (*lead, *core))
    return np.ascontiguousarray(wide).reshape((-1, *core))
