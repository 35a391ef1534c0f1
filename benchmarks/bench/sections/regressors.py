"""The regressor of one state of a batch, beside Pinocchio's.

Pinocchio has no call for a batch of regressors: it is called from Python state by state, and what
such a call costs by itself is subtracted, as in the section on derivatives.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench.clock import interleaved
from benchmarks.bench.engines.build_peer import loop
from benchmarks.bench.engines.engines import LOOPED, States, draw
from benchmarks.bench.engines.extras import installed
from benchmarks.bench.robots import Robot
from sixfold.arrays import Array
from sixfold.identification import base_regressor
from sixfold.interop.coordinates import convert
from sixfold.interop.pinocchio import to_pinocchio
from sixfold.lazy import optional
from sixfold.model import Model, ModelBuilder, Revolute
from sixfold.quantities import regressor
from sixfold.runtime import compile
from sixfold.spatial import Inertia

BATCH = 512
"""States of one call: what a stream of samples is cut into."""
ALIKE = 1e-11
"""Largest difference of a matrix, relative to its largest number."""
PARAMETERS = (0, 1, 2, 3, 4, 6, 9, 5, 7, 8)
"""Where Pinocchio has m, hx, hy, hz, Ixx, Iyy, Izz, Ixy, Ixz, Iyz."""


@dataclass(frozen=True)
class Regressors:
    """The regressor of one robot."""

    robot: str
    nv: int
    nb: int
    flops: int
    nonzeros: int
    """Numbers of a state's matrix that are not zero for every state."""
    base: int
    """Columns that are independent."""
    first_s: float
    """The first call: compiling, or finding what is kept on disk."""
    rounds_ns: tuple[float, ...]
    """Time for one state in each round, the whole matrix."""
    sparse_rounds_ns: tuple[float, ...]
    """The same for the public call with sparse=True."""
    base_rounds_ns: tuple[float, ...]
    """The same for `base_regressor`."""
    peer_rounds_ns: tuple[float, ...]
    """Pinocchio's call from Python; none where it does not take part or disagrees."""
    overhead_ns: float
    """What such a call costs by itself."""
    difference: float | None
    """How far Pinocchio's results are from ours."""

    @property
    def ns(self) -> float:
        """The best round."""
        return min(self.rounds_ns)

    @property
    def peer_ns(self) -> float | None:
        """Pinocchio's best round, inside C++."""
        return min(self.peer_rounds_ns) - self.overhead_ns if self.peer_rounds_ns else None

    def ratio(self, rounds_ns: Sequence[float]) -> float | None:
        """Return how many times longer Pinocchio takes inside C++."""
        return self.peer_ns / min(rounds_ns) if self.peer_ns else None


def cases(robots: Sequence[Robot]) -> Iterator[tuple[str, Model]]:
    """Yield the robots."""
    for robot in robots:
        yield robot.name, robot.model


def measure(name: str, model: Model, seed: int, rounds: int) -> Regressors:
    """Compare with Pinocchio on some states, then time both in turns."""
    states = draw(model, BATCH, seed)
    arrays = (states.q, states.v, states.a)
    start = time.perf_counter()
    out = regressor(model, *arrays)
    first = time.perf_counter() - start
    few = regressor(model, *arrays, sparse=True)
    base = base_regressor(model, *arrays)
    calls: list[Any] = [
        partial(regressor, model, *arrays, out=out),
        partial(regressor, model, *arrays, sparse=True, out=few.values),  # type: ignore[attr-defined]
        partial(base_regressor, model, *arrays, out=base),
    ]
    overhead, difference = 0.0, None
    if installed("pinocchio") and not model.couplings:
        peer, difference = _peer(model, states, out)
        calls += [peer] if difference <= ALIKE else []
    clocked = [np.array(seconds) for seconds in interleaved(calls, rounds)]
    if len(calls) > 3:
        overhead = _overhead(rounds)
    dense, sparse, independent = (tuple(seconds / BATCH * 1e9) for seconds in clocked[:3])
    return Regressors(
        name,
        model.nv,
        model.nb,
        compile(regressor, model).flops,
        len(few.rows),  # type: ignore[attr-defined]
        base.shape[-1],
        first,
        dense,
        sparse,
        independent,
        tuple(clocked[3] / LOOPED * 1e9) if len(calls) > 3 else (),
        overhead,
        difference,
    )


def _peer(model: Model, states: States, out: Array) -> tuple[Any, float]:
    """Return a loop over Pinocchio's calls, and how far their results are from ours."""
    pin = optional("pinocchio", "the comparison with Pinocchio")
    robot = to_pinocchio(model)
    way, data = convert(model, robot), robot.createData()
    q, v, a = (x[:LOOPED] for x in (states.q, states.v, states.a))
    moved = (way.q_to(q), way.v_to(q, v), way.a_to(q, v, a))
    rows = [(robot, data, *row) for row in zip(*moved, strict=True)]
    # coordinates of both are the same numbers in another order
    order = np.argmax(way.v_to(q[0], np.eye(model.nv)), axis=-1)
    columns = [
        10 * (robot.getJointId(body.joint_name) - 1) + k
        for body in model.bodies
        for k in PARAMETERS
    ]
    worst = 0.0
    for k in range(8):
        theirs = np.array(pin.computeJointTorqueRegressor(*rows[k]))[np.ix_(order, columns)]
        worst = max(worst, float(np.abs(out[k] - theirs).max() / np.abs(theirs).max()))
    return loop(pin.computeJointTorqueRegressor, rows), worst


def _overhead(rounds: int) -> float:
    """Return what a call from Python costs by itself [ns], on a robot of one joint."""
    builder = ModelBuilder("one joint")
    builder.add_body("link", joint=Revolute("z"), inertia=Inertia.from_mass(1.0, (0.1, 0.0, 0.0)))
    pin = optional("pinocchio", "the comparison with Pinocchio")
    robot = to_pinocchio(builder.build())
    call, data, one = pin.computeJointTorqueRegressor, robot.createData(), np.zeros(1)
    (seconds,) = interleaved([loop(call, [(robot, data, one, one, one)] * LOOPED)], rounds)
    return min(seconds) / LOOPED * 1e9
