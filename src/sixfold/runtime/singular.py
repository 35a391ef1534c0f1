"""Joints with no inertia behind them: always, or at some states.

A degree of freedom is singular at a state when its pivot D <= 4 eps H_ii, with the terms of H_ii
taken positive.  D is at least what the body's own inertia gives; where that exceeds the bound at
every configuration nothing need be tested.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from sixfold.arrays import Array, Shape
from sixfold.dynamics.fast import articulated
from sixfold.errors import SingularModelError, SingularPivotWarning, visible
from sixfold.model import Body, Joint, Model, Tree
from sixfold.runtime.arrays import join_numbers
from sixfold.runtime.kernels.kernel_cache import per_model
from sixfold.runtime.kernels.kernels import kernel_for, reduced_tree
from sixfold.runtime.kernels.rolled_tree import kinds_of
from sixfold.runtime.quantity import QUANTITIES, Numbers, of_inertias
from sixfold.scalar import Scalar, plain
from sixfold.spatial import Inertia, ldl

#: A pivot is lost when it is at most so much of its element of the mass matrix: what subtracting
#: numbers of that size, each rounded a few times, leaves of zero.
MIN_PIVOT_RATIO = 4 * float(np.finfo(float).eps)
#: How far [m], or how many turns of a screw [rad], a joint without limits is taken to go.
TRAVEL = 1e4
#: States for each set of inertial parameters from which a proof takes less time than pivots.
MIN_STATES_PER_SET = 4096


# -- at states


def refuse_singular(model: Model) -> None:
    """Raise SingularModelError if some joint has no inertia behind it at every configuration."""
    lost = singular_joints(model)
    if lost:
        names = [(model.bodies[k].joint_name, model.bodies[k].name) for k in lost]
        raise SingularModelError(model.name, names)


def nan_at_singular_states(
    model: Model, q: Array, results: Sequence[Array], lead: int, inertias: Array | None = None
) -> None:
    """Set rows of results to NaN where a pivot is lost, and warn once naming the joint.

    Args:
        model: the model.
        q: configurations, shape (..., nq), of the results' leading shape.
        results: arrays with the same leading shape.
        lead: number of leading axes.
        inertias: inertial parameters instead of the model's own.
    """
    if inertias is None:
        if not possibly_singular_joints(model):
            return
    elif _proves_all(model, inertias, prod(q.shape[:-1])):
        return
    # the first lost pivot is named in the warning
    bad, owner = lost_pivots(model, q, inertias)
    if not bad.any():
        return
    first = int(np.argmax(bad.any(axis=tuple(range(bad.ndim - 1)))))
    body = model.bodies[owner[first]]
    rows = bad.any(axis=-1)
    warnings.warn(
        f"model '{visible(model.name)}': {int(rows.sum())} of {rows.size} states have no inertia "
        f"behind joint '{visible(body.joint_name)}' of body '{visible(body.name)}' "
        "(D <= 4 eps H_ii); those rows are NaN",
        SingularPivotWarning,
        stacklevel=4,
    )
    for result in results:
        result[np.broadcast_to(rows, result.shape[:lead])] = np.nan


def _proves_all(model: Model, inertias: Array, states: int) -> bool:
    """Return whether inertias themselves prove all pivots, where that is cheaper than to look."""
    sets = inertias[..., 0, 0].size
    return MIN_STATES_PER_SET * sets <= states and bool(proved_pivots(model, inertias).all())


def lost_pivots(model: Model, q: Array, inertias: Array | None = None) -> tuple[Array, list[int]]:
    """Return a mask (..., nv) of lost pivots and the body of each degree of freedom.

    Args:
        model: the model.
        q: configurations, shape (..., nq).
        inertias: inertial parameters instead of the model's own, shape (..., nb, 10).
    """
    owner = _owners(model)
    shapes: dict[str, Shape] = {"q": (model.nq,)}
    core, arrays = pivots, [q]
    if inertias is not None:
        core, arrays = of_inertias(core), [q, inertias]
        shapes["inertias"] = (model.nb, 10)
    # by machine code, or on columns of NumPy arrays
    kernel = kernel_for("pivots", core, model, shapes, ((2, len(owner)),))
    if kernel is not None:
        with np.errstate(all="ignore"):
            both = kernel.ufunc(*arrays)
    elif inertias is None:
        both = _pivots(model, q, len(owner))
    else:
        flat = arrays[1].reshape((*inertias.shape[:-2], 10 * model.nb))
        tree = model.tree.with_inertias([flat[..., k] for k in range(10 * model.nb)])
        both = _pivots(model, q, len(owner), tree)
    return both[..., 0, :] <= MIN_PIVOT_RATIO * np.abs(both[..., 1, :]), owner


def pivots(model: Model, tree: Tree, q: Numbers) -> list[Scalar]:
    """Return the pivots, then the diagonal of the mass matrix; reduced under couplings."""
    if model.couplings:
        # couplings: pivots of the reduced mass matrix
        flat, n = QUANTITIES["mass_matrix"].reading(model, tree, q), model.nv
        M = [flat[k : k + n] for k in range(0, n * n, n)]
        return [*ldl(M)[1], *(row[k] for k, row in enumerate(M))]
    D, H = articulated.pivots(tree, model.positions(q))
    return [*D, *H]


def _pivots(model: Model, q: Array, n: int, tree: Tree | None = None) -> Array:
    """Return pivots and diagonal by NumPy, where a lost pivot divides to NaN."""
    with np.errstate(all="ignore"):
        columns = [q[..., k] for k in range(model.nq)]
        values = pivots(model, _numeric(tree or model.tree), columns)
    return join_numbers(values, q.shape[:-1], (2, n), float)


def _owners(model: Model) -> list[int]:
    """Return the body of each degree of freedom."""
    return [joint.body for joint in model.coordinates.v_joints]


def _numeric(tree: Tree) -> Any:
    """Return the tree with exact zeros as numbers: a lost pivot then divides to NaN."""
    return tree.map(lambda x: np.float64(plain(x)), zeros=True)


@per_model(256)
def singular_joints(model: Model) -> tuple[int, ...]:
    """Return the bodies whose joint has no inertia behind it at any of several states.

    Joints of extreme pitch carry a tree so far away that its pivots are lost at nearly every random
    state; at the neutral configuration and near it they are not.
    """
    if not possibly_singular_joints(model):
        return ()
    rng = np.random.default_rng(0)
    joints = [each.joint for each in model.coordinates.free]

    def near(joint: Joint) -> Sequence[Any]:
        return joint.step(joint.neutral(), (1e-3 * rng.standard_normal(joint.nv)).tolist())

    # neutral, near neutral and random states
    ways: list[Callable[[Joint], Sequence[Any]]] = [lambda joint: joint.neutral(), near, near]
    ways += [lambda joint: joint.random(rng)] * 4
    states = [[plain(x) for joint in joints for x in way(joint)] for way in ways]
    owner = _owners(model)
    q = np.array(states, float)
    D, H = np.moveaxis(_pivots(model, q, len(owner)), 1, 0)
    # kernels may find an exact zero where rounding leaves something here
    reduced = _pivots(model, q, len(owner), reduced_tree(model))[:, 0]
    # joints whose pivot is lost at all of them
    always = (np.abs(H) * MIN_PIVOT_RATIO >= np.fmin(D, reduced)).all(axis=0)
    return tuple(sorted({owner[k] for k in range(len(owner)) if always[k]}))


# -- what a body's own inertia proves of its joint's pivot, at every configuration


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

    Bodies of one kind of joint are computed together: their constants are arrays.
    """
    own, size = np.zeros(parameters.shape[:-1]), np.zeros(model.nb)
    slides = np.zeros(model.nb)
    kinds = kinds_of(model)
    for kind, members in enumerate(kinds.members):
        rows = np.array(members) - 1
        joint = kinds.together("joint", kind)
        I = Inertia.from_parameters(list(np.moveaxis(parameters[..., rows, :], -1, 0)))
        S = joint.calc(joint.neutral(), (0.0,) * joint.nv).S
        # squared lengths of the columns of S bound what inertia behind can give
        lengths = [sum(plain(x) ** 2 for x in (*c.ang, *c.lin)) for c in S.columns]
        size[rows] = np.max(np.broadcast_arrays(*lengths), axis=0)
        advance = [sum(plain(x) ** 2 for x in c.lin) for c in S.columns]
        slides[rows] = np.sqrt(np.max(np.broadcast_arrays(*advance), axis=0))
        rotors = np.array([[float(x) for x in model.bodies[k].armature] for k in rows])
        if joint.constant_subspace:
            # the smallest pivot is at least the smallest eigenvalue
            D = _stack((S.T @ (I @ S)).rows, own[..., rows].shape)
            diagonal = np.arange(joint.nv)
            D[..., diagonal, diagonal] += rotors
            own[..., rows] = _smallest(D)
        elif joint.orthonormal_subspace:
            alone = _smallest(_stack(I.matrix(), own[..., rows].shape))
            own[..., rows] = np.maximum(alone, 0.0) + rotors.min(axis=1)
    return own, size, slides


