"""Arrays of other libraries: Dask, xarray, pandas, polars, Arrow, JAX, torch, GPUs.

Those that hold plain numbers are converted, the others get advice.  Tables and arrays with labels
are taken by the names of coordinates where there are some, and by position where there are none.
A call with Dask's or xarray's arrays returns the same kind.

None of these libraries is imported: an object is known by the module of its type and by the
protocols that it follows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import GeneratorType, NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.arrays import Shape
from sixfold.errors import (
    NotApplicableError,
    NumberError,
    ShapeError,
    SixfoldError,
    TooLargeError,
    brief,
    kind_of,
)
from sixfold.lazy import optional
from sixfold.model import Model

MAX_ITEMS = 10**8  #: Items of a sequence that is no array, at most: each is an object of Python's.
_PLAIN = (np.ndarray, list, tuple, float, int, NoneType)
MAX_AXES = 64  #: Axes of a NumPy array; lists that are nested deeper are none.
_LIBRARIES = frozenset(
    ("jax", "jaxlib", "torch", "dask", "xarray", "scipy", "pyopencl", "pandas", "polars", "pyarrow")
)
_ARRAYS = ("__array__", "__array_interface__", "__array_struct__", "__buffer__")


def as_array(function: str, name: str, value: Any) -> NDArray[Any]:
    """Return any array-like object as a NumPy array, or say what the object is and what to do."""
    if type(value) not in (list, tuple, float, int):
        refuse(function, name, value)
    elif type(value) in (list, tuple) and _holds_dask_arrays(value):
        raise NumberError(f"{function}: argument '{name}'", "numbers in a NumPy array", *_DASK_LIST)
    try:
        array = np.asarray(value)
    except Exception:
        # a list may hold objects that have to be explained
        for item in _items(value):
            refuse(function, name, item)
        raise
    # NumPy takes a masked number in a list for NaN
    if array.dtype.kind == "f" and type(value) in (list, tuple) and np.isnan(array).any():
        for item in _items(value):
            if isinstance(item, np.ma.MaskedArray):
                refuse(function, name, item)
    return array


def refuse(function: str, name: str, value: Any) -> None:
    """Raise for an object whose numbers are not here, or are not all to be used."""
    where = f"{function}: argument '{name}'"
    if isinstance(value, np.ma.MaskedArray):
        if np.ma.is_masked(value):
            fix = "fill the masked elements, or leave those states out"
            place = f"{where} does not hold real numbers"
            raise NumberError(place, "an array without masked elements", "masked elements", fix)
        return
    if isinstance(value, np.ndarray | np.generic):
        return
    advice = _advice_for(value)
    if advice is not None:
        raise NumberError(where, "numbers in a NumPy array", *advice)
    if isinstance(value, (Mapping, Set, GeneratorType)) or callable(value) is True:
        fix = "pass a list or an array of numbers"
        raise NumberError(where, "numbers in a NumPy array", kind_of(value), fix)
    if not any(hasattr(value, protocol) for protocol in _ARRAYS):
        _refuse_endless(where, value)


def _refuse_endless(where: str, value: Any) -> None:
    try:
        count = len(value)
    except Exception:  # no sequence, or one whose own length fails
        return
    if count > MAX_ITEMS:
        raise TooLargeError(where, f"a sequence of {count:.3g} items", "pass a NumPy array")


def _advice_for(value: Any) -> tuple[str, str] | None:
    """Return what an object of another library is and the way out; None if it may be tried."""
    library = library_of(value)
    if library == "jax" and _is_tracer(value):
        return (
            "a JAX tracer: jax.jit, jax.grad or jax.vmap is looking at the function, and there "
            "are no numbers yet",
            "call a function made by sixfold.interop.jax_function, such as "
            "sf.interop.jax_function(sf.inverse_dynamics, model), which takes such arrays",
        )
    if library == "torch":
        return _torch(value)
    if library == "pyopencl":
        what = f"{kind_of(value)}, whose numbers are in the memory of an OpenCL device"
        fix = (
            "call a function made by sf.devices.opencl_function, or sf.devices.opencl_rollout, "
            "which take it; or pass x.get()"
        )
        return what, fix
    if library == "dask":
        return _DASK
    if library == "xarray" and library_of(_data_of(value)) == "dask":
        return _DASK
    if library == "scipy" and hasattr(value, "toarray"):
        return "a sparse matrix", "pass x.toarray()"
    if _on_a_device(value):
        return (
            f"{kind_of(value)}, whose numbers are in the memory of a graphics card",
            f"{_READING}; or bring it over: cupy.asnumpy(x), x.get(), x.copy_to_host() or x.cpu()",
        )
    return None


_READING = (
    "call a function made by sixfold.interop.array_api_function, such as "
    "sixfold.interop.array_api_function(sixfold.inverse_dynamics, model), which leaves it there"
)
_DASK = (
    "a Dask array, which is not computed yet",
    "pass x.compute(); quantities and rollout take Dask arrays as they are",
)
_DASK_LIST = (
    "a list of Dask arrays, which are not computed yet",
    "join them with dask.array.stack",
)


def _holds_dask_arrays(value: list[Any] | tuple[Any, ...], depth: int = 0) -> bool:
    """Return whether nested lists hold Dask arrays, which NumPy would compute."""
    if not value or type(value[0]) in (float, int) or depth > MAX_AXES:
        return False
    return any(
        _holds_dask_arrays(x, depth + 1) if type(x) in (list, tuple) else is_dask_array(x)
        for x in value
    )


def is_dask_array(value: Any) -> bool:
    """Return whether an object is a Dask array, which must not be computed unasked."""
    return library_of(value) == "dask" and hasattr(value, "chunks") and hasattr(value, "dtype")


def is_data_array(value: Any) -> bool:
    """Return whether an object is an xarray.DataArray."""
    return library_of(value) == "xarray" and hasattr(value, "variable") and hasattr(value, "dims")


def is_container(value: Any) -> bool:
    """Return whether an object is one of both: a call with one returns the same kind."""
    return type(value) not in _PLAIN and (is_dask_array(value) or is_data_array(value))


def _data_of(value: Any) -> Any:
    """Return the array inside an array of xarray's."""
    return getattr(getattr(value, "variable", value), "_data", None)


