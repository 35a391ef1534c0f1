"""A sweep as data that can be pickled: its rows, the function, what is drawn, and the seed.

Rows are a number of rows, a table, or all combinations of some values.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.errors import (
    ArgumentError,
    CallbackError,
    NotApplicableError,
    OptionError,
    ShapeError,
    kind_of,
)
from sixfold.model import Model
from sixfold.sweeps.draws import Draw, draw_rows
from sixfold.sweeps.pieces import content_digest

MAX_ROWS = 2**53  # rows that a float still counts


class Grid:
    """All combinations of the values of some names, the last name fastest.

    Args:
        **axes: values by name, in any units: arrays of shape (n,), or (n, ...) for n arrays.

    Raises:
        OptionError: if there are no names, or too many combinations.

    Example:
        >>> import sixfold as sf
        >>> grid = sf.sweeps.Grid(mass=[1.0, 2.0], angle=[0.0, 0.5, 1.0])
        >>> grid, len(grid), grid.shape
        (Grid(mass: 2, angle: 3), 6, (2, 3))
        >>> rows = grid.values(2, 4)
        >>> rows["mass"].tolist(), rows["angle"].tolist()
        ([1.0, 2.0], [1.0, 0.0])
    """

    def __init__(self, **axes: ArrayLike) -> None:
        """Take the values of each name."""
        if not axes:
            raise OptionError("Grid", "axes", "values by name, such as mass=[1.0, 2.0]", {})
        #: The values of each name, shape (n, ...).
        self.axes = {name: _column("Grid", name, x) for name, x in axes.items()}
        self.shape = tuple(map(len, self.axes.values()))  #: How many values each name has.
        if prod(self.shape) > MAX_ROWS:
            words = f"at most {MAX_ROWS} combinations"
            raise OptionError("Grid", "axes", words, prod(self.shape))

    def __len__(self) -> int:
        """Return how many combinations there are."""
        return prod(self.shape)

    def __repr__(self) -> str:
        """Say how many values each name has."""
        return f"Grid({', '.join(f'{name}: {len(x)}' for name, x in self.axes.items())})"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(self.axes)

    def values(self, start: int, stop: int) -> dict[str, Array]:
        """Return the combinations from start up to stop, by name."""
        whole = all(isinstance(n, (int, np.integer)) for n in (start, stop))
        if not whole or not 0 <= start <= stop <= len(self):
            words = f"two row numbers from 0 to {len(self)}, the lower one first"
            raise OptionError("Grid.values", "start", words, (start, stop))
        places = np.unravel_index(np.arange(start, stop), self.shape)
        return {name: x[at] for (name, x), at in zip(self.axes.items(), places, strict=True)}

    def about(self) -> dict[str, str]:
        """Say what each name runs over."""
        return {name: f"grid of {len(x)} values" for name, x in self.axes.items()}


class RowTable:
    """Rows that are given one by one, by name; without columns just a number of rows."""

    def __init__(self, columns: Mapping[str, Array], count: int) -> None:
        """Hold columns with one number or array for each row."""
        self.columns, self.count = columns, count

    def __len__(self) -> int:
        return self.count

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.columns)

    def values(self, start: int, stop: int) -> dict[str, Array]:
        """Return the rows from start up to stop, by name."""
        return {name: x[start:stop] for name, x in self.columns.items()}

    def about(self) -> dict[str, str]:
        """Say in a few words what each name runs over."""
        return {name: f"table of {len(x)} rows" for name, x in self.columns.items()}


RowSource = Grid | RowTable
ROWS = "a number, a Grid, or columns of one length by name"


def rows_of(given: Any) -> RowSource:
    """Return what was passed as rows, or say what is wrong with it."""
    if isinstance(given, Grid):
        return given
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not 1 <= given <= MAX_ROWS:
            raise OptionError("sweep", "rows", "one row or more", given)
        return RowTable({}, int(given))
    if not isinstance(given, Mapping):
        fix = "pass rows=1000, or rows=sf.sweeps.Grid(mass=[1.0, 2.0])"
        raise ArgumentError("sweep: argument 'rows'", ROWS, given, fix)
    if not given or not all(isinstance(name, str) for name in given):
        raise OptionError("sweep", "rows", ROWS, given)
    columns = {name: _column("sweep", name, x) for name, x in given.items()}
    lengths = [len(x) for x in columns.values()]
    if len(set(lengths)) > 1:
        shown = ", ".join(f"{name} {n}" for name, n in zip(columns, lengths, strict=True))
        fix = "give all columns the same number of rows"
        raise ShapeError("sweep", "rows", "columns of one length", shown, fix)
    return RowTable(columns, lengths[0])


def _column(function: str, name: str, value: Any) -> Array:
    fix = "pass an array with one row for each value"
    try:
        array = np.asarray(value)
    except Exception:  # ragged data, or an object whose own conversion fails
        array = np.empty((), object)
    if array.ndim == 0 or not len(array) or array.dtype.kind not in "fiub":
        got = f"shape {array.shape}, dtype {array.dtype}"
        raise ShapeError(function, name, "numbers with one row for each value", got, fix)
    return array


ROW = "row"  # the argument that gets row numbers, if the function has one


@dataclass(frozen=True)
class Study:
    """What a worker needs to know to compute any rows."""

    function: Callable[..., Any]
    seed: int
    draws: Mapping[str, Draw]
    grid: Grid | None  # rows that can be made anywhere; those of a table come with the task
    numbered: bool  # the function takes row numbers

    def inputs(self, start: int, stop: int, given: Mapping[str, Array]) -> dict[str, Array]:
        """Return the arguments of the function for the rows from start up to stop."""
        found = dict(given) if self.grid is None else self.grid.values(start, stop)
        if self.draws:
            found |= draw_rows(self.draws, self.seed, start, stop)
        if self.numbered:
            found[ROW] = np.arange(start, stop)
        return found

    def results(self, start: int, stop: int, given: Mapping[str, Array]) -> dict[str, Array]:
        """Return what the function makes of the rows from start up to stop, by name."""
        try:
            made = self.function(**self.inputs(start, stop, given))
        except Exception as error:
            error.add_note(f"in rows {start} to {stop - 1} of a sweep")
            raise
        return _results_by_name(made, start, stop)


def study_of(function: Any, rows: RowSource, seed: int, draws: Mapping[str, Draw]) -> Study:
    """Return the study of a call, or say what is wrong with its function."""
    if not callable(function):
        fix = "pass a function of the arrays that vary, by their names"
        raise ArgumentError("sweep: argument 'function'", "a function", function, fix)
    twice = set(draws) & set(rows.names)
    if twice:
        where = f"'{sorted(twice)[0]}', which the rows already hold"
        raise NotApplicableError("sweep: a draw", where, "give it another name")
    names = (*rows.names, *draws)
    parameters: Mapping[str, inspect.Parameter] = {}
    try:
        signature = inspect.signature(function)
        parameters = signature.parameters
        numbered = ROW in parameters and ROW not in names
        signature.bind(**dict.fromkeys([*names, *([ROW] if numbered else [])]))
    except TypeError as error:
        expected = f"a function of ({', '.join(names) or ROW}), as its rows and draws are named"
        got = f"one of ({', '.join(parameters)}): {error}"
        fix = "name the arguments of the function as what varies"
        raise CallbackError("sweep: argument 'function'", expected, got, fix) from None
    except ValueError:  # a function of C that says nothing about itself
        numbered = False
    if not names and not numbered:
        where = f"rows that hold nothing, with a function that takes no '{ROW}'"
        fix = "pass draw={...}, rows=sf.sweeps.Grid(...), or take the row number"
        raise NotApplicableError("sweep", where, fix)
    grid = rows if isinstance(rows, Grid) else None
    return Study(function, seed, dict(draws), grid, numbered)


DRAWN_ROWS = 64  # rows whose drawn numbers identify the draws, with the numbers that the draws hold


def digest_of(study: Study, rows: RowSource, version: str | None) -> str:
    """Return a hash of what varies: rows, draws, seed, and the version that the user gives.

    The function is not part of it: rows that are stored are compared with what it computes.
    """
    drawn_first = draw_rows(study.draws, study.seed, 0, min(len(rows), DRAWN_ROWS))
    columns = rows.axes if isinstance(rows, Grid) else rows.columns
    held = {
        name: (draw.kind, [x.digest if isinstance(x, Model) else _hash(x) for x in draw.parts])
        for name, draw in study.draws.items()
    }
    known = (content_digest(drawn_first), content_digest(columns))
    library = sys.modules["sixfold"].__version__  # an import would be one of a layer above
    parts = (library, version, study.seed, len(rows), held, *known)
    return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()[:32]


def _hash(array: Array) -> str:
    return content_digest({"": array})


def _results_by_name(made: Any, start: int, stop: int) -> dict[str, Array]:
    """Return the results of a function by name, or say what is wrong with them."""
    if isinstance(made, Mapping):
        parts = {str(name): x for name, x in made.items()}
    elif isinstance(made, tuple):
        names = getattr(made, "_fields", [f"result{k}" for k in range(len(made))])
        parts = dict(zip(names, made, strict=True))
    else:
        parts = {"result": made}
    where = f"sweep: what the function returns for rows {start} to {stop - 1}"
    fix = "return an array with one row for each row of the arguments, or several by name"
    found: dict[str, Array] = {}
    for name, x in parts.items():
        try:
            array = np.asarray(x)
        except Exception:  # the conversion may raise anything
            array = np.empty((), object)
        if array.dtype.kind not in "fiub":
            expected = f"real numbers for '{name}'"
            raise CallbackError(where, expected, kind_of(x), fix)
        if array.ndim == 0 or len(array) != stop - start:
            expected = f"shape ({stop - start}, ...) for '{name}'"
            raise CallbackError(where, expected, f"shape {array.shape}", fix)
        found[name] = array
    if not found:
        raise CallbackError(where, "an array or more", "none", fix)
    return found
