"""The life of a call: check the arguments, find the kernel, run it, and keep the fast call.

A public function first looks for its prepared calls, kept by model and options.  One is the
kernel's own built-in function: it takes plain arrays of one dtype with at most one leading axis,
and `out`.  The other takes plain arrays of any number and hands large batches to threads.  Both
give None for anything else.  Then, and the first time, `general` does the work: it says clearly
what is wrong with an argument, and it takes every kind of number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, get_args
from weakref import ref

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.choices import Backend
from sixfold.errors import NotApplicableError, OptionError
from sixfold.evaluate.arrays import Results, evaluate, model_checked
from sixfold.evaluate.containers import Call, contained
from sixfold.evaluate.foreign import is_container
from sixfold.evaluate.inertias import checked_inertias, refuse_massless, with_checked_masses
from sixfold.evaluate.kernels.kernel_cache import KERNELS, while_alive
from sixfold.evaluate.kernels.kernel_tree import for_kernel
from sixfold.evaluate.kernels.kernels import FORMS, kernel_for
from sixfold.evaluate.kernels.lazily import compiler
from sixfold.evaluate.kernels.threads import MIN_SHARED_NUMBERS, get_threads, spread
from sixfold.evaluate.quantities import ARRAYS, QUANTITIES
from sixfold.evaluate.quaternions import checked_core, checked_ufunc, nonzero_numbers
from sixfold.evaluate.singular.pivot_margin import possibly_singular_joints
from sixfold.evaluate.singular.states import nan_at_singular_states, refuse_singular
from sixfold.model import Model

if TYPE_CHECKING:
    from sixfold.evaluate.quantities import Quantity
    from sixfold.llvm import Kernel

_DTYPES = {name: np.dtype(name) for name in ("float64", "float32")}
BACKENDS: tuple[str, ...] = get_args(Backend)
"""Machine code, in the form that suits the model or in one of its forms, or NumPy."""


def general(
    row: Quantity,
    model: Any,
    values: Sequence[Any],
    options: Sequence[Any],
    out: Any,
    backend: Any,
) -> Array | Results:
    """Evaluate a quantity for arguments of any kind.

    Args:
        row: the quantity.
        model: the first argument.
        values: the array arguments, in the order of the row; None where one is left out.
        options: values of the row's choices, then the name of a body or frame.
        out: where the result goes, or None; a tuple for several results.
        backend: one of BACKENDS, or None.
    """
    model_checked(row.name, model)
    if any(map(is_container, values)):
        found: Results = contained(_call_of(row, model, options, backend), values, out)
        return found
    if backend is not None and (not isinstance(backend, str) or backend not in BACKENDS):
        raise OptionError(row.name, "backend", BACKENDS, backend)
    keywords = row.options(model, values, options)
    arguments = {
        name: row.argument(model, name, value)
        for name, value in zip(row.arrays, values, strict=True)
        if value is not None or name not in row.optional
    }
    if "inertias" in arguments:
        arguments["inertias"] = checked_inertias(row, arguments["inertias"])
    else:
        if row.needs_mass:
            refuse_massless(row.name, model)
        if row.solves:
            refuse_singular(model)
    core = row.core(arguments, keywords)
    shapes = row.shapes(model)
    absent = [name not in arguments for name in row.arrays if name in row.optional]
    run = _Run(row, core, model, backend, (id(model), *options, *absent))
    whole = checked_core(partial(core, model, model.tree), row.name, model, list(arguments))
    native = None if backend == "numpy" else run
    lean = partial(for_kernel, core, model)
    results = evaluate(row.name, whole, arguments, shapes, native, lean, out)
    if backend not in (None, "numpy") and not run.ran:
        raise _without_machine_code(row, backend, f"numbers of type {results[0].dtype}")
    if row.solves and results[0].dtype != object:
        lead = results[0].shape[: results[0].ndim - len(shapes[0])]
        q = np.broadcast_to(np.asarray(arguments["q"].value, float), (*lead, model.nq))
        given = np.asarray(arguments["inertias"].value, float) if "inertias" in arguments else None
        nan_at_singular_states(model, q, results, len(lead), given)
    return results if len(results) > 1 else results[0]


def _call_of(row: Quantity, model: Model, options: Sequence[Any], backend: Any) -> Call:
    """Return what arrays of other libraries need to know of a call."""
    run = partial(_on_arrays, row, model, tuple(options), backend)
    cores = {name: tuple(ARRAYS[name].sizes.split()) for name in row.arrays}
    public = QUANTITIES.get(row.name) is row  # else sizes are those of this call
    axes = [
        [n if public or not n.isdecimal() else f"axis_{k}" for k, n in enumerate(sizes.split())]
        for sizes in row.outputs
    ]
    return Call(row.name, run, cores, model, [(row.name, each) for each in axes])


def _on_arrays(
    row: Quantity, model: Model, options: tuple[Any, ...], backend: Any, *values: Any
) -> Array | Results:
    """Evaluate a quantity: what tasks run on chunks of states."""
    return general(row, model, values, options, None, backend)


class _Run:
    """Evaluates float arrays by machine code."""

    def __init__(
        self, row: Quantity, core: Any, model: Model, backend: str | None, key: tuple[Any, ...]
    ) -> None:
        self.row, self.core, self.model, self.key = row, core, model, key
        self.form = backend if backend in FORMS else None
        self.backend, self.ran = backend, False

    def __call__(
        self, arrays: Mapping[str, Array], lead: Shape, out: Results | None
    ) -> Results | None:
        """Return the results, or None where there is no machine code."""
        row, model = self.row, self.model
        shapes = {name: row.argument(model, name, None).shape for name in arrays}
        inputs = list(arrays.values())
        dtype = inputs[0].dtype
        outputs = row.shapes(model)
        kernel = kernel_for(row.name, self.core, model, shapes, outputs, dtype.name, self.form)
        if kernel is None and self.backend is not None:
            raise _without_machine_code(row, self.backend, f"{row.name} of model '{model.name}'")
        if kernel is None:
            return None
        self.ran = True
        if self.backend is None:
            self._keep(kernel, list(arrays))
        if out is None:
            out = _new(lead, outputs, dtype)
        _fill(kernel, row, model, arrays, lead, out)
        return out

    def _keep(self, kernel: Kernel, names: Sequence[str]) -> None:
        """Keep the prepared calls, unless every state has to be looked at."""
        table, key, row = self.row.prepared, self.key, self.row
        if row.solves and ("inertias" in names or possibly_singular_joints(self.model)):
            return
        kept = table.get(key)
        if kept is not None and kept[3] is kernel:
            return
        alive = while_alive(self.model, table, key)
        unchecked = not nonzero_numbers(self.model, names)
        prepare = partial(_large, kernel, row, alive, tuple(names), unchecked)
        fast, other = kernel.quick or _nothing, None
        if kept is not None and kept[3].layout.dtype != kernel.layout.dtype:
            other = (kept[0], kept[4])  # arrays of the other precision, in turns with these
        calls: list[Callable[..., Any]] = [fast, partial(prepare, other), partial(prepare, None)]
        if "inertias" in names:
            calls = [with_checked_masses(call, row, len(names) - 1) for call in calls]
        entry = (*calls[:2], alive, kernel, calls[2])
        KERNELS.short_cut(kernel, table, key, entry)


def _without_machine_code(row: Quantity, backend: str, where: str) -> NotApplicableError:
    """Return the error of a call that insists on machine code where there is none."""
    fix = "leave backend out: NumPy evaluates what has no machine code"
    return NotApplicableError(f"{row.name}: backend {backend!r}", where, fix)


def _fill(
    kernel: Kernel,
    row: Quantity,
    model: Model,
    arrays: Mapping[str, Array],
    lead: Shape,
    out: Results,
) -> None:
    """Run a kernel on arrays of its dtype, on several threads if that pays."""
    inputs = list(arrays.values())
    ufunc = kernel.ufunc_for(sum(x.nbytes for x in (*out, *inputs)), prod(lead))
    checked = checked_ufunc(ufunc, row.name, model, arrays)
    spread(checked, inputs, [len(core) for core in kernel.layout.inputs], lead, out)


def _new(lead: Shape, shapes: Sequence[Shape], dtype: Any) -> Results:
    found: Results = compiler().result_memory.empty([(*lead, *shape) for shape in shapes], dtype)
    return found


def _nothing(*_: Any) -> None:
    """Take the place of a kernel's built-in function where there is none."""


