"""A step applied again and again to many rows, and its derivatives by the adjoint method.

A step takes x to f(x, p) and costs c(x, p).  With y the derivative of everything that is paid from
the next state on, one step backwards is y <- y . df/dx + dc/dx, and dp <- dp + y . df/dp + dc/dp.
Reverse mode makes that one program of the step's, a few times as long as the step itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from sixfold.errors import TooLargeError
from sixfold.runtime.arrays import Array
from sixfold.runtime.kernels.kernel_cache import KERNELS
from sixfold.runtime.kernels.kernels import announce
from sixfold.runtime.kernels.threads import get_threads, share
from sixfold.runtime.lazy_import import compiler, graphs

if TYPE_CHECKING:
    from sixfold.compiler.graph import Program
    from sixfold.compiler.llvm.runtime.kernel import Kernel
    from sixfold.compiler.llvm.runtime.scan_kernel import ScanKernel

#: Takes one list of numbers for each array, returns what is carried as one list.
Step = Callable[..., Sequence[Any]]


class Steps(Protocol):
    """A kernel of steps, which knows how much work one is."""

    @property
    def operations(self) -> int:
        """Operations of a step, roughly."""


MAX_STEP_NODES = 400_000  #: Largest step that is compiled; beyond, NumPy takes the steps.
#: Least operations that are worth a thread: about a millisecond.
MIN_THREAD_OPERATIONS = 30_000_000


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
        lanes: rows in one vector; as many as the processor has by default.
    """
    llvm = compiler()
    scan = llvm.Scan(tuple(carried), tuple(fixed), tuple(each), dtype)
    known = None if key is None else KERNELS.find((key, scan, lanes))
    if known is not None:
        return known[0]
    with announce(name):
        program = graphs().trace(step, scan.sizes, boundaries=True)
        if not llvm.has_machine_code(program) or program.length > MAX_STEP_NODES:
            return None
        kernel = llvm.build_scan(program, scan, lanes=lanes)
    if key is not None:
        KERNELS.keep((key, scan, lanes), kernel)
    return kernel