def _torch(value: Any) -> tuple[str, str] | None:
    fix = (
        "call a function made by sixfold.interop.torch_function, such as "
        "sixfold.interop.torch_function(sixfold.inverse_dynamics, model), which does"
    )
    device = getattr(getattr(value, "device", None), "type", "cpu")
    if device != "cpu":  # with or without gradients
        return f"a torch tensor on device '{device}'", f"{_READING}; or pass x.cpu().numpy()"
    if getattr(value, "requires_grad", False):
        what = "a torch tensor that requires gradients, which this function does not carry on"
        return what, f"{fix}; or pass x.detach().numpy()"
    if _torch_transforms(value):
        return "a torch tensor inside torch.func or forward mode, which it does not carry on", fix
    return None


def _torch_transforms(value: Any) -> bool:
    """Return whether a tensor stands for more than its numbers: a batch, a tangent."""
    torch = sys.modules.get("torch")
    try:
        inner = torch._C._functorch  # type: ignore[union-attr]
        if inner.is_functorch_wrapped_tensor(value):
            return True
        return torch.autograd.forward_ad.unpack_dual(value).tangent is not None  # type: ignore[union-attr]
    except Exception:  # another version of torch, or no torch: it may be tried
        return False


def library_of(value: Any) -> str:
    """Return the name of the library that an object's type, or a type it derives from, is of."""
    for kind in type(value).__mro__:
        top = (getattr(kind, "__module__", None) or "").partition(".")[0]
        if top in _LIBRARIES:
            return "jax" if top == "jaxlib" else top
    return ""


def _is_tracer(value: Any) -> bool:
    return any(kind.__name__.endswith("Tracer") for kind in type(value).__mro__)


def _on_a_device(value: Any) -> bool:
    try:
        return getattr(value, "__cuda_array_interface__", None) is not None
    except Exception:  # the property of an object that cannot tell
        return False


