"""States, stacks and measures that the tests of the algorithms share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

import sixfold as sf
from sixfold.dynamics.kinematics import no_forces
from sixfold.model import Model
from sixfold.scalar import plain
from sixfold.spatial import Force
from tests.public_names import find

EPS = float(np.finfo(float).eps)


def numbers(model: Model, seed: int = 0) -> tuple[list[float], list[float], list[float]]:
    """Return a random state (q, v) and accelerations or forces (a) as plain floats."""
    rng = np.random.default_rng(seed)
    q, v = sf.random_state(model, seed=rng)
    return q.tolist(), v.tolist(), rng.standard_normal(model.nv).tolist()


def tables(model: Model, seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Return q, qd, qdd by body, and no external forces."""
    q, v, a = numbers(model, seed)
    split = model.positions(q), model.velocities(v), model.velocities(a)
    return (*split, no_forces(model.tree))


def pushes(model: Model, seed: int = 0) -> dict[int, Force]:
    """Return a random external force on every body, in body coordinates."""
    rng = np.random.default_rng([7, seed])
    return {i: Force.of(rng.standard_normal(6).tolist()) for i in model.tree.bodies}


def flat(table: Any) -> list[Any]:
    """Return the numbers of a table of columns, body by body."""
    return [plain(x) for i in sorted(k for k in table if k) for x in table[i]]


def six(x: Any) -> list[Any]:
    """Return the six numbers of a motion or force."""
    return [plain(value) for value in (*x.ang, *x.lin)]


def array(values: Any) -> np.ndarray:
    """Return nested sequences of numbers, exact zeros among them, as a float array."""
    if isinstance(values, (list, tuple)):
        return np.array([array(x) for x in values])
    return np.float64(plain(values))


def error(x: Any, reference: Any) -> float:
    """Return the normwise error max|x - ref| / max|ref|; nan if anything is nan."""
    x, reference = array(x), array(reference)
    assert x.shape == reference.shape
    scale = np.abs(reference).max()
    off = np.abs(x - reference).max()
    return float(off / scale) if scale else float(off)


def rate(
    function: Callable[[float], Any], step: float = 1e-3, *, at: float = 0.0, order: int = 1
) -> np.ndarray:
    """Return the derivative (or second derivative) of a function of time.

    Central differences with two Richardson steps: truncation is O(step^6); with steps of 1e-3 and
    motions of order one rounding dominates, about 1e-13 for first and 1e-9 for second derivatives.
    """
    middle = np.asarray(function(at)) if order == 2 else None

    def central(h: float) -> np.ndarray:
        after, before = np.asarray(function(at + h)), np.asarray(function(at - h))
        if order == 1:
            return (after - before) / (2 * h)
        return (after - 2 * middle + before) / (h * h)

    a, b, c = central(step), central(2 * step), central(4 * step)
    first, second = a + (a - b) / 3, b + (b - c) / 3
    return first + (first - second) / 15


def vector(values: Iterable[Any]) -> np.ndarray:
    """Return a three-vector as an array."""
    return np.array([float(plain(x)) for x in values])


class ByNumpy:
    """The public functions in their NumPy reading: nothing is compiled for one test's model."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a public function with its backend chosen."""
        return partial(find(name), backend="numpy")


fn = ByNumpy()