def _large(
    kernel: Kernel,
    row: Quantity,
    model: ref[Model],
    names: tuple[str, ...],
    unchecked: bool,
    other: tuple[Callable[..., Any], Callable[..., Any]] | None,
    *given: Any,
) -> Array | Results | None:
    """Evaluate arrays that are too many for the kernel's built-in function, or not in C order.

    Args:
        kernel: of the quantity.
        row: the quantity.
        model: the robot; the table of prepared calls must not keep it alive.
        names: of the arrays.
        unchecked: whether the states need no check.
        other: the calls for arrays of the other precision, if there were such.
        given: the arrays, then an array or None for each result.

    Returns:
        The result, or a tuple of them; None unless all arrays are of the kernel's dtype and have
        one leading shape.
    """
    arrays, out = given[: len(names)], given[len(names) :]
    layout, dtype = kernel.layout, _DTYPES[kernel.layout.dtype]
    first = arrays[0]
    if type(first) is not np.ndarray:
        return None
    if other is not None and first.dtype is not dtype:
        found: Array | Results | None = other[0](*given)
        return other[1](*given) if found is None else found
    if get_threads() == 1 and (found := _on_this_thread(kernel, arrays, out)) is not None:
        return found
    lead = first.shape[: first.ndim - len(layout.inputs[0])]
    for x, core in zip(arrays, layout.inputs, strict=True):
        if type(x) is not np.ndarray or x.dtype is not dtype or x.shape != lead + core:
            return None
    try:
        if out[0] is None:
            results = _new(lead, layout.outputs, dtype)
        else:
            for x, core in zip(out, layout.outputs, strict=True):
                if type(x) is not np.ndarray or x.dtype is not dtype or x.shape != lead + core:
                    return None
                if not x.flags.writeable:
                    return None
            if any(np.may_share_memory(x, y) for k, x in enumerate(out) for y in out[:k]):
                return None
            results = out
        numbers = prod(lead) * kernel.numbers
        if unchecked and (numbers < MIN_SHARED_NUMBERS or get_threads() == 1):
            # kernels leave the flags alone that NumPy would warn of
            kernel.ufunc_for(numbers * dtype.itemsize, prod(lead))(*arrays, out=results)
            return results if len(results) > 1 else results[0]
        robot = model()
        assert robot is not None, "a call has its model"
        with np.errstate(all="ignore"):
            _fill(kernel, row, robot, dict(zip(names, arrays, strict=True)), lead, results)
    except MemoryError:  # said in other words by the general call
        return None
    return results if len(results) > 1 else results[0]


def _on_this_thread(
    kernel: Kernel, arrays: Sequence[Any], out: Sequence[Any]
) -> Array | Results | None:
    """Evaluate a large batch of plain arrays by the kernel's built-in function, if it takes them.

    Args:
        kernel: of the quantity.
        arrays: the arguments; the first is an array.
        out: an array or None for each result.
    """
    if kernel.unbounded is None:
        return None
    try:
        found: Array | Results | None = kernel.unbounded(*arrays, *out)
    except MemoryError:  # said in other words by the general call
        return None
    return found
