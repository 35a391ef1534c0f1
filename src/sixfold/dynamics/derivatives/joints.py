"""Derivatives of a joint's own motion and of its passive forces, along its motion subspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixfold.dynamics.passive import passive_force
from sixfold.model import Tree
from sixfold.model.tree import Table
from sixfold.scalar import ZERO, Scalar, differentiate
from sixfold.spatial import Column, Motion, Subspace


class SubspaceRates(NamedTuple):
    """Derivatives of S, S qd and S qdd + cJ along each column of S, in body coordinates."""

    dS: tuple[Subspace, ...]  # the derivative of S along column t
    e: tuple[Motion, ...]  # the derivative of S qd
    g: tuple[Motion, ...]  # the derivative of S qdd + cJ
    own: tuple[Motion, ...]  # the rate of each column of S

    def of(self, t: int) -> tuple[Motion, Motion, Motion]:
        """Return e, g and own of column t."""
        return self.e[t], self.g[t], self.own[t]

    @property
    def vanish(self) -> bool:
        """Whether S is known to be constant in the body."""
        return all(x is ZERO for d in self.dS for c in d.columns for x in (*c.ang, *c.lin))


def units(n: int) -> list[Column]:
    """Return the n unit vectors."""
    return [Column(1.0 if m == k else ZERO for m in range(n)) for k in range(n)]


def subspace_rates(tree: Tree, i: int, q: Table, qd: Table, qdd: Table) -> SubspaceRates:
    """Return how S of joint i changes with its position: exact zeros where S is constant."""
    joint, n = tree.joint[i], tree.joint[i].nv
    if joint.constant_subspace and not joint.is_code:
        still = (Motion.zero(),) * n
        return SubspaceRates((Subspace(*still),) * n, still, still, still)

    def numbers(at: Sequence[Scalar]) -> list[Scalar]:
        _, S, _, cJ = joint.calc(Column(at), qd[i])
        return [x for m in (*S.columns, cJ) for x in (*m.ang, *m.lin)]

    rates = [differentiate(numbers, q[i], joint.rate(q[i], unit))[1] for unit in units(n)]
    parts = [[Motion.of(rate[k : k + 6]) for k in range(0, 6 * n + 6, 6)] for rate in rates]
    dS = tuple(Subspace(*columns) for *columns, _ in parts)
    e = tuple(d @ qd[i] for d in dS)
    g = tuple(d @ qdd[i] + cJ for d, (*_, cJ) in zip(dS, parts, strict=True))
    own = tuple(Subspace(*(d.columns[k] for d in dS)) @ qd[i] for k in range(n))
    return SubspaceRates(dS, e, g, own)


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
