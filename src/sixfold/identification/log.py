"""Logs of a robot's motion, in memory and in files.

Files hold arrays (`.npz`) or tables (`.csv`, `.tsv`, `.txt` and `.parquet`).
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from io import TextIOBase, TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import (
    ArgumentError,
    NumberError,
    OptionError,
    ShapeError,
    TrajectoryFileError,
    near_names,
)
from sixfold.files import open_regular, path_of
from sixfold.lazy import optional
from sixfold.model import Model
from sixfold.runtime import last_labels, require_model
from sixfold.simulation.trajectory_files import first_line, read_arrays

# what arrays and columns may be called
NAMES = {
    "t": ("t", "time", "timestamp", "stamp"),
    "q": ("q", "position", "positions", "pos"),
    "v": ("v", "qd", "dq", "velocity", "velocities", "vel"),
    "a": ("a", "qdd", "ddq", "acceleration", "accelerations", "acc"),
    "tau": ("tau", "torque", "torques", "effort", "efforts"),
    "f_ext": ("f_ext",),
}
SUFFIXES = (".npz", ".csv", ".tsv", ".txt", ".parquet")
MAX_COLUMNS = 100_000  # columns of one quantity
MAX_LINE = 2**20  # characters of a line before the numbers
MAX_HEAD_LINES = 20_000  # blank lines and comments before the first numbers
Column = str | int  # A column by its name or its number, counted from 0


def read_log(path: str | os.PathLike[str], model: Model, columns: Any) -> dict[str, Any]:
    """Return the arrays of a log by the names of `Log`."""
    require_model("Log.read", model)
    source = path_of("Log.read", path, "log.npz")
    chosen = _check_columns(columns)
    suffix = source.suffix.lower()
    if suffix not in SUFFIXES:
        fix = f"save the log as one of *{', *'.join(SUFFIXES)}"
        raise TrajectoryFileError(source, f"no log is kept in files '*{source.suffix}'", fix)
    # arrays or columns by name, then those that hold each quantity
    table = _READERS[suffix](source)
    lengths = {len(x) for x in table.values() if x.ndim}
    if suffix != ".npz" and len(lengths) > 1:
        fix = "give all columns one number for each sample"
        raise TrajectoryFileError(source, f"has columns of {sorted(lengths)} numbers", fix)
    sizes = {"q": model.coordinates.q_names, "tau": model.coordinates.v_names}
    found: dict[str, Array | None] = {}
    for name in NAMES:
        labels = sizes.get(name, model.coordinates.v_names)
        found[name] = _find_array(source, table, name, labels, chosen.get(name))
    motors = [model.coordinates.v_names[k] for k in model.coordinates.actuated_indices]
    if found["tau"] is None and len(motors) < model.nv:  # a floating base has no motors
        found["tau"] = _find_array(source, table, "tau", motors, chosen.get("tau"))
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


def _check_columns(columns: Any) -> dict[str, Column | list[Column]]:
    """Return the user's own names or numbers of columns."""
    words = f"names or numbers of columns by {', '.join(NAMES)}, such as "
    words += "{'t': 'stamp', 'tau': ['m1', 'm2']} or {'t': 0, 'q': range(1, 3)}"
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not columns.keys() <= NAMES.keys():
        raise OptionError("Log.read", "columns", words, columns)
    chosen: dict[str, Column | list[Column]] = {}
    for name, given in columns.items():
        # a single name or number stands for itself
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


