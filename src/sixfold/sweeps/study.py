"""A sweep as data that travels: the function, what varies, and the seed."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import ArgumentError, CallbackError, NotApplicableError, kind_of
from sixfold.model import Model
from sixfold.sweeps.draws import Draw, drawn
from sixfold.sweeps.pieces import content_digest
from sixfold.sweeps.rows import Grid, Rows

ROW = "row"
"""The argument that gets row numbers, if the function has one."""


@dataclass(frozen=True)
class Study:
    """What a worker needs to know to compute any rows."""

    function: Callable[..., Any]
    seed: int
    draws: Mapping[str, Draw]
    grid: Grid | None
    """Rows that can be made anywhere; those of a table come with the task."""
    numbered: bool
    """The function takes row numbers."""

    def inputs(self, start: int, stop: int, given: Mapping[str, Array]) -> dict[str, Array]:
        """Return the arguments of the function for the rows from start up to stop."""
        found = dict(given) if self.grid is None else self.grid.values(start, stop)
        if self.draws:
            found |= drawn(self.draws, self.seed, start, stop)
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
        return _named(made, start, stop)


def study_of(function: Any, rows: Rows, seed: int, draws: Mapping[str, Draw]) -> Study:
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
        fix = "pass draw={...}, rows=sf.Grid(...), or take the row number"
        raise NotApplicableError("sweep", where, fix)
    grid = rows if isinstance(rows, Grid) else None
    return Study(function, seed, dict(draws), grid, numbered)


DRAWN_ROWS = 64
"""Rows whose drawn numbers identify the draws, with the numbers that the draws hold."""


def digest_of(study: Study, rows: Rows, version: str | None, library: str) -> str:
    """Return a hash of what varies: rows, draws, seed, and the version that the user gives.

    The function is not part of it: rows that are stored are compared with what it computes.
    """
    drawn_first = drawn(study.draws, study.seed, 0, min(len(rows), DRAWN_ROWS))
    columns = getattr(rows, "columns", {}) if study.grid is None else study.grid.axes
    held = {name: _content(draw) for name, draw in study.draws.items()}
    known = (content_digest(drawn_first), content_digest(columns))
    parts = (library, version, study.seed, len(rows), held, *known)
    return hashlib.sha256("\n".join(map(repr, parts)).encode()).hexdigest()[:32]


def _content(x: Any) -> Any:
    """Return what a draw holds, as something that prints all of it."""
    if isinstance(x, np.ndarray):
        return content_digest({"": x}) if not x.dtype.hasobject else _content(x.tolist())
    if isinstance(x, Model):
        return x.digest
    if isinstance(x, (tuple, list)):
        return [_content(each) for each in x]
    if isinstance(x, Draw):
        return type(x).__name__, {name: _content(each) for name, each in vars(x).items()}
    return repr(x)


def _named(made: Any, start: int, stop: int) -> dict[str, Array]:
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
        except Exception:  # whatever the object's own conversion says
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
