"""Rows of a Jacobian at a point of a body, in world axes, joint by joint."""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.model.tree import Table, Tree
from sixfold.scalar import Scalar
from sixfold.spatial import Vector3

Row = dict[int, list[Scalar]]
"""Numbers of each joint that moves the point, by body."""


def point_rows(
    tree: Tree, q: Table, X0: Table, body: int, point: Vector3, directions: Sequence[Vector3]
) -> list[Row]:
    """Return the rows of the point's velocity along directions, all in world axes.

    A joint at p_j with a column (w, v) in world axes moves the point p with v + w x (p - p_j).

    Args:
        tree: the bodies.
        q: positions, by body.
        X0: base to body, of every body.
        body: that carries the point; 0 for the base, which does not move.
        point: in world coordinates.
        directions: in world axes.
    """
    rows: list[Row] = [{} for _ in directions]
    for j in tree.support(body) if body else ():
        back, arm = X0[j].E.T, point - X0[j].r
        S = tree.joint[j].calc(q[j], tree.zero_velocity(j)).S
        moved = [back @ c.lin + (back @ c.ang).cross(arm) for c in S.columns]
        for row, direction in zip(rows, directions, strict=True):
            row[j] = [direction.dot(column) for column in moved]
    return rows