def _items(value: Any) -> list[Any]:
    """Return what nested lists hold, the first million of it."""
    found: list[Any] = []
    pending, seen = [value], set()
    while pending and len(found) < 1_000_000:
        item = pending.pop()
        if isinstance(item, (list, tuple)):
            if id(item) not in seen:
                seen.add(id(item))
                pending.extend(item)
        else:
            found.append(item)
    return found


# -- labels

#: Names of the numbers along an axis of some size, in every model.
LABELS = {"6": ("ang_x", "ang_y", "ang_z", "lin_x", "lin_y", "lin_z"), "3": ("x", "y", "z")}
Names = Sequence[str] | None
_TABLES = ("pandas", "polars", "pyarrow", "xarray")
_NUMBERS = (float, int, np.ndarray, NoneType)


def names_along(model: Model, size: str) -> Names:
    """Return the names of the numbers along an axis of a size such as "nq"; None without names."""
    if size == "nb":
        return model.body_names
    if size in ("nq", "nv"):
        coordinates = model.coordinates
        return coordinates.q_names if size == "nq" else coordinates.v_names
    return LABELS.get(size)


def has_labels(value: Any) -> bool:
    """Return whether something is a table or an array with labels, or a list of such."""
    kind = type(value)
    if kind in _NUMBERS or is_dask_array(value):
        return False
    if kind is list or kind is tuple:
        return _holds_tables(value)
    return library_of(value) in _TABLES


def last_labels(value: Any) -> list[Any] | None:
    """Return the labels along the last axis of a table; None where there are no texts."""
    axes = _axes_of(value) if has_labels(value) else []
    return _label_list(axes[-1]) if axes else None


def in_order(function: str, argument: str, value: Any, wanted: Sequence[Names]) -> Any:
    """Return a table as an array in the order of names, anything else as it is.

    Args:
        function: for messages.
        argument: its name, for messages.
        value: what was passed.
        wanted: names along each axis of one state, None along one without.

    Raises:
        ShapeError: if some labels are texts that are not these names.
    """
    if not has_labels(value):
        return value
    if type(value) in (list, tuple):
        return [in_order(function, argument, x, wanted) for x in value]
    axes = _axes_of(value)
    array = as_array(function, argument, value)
    if array.ndim < len(wanted) or len(axes) != array.ndim:
        return array  # the check of shapes says what is wrong
    first = array.ndim - len(wanted)
    for k, names in enumerate(wanted):
        order = order_of(function, argument, axes[: first + k + 1], names, "x.to_numpy()")
        if order is not None:
            array = array.take(order, first + k)
    return array


def plain_argument(function: str, argument: str, value: Any, model: Model, sizes: str) -> Any:
    """Return a table or an array with labels as an array in the model's order; refuse Dask's."""
    found = in_order(function, argument, value, [names_along(model, n) for n in sizes.split()])
    return as_array(function, argument, found) if is_dask_array(found) else found


def order_of(
    function: str, argument: str, axes: Sequence[Any], wanted: Names, plain: str
) -> list[int] | None:
    """Return the places of the model's names along an axis; None if it is taken by position.

    Args:
        function: for messages.
        argument: its name, for messages.
        axes: labels of all axes up to this one, None for an axis without.
        wanted: the model's names, None where it has none.
        plain: how the array without its labels is written.
    """
    here = None if wanted is None else _label_list(axes[-1])
    if wanted is None or here == list(wanted):
        return None
    if here is None:
        _refuse_swapped_axes(function, argument, axes[:-1], wanted)
        return None
    # a Trajectory's table calls its columns q[joint], v[joint] and so on
    letter = argument.rstrip("0123456789")
    known = {f"{letter}[{name}]": name for name in wanted} | {name: name for name in wanted}
    found = [known.get(x) for x in here]
    if None not in found and sorted(map(str, found)) == sorted(wanted):
        return [found.index(name) for name in wanted]
    strange = [str(x) for x, name in zip(here, found, strict=True) if name is None]
    missing = [name for name in wanted if name not in found]
    parts = [f"also {', '.join(strange[:8])}"] if strange else []
    parts += [f"without {', '.join(missing[:8])}"] if missing else []
    got = "; ".join(parts) or f"{', '.join(map(str, here[:8]))}, some of them twice"
    fix = f"select them by name and in any order, or pass {plain} to take them by position"
    names = ", ".join(wanted[:12]) + (", ..." if len(wanted) > 12 else "")
    raise ShapeError(function, argument, f"the labels {names}", got, fix)


