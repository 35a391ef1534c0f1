"""Inertias that real bodies can have: a smooth, unconstrained fit by log-Cholesky parameters.

The pseudo-inertia J = [[Sigma, h], [h^T, m]] of a body with positive density is positive definite
(Wensing, Kim and Slotine, RA-L 2018), J = U U^T with U upper triangular and a positive diagonal:

    U = e^alpha [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

(Rucker and Wensing, RA-L 2022).  What the data do not show stays near the loaded model by the
divergence tr(J J0^-1) - log det(J J0^-1) - 4 (Lee, Wensing and Park, T-RO 2020), whose first part
is a square in U and whose second is linear in alpha and d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.fit.columns import NOT_NEGATIVE, Problem
from sixfold.identification.fit.least_squares import gram
from sixfold.identification.fit.solve import Fit

STAGES = ((1e-6, 1e-2), (1e-4, 1e-2), (1e-2, 1e-3), (1.0, 1e-8))
"""Weights of the data, growing, so that the first steps go along wide valleys; and the relative
decrease of the cost at which each stage ends."""
ROUNDS = 60
"""Steps of a stage, at most."""
MIN_RADIUS = 2e-3
"""Least radius of gyration of a loaded body [m]; smaller ones are point masses."""
MIN_MASS = 1e-4
"""Least mass of a loaded body, relative to the whole robot."""
_UPPER = ((0, 1), (1, 2), (0, 2))
"""Places of s12, s23, s13."""


@dataclass(frozen=True, eq=False)
class Consistent:
    """A fit by inertias that real bodies can have."""

    p: Array
    """All unknowns, shape (unknowns,)."""
    beta: Array
    """Their base parameters."""
    excess: float
    """By how much the sum of squares, in units of noise, exceeds that of free parameters."""
    rounds: int
    z: Array
    """Where the descent ended: log-Cholesky parameters, then the joints' own numbers."""


def pseudo_inertia(pi: Array) -> Array:
    """Return J of ten parameters, shape (4, 4)."""
    m, hx, hy, hz, xx, yy, zz, xy, xz, yz = pi
    half = (xx + yy + zz) / 2
    return np.array(
        [
            [half - xx, -xy, -xz, hx],
            [-xy, half - yy, -yz, hy],
            [-xz, -yz, half - zz, hz],
            [hx, hy, hz, m],
        ]
    )


def parameters(J: Array) -> Array:
    """Return the ten parameters of pseudo-inertias, shape (..., 10); linear in J."""
    xx, yy, zz = J[..., 0, 0], J[..., 1, 1], J[..., 2, 2]
    products = -J[..., 0, 1], -J[..., 0, 2], -J[..., 1, 2]
    h = J[..., 0, 3], J[..., 1, 3], J[..., 2, 3]
    return np.stack([J[..., 3, 3], *h, yy + zz, zz + xx, xx + yy, *products], axis=-1)


def physical(pi: Array, total: float) -> Array:
    """Return the nearest pseudo-inertia that is safely positive: a real body, of a real size."""
    J = pseudo_inertia(pi)
    m = max(float(J[3, 3]), MIN_MASS * total, 1e-9)
    c = J[:3, 3] / J[3, 3] if J[3, 3] > 0 else np.zeros(3)
    values, axes = np.linalg.eigh(J[:3, :3] - J[3, 3] * np.outer(c, c))
    spread = (axes * np.maximum(values, m * MIN_RADIUS**2)) @ axes.T
    found = np.empty((4, 4))
    found[:3, :3] = spread + m * np.outer(c, c)
    found[:3, 3] = found[3, :3] = m * c
    found[3, 3] = m
    return found


def log_cholesky(J: Array) -> Array:
    """Return theta of a positive definite pseudo-inertia, shape (10,)."""
    # an upper triangular factor is a lower one of the reversed matrix
    U = np.linalg.cholesky(J[::-1, ::-1])[::-1, ::-1]
    alpha = np.log(U[3, 3])
    U = U / U[3, 3]
    d = np.log(np.diag(U)[:3])
    return np.array([alpha, *d, U[0, 1], U[1, 2], U[0, 2], *U[:3, 3]])


def factors(theta: Array) -> tuple[Array, Array]:
    """Return U of bodies, shape (n, 4, 4), and its derivatives by theta, shape (n, 10, 4, 4)."""
    n = len(theta)
    scale = np.exp(theta[:, 0])
    U = np.zeros((n, 4, 4))
    D = np.zeros((n, 10, 4, 4))
    U[:, 3, 3] = scale
    for k in range(3):
        U[:, k, k] = D[:, 1 + k, k, k] = scale * np.exp(theta[:, 1 + k])
        row, column = _UPPER[k]
        U[:, row, column] = scale * theta[:, 4 + k]
        U[:, k, 3] = scale * theta[:, 7 + k]
        D[:, 4 + k, row, column] = D[:, 7 + k, k, 3] = scale
    D[:, 0] = U
    return U, D


