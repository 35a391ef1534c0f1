"""What a simulation is given, checked before the first step."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.errors import NumberError, OptionError, StateError, TooLargeError
from sixfold.evaluate import neutral
from sixfold.evaluate.arrays import FEWER, Argument, Array, Shape, checked, leading_shape
from sixfold.evaluate.quaternions import quaternions
from sixfold.model import Model
from sixfold.simulate.drive import Grid
from sixfold.simulate.tables import labels

ROUND = 1e-6
"""How far from 1 the length of a quaternion may be."""

MOST_STEPS = 10**10
"""More steps than this take days: a slip in the units of dt or duration."""


def grid_of(t0: Any, duration: Any, dt: Any, every: Any) -> Grid:
    """Return the times of a simulation, or say which number is wrong."""
    for name, value, good, words in (
        ("duration", duration, _real(duration) and duration >= 0, "a time >= 0 [s]"),
        ("dt", dt, _real(dt) and dt > 0, "a time > 0 [s]"),
        ("t0", t0, _real(t0), "a time [s]"),
        ("every", every, _whole(every) and every >= 1, "a whole number >= 1"),
    ):
        if not good:
            raise OptionError("simulate", name, (words,), value)
    if duration / dt > MOST_STEPS:
        words = f"a step of at least {duration / MOST_STEPS:.1g} s for this duration"
        raise OptionError("simulate", "dt", (words,), dt)
    return Grid(float(t0), float(duration), float(dt), int(every))


def states_of(
    model: Model, q0: ArrayLike | None, v0: ArrayLike | None, **others: Argument | None
) -> tuple[Array, Array, dict[str, Array]]:
    """Return finite q, v of one leading shape, and the other arrays that were given.

    Quaternions that are off the unit sphere by rounding are put back on it.
    """
    given = {
        "q0": Argument(neutral(model) if q0 is None else q0, (model.nq,), "nq coordinates"),
        "v0": Argument(np.zeros(model.nv) if v0 is None else v0, (model.nv,), "nv coordinates"),
    } | {name: argument for name, argument in others.items() if argument is not None}
    arrays = {name: _floats(name, argument) for name, argument in given.items()}
    lead = leading_shape("simulate", given, arrays)
    rows = {"q0": labels(model, "nq"), "v0": labels(model, "nv")}
    for name, array in arrays.items():
        _finite(name, array, rows.get(name, []))
    q = np.array(np.broadcast_to(arrays.pop("q0"), (*lead, model.nq)))
    v = np.array(np.broadcast_to(arrays.pop("v0"), (*lead, model.nv)))
    refuse_long("simulate", model, q)
    for _, part in quaternions(model):
        q[..., part] /= np.linalg.norm(q[..., part], axis=-1, keepdims=True)
    return q, v, arrays


def refuse_long(function: str, model: Model, q0: Array) -> None:
    """Refuse quaternions whose length is off 1 by more than rounding."""
    for joint, part in quaternions(model):
        turns = q0[..., part].reshape(-1, 4)
        off = np.abs(np.sqrt((turns**2).sum(axis=-1)) - 1.0)
        if (off > ROUND).any():
            worst = turns[int(np.argmax(off))]
            raise StateError(
                f"{function}: argument 'q0', joint '{joint}'",
                "a quaternion (x, y, z, w) of length 1",
                f"{worst.tolist()}, of length {float(np.linalg.norm(worst)):.6g}",
                "divide it by its length, or start from sixfold.neutral(model)",
            )


def room_for(grid: Grid, lead: Shape, size: int, model: Model) -> None:
    """Refuse a run whose samples would not fit into memory."""
    numbers = grid.samples * max(1, int(np.prod(lead))) * (size + model.nq + 4 * model.nv + 3)
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        there = 16 << 30
    if 8 * numbers > 0.8 * there:
        raise OptionError(
            "simulate",
            "every",
            (f"at least {math.ceil(grid.every * 8 * numbers / (0.4 * there))} for this duration",),
            f"{grid.every}: {grid.samples} samples take {8 * numbers / 2**30:.1f} GiB",
        )


def _floats(name: str, argument: Argument) -> Array:
    array = checked("simulate", name, argument)
    try:
        return np.array(array, float)
    except MemoryError as error:
        raise TooLargeError("simulate", f"argument '{name}': {error}", FEWER) from None
    except (TypeError, ValueError):
        where = f"simulate: argument '{name}' does not hold plain numbers"
        raise NumberError(where, "floats", f"dtype {array.dtype}", "give numbers") from None


def _finite(name: str, array: Array, names: list[str]) -> None:
    bad = ~np.isfinite(array)
    if bad.any():
        index = tuple(int(k) for k in np.argwhere(bad)[0])
        joint = f", joint '{names[index[-1]]}'" if names else ""
        raise StateError(
            f"simulate: argument '{name}' at {list(index)}{joint}",
            "finite numbers",
            array[index],
            "give a number for every coordinate",
        )


def _real(x: Any) -> bool:
    number = isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)
    return number and bool(abs(x) < 1e300)


def _whole(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)
