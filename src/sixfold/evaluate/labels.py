"""Arrays with labels: tables of pandas, polars and Arrow, and xarray's arrays.

Coordinates are taken by their names where there are some, and by position where there are none.
None of these libraries is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sixfold.errors import ShapeError
from sixfold.evaluate.foreign import as_array, is_dask_array, library_of
from sixfold.model import Model

LABELS = {
    "6": ("ang_x", "ang_y", "ang_z", "lin_x", "lin_y", "lin_z"),
    "3": ("x", "y", "z"),
}
"""Names of the numbers along an axis of some size, in every model."""
Names = Sequence[str] | None
_TABLES = ("pandas", "polars", "pyarrow", "xarray")
_NUMBERS = (float, int, np.ndarray, type(None))


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
    return _listed(axes[-1]) if axes else None


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
    here = None if wanted is None else _listed(axes[-1])
    if wanted is None or here == list(wanted):
        return None
    if here is None:
        _refuse_transposed(function, argument, axes[:-1], wanted)
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


def _refuse_transposed(
    function: str, argument: str, leading: Sequence[Any], names: Sequence[str]
) -> None:
    """Refuse a table that has the model's names along an axis of states."""
    for labels in leading:
        same = labels is not None and len(labels) == len(names)
        if same and set(names) & set(_listed(labels) or ()):
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


def _listed(labels: Any) -> list[Any] | None:
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
