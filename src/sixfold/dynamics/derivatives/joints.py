"""How a joint's own motion depends on its position, along each column of its motion subspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixfold.model.tree import Table, Tree
from sixfold.scalar import ZERO, Scalar, differentiate
from sixfold.spatial import Column, Motion, Subspace


class SubspaceRates(NamedTuple):
    """Derivatives of S, S qd and S qdd + cJ along each column of S, in body coordinates."""

    dS: tuple[Subspace, ...]
    """The derivative of S along column t."""
    e: tuple[Motion, ...]
    """The derivative of S qd."""
    g: tuple[Motion, ...]
    """The derivative of S qdd + cJ."""
    own: tuple[Motion, ...]
    """The rate of each column of S."""

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
