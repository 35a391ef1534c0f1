"""How well a motion would show each parameter, before anything is measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import OptionError
from sixfold.evaluate import gravity_force as weight
from sixfold.evaluate import random_state
from sixfold.identification.fit.columns import Problem
from sixfold.identification.fit.least_squares import Sums, accumulate
from sixfold.identification.fit.options import numbers
from sixfold.identification.fit.solve import Fit
from sixfold.identification.identification import Estimate
from sixfold.identification.results import estimates
from sixfold.model import Model

SHARE = 0.01
"""Noise of a joint's torque relative to its limit, where it is not given."""


def noise_of(where: str, model: Model, noise: Any) -> Array:
    """Return the standard deviation of each joint's measured force, shape (nv,)."""
    if noise is None:
        limits = model.effort_limit
        states = random_state(model, 64, seed=5)[0]
        heavy = np.abs(weight(model, states)).max(axis=0)
        usual = max(float(heavy.max(initial=0.0)), 1e-3)
        sizes = np.where(np.isfinite(limits) & (limits > 0), limits, np.maximum(heavy, 0.1 * usual))
        return SHARE * sizes
    found: Array = numbers(where, "noise", noise, model.nv)
    if not (found > 0).all() or not np.isfinite(found).all():
        raise OptionError(where, "noise", f"{model.nv} numbers > 0, or one", noise)
    return found


def expected_errors(problem: Problem, trajectory: Any, noise: Array) -> tuple[Estimate, ...]:
    """Return each base parameter with the standard error that a motion would leave.

    Args:
        problem: the columns.
        trajectory: a motion with q, v, a and tau.
        noise: standard deviation of each joint's measured force, shape (nv,).
    """
    chunk = (trajectory.q, trajectory.v, trajectory.a, trajectory.tau)
    sums, _ = accumulate(problem, [chunk], hold_out=False)
    fit = expected_fit(problem, sums, noise)
    return estimates(problem, sums, fit, fit.beta)


def expected_fit(problem: Problem, sums: Sums, noise: Array) -> Fit:
    """Return the fit of the loaded model's own forces with this noise."""
    G = np.zeros((problem.n, problem.n))
    for j, columns in enumerate(problem.rows):
        G[np.ix_(columns, columns)] += sums.G[j][:-1, :-1] / noise[j] ** 2
    scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
    values, vectors = np.linalg.eigh(G / np.outer(scale, scale))
    seen = values > 1e-13 * values[-1]
    half = vectors[:, seen] / np.sqrt(values[seen])
    covariance = half @ half.T / np.outer(scale, scale)
    unseen = vectors[:, ~seen]
    hidden = (np.abs(unseen) > 1e-4).any(axis=1) if unseen.size else np.zeros(problem.n, bool)
    errors = np.where(hidden, np.inf, np.sqrt(np.diag(covariance)))
    condition = float(np.sqrt(values[-1] / max(values[0], 1e-300)))
    beta = problem.base @ problem.start
    return Fit(beta, covariance, errors, noise, condition, G, G @ beta, unseen, scale)
