"""The delay between torques and motion, found by which one leaves the least residual."""

from __future__ import annotations

import numpy as np

from sixfold.identification.data.log import Log
from sixfold.identification.fit.columns import Problem
from sixfold.identification.fit.least_squares import gram
from sixfold.identification.fit.probe import targets

MAX_SECONDS = 0.1
"""Longest delay that is looked for [s]."""
MAX_SHIFT = 200
"""The same in samples."""
SAMPLES = 5_000
"""Samples of the stretch that is looked at."""


def find_lag(problem: Problem, logs: tuple[Log, ...], dt: float) -> tuple[float, float]:
    """Return by how much torques are late [s], and the residual there relative to no delay.

    Torques are shifted by whole samples; between samples the minimum is that of a parabola through
    the sums of squares, so that noise is not averaged by interpolation.
    """
    log = max(logs, key=len)
    n = min(len(log), SAMPLES)
    start = (len(log) - n) // 2
    most = min(MAX_SHIFT, int(MAX_SECONDS / dt), n // 8)
    if most < 1:
        return 0.0, 1.0
    part = slice(start, start + n)
    arrays = [x[part] for x in (log.q, log.v, log.a, log.tau, log.f_ext) if x is not None]
    flat = problem.kernel(*arrays)
    goal = targets(problem, flat)
    found: dict[int, float] = {}

    def cost(shift: int) -> float:
        return found[shift]

    def look(shifts: list[int]) -> None:
        """Fit each joint by itself to its torques, shifted by several numbers of samples."""
        new = [s for s in shifts if s not in found]
        for s in new:
            found[s] = 0.0
        for j, place in enumerate(problem.places):
            columns = flat[most : n - most, place][:, :-1]
            goals = [goal[most + s : n - most + s, j] for s in new]
            G = gram(np.column_stack([columns, *goals]))
            k = columns.shape[1]
            sizes = np.sqrt(np.maximum(np.diag(G), 1e-300))
            G /= np.outer(sizes, sizes)
            inner = G[:k, :k] + 1e-12 * np.eye(k)
            fitted = np.linalg.solve(inner, G[:k, k:])
            for m, s in enumerate(new):
                share = 1.0 - float(G[:k, k + m] @ fitted[:, m])
                left = max(share, 1e-14) * float(sizes[k + m]) ** 2
                found[s] += float(np.log(max(left, 1e-300)))

    best, step = 0, max(1, most // 8)
    while True:
        near = [s for s in range(best - 8 * step, best + 8 * step + 1, step) if abs(s) <= most]
        look(near)
        best = min(near, key=cost)
        if step == 1:
            break
        step = max(1, step // 8)
    shift = float(best)
    if abs(best) < most:
        # over a few samples: noise makes neighbours alike
        width = min(max(1, most // 10), most - abs(best))
        look([best - width, best + width])
        low, mid, high = (
            np.exp(cost(s) / len(problem.rows)) for s in (best - width, best, best + width)
        )
        bend = low - 2 * mid + high
        if bend > 0:
            shift += width * float(np.clip((low - high) / (2 * bend), -1.0, 1.0))
    ratio = float(np.exp((cost(best) - cost(0)) / (2 * max(len(problem.rows), 1))))
    return shift * dt, ratio