def _stack(rows: Any, lead: Shape) -> Array:
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
    # mass, distance of the centre and spin bound an inertia about its origin
    m = np.abs(parameters[..., 0])
    away = np.sqrt((parameters[..., 1:4] ** 2).sum(axis=-1))
    center = np.divide(away, m, out=np.zeros_like(m), where=m > 0)
    # no eigenvalue of the rotational inertia exceeds its Frobenius norm about the origin
    weights = np.array([1, 1, 1, 2, 2, 2])
    spin = list(np.moveaxis(np.sqrt((weights * parameters[..., 4:] ** 2).sum(axis=-1)), -1, 0))
    step = np.sqrt((offsets**2).sum(axis=1)).tolist()
    mass, reach = list(np.moveaxis(m, -1, 0)), list(np.moveaxis(center, -1, 0))
    # tips to base: what a body carries is at most that far away
    for k in reversed(range(model.nb)):
        p = model.bodies[k].parent
        if p >= 0:
            travel = slides[k] * _travel(model.bodies[k]) if slides[k] else 0.0
            mass[p] = mass[p] + mass[k]
            reach[p] = np.maximum(reach[p], reach[k] + step[k] + travel)
            spin[p] = spin[p] + spin[k]
    rotors = np.array([max(body.armature) for body in model.bodies])
    carried, distance, turning = (np.moveaxis(np.array(x), 0, -1) for x in (mass, reach, spin))
    # Steiner: I <= spin + m (1 + distance)^2 in the units of a screw
    total = carried * (1 + distance) ** 2 + turning
    return 6 * size * total + rotors


def _travel(body: Body) -> float:
    """Return how large the coordinates of a joint can become that moves the body's origin."""
    limits = [abs(x) for x in (*body.lower, *body.upper)]
    return max(limits) if body.joint.nq == 1 and np.isfinite(limits).all() else TRAVEL
