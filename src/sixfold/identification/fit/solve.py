"""Base parameters from sums over samples: weighted least squares and standard errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.fit.columns import Problem
from sixfold.identification.fit.least_squares import Sums

ROUNDS = 4
"""How often weights follow from residuals; they settle after two."""
UNSEEN = {False: 1e-7, True: 1e-11}
"""Relative singular value below which the data do not show a direction: from products of columns,
whose digits are half as many, and from triangular factors."""
BALANCED = 0.01
"""Measured force relative to the parts that make it below which a row is a balance of parts."""
MIN_BALANCE = 1e-4
"""Least noise of such a row, relative to its parts."""
MIN_RELATIVE_NOISE = 1e-7
"""Least residual that counts, relative to the joint's forces: below it is rounding."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A weighted least-squares solution."""

    beta: Array
    """Base parameters, shape (n,)."""
    covariance: Array
    """Shape (n, n); of the directions that the data show."""
    errors: Array
    """Standard errors; infinite where the data do not show a parameter."""
    sigma: Array
    """Standard deviation of each joint's residual, shape (nv,)."""
    condition: float
    """Of the columns, scaled to equal size, over what the data show and do not show."""
    A: Array
    """Weighted triangular factor: the data say |A beta - b|, shape (n, n)."""
    b: Array
    unseen: Array
    """Orthonormal directions of scaled parameters that the data do not show, shape (n, k)."""
    scale: Array
    """Size of each weighted column."""


def solve(
    problem: Problem,
    sums: Sums,
    *,
    exact: bool = False,
    inflation: Array | None = None,
    noise: float = MIN_RELATIVE_NOISE,
) -> Fit:
    """Return the least-squares solution with weights from the residuals.

    Directions that the data do not show stay as in the loaded model.

    Args:
        problem: the columns.
        sums: over the samples.
        exact: whether they were made by triangular factors.
        inflation: of each joint's variance, for residuals that are correlated in time.
        noise: least residual that counts, relative to the joint's forces.
    """
    start = problem.base @ problem.start
    loads, balance = load_rms(problem, sums), balanced(problem, sums)
    usual = float(np.nanmax(loads, initial=0.0)) or 1.0
    loads = np.maximum(np.nan_to_num(loads), 1e-3 * usual)
    first = activity(problem, sums, start)
    freedom = np.array([_own(problem, j) for j in range(len(problem.rows))])
    left = np.maximum(sums.counts - freedom, 1.0)
    sigma, used = loads, sums
    gains = np.isnan(problem.choice.gains)
    for _ in range(4 * ROUNDS if gains.any() else ROUNDS):
        beta = start + _step(problem, used, _spreads(sigma), exact, start)
        sigma = np.sqrt(squares(problem, sums, beta) / left)
        # rows without a measured force fit best where all parameters vanish: judge them by ratio
        now = activity(problem, sums, beta)
        ratio = np.where(now > 0, first / np.where(now > 0, now, 1.0), 1.0)
        sigma = np.where(balance, np.maximum(sigma * ratio, MIN_BALANCE * loads), sigma)
        sigma = np.maximum(sigma, noise * loads)
        if gains.any():
            used = _without_noise(problem, sums, sigma, beta)
    spreads = _spreads(sigma)
    whole = _decomposed(problem, used, spreads, exact)
    beta = start + whole.step(start)
    s, V, seen, scale = whole.s, whole.V, whole.seen, whole.scale
    inverse = V[:, seen] / s[seen]
    covariance = inverse @ inverse.T
    # the weights are not those of the noise: a sandwich
    noisy = sigma * np.sqrt(np.ones(len(sigma)) if inflation is None else inflation)
    middle, _ = _weighted(problem, sums, spreads**2 / noisy)
    covariance = covariance @ (middle / np.outer(scale, scale)) @ covariance
    covariance = covariance / np.outer(scale, scale)
    unseen = V[:, ~seen]
    hidden = (np.abs(unseen) > 1e-4).any(axis=1) if unseen.size else np.zeros(len(beta), bool)
    errors = np.where(hidden, np.inf, np.sqrt(np.maximum(np.diag(covariance), 0.0)))
    A = s[:, None] * V.T * scale
    condition = float(s[0] / s[-1]) if len(s) and s[-1] > 0 else np.inf
    return Fit(beta, covariance, errors, sigma, condition, A, whole.b, unseen, scale)


def _spreads(sigma: Array) -> Array:
    """Return what the rows of each joint are divided by: between its noise and that of all joints.

    Residuals are noise in part; the rest is what no rigid body and no friction law describes.  Rows
    divided by their residual alone would let a large joint follow the friction of a small one.
    """
    found: Array = np.sqrt(sigma * np.exp(np.mean(np.log(np.maximum(sigma, 1e-300)))))
    return found


@dataclass(frozen=True, eq=False)
class _Whole:
    """The weighted problem |diag(s) V^T (scale beta) - b|, over parameters scaled to equal size."""

    s: Array
    V: Array
    b: Array
    seen: Array
    scale: Array

    def step(self, start: Array) -> Array:
        """Return how far the solution is from a start, along what the data show."""
        left = self.b - self.s * (self.V.T @ (self.scale * start))
        found: Array = self.V[:, self.seen] @ (left[self.seen] / self.s[self.seen]) / self.scale
        return found