def _refuse_swapped_axes(
    function: str, argument: str, leading: Sequence[Any], names: Sequence[str]
) -> None:
    """Refuse a table that has the model's names along an axis of states."""
    for labels in leading:
        same = labels is not None and len(labels) == len(names)
        if same and set(names) & set(_label_list(labels) or ()):
            expected = f"the labels {', '.join(names[:12])} along the last axis"
            fix = "transpose it: states go along the leading axes"
            raise ShapeError(function, argument, expected, "along an axis of states", fix)


def _axes_of(value: Any) -> list[Any]:
    """Return the labels of each axis, None for an axis without."""
    library = library_of(value)
    if library == "xarray":
        if not hasattr(value, "dims") or not hasattr(value, "coords"):
            return []
        return [value.coords[d].values if d in value.coords else None for d in value.dims]
    if library == "pandas":
        axes = getattr(value, "axes", None)
        return list(axes) if isinstance(axes, list) else []
    columns = getattr(value, "columns" if library == "polars" else "column_names", None)
    return [None, columns] if isinstance(columns, list) else [None]


def _label_list(labels: Any) -> list[Any] | None:
    """Return labels as Python objects; None where they are numbers or times."""
    if labels is None or getattr(getattr(labels, "dtype", None), "kind", "O") in "fiumMb":
        return None
    found = list(labels.tolist() if hasattr(labels, "tolist") else labels)
    return found if any(isinstance(x, (str, tuple)) for x in found) else None


def _holds_tables(value: list[Any] | tuple[Any, ...], depth: int = 0) -> bool:
    """Return whether nested lists hold rows with labels, which NumPy would drop."""
    if not value or type(value[0]) in _NUMBERS or depth > 8:
        return False
    first = value[0]
    if type(first) in (list, tuple):
        return _holds_tables(first, depth + 1)
    return any(library_of(x) in _TABLES for x in value)


# -- calls on Dask's and xarray's arrays

Axes = Sequence[str]  #: Sizes of the core axes of a result, as a row of a quantity has them.


@dataclass(frozen=True)
class Call:
    """A call of a public function, with what has to be known about its arrays."""

    function: str
    #: Takes an array for each name, in their order; None for one that is left out.
    run: Callable[..., Any]
    #: Sizes of the axes of one state of each array, as text: "nq", "6".
    cores: Mapping[str, tuple[str, ...]]
    model: Model
    results: Sequence[tuple[str, Axes]]  #: Name and core axes of each result.
    #: Labels of axes that are not the model's: "time".
    places: Mapping[str, Any] = field(default_factory=dict)


def call_on_dask_or_xarray(call: Call, values: Sequence[Any], out: Any) -> Any:
    """Return the results of a call some of whose arrays are Dask's or xarray's."""
    lazy = any(map(is_dask_array, values))
    if out is not None:
        what = f"{call.function}: option 'out'"
        if lazy or any(is_dask_array(x.data) for x in values if is_data_array(x)):
            fix = "leave it out; dask.array.store writes results to arrays of yours"
            raise NotApplicableError(what, "Dask arrays, which are computed later", fix)
        raise NotApplicableError(what, "xarray's arrays", "leave it out, or pass x.values")
    if any(map(is_data_array, values)):
        return _call_on_xarray(call, values)
    return _call_on_dask(call, values)


# -- Dask