def evaluate_once(function: Callable[..., Sequence[Any]], *lists: Sequence[Any]) -> Sequence[Any]:
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
    """Return the carried values after each `every` steps, shape (*lead, steps // every, size) each.

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
        flat_rows(x, lead, (steps, n) if k >= kept else (n,))
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
    """Return the number of threads for a scan of this size."""
    worth = rows * steps * kernel.operations // MIN_THREAD_OPERATIONS
    return 1 if worth <= 1 else min(get_threads(), worth)


def flat_rows(x: Array, lead: tuple[int, ...], core: tuple[int, ...]) -> Array:
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


def keep_last(x: Array, steps: int) -> Array:
    """Return rows as if they had an axis of steps: each step overwrites the one before."""
    shape, strides = (x.shape[0], steps, x.shape[1]), (x.strides[0], 0, x.strides[1])
    return np.ndarray(shape, x.dtype, x, 0, strides)


# -- derivatives


def adjoint_kernel(
    step: Step,
    carried: Sequence[int],
    fixed: Sequence[int],
    each: Sequence[int],
    *,
    sums: Sequence[int] = (),
    rows: Sequence[int] = (),
    name: str,
    key: Any,
) -> ScanKernel:
    """Return the kernel that takes a step's adjoint again and again, from the last to the first.

    It carries the adjoints of what the step carries, the cost, sums of derivatives by fixed arrays,
    and the derivatives by arrays of each step, which are of that step only.  It takes the fixed
    arrays, and anew at each step what the step carried and the arrays of that step.

    Args:
        step: takes a list for each array: carried, fixed, then those that come anew at each step;
            returns what is carried on, and the cost of the step as one more number.
        carried: sizes of the arrays that the step returns anew.
        fixed: sizes of the arrays that stay as they are.
        each: sizes of the arrays that have numbers for each step.
        sums: places in `fixed` of the arrays to differentiate by.
        rows: places in `each` of the arrays to differentiate by.
        name: for messages.
        key: what identifies the step.
    """
    llvm = compiler()
    sizes = (*carried, *fixed, *each)
    n = len(carried)
    by = [*range(n), *(n + k for k in sums), *(n + len(fixed) + k for k in rows)]
    lengths = [sizes[a] for a in by[n:]]
    scan = llvm.Scan((*carried, 1, *lengths), tuple(fixed), (*carried, *each))
    place = ("adjoint", key, scan, tuple(by))
    known = KERNELS.find(place)
    if known is not None:
        found: ScanKernel = known[0]
        return found

    def backward(*lists: Any) -> list[Any]:
        ends = list(accumulate((n, 1, len(by) - n, len(fixed), n), initial=0))
        adjoint, (spent,), totals, still, state = (lists[a:b] for a, b in pairwise(ends))
        numbers = [x for part in (*state, *still, *lists[ends[-1] :]) for x in part]
        weights = [x for part in adjoint for x in part]
        cost = replay(program, numbers)[-1]
        slopes = _cut(replay(reverse, [*numbers, *weights, 1.0]), [*carried, *lengths])
        for k, total in enumerate(totals[: len(sums)]):
            slopes[n + k] = [a + b for a, b in zip(total, slopes[n + k], strict=True)]
        flat = [x for part in slopes for x in part]
        return [*flat[: sum(carried)], spent[0] + cost, *flat[sum(carried) :]]

    with announce(name):
        program = graphs().unroll(graphs().trace(step, sizes))
        starts = list(accumulate(sizes, initial=0))
        reverse = graphs().gradient(program, [k for a in by for k in range(*starts[a : a + 2])])
        whole = graphs().trace(backward, scan.sizes)
        if len(whole.nodes) > MAX_STEP_NODES:
            what = f"the derivative of a step of {name} has {len(whole.nodes):,} operations"
            fix = "use an integrator of fewer stages, such as 'semi_implicit_euler'"
            raise TooLargeError("rollout_gradient", what, fix)
        kernel: ScanKernel = llvm.build_scan(whole, scan)
    KERNELS.keep(place, kernel)
    return kernel


def gradient_kernel(
    function: Callable[..., Any], sizes: Sequence[int], by: Sequence[int], *, name: str, key: Any
) -> Kernel:
    """Return the kernel of a number that depends on several lists, and of its derivatives.

    Args:
        function: takes one list for each size, returns one number.
        sizes: lengths of the lists.
        by: places of the lists to differentiate by; one output each, after the number itself.
        name: for messages.
        key: what identifies the function.
    """
    llvm = compiler()
    place = ("gradient", key, tuple(sizes), tuple(by))
    known = KERNELS.find(place)
    if known is not None:
        found: Kernel = known[0]
        return found

    def both(*lists: Any) -> list[Any]:
        numbers = [x for part in lists for x in part]
        return [*replay(program, numbers), *replay(reverse, [*numbers, 1.0])]

    with announce(name):
        program = graphs().unroll(graphs().trace(lambda *lists: [function(*lists)], sizes))
        starts = list(accumulate(sizes, initial=0))
        reverse = graphs().gradient(program, [k for a in by for k in range(*starts[a : a + 2])])
        layout = llvm.Layout(tuple((n,) for n in sizes), ((), *((sizes[a],) for a in by)))
        kernel: Kernel = llvm.build(name, graphs().trace(both, sizes), layout)[0]
    KERNELS.keep(place, kernel)
    return kernel


def second_order(
    function: Callable[..., Any], sizes: Sequence[int], by: Sequence[int]
) -> Callable[..., tuple[Any, list[Any], list[list[Any]]]]:
    """Return a function of traced lists: a number, its gradient and its Hessian.

    The gradient is one reverse sweep, the Hessian its forward derivatives.

    Args:
        function: takes one list for each size, returns one number.
        sizes: lengths of the lists.
        by: places of the lists to differentiate by, one after the other in the results.
    """
    program = graphs().unroll(graphs().trace(lambda *lists: [function(*lists)], sizes))
    starts = list(accumulate(sizes, initial=0))
    places = [k for a in by for k in range(*starts[a : a + 2])]
    first = graphs().gradient(program, places)
    second = graphs().jacobian(first, places)

    def at(*lists: Any) -> tuple[Any, list[Any], list[list[Any]]]:
        numbers = [x for part in lists for x in part]
        slopes, bends = replay(first, [*numbers, 1.0]), replay(second, [*numbers, 1.0])
        return replay(program, numbers)[0], slopes, _cut(bends, [len(places)] * len(places))

    return at


def replay(program: Program, numbers: Sequence[Any]) -> list[Any]:
    """Return the results of a program, as it was traced, on other traced numbers."""
    graph = next(x.graph for x in numbers if hasattr(x, "graph"))
    value: list[int] = []
    for op, *arguments in program.nodes:
        if op == "input":
            value.append(graph.lift(numbers[arguments[0]]))
        elif op == "const":
            value.append(graph.constant(arguments[0]))
        else:
            value.append(graph.operation(op, [value[a] for a in arguments]))
    return [graphs().Node(graph, value[k]) for k in program.outputs]


def _cut(flat: Sequence[Any], lengths: Sequence[int]) -> list[list[Any]]:
    return [list(flat[a:b]) for a, b in pairwise(accumulate(lengths, initial=0))]
