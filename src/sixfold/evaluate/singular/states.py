"""Joints with no inertia behind them: always, or at some states.

A freedom is singular at a state when its pivot D <= 4 eps H_ii, with the terms of H_ii taken
positive.  D is at least what the body's own inertia gives; where that exceeds the bound at every
configuration nothing need be tested.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from sixfold.arrays import Shape
from sixfold.errors import SingularModelError, SingularPivotWarning, visible
from sixfold.evaluate import scalar_functions
from sixfold.evaluate.arrays import Array, joined
from sixfold.evaluate.kernels.kernel_cache import per_model
from sixfold.evaluate.kernels.kernel_tree import kernel_tree
from sixfold.evaluate.kernels.kernels import kernel_for
from sixfold.evaluate.scalar_functions.page import of_inertias
from sixfold.evaluate.singular.pivot_margin import (
    MIN_PIVOT_RATIO,
    possibly_singular_joints,
    proved_pivots,
)
from sixfold.model import Joint, Model, Tree
from sixfold.scalar import plain

MIN_STATES_PER_SET = 4096
"""States for each set of inertial parameters from which a proof takes less time than pivots."""


def refuse_singular(model: Model) -> None:
    """Raise SingularModelError if some joint has no inertia behind it at every configuration."""
    lost = singular_joints(model)
    if lost:
        names = [(model.bodies[k].joint_name, model.bodies[k].name) for k in lost]
        raise SingularModelError(model.name, names)


def nan_at_singular_states(
    model: Model,
    q: Array,
    results: Sequence[Array],
    lead: int,
    inertias: Array | None = None,
) -> None:
    """Set rows of results to NaN where a pivot is lost, and warn once naming the joint.

    Args:
        model: the model.
        q: configurations, shape (..., nq), of the results' leading shape.
        results: arrays with the same leading shape.
        lead: number of leading axes.
        inertias: inertial parameters in place of the model's own.
    """
    if inertias is None:
        if not possibly_singular_joints(model):
            return
    elif _all_proved(model, inertias, prod(q.shape[:-1])):
        return
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


def _all_proved(model: Model, inertias: Array, states: int) -> bool:
    """Return whether inertias themselves prove all pivots, where that is cheaper than to look."""
    sets = inertias[..., 0, 0].size
    return MIN_STATES_PER_SET * sets <= states and bool(proved_pivots(model, inertias).all())


def lost_pivots(model: Model, q: Array, inertias: Array | None = None) -> tuple[Array, list[int]]:
    """Return a mask (..., freedoms) of lost pivots and the body of each freedom.

    Args:
        model: the model.
        q: configurations, shape (..., nq).
        inertias: inertial parameters in place of the model's own, shape (..., nb, 10).
    """
    owner = _owners(model)
    shapes: dict[str, Shape] = {"q": (model.nq,)}
    core, arrays = scalar_functions.pivots, [q]
    if inertias is not None:
        core, arrays = of_inertias(core), [q, inertias]
        shapes["inertias"] = (model.nb, 10)
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


def _pivots(model: Model, q: Array, n: int, tree: Tree | None = None) -> Array:
    """Return pivots and diagonal by NumPy, where a lost pivot divides to NaN."""
    with np.errstate(all="ignore"):
        columns = [q[..., k] for k in range(model.nq)]
        values = scalar_functions.pivots(model, _numeric(tree or model.tree), columns)
    return joined(values, q.shape[:-1], (2, n), float)


def _owners(model: Model) -> list[int]:
    """Return the body that each freedom belongs to."""
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

    ways: list[Callable[[Joint], Sequence[Any]]] = [lambda joint: joint.neutral(), near, near]
    ways += [lambda joint: joint.random(rng)] * 4
    states = [[plain(x) for joint in joints for x in way(joint)] for way in ways]
    owner = _owners(model)
    q = np.array(states, float)
    D, H = np.moveaxis(_pivots(model, q, len(owner)), 1, 0)
    # kernels may find an exact zero where rounding leaves something here
    reduced = _pivots(model, q, len(owner), kernel_tree(scalar_functions.forward_dynamics, model))[
        :, 0
    ]
    always = (np.abs(H) * MIN_PIVOT_RATIO >= np.fmin(D, reduced)).all(axis=0)
    return tuple(sorted({owner[k] for k in range(len(owner)) if always[k]}))
