"""A way to evaluate a function on a batch, and the states that all ways are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.model import Model
from sixfold.quantities import forward_dynamics, inverse_dynamics, mass_matrix, random_state

FUNCTIONS: dict[str, Callable[..., Array]] = {
    "inverse_dynamics": inverse_dynamics,
    "forward_dynamics": forward_dynamics,
    "mass_matrix": mass_matrix,
}
ARGUMENTS = {"inverse_dynamics": "qva", "forward_dynamics": "qvt", "mass_matrix": "q"}
"""Which arrays of the states each function takes, one letter each."""
PIECE = 256
"""States that another engine's batch call gets at a time."""
LOOPED = 128
"""States that a loop in Python goes through in one call.

Both are so few that a call takes about as long as one of ours on the whole batch: a call that lasts
longer meets more of what else the machine does, and its best round would look worse than it is.
"""
CHECKED = 64
"""States on which every way is compared before it is timed."""


@dataclass(frozen=True)
class Way:
    """One way to evaluate a function: what the clock runs, and what it computes."""

    engine: str
    """The column: sixfold, pinocchio C++, pinocchio loop, mujoco C++ or mujoco loop."""
    how: str
    """The calls it makes."""
    states: int
    """How many states one call does."""
    call: Callable[[], Any]
    values: Callable[[int], Array]
    """Results for the first states, in sixfold's order of coordinates."""


@dataclass(frozen=True)
class States:
    """Random states of a model: configurations, velocities, accelerations, forces."""

    q: Array
    v: Array
    a: Array
    t: Array

    def of(self, function: str) -> tuple[Array, ...]:
        """Return the arrays that a function takes."""
        return tuple(getattr(self, letter) for letter in ARGUMENTS[function])

    def first(self, count: int) -> States:
        """Return the first states only."""
        return States(*(x[:count] for x in (self.q, self.v, self.a, self.t)))


def draw(model: Model, count: int, seed: int, dtype: str = "float64") -> States:
    """Return random states in float64; numbers of a narrower dtype are rounded to it first.

    Configurations and velocities are those of `sf.random_state`, accelerations are standard
    normal, and the joint forces are those that produce them.
    """
    rng = np.random.default_rng(seed)
    q, v = random_state(model, count, seed=rng)
    a = rng.standard_normal((count, model.nv))
    q, v, a = (_rounded(x, dtype) for x in (q, v, a))
    return States(q, v, a, _rounded(inverse_dynamics(model, q, v, a), dtype))


def _rounded(x: Array, dtype: str) -> Array:
    return np.ascontiguousarray(x.astype(dtype), np.float64)
