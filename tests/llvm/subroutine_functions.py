"""Functions that do the same several times: solves with one factor, and a curve."""

from __future__ import annotations

import sixfold as sf
from sixfold.scalar import subroutine

N = 12
"""Unknowns; a solve takes 2 N (N - 1) + N operations."""
COLUMNS = 14


def factor(x):
    """Return a unit lower triangle and a diagonal."""
    L = [[0.1 * sf.math.sin(x[i] + j) for j in range(i)] for i in range(N)]
    return L, [2.0 + x[i] * x[i] for i in range(N)]


def solve(L, D, b):
    """Return (L D L')^-1 b."""
    y = list(b)
    for i in range(N):
        for j in range(i):
            y[i] = y[i] - L[i][j] * y[j]
    y = [y[i] / D[i] for i in range(N)]
    for i in reversed(range(N)):
        for j in range(i):
            y[j] = y[j] - L[i][j] * y[i]
    return y


def sides(x):
    """Return right-hand sides: some numbers of each are zero."""
    return [
        [x[(i + k) % N] * (k + 1) if (i + k) % 3 else 0.0 for i in range(N)] for k in range(COLUMNS)
    ]


def from_outside(x):
    """The function uses the factor beside its arguments."""
    L, D = factor(x)
    return [y for b in sides(x) for y in subroutine(lambda b: solve(L, D, b), b)]


def as_argument(x):
    """The factor is an argument, the same for each call."""
    L, D = factor(x)

    def solved(flat, D, b):
        numbers = iter(flat)
        return solve([[next(numbers) for _ in range(i)] for i in range(N)], D, b)

    flat = [z for row in L for z in row]
    return [y for b in sides(x) for y in subroutine(solved, flat, D, b)]


def two_kinds(x):
    """Two subroutines; the second needs results of the first, and negative results are used."""
    L, D = factor(x)

    def curve(b):
        s = b[0]
        for k in range(80):
            s = s * 0.75 + sf.math.sin(b[1]) * x[0] * 0.01 * (k + 1)
        return [s, -sf.math.cos(s)]

    found, total = [], x[1]
    for b in sides(x):
        y = subroutine(lambda b: solve(L, D, b), b)
        s, c = subroutine(curve, [y[0], total])
        total = total + 0.1 * c
        found += [s, c, y[-1]]
    more = [subroutine(curve, [x[k % N], total + k])[0] for k in range(10)]
    return [*found, *more, total]


FUNCTIONS = [from_outside, as_argument, two_kinds]
