"""What a sweep goes over: a number of rows, a table, or all combinations of some values."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.errors import ArgumentError, OptionError, ShapeError

MAX_ROWS = 2**53
"""Rows that a float still counts."""


class Rows(Protocol):
    """Rows by number."""

    def __len__(self) -> int:
        """Return how many there are."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what a row holds."""

    def values(self, start: int, stop: int) -> dict[str, Array]:
        """Return the rows from start up to stop, by name."""

    def about(self) -> dict[str, str]:
        """Say in a few words what each name runs over."""


class Grid:
    """All combinations of the values of some names, the last name fastest.

    Args:
        **axes: values by name, in any units: arrays of shape (n,), or (n, ...) for n arrays.

    Raises:
        OptionError: if there are no names, or too many combinations.

    Example:
        >>> import sixfold as sf
        >>> grid = sf.Grid(mass=[1.0, 2.0], angle=[0.0, 0.5, 1.0])
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
        self.axes = {name: _column("Grid", name, x) for name, x in axes.items()}
        """The values of each name, shape (n, ...)."""
        self.shape = tuple(map(len, self.axes.values()))
        """How many values each name has."""
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


class Table:
    """Rows that are given one by one, by name."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        """Take columns with one row each."""
        words = "a number, a Grid, or columns of one length by name"
        if not columns or not all(isinstance(name, str) for name in columns):
            raise OptionError("sweep", "rows", words, columns)
        self.columns = {name: _column("sweep", name, x) for name, x in columns.items()}
        lengths = {name: len(x) for name, x in self.columns.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} {n}" for name, n in lengths.items())
            fix = "give all columns the same number of rows"
            raise ShapeError("sweep", "rows", "columns of one length", shown, fix)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of what a row holds."""
        return tuple(self.columns)

    def values(self, start: int, stop: int) -> dict[str, Array]:
        """Return the rows from start up to stop, by name."""
        return {name: x[start:stop] for name, x in self.columns.items()}

    def about(self) -> dict[str, str]:
        """Say in a few words what each name runs over."""
        return {name: f"table of {len(x)} rows" for name, x in self.columns.items()}


class Count:
    """So many rows, which hold nothing by themselves."""

    names: tuple[str, ...] = ()

    def __init__(self, count: int) -> None:
        """Take how many."""
        self.count = count

    def __len__(self) -> int:
        return self.count

    def values(self, start: int, stop: int) -> dict[str, Array]:
        """Return the rows from start up to stop, by name."""
        return {}

    def about(self) -> dict[str, str]:
        """Say in a few words what each name runs over."""
        return {}


def rows_of(given: Any) -> Rows:
    """Return what was passed as rows, or say what is wrong with it."""
    if isinstance(given, Grid):
        return given
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if not 1 <= given <= MAX_ROWS:
            raise OptionError("sweep", "rows", "one row or more", given)
        return Count(int(given))
    if isinstance(given, Mapping):
        return Table(given)
    where, expected = "sweep: argument 'rows'", "a number, a Grid, or columns of one length by name"
    raise ArgumentError(where, expected, given, "pass rows=1000, or rows=sf.Grid(mass=[1.0, 2.0])")


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
