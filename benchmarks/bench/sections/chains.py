"""Cost of one body in chains that grow from ten bodies to ten thousand."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.bench.clock import Call, interleaved, seconds
from benchmarks.bench.engines import pinocchio
from benchmarks.bench.engines.engines import FUNCTIONS, States, Way
from benchmarks.bench.sections.agreement import TOLERANCE, distance
from sixfold.errors import NotApplicableError
from sixfold.model import Model, ModelBuilder, Revolute
from sixfold.quantities import random_state
from sixfold.spatial import Inertia, Transform

LENGTHS = (10, 100, 1000, 10_000)
CHAIN_FUNCTIONS = ("inverse_dynamics", "forward_dynamics")
WORK = 400_000
"""Bodies times states in a batch."""
PATIENCE = 20.0
"""Seconds for the rounds of one row; at least three are made."""
LONGEST_PEER = 200
"""Pinocchio's data holds tensors of the freedoms cubed: longer chains would take gigabytes."""


@dataclass(frozen=True)
class Chain:
    """One function of one chain."""

    bodies: int
    function: str
    states: int
    first_s: float
    """The first call: compiling, or finding what is kept on disk."""
    rounds_ns: tuple[float, ...]
    """Time for one body of one state in each round."""
    pinocchio_rounds_ns: tuple[float, ...]
    """The same for Pinocchio's batch call; none where it does not take part or disagrees."""
    difference: float | None
    """How far Pinocchio's results are from ours."""

    @property
    def ns(self) -> float:
        """The best round."""
        return min(self.rounds_ns)

    @property
    def pinocchio_ns(self) -> float | None:
        """Pinocchio's best round."""
        return min(self.pinocchio_rounds_ns, default=None)


def revolute_chain(n: int, seed: int = 0) -> Model:
    """Return a chain of n links of about 0.1 m in general position, axes in general directions."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder(f"chain of {n}")
    for k in range(n):
        turn, axis, step, center = rng.standard_normal((4, 3))
        size = rng.uniform(0.01, 0.02, 3)
        builder.add_body(
            f"link{k}",
            parent=f"link{k - 1}" if k else None,
            joint=Revolute(tuple(axis)),
            placement=Transform.from_rpy(tuple(turn), tuple(0.1 * step / np.linalg.norm(step))),
            inertia=Inertia.from_mass(
                float(rng.uniform(0.5, 2)), tuple(0.03 * center), tuple(size)
            ),
        )
    return builder.build()


def measure(n: int, function: str, batch: int, seed: int, rounds: int) -> Chain:
    """Time the public function on a chain, beside Pinocchio where that is installed."""
    model = revolute_chain(n, seed)
    states = _states(model, max(8, min(batch, WORK // n)), seed)
    call = partial(FUNCTIONS[function], model, *states.of(function))
    start = time.perf_counter()
    own = call()
    first = time.perf_counter() - start
    calls: list[Call] = [call]
    difference = None
    peer = _pinocchio(model, function, states) if n <= LONGEST_PEER else None
    if peer:
        few = states.first(8)
        difference = distance(model, function, few, peer.values(8), own[:8])
        if difference <= TOLERANCE["float64"]:
            calls.append(peer.call)
    # a call of seconds is repeated a few times only
    fewer = min(rounds, max(3, int(PATIENCE / seconds(call, 1))))
    times = interleaved(calls, fewer)
    mine, *rest = times
    return Chain(
        n,
        function,
        len(states.q),
        first,
        tuple(s / (len(states.q) * n) * 1e9 for s in mine),
        tuple(s / (peer.states * n) * 1e9 for s in rest[0]) if peer and rest else (),
        difference,
    )


def _states(model: Model, count: int, seed: int) -> States:
    """Return random states; standard normal joint forces, so that nothing is compiled for them."""
    rng = np.random.default_rng(seed)
    q, v = random_state(model, count, seed=rng)
    return States(q, v, *rng.standard_normal((2, count, model.nv)))


def _pinocchio(model: Model, function: str, states: States) -> Way | None:
    try:
        return pinocchio.ways(pinocchio.build_peer(model), function, states)[0]
    except NotApplicableError:
        return None
