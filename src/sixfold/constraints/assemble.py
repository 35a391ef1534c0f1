"""`assemble`: close the loops of a model from a rough guess."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.errors import ArgumentError, NotApplicableError, StateError, TooLargeError, visible
from sixfold.evaluate import (
    Argument,
    checked,
    constraint_gaps,
    constraint_jacobian,
    integrate,
    model_checked,
    neutral,
)
from sixfold.model import Model

CLOSED = 1e-11
"""Largest gap [m or rad], of the size of the model, that counts as closed."""
MAX_STEPS = 200
"""Steps of Levenberg and Marquardt from one guess."""
MAX_GUESSES = 12
"""Guesses for a start that gets stuck: the given one, then others near it."""
FIRST_DAMPING, MIN_DAMPING, MAX_DAMPING = 1e-3, 1e-12, 1e8
"""Of the mean of J J^T's diagonal."""
MIN_MEAN = 1e-12
"""Of J J^T's diagonal; at a dead centre, where no joint moves the gap, steps are zero, not NaN."""


def assemble(model: Model, q: ArrayLike | None = None, *, hold: Iterable[str] = ()) -> Array:
    """Return configurations that satisfy the constraints, near a rough guess.

    Gaps are closed by damped least squares (Levenberg and Marquardt) in all joints that are not
    held.  A guess that gets stuck is tried again from configurations near it.

    Args:
        model: a robot with constraints.
        q: guesses [rad or m], shape (..., nq); the neutral configuration if left out.
        hold: names of joints that keep their position, for example the crank's.

    Returns:
        Configurations [rad or m], shape (..., nq).

    Raises:
        StateError: if a loop cannot be closed from there: which, and the distance left.
        NotApplicableError: if the model has no constraints.
        UnknownNameError: if there is no joint of a name in `hold`.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> hinge, rod = sf.Revolute("z"), sf.Inertia.from_mass(1.0, (0.5, 0, 0), (0, 0.1, 0.1))
        >>> builder = sf.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
        >>> builder = builder.add_body("crank", joint=hinge, inertia=rod)
        >>> at = {"parent": "crank", "placement": (1, 0, 0)}
        >>> builder = builder.add_body("coupler", joint=hinge, inertia=rod, **at)
        >>> builder = builder.add_body("rocker", joint=hinge, placement=(1.2, 0, 0), inertia=rod)
        >>> model = builder.close("coupler", "rocker", hinge, (1.2, 0, 0), (1, 0, 0)).build()
        >>> q = sf.assemble(model, [1.0, -0.8, 0.9], hold=["crank_joint"])
        >>> q.round(3)  # a parallelogram
        array([ 1., -1.,  1.])
        >>> bool(np.abs(sf.constraint_gaps(model, q)).max() < 1e-12)
        True
    """
    model_checked("assemble", model)
    if not model.constraints:
        where = f"model '{model.name}', which has no constraints beside its joints"
        raise NotApplicableError("assemble", where, "leave it out")
    given = neutral(model) if q is None else q
    meaning, names = f"nq coordinates of model '{model.name}'", model.coordinates.q_names
    argument = Argument(given, (model.nq,), meaning, labels=(names,))
    start = checked("assemble", "q", argument)
    moving = _moving(model, hold)
    try:
        start = np.asarray(start, np.float64)
        if not np.isfinite(start).all():
            raise StateError("assemble: argument 'q'", "finite numbers", "others", "give a guess")
        flat = integrate(model, start.reshape(-1, model.nq), np.zeros(model.nv))
        return _closed(model, flat, moving).reshape(start.shape)
    except MemoryError as error:
        raise TooLargeError("assemble", f"{error}", "pass fewer guesses at a time") from None


def nearest(model: Model, rows: Array | None = None) -> tuple[Array, Array]:
    """Return a configuration near the neutral one with the least gaps, and these gaps.

    Args:
        model: a robot with constraints.
        rows: one for each row that counts, zero for the others; all if left out.
    """
    begin, moving = np.asarray(neutral(model), float)[None], np.ones(model.nv)
    weight = np.ones(model.nc) if rows is None else np.asarray(rows, float)
    rng = np.random.default_rng(0)
    best: tuple[Array, Array] | None = None
    for guess in range(MAX_GUESSES):
        step = rng.normal(size=(1, model.nv)) * (0.1 * guess)
        (q,), (gaps,) = _least_squares(model, integrate(model, begin, step), moving, weight)
        size = np.abs(gaps).max()
        if best is None or size < np.abs(best[1]).max():
            best = q, gaps
        if size <= CLOSED * size_of(model):
            break
    assert best is not None
    return best


