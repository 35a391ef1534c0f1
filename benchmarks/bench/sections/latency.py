"""One call with one state from Python, where the cost of the call itself counts."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from benchmarks.bench.clock import interleaved
from benchmarks.bench.engines import mujoco, pinocchio
from benchmarks.bench.engines.build_peer import loop
from benchmarks.bench.engines.engines import FUNCTIONS, States
from benchmarks.bench.robots import Robot
from sixfold.arrays import Array
from sixfold.runtime import compile

CALLS = 64
"""States that the clock goes through, one call each."""


@dataclass(frozen=True)
class Latency:
    """Nanoseconds of one call, every round, by who is called."""

    robot: str
    function: str
    rounds_ns: dict[str, tuple[float, ...]]

    def ns(self, caller: str) -> float | None:
        """Return the best round, None for who does not take part."""
        return min(self.rounds_ns.get(caller, ()), default=None)

    def share(self, caller: str) -> float | None:
        """Return the time as a part of Pinocchio's."""
        own, other = self.ns(caller), self.ns("pinocchio")
        return own / other if own and other else None


def measure(
    robot: Robot, function: str, states: States, agreed: Container[str], dtype: str, rounds: int
) -> Latency:
    """Time the kernel, the public function and the agreeing engines' functions on single states."""
    few = states.first(CALLS).of(function)
    own = _rows((), [x.astype(dtype) for x in few])
    kernel = compile(FUNCTIONS[function], robot.model, dtype=dtype)
    calls = {
        "kernel": loop(kernel, own),
        "public": loop(FUNCTIONS[function], [(robot.model, *row) for row in own]),
    }
    for engine, peer, room in (
        ("pinocchio", robot.pinocchio, pinocchio),
        ("mujoco", robot.mujoco, mujoco),
    ):
        if peer and f"{engine} loop" in agreed:
            call, fixed = room.single(peer, function)
            calls[engine] = loop(call, _rows(fixed, [peer.theirs(x) for x in few]))
    times = interleaved(list(calls.values()), rounds)
    each = {
        who: tuple(seconds / len(own) * 1e9 for seconds in found)
        for who, found in zip(calls, times, strict=True)
    }
    return Latency(robot.name, function, each)


def _rows(fixed: tuple[Any, ...], arrays: list[Array]) -> list[tuple[Any, ...]]:
    return [(*fixed, *row) for row in zip(*arrays, strict=True)]
