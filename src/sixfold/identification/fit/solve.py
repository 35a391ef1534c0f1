"""Base parameters from sums over samples: weighted least squares and standard errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.fit.columns import Problem
from sixfold.identification.fit.least_squares import Sums, root

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
        A, b = stacked(problem, used, sigma)
        beta, parts = _solution(A, b, start, UNSEEN[exact])
        sigma = np.sqrt(squares(problem, sums, beta) / left)
        # rows without a measured force fit best where all parameters vanish: judge them by ratio
        now = activity(problem, sums, beta)
        ratio = np.where(now > 0, first / np.where(now > 0, now, 1.0), 1.0)
        sigma = np.where(balance, np.maximum(sigma * ratio, MIN_BALANCE * loads), sigma)
        sigma = np.maximum(sigma, noise * loads)
        if gains.any():
            used = _without_noise(problem, sums, sigma, beta)
    s, V, seen, scale = parts
    inverse = V[:, seen] / s[seen]
    covariance = inverse @ inverse.T
    if inflation is not None:
        middle = sum(
            factor * _products(problem, sums, j, sigma[j]) for j, factor in enumerate(inflation)
        )
        covariance = covariance @ (middle / np.outer(scale, scale)) @ covariance
    covariance = covariance / np.outer(scale, scale)
    unseen = V[:, ~seen]
    hidden = (np.abs(unseen) > 1e-4).any(axis=1) if unseen.size else np.zeros(len(beta), bool)
    errors = np.where(hidden, np.inf, np.sqrt(np.maximum(np.diag(covariance), 0.0)))
    A, b = stacked(problem, used, sigma)
    Q, R = np.linalg.qr(A)
    condition = float(s[0] / s[-1]) if len(s) and s[-1] > 0 else np.inf
    return Fit(beta, covariance, errors, sigma, condition, R, Q.T @ b, unseen, scale)


def _without_noise(problem: Problem, sums: Sums, sigma: Array, beta: Array) -> Sums:
    """Return sums in which currents, columns of unknown gains, lost the noise of their squares.

    Noise in a column makes its factor look smaller; what it adds to the square of the column is the
    residual's variance by the gain's square.
    """
    factors = list(sums.R)
    for j, columns in enumerate(problem.rows):
        for place, c in enumerate(columns):
            if problem.base_unknowns[c].kind == "gain" and beta[c]:
                G = sums.gram(j)
                G[place, place] -= min(
                    sums.counts[j] * (sigma[j] / beta[c]) ** 2, 0.5 * G[place, place]
                )
                factors[j] = root(G)
    return Sums(tuple(factors), sums.counts)


def _own(problem: Problem, j: int) -> float:
    """Return how many parameters a joint's rows account for: its share of each column."""
    share = np.zeros(problem.n)
    for columns in problem.rows:
        share[columns] += 1.0
    return float((1.0 / share[problem.rows[j]]).sum())


def stacked(problem: Problem, sums: Sums, sigma: Array) -> tuple[Array, Array]:
    """Return the rows of all joints, each divided by its noise: columns and target."""
    rows, targets = [], []
    for columns, R, s in zip(problem.rows, sums.R, sigma, strict=True):
        full = np.zeros((len(R), problem.n))
        full[:, columns] = R[:, :-1] / s
        rows.append(full)
        targets.append(R[:, -1] / s)
    return np.concatenate(rows), np.concatenate(targets)


def _products(problem: Problem, sums: Sums, j: int, sigma: float) -> Array:
    full = np.zeros((problem.n, problem.n))
    columns = problem.rows[j]
    full[np.ix_(columns, columns)] = sums.gram(j)[:-1, :-1] / sigma**2
    return full


def _solution(
    A: Array, b: Array, start: Array, threshold: float
) -> tuple[Array, tuple[Array, Array, Array, Array]]:
    scale = np.linalg.norm(A, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    if not A.shape[1]:
        none = np.zeros(0)
        return none, (none, np.zeros((0, 0)), np.zeros(0, bool), scale)
    U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
    seen = s > threshold * s[0]
    step = Vt[seen].T @ ((U[:, seen].T @ (b - A @ start)) / s[seen])
    return start + step / scale, (s, Vt.T, seen, scale)


def squares(problem: Problem, sums: Sums, beta: Array) -> Array:
    """Return the sum of squared residuals of each joint, shape (nv,)."""
    return np.array(
        [
            float(np.sum((R[:, :-1] @ beta[columns] - R[:, -1]) ** 2))
            for columns, R in zip(problem.rows, sums.R, strict=True)
        ]
    )


def residual_rms(problem: Problem, sums: Sums, beta: Array) -> Array:
    """Return the root mean square residual of each joint; NaN without samples."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(squares(problem, sums, beta) / sums.counts)


def activity(problem: Problem, sums: Sums, beta: Array) -> Array:
    """Return the root mean square of all parts of each row together, shape (nv,)."""
    found = []
    for columns, R, n in zip(problem.rows, sums.R, sums.counts, strict=True):
        moved = [c for c, k in enumerate(columns) if problem.base_unknowns[k].kind != "gain"]
        sizes = np.linalg.norm(R[:, moved], axis=0) * beta[columns[moved]]
        found.append(np.linalg.norm(sizes) / np.sqrt(max(n, 1.0)))
    return np.array(found)


def balanced(problem: Problem, sums: Sums) -> Array:
    """Return which rows have no measured force: a floating base, joints with unknown gains."""
    found: Array = _targets(sums) < BALANCED * activity(problem, sums, problem.base @ problem.start)
    return found | np.isnan(problem.choice.gains)


def load_rms(problem: Problem, sums: Sums) -> Array:
    """Return the root mean square force of each row: measured, or of the parts that balance.

    NaN without samples.
    """
    first = activity(problem, sums, problem.base @ problem.start)
    found = np.where(balanced(problem, sums), np.maximum(first, _targets(sums)), _targets(sums))
    return np.where(sums.counts > 0, found, np.nan)


def _targets(sums: Sums) -> Array:
    sizes = np.array([np.linalg.norm(R[:, -1]) for R in sums.R])
    return sizes / np.sqrt(np.maximum(sums.counts, 1e-300))