def _call_on_dask(call: Call, values: Sequence[Any]) -> Any:
    """Return the results as Dask arrays; nothing of the arguments is computed."""
    da = optional("dask.array", f"{call.function} of Dask arrays")
    names = list(call.cores)
    known = {
        name: _array_of_states(value, len(call.cores[name]))
        for name, value in zip(names, values, strict=True)
    }
    for name, value in known.items():
        if is_dask_array(value):
            _check_chunks(call.function, name, value)
    # the function itself tells shapes, dtypes and errors: there are no states to compute
    probe = call.run(*(_no_states(known[name], len(call.cores[name])) for name in names))
    results = probe if isinstance(probe, tuple) else (probe,)
    spread = {name: x for name, x in known.items() if _leads(x, len(call.cores[name]))}
    _check_leads(call, spread)
    spread = {name: _core_in_one_chunk(x, len(call.cores[name])) for name, x in spread.items()}
    fixed = tuple(None if name in spread else known[name] for name in names)
    task = _Task(call.function, call.run, tuple(name in spread for name in names), fixed)
    sizes: dict[str, int] = {}
    inside = [
        _axes(f"i{k}_", x.shape[x.ndim - len(call.cores[name]) :])
        for k, (name, x) in enumerate(spread.items())
    ]
    outside = []
    for k, x in enumerate(results):
        axes = _axes(f"o{k}_", x.shape[1:])
        sizes |= dict(zip(axes, x.shape[1:], strict=True))
        outside.append(axes)
    signature = "->".join(",".join(f"({','.join(a)})" for a in side) for side in (inside, outside))
    dtypes = [x.dtype for x in results]
    return da.apply_gufunc(
        task,
        signature,
        *spread.values(),
        output_dtypes=dtypes if len(dtypes) > 1 else dtypes[0],
        output_sizes=sizes,
        allow_rechunk=True,
    )


@dataclass(frozen=True)
class _Task:
    """What a worker runs on a chunk of states."""

    function: str
    run: Callable[..., Any]
    #: Whether an argument comes in chunks; the others are those of `fixed`.
    spread: tuple[bool, ...]
    fixed: tuple[Any, ...]

    @property
    def __name__(self) -> str:
        return self.function

    def __call__(self, *chunks: Any) -> Any:
        """Return the results of a chunk."""
        left = iter(chunks)
        pairs = zip(self.spread, self.fixed, strict=True)
        return self.run(*(next(left) if comes else kept for comes, kept in pairs))


def _core_in_one_chunk(x: Any, core: int) -> Any:
    """Return an array whose chunks hold whole states; leading axes keep their chunks."""
    if not is_dask_array(x):
        return x
    return x.rechunk({axis: -1 for axis in range(x.ndim - core, x.ndim)}) if core else x


def _axes(prefix: str, shape: Shape) -> list[str]:
    return [f"{prefix}{k}" for k in range(len(shape))]


def _leads(value: Any, core: int) -> bool:
    """Return whether an argument is split in chunks: Dask arrays, and arrays of states."""
    return is_dask_array(value) or (isinstance(value, np.ndarray) and value.ndim > core)


def _array_of_states(value: Any, core: int) -> Any:
    """Return several states that are no array as one; anything else as it is."""
    if value is None or callable(value) or is_dask_array(value) or isinstance(value, np.ndarray):
        return value
    try:
        array = np.asarray(value)
    except Exception:  # the function itself says what is wrong with it
        return value
    return array if array.ndim > core else value


def _no_states(value: Any, core: int) -> Any:
    """Return what stands for an argument in a call without states."""
    if not _leads(value, core) or value.ndim < core:
        return np.empty(value.shape, value.dtype) if is_dask_array(value) else value
    return np.empty((0, *value.shape[value.ndim - core :]), value.dtype)


def _check_chunks(function: str, name: str, value: Any) -> None:
    if any(n != n for n in value.shape):  # NaN stands for a size that is not known
        expected = "an array whose chunks have known sizes"
        fix = f"call {name}.compute_chunk_sizes() first"
        raise ShapeError(function, name, expected, f"unknown sizes, {value.shape}", fix)
    if value.dtype.kind not in "fiu":
        where = f"{function}: argument '{name}' does not hold real numbers"
        fix = "convert it, for example with x.astype(float)"
        raise NumberError(where, "a Dask array of floats", f"dtype {value.dtype}", fix)


def _check_leads(call: Call, spread: Mapping[str, Any]) -> None:
    leads = [x.shape[: x.ndim - len(call.cores[name])] for name, x in spread.items()]
    try:
        np.broadcast_shapes(*leads)
    except ValueError:
        shown = ", ".join(f"{name} {x.shape}" for name, x in spread.items())
        expected = "leading axes that broadcast against each other"
        fix = "give all arguments the same number of states, or one state"
        raise ShapeError(call.function, "/".join(spread), expected, shown, fix) from None


