"""Faults of a record that show without any model: gaps, jumps of the clock, stuck sensors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import StateError
from sixfold.identification.data.agreement import disagreements
from sixfold.identification.data.log import Log
from sixfold.identification.data.signals import MAX_GAP
from sixfold.identification.findings import DataFinding, listed
from sixfold.model import Model, Revolute

MIN_RANGE = 1e-3
"""Least motion of a joint [rad or m] that counts as one."""
MIN_SECONDS = 2.0
"""Least length of a record [s] that can show dynamics."""
MAX_STEP = 1.0
"""Largest change of an angle between two samples [rad] for which full turns can be recognised."""
SATURATED_SHARE = 2e-3
"""Share of samples at the very same extreme value that no moving joint has."""
SATURATED_RUN = 5
"""Samples one after the other at the extreme value."""


def cleaned(model: Model, log: Log, whole: bool) -> tuple[Log, list[DataFinding]]:
    """Return a log without samples that cannot be used, and what is wrong with it.

    Args:
        model: the robot.
        log: what was measured.
        whole: whether this is the whole log, which has to move all joints.
    """
    findings: list[DataFinding] = []
    good = np.ones(len(log), bool)
    bad = _not_finite(log)
    if bad.any():
        good &= ~bad
        first = int(np.argmax(bad))
        what = f"{bad.sum()} of {len(log)} samples are not numbers, the first is row {first}"
        findings.append(DataFinding("warning", "nan-rows", f"{what}; they are left out"))
        if bad.all():
            fix = "look at the log: no sample is whole"
            raise StateError("identify", "finite samples", "none", fix)
    times = log.times
    if times is not None:
        again = good & _repeated(times, good)
        if again.any():
            good &= ~again
            what = f"{again.sum()} samples have the time of the one before, the first is row "
            what += f"{int(np.argmax(again))}; they are left out"
            findings.append(DataFinding("warning", "repeated-times", what))
    stuck, names = _saturated(model, log, good)
    if stuck.any():
        good &= ~stuck
        share = stuck.mean()
        what = (
            f"the torque of {listed(names)} stands at its extreme value in {share:.1%} of samples"
        )
        findings.append(DataFinding("warning", "saturated", f"{what}; these are left out"))
    findings += _clock(log, good)
    if whole:
        findings += standing_still(model, _rows(log, good))
    if not good.all():
        log = _rows(log, good)
    log, wrapped = _unwrapped(model, log)
    return log, findings + wrapped + disagreements(model, log)


def _rows(log: Log, good: Array) -> Log:
    arrays = (log.q, log.v, log.a, log.tau, log.times, log.f_ext)
    return Log(*(None if x is None else x[good] for x in arrays))  # type: ignore[arg-type]


def _not_finite(log: Log) -> Array:
    bad = np.zeros(len(log), bool)
    for x in (log.q, log.v, log.a, log.tau, log.times, log.f_ext):
        if x is not None and not np.isfinite(np.sum(x)):
            bad |= ~np.isfinite(x.reshape(len(x), -1)).all(axis=1)
    return bad


def _repeated(times: Array, good: Array) -> Array:
    """Return which samples have the same time as the last good one before them."""
    found = np.zeros(len(times), bool)
    rows = np.flatnonzero(good)
    found[rows[1:]] = np.diff(times[rows]) == 0
    return found


def _unwrapped(model: Model, log: Log) -> tuple[Log, list[DataFinding]]:
    """Return a log whose angles do not jump by full turns, and a finding if they did."""
    q, names = log.q, []
    for i, j in model.coordinates.additive:
        joint = model.coordinates.v_joints[j].joint
        if not isinstance(joint, Revolute):
            continue
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
    what = f"positions of {listed(names)} jump by full turns; the turns are taken off"
    return replace(log, q=q), [DataFinding("note", "wrapped", what)]


def _saturated(model: Model, log: Log, good: Array) -> tuple[Array, list[str]]:
    """Return samples at which a torque stands at its largest value, and of which joints."""
    assert log.tau is not None
    bad, names = np.zeros(len(log), bool), []
    for j, column in enumerate(log.tau.T):
        values = column[good]
        if not len(values) or np.ptp(values) == 0:
            continue
        extreme = np.zeros(len(log), bool)
        for edge in (values.max(), values.min()):
            at = (column == edge) & good
            if at.sum() > SATURATED_SHARE * len(values) and _longest_run(at) >= SATURATED_RUN:
                extreme |= at
        if extreme.any():
            bad |= extreme
            names.append(model.coordinates.v_names[j])
    return bad, names


def _longest_run(at: Array) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], at.astype(np.int8), [0]])))
    return int((edges[1::2] - edges[::2]).max(initial=0))


def _clock(log: Log, good: Array) -> list[DataFinding]:
    times = log.times
    if times is None or good.sum() < 3:
        return []
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
        what = f"{listed(still)} did not move: what these joints alone would show stays unknown"
        found.append(DataFinding("warning", "constant-joint", what))
    motors = model.coordinates.actuated
    tau = log.tau
    dead = [model.coordinates.v_names[j] for j in motors if np.ptp(tau[:, j]) == 0]
    if dead and len(tau) > 1:
        value = tau[0, model.coordinates.v_names.index(dead[0])]
        what = f"the torque of {listed(dead)} is {value:g} in every sample"
        found.append(DataFinding("warning", "no-torque", what))
    times = log.times
    if times is not None and len(times) > 1:
        seconds = float(np.nanmax(times) - np.nanmin(times))
        if seconds < MIN_SECONDS:
            what = f"the log is {seconds:.3g} s long, too short to show the dynamics of a robot"
            found.append(DataFinding("warning", "too-short", what, {"seconds": seconds}))
    return found
