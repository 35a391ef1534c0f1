"""The delay between torques and motion, found by which one predicts held-out samples best.

A delay is named only if nothing else explains it: friction that is not modelled, or that builds up
after each reversal, shifts torques in time as well.  So each joint is fitted a second time with all
its inertias and a rich friction law, and the delay has to lower the held-out residuals there too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.data.log import Log
from sixfold.identification.data.signals import evened
from sixfold.identification.fit.columns import Choice, Problem
from sixfold.identification.fit.cross_validation import folds_of, held_out, products_of
from sixfold.identification.fit.friction import SPEEDS, presliding

MAX_SECONDS = 0.1
"""Longest delay that is looked for [s]."""
MAX_SHIFT = 200
"""The same in samples."""
SAMPLES = 20_000
"""Samples of the stretch that is looked at."""
USEFUL = 0.99
"""Held-out residual with a delay taken off, relative to without, below which that is of use."""
CLEAR = 0.97
"""The same where friction of any kind is fitted too, below which it is a delay and no friction."""

SHARP = 0.02
"""Relative rise of the squares on both sides of a minimum that is no noise."""
EDGE = 0.3
"""The same above which the delay is a whole number of samples."""
ALIKE = 0.2
"""Relative difference of two delays up to which they are the same."""


@dataclass(frozen=True)
class Lag:
    """A delay of torques."""

    seconds: float
    """By how much torques are late; negative if they are early."""
    ratio: float
    """Held-out residual with the delay taken off, relative to without."""


NO_LAG = Lag(0.0, 1.0)


def find_lag(
    problem: Problem, logs: tuple[Log, ...], dt: float, rich: Callable[[Choice], Problem]
) -> Lag:
    """Return by how much torques are late; no lag if friction explains the data as well.

    Args:
        problem: the columns.
        logs: stretches of a log.
        dt: the time between samples [s].
        rich: returns the columns of another choice of unknowns.
    """
    log = evened(max(logs, key=len), dt)
    # without a measured force, or with an unknown gain, a row has no torque to shift
    gains = np.array(problem.choice.gains)
    rows = [j for j in problem.choice.joints if not np.isnan(gains[j])]
    if not rows:
        return NO_LAG
    own = _Costs(problem, log, dt, rows)
    first = _search(own, dt)
    if first.ratio >= USEFUL or abs(first.seconds) < 0.5 * dt:
        return NO_LAG
    choice = replace(
        problem.choice,
        bodies=tuple(range(problem.model.nb)),
        viscous=True,
        dry="both",
        offsets=True,
        rotors=True,
        springs=True,
    )
    second = _search(_Costs(rich(choice), log, dt, rows, memory=True), dt)
    if second.ratio >= CLEAR or abs(second.seconds) < 0.5 * dt:
        return NO_LAG
    if abs(second.seconds - first.seconds) <= max(dt, ALIKE * abs(first.seconds)):
        return first
    # friction explains a part of it: the rest, if the problem itself gains by that
    ratio = own.ratio(round(second.seconds / dt))
    return Lag(second.seconds, ratio) if ratio < USEFUL else NO_LAG


class _Costs:
    """Held-out squares of joints by the number of samples that torques are shifted by."""

    def __init__(
        self, problem: Problem, log: Log, dt: float, rows: list[int], memory: bool = False
    ) -> None:
        """Make the columns of a stretch of the log, of friction that remembers reversals too."""
        n = min(len(log), SAMPLES)
        start = (len(log) - n) // 2
        part = slice(start, start + n)
        arrays = [x[part] for x in (log.q, log.v, log.a, log.tau, log.f_ext) if x is not None]
        flat = problem.evaluate(arrays)
        self.most = min(MAX_SHIFT, int(MAX_SECONDS / dt), n // 8)
        self._inner = slice(self.most, n - self.most)
        self._goals = [flat[:, problem.places[j].stop - 1] for j in rows]
        self._columns = [flat[self._inner, problem.places[j]][:, :-1] for j in rows]
        if problem.dry_places:
            more = _friction_columns(problem, arrays[0], arrays[1], rows, memory)
            pairs = zip(self._columns, more, strict=True)
            self._columns = [np.column_stack([a, b[self._inner]]) for a, b in pairs]
        self._folds = folds_of(n - 2 * self.most)
        self._found: dict[int, Array] = {}

    def __call__(self, shifts: list[int]) -> Array:
        """Return the mean logarithm of the joints' squares for each shift."""
        new = [s for s in shifts if s not in self._found]
        if new:
            each = []
            for columns, goal in zip(self._columns, self._goals, strict=True):
                ends = [(self.most + s, len(goal) - self.most + s) for s in new]
                X = np.column_stack([columns, *(goal[i:j] for i, j in ends)])
                k = columns.shape[1]
                each.append(held_out(products_of(X, self._folds), range(k), range(k, X.shape[1])))
            costs = np.log(np.maximum(each, 1e-300))
            self._found |= {s: costs[:, m] for m, s in enumerate(new)}
        return np.array([self._found[s].mean() for s in shifts])

    def ratio(self, shift: int) -> float:
        """Return the residual with the torques shifted, relative to without: of the mean joint."""
        there, here = self([shift, 0])
        return float(np.exp((there - here) / 2))


def _search(cost: _Costs, dt: float) -> Lag:
    """Return the shift with the least cost.

    Torques are shifted by whole samples; between samples the minimum is that of a parabola through
    the sums of squares, so that noise is not averaged by interpolation.
    """
    most = cost.most
    if most < 1:
        return NO_LAG
    best, step = 0, max(1, most // 8)
    while True:
        near = [s for s in range(best - 8 * step, best + 8 * step + 1, step) if abs(s) <= most]
        best = near[int(np.argmin(cost(near)))]
        if step == 1:
            break
        step = max(1, step // 8)
    shift = float(best)
    if abs(best) < most:
        # wide enough that noise does not make neighbours alike
        width, widest = 1, min(max(1, most // 10), most - abs(best))
        low, mid, high = cost([best - width, best, best + width])
        while min(low, high) - mid < SHARP and width < widest:
            width = min(2 * width, widest)
            low, mid, high = cost([best - width, best, best + width])
        bend = low - 2 * mid + high
        # a minimum as sharp as that of dry friction has no bottom to look for
        if bend > 0 and min(low, high) - mid < EDGE:
            shift += width * float(np.clip((low - high) / (2 * bend), -1.0, 1.0))
    return Lag(shift * dt, cost.ratio(best))


def _friction_columns(
    problem: Problem, q: Array, v: Array, rows: list[int], memory: bool
) -> list[Array]:
    """Return columns of friction laws of many shapes for each joint, with memory if wanted."""
    places = {j: i for i, j in problem.model.coordinates.additive}
    found = []
    for j in rows:
        usual = max(float(np.sqrt(np.mean(v[:, j] ** 2))), 1e-300)
        parts = [np.tanh(v[:, j, None] / (usual * SPEEDS[::4]))]
        if memory:
            parts.append(presliding(q[:, places[j]], v[:, j]))
        found.append(np.concatenate(parts, axis=1))
    return found