def _moving(model: Model, hold: Any) -> Array:
    """Return one for each freedom that may move, and zero for the others."""
    if isinstance(hold, str) or not isinstance(hold, Iterable):
        fix = "pass joint names, as hold=('crank_joint',)"
        raise ArgumentError("assemble: argument 'hold'", "a list of joint names", hold, fix)
    moving = np.ones(model.nv)
    for name in hold:
        moving[model.v_slice(name)] = 0.0
    return moving


def _closed(model: Model, q: Array, moving: Array) -> Array:
    """Return closed configurations for guesses (n, nq), or raise for the first that stays open."""
    found = q.copy()
    left = np.arange(len(q))
    rng = np.random.default_rng(0)
    best = np.full(len(q), np.inf)
    worst_rows = np.zeros(len(q), int)
    for guess in range(MAX_GUESSES):
        begin = q[left]
        if guess:
            step = rng.normal(size=(len(left), model.nv)) * moving * (0.1 * guess)
            begin = integrate(model, begin, step)
        end, gaps = _least_squares(model, begin, moving)
        size = np.abs(gaps).max(axis=-1)
        better = size < best[left]
        best[left[better]] = size[better]
        worst_rows[left[better]] = np.abs(gaps).argmax(axis=-1)[better]
        done = size <= CLOSED * size_of(model)
        found[left[done]] = end[done]
        left = left[~done]
        if not len(left):
            return found
    k = left[0]
    batch = f" in row {k}" if len(q) > 1 else ""
    raise StateError(
        f"assemble: constraint '{visible(model.constraint_rows[worst_rows[k]])}'{batch}",
        "a guess from which the loops close",
        f"{best[k]:.3g} m or rad is left",
        "look at lengths and placements, hold fewer joints, or start nearer",
    )


def size_of(model: Model) -> float:
    """Return a length that gaps are compared with: 1 m, or the longest placement."""
    lengths = [float(np.linalg.norm([float(x) for x in b.placement.r])) for b in model.bodies]
    return max([1.0, *lengths])


def _least_squares(
    model: Model, q: Array, moving: Array, rows: Array | float = 1.0
) -> tuple[Array, Array]:
    """Return configurations (n, nq) with the least gaps near the given ones, and their gaps."""
    damping = np.full(len(q), FIRST_DAMPING)
    gaps = constraint_gaps(model, q) * rows
    cost = _cost(gaps)
    target = (0.01 * CLOSED * size_of(model)) ** 2
    active = np.arange(len(q))
    eye = np.eye(model.nc)
    for _ in range(MAX_STEPS):
        active = active[(cost[active] > target) & (damping[active] < MAX_DAMPING)]
        if not len(active):
            break
        at, g = q[active], gaps[active]
        J = constraint_jacobian(model, at) * moving * np.reshape(rows, (-1, 1))
        gram = J @ J.swapaxes(-1, -2)
        mean = np.maximum(np.trace(gram, axis1=-2, axis2=-1) / model.nc, MIN_MEAN)
        shift = (damping[active] * mean)[:, None, None] * eye
        step = -(J.swapaxes(-1, -2) @ np.linalg.solve(gram + shift, g[..., None]))[..., 0]
        tried = integrate(model, at, step)
        new = constraint_gaps(model, tried) * rows
        lower = _cost(new)
        good = lower < cost[active]
        kept = active[good]
        q[kept], gaps[kept], cost[kept] = tried[good], new[good], lower[good]
        factor = np.where(good, 0.1, 10.0)
        damping[active] = np.maximum(damping[active] * factor, MIN_DAMPING)
    return q, gaps


def _cost(gaps: Array) -> Array:
    total = (gaps * gaps).sum(axis=-1)
    return np.where(np.isfinite(total), total, np.inf)
