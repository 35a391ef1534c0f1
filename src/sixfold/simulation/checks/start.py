"""Arguments of `simulate` and `rollout`, checked before the first step."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.errors import NumberError, OptionError, StateError, TooLargeError
from sixfold.evaluate import FEWER_STATES, Argument, checked, enough_memory, leading_shape, neutral
from sixfold.model import Model
from sixfold.simulation.run_steps import Grid

MAX_LENGTH_ERROR = 1e-6
"""Largest accepted difference of a quaternion's length from 1."""

LENGTH_ROUNDING = 4 * float(np.finfo(float).eps)
"""Largest difference of a normalised quaternion's length from 1, by rounding."""

MAX_STEPS = 10**10
"""More steps than this take days: probably a mistake in the units of dt or duration."""

MAX_KERNEL_STEPS = 10**9
"""Most steps of one rollout, whose times are kept, 8 bytes each, and between two samples."""


def grid_of(t0: Any, duration: Any, dt: Any, every: Any) -> Grid:
    """Return the times of a simulation, or say which number is wrong."""
    for name, value, good, words in (
        ("duration", duration, _real(duration) and duration >= 0, "a time >= 0 [s]"),
        ("t0", t0, _real(t0), "a time [s]"),
    ):
        if not good:
            raise OptionError("simulate", name, words, value)
    length, between = step_length("simulate", dt), step_count("simulate", "every", every)
    if duration / length > MAX_STEPS:
        words = f"a step of at least {duration / MAX_STEPS:.1g} s for this duration"
        raise OptionError("simulate", "dt", words, dt)
    return Grid(float(t0), float(duration), length, between)


def step_length(function: str, dt: Any) -> float:
    """Return the length of a step; refuse what is not a positive time."""
    if not (_real(dt) and dt > 0):
        raise OptionError(function, "dt", "a time > 0 [s]", dt)
    return float(dt)


def step_count(function: str, option: str, got: Any) -> int:
    """Return a number of steps; refuse what is not one."""
    if not (_whole(got) and 1 <= got <= MAX_KERNEL_STEPS):
        words = f"a whole number from 1 to {MAX_KERNEL_STEPS}"
        raise OptionError(function, option, words, got)
    return int(got)


def states_of(
    function: str,
    model: Model,
    q0: ArrayLike | None,
    v0: ArrayLike | None,
    **others: Argument | None,
) -> tuple[dict[str, Array], Shape]:
    """Return finite arrays by name, q0 and v0 first, and their common leading shape.

    Arrays are neither copied nor broadcast where that can be avoided.  Quaternions whose length
    differs from 1 by more than rounding are normalised.
    """
    coordinates = model.coordinates
    q0 = neutral(model) if q0 is None else q0
    v0 = np.zeros(model.nv) if v0 is None else v0
    names = (coordinates.q_names,), (coordinates.v_names,)
    given = {
        "q0": Argument(q0, (model.nq,), "nq coordinates", labels=names[0]),
        "v0": Argument(v0, (model.nv,), "nv coordinates", labels=names[1]),
    } | {name: argument for name, argument in others.items() if argument is not None}
    arrays = {name: _floats(function, name, argument) for name, argument in given.items()}
    lead = leading_shape(function, given, arrays)
    rows = dict.fromkeys(("v0", "tau"), coordinates.v_names) | {"q0": coordinates.q_names}
    with enough_memory(function, f"states {lead}"):
        for name, array in arrays.items():
            _finite(function, name, array, rows.get(name, ()))
        arrays["q0"] = _normalised(function, model, arrays["q0"])
    return arrays, lead


def _normalised(function: str, model: Model, q0: Array) -> Array:
    """Return configurations with quaternions of length 1; refuse those of another length."""
    q = q0
    for joint, part in model.coordinates.quaternions:
        turns = q0[..., part]
        off = np.abs(np.sqrt((turns**2).sum(axis=-1)) - 1.0)
        if (off > MAX_LENGTH_ERROR).any():
            worst = turns.reshape(-1, 4)[int(np.argmax(off))]
            raise StateError(
                f"{function}: argument 'q0', joint '{joint}'",
                "a quaternion (x, y, z, w) of length 1",
                f"{worst.tolist()}, of length {float(np.linalg.norm(worst)):.6g}",
                "divide it by its length, or start from sixfold.neutral(model)",
            )
        if (off > LENGTH_ROUNDING).any():
            q = q0.copy() if q is q0 else q
            length = np.linalg.norm(turns, axis=-1, keepdims=True)
            q[..., part] = np.where(off[..., None] > LENGTH_ROUNDING, turns / length, turns)
    return q


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


def _floats(function: str, name: str, argument: Argument) -> Array:
    array = checked(function, name, argument)
    try:
        return np.asarray(array, np.float64)
    except MemoryError as error:
        raise TooLargeError(function, f"argument '{name}': {error}", FEWER_STATES) from None
    except (TypeError, ValueError):
        where = f"{function}: argument '{name}' does not hold plain numbers"
        raise NumberError(where, "floats", f"dtype {array.dtype}", "give numbers") from None


def _finite(function: str, name: str, array: Array, names: Sequence[str]) -> None:
    bad = ~np.isfinite(array)
    if bad.any():
        index = tuple(int(k) for k in np.argwhere(bad)[0])
        joint = f", joint '{names[index[-1]]}'" if names else ""
        raise StateError(
            f"{function}: argument '{name}' at {list(index)}{joint}",
            "finite numbers",
            array[index],
            "give a number for every coordinate",
        )


def _real(x: Any) -> bool:
    number = isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)
    return number and bool(abs(x) < 1e300)


def _whole(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)
