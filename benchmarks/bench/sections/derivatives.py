"""Derivatives of the dynamics beside Pinocchio's: one state of a batch, and one state by itself.

Pinocchio has no call for a batch of derivatives: it is called from Python state by state.  What
such a call costs by itself is measured on a robot of one joint and subtracted, which leaves the
time inside C++ (and takes the work on one joint for nothing).  One state by itself is compared with
Pinocchio's call as it is.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench.clock import Call, interleaved
from benchmarks.bench.engines.build_peer import loop
from benchmarks.bench.engines.engines import LOOPED, States, draw
from benchmarks.bench.engines.extras import installed
from benchmarks.bench.robots import Robot, bare
from benchmarks.bench.sections.rounds import BesidePinocchio
from sixfold.arrays import Array
from sixfold.errors import SixfoldError
from sixfold.formats import load
from sixfold.interop.coordinates import convert
from sixfold.interop.pinocchio import to_pinocchio
from sixfold.lazy import optional
from sixfold.model import Model, ModelBuilder, Revolute
from sixfold.quantities import forward_dynamics_derivatives, inverse_dynamics_derivatives
from sixfold.runtime import compile
from sixfold.spatial import Inertia

FUNCTIONS: dict[str, tuple[Any, str, str]] = {
    "inverse": (inverse_dynamics_derivatives, "a", "computeRNEADerivatives"),
    "forward": (forward_dynamics_derivatives, "t", "computeABADerivatives"),
}
"""Our function, its third argument, and Pinocchio's."""
ALIKE = 1e-8
"""Largest difference of a matrix, relative to its largest number."""
FLOATING = ("a1", "g1_29dof")
"""Robots that are measured on a floating base too."""


@dataclass(frozen=True)
class Derivatives(BesidePinocchio):
    """One function of one robot."""

    robot: str
    nv: int
    function: str
    flops: int
    nonzeros: int
    """Numbers of a state's three matrices that are not zero for every state."""
    first_s: float
    """The first call with the batch: compiling, or finding what is kept on disk."""
    first_single_s: float
    """The first call with one state after that; long programs have code of its own for it."""
    rounds_ns: tuple[float, ...]
    """Time for one state in each round."""
    sparse_rounds_ns: tuple[float, ...]
    """The same for the public call with sparse=True."""
    single_rounds_ns: tuple[float, ...]
    """The public call with one state."""
    peer_rounds_ns: tuple[float, ...]
    """Pinocchio's call from Python; none where it does not take part or disagrees."""
    overhead_ns: float
    """What such a call costs by itself."""
    difference: float | None
    """How far Pinocchio's results are from ours."""

    @property
    def sparse_ratio(self) -> float | None:
        """The same for nonzeros alone."""
        best = min(self.sparse_rounds_ns)
        return self.peer_ns / best if self.peer_ns and best else None

    @property
    def single_share(self) -> float | None:
        """The call with one state as a part of Pinocchio's, both from Python."""
        peer = min(self.peer_rounds_ns, default=None)
        return min(self.single_rounds_ns) / peer if peer else None


def cases(robots: Sequence[Robot]) -> Iterator[tuple[str, Model]]:
    """Yield the robots on their own base, and some on a floating one."""
    for robot in robots:
        yield robot.name, robot.model
    for name in FLOATING:
        try:
            yield f"{name}, floating", bare(load(name, floating_base=True))
        except SixfoldError:  # example-robot-data is missing
            continue


def measure(
    name: str, model: Model, function: str, batch: int, seed: int, rounds: int
) -> Derivatives:
    """Compare with Pinocchio on some states, then time both in turns."""
    public, letter, _ = FUNCTIONS[function]
    states = draw(model, batch, seed)
    arrays = (states.q, states.v, getattr(states, letter))
    count = min(LOOPED, batch)
    singles = [(model, *row) for row in zip(*(x[:count] for x in arrays), strict=True)]
    first, first_single = (_first(public, given) for given in ((model, *arrays), singles[0]))
    kernel = compile(public, model)
    out = kernel(*arrays)
    few = public(model, *arrays, sparse=True)
    values = tuple(x.values for x in few)
    sparse = partial(public, model, *arrays, sparse=True, out=values)
    calls: list[Call] = [partial(kernel.ufunc, *arrays, out=out), sparse, loop(public, singles)]
    overhead, difference = 0.0, None
    if installed("pinocchio") and not model.couplings:
        peer, difference = _peer(model, function, states, out)
        calls += [peer] if difference <= ALIKE else []
    clocked = [np.array(seconds) for seconds in interleaved(calls, rounds)]
    if len(calls) > 3:
        overhead = _overhead(function, rounds)
    return Derivatives(
        name,
        model.nv,
        function,
        kernel.flops,
        sum(len(x.rows) for x in few),
        first,
        first_single,
        tuple(clocked[0] / batch * 1e9),
        tuple(clocked[1] / batch * 1e9),
        tuple(clocked[2] / count * 1e9),
        tuple(clocked[3] / count * 1e9) if len(calls) > 3 else (),
        overhead,
        difference,
    )


def _first(public: Any, given: Sequence[Any]) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    public(*given)
    return time.perf_counter() - start


def _peer(model: Model, function: str, states: States, out: Any) -> tuple[Any, float]:
    """Return a loop over Pinocchio's calls, and how far their results are from ours."""
    pin = optional("pinocchio", "the comparison with Pinocchio")
    _, letter, name = FUNCTIONS[function]
    robot = to_pinocchio(model)
    way = convert(model, robot)
    call, data = getattr(pin, name), robot.createData()
    count = min(LOOPED, len(states.q))
    q, v = states.q[:count], states.v[:count]
    x = getattr(states, letter)[:count]
    moved = way.a_to(q, v, x) if letter == "a" else way.tau_to(q, x)
    rows = [(robot, data, *row) for row in zip(way.q_to(q), way.v_to(q, v), moved, strict=True)]
    # coordinates of both are the same numbers in another order
    order = np.argmax(way.v_to(q[0], np.eye(model.nv)), axis=-1)
    worst = 0.0
    for k in range(min(8, count)):
        by_q, by_v, last = (m[np.ix_(order, order)] for m in _full(call(*rows[k])))
        for mine, theirs in zip(out, (by_q, by_v, last), strict=True):
            scale = max(float(np.abs(theirs).max()), 1e-300)
            worst = max(worst, float(np.abs(mine[k] - theirs).max()) / scale)
    return loop(call, rows), worst


def _full(found: Any) -> tuple[Array, Array, Array]:
    """Return Pinocchio's matrices; of the last it fills the upper triangle."""
    by_q, by_v, upper = (np.array(m) for m in found)
    return by_q, by_v, np.triu(upper) + np.triu(upper, 1).T


def _overhead(function: str, rounds: int) -> float:
    """Return what a call from Python costs by itself [ns], on a robot of one joint."""
    builder = ModelBuilder("one joint")
    builder.add_body("link", joint=Revolute("z"), inertia=Inertia.from_mass(1.0, (0.1, 0.0, 0.0)))
    pin = optional("pinocchio", "the comparison with Pinocchio")
    robot = to_pinocchio(builder.build())
    call, data, one = getattr(pin, FUNCTIONS[function][2]), robot.createData(), np.zeros(1)
    (seconds,) = interleaved([loop(call, [(robot, data, one, one, one)] * LOOPED)], rounds)
    return min(seconds) / LOOPED * 1e9
