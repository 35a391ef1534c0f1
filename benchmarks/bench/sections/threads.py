"""What more threads give on batches that are long enough to share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.bench.clock import interleaved, multiply_adds, seconds
from benchmarks.bench.engines.engines import FUNCTIONS, States
from benchmarks.bench.robots import Robot
from sixfold.arrays import Array
from sixfold.compiler.llvm import result_memory
from sixfold.runtime import cuts, get_threads, set_threads, share, spread

ENOUGH = 0.010
"""Seconds that the batch takes on one thread, at least."""
SAFELY = 1.3
"""So much longer, so that the best round is still long enough."""
STEP = 8192
"""Rows by which a batch grows, at least."""
MAX_ROWS = 1 << 22


@dataclass(frozen=True)
class Threads:
    """Seconds of one batch by number of threads, every round."""

    robot: str
    function: str
    rows: int
    rounds_s: dict[int, tuple[float, ...]]
    moving_s: dict[int, tuple[float, ...]]
    """The same for reading the arguments and writing as many bytes as the result, no more."""
    working_s: dict[int, tuple[float, ...]]
    """The same for arithmetic that hardly needs memory: what the cores have to give."""

    @property
    def moving(self) -> float:
        """Seconds on one thread for moving the bytes."""
        return min(self.moving_s[1])

    def moving_speedup(self, count: int) -> float:
        """Return how many times faster the bytes alone move than with one thread."""
        return _gain(self.moving_s, count)

    def working_speedup(self, count: int) -> float:
        """Return how many times faster arithmetic alone is than with one thread."""
        return _gain(self.working_s, count)

    def best(self, count: int) -> float:
        """Return the best round."""
        return min(self.rounds_s[count])

    def speedup(self, count: int) -> float:
        """Return how many times faster than one thread."""
        return _gain(self.rounds_s, count)


def _gain(rounds: dict[int, tuple[float, ...]], count: int) -> float:
    """Return how many times faster some threads are than one, by the median of the rounds.

    The best round of two threads needs two cores that nothing disturbs at the same time; the median
    compares like with like.
    """
    return float(np.median(np.divide(rounds[1], rounds[count])))


def counts() -> list[int]:
    """Return 1, 2, 4... up to the cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [1 << k for k in range((cores or 1).bit_length())]


def measure(robot: Robot, function: str, states: States, dtype: str, rounds: int) -> Threads:
    """Time the public function on a batch of at least ENOUGH seconds, with more and more threads.

    The states are the others' repeated; results come in a new array, as users get them.
    """
    before = get_threads()
    arrays = [x.astype(dtype) for x in states.of(function)]
    rows = STEP
    worked = _arithmetic_alone(dtype)
    try:
        # what looked long enough on a busy machine may not be: then all is repeated with more rows
        while True:
            set_threads(1)
            rows = _long_enough(robot, function, arrays, min(MAX_ROWS, 2 * rows))
            given = _repeated(arrays, rows)
            call = partial(FUNCTIONS[function], robot.model, *given)
            moved = partial(_moved, given, call().shape)
            calls = [_with(n, each) for each in (call, moved, worked) for n in counts()]
            times = interleaved(calls, rounds)
            if min(times[0]) >= ENOUGH or rows >= MAX_ROWS:
                break
    finally:
        set_threads(before)
    count = len(counts())
    found, moving, working = (
        {n: tuple(each) for n, each in zip(counts(), times[k : k + count], strict=True)}
        for k in range(0, 3 * count, count)
    )
    return Threads(robot.name, function, rows, found, moving, working)


def _moved(arrays: list[Array], shape: tuple[int, ...]) -> None:
    """Read some arrays and fill another by NumPy, in the parts and on the threads of the library.

    The memory is as old as that of results.  It is not filled with zeros: some processors have a
    short way for lines of them.
    """
    (out,) = result_memory.empty([shape], arrays[0].dtype)

    def part(start: int, stop: int) -> None:
        for first in range(start, stop, STEP // 4):
            piece = slice(first, min(stop, first + STEP // 4))
            for x in arrays:
                x[piece].copy()  # small enough to stay in the cache
            out[piece] = 1.5

    share(part, cuts(len(out), STEP // 4))


def _arithmetic_alone(dtype: str) -> Callable[[], None]:
    """Return what multiplies and adds for about ENOUGH seconds on one thread."""
    kernel = multiply_adds(dtype)
    x, c = np.ones((1024, 10), dtype), np.array([0.5, 0.25], dtype)
    out = kernel(x, c)
    took = min(seconds(partial(kernel.ufunc, x, c, out=out), 1) for _ in range(9))
    x = np.ones((1024 * max(16, round(ENOUGH / took)), 10), dtype)
    out = np.empty_like(x)
    return partial(spread, kernel.ufunc, [x, c], [1, 1], (len(x),), out)


def _with(count: int, call: Callable[[], Array | None]) -> Callable[[], None]:
    def run() -> None:
        set_threads(count)
        call()

    return run


def _long_enough(robot: Robot, function: str, arrays: list[Array], rows: int) -> int:
    """Return how many rows one thread needs ENOUGH seconds for, or the most there may be."""
    while True:
        call = partial(FUNCTIONS[function], robot.model, *_repeated(arrays, rows))
        call()
        took = min(seconds(call, 1) for _ in range(3))
        if took >= SAFELY * ENOUGH or rows >= MAX_ROWS:
            return rows
        rows = min(MAX_ROWS, max(rows + STEP, int(rows * 1.5 * ENOUGH / took) // STEP * STEP))


def _repeated(arrays: list[Array], rows: int) -> list[Array]:
    return [np.resize(x, (rows, *x.shape[1:])) for x in arrays]
