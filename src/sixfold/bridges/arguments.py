"""Arguments of a bridged function: bound by name, and their shapes checked as NumPy's are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.errors import ArgumentError, NumberError, ShapeError
from sixfold.evaluate import ArrayFunction

CHOICES = ("float64", "float32")
"""Precisions that there are kernels for."""


def by_place(core: ArrayFunction, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """Return the arguments of a call in their order, or say which is missing or too many."""
    names = core.names
    given = dict(zip(names, arrays, strict=False))
    twice = [name for name in named if name in given]
    if len(arrays) > len(names) or twice or set(named) - set(names):
        got = [*(f"argument {k + 1}" for k in range(len(arrays))), *named]
        raise _wrong(core, ", ".join(got))
    given |= named
    if len(given) < len(names):
        raise _wrong(core, ", ".join(given) or "nothing")
    return [given[name] for name in names]


def _wrong(core: ArrayFunction, got: str) -> ArgumentError:
    fix = "pass each of them once, in this order or by name"
    return ArgumentError(f"{core.name}: arguments", ", ".join(core.names), got, fix)


def leading_shape(core: ArrayFunction, shapes: Sequence[Shape]) -> Shape:
    """Return the common leading shape of arguments, or say which of them does not fit."""
    leads = []
    for name, shape, expected in zip(core.names, shapes, core.inputs, strict=True):
        start = len(shape) - len(expected)
        if start < 0 or tuple(shape[start:]) != expected:
            wanted = f"({', '.join(['...', *map(str, expected)])})"
            fix = "the last axes are those of one state"
            raise ShapeError(core.name, name, wanted, tuple(shape), fix)
        leads.append(tuple(shape[:start]))
    try:
        return np.broadcast_shapes(*leads)
    except ValueError:
        shown = ", ".join(f"{n} {tuple(s)}" for n, s in zip(core.names, shapes, strict=True))
        wanted = "leading axes that broadcast against each other"
        fix = "give all arguments the same number of states, or one state"
        raise ShapeError(core.name, "/".join(core.names), wanted, shown, fix) from None


def refuse_dtype(core: ArrayFunction, dtype: str) -> None:
    """Raise for a precision that has no kernels."""
    if dtype not in CHOICES:
        where = f"{core.name}: arguments"
        raise NumberError(where, " or ".join(CHOICES), dtype, "convert the arrays to one of them")
