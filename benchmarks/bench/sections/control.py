"""What dynamics is for: inverse kinematics, optimal control and environments, beside others.

Times are those of one core.  Robotics Toolbox, gymnasium and MuJoCo take part where they are
installed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bench.engines import mujoco
from benchmarks.bench.engines.extras import installed
from sixfold.arrays import Array
from sixfold.control import optimal_control
from sixfold.control.ik import inverse_kinematics
from sixfold.errors import NotApplicableError
from sixfold.lazy import optional
from sixfold.learn.tasks import TASKS
from sixfold.model import Model
from sixfold.quantities import frame_pose, gravity_force, random_state

POSES, PEER_POSES = 100_000, 500
NODES, ITERATIONS = 100, 40
ROWS, STEPS = 4096, 200
"""Environments of a batch, and actions that are drawn before the clock starts."""
MUJOCO_ROWS, MUJOCO_STEPS = 256, 50


@dataclass(frozen=True)
class Controlled:
    """One figure: time for one pose, iteration or step, beside another program's."""

    what: str
    note: str
    """How well it was done."""
    seconds: float
    peer: str
    """Name of the other program; empty where none took part."""
    peer_seconds: float | None

    @property
    def ratio(self) -> float | None:
        """How many times longer the other takes."""
        return None if self.peer_seconds is None else self.peer_seconds / self.seconds


def cases(seed: int, rounds: int) -> Iterator[tuple[str, Callable[[], Controlled]]]:
    """Yield what is measured, by name; what needs a package or robot that is missing is left out.

    Args:
        seed: of poses, goals and actions.
        rounds: repeats, of which the best counts.
    """
    try:
        arm = TASKS["reacher"]().robot
    except NotApplicableError:
        arm = None
    if arm is not None:
        yield "poses of panda", partial(poses, arm, POSES, seed, rounds)
        for method in ("ilqr", "ddp"):
            yield f"{method} of panda", partial(iterations, arm, method, seed, rounds)
    if installed("gymnasium"):
        yield "cart-poles", partial(environments, "cart_pole", seed, rounds)
        yield "quadrupeds", partial(environments, "quadruped_trot", seed, rounds)
        if arm is not None:
            yield "reachers", partial(environments, "reacher", seed, rounds)


def best(call: Callable[[], Any], rounds: int) -> float:
    """Return the least processor time of a call [s]; the first, which compiles, does not count."""
    call()
    found = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def poses(arm: Model, count: int, seed: int, rounds: int) -> Controlled:
    """Solve random poses of an arm within its limits, beside `ik_LM` of Robotics Toolbox."""
    tool = arm.frame_names[-1]
    q, _ = random_state(arm, count, seed=seed)
    T = frame_pose(arm, q, tool)
    solved = inverse_kinematics(arm, {tool: T}).converged.mean()
    seconds = best(lambda: inverse_kinematics(arm, {tool: T}), min(rounds, 5)) / count
    peer = _robotics_toolbox(q[:PEER_POSES]) if installed("roboticstoolbox") else None
    note = f"{solved:.2%} to 1e-8"
    return Controlled("inverse kinematics, panda", note, seconds, "Robotics Toolbox", peer)


def _robotics_toolbox(q: Array) -> float:
    ets = optional("roboticstoolbox", "the comparison").models.Panda().ets()
    goals = [ets.eval(x) for x in q]

    def solve() -> None:
        for goal in goals:
            ets.ik_LM(goal, joint_limits=True, tol=1e-16)

    return best(solve, 2) / len(goals)


def iterations(arm: Model, method: str, seed: int, rounds: int) -> Controlled:
    """Time iterations of a reaching motion under torque limits, those without progress included."""
    tool, (q, goal) = arm.frame_names[-1], random_state(arm, 2, seed=seed)[0]
    home = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
    q, goal = 0.5 * (q + home), 0.5 * (goal + home)
    place = frame_pose(arm, goal, tool)[:3, 3]

    def running(t: Any, q: Any, v: Any, tau: Any, place: Any) -> Any:
        return 1e-5 * tau @ tau + 1e-2 * v @ v

    def final(q: Any, v: Any, place: Any) -> Any:
        apart = frame_pose(arm, q, tool)[:3, 3] - place
        return 1e3 * apart @ apart + 10 * v @ v

    def solve(most: int) -> Any:
        tau = gravity_force(arm, q)[None]
        options: Any = {"cost": running, "final_cost": final, "cost_parameters": place}
        options |= {"dt": 0.01, "steps": NODES, "method": method, "iterations": most}
        return optimal_control(arm, q, None, tau, tolerance=1e-30, **options)

    done = int(solve(ITERATIONS).iterations)
    span = best(lambda: solve(ITERATIONS), rounds) - best(lambda: solve(1), rounds)
    note = f"{NODES} nodes, mean of {done - 1} iterations"
    return Controlled(f"{method} iteration, panda", note, span / max(done - 1, 1), "", None)


def environments(task: str, seed: int, rounds: int) -> Controlled:
    """Step a batch of environments under random actions, with observations, rewards and resets."""
    from sixfold.learn.vector_env import VectorEnv

    env = VectorEnv(task, ROWS)
    env.reset(seed=seed)
    rng, size = np.random.default_rng(seed), env.single_action_space.shape
    steps = 20 if "quadruped" in task else STEPS
    actions = rng.uniform(-1.0, 1.0, (steps, ROWS, *size))

    def run() -> None:
        for action in actions:
            env.step(action)

    each = steps * ROWS * (env.task.substeps if "quadruped" in task else 1)
    seconds = best(run, rounds) / each
    peer, other = "", None
    if task == "cart_pole":
        peer, other = "gymnasium", _gymnasium(seed, rounds)
    elif task == "reacher" and installed("mujoco.rollout"):
        peer, other = "MuJoCo's rollout", _mujoco(env.task.robot, seed, rounds)
    note = f"batch {ROWS}" + (", integrator steps" if "quadruped" in task else "")
    return Controlled(f"step of {task}", note, seconds, peer, other)


def _gymnasium(seed: int, rounds: int) -> float:
    """Return the time of a step of gymnasium's own vectorised cart-pole [s]."""
    gymnasium = optional("gymnasium", "the comparison")
    env = gymnasium.make_vec("CartPole-v1", ROWS, vectorization_mode="vector_entry_point")
    env.reset(seed=seed)
    actions = np.random.default_rng(seed).integers(0, 2, (STEPS, ROWS))

    def run() -> None:
        for action in actions:
            env.step(action)

    return best(run, rounds) / (STEPS * ROWS)


def _mujoco(arm: Model, seed: int, rounds: int) -> float:
    """Return the time of a step of the same arm in MuJoCo's batch on one thread [s]."""
    twin = mujoco.build_peer(arm)
    # an arm without motors falls: short steps keep it finite, and cost the same
    twin.robot.opt.timestep = 1e-3
    twin.robot.opt.disableflags = int(twin.library.mjtDisableBit.mjDSBL_EULERDAMP)
    q, v = random_state(arm, MUJOCO_ROWS, seed=seed)
    start = np.concatenate([np.zeros((len(q), 1)), twin.theirs(q), twin.theirs(0.1 * v)], axis=1)
    states = np.empty((len(q), MUJOCO_STEPS, start.shape[1]))
    run, data = (
        optional("mujoco.rollout", "the comparison").rollout,
        twin.library.MjData(twin.robot),
    )
    call = partial(run, twin.robot, data, start, nstep=MUJOCO_STEPS, state=states)
    return best(call, rounds) / (MUJOCO_ROWS * MUJOCO_STEPS)
