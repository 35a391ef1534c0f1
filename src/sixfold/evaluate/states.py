"""Configurations to start from."""

from __future__ import annotations

from operator import index

import numpy as np

from sixfold.errors import OptionError
from sixfold.evaluate.arrays import Array, model_checked
from sixfold.model import Body, Model


def neutral(model: Model) -> Array:
    """Return the configuration with every joint at zero (quaternions not turned), shape (nq,)."""
    model_checked("neutral", model)
    return np.array([x for body in _free(model) for x in body.joint.neutral()], float)


def random_state(
    model: Model,
    size: int | tuple[int, ...] = (),
    *,
    seed: int | np.random.Generator | None = None,
) -> tuple[Array, Array]:
    """Return random configurations and velocities, shapes (*size, nq) and (*size, nv).

    Angles cover a full turn, lengths a metre either way, quaternions all rotations evenly; joints
    with finite limits stay within them.  Velocities are standard normal.

    Args:
        model: the robot.
        size: how many states: a number or a leading shape; one state when left out.
        seed: a number for repeatable states, or a NumPy generator.
    """
    model_checked("random_state", model)
    lead = _lead(size)
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError):
        choices = "a whole number >= 0, a NumPy generator, or None"
        raise OptionError("random_state", "seed", choices, seed) from None
    count = int(np.prod(lead))
    q = np.empty((count, model.nq))
    for row in range(count):
        q[row] = [x for body in _free(model) for x in body.joint.random(rng)]
    lower, upper = model.lower_position, model.upper_position
    limited = np.isfinite(lower) & np.isfinite(upper)
    q[:, limited] = rng.uniform(lower[limited], upper[limited], (count, int(limited.sum())))
    v = rng.standard_normal((count, model.nv))
    return q.reshape((*lead, model.nq)), v.reshape((*lead, model.nv))


def _lead(size: object) -> tuple[int, ...]:
    """Return a leading shape from a number or several."""
    try:
        sizes = tuple(index(n) for n in (size if isinstance(size, (tuple, list)) else (size,)))
    except TypeError:
        sizes = (-1,)
    if any(n < 0 for n in sizes):
        raise OptionError("random_state", "size", "a number >= 0, or a tuple of them", size)
    return sizes


def _free(model: Model) -> list[Body]:
    followers = {c.follower for c in model.couplings}
    return [body for k, body in enumerate(model.bodies) if k not in followers]