# -- xarray

#: Names of core axes by their size; a second axis of one kind has "_2" behind its name.
AXES = {
    "nq": "q_coordinate",
    "nv": "v_coordinate",
    "nb": "body",
    "nc": "constraint_row",
    "6": "spatial",
    "4": "row",
    "3": "axis",
    "10": "inertial_parameter",
}


def _call_on_xarray(call: Call, values: Sequence[Any]) -> Any:
    """Return the results as DataArrays: leading axes by their names, core axes with labels."""
    xarray = optional("xarray", f"{call.function} of xarray's arrays")
    arguments, cores, given = [], [], []
    for (name, sizes), value in zip(call.cores.items(), values, strict=True):
        given.append(value is not None)
        if value is None:
            continue
        core = [f"__{name}_{k}" for k in range(len(sizes))]
        if is_data_array(value):
            value = _rename_core(call, name, value, sizes, core)
        arguments.append(value)
        cores.append(core)
    named = [_result_axes(call, axes) for _, axes in call.results]
    leads = {
        dim
        for x, core in zip(arguments, cores, strict=True)
        if is_data_array(x)
        for dim in x.dims
        if dim not in core
    }
    _check_names(call, leads, named)

    def run(*arrays: Any) -> Any:
        left = iter(arrays)
        return call.run(*(next(left) if there else None for there in given))

    try:
        found = xarray.apply_ufunc(
            run,
            *arguments,
            input_core_dims=cores,
            output_core_dims=[list(labels) for labels in named],
            join="exact",
            dask="allowed",
        )
    except SixfoldError:
        raise
    except ValueError as error:  # xarray cannot bring the leading axes together
        expected = "leading axes with the same names, sizes and labels"
        fix = "align them first, for example with xarray.align"
        raise ShapeError(call.function, "/".join(call.cores), expected, brief(error), fix) from None
    results = found if isinstance(found, tuple) else (found,)
    done = tuple(
        x.assign_coords({d: list(at) for d, at in labels.items() if at is not None}).rename(name)
        for x, labels, (name, _) in zip(results, named, call.results, strict=True)
    )
    return done if isinstance(found, tuple) else done[0]


def _rename_core(
    call: Call, name: str, value: Any, sizes: Sequence[str], core: Sequence[str]
) -> Any:
    """Return an argument with core axes of its own names, in the model's order."""
    last = value.dims[value.ndim - len(core) :]
    if len(last) < len(core):
        expected = f"{len(core)} axes for one state, the last ones"
        fix = "transpose or expand it"
        raise ShapeError(call.function, name, expected, f"axes {value.dims}", fix)
    axes = [value.coords[d].values if d in value.coords else None for d in value.dims]
    first = len(axes) - len(core)
    for k, (dim, size) in enumerate(zip(last, sizes, strict=True)):
        wanted, plain = names_along(call.model, size), f"x.drop_vars('{dim}')"
        order = order_of(call.function, name, axes[: first + k + 1], wanted, plain)
        value = value if order is None else value.isel({dim: order})
    return value.rename(dict(zip(last, core, strict=True)))


def _result_axes(call: Call, sizes: Axes) -> dict[str, Sequence[Any] | None]:
    """Return the names of a result's core axes, each with its labels."""
    found: dict[str, Sequence[Any] | None] = {}
    names = [AXES.get(size, size) for size in sizes]
    for k, (name, size) in enumerate(zip(names, sizes, strict=True)):
        count = names[:k].count(name)
        labels = call.places.get(name, names_along(call.model, size))
        found[f"{name}_{count + 1}" if count else name] = labels
    return found


def _check_names(call: Call, leads: set[Any], named: Sequence[Mapping[str, Any]]) -> None:
    taken = leads & {dim for labels in named for dim in labels}
    if taken:
        dim = sorted(map(str, taken))[0]
        expected = "leading axes whose names the result does not need"
        fix = f"rename it, for example x.rename({dim}='state')"
        raise ShapeError(call.function, "/".join(call.cores), expected, f"axis '{dim}'", fix)
