"""Factorisations of the joint-space inertia matrix that skip its zeros: RBDA section 6.5.

`parent[k]` is the freedom before k on the way to the base, -1 at the base (`Tree.dof_parent`).
L has non-zeros only where H has: between a freedom and those that support it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sixfold.scalar import ZERO, Scalar, sqrt
from sixfold.spatial import Column

Rows = Sequence[Sequence[Scalar]]


def path(parent: Sequence[int], k: int) -> Iterator[int]:
    """Yield the degrees of freedom that support k, nearest first, without k."""
    k = parent[k]
    while k >= 0:
        yield k
        k = parent[k]


def ltl(H: Rows, parent: Sequence[int]) -> list[list[Scalar]]:
    """Return lower triangular L with L^T L = H (RBDA table 6.3)."""
    L = [[ZERO if j > i else x for j, x in enumerate(row)] for i, row in enumerate(H)]
    for k in reversed(range(len(L))):
        L[k][k] = sqrt(L[k][k])
        for i in path(parent, k):
            L[k][i] = L[k][i] / L[k][k]
        for i in path(parent, k):
            for j in (i, *path(parent, i)):
                L[i][j] = L[i][j] - L[k][i] * L[k][j]
    return L


def ltdl(H: Rows, parent: Sequence[int]) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Return unit lower triangular L and pivots D with L^T diag(D) L = H (RBDA table 6.3)."""
    n = len(H)
    L = [[ZERO if j > i else x for j, x in enumerate(row)] for i, row in enumerate(H)]
    D: list[Scalar] = [ZERO] * n
    for k in reversed(range(n)):
        D[k] = L[k][k]
        L[k][k] = 1.0
        for i in path(parent, k):
            a = L[k][i] / D[k]
            for j in (i, *path(parent, i)):
                L[i][j] = L[i][j] - a * L[k][j]
            L[k][i] = a
    return L, D


def solve_ltl(L: Rows, parent: Sequence[int], b: Sequence[Scalar]) -> Column:
    """Return x with L^T L x = b."""
    x = list(b)
    for k in reversed(range(len(x))):
        x[k] = x[k] / L[k][k]
        for i in path(parent, k):
            x[i] = x[i] - L[k][i] * x[k]
    for k in range(len(x)):
        for i in path(parent, k):
            x[k] = x[k] - L[k][i] * x[i]
        x[k] = x[k] / L[k][k]
    return Column(x)


def solve_ltdl(L: Rows, D: Sequence[Scalar], parent: Sequence[int], b: Sequence[Scalar]) -> Column:
    """Return x with L^T diag(D) L x = b."""
    x = list(b)
    for k in reversed(range(len(x))):
        for i in path(parent, k):
            x[i] = x[i] - L[k][i] * x[k]
    x = [value / pivot for value, pivot in zip(x, D, strict=True)]
    for k in range(len(x)):
        for i in path(parent, k):
            x[k] = x[k] - L[k][i] * x[i]
    return Column(x)
