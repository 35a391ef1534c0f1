"""What varies from row to row: numbers that depend on the seed and the row alone.

Philox is a counter: row k is drawn by itself, so neither the block nor the worker that computes it
matters.  Functions of the uniform numbers are compiled by this library or are plain arithmetic, so
that bits do not depend on the version of NumPy either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.errors import NumberError, OptionError
from sixfold.model import Model
from sixfold.runtime import compile as compile_kernel
from sixfold.runtime import require_model
from sixfold.scalar import cos, exp, log, sin, sqrt

__all__ = ["choice", "configuration", "log_uniform", "normal", "uniform"]

WORDS = 4  # numbers of one count of Philox


@dataclass(frozen=True, eq=False)
class Draw:
    """Numbers of one name, drawn anew for each row."""

    kind: str
    parts: tuple[Any, ...]  # what `KINDS` of the kind works with: arrays, or a model

    @property
    def width(self) -> int:
        """How many uniform numbers a row takes."""
        return KINDS[self.kind].width(*self.parts)

    def values(self, u: Array) -> Array:
        """Return what is drawn for uniform numbers in [0, 1), shape (rows, width)."""
        return KINDS[self.kind].values(u, *self.parts)

    def about(self) -> str:
        """Say in a few words what is drawn."""
        shown = (x.name if isinstance(x, Model) else _text(x) for x in self.parts)
        return KINDS[self.kind].words.format(*shown, count=len(np.atleast_1d(self.parts[0])))


class Kind(NamedTuple):
    """How draws of a kind are made from uniform numbers."""

    width: Callable[..., int]
    values: Callable[..., Array]
    words: str


def _uniform(u: Array, low: Array, high: Array) -> Array:
    return low + (high - low) * u.reshape(-1, *low.shape)


def _log_uniform(u: Array, low: Array, high: Array) -> Array:
    first, last = (
        np.array([math.log(x) for x in end.flat]).reshape(end.shape) for end in (low, high)
    )
    powers = first + (last - first) * u.reshape(-1, *low.shape)
    found: Array = _kernel("exp")(powers.reshape(-1, 1)).reshape(powers.shape)
    return found


def _normal(u: Array, mean: Array, deviation: Array) -> Array:
    z: Array = _kernel("normal")(u.reshape(-1, 2)).reshape(-1, *mean.shape)
    return mean + deviation * z


def _choice(u: Array, options: Array) -> Array:
    found: Array = options[(u[:, 0] * len(options)).astype(np.intp)]
    return found


def _configuration(u: Array, model: Model) -> Array:
    low, high = _sampling_range(model)
    q = low + (high - low) * u
    for _, part in model.coordinates.quaternions:
        q[:, part] = _kernel("rotation")(u[:, part.start : part.start + 3])
    return q


KINDS = {
    "uniform": Kind(lambda low, _: low.size, _uniform, "uniform from {} to {}"),
    "log_uniform": Kind(
        lambda low, _: low.size, _log_uniform, "uniform in its logarithm from {} to {}"
    ),
    "normal": Kind(lambda mean, _: 2 * mean.size, _normal, "normal with mean {}, deviation {}"),
    "choice": Kind(lambda _: 1, _choice, "one of {count}: {}"),
    # a rotation takes three of its four numbers
    "configuration": Kind(
        lambda model: model.nq, _configuration, "configurations of {} within its limits"
    ),
}


def uniform(low: ArrayLike, high: ArrayLike) -> Draw:
    """Return numbers that are spread evenly over [low, high); arrays give one for each element."""
    first, last = _pair("uniform", low=low, high=high)
    if not (first <= last).all():
        raise OptionError("uniform", "high", "numbers that are not below low", high)
    return Draw("uniform", (first, last))


def log_uniform(low: ArrayLike, high: ArrayLike) -> Draw:
    """Return positive numbers whose logarithm is spread evenly: gains, masses, frictions."""
    first, last = _pair("log_uniform", low=low, high=high)
    if not ((first > 0) & (first <= last)).all():
        raise OptionError("log_uniform", "low", "positive numbers that are not above high", low)
    return Draw("log_uniform", (first, last))


def normal(mean: ArrayLike, deviation: ArrayLike) -> Draw:
    """Return normally distributed numbers (Box and Muller, 1958); arrays: one for each element."""
    first, last = _pair("normal", mean=mean, deviation=deviation)
    if not (last >= 0).all():
        raise OptionError("normal", "deviation", "numbers that are not negative", deviation)
    return Draw("normal", (first, last))


def choice(options: ArrayLike) -> Draw:
    """Return one of several numbers or arrays, all equally likely: shape (n, ...)."""
    array = _floats("choice", "options", options)
    if array.ndim == 0 or not len(array):
        raise OptionError("choice", "options", "an array with one row for each option", options)
    return Draw("choice", (array,))


def configuration(model: Model) -> Draw:
    """Return configurations of a model: within limits, over a turn or a metre either way.

    Rotations are spread evenly (Shoemake, Graphics Gems III, 1992).
    """
    return Draw("configuration", (require_model("configuration", model),))


def draw_rows(draws: Mapping[str, Draw], seed: int, start: int, stop: int) -> dict[str, Array]:
    """Return what is drawn for the rows from start up to stop, by name."""
    u = uniforms(seed, start, stop, sum(draw.width for draw in draws.values()))
    found, done = {}, 0
    for name, draw in draws.items():
        part = np.ascontiguousarray(u[:, done : done + draw.width])
        found[name] = np.ascontiguousarray(draw.values(part))
        done += draw.width
    return found


def uniforms(seed: int, start: int, stop: int, width: int) -> Array:
    """Return numbers in [0, 1), shape (stop - start, width): functions of (seed, row, column)."""
    counts = -(-width // WORDS)
    # Philox is a counter: skip the numbers of the rows before
    bits = np.random.Philox(key=seed)
    bits.advance(start * counts)
    found: Array = np.random.Generator(bits).random((stop - start, counts * WORDS))[:, :width]
    return found


@lru_cache(maxsize=8)
def _kernel(name: str) -> Any:
    """Return a function of uniform numbers as machine code."""

    def power(u: Any) -> Any:
        return np.array([exp(u[0])])

    def bell(u: Any) -> Any:
        return np.array([sqrt(-2.0 * log(1.0 - u[0])) * cos(2.0 * math.pi * u[1])])

    def rotation(u: Any) -> Any:
        a, b = sqrt(1.0 - u[0]), sqrt(u[0])
        one, two = 2.0 * math.pi * u[1], 2.0 * math.pi * u[2]
        return np.array([a * sin(one), a * cos(one), b * sin(two), b * cos(two)])

    function, size = {"exp": (power, 1), "normal": (bell, 2), "rotation": (rotation, 3)}[name]
    return compile_kernel(function, inputs={"u": size})


def _sampling_range(model: Model) -> tuple[Array, Array]:
    """Return the bounds of coordinates: limits, or one turn or one metre either way."""
    far = np.array(
        [x for free in model.coordinates.free for x in free.joint.sampling_range()], float
    )
    low, high = model.lower_position, model.upper_position
    limited = np.isfinite(low) & np.isfinite(high)
    return np.where(limited, low, -far), np.where(limited, high, far)


def _pair(function: str, **ends: Any) -> tuple[Array, Array]:
    one, two = (_floats(function, name, value) for name, value in ends.items())
    try:
        shape: Shape = np.broadcast_shapes(one.shape, two.shape)
    except ValueError:
        words = f"shapes that go together, and {one.shape} does not go with {two.shape}"
        raise OptionError(function, list(ends)[1], words, list(ends.values())[1]) from None
    return np.array(np.broadcast_to(one, shape)), np.array(np.broadcast_to(two, shape))


def _floats(function: str, name: str, value: Any) -> Array:
    where = f"{function}: argument '{name}'"
    try:
        array = np.asarray(value, float)
    except Exception:  # the conversion may raise anything
        fix = "pass a number, or an array of them"
        raise NumberError(where, "real numbers", type(value).__name__, fix) from None
    if not np.isfinite(array).all():
        got = float(array[~np.isfinite(array)][0])
        raise NumberError(where, "finite numbers", got, "give bounds that are finite")
    return array


def _text(array: Array) -> str:
    flat = array.reshape(-1)
    if (flat == flat[0]).all():
        return f"{flat[0]:g}"
    shown = ", ".join(f"{x:g}" for x in flat[:8])
    return f"({shown}{', ...' if flat.size > 8 else ''})"


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
