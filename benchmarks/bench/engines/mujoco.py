"""MuJoCo's ways: the functions of its smooth dynamics from Python, and its C++ batch.

No contacts, limits or actuators take part.  Of MuJoCo's steps only those are called that the result
needs: mj_inverse and mj_forward do more (constraints, sensors) and take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.bench.engines.build_peer import Peer, Single, looped, refuse_others
from benchmarks.bench.engines.engines import PIECE, States, Way
from benchmarks.bench.engines.extras import installed
from sixfold.arrays import Array
from sixfold.interop.mujoco import to_mujoco
from sixfold.lazy import optional
from sixfold.model import Model

HOW = {  # names without their mj_
    "inverse_dynamics": "kinematics, comPos, comVel, rne",
    "forward_dynamics": "kinematics, comPos, {make}, factorM, comVel, rne, solveM",
    "mass_matrix": "kinematics, comPos, {make}, fullM",
}


def build_peer(model: Model) -> Peer:
    """Return the robot in MuJoCo, without frames and limits, which would cost it time."""
    mj = optional("mujoco", "the comparison with MuJoCo")
    refuse_others(model, "MuJoCo")
    robot = to_mujoco(replace(model, frames=()))
    robot.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_CONSTRAINT)
    place = {int(robot.joint(name).dofadr[0]): k for k, name in enumerate(model.joint_names)}
    return Peer(mj, robot, tuple(place[i] for i in range(model.nv)))


def ways(twin: Peer, function: str, states: States) -> list[Way]:
    """Return how MuJoCo evaluates a function; its batch (MuJoCo 4) does forward dynamics only."""
    make = _make_inertia(twin.library).__name__.removeprefix("mj_")
    how = f"mj_ {HOW[function].format(make=make)}"
    by_row = looped(twin, "mujoco loop", how, single(twin, function), function, states)
    if function == "forward_dynamics" and installed("mujoco.batch"):
        return [_batched(twin, states), by_row]
    return [by_row]


def _batched(twin: Peer, states: States) -> Way:
    few = states.first(PIECE)
    size = len(few.q)
    batch = optional("mujoco.batch", "the comparison with MuJoCo").Batch(
        twin.robot, size, nthread=1
    )
    for name, rows in (("qpos", few.q), ("qvel", few.v), ("qfrc_applied", few.t)):
        batch.bind(name)[:] = twin.theirs(rows)
    result = batch.bind("qacc")

    def values(n: int) -> Array:
        batch.forward()
        return twin.ours(np.array(result[:n]))

    how = f"mujoco.batch.Batch.forward, one thread, the first {size} states"
    return Way("mujoco C++", how, size, batch.forward, values)


def single(twin: Peer, function: str) -> Single:
    """Return MuJoCo's steps for one state, its result overwritten by the next call."""
    mj, m, d = twin.library, twin.robot, twin.library.MjData(twin.robot)
    make, full = _make_inertia(mj), _full_matrix(mj)
    qpos, qvel, qacc, n = d.qpos, d.qvel, d.qacc, twin.robot.nv
    force, matrix = np.zeros(n), np.zeros((n, n))
    net, solution = np.zeros((1, n)), np.zeros((1, n))

    def inverse(q: Array, v: Array, a: Array) -> Array:
        qpos[:], qvel[:], qacc[:] = q, v, a
        mj.mj_kinematics(m, d)
        mj.mj_comPos(m, d)
        mj.mj_comVel(m, d)
        mj.mj_rne(m, d, 1, force)
        return force

    def forward(q: Array, v: Array, t: Array) -> Array:
        qpos[:], qvel[:] = q, v
        mj.mj_kinematics(m, d)
        mj.mj_comPos(m, d)
        make(m, d)
        mj.mj_factorM(m, d)
        mj.mj_comVel(m, d)
        mj.mj_rne(m, d, 0, force)
        np.subtract(t, force, out=net[0])
        mj.mj_solveM(m, d, solution, net)
        return solution[0]

    def mass(q: Array) -> Array:
        qpos[:] = q
        mj.mj_kinematics(m, d)
        mj.mj_comPos(m, d)
        make(m, d)
        full(m, d, matrix)
        return matrix

    steps: dict[str, Callable[..., Array]] = {
        "inverse_dynamics": inverse,
        "forward_dynamics": forward,
        "mass_matrix": mass,
    }
    return steps[function], ()


def _make_inertia(mj: Any) -> Any:
    """Return the function that fills MuJoCo's sparse mass matrix: 3.3 and later have mj_makeM."""
    return getattr(mj, "mj_makeM", mj.mj_crb)


def _full_matrix(mj: Any) -> Callable[[Any, Any, Array], None]:
    """Return how to spread it out: MuJoCo 4 takes the data where 3 took its array qM."""
    if int(mj.__version__.split(".")[0]) >= 4:
        return mj.mj_fullM
    return lambda m, d, dst: mj.mj_fullM(m, dst, d.qM)
