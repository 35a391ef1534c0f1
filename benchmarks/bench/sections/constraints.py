"""Accelerations and forces of robots with closed loops or held feet, beside Pinocchio's.

As for derivatives, Pinocchio is called from Python state by state, and what a call costs by itself
is subtracted.  It gets its fastest settings, one step without regularisation: no row is redundant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench.clock import interleaved
from benchmarks.bench.engines.build_peer import loop
from benchmarks.bench.engines.engines import LOOPED
from benchmarks.bench.engines.extras import installed
from benchmarks.bench.robots import bare
from benchmarks.bench.sections.rounds import BesidePinocchio
from sixfold.arrays import Array
from sixfold.errors import SixfoldError
from sixfold.formats import load
from sixfold.interop.coordinates import convert
from sixfold.interop.pinocchio import to_pinocchio
from sixfold.lazy import optional
from sixfold.loops import assemble
from sixfold.model import Fixed, Joint, Loop, Model, ModelBuilder, Revolute, Spherical
from sixfold.quantities import constrained_dynamics, frame_pose, integrate, neutral, project
from sixfold.runtime import compile
from sixfold.spatial import Inertia, Transform

ALIKE = 1e-8
"""Largest difference of accelerations or forces, relative to their largest number."""
COMPARED = 8
"""States that are compared with Pinocchio; their loops are closed."""
BUILDS = 4
"""Robots that Pinocchio gets; its times differ by up to three between equal ones, so the fastest
counts."""
SPREAD = 0.1
"""Standard deviation of joint positions around a standing configuration [rad or m]."""


@dataclass(frozen=True)
class Constrained(BesidePinocchio):
    """Constrained forward dynamics of one robot."""

    robot: str
    nv: int
    rows: int
    flops: int
    first_s: float
    """The first call: compiling, or finding what is kept on disk."""
    rounds_ns: tuple[float, ...]
    """Time for one state in each round."""
    peer_rounds_ns: tuple[float, ...]
    """Pinocchio's call from Python; none where it does not take part or disagrees."""
    overhead_ns: float
    """What such a call costs by itself."""
    difference: float | None
    """How far Pinocchio's accelerations and forces are from ours."""


def quadruped() -> tuple[Model, Array]:
    """Return A1 with its four feet held as points, and how it stands."""
    model = bare(load("a1", floating_base=True))
    q, legs = neutral(model), ("FR", "FL", "RR", "RL")
    for leg in legs:
        for part, angle in (("hip", 0.1), ("thigh", 0.8), ("calf", -1.6)):
            q[model.q_slice(f"{leg}_{part}_joint")] = angle
    return held(model, q, [f"{leg}_foot" for leg in legs], Spherical()), q


def humanoid() -> tuple[Model, Array]:
    """Return G1 with both feet welded to the ground, and how it stands."""
    model = bare(load("g1_29dof", floating_base=True))
    q, sides = neutral(model), ("left", "right")
    for side in sides:
        for part, angle in (("hip_pitch", -0.3), ("knee", 0.6), ("ankle_pitch", -0.3)):
            q[model.q_slice(f"{side}_{part}_joint")] = angle
    return held(model, q, [f"{side}_ankle_roll_link" for side in sides], Fixed()), q


def sample(name: str) -> tuple[Model, Array]:
    """Return a sample with loops, which are closed at its neutral configuration."""
    model = load(name)
    return model, neutral(model)


CASES: dict[str, Callable[[], tuple[Model, Array]]] = {
    "a1, 4 points": quadruped,
    "g1, 2 welds": humanoid,
    "four_bar_leg": partial(sample, "four_bar_leg"),
    "stewart": partial(sample, "stewart"),
}


def held(model: Model, q: Array, frames: Sequence[str], joint: Joint) -> Model:
    """Return the model with frames held to the world, by a joint, where they are at q."""
    found = []
    for name in frames:
        body, X = model.locate(name)
        pose = frame_pose(model, q, name)
        there = Transform.from_pose(pose[:3, :3].tolist(), pose[:3, 3].tolist())
        found.append(Loop(f"{name} held", -1, there, body, X, joint))
    return replace(model, constraints=tuple(found))


def cases() -> Iterator[tuple[str, Model, Array]]:
    """Yield the robots that can be had, each with a configuration that closes its loops."""
    for name, make in CASES.items():
        try:
            yield name, *make()
        except SixfoldError:  # example-robot-data is missing
            continue


