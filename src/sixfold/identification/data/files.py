"""Logs in files: arrays in `.npz`, tables in `.csv`, `.tsv`, `.txt` and `.parquet`."""

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
from sixfold.simulation.trajectory_files import first_line, read_arrays

NAMES = {
    "t": ("t", "time", "timestamp", "stamp"),
    "q": ("q", "position", "positions", "pos"),
    "v": ("v", "qd", "dq", "velocity", "velocities", "vel"),
    "a": ("a", "qdd", "ddq", "acceleration", "accelerations", "acc"),
    "tau": ("tau", "torque", "torques", "effort", "efforts"),
    "f_ext": ("f_ext",),
}
"""What arrays and columns may be called."""
SUFFIXES = (".npz", ".csv", ".tsv", ".txt", ".parquet")
MAX_COLUMNS = 100_000
"""Columns of one quantity."""
MAX_LINE = 2**20
"""Characters of a line before the numbers."""
Column = str | int
"""A column by its name or its number, counted from 0."""


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
            fix = _advice(model, name, list(table))
            raise TrajectoryFileError(source, f"{words} of '{model.name}' are not in it", fix)
    return found


def _advice(model: Model, name: str, names: list[str]) -> str:
    """Return how to say which columns hold a quantity."""
    if names == [str(k) for k in range(len(names))]:
        q, tau = f"range(1, {model.nq + 1})", f"range({model.nq + 1}, {model.nq + model.nv + 1})"
        fix = f"it has {len(names)} columns without names: give their numbers, counted from 0, as "
        return fix + f"columns={{'t': 0, 'q': {q}, 'tau': {tau}}}"
    shown = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    fix = f"name them: columns={{'{name}': [...]}}; the file has {shown}"
    if name == "tau" and any("current" in one.lower() for one in names):
        fix += "; currents need gains= too"
    return fix


def _checked(columns: Any) -> dict[str, Column | list[Column]]:
    """Return the user's own names or numbers of columns."""
    words = f"names or numbers of columns by {', '.join(NAMES)}, such as "
    words += "{'t': 'stamp', 'tau': ['m1', 'm2']} or {'t': 0, 'q': range(1, 3)}"
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not columns.keys() <= NAMES.keys():
        raise OptionError("Log.read", "columns", words, columns)
    chosen: dict[str, Column | list[Column]] = {}
    for name, given in columns.items():
        listed = [given] if isinstance(given, (str, int, np.integer)) else given
        several = isinstance(listed, (list, tuple, range)) or getattr(listed, "ndim", 0) == 1
        if not several or not 0 < len(listed) <= MAX_COLUMNS:
            raise OptionError("Log.read", "columns", words, columns)
        good = [x if isinstance(x, str) else _whole(x) for x in listed]
        if any(x is None for x in good):
            raise OptionError("Log.read", "columns", words, columns)
        found = [x for x in good if x is not None]
        chosen[name] = found[0] if listed is not given else found
    return chosen


def _whole(x: Any) -> int | None:
    """Return the number of a column, None for anything else."""
    good = isinstance(x, (int, np.integer)) and not isinstance(x, bool) and x >= 0
    return int(x) if good else None


def _found(
    source: Path,
    table: Mapping[str, Array],
    name: str,
    labels: Sequence[str],
    chosen: Column | list[Column] | None,
) -> Array | None:
    """Return one array of a log: as a whole, or from a column for each coordinate."""
    if chosen is not None:
        if isinstance(chosen, list):
            return np.stack([_column(source, table, one) for one in chosen], axis=-1)
        array = _column(source, table, chosen)
        alone = name not in ("t", "f_ext") and array.ndim == 1 and len(labels) == 1
        return array[:, None] if alone else array
    # capitals count only where two names differ by them
    lowered: dict[str, list[str]] = {}
    for one in table:
        lowered.setdefault(one.lower(), []).append(one)

    def named(one: str) -> str | None:
        near = lowered.get(one.lower(), [])
        return one if one in table else near[0] if len(near) == 1 else None

    for alias in NAMES[name]:
        there = named(alias)
        if there and (name == "t" or table[there].ndim > 1 or len(labels) == 1):
            array = _column(source, table, there)
            return array if name == "t" or array.ndim > 1 else array[:, None]
    if name in ("t", "f_ext"):
        return None
    for patterns in _patterns(NAMES[name], len(labels)):
        wanted = [
            named(p.format(label) if "{}" in p else p)
            for p, label in zip(patterns, labels, strict=False)
        ]
        if wanted and all(wanted):
            return np.stack([_column(source, table, one) for one in wanted if one], axis=-1)
    return None


