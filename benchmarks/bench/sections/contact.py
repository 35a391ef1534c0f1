"""Steps in time on the ground: a quadruped and a humanoid beside MuJoCo's rollout of the same."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from benchmarks.bench.clock import Call, interleaved
from benchmarks.bench.engines.extras import installed
from benchmarks.bench.engines.mujoco_contacts import to_mujoco_with_contacts
from benchmarks.bench.sections.rounds import BesideMujoco
from sixfold.arrays import Array
from sixfold.contact import ContactPoint, Ground
from sixfold.errors import SixfoldError
from sixfold.formats import load
from sixfold.lazy import optional
from sixfold.model import Model
from sixfold.quantities import neutral
from sixfold.simulation.rollout import rollout

ROWS, STEPS, DT = 256, 100, 1e-3
THEIR_ROWS = 16
"""Trajectories of MuJoCo, which takes them one after the other."""
ALIKE = 1e-4
"""Largest difference of the trunk's positions after all steps [m]: both steps are of order one."""
LEG = (0.0, 0.8, -1.6)


@dataclass(frozen=True)
class Stance:
    """A robot with a free base, its ground, and where it stands."""

    name: str
    model: Model
    ground: Ground
    q: Array

    @property
    def points(self) -> int:
        """How many points may touch."""
        return len(self.ground.points or ())


@dataclass(frozen=True)
class Touched(BesideMujoco):
    """One robot on the ground."""

    robot: str
    points: int
    freedoms: int
    first_s: float
    """The first call: compiling, or finding what is kept on disk."""
    rounds_ns: tuple[float, ...]
    """Time for one step of one trajectory in each round."""
    single_rounds_ns: tuple[float, ...]
    """The same in single precision."""
    mujoco_rounds_ns: tuple[float, ...]
    """The same for MuJoCo; none where it does not take part or disagrees."""
    difference: float | None
    """How far the trunks of MuJoCo's robots end from ours [m]."""

    @property
    def single_ns(self) -> float:
        """The best round in single precision."""
        return min(self.single_rounds_ns)

    @property
    def single_ratio(self) -> float | None:
        """The same in single precision; MuJoCo has double only."""
        return self.mujoco_ns / self.single_ns if self.mujoco_ns else None


def stances() -> Iterator[Stance]:
    """Yield the robots of example-robot-data that are measured.

    Raises:
        SixfoldError: if the package is missing.
    """
    quadruped = replace(load("a1", floating_base=True), frames=())
    legs = [name for name in quadruped.body_names if name.endswith("calf")]
    feet = [ContactPoint(leg, (0.0, 0.0, -0.2), 0.02) for leg in legs]
    q = neutral(quadruped)
    q[2], q[7:] = 0.2985, np.tile(LEG, 4)
    yield Stance("a1", quadruped, Ground(friction=0.8, points=tuple(feet)), q)
    humanoid = replace(load("g1_29dof", floating_base=True), frames=())
    corners = ((-0.05, 0.025), (-0.05, -0.025), (0.12, 0.03), (0.12, -0.03))
    soles = [
        ContactPoint(f"{side}_ankle_roll_link", (x, y, -0.03), 0.005)
        for side in ("left", "right")
        for x, y in corners
    ]
    q = neutral(humanoid)
    q[2] = 0.7915
    yield Stance("g1_29dof", humanoid, Ground(friction=0.8, points=tuple(soles)), q)


def measure(stance: Stance, seed: int, rounds: int) -> Touched:
    """Time a rollout of robots that stand, on one thread, MuJoCo's in turns with it."""
    model = stance.model
    rng = np.random.default_rng(seed)
    q = np.tile(stance.q, (ROWS, 1))
    v = 0.05 * rng.standard_normal((ROWS, model.nv))
    out = (np.empty((ROWS, STEPS, model.nq)), np.empty((ROWS, STEPS, model.nv)))
    ours = partial(rollout, model, q, v, dt=DT, steps=STEPS, out=out, contacts=stance.ground)
    start = time.perf_counter()
    last = ours()[0][:THEIR_ROWS, -1, :3].copy()
    first = time.perf_counter() - start
    single = tuple(x.astype(np.float32) for x in out)
    fewer_bits = partial(ours, out=single, dtype="float32")
    fewer_bits()
    calls: list[Call] = [ours, fewer_bits]
    difference = None
    if installed("mujoco.rollout"):
        call, positions = _mujoco(stance, q, v)
        difference = float(np.abs(positions() - last).max())
        if difference <= ALIKE:
            calls.append(call)
    mine, half, *rest = interleaved(calls, rounds)
    return Touched(
        stance.name,
        stance.points,
        model.nv,
        first,
        tuple(s * 1e9 / (ROWS * STEPS) for s in mine),
        tuple(s * 1e9 / (ROWS * STEPS) for s in half),
        tuple(s * 1e9 / (THEIR_ROWS * STEPS) for s in rest[0]) if rest else (),
        difference,
    )


def _mujoco(stance: Stance, q: Array, v: Array) -> tuple[Call, Call]:
    """Return MuJoCo's rollout from the first states, and where its trunks end.

    The base starts with axes along the world's, so velocities need another order only.
    """
    mj = optional("mujoco", "the comparison with MuJoCo")
    there = to_mujoco_with_contacts(stance.model, stance.ground, dt=DT)
    n = THEIR_ROWS
    qpos = np.concatenate([q[:n, :3], q[:n, 6:7], q[:n, 3:6], q[:n, 7:]], axis=1)
    qvel = np.concatenate([v[:n, 3:6], v[:n, :3], v[:n, 6:]], axis=1)
    start = np.concatenate([np.zeros((n, 1)), qpos, qvel], axis=1)
    states = np.empty((n, STEPS, start.shape[1]))
    run, data = optional("mujoco.rollout", "the comparison with MuJoCo").rollout, mj.MjData(there)
    call = partial(run, there, data, start, nstep=STEPS, state=states)

    def positions() -> Array:
        call()
        found: Array = states[:, -1, 1:4].copy()
        return found

    return call, positions


def available() -> tuple[list[Stance], str | None]:
    """Return the robots that can be had, and why there are none."""
    try:
        return list(stances()), None
    except SixfoldError as error:
        return [], str(error).splitlines()[0]
