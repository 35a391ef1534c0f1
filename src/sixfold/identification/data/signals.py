"""Velocities and accelerations from measured positions: a low-pass filter without delay.

The filter has the response of a Butterworth filter of fourth order that runs forward and backward,
1 / (1 + (f / f_c)^8), and no phase.  It is applied to the spectrum, where the derivative is a
factor too: exact for all that passes, while differences of neighbours lose 1.6 % at 5 Hz of samples
at 100 Hz.
"""

from __future__ import annotations

import itertools

import numpy as np

from sixfold.arrays import Array
from sixfold.evaluate import difference
from sixfold.identification.data.log import Log
from sixfold.model import Model

ORDER = 8
"""Power of the frequency in the response: twice the order of the Butterworth filter."""
PADDING = 4.0
"""How far each end is continued, in periods of the cut-off frequency."""
CUT = 2.0
"""How much is cut off each end, in periods of the cut-off frequency."""
MAX_JITTER = 0.02
"""Relative unevenness of times up to which samples count as even."""
MAX_GAP = 2.5
"""Times the usual step from which on the record has a hole."""


def low_pass(x: Array, dt: float, cutoff: float, derivatives: int = 0) -> list[Array]:
    """Return x (samples, n) without what is above the cut-off [Hz], and its derivatives."""
    n = len(x)
    pad = min(n - 1, int(np.ceil(PADDING / (cutoff * dt))))
    size = n + 2 * pad
    f = np.fft.rfftfreq(size, dt)
    response = 1.0 / (1.0 + (f / cutoff) ** ORDER)
    found = [np.empty(x.shape) for _ in range(derivatives + 1)]
    for k in range(x.shape[1]):  # one at a time, to keep memory small
        column = x[:, k]
        # odd reflections keep value and slope at the ends
        before = 2 * column[0] - column[pad:0:-1]
        after = 2 * column[-1] - column[-2 : -pad - 2 : -1]
        spectrum = np.fft.rfft(np.concatenate([before, column, after])) * response
        for out in found:
            out[:, k] = np.fft.irfft(spectrum, size)[pad : pad + n]
            spectrum = spectrum * (2j * np.pi * f)
    return found


def stretches(t: Array) -> tuple[list[slice], float]:
    """Return the parts of a record without holes, and the usual step."""
    steps = np.diff(t)
    usual = float(np.median(steps))
    breaks = np.flatnonzero((steps > MAX_GAP * usual) | (steps <= 0)) + 1
    edges = [0, *breaks.tolist(), len(t)]
    return [slice(i, j) for i, j in itertools.pairwise(edges)], usual


def complete(model: Model, log: Log, cutoff: float | None) -> list[Log]:
    """Return the parts of a log without holes, with velocities and accelerations.

    Args:
        model: the robot.
        log: what was measured, without NaN; with times if something is missing.
        cutoff: of the filter [Hz]; None leaves arrays that are there as they are.
    """
    t = log.times
    if cutoff is None and log.v is not None and log.a is not None:
        return [log] if t is None or len(t) < 2 else [_part(log, one) for one in stretches(t)[0]]
    assert t is not None
    assert cutoff is not None
    parts, dt = stretches(t)
    cut = int(np.ceil(CUT / (cutoff * dt)))
    found = []
    for part in parts:
        if part.stop - part.start > 2 * cut + 8:
            found.append(_completed(model, evened(_part(log, part), dt), dt, cutoff, cut))
    return found


def _part(log: Log, part: slice) -> Log:
    times = log.times
    arrays = (log.q, log.v, log.a, log.tau, times, log.f_ext)
    return Log(*(None if x is None else x[part] for x in arrays))  # type: ignore[arg-type]


def evened(log: Log, dt: float) -> Log:
    """Return a record at even times, by straight lines between samples if they are uneven."""
    t = log.times
    assert t is not None
    if np.abs(np.diff(t) - dt).max() <= MAX_JITTER * dt:
        return log
    even = t[0] + dt * np.arange(int(np.floor((t[-1] - t[0]) / dt + 1e-9)) + 1)

    def at(x: Array | None) -> Array | None:
        if x is None:
            return None
        flat = x.reshape(len(x), -1)
        rows = np.stack([np.interp(even, t, column) for column in flat.T], axis=-1)
        return rows.reshape(len(even), *x.shape[1:])

    return Log(at(log.q), at(log.v), at(log.a), at(log.tau), even, at(log.f_ext))  # type: ignore[arg-type]


def _completed(model: Model, log: Log, dt: float, cutoff: float, cut: int) -> Log:
    q, v, a = log.q, log.v, log.a
    if v is None:
        additive = np.array(model.coordinates.additive, int).reshape(-1, 2)
        q, v = q.copy(), np.empty((len(q), model.nv))
        made = np.empty_like(v)
        i, j = additive.T
        q[:, i], v[:, j], made[:, j] = low_pass(log.q[:, i], dt, cutoff, 2)
        turning = np.setdiff1d(np.arange(model.nv), j)
        if len(turning):
            # rotations have no sum: differences along the motion subspaces, then the filter
            raw = np.zeros((len(q), model.nv))
            raw[1:-1] = difference(model, log.q[:-2], log.q[2:]) / (2 * dt)
            raw[[0, -1]] = raw[[1, -2]]
            v[:, turning], made[:, turning] = low_pass(raw[:, turning], dt, cutoff, 1)
        a = made if a is None else low_pass(a, dt, cutoff)[0]
    elif a is None:
        v, a = low_pass(v, dt, cutoff, 1)
    else:
        (v,), (a,) = low_pass(v, dt, cutoff), low_pass(a, dt, cutoff)
    inner = slice(cut, len(q) - cut)
    times = log.times
    arrays = (q, v, a, log.tau, times, log.f_ext)
    return Log(*(None if x is None else x[inner] for x in arrays))  # type: ignore[arg-type]
