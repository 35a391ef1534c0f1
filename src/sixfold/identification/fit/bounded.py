"""Free inertias with friction, rotors and springs that are not negative, as in any model."""

from __future__ import annotations

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.fit.columns import NOT_NEGATIVE, Problem
from sixfold.identification.fit.solve import Fit

INDEPENDENT = 1e-9
"""Relative size of what other columns leave of one, below which it has no effect of its own."""


def fit_bounded(problem: Problem, fit: Fit) -> Array:
    """Return the unknowns nearest to the loaded model among those that fit the data best.

    Inertias, offsets and gains are free; friction, rotors and springs are >= 0.  If the free
    solution has negative ones, the best fit within the bounds is found: what free columns explain
    is projected out, the rest is a problem of non-negative least squares, and the free unknowns
    are then estimated again.
    """
    start = problem.start
    bounded = np.array([u.kind in NOT_NEGATIVE for u in problem.unknowns], bool)
    size = np.maximum(np.abs(start), 1e-3)
    step = np.linalg.lstsq(problem.base * size, fit.beta - problem.base @ start, rcond=None)[0]
    p: Array = start + size * step
    if not (p[bounded] < 0).any():
        return p
    C = fit.A @ problem.base * size
    goal = fit.b - C @ (start / size)
    free, own = C[:, ~bounded], C[:, bounded]
    low = start[bounded] / size[bounded]
    U, s, _ = np.linalg.svd(free, full_matrices=False)
    U = U[:, s > INDEPENDENT * s.max(initial=0.0)]
    left = own - U @ (U.T @ own)
    acts = np.linalg.norm(left, axis=0) > INDEPENDENT * np.linalg.norm(own, axis=0)
    # what acts only together with free inertias stays as loaded
    x = low.copy()
    target = goal - U @ (U.T @ goal) + left @ low
    x[acts] = non_negative(left[:, acts], target - left[:, ~acts] @ low[~acts])
    y = np.linalg.lstsq(free, goal - own @ (x - low), rcond=INDEPENDENT)[0]
    p[bounded] = size[bounded] * x
    p[~bounded] = start[~bounded] + size[~bounded] * y
    return p


def non_negative(A: Array, b: Array) -> Array:
    """Return x >= 0 with the least |A x - b| (Lawson and Hanson, 1974, chapter 23)."""
    n = A.shape[1]
    scale = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    A = A / scale
    x, inside = np.zeros(n), np.zeros(n, bool)
    enough = 1e-12 * max(float(np.abs(A.T @ b).max(initial=0.0)), 1e-300)
    for _ in range(10 * n):
        slope = np.where(inside, -np.inf, A.T @ (b - A @ x))
        if not n or slope.max() <= enough:
            break
        inside[np.argmax(slope)] = True
        while True:
            there = np.zeros(n)
            there[inside] = np.linalg.lstsq(A[:, inside], b, rcond=None)[0]
            below = inside & (there <= 0)
            if not below.any():
                x = there
                break
            # go until the first number is zero, and leave it there
            share = np.where(below, x / np.maximum(x - there, 1e-300), np.inf)
            x = x + min(float(share.min()), 1.0) * (there - x)
            inside &= ~(below & (share <= share.min()))
            x[~inside] = 0.0
    found: Array = x / scale
    return found
