"""Derivatives of the forces that a joint makes by itself: damping, dry friction and springs."""

from __future__ import annotations

from sixfold.dynamics.derivatives.joints import units
from sixfold.dynamics.passive import passive_force
from sixfold.model.tree import Table, Tree
from sixfold.scalar import Scalar, Zero, differentiate

Matrix = list[list[Scalar]]


def add_passive(tree: Tree, q: Table, qd: Table, Q: Matrix, V: Matrix) -> None:
    """Add the derivatives of `passive_forces` to those of joint forces by q and by qd.

    Dry friction f sign(v) has no slope but at v = 0, where none is taken.
    """
    for i in tree.bodies:
        start, joint = tree.velocity_slices[i].start, tree.joint[i]
        for t, unit in enumerate(units(joint.nv)):
            _, by_q = differentiate(
                lambda x, i=i: passive_force(tree, i, x, qd[i]), q[i], joint.rate(q[i], unit)
            )
            _, by_qd = differentiate(lambda x, i=i: passive_force(tree, i, q[i], x), qd[i], unit)
            for p in range(joint.nv):
                row, column = start + p, start + t
                if not isinstance(by_q[p], Zero):
                    Q[row][column] = Q[row][column] + by_q[p]
                if not isinstance(by_qd[p], Zero):
                    V[row][column] = V[row][column] + by_qd[p]