def _step(problem: Problem, sums: Sums, sigma: Array, exact: bool, start: Array) -> Array:
    """Return a solution for the weights to come: hardly moved along what the data do not show."""
    if exact:
        return _decomposed(problem, sums, sigma, exact).step(start)
    total, goal = _weighted(problem, sums, sigma)
    scale = np.sqrt(np.diag(total))
    scale = np.where(scale > 0, scale, 1.0)
    left = (goal - total @ start) / scale
    total = total / np.outer(scale, scale)
    total.flat[:: len(start) + 1] += UNSEEN[False] ** 2
    found: Array = np.linalg.solve(total, left) / scale
    return found


def _weighted(problem: Problem, sums: Sums, sigma: Array) -> tuple[Array, Array]:
    """Return products of columns and target over all joints, each divided by its noise."""
    total, goal = np.zeros((problem.n, problem.n)), np.zeros(problem.n)
    for columns, G, s in zip(problem.rows, sums.G, sigma, strict=True):
        total[np.ix_(columns, columns)] += G[:-1, :-1] / s**2
        goal[columns] += G[:-1, -1] / s**2
    return total, goal


def _decomposed(problem: Problem, sums: Sums, sigma: Array, exact: bool) -> _Whole:
    if exact and sums.R is not None:
        A, b = _stacked(problem, sums.R, sigma)
        scale = np.linalg.norm(A, axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
        return _Whole(s, Vt.T, U.T @ b, s > UNSEEN[True] * s[0], scale)
    total, goal = _weighted(problem, sums, sigma)
    scale = np.sqrt(np.diag(total))
    scale = np.where(scale > 0, scale, 1.0)
    values, V = np.linalg.eigh(total / np.outer(scale, scale))
    s, V = np.sqrt(np.maximum(values[::-1], 0.0)), V[:, ::-1]
    seen = s > UNSEEN[False] * s[0]
    b = np.zeros(len(s))
    b[seen] = (V[:, seen].T @ (goal / scale)) / s[seen]
    return _Whole(np.where(seen, s, 0.0), V, b, seen, scale)


def _stacked(problem: Problem, R: tuple[Array, ...], sigma: Array) -> tuple[Array, Array]:
    """Return the rows of all joints, each divided by its noise: columns and target."""
    rows, targets = [], []
    for columns, factor, s in zip(problem.rows, R, sigma, strict=True):
        full = np.zeros((len(factor), problem.n))
        full[:, columns] = factor[:, :-1] / s
        rows.append(full)
        targets.append(factor[:, -1] / s)
    return np.concatenate(rows), np.concatenate(targets)


def _without_noise(problem: Problem, sums: Sums, sigma: Array, beta: Array) -> Sums:
    """Return sums in which currents, columns of unknown gains, lost the noise of their squares.

    Noise in a column makes its factor look smaller; what it adds to the square of the column is the
    residual's variance by the gain's square.
    """
    found = list(sums.G)
    for j, columns in enumerate(problem.rows):
        for place, c in enumerate(columns):
            if problem.base_unknowns[c].kind == "gain" and beta[c]:
                found[j] = G = sums.G[j].copy()
                noise = sums.counts[j] * (sigma[j] / beta[c]) ** 2
                G[place, place] -= min(noise, 0.5 * G[place, place])
    return Sums(tuple(found), sums.counts)


def _own(problem: Problem, j: int) -> float:
    """Return how many parameters a joint's rows account for: its share of each column."""
    share = np.zeros(problem.n)
    for columns in problem.rows:
        share[columns] += 1.0
    return float((1.0 / share[problem.rows[j]]).sum())


def squares(problem: Problem, sums: Sums, beta: Array) -> Array:
    """Return the sum of squared residuals of each joint, shape (nv,)."""
    found = []
    for j, columns in enumerate(problem.rows):
        x = np.append(beta[columns], -1.0)
        if sums.R is not None:
            found.append(float(np.sum((sums.R[j] @ x) ** 2)))
        else:
            found.append(max(float(x @ sums.G[j] @ x), 0.0))
    return np.array(found)


def residual_rms(problem: Problem, sums: Sums, beta: Array) -> Array:
    """Return the root mean square residual of each joint; NaN without samples."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(squares(problem, sums, beta) / sums.counts)


def activity(problem: Problem, sums: Sums, beta: Array) -> Array:
    """Return the root mean square of all parts of each row together, shape (nv,)."""
    found = []
    for columns, G, n in zip(problem.rows, sums.G, sums.counts, strict=True):
        moved = [c for c, k in enumerate(columns) if problem.base_unknowns[k].kind != "gain"]
        sizes = np.sqrt(np.maximum(np.diag(G)[moved], 0.0)) * beta[columns[moved]]
        found.append(np.linalg.norm(sizes) / np.sqrt(max(n, 1.0)))
    return np.array(found)


def balanced(problem: Problem, sums: Sums) -> Array:
    """Return which rows have no measured force: a floating base, joints with unknown gains."""
    light: Array = _targets(sums) < BALANCED * activity(problem, sums, problem.base @ problem.start)
    light[list(problem.model.coordinates.actuated)] = False
    return light | np.isnan(problem.choice.gains)


def load_rms(problem: Problem, sums: Sums) -> Array:
    """Return the root mean square force of each row: measured, or of the parts that balance.

    NaN without samples.
    """
    first = activity(problem, sums, problem.base @ problem.start)
    found = np.where(balanced(problem, sums), np.maximum(first, _targets(sums)), _targets(sums))
    return np.where(sums.counts > 0, found, np.nan)


def _targets(sums: Sums) -> Array:
    sizes = np.sqrt(np.maximum([G[-1, -1] for G in sums.G], 0.0))
    return sizes / np.sqrt(np.maximum(sums.counts, 1e-300))
