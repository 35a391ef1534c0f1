"""The clock: every way gets the same treatment, in turns, and every round is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sixfold.runtime import compile
from sixfold.scalar import Scalar

Call = Callable[[], Any]
WINDOW = 1e-3
"""A round times as many calls as fill this many seconds, at least one."""


Clock = Callable[[], float]


def interleaved(
    calls: Sequence[Call], rounds: int, clock: Clock = time.perf_counter
) -> list[list[float]]:
    """Return the seconds of one call for each way and round, the ways taking turns.

    In each round a way is called once without the clock, to bring its code and data back into the
    caches after the others, and then timed over WINDOW; the round's figure is the mean.
    """
    repeats = [max(1, round(WINDOW / seconds(call, 1, clock))) for call in calls]
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for times, call, repeat in zip(found, calls, repeats, strict=True):
            call()
            times.append(seconds(call, repeat, clock))
    return found


def seconds(call: Call, repeats: int, clock: Clock = time.perf_counter) -> float:
    """Return the mean time of a call over some repeats."""
    start = clock()
    for _ in range(repeats):
        call()
    return max(clock() - start, 1e-9) / repeats


def multiply_adds(dtype: str) -> Any:
    """Return a kernel of nothing but ten independent chains of fused multiply-adds."""

    def chains(x: Any, c: Any) -> list[Scalar]:
        values = list(x)
        for _ in range(300):
            values = [value * c[0] + c[1] for value in values]
        return values

    return compile(chains, inputs={"x": 10, "c": 2}, dtype=dtype)


def fma_peak(dtype: str, rounds: int = 50) -> list[float]:
    """Return the GFLOP/s of fused multiply-adds that this core reaches, one figure a round.

    The kernel has the lanes that all kernels of this precision have.
    """
    kernel = multiply_adds(dtype)
    x, c = np.ones((1024, 10), dtype), np.array([0.5, 0.25], dtype)
    out = kernel(x, c)
    work = kernel.flops * len(x) / 1e9
    return [work / s for s in interleaved([lambda: kernel.ufunc(x, c, out=out)], rounds)[0]]
