"""Arrays that are more than numbers: Dask's, which are computed later, and xarray's, with labels.

A call that gets one of them returns the same kind.  Neither library is imported for other calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.errors import NotApplicableError, NumberError, ShapeError, SixfoldError, brief
from sixfold.evaluate.foreign import is_dask_array, is_labelled
from sixfold.evaluate.labels import names_along, order_of
from sixfold.model import Model
from sixfold.optional import optional

Axes = Sequence[str]
"""Sizes of the core axes of a result, as a row of a quantity has them."""


@dataclass(frozen=True)
class Call:
    """A call of a public function, with what has to be known about its arrays."""

    function: str
    run: Callable[..., Any]
    """Takes an array for each name, in their order; None for one that is left out."""
    cores: Mapping[str, tuple[str, ...]]
    """Sizes of the axes of one state of each array, as text: "nq", "6"."""
    model: Model
    results: Sequence[tuple[str, Axes]]
    """Name and core axes of each result."""
    places: Mapping[str, Any] = field(default_factory=dict)
    """Labels of axes that are not the model's: "time"."""


def contained(call: Call, values: Sequence[Any], out: Any) -> Any:
    """Return the results of a call some of whose arrays are Dask's or xarray's."""
    lazy = any(map(is_dask_array, values))
    if out is not None:
        what = f"{call.function}: option 'out'"
        if lazy or any(is_dask_array(x.data) for x in values if is_labelled(x)):
            fix = "leave it out; dask.array.store writes results to arrays of yours"
            raise NotApplicableError(what, "Dask arrays, which are computed later", fix)
        raise NotApplicableError(what, "xarray's arrays", "leave it out, or pass x.values")
    if any(map(is_labelled, values)):
        return _labelled(call, values)
    return _deferred(call, values)


# -- Dask


def _deferred(call: Call, values: Sequence[Any]) -> Any:
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
    spread: tuple[bool, ...]
    """Whether an argument comes in chunks; the others are those of `fixed`."""
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
    """Return whether an argument is handed out in chunks: Dask arrays, and arrays of states."""
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
"""Names of core axes by their size; a second axis of one kind has "_2" behind its name."""


def _labelled(call: Call, values: Sequence[Any]) -> Any:
    """Return the results as DataArrays: leading axes by their names, core axes with labels."""
    xarray = optional("xarray", f"{call.function} of xarray's arrays")
    arguments, cores, given = [], [], []
    for (name, sizes), value in zip(call.cores.items(), values, strict=True):
        given.append(value is not None)
        if value is None:
            continue
        core = [f"__{name}_{k}" for k in range(len(sizes))]
        if is_labelled(value):
            value = _core_renamed(call, name, value, sizes, core)
        arguments.append(value)
        cores.append(core)
    named = [_named(call, axes) for _, axes in call.results]
    leads = {
        dim
        for x, core in zip(arguments, cores, strict=True)
        if is_labelled(x)
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


def _core_renamed(
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


def _named(call: Call, sizes: Axes) -> dict[str, Sequence[Any] | None]:
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