def fit_consistent(
    problem: Problem, fit: Fit, prior: float, near: Consistent | None = None
) -> Consistent:
    """Return unknowns that real bodies can have and that fit the data best.

    Args:
        problem: the columns.
        fit: what the data say.
        prior: weight of the divergence from the loaded model; 1 lets a body that the data do not
            show differ by about its own size.
        near: a fit to other samples of the same robot, to start from.
    """
    bodies = problem.choice.bodies
    nb = len(bodies)
    loaded = problem.start[: 10 * nb].reshape(nb, 10)
    total = float(np.abs(loaded[:, 0]).sum())
    J0 = [physical(pi, total) for pi in loaded]
    whitening = np.array([np.linalg.inv(np.linalg.cholesky(J)) for J in J0]).reshape(nb, 4, 4)
    theta0 = np.concatenate([log_cholesky(J) for J in J0]) if nb else np.zeros(0)
    rest = problem.unknowns[10 * nb :]
    x0 = _start(problem, fit)[10 * nb :]
    bounded = np.array([u.kind in NOT_NEGATIVE for u in rest], bool)
    spread = _spread(problem, fit, x0)

    count = 10 * nb + len(rest)
    own = np.arange(10 * nb).reshape(nb, 10)
    rows = np.arange(16 * nb).reshape(nb, 16)
    at = np.arange(len(rest))
    fixed = np.zeros((16 * nb + len(rest), 1 + count))
    fixed[16 * nb + at, 1 + 10 * nb + at] = np.sqrt(prior) / spread
    weight_of_prior = np.sqrt(2 * prior)

    def point(z: Array) -> tuple[Array, Array, Array]:
        """Return the unknowns, their derivatives, and the residuals of the prior with theirs."""
        U, D = factors(z[: 10 * nb].reshape(nb, 10))
        p = np.concatenate([parameters(U @ U.transpose(0, 2, 1)).ravel(), z[10 * nb :]])
        turned = D @ U[:, None].transpose(0, 1, 3, 2)
        dp = np.eye(count)
        slopes = parameters(turned + turned.transpose(0, 1, 3, 2))
        dp[own[:, :, None], own[:, None, :]] = slopes.transpose(0, 2, 1)
        squares = fixed.copy()
        squares[: 16 * nb, 0] = weight_of_prior * (whitening @ U).ravel()
        bent = weight_of_prior * (whitening[:, None] @ D).reshape(nb, 10, 16)
        squares[rows[:, :, None], 1 + own[:, None, :]] = bent.transpose(0, 2, 1)
        squares[16 * nb :, 0] = np.sqrt(prior) * (z[10 * nb :] - x0) / spread
        return p, dp, squares

    linear = np.zeros(count)
    for k in range(nb):
        linear[10 * k : 10 * k + 4] = np.array([-8.0, -2.0, -2.0, -2.0]) * prior
    z, rounds = np.concatenate([theta0, np.where(bounded, np.maximum(x0, 0.0), x0)]), 0
    free = np.concatenate([np.zeros(10 * nb, bool), bounded])
    if near is not None:
        z = near.z
    for weight, settled in STAGES if near is None else STAGES[-1:]:
        A = np.sqrt(weight) * fit.A @ problem.base
        b = np.sqrt(weight) * fit.b
        z, used = _descend(z, A, b, point, linear, free, settled)
        rounds += used
    p = point(z)[0]
    beta = problem.base @ p
    excess = float(np.sum((fit.A @ beta - fit.b) ** 2) - np.sum((fit.A @ fit.beta - fit.b) ** 2))
    return Consistent(p, beta, max(excess, 0.0), rounds, z)


def _start(problem: Problem, fit: Fit) -> Array:
    """Return where the unknowns start: as loaded, but gains, which no model has, as fitted."""
    found = problem.start.copy()
    for c, k in enumerate(problem.keep):
        if problem.unknowns[k].kind == "gain":
            found[k] = fit.beta[c]
    return found


def _spread(problem: Problem, fit: Fit, x0: Array) -> Array:
    """Return how far friction, offsets and rotors may be from the loaded model: their own size."""
    first = 10 * len(problem.choice.bodies)
    kept = {int(k): c for c, k in enumerate(problem.keep)}
    target = float(np.linalg.norm(fit.b)) or 1.0
    found = []
    for k, value in enumerate(x0, first):
        size = target / fit.scale[kept[k]] if k in kept else 1e-3
        found.append(max(abs(float(value)), size))
    return np.array(found)


Point = Callable[[Array], tuple[Array, Array, Array]]


def _descend(
    z: Array, A: Array, b: Array, point: Point, linear: Array, bounded: Array, settled: float
) -> tuple[Array, int]:
    """Return where Gauss-Newton steps with damping (Levenberg-Marquardt) lead, and their number."""

    def cost(p: Array, squares: Array, z: Array) -> float:
        data = A @ p - b
        return float(data @ data + squares[:, 0] @ squares[:, 0]) / 2 + float(linear @ z)

    p, dp, squares = point(z)
    now, damping, rounds = cost(p, squares, z), 1e-3, 0
    while rounds < ROUNDS:
        rounds += 1
        J = np.concatenate([A @ dp, squares[:, 1:]])
        residual = np.concatenate([A @ p - b, squares[:, 0]])
        gradient = J.T @ residual + linear
        H = gram(J)
        diagonal = np.diag(H).copy()
        # what stands at its bound and would leave it stays there
        moves = ~(bounded & (z <= 0) & (gradient > 0))
        step = np.zeros_like(z)
        gained = 0.0
        for _ in range(12):
            damped = H.copy()
            damped.flat[:: len(z) + 1] += damping * (diagonal + 1e-12)
            step[moves] = np.linalg.solve(damped[np.ix_(moves, moves)], -gradient[moves])
            there = np.where(bounded, np.maximum(z + step, 0.0), z + np.clip(step, -2.0, 2.0))
            tried = point(there)
            after = cost(tried[0], tried[2], there)
            if np.isfinite(after) and after <= now:
                gained, now, z = now - after, after, there
                p, dp, squares = tried
                damping = max(damping / 10, 1e-12)
                break
            damping *= 10
        if gained <= settled * max(abs(now), 1.0):
            break
    return z, rounds
