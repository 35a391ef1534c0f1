"""The life of a call: check the arguments, find the kernel, run it, and keep the fast call.

A public function first looks for its prepared calls, kept by model and options.  One is the
kernel's own built-in function: it takes plain arrays of one dtype with at most one leading axis,
and `out`.  The other takes plain arrays of any number and hands large batches to threads.  Both
give None for anything else.  Then `general` converts lists and numbers and tries them again.  What
is left, and the first call, gets every check: `general` says clearly what is wrong with an
argument, and it takes every kind of number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, get_args
from weakref import ref

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.choices import Backend
from sixfold.errors import NotApplicableError, OptionError
from sixfold.model import Model, require_model
from sixfold.runtime.array_libraries import Call, call_on_dask_or_xarray, is_container
from sixfold.runtime.arrays import (
    Results,
    checked_core,
    checked_inertias,
    checked_ufunc,
    evaluate,
    nonzero_numbers,
    refuse_massless,
    with_checked_masses,
)
from sixfold.runtime.kernels.kernel_cache import KERNELS, per_model, while_alive
from sixfold.runtime.kernels.kernels import FORMS, WATCHERS, for_kernel, kernel_for, kernel_tree
from sixfold.runtime.kernels.threads import MIN_SHARED_NUMBERS, get_threads, spread
from sixfold.runtime.lazy_import import Kernel, compiler
from sixfold.runtime.quantity import ARRAYS, QUANTITIES, ModelOnTree, page
from sixfold.runtime.singular import (
    nan_at_singular_states,
    possibly_singular_joints,
    refuse_singular,
)
from sixfold.scalar import Zero

if TYPE_CHECKING:
    from sixfold.runtime.quantity import Quantity

_DTYPES = {name: np.dtype(name) for name in ("float64", "float32")}
_DOUBLE, _SINGLE = _DTYPES.values()
_LISTS, _NUMBERS = {list, tuple}, {float, int, np.float64}
#: Machine code, in the form that suits the model or in one of its forms, or NumPy.
BACKENDS: tuple[str, ...] = get_args(Backend)


def general(
    row: Quantity, model: Any, values: Sequence[Any], options: Sequence[Any], out: Any, backend: Any
) -> Any:
    """Evaluate a quantity for arguments of any kind.

    Args:
        row: the quantity.
        model: the first argument.
        values: the array arguments, in the order of the row; None where one is left out.
        options: values of the row's choices, then the name of a body or frame.
        out: where the result goes, or None; a tuple for several results.
        backend: one of BACKENDS, or None.
    """
    if type(model) is ModelOnTree:  # inside another quantity
        return row.call_inside(model, values, options)
    if list in map(type, options):  # names in a list, which cannot be part of a key
        options = [tuple(x) if type(x) is list else x for x in options]
    found = _repeat_call(row, model, values, options, out, backend)
    if found is not None:
        return found
    require_model(row.name, model)
    # Dask and xarray call back with NumPy arrays
    if any(map(is_container, values)):
        return call_on_dask_or_xarray(_call_of(row, model, options, backend), values, out)
    if backend is not None and (not isinstance(backend, str) or backend not in BACKENDS):
        raise OptionError(row.name, "backend", BACKENDS, backend)
    keywords = row.options(model, values, options)
    arguments = {
        name: row.argument(model, name, value)
        for name, value in zip(row.arrays, values, strict=True)
        if value is not None or name not in row.optional
    }
    # models and inertias without a result
    if "inertias" in arguments:
        arguments["inertias"] = checked_inertias(row.name, arguments["inertias"], row.needs_mass)
    else:
        if row.needs_mass:
            refuse_massless(row.name, model)
        if row.solves:
            refuse_singular(model)
    # machine code for floats, the reading itself for other numbers
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
    # states where a pivot is zero
    if row.solves and results[0].dtype != object:
        lead = results[0].shape[: results[0].ndim - len(shapes[0])]
        q = np.broadcast_to(np.asarray(arguments["q"].value, float), (*lead, model.nq))
        given = np.asarray(arguments["inertias"].value, float) if "inertias" in arguments else None
        nan_at_singular_states(model, q, results, len(lead), given)
    return results if len(results) > 1 else results[0]


# -- warm calls with lists, numbers, and arrays that broadcast


def _repeat_call(
    row: Quantity, model: Any, values: Sequence[Any], options: Sequence[Any], out: Any, backend: Any
) -> Any:
    """Convert the arguments to arrays of one dtype and shape, and try the prepared calls again.

    Returns None without a prepared call, and for everything that needs the checks of `general`.
    """
    if backend is not None and (type(backend) is not str or backend != "native"):
        return None
    # loops, not comprehensions: each of those is a frame of its own before Python 3.12
    key = [id(model), *options]
    for name, value in zip(row.arrays, values, strict=True):
        if name in row.optional:
            key.append(value is None)
    # the entry that the public function would have found for arrays
    try:
        ready = row.prepared.get(tuple(key))
    except TypeError:  # an option that cannot be a key
        return None
    if ready is None or WATCHERS or model.has_code:
        return None
    layout = ready[3].layout
    try:
        arrays = _arrays_of_one_dtype(row, values)
        if arrays is None or len(arrays) != len(layout.inputs):
            return None
        arrays = _broadcast(arrays, layout.inputs, ready[3].numbers)
    except MemoryError:  # the checks say it in other words
        return None
    if arrays is None:
        return None
    targets: Any = (out,)
    if len(row.outputs) > 1:
        targets = (None,) * len(row.outputs) if out is None else out
        if type(targets) is not tuple or len(targets) != len(row.outputs):
            return None
    # the built-in function first, then the call for many states
    found = None if ready[0] is _nothing else ready[0](*arrays, *targets)
    return ready[1](*arrays, *targets) if found is None else found


def _arrays_of_one_dtype(row: Quantity, values: Sequence[Any]) -> list[Array] | None:
    """Return lists, numbers and arrays of numbers as arrays of one dtype; None for other kinds."""
    arrays: list[Array] = []
    single, double = False, False
    for name, value in zip(row.arrays, values, strict=True):
        kind = type(value)
        if value is None:
            continue
        if kind in _LISTS:
            # by type, because NumPy would also convert masked numbers and Dask's arrays
            nested = bool(value) and type(value[0]) in _LISTS
            if nested and not set(map(type, value)) <= _LISTS:
                return None
            if not set(map(type, chain.from_iterable(value) if nested else value)) <= _NUMBERS:
                return None
            try:
                value = np.array(value)
            except ValueError:  # rows of several lengths
                return None
        elif kind in _NUMBERS:
            value = np.array(value)
        elif kind is not np.ndarray:
            return None
        dtype = value.dtype
        if dtype.kind not in "iuf" or dtype.itemsize > 8:
            return None
        # Python numbers in weak arguments follow the precision of the others
        if kind is np.ndarray or not ARRAYS[name].weak:
            float32 = dtype.kind == "f" and dtype.itemsize == 4  # also with swapped bytes
            single, double = single or float32, double or not float32
        arrays.append(value)
    # float32 only where no argument is of double precision
    dtype = _SINGLE if single and not double else _DOUBLE
    for k, x in enumerate(arrays):
        if x.dtype is not dtype:
            arrays[k] = x.astype(dtype)
    return arrays


def _broadcast(arrays: list[Array], cores: Sequence[Shape], numbers: int) -> list[Array] | None:
    """Return arrays with one leading shape; None where copies would be large, or none fits."""
    # leading axes of each argument, once its last axes are as they should be
    leads = []
    for x, core in zip(arrays, cores, strict=True):
        end = x.ndim - len(core)
        if end < 0 or x.shape[end:] != core:
            return None
        leads.append(x.shape[:end])
    if len(set(leads)) == 1:
        return arrays
    try:
        lead = np.broadcast_shapes(*leads)
    except ValueError:
        return None
    # large batches go through the general call, which broadcasts without copies
    if prod(lead) * numbers > MIN_SHARED_NUMBERS:
        return None
    return [
        x if own == lead else np.ascontiguousarray(np.broadcast_to(x, lead + core))
        for x, own, core in zip(arrays, leads, cores, strict=True)
    ]


# -- calls with every check


def _call_of(row: Quantity, model: Model, options: Sequence[Any], backend: Any) -> Call:
    """Return what arrays of other libraries need to know of a call."""
    run = partial(_on_arrays, row, model, tuple(options), backend)
    cores = {name: tuple(ARRAYS[name].sizes.split()) for name in row.arrays}
    # axes of results by their sizes; xarray names them
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
        if self.form is None:
            self._keep(kernel, list(arrays))
        if out is None:
            out = _new(lead, outputs, dtype)
        _fill(kernel, row, model, arrays, lead, out)
        return out

    def _keep(self, kernel: Kernel, names: Sequence[str]) -> None:
        """Keep the prepared calls, unless every state has to be tested for pivots."""
        table, key, row = self.row.prepared, self.key, self.row
        if row.solves and ("inertias" in names or possibly_singular_joints(self.model)):
            return
        kept = table.get(key)
        if kept is not None and kept[3] is kernel:
            return
        # the entry goes when the model or the kernel goes
        alive = while_alive(self.model, table, key)
        unchecked = not nonzero_numbers(self.model, names)
        prepare = partial(_large, kernel, kernel.numbers, row, alive, tuple(names), unchecked)
        fast, other = kernel.quick or _nothing, None
        if kept is not None and kept[3].layout.dtype != kernel.layout.dtype:
            other = (kept[0], kept[4])  # arrays of the other precision, in turns with these
        calls: list[Callable[..., Any]] = [fast, partial(prepare, other), partial(prepare, None)]
        if "inertias" in names:
            place, mass = len(names) - 1, row.needs_mass
            calls = [with_checked_masses(call, row.name, place, mass) for call in calls]
        entry = (*calls[:2], alive, kernel, calls[2])
        KERNELS.short_cut(kernel, table, key, entry)


def _without_machine_code(row: Quantity, backend: str, where: str) -> NotApplicableError:
    """Return the error of a call that asks for machine code where none can be made."""
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
    """Return new arrays for results; memory of large ones comes from `result_memory`."""
    found: Results = compiler().result_memory.empty(list(map(lead.__add__, shapes)), dtype)
    return found


def _nothing(*_: Any) -> None:
    """Stand for the built-in function of a kernel that has none."""


def _large(
    kernel: Kernel,
    size: int,
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
        size: numbers that it reads and writes for one state.
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
    # anything but plain arrays of the kernel's dtype and one leading shape goes back
    for x in arrays:
        if type(x) is not np.ndarray:
            return None
    first = arrays[0]
    if other is not None and first.dtype is not dtype:
        found: Array | Results | None = other[0](*given)
        return other[1](*given) if found is None else found
    lead = first.shape[: first.ndim - len(layout.inputs[0])]
    for x, core in zip(arrays, layout.inputs, strict=True):
        if x.dtype is not dtype or x.shape != lead + core:
            return None
    # one thread: the built-in function without its limit on states
    numbers = prod(lead) * size
    if numbers >= MIN_SHARED_NUMBERS and get_threads() == 1 and kernel.on_one_thread is not None:
        try:
            found = kernel.on_one_thread(*arrays, *out)
        except MemoryError:  # the general call says it in other words
            return None
        if found is not None:
            return found
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
        if unchecked and (numbers < MIN_SHARED_NUMBERS or get_threads() == 1):
            # kernels leave the flags alone that NumPy would warn of
            kernel.ufunc_for(numbers * dtype.itemsize, prod(lead))(*arrays, out=results)
            return results if len(results) > 1 else results[0]
        robot = model()
        assert robot is not None, "a call has its model"
        with np.errstate(all="ignore"):
            _fill(kernel, row, robot, dict(zip(names, arrays, strict=True)), lead, results)
    except MemoryError:  # the general call says it in other words
        return None
    return results if len(results) > 1 else results[0]


# -- results without the numbers that are zero for every state: `sparse=True`


class Nonzeros(NamedTuple):
    """A matrix for each state by the numbers that are not zero for every state."""

    values: Array  #: Shape (..., n).
    rows: Array  #: Row of each, shape (n,); the same for all states of a model.
    columns: Array  #: Column of each.


def sparse_call(
    row: Quantity,
    model: Any,
    values: Sequence[Any],
    options: Sequence[Any],
    out: Any,
    backend: Any,
    sparse: Any,
) -> Nonzeros | tuple[Nonzeros, ...]:
    """Evaluate a quantity whose results are matrices, without their zeros.

    Joints on different branches do not act on each other, so matrices over the degrees of freedom
    have zeros in fixed places: where the algorithm itself finds an exact zero.

    Args:
        row: the quantity.
        model: the first argument.
        values: the array arguments, as in `general`.
        options: values of the row's choices.
        out: arrays for the values, or None.
        backend: as in `general`.
        sparse: what the caller passed.
    """
    if sparse is not True:
        raise OptionError(row.name, "sparse", (False, True), sparse)
    require_model(row.name, model)
    row.options(model, values, options)  # says what is wrong with one
    absent = tuple(n for n, x in zip(row.arrays, values, strict=True) if x is None)
    reduced, places = _nonzero_row(model, row.name, tuple(options), absent)
    found: Any = general(reduced, model, values, options, out, backend)
    if len(places) == 1:
        return Nonzeros(found, *places[0])
    return tuple(Nonzeros(x, *at) for x, at in zip(found, places, strict=True))


@per_model()
def _nonzero_row(
    model: Model, name: str, options: tuple[Any, ...], absent: tuple[str, ...]
) -> tuple[Quantity, list[tuple[Array, Array]]]:
    """Return a row of the nonzeros alone, and the places of each result."""
    row = QUANTITIES[name]
    given = [None if n in absent else 0.0 for n in row.arrays]
    keywords = row.options(model, given, options)
    # exact zeros are found at any state without special numbers
    rng = np.random.default_rng(0)
    lists = []
    for n in row.arrays:
        size = prod(row.argument(model, n, None).shape)
        numbers = rng.standard_normal(size).tolist()
        if n == "q":
            numbers = [x for each in model.coordinates.free for x in each.joint.random(rng)]
        lists += [] if n in absent else [numbers]
    # trace on floats: exact zeros stay `Zero` objects
    core = row.core(set(row.arrays) - set(absent), keywords)
    numbers = core(model, kernel_tree(core, model), *lists)
    kept = [k for k, x in enumerate(numbers) if not isinstance(x, Zero)]

    @page(joint_space=getattr(row.reading, "joint_space", False))
    def nonzeros(*arguments: Any, **more: Any) -> list[Any]:
        found = row.reading(*arguments, **more)
        return [found[k] for k in kept]

    # places of the kept numbers, result by result
    places, sizes, start = [], [], 0
    for shape in row.shapes(model):
        here = [k - start for k in kept if start <= k < start + prod(shape)]
        rows, columns = np.unravel_index(np.array(here, int), shape)
        places.append((rows, columns))
        sizes.append(str(len(here)))
        start += prod(shape)
    return replace(row, reading=nonzeros, outputs=tuple(sizes), prepared={}), places