def _column(source: Path, table: Mapping[str, Array], one: Column) -> Array:
    """Return a column or an array by its name or number; it has to hold numbers."""
    if isinstance(one, int):
        if source.suffix.lower() == ".npz":
            raise TrajectoryFileError(source, "has no numbered columns", "name its arrays")
        if one >= len(table):
            what = f"has no column {one}: it has {len(table)}, counted from 0"
            raise TrajectoryFileError(source, what, "give numbers of its columns")
        one = list(table)[one]
    if one not in table:
        near = near_names(one, table)
        fix = f"did you mean {', '.join(near)}?" if near else "look at its first line"
        raise TrajectoryFileError(source, f"has no column '{one}'", fix)
    if np.isnan(table[one]).all():
        fix = "write numbers, with points; for times seconds from the start"
        raise TrajectoryFileError(source, f"has no numbers in column '{one}'", fix)
    return table[one]


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
            names, delimiter = _head(stream)
            rows = _numbers(stream, delimiter)
    except (OSError, UnicodeError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        fix = "give a line of names, then numbers with commas between them"
        raise TrajectoryFileError(source, f"cannot be read ({reason})", fix) from None
    if names is None:
        names = [str(k) for k in range(rows.shape[1])]
    if rows.shape[1:] != (len(names),) or not len(rows):
        what = f"has {len(names)} names in its first line and {rows.shape} numbers below"
        raise TrajectoryFileError(source, what, "give each line one number for each name")
    twice = next((name for k, name in enumerate(names) if name and name in names[:k]), None)
    if twice is not None:
        fix = "give each column its own name"
        raise TrajectoryFileError(source, f"has two columns '{twice}'", fix)
    return {name or f"column {k}": rows[:, k] for k, name in enumerate(names)}


def _head(stream: TextIOBase) -> tuple[list[str] | None, str | None]:
    """Return the names of columns, None without any, and what stands between columns.

    Names stand in the first line, or in the last comment before the numbers.  The stream is then at
    the first line of numbers.
    """
    lines = _lines(stream)
    comment, place, line = "", stream.tell(), next(lines, "")
    while line and (not line.strip() or line.lstrip().startswith("#")):
        comment = line.strip().lstrip("#").strip() or comment
        place, line = stream.tell(), next(lines, "")
    delimiter, fields = _split_first(stream, place, line)
    if not _is_numeric(fields):
        return fields, delimiter
    stream.seek(place)
    named = _fields([comment], delimiter)
    if not comment or len(named) != len(fields) or _is_numeric(named):
        return None, delimiter
    return named, delimiter


def _split_first(stream: TextIOBase, place: int, line: str) -> tuple[str | None, list[str]]:
    """Return what stands between columns, and the fields of the first line.

    A mark counts if it splits the line after it into as many numbers: a name may hold others, and
    a quoted name may have line breaks.  The stream is then at the line after the first.
    """
    marks = [mark for mark in (";", "\t", ",") if mark in line]
    found: list[tuple[str, list[str], int]] = []
    for mark in marks:
        stream.seek(place)
        fields = _fields(_lines(stream), mark)
        end = stream.tell()
        numbers = _fields(_lines(stream), mark)
        if len(fields) == len(numbers) and _is_numeric(numbers):
            found.insert(0, (mark, fields, end))
            break
        found.append((mark, fields, end))
    if not found:
        stream.seek(place)
        return None, _fields(_lines(stream), None)
    mark, fields, end = found[0]
    stream.seek(end)
    return mark, fields


def _lines(stream: TextIOBase) -> Iterator[str]:
    """Yield lines of bounded length."""
    while line := stream.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise ValueError(f"a line has more than {MAX_LINE:,} characters")
        yield line


def _fields(lines: Iterable[str], delimiter: str | None) -> list[str]:
    if delimiter is None:
        return next(iter(lines), "").split()
    return [field.strip() for field in next(csv.reader(lines, delimiter=delimiter), [])]


def _is_numeric(fields: list[str]) -> bool:
    """Return whether a line holds numbers; some may be missing."""
    try:
        return bool([float(field) for field in fields if field])
    except ValueError:
        return False


def _numbers(stream: Any, delimiter: str | None) -> Array:
    """Return the rows of a table; empty fields are NaN."""
    place = stream.tell()
    try:
        return np.loadtxt(stream, delimiter=delimiter, ndmin=2)
    except ValueError:
        stream.seek(place)
        if delimiter == ";" and "," in stream.readline():
            raise ValueError("it has decimal commas: write points") from None
        stream.seek(place)
        # numbers one by one, in an array from the start: lists of texts would take much more memory
        rows = np.loadtxt(stream, delimiter=delimiter, ndmin=2, converters=_number)
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


_READERS = {".npz": _npz, ".csv": _csv, ".tsv": _csv, ".txt": _csv, ".parquet": _parquet}
