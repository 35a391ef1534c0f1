"""Do two ways compute the same thing?  Asked before anything is timed."""

from __future__ import annotations

import numpy as np

from benchmarks.bench.engines.engines import States
from sixfold.arrays import Array
from sixfold.model import Model
from sixfold.quantities import inverse_dynamics, joint_wrenches

TOLERANCE = {"float64": 1e-10, "float32": 1e-4}
"""Largest difference between ways, by sixfold's precision."""


def distance(model: Model, function: str, states: States, one: Array, other: Array) -> float:
    """Return the largest difference of two results; infinite where one is not finite.

    Mass matrices are compared relative to their largest element.  Joint forces, and the joint
    forces that two accelerations need, are compared relative to the largest force through a joint:
    what rounding is small against, however the mass matrix is conditioned.
    """
    if one.shape != other.shape or not (np.isfinite(one).all() and np.isfinite(other).all()):
        return float("inf")
    one, other = one.astype(float), other.astype(float)
    if function == "mass_matrix":
        return _worst(np.abs(one - other), np.abs(other))
    q, v, a = states.q, states.v, states.a
    if function == "forward_dynamics":
        a = other
        one, other = (inverse_dynamics(model, q, v, x, backend="numpy") for x in (one, other))
    return _worst(np.abs(one - other), np.abs(joint_wrenches(model, q, v, a, backend="numpy")))


def _worst(error: Array, size: Array) -> float:
    """Return the largest error of a state over the largest size of that state."""
    largest = size.reshape(len(size), -1).max(axis=1)
    return float((error.reshape(len(error), -1).max(axis=1) / np.maximum(largest, 1e-300)).max())
