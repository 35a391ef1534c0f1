"""Logs in files: arrays in `.npz`, tables in `.csv` and `.parquet`."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import TextIOBase, TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import OptionError, TrajectoryFileError, near_names
from sixfold.evaluate import model_checked
from sixfold.files import open_regular, path_of
from sixfold.model import Model
from sixfold.optional import optional
from sixfold.simulation.trajectory.npz import first_line, read_arrays

NAMES = {
    "t": ("t", "time", "timestamp", "stamp"),
    "q": ("q", "position", "positions", "pos"),
    "v": ("v", "qd", "dq", "velocity", "velocities", "vel"),
    "a": ("a", "qdd", "ddq", "acceleration", "accelerations", "acc"),
    "tau": ("tau", "torque", "torques", "effort", "efforts", "current", "currents"),
    "f_ext": ("f_ext",),
}
"""What arrays and columns may be called."""
SUFFIXES = (".npz", ".csv", ".parquet")
MAX_LINE = 2**20
"""Characters of the line of names."""


def read_log(path: str | os.PathLike[str], model: Model, columns: Any) -> dict[str, Any]:
    """Return the arrays of a log by the names of `Log`."""
    model_checked("Log.read", model)
    source = path_of("Log.read", path, "log.npz")
    chosen = _checked(columns)
    suffix = source.suffix.lower()
    if suffix not in SUFFIXES:
        fix = f"save the log as one of *{', *'.join(SUFFIXES)}"
        raise TrajectoryFileError(source, f"no log is kept in files '*{source.suffix}'", fix)
    table = _READERS[suffix](source)
    lengths = {len(x) for x in table.values() if x.ndim}
    if suffix != ".npz" and len(lengths) > 1:
        fix = "give all columns one number for each sample"
        raise TrajectoryFileError(source, f"has columns of {sorted(lengths)} numbers", fix)
    sizes = {"q": model.coordinates.q_names, "tau": model.coordinates.v_names}
    found: dict[str, Array | None] = {}
    for name in NAMES:
        labels = sizes.get(name, model.coordinates.v_names)
        found[name] = _found(source, table, name, labels, chosen.get(name))
    motors = [model.coordinates.v_names[k] for k in model.coordinates.actuated]
    if found["tau"] is None and len(motors) < model.nv:  # a floating base has no motors
        found["tau"] = _found(source, table, "tau", motors, chosen.get("tau"))
    for name, words in (("q", "positions"), ("tau", "joint forces")):
        if found[name] is None:
            listed = ", ".join(list(table)[:8]) + (", ..." if len(table) > 8 else "")
            fix = f"name them: columns={{'{name}': [...]}}; the file has {listed}"
            raise TrajectoryFileError(source, f"{words} of '{model.name}' are not in it", fix)
    return found


def _checked(columns: Any) -> dict[str, str | list[str]]:
    """Return the user's own names."""
    words = f"names by {', '.join(NAMES)}, such as {{'t': 'stamp', 'tau': ['m1', 'm2']}}"
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not columns.keys() <= NAMES.keys():
        raise OptionError("Log.read", "columns", words, columns)
    chosen: dict[str, str | list[str]] = {}
    for name, given in columns.items():
        several = not isinstance(given, str) and isinstance(given, Sequence)
        if not isinstance(given, str) and not (several and all(isinstance(x, str) for x in given)):
            raise OptionError("Log.read", "columns", words, columns)
        chosen[name] = given if isinstance(given, str) else list(given)
    return chosen


