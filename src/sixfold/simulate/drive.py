"""The loop over time: steps, samples, events, and a clear stop when numbers run away."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.evaluate.arrays import Array
from sixfold.simulate.engine import Engine
from sixfold.simulate.events import Watch
from sixfold.simulate.progress import Progress

CHECKED = 64
"""Samples between two looks at progress and at numbers that are not finite."""


@dataclass(frozen=True)
class Grid:
    """The times of a simulation: whole steps, and a shorter last one if need be."""

    t0: float
    duration: float
    dt: float
    every: int

    @property
    def steps(self) -> int:
        """Number of steps, the shorter last one included."""
        ratio = self.duration / self.dt
        whole = round(ratio)
        near = abs(ratio - whole) <= 1e-9 * max(1.0, ratio)
        return whole if near else math.floor(ratio) + 1

    @property
    def samples(self) -> int:
        """Number of samples: the start, each `every` steps, and the end."""
        return 1 + -(-self.steps // self.every)

    def time(self, k: int) -> float:
        """Return the time after k steps."""
        return self.t0 + (self.duration if k == self.steps else k * self.dt)

    def length(self, k: int) -> float:
        """Return the length of step k, from 0."""
        if k == self.steps - 1:
            return self.duration - k * self.dt
        return self.dt


@dataclass(frozen=True)
class Outcome:
    """The samples of a run and how it ended."""

    t: Array
    x: Array
    """States, shape (samples, ..., size)."""
    seen: list[tuple[Array, Array]]
    """Joint forces and accelerations that were looked at on the way."""
    steps: int
    failure: tuple[float, Array, Array] | None = None
    """Time and state of the first numbers that are not finite, and the state before."""


def drive(
    engine: Engine,
    grid: Grid,
    x: Array,
    watch: Watch | None,
    progress: Progress | None,
    parts: Callable[[Array], tuple[Array, Array]],
) -> Outcome:
    """Run through the grid and keep every sample.

    Args:
        engine: how to advance.
        grid: the times.
        x: states at the start, shape (..., size).
        watch: the events to look for.
        progress: called now and then.
        parts: q and v of states.
    """
    t = np.empty(grid.samples)
    samples = np.empty((grid.samples, *x.shape))
    t[0], samples[0] = grid.t0, x
    seen: list[tuple[Array, Array]] = []

    def look(time: float, state: Array) -> None:
        if engine.live:
            seen.append(engine.observe(time, *parts(state)))

    def outcome(n: int, steps: int, failure: Any = None) -> Outcome:
        return Outcome(t[:n], samples[:n], seen[:n], steps, failure)

    look(grid.t0, x)
    advance, good, k = engine.advance, 0, 0
    careful = engine.live or watch is not None
    last = grid.steps - 1
    for row in range(1, grid.samples):
        for k in range((row - 1) * grid.every, min(row * grid.every, grid.steps)):
            h = grid.dt if k < last else grid.length(k)
            after = advance(grid.t0 + k * grid.dt, h, x)
            if careful:
                if not np.isfinite(after).all():
                    return outcome(row, k, (grid.time(k + 1), after, x))
                stopped = watch and watch.step(grid.time(k), h, x, after, advance)
                if stopped:
                    t[row], samples[row] = stopped
                    look(*stopped)
                    return outcome(row + 1, k + 1)
            x = after
        t[row], samples[row] = grid.time(k + 1), x
        look(t[row], x)
        if row % CHECKED == 0 or row == grid.samples - 1:
            if not np.isfinite(x).all():
                bad = _first_bad(engine, grid, samples, good, row)
                return outcome(bad[0] + 1, bad[0] * grid.every, bad[1])
            good = row
            if progress is not None:
                progress(float(t[row] - grid.t0), grid.duration)
    return outcome(grid.samples, grid.steps)


def _first_bad(
    engine: Engine, grid: Grid, samples: Array, good: int, row: int
) -> tuple[int, tuple[float, Array, Array]]:
    """Return the last sample that is finite, and the first step after it that is not."""
    while np.isfinite(samples[good + 1]).all() and good + 1 < row:
        good += 1
    x = samples[good]
    k = good * grid.every
    while True:
        after = engine.advance(grid.time(k), grid.length(k), x)
        k += 1
        if not np.isfinite(after).all() or k == grid.steps:
            return good, (grid.time(k), after, x)
        x = after
