"""Whether measured velocities and accelerations belong to the positions: units, order, signs."""

from __future__ import annotations

import numpy as np

from sixfold.arrays import Array
from sixfold.identification.data.log import Log
from sixfold.identification.data.signals import stretches
from sixfold.identification.findings import DataFinding, Severity, listed
from sixfold.model import Model

WINDOW = 0.1
"""Time over which a rate is integrated and compared [s]."""
MIN_WINDOWS = 20
"""Windows that are needed for a judgement."""
WRONG, DOUBTFUL = 2.0, 1.15
"""Factors between a rate and its integral, either way, that cannot be noise, and that may be."""
UNRELATED = 0.7
"""Correlation below which a rate has nothing to do with its integral."""
UNITS = {
    np.pi / 180: "velocities seem to be in degrees/s, positions in radians",
    180 / np.pi: "positions seem to be in degrees, velocities in rad/s",
    1e-3: "times seem to be in milliseconds",
    1e-6: "times seem to be in microseconds",
    1e-9: "times seem to be in nanoseconds",
}
"""What a factor between velocities and positions means."""


def disagreements(model: Model, log: Log) -> list[DataFinding]:
    """Return what is wrong with measured velocities and accelerations, as far as they tell.

    Over short windows the change of each position is compared with the integral of its velocity,
    and the change of each velocity with that of its acceleration.
    """
    t = log.times
    if t is None or log.v is None or len(t) < 3:
        return []
    i, j = np.array(model.coordinates.additive, int).reshape(-1, 2).T
    names = [model.coordinates.v_names[k] for k in j]
    found = _compare(t, log.q[:, i], log.v[:, j], names, ("velocities", "positions", "v"), UNITS)
    if log.a is not None and not found:
        words = ("accelerations", "velocities", "a")
        found = _compare(t, log.v[:, j], log.a[:, j], names, words, {})
    return found


def _compare(
    t: Array,
    x: Array,
    rate: Array,
    names: list[str],
    words: tuple[str, str, str],
    units: dict[float, str],
) -> list[DataFinding]:
    """Return a finding if integrals of the rates are not the changes of x."""
    rates, integrals, letter = words
    moved, expected = _windows(t, x, rate)
    if len(moved) < MIN_WINDOWS:
        return []
    sizes = np.sqrt((moved**2).mean(axis=0))
    shown = np.flatnonzero((sizes > 1e-4) & (np.abs(expected).max(axis=0) > 0))
    if not len(shown):
        return []
    moved, expected = moved[:, shown], expected[:, shown]
    names = [names[k] for k in shown]
    ratio = np.sqrt((moved**2).sum(axis=0) / (expected**2).sum(axis=0))
    cross = moved.T @ expected
    cross /= np.outer(np.linalg.norm(moved, axis=0), np.linalg.norm(expected, axis=0))
    own = np.diagonal(cross)
    factor = float(np.median(ratio))
    apart = np.maximum(ratio, 1 / ratio)
    if (own > UNRELATED).all() and max(factor, 1 / factor) > WRONG:
        alike = (np.maximum(ratio / factor, factor / ratio) < DOUBTFUL).all()
        known = [text for size, text in units.items() if abs(factor / size - 1) < 0.1]
        what = known[0] if alike and known else f"{rates} and {integrals} do not belong together"
        what += f": {integrals} change by {factor:.3g} times the integral of {rates}"
        return [DataFinding("error", f"wrong-{letter}", what, {"factor": factor})]
    wrong = (own < UNRELATED) | (apart > WRONG)
    doubtful = ~wrong & (apart > DOUBTFUL)
    if not (wrong | doubtful).any():
        return []
    severity: Severity = "error" if wrong.any() else "warning"
    bad = np.flatnonzero(wrong if wrong.any() else doubtful)
    what = f"{rates} of {listed([names[k] for k in bad])} do not belong to the {integrals}"
    k = int(bad[0])
    best = int(np.argmax(np.abs(cross[k])))
    if best != k and abs(cross[k, best]) > max(0.95, abs(own[k]) + 0.2):
        what += f": those of '{names[k]}' stand in the column of '{names[best]}'"
    elif own[k] < -UNRELATED:
        what += f": that of '{names[k]}' has the wrong sign"
    elif own[k] > UNRELATED:
        what += f": '{names[k]}' changes by {ratio[k]:.3g} times the integral"
    return [DataFinding(severity, f"wrong-{letter}", what)]


def _windows(t: Array, x: Array, rate: Array) -> tuple[Array, Array]:
    """Return changes of x, and of the integral of its rate, over windows of one stretch each."""
    parts, dt = stretches(t)
    count = max(1, round(WINDOW / dt)) if WINDOW / dt < len(t) else 1
    count = min(count, max(1, len(t) // (2 * MIN_WINDOWS)))
    moved, expected = [], []
    for part in parts:
        steps = np.diff(t[part])[:, None]
        middle = (rate[part][1:] + rate[part][:-1]) / 2
        total = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(middle * steps, axis=0)])
        ends = slice(0, None, count)
        moved.append(np.diff(x[part][ends], axis=0))
        expected.append(np.diff(total[ends], axis=0))
    return np.concatenate(moved), np.concatenate(expected)
