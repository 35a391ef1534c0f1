"""Steps in time: batches of trajectories beside MuJoCo's own rollout of the same robot."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.bench.clock import Call, interleaved
from benchmarks.bench.engines import mujoco
from benchmarks.bench.engines.extras import installed
from benchmarks.bench.robots import Robot
from benchmarks.bench.sections.rounds import BesideMujoco
from sixfold.arrays import Array
from sixfold.choices import FixedStep
from sixfold.errors import NotApplicableError
from sixfold.lazy import optional
from sixfold.quantities import random_state
from sixfold.simulation.rollout import rollout

INTEGRATORS: dict[FixedStep, str] = {"semi_implicit_euler": "mjINT_EULER", "rk4": "mjINT_RK4"}
"""Methods that both have: MuJoCo's Euler without implicit damping is the semi-implicit one."""
ROWS, STEPS, DT = 256, 100, 1e-3
ALIKE = 1e-8
"""Largest difference of positions after all steps, in rad or m."""


@dataclass(frozen=True)
class RolledOut(BesideMujoco):
    """One method on one robot."""

    robot: str
    integrator: str
    rows: int
    steps: int
    first_s: float
    """The first call: compiling, or finding what is kept on disk."""
    rounds_ns: tuple[float, ...]
    """Time for one step of one trajectory in each round."""
    mujoco_rounds_ns: tuple[float, ...]
    """The same for MuJoCo; none where it does not take part or disagrees."""
    difference: float | None
    """How far MuJoCo's last positions are from ours."""


def measure(robot: Robot, integrator: FixedStep, seed: int, rounds: int) -> RolledOut:
    """Time a rollout without contact on one thread, MuJoCo's in turns with it."""
    model = robot.model
    q, v = random_state(model, ROWS, seed=seed)
    v *= 0.1
    # both write to arrays that are there already
    out = (np.empty((ROWS, STEPS, model.nq)), np.empty((ROWS, STEPS, model.nv)))
    ours = partial(rollout, model, q, v, dt=DT, steps=STEPS, integrator=integrator, out=out)
    start = time.perf_counter()
    last = ours()[0][:, -1]
    first = time.perf_counter() - start
    calls: list[Call] = [ours]
    difference = None
    theirs = _mujoco(robot, integrator, q, v)
    if theirs is not None:
        call, positions = theirs
        difference = float(np.abs(positions() - last).max())
        if difference <= ALIKE:
            calls.append(call)
    mine, *rest = interleaved(calls, rounds)
    each = 1e9 / (ROWS * STEPS)
    return RolledOut(
        robot.name,
        integrator,
        ROWS,
        STEPS,
        first,
        tuple(s * each for s in mine),
        tuple(s * each for s in rest[0]) if rest else (),
        difference,
    )


def _mujoco(robot: Robot, integrator: FixedStep, q: Array, v: Array) -> tuple[Call, Call] | None:
    """Return MuJoCo's rollout from these states, and its last positions in our order."""
    if not installed("mujoco.rollout"):
        return None
    try:
        twin = mujoco.build_peer(robot.model)
    except NotApplicableError:
        return None
    mj, there = twin.library, twin.robot
    there.opt.timestep = DT
    there.opt.integrator = int(getattr(mj.mjtIntegrator, INTEGRATORS[integrator]))
    # its own defaults, but for damping: without shapes and limits there is nothing to constrain
    there.opt.disableflags = int(mj.mjtDisableBit.mjDSBL_EULERDAMP)
    run, data = optional("mujoco.rollout", "the comparison with MuJoCo").rollout, mj.MjData(there)
    start = np.concatenate([np.zeros((len(q), 1)), twin.theirs(q), twin.theirs(v)], axis=1)
    states = np.empty((len(q), STEPS, start.shape[1]))
    call = partial(run, there, data, start, nstep=STEPS, state=states)

    def positions() -> Array:
        call()
        return twin.ours(states[:, -1, 1 : 1 + there.nq].copy())

    return call, positions
