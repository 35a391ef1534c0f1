"""Derivatives of the forces that a joint makes by itself: damping, dry friction and springs."""

from __future__ import annotations

from sixfold.dynamics.derivatives.joints import units
from sixfold.dynamics.passive import passive_force
from sixfold.model.tree import Table, Tree
from sixfold.scalar import Scalar, differentiate
from sixfold.spatial import Column

Matrix = list[list[Scalar]]
Rates = tuple[Scalar, ...]


def add_passive(tree: Tree, q: Table, qd: Table, Q: Matrix, V: Matrix) -> None:
    """Add the derivatives of `passive_forces` to those of joint forces by q and by qd.

    Dry friction f sign(v) has no slope but at v = 0, where none is taken.
    """
    for i in tree.bodies:
        start, joint = tree.velocity_slices[i].start, tree.joint[i]
        for t, unit in enumerate(units(joint.nv), start):
            by_q, by_qd = _slopes(tree, i, q[i], qd[i], unit)
            for p in range(joint.nv):
                Q[start + p][t] = Q[start + p][t] + by_q[p]
                V[start + p][t] = V[start + p][t] + by_qd[p]


def _slopes(tree: Tree, i: int, q: Column, qd: Column, unit: Column) -> tuple[Rates, Rates]:
    """Return the derivatives of a joint's own force along one column of its motion subspace."""
    along = tree.joint[i].rate(q, unit)
    _, by_q = differentiate(lambda x: passive_force(tree, i, x, qd), q, along)
    _, by_qd = differentiate(lambda x: passive_force(tree, i, q, x), qd, unit)
    return by_q, by_qd
