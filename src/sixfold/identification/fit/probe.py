"""Some stretches of a log that are kept: for plots, for judging residuals, for finding faults."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.data.log import Chunk
from sixfold.identification.fit.columns import Problem
from sixfold.identification.fit.least_squares import BLOCK, product

MAX_BLOCKS = 40
"""Blocks that are kept, at most: 20 s at 1 kHz as a whole."""
MAX_CORRELATION = 200
"""Samples over which residuals may be correlated."""
OUTLIER = 6.0
"""Robust standard deviations from which a residual is an outlier."""
OUTLIER_SHARE = 5e-4
"""Share of outliers from which on samples are weighed by their residuals."""
HUBER = 2.0
"""Standard deviations from which a residual counts linearly."""


class Keeper:
    """Keeps every block of a short log, every second of a longer one, every fourth..."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._blocks: list[tuple[int, Chunk]] = []
        self._every, self._number = 1, 0

    def __call__(self, seen: int, block: Chunk) -> None:
        """Look at the next block."""
        if self._number % self._every == 0:
            self._blocks.append((self._number, tuple(x.copy() for x in block)))
            if len(self._blocks) > MAX_BLOCKS:
                self._every *= 2
                self._blocks = [b for b in self._blocks if b[0] % self._every == 0]
        self._number += 1

    def probe(self) -> Probe:
        """Return what was kept."""
        arrays = zip(*(block for _, block in self._blocks), strict=True)
        rows = [number * BLOCK + np.arange(len(block[0])) for number, block in self._blocks]
        return Probe(tuple(np.concatenate(x) for x in arrays), np.concatenate(rows))


@dataclass(frozen=True, eq=False)
class Probe:
    """Samples of a log, with their numbers."""

    chunk: Chunk
    rows: Array
    """Number of each sample in the log."""

    def residuals(self, problem: Problem, beta: Array) -> tuple[Array, Array]:
        """Return targets and their residuals, each of shape (samples, nv)."""
        flat = problem.evaluate(self.chunk)
        return targets(problem, flat), residuals(problem, flat, beta)

    def runs(self) -> list[slice]:
        """Return the stretches in which samples follow each other."""
        breaks = np.flatnonzero(np.diff(self.rows) != 1) + 1
        edges = [0, *breaks.tolist(), len(self.rows)]
        return [slice(i, j) for i, j in itertools.pairwise(edges)]


def targets(problem: Problem, flat: Array) -> Array:
    """Return what the columns have to give, from the rows of the kernel."""
    return np.stack([flat[:, place.stop - 1] for place in problem.places], axis=-1)


def residuals(problem: Problem, flat: Array, beta: Array) -> Array:
    """Return target minus fit, from the rows of the kernel."""
    found = np.empty((len(flat), len(problem.rows)))
    for j, (columns, place) in enumerate(zip(problem.rows, problem.places, strict=True)):
        part = flat[:, place]
        found[:, j] = part[:, -1] - product(part[:, :-1], beta[columns])
    return found


def inflation(probe: Probe, left: Array) -> Array:
    """Return by how much correlation in time raises the variance of estimates, for each joint.

    1 + 2 (sum of autocorrelations), for columns that change slowly against the residuals; summed up
    to the first one that is not significant.
    """
    runs = [run for run in probe.runs() if run.stop - run.start > 32]
    if not runs:
        return np.ones(left.shape[1])
    most = min(MAX_CORRELATION, min(run.stop - run.start for run in runs) // 4)
    total = np.zeros((most + 1, left.shape[1]))
    count = 0
    for run in runs:
        r = left[run]
        n = len(r)
        spectrum = np.fft.rfft(r, 2 * n, axis=0)
        total += np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[: most + 1]
        count += n
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = np.where(total[0] > 0, total / total[0], 0.0)
    noise = 3.0 / np.sqrt(count)
    found = []
    for column in rho.T:
        quiet = np.flatnonzero(column[1:] < noise)
        end = int(quiet[0]) if len(quiet) else most
        found.append(1.0 + 2.0 * float(column[1 : 1 + end].sum()))
    return np.array(found)


def robust_sigma(left: Array) -> Array:
    """Return the standard deviation of residuals by their median, for each joint."""
    middle = np.median(left, axis=0)
    return 1.4826 * np.median(np.abs(left - middle), axis=0)


def at_rest(v: Array) -> Array:
    """Return where a joint hardly moves, so that the sign of dry friction is noise."""
    slow: Array = np.abs(v) < 0.02 * np.sqrt(np.mean(v**2, axis=0))
    return slow


def huber(problem: Problem, beta: Array, sigma: Array):  # type: ignore[no-untyped-def]
    """Return weights of samples: one near the fit, falling with the residual further out."""

    def weigh(flat: Array, _: Chunk) -> Array:
        size = np.abs(residuals(problem, flat, beta)) / sigma
        return HUBER / np.maximum(size, HUBER)

    return weigh
