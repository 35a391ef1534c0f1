"""The loop over time: steps, samples, events, and progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import CallbackError, SimulationError
from sixfold.simulation.arguments import Grid
from sixfold.simulation.events import Watch
from sixfold.simulation.step import StepRunner

#: Called with the time reached and the time to reach [s].
Progress = Callable[[float, float], object]


#: Steps of one call of a kernel, between two checks of progress and of finite numbers.
BLOCK_STEPS = 8192

MAX_BLOCK_NUMBERS = 1 << 22  #: Largest number of values that one call of a kernel returns.

PROGRESS_STEPS = 256  #: Steps between two reports of progress when they are taken one by one.


@dataclass(frozen=True)
class Outcome:
    """The samples of a run and how it ended."""

    t: Array
    x: Array  #: States, shape (..., samples, size).
    seen: list[Any]  #: Joint forces and accelerations that were recorded during the run.
    steps: int
    #: Time and state of the first numbers that are not finite, and the state before.
    failure: tuple[float, Array, Array] | None = None
    #: The error that a callback raised, or that resets without end did.
    error: CallbackError | SimulationError | None = None


def run_steps(
    stepper: StepRunner, grid: Grid, x: Array, watch: Watch | None, progress: Progress | None
) -> Outcome:
    """Step through the grid and keep every sample.

    Args:
        stepper: how to advance.
        grid: the times.
        x: states at the start, shape (..., size).
        watch: the events to look for.
        progress: called now and then with the time reached and the duration.
    """
    # times of the samples; the last step may be shorter
    ends = np.minimum(np.arange(grid.samples) * grid.every, grid.steps)
    t = grid.t0 + ends * grid.dt
    if grid.steps:
        t[-1] = grid.time(grid.steps)
    samples = np.empty((*x.shape[:-1], grid.samples, x.shape[-1]))
    samples[..., 0, :] = x
    tell = _and_check(progress, stepper) if progress else (lambda *_: None)
    if watch:
        stepper.refuse_disturbance()
    if stepper.kernel is not None and watch is None:
        return _in_blocks(stepper, grid, Outcome(t, samples, [], grid.steps), tell)
    return _step_by_step(stepper, grid, Outcome(t, samples, [], grid.steps), watch, tell)


def _and_check(progress: Progress, stepper: StepRunner) -> Progress:
    def tell(reached: float, end: float) -> None:
        progress(reached, end)
        stepper.refuse_disturbance()

    return tell


def _in_blocks(stepper: StepRunner, grid: Grid, whole: Outcome, tell: Progress) -> Outcome:
    """Take many steps in each call of a kernel, with checks between calls."""
    x = whole.x[..., 0, :]
    # samples of one call: bounded by time between reports, and by memory
    rows = max(1, min(BLOCK_STEPS // grid.every, MAX_BLOCK_NUMBERS // max(1, x.size)))
    even = grid.steps - (grid.uneven > 0)
    full = even // grid.every
    for row in range(0, full, rows):
        count = min(rows, full - row)
        first, last = row * grid.every, (row + count) * grid.every
        if grid.every > BLOCK_STEPS:
            whole.x[..., row + 1, :] = _far(stepper, grid, x, first, last)
        else:
            times = grid.t0 + np.arange(first, last) * grid.dt
            whole.x[..., row + 1 : row + 1 + count, :] = stepper.many(times, x, grid.every)
        x = whole.x[..., row + count, :]
        if not np.isfinite(x).all():
            return _first_bad(stepper, grid, whole, row + count)
        tell(grid.time((row + count) * grid.every) - grid.t0, grid.duration)
    # the remaining steps are fewer than one sample takes
    x = _far(stepper, grid, x, full * grid.every, even)
    if grid.uneven:
        x = stepper.advance(grid.time(even), grid.uneven, x)
    whole.x[..., -1, :] = x
    if not np.isfinite(x).all():
        return _first_bad(stepper, grid, whole, grid.samples - 1)
    tell(grid.duration, grid.duration)
    return whole


def _far(stepper: StepRunner, grid: Grid, x: Array, first: int, last: int) -> Array:
    """Return the state after many steps, of which none in between is kept."""
    for k in range(first, last, BLOCK_STEPS):
        n = min(BLOCK_STEPS, last - k)
        x = stepper.many(grid.t0 + np.arange(k, k + n) * grid.dt, x, n)[..., -1, :]
        if not np.isfinite(x).all():
            break
    return x


def _step_by_step(
    stepper: StepRunner, grid: Grid, whole: Outcome, watch: Watch | None, tell: Progress
) -> Outcome:
    """Take one step at a time: for events, and for controllers that run as Python."""
    t, samples, seen = whole.t, whole.x, whole.seen
    look = stepper.observe_at if stepper.live else (lambda *_: None)
    x = samples[..., 0, :]
    seen.append(look(grid.t0, x))
    row = k = 0
    jumps = watch.jumps if watch else []
    jumped: list[Any] = []

    def cut(rows: int, steps: int, **end: Any) -> Outcome:
        jumped.extend(look(*jump) for jump in jumps[len(jumped) :])
        kept = Outcome(t[:rows], samples[..., :rows, :], seen, steps, **end)
        return _with_jumps(kept, jumps, jumped) if jumps else kept

    try:
        for row in range(1, grid.samples):
            for k in range((row - 1) * grid.every, min(row * grid.every, grid.steps)):
                h = grid.length(k)
                after = stepper.advance(grid.time(k), h, x)
                if not np.isfinite(after).all():
                    return cut(row, k, failure=(grid.time(k + 1), after, x))
                if watch:
                    end, after, stopped = watch.step(grid.time(k), h, x, after, stepper.advance)
                    stepper.refuse_disturbance()
                    jumped.extend(look(*jump) for jump in jumps[len(jumped) :])
                    if stopped:
                        seen.append(look(end, after))
                        t[row], samples[..., row, :] = end, after
                        return cut(row + 1, k + 1)
                    if not np.isfinite(after).all():
                        return cut(row, k, failure=(grid.time(k + 1), after, x))
                if k % PROGRESS_STEPS == 0:
                    tell(grid.time(k + 1) - grid.t0, grid.duration)
                x = after
            seen.append(look(grid.time(k + 1), x))
            samples[..., row, :] = x
    except (CallbackError, SimulationError) as error:
        return cut(row, k, error=error)
    tell(grid.duration, grid.duration)
    return cut(grid.samples, grid.steps)


def _with_jumps(outcome: Outcome, jumps: list[tuple[float, Array]], seen: list[Any]) -> Outcome:
    """Return the samples with both sides of each jump among them."""
    # both sides of a jump have the same time: the state before comes first
    times = np.array([t for t, _ in jumps])
    places = np.searchsorted(outcome.t, times, side="left")
    listed = list(outcome.seen)
    for place, each in zip(places[::-1], reversed(seen), strict=True):
        listed.insert(place, each)
    return replace(
        outcome,
        t=np.insert(outcome.t, places, times),
        x=np.insert(outcome.x, places, np.stack([x for _, x in jumps]), axis=-2),
        seen=listed,
    )


def _first_bad(stepper: StepRunner, grid: Grid, whole: Outcome, row: int) -> Outcome:
    """Return the samples that are finite, and the first step after them that is not."""
    good = 0
    while good + 1 <= row and np.isfinite(whole.x[..., good + 1, :]).all():
        good += 1
    # walk on from the last finite sample to the step that fails
    x = whole.x[..., good, :]
    for k in range(good * grid.every, grid.steps):
        after = stepper.advance(grid.time(k), grid.length(k), x)
        if not np.isfinite(after).all():
            break
        x = after
    else:
        after = whole.x[..., row, :]
    failure = (grid.time(k + 1), after, x)
    done = good * grid.every
    return Outcome(whole.t[: good + 1], whole.x[..., : good + 1, :], [], done, failure)
