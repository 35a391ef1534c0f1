"""Time for one state of a batch, every engine in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.bench.clock import interleaved
from benchmarks.bench.engines.engines import CHECKED, FUNCTIONS, States, Way
from benchmarks.bench.robots import Robot
from benchmarks.bench.sections.agreement import TOLERANCE, distance
from sixfold.arrays import Array
from sixfold.runtime import compile


@dataclass(frozen=True)
class Timing:
    """One engine on one function: every round, and how far its results are from ours."""

    engine: str
    how: str
    states: int
    difference: float
    agrees: bool
    rounds_ns: tuple[float, ...]
    """Time for one state in each round; none when the results disagree."""

    @property
    def ns(self) -> float | None:
        """The best round."""
        return min(self.rounds_ns, default=None)


@dataclass(frozen=True)
class Speed:
    """One function of one robot: sixfold, the other engines and a plain copy of the output."""

    robot: str
    nv: int
    function: str
    dtype: str
    lanes: int
    flops: int
    bytes_out: int
    """Size of one state's result."""
    sixfold: Timing
    others: tuple[Timing, ...]
    copy: Timing | None
    """A plain copy of as many bytes, for results that are matrices."""

    def ratio(self, other: Timing) -> float | None:
        """How many times longer another engine takes; None unless both agree."""
        return other.ns / self.sixfold.ns if other.ns and self.sixfold.ns else None

    @property
    def gflops(self) -> float | None:
        """Floating-point operations in a nanosecond."""
        return self.flops / self.sixfold.ns if self.sixfold.ns else None

    @property
    def to_copy(self) -> float | None:
        """How many times longer than a plain copy of the result."""
        copy = self.copy.ns if self.copy else None
        return self.sixfold.ns / copy if self.sixfold.ns and copy else None

    @property
    def disagreements(self) -> list[str]:
        """A loud line for each engine whose results are not the same."""
        return [
            f"{x.engine} DISAGREES on {self.function} of {self.robot}: difference "
            f"{x.difference:.1e}; no time and no ratio is given"
            for x in (self.sixfold, *self.others)
            if not x.agrees
        ]


def measure(robot: Robot, function: str, states: States, dtype: str, rounds: int) -> Speed:
    """Compare every way with the NumPy reading on some states, then time those that agree."""
    model = robot.model
    kernel = compile(FUNCTIONS[function], model, dtype=dtype)
    arrays = [x.astype(dtype) for x in states.of(function)]
    out = kernel(*arrays)
    own = Way(
        "sixfold",
        "kernel.ufunc(..., out=...)",
        len(out),
        partial(kernel.ufunc, *arrays, out=out),
        lambda n: kernel(*(x[:n] for x in arrays)),
    )
    ways = [own, *robot.ways(function, states)]
    off = differences(robot, function, states, ways)
    # the others are in double precision whatever ours is
    good = [
        x <= TOLERANCE[dtype if w is own else "float64"] for x, w in zip(off, ways, strict=True)
    ]
    timed = [way for way, agrees in zip(ways, good, strict=True) if agrees and good[0]]
    copies = [_copy(out)] if out.ndim > 2 else []
    clocked = [*timed, *copies]
    found = zip(clocked, interleaved([way.call for way in clocked], rounds), strict=True)
    times = {way.engine: seconds for way, seconds in found}
    timings = [
        _timing(way, x, agrees, times.get(way.engine, ()))
        for way, x, agrees in zip(ways, off, good, strict=True)
    ]
    copied = [_timing(way, 0.0, True, times[way.engine]) for way in copies]
    return Speed(
        robot.name,
        model.nv,
        function,
        dtype,
        kernel.lanes,
        kernel.flops,
        out.nbytes // len(out),
        timings[0],
        tuple(timings[1:]),
        copied[0] if copied else None,
    )


def differences(robot: Robot, function: str, states: States, ways: Sequence[Way]) -> list[float]:
    """Return how far each way's results are from the NumPy reading of the algorithm."""
    count = min(CHECKED, len(states.q))
    few = states.first(count)
    expected = FUNCTIONS[function](robot.model, *few.of(function), backend="numpy")
    return [distance(robot.model, function, few, way.values(count), expected) for way in ways]


def _copy(out: Array) -> Way:
    source, target = _aligned(out), _aligned(out)
    source[...] = 1.0
    call = partial(np.copyto, target, source)
    return Way("copy", "numpy.copyto of the output's bytes", len(out), call, lambda n: target[:n])


def _aligned(like: Array) -> Array:
    """Return an array at the start of a cache line; some other offsets copy ten times slower."""
    space = np.empty(like.nbytes + 64, np.uint8)
    start = -space.ctypes.data % 64
    return space[start : start + like.nbytes].view(like.dtype).reshape(like.shape)


def _timing(way: Way, difference: float, agrees: bool, times: Sequence[float]) -> Timing:
    rounds = tuple(seconds / way.states * 1e9 for seconds in times)
    return Timing(way.engine, way.how, way.states, difference, agrees, rounds)
