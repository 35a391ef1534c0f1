"""Derivatives of a body's velocity and of its Jacobian, along the motion subspaces.

In body coordinates a joint changes what comes before it on the way from the base: moving joint k
turns the columns J_j of the joints before it by J_j x J_k and leaves those behind it alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sixfold.dynamics.derivatives.joints import subspace_rates
from sixfold.model.tree import Table, Tree
from sixfold.spatial import Motion, Transform

Hessian = dict[tuple[int, int], Motion]


class Columns(NamedTuple):
    """What each freedom that supports a body does to it, in body coordinates."""

    J: dict[int, Motion]
    """The column of the Jacobian, by freedom."""
    own: Hessian
    """Derivatives of the subspace of a joint itself along its own freedoms: (column, along)."""
    joint: dict[int, int]
    """The joint of each freedom."""


def columns(tree: Tree, q: Table, body: int, placement: Transform) -> Columns:
    """Return the columns of a frame's Jacobian in its own coordinates."""
    J: dict[int, Motion] = {}
    own: Hessian = {}
    joint: dict[int, int] = {}
    X, still = placement, tree.zero_velocities()
    for j in (body, *tree.ancestors(body)) if body else ():
        start = tree.velocity_slices[j].start
        XJ, S, _, _ = tree.joint[j].calc(q[j], still[j])
        rates = subspace_rates(tree, j, q, still, still)
        for t, s in enumerate(S.columns, start):
            J[t], joint[t] = X @ s, j
            for p, d in enumerate(rates.dS[t - start].columns, start):
                own[p, t] = X @ d
        X = X @ (XJ @ tree.Xtree[j])
    return Columns(J, own, joint)


def jacobian_derivatives(
    found: Columns, turned: Callable[[Motion, Motion], Motion] | None
) -> Hessian:
    """Return d J_j / dq_k by (j, k), in the frame's coordinates.

    Args:
        found: the columns.
        turned: what moving along column k does to the axes and the point that a motion is taken in,
            as a function of J_k and the motion; None for the frame's own.
    """
    J, own, joint = found
    H: Hessian = {}
    for j, at in J.items():
        for k, along in J.items():
            rate = Motion.zero()
            if joint[j] < joint[k]:  # a joint nearer to the base has a smaller number
                rate = at.cross(along)
            elif joint[j] == joint[k]:
                rate = own[j, k]
            H[j, k] = rate if turned is None else rate + turned(along, at)
    return H


def in_moving_frame(
    found: Columns, own: dict[int, Motion], X: Transform
) -> tuple[dict[int, Motion], Hessian]:
    """Return the Jacobian of a body and d J_j / dq_k in the coordinates of another frame.

    That frame moves too, and the transform between the two with both: dX/dt = (v_A - v_B) x X
    (Carius eq. 16).

    Args:
        found: the columns of the body, in its own coordinates.
        own: the columns of the frame's own Jacobian, in the frame's coordinates.
        X: from the body's coordinates to the frame's.
    """
    J = {j: X @ column for j, column in found.J.items()}
    inner = jacobian_derivatives(found, None)
    still = Motion.zero()
    H: Hessian = {}
    for j, column in J.items():
        for k in dict.fromkeys((*J, *own)):
            moving = J.get(k, still) - own.get(k, still)
            rate = X @ inner[j, k] if k in J else still
            H[j, k] = rate + moving.cross(column)
    return J, H
