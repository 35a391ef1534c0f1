"""Small matrices of numbers for kernels: symmetric factors and products."""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.scalar import ZERO, Scalar, dot
from sixfold.spatial import ldl, ldl_solve

Numbers = Sequence[Scalar]
Matrix = list[list[Scalar]]


class Dense:
    """A = L D L^T of a symmetric positive matrix, of which the lower half is read."""

    def __init__(self, A: Matrix) -> None:
        """Factorise."""
        self.L, self.pivots = ldl(A)
        self.over = [1.0 / d for d in self.pivots]  # reciprocals of the pivots

    def solve(self, b: Numbers) -> list[Scalar]:
        """Return x with A x = b."""
        return list(ldl_solve(self.L, self.pivots, b))


def symmetric(n: int, element: object) -> Matrix:
    """Return a symmetric matrix from its elements (i, j) with j <= i."""
    found: Matrix = [[ZERO] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            found[i][j] = found[j][i] = element(i, j)  # type: ignore[operator]
    return found


def times(A: Matrix, x: Numbers) -> list[Scalar]:
    """Return A x."""
    return [dot(row, x) for row in A]


def transposed_times(A: Matrix, x: Numbers) -> list[Scalar]:
    """Return A^T x."""
    return [dot(column, x) for column in zip(*A, strict=True)]
