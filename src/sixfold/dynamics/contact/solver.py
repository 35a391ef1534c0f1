"""The forces of a convex soft model: over-relaxed ADMM, then Newton on its optimality condition.

    f = argmin over the cones of 1/2 f . (A + R) f - b . f

With z = (b - A f) / R the solution is f = project(z).  R is one number for each cone.  ADMM (Boyd
et al., 2011) always converges, by a constant factor in each round; where several points of one
body touch, A has no full rank and the factor is near one.  Newton's method on
R z + A project(z) = b (a piecewise smooth equation) then needs a few steps from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sixfold.dynamics.contact.cones import Box, Cone, Push
from sixfold.scalar import ZERO, Scalar, Zero, absolute, if_positive, repeat

Numbers = Sequence[Scalar]
Matrix = list[list[Scalar]]
OVER_RELAXATION = 1.8
PENALTY, FLAT_PENALTY = 0.8, 0.2
"""Penalty of ADMM over the mean of diag(A + R), alone and before Newton's method, which is taken
where A has no full rank.  Measured on states of a trotting quadruped and of a humanoid."""

MAX_UNROLLED_PRODUCTS = 2500
"""Up to here all rounds of ADMM are written out: they take an eighth less time then, as values stay
in registers from one to the next; beyond, the time to compile counts."""


class Problem(NamedTuple):
    """A convex soft model."""

    A: Matrix
    R: list[Scalar]
    """For each row; the same for all rows of a cone."""
    b: list[Scalar]
    cones: Sequence[Cone | Push | Box]
    sizes: Sequence[int]
    """Rows of each cone."""

    def project(self, z: Numbers) -> list[Scalar]:
        """Return the nearest forces of the cones."""
        return [x for cone, part in self._parts(z) for x in cone.project(part)]

    def slopes(self, z: Numbers) -> list[list[list[Scalar]]]:
        """Return the columns of each cone's slope."""
        return [cone.slope(part) for cone, part in self._parts(z)]

    def _parts(self, z: Numbers) -> list[tuple[Cone | Push | Box, Numbers]]:
        found, start = [], 0
        for cone, n in zip(self.cones, self.sizes, strict=True):
            found.append((cone, z[start : start + n]))
            start += n
        return found


class Forces(NamedTuple):
    """What the solver finds."""

    f: list[Scalar]
    z: list[Scalar]
    """Forces before the projection: where the next step starts."""
    residual: Scalar
    """Largest change of a force in one more projected step, in the unit of the force."""


def solve(problem: Problem, warm: Numbers, iterations: int, newton: int) -> Forces:
    """Return the forces after a fixed number of iterations of ADMM and steps of Newton.

    Args:
        problem: the model.
        warm: z of a problem near this one, or zeros.
        iterations: of ADMM.
        newton: steps of Newton after them; of both results the better one is taken.
    """
    A, R, b, *_ = problem
    n = len(b)
    if not n:
        return Forces([], [], ZERO)
    # open rows are zero, and do not count
    count = _total([if_positive(A[k][k], 1.0, 0.0) for k in range(n)])
    stiff = _total([A[k][k] for k in range(n)]) / if_positive(count, count, 1.0)
    stiff = stiff + _total(R) * (1.0 / n)
    f, z = _admm(problem, warm, stiff * (FLAT_PENALTY if newton else PENALTY), iterations)
    step = 1.0 / stiff
    left = _residual(problem, f, step)
    if not newton:
        return Forces(f, z, _largest(left))
    z2 = repeat(newton, lambda at: _newton(problem, at), z)
    f2 = problem.project(z2)
    left2 = _residual(problem, f2, step)
    better = _total([x * x for x in left]) - _total([x * x for x in left2])
    return Forces(
        [if_positive(better, y, x) for x, y in zip(f, f2, strict=True)],
        [if_positive(better, y, x) for x, y in zip(z, z2, strict=True)],
        if_positive(better, _largest(left2), _largest(left)),
    )


def _admm(
    problem: Problem, warm: Numbers, rho: Scalar, iterations: int
) -> tuple[list[Scalar], list[Scalar]]:
    """Return forces in the cones, and z.

    In terms of w, the force before its projection f, a round of over-relaxed ADMM is a reflection
    at the cones and one product with a matrix: no triangular solve, whose steps wait for each
    other.
    """
    A, R, b, *_ = problem
    n = len(b)
    over = 1.0 / rho
    scaled = [[A[i][j] * over if j <= i else ZERO for j in range(n)] for i in range(n)]
    for k in range(n):
        scaled[k][k] = scaled[k][k] + (R[k] * over + 1.0)
    Q = [[x * OVER_RELAXATION for x in row] for row in Dense(scaled).inverse()]
    given = [_dot(row, [x * over for x in b]) for row in Q]
    for k in range(n):
        Q[k][k] = Q[k][k] - 0.5 * OVER_RELAXATION
    f = problem.project(warm)
    # the dual variable is (z - f) R / rho
    w = [x + (z - x) * (r * over) for z, x, r in zip(warm, f, R, strict=True)]

    def around(w: list[Scalar]) -> list[Scalar]:
        turned = [2.0 * x - y for x, y in zip(problem.project(w), w, strict=True)]
        kept = [y * (1.0 - 0.5 * OVER_RELAXATION) + c for y, c in zip(w, given, strict=True)]
        return [k + _dot(row, turned) for k, row in zip(kept, Q, strict=True)]

    if n * n * iterations <= MAX_UNROLLED_PRODUCTS:
        for _ in range(iterations):
            w = around(w)
    else:
        w = repeat(iterations, around, w)
    f = problem.project(w)
    return f, [x + (y - x) * (rho / r) for x, y, r in zip(f, w, R, strict=True)]