def measure(name: str, model: Model, q: Array, batch: int, seed: int, rounds: int) -> Constrained:
    """Compare with Pinocchio on some states, then time both in turns."""
    arrays = _states(model, q, batch, seed)
    start = time.perf_counter()
    constrained_dynamics(model, *(x[:1] for x in arrays))
    first = time.perf_counter() - start
    kernel = compile(constrained_dynamics, model)
    out = kernel(*arrays)
    calls: list[Callable[[], Any]] = [partial(kernel.ufunc, *arrays, out=out)]
    overhead, difference = 0.0, None
    if installed("pinocchio"):
        peers = [_Peer(model) for _ in range(BUILDS)]
        difference = peers[0].distance(arrays, out)
        if difference <= ALIKE:
            calls += [peer.loop(arrays) for peer in peers]
    clocked = [np.array(seconds) for seconds in interleaved(calls, rounds)]
    if len(calls) > 1:
        overhead = _overhead(rounds)
    theirs = np.min(clocked[1:], axis=0) / min(LOOPED, batch) * 1e9 if len(calls) > 1 else ()
    return Constrained(
        name,
        model.nv,
        model.nc,
        kernel.flops,
        first,
        tuple(clocked[0] / batch * 1e9),
        tuple(theirs),
        overhead,
        difference,
    )


def _states(model: Model, q: Array, batch: int, seed: int) -> tuple[Array, Array, Array]:
    """Return states near a configuration; the loops of the first ones are closed."""
    rng = np.random.default_rng(seed)
    near = integrate(model, q, rng.normal(size=(batch, model.nv)) * SPREAD)
    v, tau = rng.normal(size=(2, batch, model.nv))
    few = slice(min(batch, COMPARED))
    near[few], v[few] = project(model, assemble(model, near[few]), v[few])
    return near, v, tau


class _Peer:
    """The robot with the same rows in Pinocchio."""

    def __init__(self, model: Model) -> None:
        self.pin = pin = optional("pinocchio", "the comparison with Pinocchio")
        tree = model.without(constraints=True)
        self.robot = to_pinocchio(tree)
        self.way = convert(tree, self.robot)
        self.models, self.datas = (
            pin.StdVec_RigidConstraintModel(),
            pin.StdVec_RigidConstraintData(),
        )
        kinds = {3: pin.ContactType.CONTACT_3D, 6: pin.ContactType.CONTACT_6D}

        def joint(body: int) -> int:
            return int(self.robot.getJointId(model.bodies[body].joint_name)) if body >= 0 else 0

        for each in model.constraints:
            if not isinstance(each, Loop) or each.rows not in kinds:
                raise TypeError(f"'{each.name}' is neither a point nor a weld")
            on_a, on_b = (
                pin.SE3(np.array(X.E.T, float), np.array(X.r, float))
                for X in (each.placement_a, each.placement_b)
            )
            # the force on its first joint is reported, so that is body B's
            ends = (joint(each.body_b), on_b, joint(each.body_a), on_a)
            axes = pin.ReferenceFrame.LOCAL
            self.models.append(pin.RigidConstraintModel(kinds[each.rows], self.robot, *ends, axes))
            self.datas.append(self.models[-1].createData())
        self.data = self.robot.createData()
        pin.initConstraintDynamics(self.robot, self.data, self.models, self.datas)

    def rows(self, arrays: Sequence[Array], count: int) -> list[tuple[Any, ...]]:
        """Return the arguments of its calls."""
        q, v, tau = (x[:count] for x in arrays)
        there = zip(self.way.q_to(q), self.way.v_to(q, v), self.way.tau_to(q, tau), strict=True)
        last = (self.models, self.datas, self.pin.ProximalSettings())
        return [(self.robot, self.data, *state, *last) for state in there]

    def loop(self, arrays: Sequence[Array]) -> Callable[[], None]:
        """Return a loop over its calls."""
        return loop(self.pin.constraintDynamics, self.rows(arrays, LOOPED))

    def distance(self, arrays: Sequence[Array], out: Sequence[Array]) -> float:
        """Return how far its accelerations and forces are from ours."""
        worst = 0.0
        for k, row in enumerate(self.rows(arrays, COMPARED)):
            a = self.way.a_from(row[2], row[3], self.pin.constraintDynamics(*row))
            for mine, theirs in zip(out, (a, self._forces()), strict=True):
                scale = max(float(np.abs(theirs).max()), 1e-300)
                worst = max(worst, float(np.abs(mine[k] - theirs).max()) / scale)
        return worst

    def _forces(self) -> Array:
        """Return the forces of all rows, moments first."""
        found: list[float] = []
        for model, data in zip(self.models, self.datas, strict=True):
            if model.type == self.pin.ContactType.CONTACT_6D:
                found.extend(data.contact_force.angular)
            found.extend(data.contact_force.linear)
        return np.array(found)


def _overhead(rounds: int) -> float:
    """Return what a call from Python costs by itself [ns], on one joint without constraints."""
    builder = ModelBuilder("one joint")
    builder.add_body("link", joint=Revolute("z"), inertia=Inertia.from_mass(1.0, (0.1, 0.0, 0.0)))
    peer = _Peer(builder.build())
    one = np.zeros((LOOPED, 1))
    (seconds,) = interleaved([peer.loop((one, one, one))], rounds)
    return min(seconds) / LOOPED * 1e9
