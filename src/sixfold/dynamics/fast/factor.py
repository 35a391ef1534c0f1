"""The sparse factor of the mass matrix, and what solves with it share (RBDA section 6.5)."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

from sixfold.dynamics.book.factorization import path
from sixfold.scalar import ZERO, Scalar, Zero, subroutine, total

Matrix = list[list[Scalar]]


class Factor:
    """M = L^T D L of a tree, and what solves share."""

    def __init__(self, L: Matrix, pivots: Sequence[Scalar], parent: Sequence[int]) -> None:
        """Take L and D; `parent` is `Tree.dof_parent`."""
        self.L, self.pivots, self.parent = L, list(pivots), parent
        self.reciprocals = [1.0 / d for d in pivots]
        """Of the pivots D; computed once, for all solves."""
        self.paths = [tuple(path(parent, k)) for k in range(len(parent))]
        """The freedoms that support each one, nearest first."""
        self.n = len(parent)
        self._hanging: dict[tuple[int, tuple[int, ...]], dict[int, Scalar]] = {}

    @classmethod
    def of(cls, M: Matrix, parent: Sequence[int]) -> Factor:
        """Factorise."""
        return cls(*ltdl(M, parent), parent)

    @cached_property
    def opposite(self) -> Factor:
        """The factor of -M = L^T (-D) L: solves with it give -M^-1 b and need no signs."""
        found = copy(self)
        found.reciprocals = [-r for r in self.reciprocals]
        return found

    def solve(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return x with M x = b; what is exactly zero in b costs nothing."""
        return self.outward(self._inward(b))

    def column(self, c: int, b: Sequence[Scalar]) -> list[Scalar]:
        """Return x with M x = b for b that is zero beside freedom c's support and its subtree.

        Columns of one limb do the same operations, which a long program keeps once.
        """
        support = self.beside(c)

        def solve(given: Sequence[Scalar]) -> list[Scalar]:
            at = dict(zip(support, given, strict=True))
            x = self._inward([at.get(k, ZERO) for k in range(self.n)])
            return [self._outward(k, x, support) for k in range(self.n)]

        return list(subroutine(solve, [b[k] for k in support]))

    def beside(self, c: int) -> list[int]:
        """Return freedom c with those that support it and those that it supports."""
        return [k for k in range(self.n) if k == c or k in self.paths[c] or c in self.paths[k]]

    def _outward(self, k: int, x: list[Scalar], support: Sequence[int]) -> Scalar:
        """Solve for freedom k, after those that support it; put it in its place.

        The freedom nearest to the base comes first: it has been there longest, so that the sum
        waits for the last alone.
        """
        row = {i: self.L[k][i] for i in self.paths[k]}
        for i, factor in reversed((row if k in support else self.hanging(k, support)).items()):
            x[k] = x[k] - factor * x[i]
        return x[k]

    def inverse(self) -> Matrix:
        """Return M^-1: column by column, the rows behind the diagonal by symmetry."""
        found: Matrix = [[ZERO] * self.n for _ in range(self.n)]
        for c in range(self.n):
            x = self._inward([1.0 if k == c else ZERO for k in range(self.n)])
            support = self.beside(c)
            for k in range(c + 1):
                found[k][c] = found[c][k] = self._outward(k, x, support)
        return found

    def matrix(self) -> Matrix:
        """Return M = L^T D L, element by element."""
        supported: list[list[int]] = [[k] for k in range(self.n)]
        for k in range(self.n):
            for i in self.paths[k]:
                supported[i].append(k)
        L = [[1.0 if k == j else x for j, x in enumerate(row)] for k, row in enumerate(self.L)]
        found: Matrix = [[ZERO] * self.n for _ in range(self.n)]
        for i in range(self.n):
            for j in (i, *self.paths[i]):
                products = [L[k][i] * L[k][j] * self.pivots[k] for k in supported[i]]
                found[i][j] = found[j][i] = total(products)
        return found

    def half(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return y = L^-T b; with it b1 . M^-1 b2 = y1 . D^-1 y2."""
        x = list(b)
        for k in reversed(range(self.n)):
            if not isinstance(x[k], Zero):
                for i in self.paths[k]:
                    x[i] = x[i] - self.L[k][i] * x[k]
        return x

    def scaled(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return D^-1 y."""
        return [value * r for value, r in zip(y, self.reciprocals, strict=True)]

    def outward(self, y: Sequence[Scalar]) -> list[Scalar]:
        """Return L^-1 y: the second half of a solve."""
        x = list(y)
        for k in range(self.n):
            for i in reversed(self.paths[k]):
                x[k] = x[k] - self.L[k][i] * x[i]
        return x

    def _inward(self, b: Sequence[Scalar]) -> list[Scalar]:
        """Return D^-1 L^-T b."""
        return self.scaled(self.half(b))

    def hanging(self, k: int, trunk: Sequence[int]) -> dict[int, Scalar]:
        """Return how freedom k, beside a trunk, gives way to the freedoms of the trunk below it."""
        below = tuple(i for i in self.paths[k] if i in trunk)
        if (k, below) not in self._hanging:
            rows = {i: self.hanging(i, trunk) for i in self.paths[k] if i not in trunk}
            row: dict[int, Scalar] = {}
            for t in below:
                row[t] = self.L[k][t]
                for i, other in reversed(rows.items()):
                    row[t] = row[t] - self.L[k][i] * other[t]
            self._hanging[k, below] = row
        return self._hanging[k, below]


def ltdl(H: Sequence[Sequence[Scalar]], parent: Sequence[int]) -> tuple[Matrix, list[Scalar]]:
    """Return what `book.factorization.ltdl` does, bit by bit.

    Each element is finished before the next is begun.  Kernels compute in the order in which a page
    does: so a sum stays in a register, where the book's order would load and store it at each term.
    """
    n = len(H)
    behind: list[list[int]] = [[] for _ in range(n)]
    for k in reversed(range(n)):
        for i in path(parent, k):
            behind[i].append(k)
    L: Matrix = [[ZERO] * n for _ in range(n)]
    DL: Matrix = [[ZERO] * n for _ in range(n)]
    for i in reversed(range(n)):
        for j in (i, *path(parent, i)):
            x = H[i][j]
            for k in behind[i]:
                x = x - L[k][i] * DL[k][j]
            DL[i][j] = x
        L[i][i] = 1.0
        for j in path(parent, i):
            L[i][j] = DL[i][j] / DL[i][i]
    return L, [DL[i][i] for i in range(n)]
