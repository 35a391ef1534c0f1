"""Derivatives of programs in reverse mode, and of a scan by the adjoint method.

A step takes x to f(x, p) and costs c(x, p).  With y the derivative of everything that is paid from
the next state on, one step backwards is y <- y . df/dx + dc/dx, and dp <- dp + y . df/dp + dc/dp.
Reverse mode makes that one program of the step's, a few times as long as the step itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from sixfold.errors import TooLargeError
from sixfold.evaluate.kernels.kernel_cache import KERNELS
from sixfold.evaluate.kernels.kernels import announced
from sixfold.evaluate.kernels.scan import MAX_STEP_NODES, Step
from sixfold.evaluate.lazy_import import compiler, graphs

if TYPE_CHECKING:
    from sixfold.graph import Program
    from sixfold.llvm import Kernel, ScanKernel


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

    with announced(name):
        program = graphs().unrolled(graphs().trace(step, sizes))
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

    with announced(name):
        program = graphs().unrolled(graphs().trace(lambda *lists: [function(*lists)], sizes))
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
    program = graphs().unrolled(graphs().trace(lambda *lists: [function(*lists)], sizes))
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
