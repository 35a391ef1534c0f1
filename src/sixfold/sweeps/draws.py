"""What varies from row to row: numbers that depend on the seed and the row alone.

Philox is a counter: row k is drawn by itself, so neither the block nor the worker that computes it
matters.  Functions of the uniform numbers are compiled by this library or are plain arithmetic, so
that bits do not depend on the version of NumPy either.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array, Shape
from sixfold.errors import NumberError, OptionError
from sixfold.evaluate import compile as compile_kernel
from sixfold.evaluate import model_checked
from sixfold.model import Model
from sixfold.scalar import cos, exp, log, sin, sqrt

__all__ = ["choice", "configuration", "log_uniform", "normal", "uniform"]

WORDS = 4  # numbers of one count of Philox


class Draw(ABC):
    """Numbers of one name, drawn anew for each row."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many uniform numbers a row takes."""

    @abstractmethod
    def values(self, u: Array) -> Array:
        """Return what is drawn for uniform numbers in [0, 1), shape (rows, width)."""

    @abstractmethod
    def about(self) -> str:
        """Say in a few words what is drawn."""


@dataclass(frozen=True, eq=False)
class _Uniform(Draw):
    low: Array
    high: Array

    @property
    def width(self) -> int:
        return self.low.size

    def values(self, u: Array) -> Array:
        return self.low + (self.high - self.low) * u.reshape(-1, *self.low.shape)

    def about(self) -> str:
        return f"uniform from {_text(self.low)} to {_text(self.high)}"


@dataclass(frozen=True, eq=False)
class _LogUniform(Draw):
    low: Array
    high: Array

    @property
    def width(self) -> int:
        return self.low.size

    def values(self, u: Array) -> Array:
        first, last = (
            np.array([math.log(x) for x in end.flat]).reshape(end.shape)
            for end in (self.low, self.high)
        )
        powers = first + (last - first) * u.reshape(-1, *self.low.shape)
        found: Array = _kernel("exp")(powers.reshape(-1, 1)).reshape(powers.shape)
        return found

    def about(self) -> str:
        return f"uniform in its logarithm from {_text(self.low)} to {_text(self.high)}"


@dataclass(frozen=True, eq=False)
class _Normal(Draw):
    mean: Array
    deviation: Array

    @property
    def width(self) -> int:
        return 2 * self.mean.size

    def values(self, u: Array) -> Array:
        z = _kernel("normal")(u.reshape(-1, 2)).reshape(-1, *self.mean.shape)
        return self.mean + self.deviation * z

    def about(self) -> str:
        return f"normal with mean {_text(self.mean)}, deviation {_text(self.deviation)}"


@dataclass(frozen=True, eq=False)
class _Choice(Draw):
    options: Array

    @property
    def width(self) -> int:
        return 1

    def values(self, u: Array) -> Array:
        found: Array = self.options[(u[:, 0] * len(self.options)).astype(np.intp)]
        return found

    def about(self) -> str:
        return f"one of {len(self.options)}: {_text(self.options)}"


@dataclass(frozen=True, eq=False)
class _Configuration(Draw):
    model: Model

    @property
    def width(self) -> int:
        return self.model.nq  # a rotation takes three of its four

    def values(self, u: Array) -> Array:
        low, high = _reach(self.model)
        q = low + (high - low) * u
        for _, part in self.model.coordinates.quaternions:
            q[:, part] = _kernel("rotation")(u[:, part.start : part.start + 3])
        return q

    def about(self) -> str:
        return f"configurations of {self.model.name} within its limits"


def uniform(low: ArrayLike, high: ArrayLike) -> Draw:
    """Return numbers that are spread evenly over [low, high); arrays give one for each element."""
    first, last = _pair("uniform", low=low, high=high)
    if not (first <= last).all():
        raise OptionError("uniform", "high", "numbers that are not below low", high)
    return _Uniform(first, last)


def log_uniform(low: ArrayLike, high: ArrayLike) -> Draw:
    """Return positive numbers whose logarithm is spread evenly: gains, masses, frictions."""
    first, last = _pair("log_uniform", low=low, high=high)
    if not ((first > 0) & (first <= last)).all():
        raise OptionError("log_uniform", "low", "positive numbers that are not above high", low)
    return _LogUniform(first, last)


def normal(mean: ArrayLike, deviation: ArrayLike) -> Draw:
    """Return normally distributed numbers (Box and Muller, 1958); arrays: one for each element."""
    first, last = _pair("normal", mean=mean, deviation=deviation)
    if not (last >= 0).all():
        raise OptionError("normal", "deviation", "numbers that are not negative", deviation)
    return _Normal(first, last)


def choice(options: ArrayLike) -> Draw:
    """Return one of several numbers or arrays, all equally likely: shape (n, ...)."""
    array = _floats("choice", "options", options)
    if array.ndim == 0 or not len(array):
        raise OptionError("choice", "options", "an array with one row for each option", options)
    return _Choice(array)


def configuration(model: Model) -> Draw:
    """Return configurations of a model: within limits, over a turn or a metre either way.

    Rotations are spread evenly (Shoemake, Graphics Gems III, 1992).
    """
    return _Configuration(model_checked("configuration", model))


def drawn(draws: Mapping[str, Draw], seed: int, start: int, stop: int) -> dict[str, Array]:
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


def _reach(model: Model) -> tuple[Array, Array]:
    """Return between which numbers coordinates lie: limits, or a turn or a metre either way."""
    far = np.array([x for free in model.coordinates.free for x in free.joint.reach()], float)
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
    except Exception:  # whatever the object's own conversion says
        fix = "pass a number, or an array of them"
        raise NumberError(where, "real numbers", type(value).__name__, fix) from None
    if not np.isfinite(array).all():
        raise NumberError(where, "finite numbers", "others", "give numbers that can be drawn")
    return array


def _text(array: Array) -> str:
    flat = array.reshape(-1)
    if (flat == flat[0]).all():
        return f"{flat[0]:g}"
    shown = ", ".join(f"{x:g}" for x in flat[:8])
    return f"({shown}{', ...' if flat.size > 8 else ''})"
