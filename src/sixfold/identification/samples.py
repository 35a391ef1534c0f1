"""From a log to samples with velocities and accelerations: filtering, checks, sources.

Velocities and accelerations come from measured positions by a low-pass filter without delay.  It
has the response of a Butterworth filter of fourth order that runs forward and backward,
1 / (1 + (f / f_c)^8), and no phase.  It is applied to the spectrum, where the derivative is a
factor too: exact for all that passes, while differences of neighbours lose 1.6 % at 5 Hz of samples
at 100 Hz.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sixfold.arrays import Array
from sixfold.errors import ArgumentError, NotApplicableError, OptionError, ShapeError, StateError
from sixfold.identification.findings import DataFinding, join_names
from sixfold.identification.log import Chunk, Log, interpolate, map_arrays
from sixfold.model import Model, Revolute
from sixfold.quantities.configurations import difference
from sixfold.runtime import in_order
from sixfold.show import Severity
from sixfold.simulation.trajectory import Trajectory

# power of the frequency in the response: twice the order of the Butterworth filter
FILTER_ORDER = 8
PADDING = 4.0  # how far each end is continued, in periods of the cut-off frequency
CUT = 2.0  # how much is cut off each end, in periods of the cut-off frequency
MAX_JITTER = 0.02  # relative unevenness of times up to which samples count as even
MAX_GAP = 2.5  # times the usual step from which on the record has a hole


def low_pass(x: Array, dt: float, cutoff: float, derivatives: int = 0) -> list[Array]:
    """Return x (samples, n) without what is above the cut-off [Hz], and its derivatives."""
    n = len(x)
    # the Butterworth filter forward and backward: |H|^2 = 1 / (1 + (f / fc)^2n), without phase
    pad = min(n - 1, int(np.ceil(PADDING / (cutoff * dt))))
    size = n + 2 * pad
    f = np.fft.rfftfreq(size, dt)
    response = 1.0 / (1.0 + (f / cutoff) ** FILTER_ORDER)
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


def continuous_parts(t: Array) -> tuple[list[slice], float]:
    """Return the parts of a record without holes, and the usual step."""
    steps = np.diff(t)
    usual = float(np.median(steps))
    breaks = np.flatnonzero((steps > MAX_GAP * usual) | (steps <= 0)) + 1
    edges = [0, *breaks.tolist(), len(t)]
    return [slice(i, j) for i, j in pairwise(edges)], usual


def with_derivatives(model: Model, log: Log, cutoff: float | None) -> list[Log]:
    """Return the parts of a log without holes, with velocities and accelerations."""
    t = log.times
    if cutoff is None and log.v is not None and log.a is not None:
        if t is None or len(t) < 2:
            return [log]
        return [map_arrays(log, itemgetter(part)) for part in continuous_parts(t)[0]]
    assert t is not None
    assert cutoff is not None
    parts, dt = continuous_parts(t)
    # the filter's ends are guesses: cut them off
    cut = int(np.ceil(CUT / (cutoff * dt)))
    found = []
    for part in parts:
        if part.stop - part.start > 2 * cut + 8:
            whole = resample_evenly(map_arrays(log, itemgetter(part)), dt)
            found.append(_filter_and_differentiate(model, whole, dt, cutoff, cut))
    return found


def resample_evenly(log: Log, dt: float) -> Log:
    """Return a record at even times, by straight lines between samples if they are uneven."""
    t = log.times
    assert t is not None
    if np.abs(np.diff(t) - dt).max() <= MAX_JITTER * dt:
        return log
    count = int(np.floor((t[-1] - t[0]) / dt + 1e-9)) + 1
    return interpolate(log, t[0] + dt * np.arange(count))


def _filter_and_differentiate(model: Model, log: Log, dt: float, cutoff: float, cut: int) -> Log:
    q, v, a = log.q, log.v, log.a
    if v is None:
        additive = np.array(model.coordinates.additive, int).reshape(-1, 2)
        q, v = q.copy(), np.empty((len(q), model.nv))
        made = np.empty_like(v)
        # coordinates that add up: position, speed and acceleration from one spectrum
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
    return map_arrays(replace(log, q=q, v=v, a=a), itemgetter(slice(cut, len(q) - cut)))


WINDOW = 0.1  # time over which a rate is integrated and compared [s]
MIN_WINDOWS = 20  # windows that are needed for a judgement
# factors between a rate and its integral, either way, that cannot be noise, and that may be
WRONG, DOUBTFUL = 2.0, 1.15
UNRELATED = 0.7  # correlation below which a rate has nothing to do with its integral
# what a factor between velocities and positions means
UNITS = {
    np.pi / 180: "velocities seem to be in degrees/s, positions in radians",
    180 / np.pi: "positions seem to be in degrees, velocities in rad/s",
    1e-3: "times seem to be in milliseconds",
    1e-6: "times seem to be in microseconds",
    1e-9: "times seem to be in nanoseconds",
}


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
    # what x did in each window, and what its rate says that it did
    moved, expected = _windows(t, x, rate)
    if len(moved) < MIN_WINDOWS:
        return []
    sizes = np.sqrt((moved**2).mean(axis=0))
    shown = np.flatnonzero((sizes > 1e-4) & (np.abs(expected).max(axis=0) > 0))
    if not len(shown):
        return []
    moved, expected = moved[:, shown], expected[:, shown]
    names = [names[k] for k in shown]
    # ratio and correlation of both tell wrong units, order and signs
    ratio = np.sqrt((moved**2).sum(axis=0) / (expected**2).sum(axis=0))
    cross = moved.T @ expected
    cross /= np.outer(np.linalg.norm(moved, axis=0), np.linalg.norm(expected, axis=0))
    own = np.diagonal(cross)
    factor = float(np.median(ratio))
    apart = np.maximum(ratio, 1 / ratio)
    # all related, by one factor: a unit
    if (own > UNRELATED).all() and max(factor, 1 / factor) > WRONG:
        alike = (np.maximum(ratio / factor, factor / ratio) < DOUBTFUL).all()
        known = [text for size, text in units.items() if abs(factor / size - 1) < 0.1]
        what = known[0] if alike and known else f"{rates} and {integrals} do not belong together"
        what += f": {integrals} change by {factor:.3g} times the integral of {rates}"
        return [DataFinding("error", f"wrong-{letter}", what, {"factor": factor})]
    # single columns that do not belong: another order, a sign, a scale
    wrong = (own < UNRELATED) | (apart > WRONG)
    doubtful = ~wrong & (apart > DOUBTFUL)
    if not (wrong | doubtful).any():
        return []
    severity: Severity = "error" if wrong.any() else "warning"
    bad = np.flatnonzero(wrong if wrong.any() else doubtful)
    what = f"{rates} of {join_names([names[k] for k in bad])} do not belong to the {integrals}"
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
    parts, dt = continuous_parts(t)
    count = max(1, round(WINDOW / dt)) if WINDOW / dt < len(t) else 1
    count = min(count, max(1, len(t) // (2 * MIN_WINDOWS)))
    moved, expected = [], []
    for part in parts:
        steps = np.diff(t[part])[:, None]
        # the trapezoidal rule
        middle = (rate[part][1:] + rate[part][:-1]) / 2
        total = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(middle * steps, axis=0)])
        ends = slice(0, None, count)
        moved.append(np.diff(x[part][ends], axis=0))
        expected.append(np.diff(total[ends], axis=0))
    return np.concatenate(moved), np.concatenate(expected)


MIN_RANGE = 1e-3  # least motion of a joint [rad or m] that counts as one
MIN_SECONDS = 2.0  # least length of a record [s] that can show dynamics
# largest change of an angle between two samples [rad] for which full turns can be recognised
MAX_STEP = 1.0
SATURATED_SHARE = 2e-3  # share of samples at the very same extreme value that no moving joint has
SATURATED_RUN = 5  # samples one after the other at the extreme value


def clean(model: Model, log: Log, whole: bool) -> tuple[Log, list[DataFinding]]:
    """Return a log without samples that cannot be used, and what is wrong with it."""
    findings: list[DataFinding] = []
    good = np.ones(len(log), bool)

    def drop(bad: Array, code: str, what: str) -> None:
        if bad.any():
            good[bad] = False
            findings.append(DataFinding("warning", code, f"{what}; they are left out"))

    # one fault after the other; later ones look at the samples that are left
    bad = _not_finite(log)
    if bad.all():
        fix = "look for a column that is empty or not in numbers"
        raise StateError("identify", "finite samples", "none", fix)
    what = f"{bad.sum()} of {len(log)} samples are not numbers, the first is row {np.argmax(bad)}"
    drop(bad, "nan-rows", what)
    if log.times is not None:
        again = good & _repeated_times(log.times, good)
        what = f"{again.sum()} samples have the time of the one before, the first is row "
        drop(again, "repeated-times", f"{what}{np.argmax(again)}")
    stuck, names = _find_saturation(model, log, good)
    share = f"{stuck.mean():.1%} of samples"
    what = f"the torque of {join_names(names)} is at its extreme value in {share}"
    drop(stuck, "saturated", what)
    findings += _clock(log, good)
    if not good.all():
        log = map_arrays(log, itemgetter(good))
    if whole:
        findings += standing_still(model, log)
    log, wrapped = _remove_turns(model, log)
    return log, findings + wrapped + disagreements(model, log)


def _not_finite(log: Log) -> Array:
    bad = np.zeros(len(log), bool)
    for x in (log.q, log.v, log.a, log.tau, log.times, log.f_ext):
        if x is not None and not np.isfinite(np.sum(x)):
            bad |= ~np.isfinite(x.reshape(len(x), -1)).all(axis=1)
    return bad


def _repeated_times(times: Array, good: Array) -> Array:
    """Return which samples have the same time as the last good one before them."""
    found = np.zeros(len(times), bool)
    rows = np.flatnonzero(good)
    found[rows[1:]] = np.diff(times[rows]) == 0
    return found


def _remove_turns(model: Model, log: Log) -> tuple[Log, list[DataFinding]]:
    """Return a log whose angles do not jump by full turns, and a finding if they did."""
    q, names = log.q, []
    for i, j in model.coordinates.additive:
        joint = model.coordinates.v_joints[j].joint
        if not isinstance(joint, Revolute):
            continue
        # whole turns between neighbours
        turns = np.round(np.diff(q[:, i]) / (2 * np.pi))
        if not turns.any():
            continue
        # a turn between two samples, and neighbours that hardly move
        steps = np.diff(q[:, i]) - 2 * np.pi * turns
        if np.abs(steps).max() < MAX_STEP:
            q = q.copy() if q is log.q else q
            q[1:, i] -= 2 * np.pi * np.cumsum(turns)
            names.append(model.coordinates.q_names[i])
    if not names:
        return log, []
    what = f"positions of {join_names(names)} jump by full turns; the turns are taken off"
    return replace(log, q=q), [DataFinding("note", "wrapped", what)]


def _find_saturation(model: Model, log: Log, good: Array) -> tuple[Array, list[str]]:
    """Return samples at which a torque stands at its largest value, and of which joints."""
    assert log.tau is not None
    bad, names = np.zeros(len(log), bool), []
    for j, column in enumerate(log.tau.T):
        values = column[good]
        if not len(values) or np.ptp(values) == 0:
            continue
        extreme = np.zeros(len(log), bool)
        for edge in (values.max(), values.min()):
            # a sensor at its limit repeats the same number; a moving joint does not
            at = (column == edge) & good
            if at.sum() > SATURATED_SHARE * len(values) and _longest_run(at) >= SATURATED_RUN:
                extreme |= at
        if extreme.any():
            bad |= extreme
            names.append(model.coordinates.v_names[j])
    return bad, names


def _longest_run(at: Array) -> int:
    # starts and ends of runs alternate
    edges = np.flatnonzero(np.diff(np.concatenate([[0], at.astype(np.int8), [0]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _clock(log: Log, good: Array) -> list[DataFinding]:
    times = log.times
    if times is None or good.sum() < 3:
        return []
    # steps that are negative, or far longer than the usual one
    t = times[np.isfinite(times)]
    steps = np.diff(t)
    usual = float(np.median(steps[steps != 0])) if steps.any() else 0.0
    back, gaps = steps < 0, steps > MAX_GAP * max(usual, 0.0)
    if not (back.any() or gaps.any()):
        return []
    first = int(np.argmax(back | gaps))
    words = []
    if back.any():
        words.append(f"goes back {back.sum()} times")
    if gaps.any():
        words.append(f"jumps forward {gaps.sum()} times, by up to {steps.max():.3g} s")
    what = f"the clock {' and '.join(words)}, first after row {first} (t = {t[first]:.6g} s)"
    return [DataFinding("warning", "clock-jump", what, {"row": first, "usual_step": usual})]


def standing_still(model: Model, log: Log) -> list[DataFinding]:
    """Return what a log does not contain: motion of all joints, torques, time."""
    found = []
    assert log.tau is not None
    at = [i for i, _ in model.coordinates.additive]
    names = model.coordinates.q_names
    q = log.q
    still = [names[i] for i in at if np.ptp(q[:, i]) < MIN_RANGE]
    if still:
        what = f"{join_names(still)} did not move: what these joints alone would show stays unknown"
        found.append(DataFinding("warning", "constant-joint", what))
    motors = model.coordinates.actuated_indices
    tau = log.tau
    dead = [model.coordinates.v_names[j] for j in motors if np.ptp(tau[:, j]) == 0]
    if dead and len(tau) > 1:
        value = tau[0, model.coordinates.v_names.index(dead[0])]
        what = f"the torque of {join_names(dead)} is {value:g} in every sample"
        found.append(DataFinding("warning", "no-torque", what))
    times = log.times
    if times is not None and len(times) > 1:
        seconds = float(np.nanmax(times) - np.nanmin(times))
        if seconds < MIN_SECONDS:
            what = f"the log is {seconds:.3g} s long, too short to show the dynamics of a robot"
            found.append(DataFinding("warning", "too-short", what, {"seconds": seconds}))
    return found


ROWS = 65_536  # samples that are read at a time from arrays that are not in memory
CUTOFF = 10.0  # cut-off frequency of the filter [Hz] where velocities or accelerations are made


# positions, a record, the path of a file, or an iterable of chunks
LogInput = ArrayLike | Log | Trajectory | str | os.PathLike[str] | Iterable[Any]


@dataclass(frozen=True, eq=False)
class Source:
    """Samples with velocities and accelerations, in pieces."""

    chunks: Callable[[], Iterator[Chunk]]
    again: bool  # whether they can be read twice
    forces: bool  # whether external forces were measured
    total: int | None  # number of samples, if it is known before
    dt: float | None  # time between samples [s], if known
    findings: list[DataFinding] = field(default_factory=list)
    filtered: float | None = None  # cut-off frequency [Hz] of the filter that was used
    logs: tuple[Log, ...] = ()  # the stretches of a log in memory

    def shift_motion(self, lag: float) -> Source:
        """Return the samples with joint forces that were recorded so much late [s]."""
        if not self.logs or self.dt is None:
            where = "samples that come in chunks or without times"
            raise NotApplicableError("identify: option 'lag'", where, "pass a log with times t=")
        logs = tuple(_shift_motion(log, lag) for log in self.logs)
        return replace(self, logs=logs, chunks=lambda: (_chunk(log) for log in logs))


def source_of(
    model: Model,
    given: Any,
    arrays: Mapping[str, Any],
    cutoff: float | None,
    columns: Any,
    usual: float | None = None,
) -> Source:
    """Return the samples that the arguments of `identify` stand for."""
    usual = CUTOFF if usual is None else usual
    # a log that holds everything, or arrays one by one
    separate = [name for name, x in arrays.items() if x is not None]
    is_path = isinstance(given, (str, os.PathLike))
    if columns is not None and not is_path:
        where, fix = "a log that is not a file", "leave it out"
        raise NotApplicableError("identify: option 'columns'", where, fix)
    if is_path or isinstance(given, (Log, Trajectory)) or _is_chunks(given):
        if separate:
            where = "a log that holds everything itself"
            raise NotApplicableError(f"identify: argument '{separate[0]}'", where, "leave it out")
        if is_path:
            return _in_memory(model, Log.read(given, model, columns=columns), cutoff, usual)
        if isinstance(given, Trajectory):
            return _in_memory(model, _of_trajectory(given), cutoff, usual)
        if isinstance(given, Log):
            return _in_memory(model, given, cutoff, usual)
        return _in_chunks(model, given, cutoff, usual)
    given = in_order("identify", "q", given, [model.coordinates.q_names])
    rates = model.coordinates.v_names
    names = {"v": rates, "a": rates, "tau": _force_names(model, arrays["tau"])}
    arrays = {
        name: in_order("identify", name, x, [names[name]]) if name in names else x
        for name, x in arrays.items()
    }
    # arrays that are read when sliced need no filter, so they can be read in parts
    whole = all(arrays[name] is not None for name in ("v", "a", "tau"))
    sliced = hasattr(given, "shape") and hasattr(given, "__getitem__")
    if whole and cutoff is None and sliced and not isinstance(given, np.ndarray):
        return _lazy(model, given, arrays)
    if given is None:
        fix = "pass q, v, a, tau, a Log, a Trajectory or the path of a file"
        raise ArgumentError("identify: argument 'log'", "measured positions", given, fix)
    return _in_memory(model, Log(q=given, **arrays), cutoff, usual)


def _force_names(model: Model, tau: Any) -> Sequence[str]:
    """Return the names of measured joint forces: of all joints, or of those with a motor."""
    coordinates = model.coordinates
    motors = [coordinates.v_names[k] for k in coordinates.actuated_indices]
    shape = getattr(tau, "shape", ())
    return motors if shape and shape[-1] == len(motors) else coordinates.v_names


def _is_chunks(given: Any) -> bool:
    """Return whether this is a sequence or an iterator of chunks, not an array."""
    if isinstance(given, (np.ndarray, Mapping)) or hasattr(given, "shape"):
        return False
    if isinstance(given, (list, tuple)):
        first = given[0] if given else None
        matrices = isinstance(first, tuple) and first and all(np.ndim(x) == 2 for x in first)
        return bool(isinstance(first, (Log, Mapping, Trajectory)) or matrices)
    return isinstance(given, Iterable)


def _of_trajectory(given: Trajectory) -> Log:
    if not given.lead:
        return Log(given.q, given.v, given.a, given.tau, given.t)
    # many starts one after the other: nothing is missing, so that their order does not matter
    rows = [x.reshape(-1, x.shape[-1]) for x in (given.q, given.v, given.a, given.tau)]
    return Log(*rows)


def _in_memory(
    model: Model, log: Log, cutoff: float | None, usual: float, whole: bool = True
) -> Source:
    if not len(log):
        raise StateError("identify", "samples to fit", "none", "give a log that is not empty")
    # what is wrong with the samples; then velocities and accelerations if they are missing
    log, findings = clean(model, match_model(model, log), whole)
    missing = [name for name in ("v", "a") if getattr(log, name) is None]
    if (missing or cutoff is not None) and log.times is None:
        words = " and ".join(missing) or "a filter"
        fix = "pass t=, the times of the samples or the time between two, or v and a"
        raise StateError("identify", f"times to make {words} with", "no times", fix)
    if missing and cutoff is None:
        cutoff = usual
    dt = None
    times = log.times
    if times is not None and len(times) > 1:
        dt = float(np.median(np.diff(times)))
        if not dt > 0:
            fix = "give times in seconds that grow, or the time between two samples"
            raise StateError("identify: argument 't'", "growing times", times[:3], fix)
    if cutoff is not None and dt is not None and not cutoff < 0.5 / dt:
        words = f"a frequency below {0.5 / dt:.4g} Hz, half that of the samples"
        if dt >= 0.5:
            fix = "divide t by 1e3 if it is in ms (1e6: us, 1e9: ns), or record faster"
            got = f"samples that are {dt:.4g} s apart"
            raise StateError("identify: argument 't'", "times in seconds", got, fix)
        raise OptionError("identify", "filter", words, cutoff)
    logs = tuple(with_derivatives(model, log, cutoff))
    if not sum(map(len, logs)):
        fix = "record longer, raise filter=, or pass v and a"
        got = f"{len(log)} samples, of which the filter's ends leave none"
        raise StateError("identify", "samples to fit", got, fix)

    def chunks() -> Iterator[Chunk]:
        return (_chunk(one) for one in logs)

    forces = log.f_ext is not None
    return Source(chunks, True, forces, sum(map(len, logs)), dt, findings, cutoff, logs)


def _in_chunks(model: Model, given: Iterable[Any], cutoff: float | None, usual: float) -> Source:
    """Return chunks of an iterable; each is a record of its own."""
    # an iterator is used up by one pass, a list or another iterable is not
    iterator = iter(given)
    again = iterator is not given
    try:
        first = next(iterator)
    except StopIteration:
        fix = "give at least one chunk"
        raise StateError("identify", "chunks of samples", "none", fix) from None
    one = _as_log(first)
    filtered = usual if cutoff is None and (one.v is None or one.a is None) else cutoff

    def logs() -> Iterator[Log]:
        return map(_as_log, given if again else chain([first], iterator))

    chunks, findings = _checked_chunks(model, logs, cutoff, usual)
    return Source(chunks, again, one.f_ext is not None, None, None, findings, filtered)


def _checked_chunks(
    model: Model, logs: Callable[[], Iterator[Log]], cutoff: float | None, usual: float
) -> tuple[Callable[[], Iterator[Chunk]], list[DataFinding]]:
    """Return the samples of logs that are read one by one, and a list that collects findings."""
    findings: list[DataFinding] = []

    def chunks() -> Iterator[Chunk]:
        for log in logs():
            one = _in_memory(model, log, cutoff, usual, whole=False)
            known = {finding.code for finding in findings}
            findings.extend(f for f in one.findings if f.code not in known)
            yield from one.chunks()

    return chunks, findings


def _as_log(item: Any) -> Log:
    if isinstance(item, Log):
        return item
    if isinstance(item, Trajectory):
        return _of_trajectory(item)
    words = "Log objects, mappings with q, v, a, tau, or tuples (q, v, a, tau)"
    if isinstance(item, Mapping):
        known = {one.name for one in fields(Log)}
        if "q" not in item or not item.keys() <= known:
            own = ", ".join(map(str, item))[:80]
            fix = f"name its arrays q, v, a, tau, t and f_ext; it has {own or 'none'}"
            raise ArgumentError("identify: a chunk", words, item, fix)
        return Log(**item)
    if isinstance(item, tuple) and len(item) == 4:
        return Log(*item)
    raise ArgumentError("identify: a chunk", words, item, "give each chunk in one of these forms")


def _lazy(model: Model, q: Any, arrays: Mapping[str, Any]) -> Source:
    """Return parts of arrays that are read when they are sliced: Dask, HDF5, Zarr."""
    total = int(q.shape[0])
    sizes = getattr(q, "chunks", None)
    steps = sizes[0] if isinstance(sizes, tuple) and isinstance(sizes[0], tuple) else None
    edges = np.cumsum([0, *steps]) if steps else np.arange(0, total + ROWS, ROWS).clip(max=total)
    names = [name for name in ("v", "a", "tau", "f_ext") if arrays[name] is not None]

    def logs() -> Iterator[Log]:
        for i, j in pairwise(edges):
            parts = {name: np.asarray(arrays[name][i:j], float) for name in names}
            yield Log(q=np.asarray(q[i:j], float), **parts)

    chunks, findings = _checked_chunks(model, logs, None, CUTOFF)
    return Source(chunks, True, arrays["f_ext"] is not None, total, None, findings)


def match_model(model: Model, log: Log) -> Log:
    """Return a log whose arrays fit the model: joint forces for all DOFs, unit quaternions."""
    if log.tau is None:
        fix = "pass tau=, measured joint forces or motor currents"
        raise ArgumentError("identify: argument 'tau'", "joint forces", None, fix)
    motors = list(model.coordinates.actuated_indices)
    tau = log.tau
    if tau.shape[1] == len(motors) < model.nv:
        # torques of the motors alone: coordinates without a motor have none
        full = np.zeros((len(log), model.nv))
        full[:, motors] = tau
        tau = full
    sizes = {"q": (log.q, model.nq, "nq"), "v": (log.v, model.nv, "nv")}
    sizes |= {"a": (log.a, model.nv, "nv"), "tau": (tau, model.nv, "nv")}
    for name, (array, size, words) in sizes.items():
        if array is not None and array.shape[1] != size:
            fix = f"give the columns {', '.join(model.coordinates.v_names[:8])}"
            expected = f"(samples, {words}) with {words} = {size}"
            raise ShapeError("identify", name, expected, array.shape, fix)
    if log.f_ext is not None and log.f_ext.shape[1:] != (model.nb, 6):
        expected = f"(samples, nb, 6) with nb = {model.nb}"
        fix = "give a wrench for each body"
        raise ShapeError("identify", "f_ext", expected, log.f_ext.shape, fix)
    q = log.q
    for name, part in model.coordinates.quaternions:
        # quaternions lose their unit length by rounding in the log; more is another kind of number
        size = np.linalg.norm(q[:, part], axis=1)
        if np.nanmax(np.abs(size - 1), initial=0.0) > 0.01:
            where = f"identify: quaternion of joint '{name}'"
            fix = "divide it by its length; its elements are (x, y, z, w), the scalar last"
            raise StateError(where, "unit quaternions", f"length {np.nanmax(size):.4g}", fix)
        q = q.copy() if q is log.q else q
        q[:, part] /= size[:, None]
    return Log(q, log.v, log.a, tau, log.t, log.f_ext)


def _chunk(log: Log) -> Chunk:
    arrays = (log.q, log.v, log.a, log.tau, log.f_ext)
    return tuple(x for x in arrays if x is not None)


def _shift_motion(log: Log, lag: float) -> Log:
    """Return a stretch in which the force recorded at t belongs to the motion at t - lag.

    The motion is smooth and may be interpolated; torques would lose some of their noise.
    """
    t, tau = log.times, log.tau
    assert t is not None
    assert tau is not None
    inside = (t - lag >= t[0]) & (t - lag <= t[-1])
    return replace(interpolate(log, t[inside] - lag), t=t[inside], tau=tau[inside])