def _newton(problem: Problem, z: Numbers) -> list[Scalar]:
    """Return z after one step of Newton on R z + A project(z) = b.

    With the slope S S^T of the projection, the step of the forces is S g with
    (R + S^T A S) g = S^T (b - A f - R z): a symmetric positive matrix of the size of A.
    """
    A, R, b, _, sizes = problem
    f, slopes = problem.project(z), problem.slopes(z)
    Af = _times(A, f)
    rest = [c - x - r * y for c, x, r, y in zip(b, Af, R, z, strict=True)]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    n = len(b)
    K: Matrix = [[ZERO] * n for _ in range(n)]
    for i, Si in zip(starts, slopes, strict=True):
        for j, Sj in zip(starts, slopes, strict=True):
            if j > i:
                continue
            block = [[_dot(A[i + r][j : j + len(Sj)], c) for c in Sj] for r in range(len(Si))]
            for r, left in enumerate(Si):
                for c in range(len(Sj)):
                    if i != j or r >= c:
                        K[i + r][j + c] = _dot(left, [row[c] for row in block])
    for k in range(n):
        K[k][k] = K[k][k] + R[k]
    g = Dense(K).solve(
        [_dot(c, rest[i : i + len(S)]) for i, S in zip(starts, slopes, strict=True) for c in S]
    )
    moved = list(f)
    for i, S in zip(starts, slopes, strict=True):
        for c, column in enumerate(S):
            for r, x in enumerate(column):
                moved[i + r] = moved[i + r] + x * g[i + c]
    Af = _times(A, moved)
    return [(c - x) / r for c, x, r in zip(b, Af, R, strict=True)]


def _residual(problem: Problem, f: Numbers, step: Scalar) -> list[Scalar]:
    """Return what one projected step along the gradient changes."""
    A, R, b, *_ = problem
    down = [c - x - r * y for c, x, r, y in zip(b, _times(A, f), R, f, strict=True)]
    after = problem.project([x + d * step for x, d in zip(f, down, strict=True)])
    return [y - x for x, y in zip(f, after, strict=True)]


class Dense:
    """A = L D L^T of a symmetric positive matrix, of which the lower half is read."""

    def __init__(self, A: Matrix) -> None:
        """Factorise."""
        n = len(A)
        L = [[A[i][j] if j <= i else ZERO for j in range(n)] for i in range(n)]
        self.over: list[Scalar] = []
        for k in range(n):
            self.over.append(1.0 / L[k][k])
            for i in range(k + 1, n):
                a = L[i][k] * self.over[k]
                for j in range(k + 1, i + 1):
                    L[i][j] = L[i][j] - a * L[j][k]
            for i in range(k + 1, n):
                L[i][k] = L[i][k] * self.over[k]
        self.L = L

    def inverse(self) -> Matrix:
        """Return A^-1 = L^-T D^-1 L^-1."""
        n, L = len(self.L), self.L
        V: Matrix = [[1.0 if i == j else ZERO for j in range(n)] for i in range(n)]
        for i in range(n):
            for j in range(i):
                V[i][j] = -_total([L[i][k] * V[k][j] for k in range(j, i)])
        scaled = [[x * d for x in row] for row, d in zip(V, self.over, strict=True)]
        found: Matrix = [[ZERO] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                found[i][j] = _total([V[k][i] * scaled[k][j] for k in range(i, n)])
                found[j][i] = found[i][j]
        return found

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


def _times(A: Matrix, x: Numbers) -> list[Scalar]:
    return [_dot(row, x) for row in A]


def _dot(a: Numbers, b: Numbers) -> Scalar:
    return _total([x * y for x, y in zip(a, b, strict=True)])


def _total(values: Numbers) -> Scalar:
    total: Scalar = ZERO
    for x in values:
        total = x if isinstance(total, Zero) else total + x
    return total


def _largest(values: Numbers) -> Scalar:
    most: Scalar = ZERO
    for x in values:
        size = absolute(x)
        most = size if isinstance(most, Zero) else if_positive(size - most, size, most)
    return most
