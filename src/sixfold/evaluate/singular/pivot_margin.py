"""What a body's own inertia proves of its joint's pivot, at every configuration."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.evaluate.kernels.kernel_cache import per_model
from sixfold.evaluate.kernels.rolled_tree import kinds_of
from sixfold.model import Body, Model
from sixfold.scalar import plain
from sixfold.spatial import Inertia

MIN_PIVOT_RATIO = 4 * float(np.finfo(float).eps)
"""A pivot is lost when it is at most so much of its element of the mass matrix: what subtracting
numbers of that size, each rounded a few times, leaves of zero."""
TRAVEL = 1e4
"""How far [m], or how many turns of a screw [rad], a joint without limits is taken to go."""


@per_model(256)
def possibly_singular_joints(model: Model) -> tuple[int, ...]:
    """Return the bodies whose own inertia does not prove their pivots at every configuration."""
    if not model.nb:
        return ()
    unproved = np.flatnonzero(~proved_pivots(model, parameters_of(model)))
    if model.couplings and unproved.size:
        return tuple(range(model.nb))  # pivots of the reduced matrix belong to no joint alone
    return tuple(int(k) for k in unproved)


def parameters_of(model: Model) -> Array:
    """Return the inertial parameters of a model's bodies, shape (nb, 10)."""
    return np.array([body.inertia.array() for body in model.bodies])


def proved_pivots(model: Model, parameters: Array) -> Array:
    """Return for which bodies their own inertia proves the pivots at every configuration.

    Args:
        model: joints, placements and rotors.
        parameters: inertial parameters, shape (..., nb, 10).

    Returns:
        Shape (..., nb).
    """
    own, size, slides = _joints(model, parameters)
    with np.errstate(all="ignore"):
        bounds = _inertia_bounds(model, parameters, size, slides)
        return np.asarray(own > MIN_PIVOT_RATIO * bounds)


def _joints(model: Model, parameters: Array) -> tuple[Array, Array, Array]:
    """Return for each body a lower bound of its pivots from its own inertia (and rotor) alone, the
    largest column of S squared, and how far the joint moves the body's origin for one unit of q.

    Bodies of one kind of joint are worked out together: their constants are arrays.
    """
    own, size = np.zeros(parameters.shape[:-1]), np.zeros(model.nb)
    slides = np.zeros(model.nb)
    kinds = kinds_of(model)
    for kind, members in enumerate(kinds.members):
        rows = np.array(members) - 1
        joint = kinds.together("joint", kind)
        I = Inertia.from_parameters(list(np.moveaxis(parameters[..., rows, :], -1, 0)))
        S = joint.calc(joint.neutral(), (0.0,) * joint.nv).S
        lengths = [sum(plain(x) ** 2 for x in (*c.ang, *c.lin)) for c in S.columns]
        size[rows] = np.max(np.broadcast_arrays(*lengths), axis=0)
        advance = [sum(plain(x) ** 2 for x in c.lin) for c in S.columns]
        slides[rows] = np.sqrt(np.max(np.broadcast_arrays(*advance), axis=0))
        rotors = np.array([[float(x) for x in model.bodies[k].armature] for k in rows])
        if joint.constant_subspace:
            # the smallest pivot is at least the smallest eigenvalue
            D = _stacked((S.T @ (I @ S)).rows, own[..., rows].shape)
            diagonal = np.arange(joint.nv)
            D[..., diagonal, diagonal] += rotors
            own[..., rows] = _smallest(D)
        elif joint.orthonormal_subspace:
            alone = _smallest(_stacked(I.matrix(), own[..., rows].shape))
            own[..., rows] = np.maximum(alone, 0.0) + rotors.min(axis=1)
    return own, size, slides


def _stacked(rows: Any, lead: Shape) -> Array:
    """Return matrices of numbers or arrays as one array (..., n, n)."""
    n = len(rows)
    result = np.empty((*lead, n, n))
    for r, row in enumerate(rows):
        for c, x in enumerate(row):
            result[..., r, c] = plain(x)
    return result


def _smallest(matrices: Array) -> Array:
    """Return the smallest eigenvalue of each symmetric matrix."""
    if matrices.shape[-1] == 1:
        return matrices[..., 0, 0]
    return np.linalg.eigvalsh(np.nan_to_num(matrices))[..., 0]


def _inertia_bounds(model: Model, parameters: Array, size: Array, slides: Array) -> Array:
    """Return an upper bound of the mass matrix's diagonal, terms without signs, for each joint.

    Taking the elements of a 6x6 matrix positive raises its norm by sqrt(6) at most.
    """
    offsets = np.array([[float(x) for x in body.placement.r] for body in model.bodies])
    m = np.abs(parameters[..., 0])
    away = np.sqrt((parameters[..., 1:4] ** 2).sum(axis=-1))
    center = np.divide(away, m, out=np.zeros_like(m), where=m > 0)
    # no eigenvalue of the rotational inertia exceeds its Frobenius norm about the origin
    weights = np.array([1, 1, 1, 2, 2, 2])
    spin = list(np.moveaxis(np.sqrt((weights * parameters[..., 4:] ** 2).sum(axis=-1)), -1, 0))
    step = np.sqrt((offsets**2).sum(axis=1)).tolist()
    mass, reach = list(np.moveaxis(m, -1, 0)), list(np.moveaxis(center, -1, 0))
    for k in reversed(range(model.nb)):
        p = model.bodies[k].parent
        if p >= 0:
            travel = slides[k] * _travel(model.bodies[k]) if slides[k] else 0.0
            mass[p] = mass[p] + mass[k]
            reach[p] = np.maximum(reach[p], reach[k] + step[k] + travel)
            spin[p] = spin[p] + spin[k]
    rotors = np.array([max(body.armature) for body in model.bodies])
    carried, distance, turning = (np.moveaxis(np.array(x), 0, -1) for x in (mass, reach, spin))
    total = carried * (1 + distance) ** 2 + turning
    return 6 * size * total + rotors


def _travel(body: Body) -> float:
    """Return how large the coordinates of a joint can become that moves the body's origin."""
    limits = [abs(x) for x in (*body.lower, *body.upper)]
    return max(limits) if body.joint.nq == 1 and np.isfinite(limits).all() else TRAVEL
