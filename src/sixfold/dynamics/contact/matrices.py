"""Small matrices of numbers, with exact zeros left out."""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.scalar import ZERO, Scalar, dot, total

Numbers = Sequence[Scalar]
Matrix = list[list[Scalar]]


class Dense:
    """A = L D L^T of a symmetric positive matrix, of which the lower half is read."""

    def __init__(self, A: Matrix) -> None:
        """Factorise."""
        n = len(A)
        L = [[A[i][j] if j <= i else ZERO for j in range(n)] for i in range(n)]
        self.over: list[Scalar] = []
        """Reciprocals of the pivots."""
        for k in range(n):
            self.over.append(1.0 / L[k][k])
            for i in range(k + 1, n):
                a = L[i][k] * self.over[k]
                for j in range(k + 1, i + 1):
                    L[i][j] = L[i][j] - a * L[j][k]
            for i in range(k + 1, n):
                L[i][k] = L[i][k] * self.over[k]
            L[k][k] = 1.0
        self.L = L

    def inverse_factor(self) -> Matrix:
        """Return L^-1."""
        n, L = len(self.L), self.L
        V: Matrix = [[1.0 if i == j else ZERO for j in range(n)] for i in range(n)]
        for i in range(n):
            for j in range(i):
                V[i][j] = -total([L[i][k] * V[k][j] for k in range(j, i)])
        return V

    def solve(self, b: Numbers) -> list[Scalar]:
        """Return x with A x = b."""
        x, n, L = list(b), len(b), self.L
        for k in range(n):
            for i in range(k):
                x[k] = x[k] - L[k][i] * x[i]
        x = [y * d for y, d in zip(x, self.over, strict=True)]
        for k in reversed(range(n)):
            for i in range(k + 1, n):
                x[k] = x[k] - L[i][k] * x[i]
        return x


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
