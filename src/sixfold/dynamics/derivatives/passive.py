"""Derivatives of the forces that a joint makes by itself: damping, dry friction and springs."""

from __future__ import annotations

from sixfold.dynamics.derivatives.joints import units
from sixfold.dynamics.passive import passive_force
from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, Scalar, differentiate
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


def add_second_passive(
    tree: Tree, q: Table, qd: Table, lam: Table, qq: Matrix, qv: Matrix, vv: Matrix
) -> None:
    """Add the second derivatives of lam . `passive_forces`."""
    for i in tree.bodies:
        start, joint = tree.velocity_slices[i].start, tree.joint[i]
        for t, first in enumerate(units(joint.nv), start):
            for u, second in enumerate(units(joint.nv), start):
                found = _curvatures(tree, i, q[i], qd[i], lam[i], first, second)
                for matrix, x in zip((qq, qv, vv), found, strict=True):
                    matrix[t][u] = matrix[t][u] + x


def _curvatures(
    tree: Tree, i: int, q: Column, qd: Column, lam: Column, first: Column, second: Column
) -> tuple[Scalar, Scalar, Scalar]:
    """Return the second derivatives of one joint: by positions, by both and by velocities."""
    joint = tree.joint[i]

    def weighted(force: Rates) -> Rates:
        return (sum((w * x for w, x in zip(lam, force, strict=True)), ZERO),)

    def by_q(x: Rates, xd: Rates) -> Rates:
        along = joint.rate(x, first)
        return differentiate(lambda y: weighted(passive_force(tree, i, y, xd)), x, along)[1]

    def by_v(xd: Rates) -> Rates:
        return differentiate(lambda y: weighted(passive_force(tree, i, q, y)), xd, first)[1]

    return (
        differentiate(lambda x: by_q(x, qd), q, joint.rate(q, second))[1][0],
        differentiate(lambda x: by_q(q, x), qd, second)[1][0],
        differentiate(by_v, qd, second)[1][0],
    )
