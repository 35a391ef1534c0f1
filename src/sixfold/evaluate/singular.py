"""Joints with no inertia behind them: always, or at some states.

A freedom is singular at a state when its pivot D <= 4 eps H_ii.  D is at least what the body's own
inertia gives; where that exceeds the bound at every configuration nothing need be tested.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from sixfold.errors import SingularModelError, SingularPivotWarning
from sixfold.evaluate import cores
from sixfold.evaluate.arrays import Array, joined
from sixfold.evaluate.kernels import kernel_for
from sixfold.evaluate.rolled import kinds_of
from sixfold.model import Body, Model
from sixfold.scalar import plain

LIMIT = 4 * float(np.finfo(float).eps)
TRAVEL = 1e4
"""How far [m] a slide without limits is taken to go when bounding the mass matrix."""


def refuse_singular(model: Model) -> None:
    """Raise SingularModelError if some joint has no inertia behind it at every configuration."""
    lost = singular_joints(model)
    if lost:
        names = [(model.bodies[k].joint_name, model.bodies[k].name) for k in lost]
        raise SingularModelError(model.name, names)


def spoil_singular_rows(model: Model, q: Array, result: Array, axes: int) -> Array:
    """Set rows of a result to NaN where a pivot is lost, and warn once naming the joint.

    Args:
        model: the model.
        q: configurations, shape (..., nq), of the result's leading shape.
        result: array with `axes` trailing axes for one state.
        axes: number of those axes.
    """
    if not unproved_joints(model) or result.dtype == object:
        return result
    bad, owner = lost_pivots(model, q)
    if not bad.any():
        return result
    first = int(np.argmax(bad.any(axis=tuple(range(bad.ndim - 1)))))
    body = model.bodies[owner[first]]
    rows = bad.any(axis=-1)
    warnings.warn(
        f"model '{model.name}': {int(rows.sum())} of {rows.size} states have no inertia behind "
        f"joint '{body.joint_name}' of body '{body.name}' (D <= 4 eps H_ii); those rows are NaN",
        SingularPivotWarning,
        stacklevel=4,
    )
    spoiled = result.copy()
    spoiled[np.broadcast_to(rows, spoiled.shape[: spoiled.ndim - axes])] = np.nan
    return spoiled


def lost_pivots(model: Model, q: Array) -> tuple[Array, list[int]]:
    """Return a mask (..., freedoms) of lost pivots and the body of each freedom."""
    owner = _owners(model)
    kernel = kernel_for("pivots", cores.pivots, model, {"q": (model.nq,)}, (2, len(owner)))
    both = kernel.ufunc(q) if kernel is not None else _pivots(model, q, len(owner))
    return both[..., 0, :] <= LIMIT * np.abs(both[..., 1, :]), owner


def _pivots(model: Model, q: Array, n: int) -> Array:
    """Return pivots and diagonal by NumPy, where a lost pivot divides to NaN."""
    with np.errstate(all="ignore"):
        columns = [q[..., k] for k in range(model.nq)]
        values = cores.pivots(model, _numeric(model), columns)
    return joined(values, q.shape[:-1], (2, n), float)


def _owners(model: Model) -> list[int]:
    """Return the body that each freedom belongs to."""
    followers = {c.follower for c in model.couplings}
    return [
        k for k, body in enumerate(model.bodies) if k not in followers for _ in range(body.joint.nv)
    ]


def _numeric(model: Model) -> Any:
    """Return the tree with exact zeros as numbers: a lost pivot then divides to NaN."""
    return model.tree.over(lambda x: np.float64(plain(x)), zeros=True)


@lru_cache(maxsize=256)
def singular_joints(model: Model) -> tuple[int, ...]:
    """Return the bodies whose joint has no inertia behind it at any of several random states."""
    if not unproved_joints(model):
        return ()
    rng = np.random.default_rng(0)
    followers = {c.follower for c in model.couplings}
    states = [
        [
            x
            for k, body in enumerate(model.bodies)
            if k not in followers
            for x in body.joint.random(rng)
        ]
        for _ in range(4)
    ]
    owner = _owners(model)
    D, H = np.moveaxis(_pivots(model, np.array(states, float), len(owner)), 1, 0)
    always = (np.abs(H) * LIMIT >= D).all(axis=0)
    return tuple(sorted({owner[k] for k in range(len(owner)) if always[k]}))


@lru_cache(maxsize=256)
def unproved_joints(model: Model) -> tuple[int, ...]:
    """Return the bodies whose own inertia does not prove their pivots at every configuration."""
    if not model.nb:
        return ()
    own, size, slides = _joints(model)
    if model.couplings:
        return tuple(range(model.nb)) if (own <= 0).any() else ()
    with np.errstate(all="ignore"):
        bounds = _inertia_bounds(model, size, slides)
    return tuple(int(k) for k in np.flatnonzero(~(own > LIMIT * bounds)))


def _joints(model: Model) -> tuple[Array, Array, Array]:
    """Return for each body a lower bound of its pivots from its own inertia (and rotor) alone, the
    largest column of S squared, and whether the joint moves the body's origin.

    Bodies of one kind of joint are worked out together: their constants are arrays.
    """
    own, size = np.zeros(model.nb), np.zeros(model.nb)
    slides = np.zeros(model.nb, bool)
    kinds = kinds_of(model)
    for kind, members in enumerate(kinds.members):
        rows = np.array(members) - 1
        joint, I = kinds.together("joint", kind), kinds.together("inertia", kind)
        S = joint.calc(joint.neutral(), (0.0,) * joint.nv).S
        lengths = [sum(plain(x) ** 2 for x in (*c.ang, *c.lin)) for c in S.columns]
        size[rows] = np.max(np.broadcast_arrays(*lengths), axis=0)
        slides[rows] = any(np.any(plain(x) != 0) for c in S.columns for x in c.lin)
        rotors = np.array([[float(x) for x in model.bodies[k].armature] for k in rows])
        if joint.constant_subspace:
            # the smallest pivot is at least the smallest eigenvalue
            D = _stacked((S.T @ (I @ S)).rows, len(rows))
            diagonal = np.arange(joint.nv)
            D[:, diagonal, diagonal] += rotors
            own[rows] = _smallest(D)
        elif joint.orthonormal_subspace:
            own[rows] = np.maximum(_smallest(_stacked(I.matrix(), len(rows))), 0.0)
            own[rows] += rotors.min(axis=1)
    return own, size, slides


def _stacked(rows: Any, count: int) -> Array:
    """Return matrices of numbers or arrays as one array (count, n, n)."""
    n = len(rows)
    result = np.empty((count, n, n))
    for r, row in enumerate(rows):
        for c, x in enumerate(row):
            result[:, r, c] = plain(x)
    return result


def _smallest(matrices: Array) -> Array:
    """Return the smallest eigenvalue of each symmetric matrix."""
    if matrices.shape[-1] == 1:
        return matrices[:, 0, 0]
    return np.linalg.eigvalsh(np.nan_to_num(matrices))[:, 0]


def _inertia_bounds(model: Model, size: Array, slides: Array) -> Array:
    """Return an upper bound of the diagonal of the mass matrix for each body's joint."""
    parameters = np.array([[float(x) for x in body.inertia.parameters()] for body in model.bodies])
    offsets = np.array([[float(x) for x in body.placement.r] for body in model.bodies])
    m = np.abs(parameters[:, 0])
    away = np.sqrt((parameters[:, 1:4] ** 2).sum(axis=1))
    center = np.divide(away, m, out=np.zeros_like(m), where=m > 0)
    # no eigenvalue of the rotational inertia exceeds its Frobenius norm about the origin
    weights = np.array([1, 1, 1, 2, 2, 2])
    spin = np.sqrt((weights * parameters[:, 4:] ** 2).sum(axis=1)).tolist()
    step = np.sqrt((offsets**2).sum(axis=1)).tolist()
    mass, reach = m.tolist(), center.tolist()
    for k in reversed(range(model.nb)):
        p = model.bodies[k].parent
        if p >= 0:
            travel = _travel(model.bodies[k]) if slides[k] else 0.0
            mass[p] += mass[k]
            reach[p] = max(reach[p], reach[k] + step[k] + travel)
            spin[p] += spin[k]
    rotors = np.array([max(body.armature) for body in model.bodies])
    total = np.array(mass) * (1 + np.array(reach)) ** 2 + np.array(spin)
    return 2 * size * total + rotors


def _travel(body: Body) -> float:
    """Return how far a sliding joint can move the body's origin."""
    limits = [abs(x) for x in (*body.lower, *body.upper)]
    return max(limits) if body.joint.nq == 1 and np.isfinite(limits).all() else TRAVEL