def _find_array(
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

    def find_column(one: str) -> str | None:
        near = lowered.get(one.lower(), [])
        return one if one in table else near[0] if len(near) == 1 else None

    # an array with all coordinates, by one of its names
    for alias in NAMES[name]:
        there = find_column(alias)
        if there and (name == "t" or table[there].ndim > 1 or len(labels) == 1):
            array = _column(source, table, there)
            return array if name == "t" or array.ndim > 1 else array[:, None]
    if name in ("t", "f_ext"):
        return None
    # else one column for each coordinate, by one pattern for all of them
    for patterns in _patterns(NAMES[name], len(labels)):
        wanted = [
            find_column(p.format(label) if "{}" in p else p)
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
        fix = f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(list(table)[:8])}"
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
    count = 0
    while line and (not line.strip() or line.lstrip().startswith("#")):
        count += 1
        if count > MAX_HEAD_LINES:  # each of them costs a look at the place in the file
            raise ValueError(f"more than {MAX_HEAD_LINES:,} lines without numbers stand first")
        comment = line.strip().lstrip("#").strip() or comment
        place, line = stream.tell(), next(lines, "")
    # numbers in the first line: names stand in the last comment, or nowhere
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


Chunk = tuple[Array, ...]  # q, v, a, tau and f_ext (if measured), one row for each sample
Columns = Mapping[str, str | int | Sequence[str | int]]


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """A record of a motion: one row for each sample.  What was not measured is None.

    Args:
        q: positions [rad or m], shape (samples, nq).
        v: velocities [rad/s or m/s], shape (samples, nv).
        a: accelerations [rad/s^2 or m/s^2], shape (samples, nv).
        tau: joint forces [N m or N], or motor currents [A], shape (samples, nv).
        t: times [s], shape (samples,), or the time between two samples.
        f_ext: measured external forces on each body (n; f) [N m; N], world axes, about the world
            origin, shape (samples, nb, 6).

    Raises:
        ShapeError: if an array has another number of axes or of samples.
        NumberError, ArgumentError: if an array does not hold numbers.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> t = np.arange(100) * 0.01
        >>> log = sf.identification.Log(np.sin(t)[:, None], tau=np.cos(t)[:, None], t=0.01)
        >>> log, log.times[-1].round(2).item()
        (<log of 100 samples: q, tau, t>, 0.99)
        >>> np.savez("swing.npz", t=log.times, q=log.q, tau=log.tau)
        >>> sf.identification.Log.read("swing.npz", sf.load("pendulum"))
        <log of 100 samples: q, tau, t>
    """

    q: Array  #: Positions [rad or m], shape (samples, nq).
    #: Velocities [rad/s or m/s], shape (samples, nv); by default made from q.
    v: Array | None = None
    #: Accelerations [rad/s^2 or m/s^2], shape (samples, nv); by default made from v or q.
    a: Array | None = None
    #: Joint forces [N m or N], or motor currents [A], shape (samples, nv); for a floating base also
    #: those of the joints alone.
    tau: Array | None = None
    t: Array | float | None = None  #: Times [s], shape (samples,), or the time between two samples.
    #: Measured external forces on each body (n; f) [N m; N] in world axes about the world origin,
    #: shape (samples, nb, 6).
    f_ext: Array | None = None

    def __post_init__(self) -> None:
        """Check that all arrays hold numbers and are equally long."""
        for one in fields(self):
            given = getattr(self, one.name)
            if given is not None:
                object.__setattr__(self, one.name, _array(one.name, given))
        if self.q.ndim != 2:
            fix = "give one row for each sample"
            raise ShapeError("Log", "q", "(samples, nq)", self.q.shape, fix)
        for name, axes in (("q", 2), ("v", 2), ("a", 2), ("tau", 2), ("f_ext", 3)):
            array = getattr(self, name)
            if array is None:
                continue
            size = ("samples, n", "samples, nb, 6")[axes == 3]
            if array.ndim != axes or len(array) != len(self.q):
                expected = f"({size}) with samples = {len(self.q)}, as q"
                fix = "give one row for each sample"
                raise ShapeError("Log", name, expected, array.shape, fix)
        if self.t is not None and np.shape(self.t) not in ((), (len(self.q),)):
            fix = "give one time for each sample, or the time between two"
            raise ShapeError("Log", "t", f"({len(self.q)},) or one number", np.shape(self.t), fix)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.q)

    def __repr__(self) -> str:
        """Say what there is."""
        there = [one.name for one in fields(self) if getattr(self, one.name) is not None]
        return f"<log of {len(self)} samples: {', '.join(there)}>"

    @property
    def times(self) -> Array | None:
        """One time for each sample [s], if there are some."""
        if self.t is None:
            return None
        t = np.asarray(self.t, float)
        return t if t.ndim else float(t) * np.arange(len(self))

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], model: Model, *, columns: Columns | None = None
    ) -> Log:
        """Read a log from an `.npz`, `.csv`, `.tsv`, `.txt` or `.parquet` file.

        Arrays of an `.npz` file are named t, q, v, a, tau and f_ext, one row for each sample.  A
        table has one column for each number, as `Trajectory.save` writes it: t and q[joint],
        tau[joint]...; also understood are q_joint, q.joint, joint_position, and q1 to qn or q0 to
        qn-1 in the order of the model's coordinates, with the names position, velocity,
        acceleration and torque or effort as well.  A table of text has commas, semicolons, tabs or
        spaces between its columns and names in its first line, or in a comment above the numbers;
        without names columns are given by number.

        Args:
            path: the file.
            model: the robot, for the names and the order of its joints.
            columns: names of columns or arrays that are called otherwise, or numbers of columns,
                counted from 0, such as {"t": "stamp", "tau": ["m1", "m2"]} or {"t": 0, "q":
                range(1, 3)}: for a table one for each coordinate.

        Raises:
            TrajectoryFileError: if the file cannot be read or has no positions or joint forces.
        """
        return cls(**read_log(path, model, columns))


def map_arrays(log: Log, function: Callable[[Array], Array]) -> Log:
    """Return a log with a function applied to each array that was measured."""
    arrays = (log.q, log.v, log.a, log.tau, log.times, log.f_ext)
    return Log(*(None if x is None else function(x) for x in arrays))  # type: ignore[arg-type]


def interpolate(log: Log, t: Array) -> Log:
    """Return a log at other times, by straight lines between samples."""
    assert log.times is not None
    known = log.times

    def at(x: Array) -> Array:
        rows = [np.interp(t, known, column) for column in x.reshape(len(x), -1).T]
        return np.stack(rows, axis=-1).reshape(len(t), *x.shape[1:])

    return replace(map_arrays(log, at), t=t)


def _array(name: str, given: Any) -> Array:
    """Return an argument as floats; what can be sliced lazily is read here."""
    labels = last_labels(given) if name in ("q", "v", "a", "tau") else None
    if labels is not None:
        got = f"columns {', '.join(map(str, labels[:8]))}, and a Log has no model to order them by"
        fix = "pass the tables to identify itself, or x.to_numpy() to take them by position"
        raise ShapeError("Log", name, "columns without names", got, fix)
    try:
        # numbers of any type become floats; texts and records do not
        array = np.asarray(given)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"numbers of type {array.dtype}")
        array = np.asarray(array, float)
    except (TypeError, ValueError) as error:
        fix = "give an array of numbers"
        raise NumberError(f"Log: argument '{name}'", "real numbers", str(error), fix) from None
    except Exception as error:  # an object that makes its own arrays, and fails
        where = f"Log: argument '{name}', which fails with {type(error).__name__} when it is read"
        fix = "give a NumPy array"
        raise ArgumentError(where, "an array of numbers", given, fix) from None
    array = array.view()
    array.flags.writeable = False
    return array
