"""Least squares judged by samples that took no part: one joint, many columns, a few folds.

The products of all columns are made once for each fold; a fit to the other folds and its residuals
on this one then follow from small matrices, for as many choices of columns and goals as wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.fit.least_squares import gram

FOLDS = 5
"""Parts of the samples, each of which is held out once."""
RIDGE = 1e-10
"""Weight that keeps columns apart which the samples do not, relative to their squares."""


def folds_of(count: int, stretches: int = 4) -> Array:
    """Return the fold of each sample: neighbours share one, and a fold has several stretches."""
    found: Array = np.arange(count) * FOLDS * stretches // max(count, 1) % FOLDS
    return found


def products_of(X: Array, folds: Array) -> Array:
    """Return X^T X of each fold, shape (FOLDS, columns, columns)."""
    return np.stack([gram(X[folds == f]) for f in range(FOLDS)])


def held_out(products: Array, columns: Sequence[int], goals: Sequence[int]) -> Array:
    """Return the sum of squared residuals on the held-out samples, for each goal.

    Args:
        products: as `products_of` returns them.
        columns: which columns are fitted.
        goals: which columns they are fitted to, one by one.
    """
    sizes = np.sqrt(np.maximum(np.diagonal(products.sum(axis=0)), 1e-300))
    scaled = products / np.outer(sizes, sizes)
    whole = scaled.sum(axis=0)
    inner, outer = np.ix_(columns, columns), np.ix_(columns, goals)
    total = np.zeros(len(goals))
    for G in scaled:
        rest = whole - G
        x = np.linalg.solve(rest[inner] + RIDGE * np.eye(len(columns)), rest[outer])
        total += np.diagonal(G)[goals] - 2 * (x * G[outer]).sum(axis=0)
        total += (x * (G[inner] @ x)).sum(axis=0)
    found: Array = np.maximum(total, 0.0) * sizes[goals] ** 2
    return found
