"""One piece of rows in a file format: arrays by name and a note, in Parquet or in Zarr."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from sixfold.arrays import Array
from sixfold.files import open_regular
from sixfold.optional import optional

KEY = "sixfold"
PURPOSE = "sweep: option 'write'"
Note = Mapping[str, Any]


class Format(NamedTuple):
    """How pieces of one kind are written to a path and read again."""

    write: Callable[[Path, Mapping[str, Array], Note], None]
    read: Callable[[Path], tuple[dict[str, Array], dict[str, Any]]]
    modules: tuple[str, ...]
    """What it needs."""


def _write_parquet(path: Path, results: Mapping[str, Array], note: Note) -> None:
    """Write a column for each array; those of several axes are lists of fixed size."""
    pa = optional("pyarrow", PURPOSE)
    columns = {}
    for name, x in results.items():
        flat = pa.array(np.ascontiguousarray(x).reshape(-1))
        size = int(np.prod(x.shape[1:]))
        columns[name] = flat if x.ndim == 1 else pa.FixedSizeListArray.from_arrays(flat, size)
    about = {**note, "shapes": {name: list(x.shape[1:]) for name, x in results.items()}}
    table = pa.table(columns).replace_schema_metadata({KEY: json.dumps(about)})
    optional("pyarrow.parquet", PURPOSE).write_table(table, path)


def _read_parquet(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    with open_regular(path) as stream:
        table = optional("pyarrow.parquet", PURPOSE).read_table(stream)
    note = json.loads(table.schema.metadata[KEY.encode()])
    shapes = note["shapes"].items()
    return {name: _numbers(table.column(name)).reshape(-1, *shape) for name, shape in shapes}, note


def _numbers(column: Any) -> Array:
    joined = column.combine_chunks()
    flat = joined.flatten() if hasattr(joined, "flatten") and joined.type.num_fields else joined
    found: Array = flat.to_numpy(zero_copy_only=False)
    return found


def _write_zarr(path: Path, results: Mapping[str, Array], note: Note) -> None:
    """Write a group with one array of one chunk for each result; xarray can open it."""
    group = optional("zarr", PURPOSE).open_group(path, mode="w", zarr_format=3)
    # a slash in a name would be a group
    places = {name: quote(name, safe=" ,()[]") for name in results}
    for name, x in results.items():
        axes = ("row", *(f"{name}_{k}" for k in range(1, x.ndim)))
        chunk = tuple(max(1, n) for n in x.shape)
        made = group.create_array(
            places[name], shape=x.shape, dtype=x.dtype, chunks=chunk, dimension_names=axes
        )
        if x.size:
            made[...] = x
    group.attrs[KEY] = {**note, "arrays": places}


def _read_zarr(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    group = optional("zarr", PURPOSE).open_group(path, mode="r")
    note = dict(group.attrs[KEY])
    return {name: np.asarray(group[place][...]) for name, place in note["arrays"].items()}, note


FORMATS = {
    "parquet": Format(_write_parquet, _read_parquet, ("pyarrow", "pyarrow.parquet")),
    "zarr": Format(_write_zarr, _read_zarr, ("zarr",)),
}