def _found(
    source: Path,
    table: Mapping[str, Array],
    name: str,
    labels: Sequence[str],
    chosen: str | list[str] | None,
) -> Array | None:
    """Return one array of a log: as a whole, or from a column for each coordinate."""
    if chosen is not None:
        listed = [chosen] if isinstance(chosen, str) else chosen
        for one in listed:
            if one not in table:
                near = near_names(one, table)
                fix = f"did you mean {', '.join(near)}?" if near else "look at its first line"
                raise TrajectoryFileError(source, f"has no column '{one}'", fix)
        parts = [table[one] for one in listed]
        return parts[0] if isinstance(chosen, str) else np.stack(parts, axis=-1)
    for alias in NAMES[name]:
        if alias in table and (name == "t" or table[alias].ndim > 1 or len(labels) == 1):
            array = table[alias]
            return array if name == "t" or array.ndim > 1 else array[:, None]
    if name in ("t", "f_ext"):
        return None
    for patterns in _patterns(NAMES[name], len(labels)):
        wanted = [
            p.format(label) if "{}" in p else p for p, label in zip(patterns, labels, strict=False)
        ]
        if all(one in table for one in wanted):
            return np.stack([table[one] for one in wanted], axis=-1)
    return None


def _patterns(aliases: Iterable[str], count: int) -> Iterable[list[str]]:
    """Yield how the columns of one quantity may be called, one name or pattern for each."""
    for alias in aliases:
        for form in ("{0}[{{}}]", "{0}_{{}}", "{0}.{{}}", "{{}}_{0}", "{{}}.{0}"):
            yield [form.format(alias)] * count
        for first in (1, 0):
            for form in ("{0}{1}", "{0}_{1}", "{0}[{1}]"):
                yield [form.format(alias, k + first) for k in range(count)]


def _npz(source: Path) -> dict[str, Array]:
    arrays = read_arrays(source)
    return {name: np.asarray(x, float) for name, x in arrays.items() if x.dtype.kind in "fiu"}


def _csv(source: Path) -> dict[str, Array]:
    try:
        with TextIOWrapper(open_regular(source), encoding="utf-8-sig", newline="") as stream:
            names = [name.strip() for name in next(csv.reader(_lines(stream)), [])]
            rows = _numbers(stream)
    except (OSError, UnicodeError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        fix = "give a line of names, then numbers with commas between them"
        raise TrajectoryFileError(source, f"cannot be read ({reason})", fix) from None
    if rows.shape[1:] != (len(names),) or not len(rows):
        what = f"has {len(names)} names in its first line and {rows.shape} numbers below"
        raise TrajectoryFileError(source, what, "give each line one number for each name")
    return {name: rows[:, k] for k, name in enumerate(names)}


def _lines(stream: TextIOBase) -> Iterator[str]:
    """Yield lines of bounded length; a quoted name may have line breaks."""
    while line := stream.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise ValueError(f"the first line has more than {MAX_LINE:,} characters")
        yield line


def _numbers(stream: Any) -> Array:
    """Return the rows of a table; empty fields are NaN."""
    place = stream.tell()
    try:
        return np.loadtxt(stream, delimiter=",", ndmin=2)
    except ValueError:
        stream.seek(place)
        # numbers one by one, in an array from the start: lists of texts would take much more memory
        rows = np.loadtxt(stream, delimiter=",", ndmin=2, converters=_number)
        if np.isnan(rows).mean() > 0.5:
            raise ValueError("most fields are not numbers") from None
        return rows


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _parquet(source: Path) -> dict[str, Array]:
    parquet = optional("pyarrow.parquet", "Log.read of a .parquet file")
    try:
        with open_regular(source) as stream:
            table = parquet.read_table(stream)
        columns = zip(table.column_names, table.columns, strict=True)
        found = {}
        for name, column in columns:
            values = column.to_numpy()
            if values.dtype.kind in "fiu":
                found[name] = np.asarray(values, float)
            elif values.dtype.kind == "M":
                found[name] = (values - values[0]) / np.timedelta64(1, "s")
        return found
    except Exception as error:  # pyarrow has errors of its own
        fix = "write it with pandas, polars or Trajectory.to_parquet"
        reason = getattr(error, "strerror", None) or first_line(error)
        raise TrajectoryFileError(source, f"cannot be read ({reason})", fix) from None


_READERS = {".npz": _npz, ".csv": _csv, ".parquet": _parquet}
