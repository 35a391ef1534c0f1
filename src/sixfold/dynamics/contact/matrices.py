"""Small matrices of numbers, with exact zeros left out."""

from __future__ import annotations

from collections.abc import Sequence

from sixfold.scalar import ZERO, Scalar, Zero

Numbers = Sequence[Scalar]
Matrix = list[list[Scalar]]


class Dense:
    """A = L D L^T of a symmetric positive matrix, of which the lower half is read."""

    def __init__(self, A: Matrix) -> None:
        """Factorise."""
        n = len(A)
        L = [[A[i][j] if j <= i else ZERO for j in range(n)] for i in range(n)]
        self.pivots: list[Scalar] = []
        self.over: list[Scalar] = []
        """Reciprocals of the pivots."""
        for k in range(n):
            self.pivots.append(L[k][k])
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

    def inverse(self) -> Matrix:
        """Return A^-1 = L^-T D^-1 L^-1."""
        n, V = len(self.L), self.inverse_factor()
        scaled = [[x * d for x in row] for row, d in zip(V, self.over, strict=True)]
        return symmetric(n, lambda i, j: total([V[k][i] * scaled[k][j] for k in range(i, n)]))

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


def dot(a: Numbers, b: Numbers) -> Scalar:
    """Return the scalar product."""
    return total([x * y for x, y in zip(a, b, strict=True)])


def total(values: Numbers) -> Scalar:
    """Return the sum."""
    found: Scalar = ZERO
    for x in values:
        found = x if isinstance(found, Zero) else found + x
    return found
