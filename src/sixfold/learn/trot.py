"""A quadruped that trots and is pushed, under whole-body MPPI: the demonstration of the library.

A gait places the feet where the speed asks for them (Raibert, Legged Robots That Balance, 1986).
MPPI shifts the feet: every 20 ms it tries hundreds of sequences of shifts over the next 0.4 s, with
contact and friction, in one kernel, and takes what earns most.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sixfold.arrays import Array
from sixfold.control.sampling import MPPI
from sixfold.formats import load
from sixfold.learn.tasks import STAND, _upright, _within, _world_speed, feet_on_ground
from sixfold.quantities.configurations import neutral
from sixfold.quantities.kinematics import point_force
from sixfold.runtime import compile
from sixfold.scalar import Scalar, atan2, cos, if_positive, sin, sqrt
from sixfold.simulation.contact.scene import contact_forces
from sixfold.simulation.stepper import Stepper

SPEED, HEIGHT = 0.5, 0.27  #: What is wanted: forward speed [m/s], height of the trunk [m].
#: Duration of two steps [s], how high a foot is lifted and how far MPPI may shift it [m].
PERIOD, LIFT, REACH = 0.36, 0.07, 0.1
#: Length of thigh and shank [m]; legs of one sign swing together.
LEG, DIAGONAL = 0.2, (1, -1, -1, 1)
#: Gains of the joints [N m/rad, N m s/rad] and their largest torque [N m].
KP, KD, TORQUE = 150.0, 3.75, 25.0
ACTION_TIME = 0.02  #: Time between two actions [s].
GROUND = feet_on_ground()


def leg_angles(x: Scalar, y: Scalar, z: Scalar) -> list[Scalar]:
    """Return hip, thigh and knee that put a foot at (x, y, z) below its hip."""
    down = sqrt(y * y + z * z)
    stretch = _within(sqrt(x * x + down * down) / (2.0 * LEG), 0.995)
    half = atan2(sqrt(1.0 - stretch * stretch), stretch)
    return [atan2(y, -z), atan2(-x, down) + half, -2.0 * half]


def gait(t: Scalar, v: Any, shifts: Any) -> list[Scalar]:
    """Return the joint targets of a trot; shifts move each foot along x, y and z."""
    along, across = v[3], v[4]
    ahead, aside = along - SPEED, across
    found: list[Scalar] = []
    for k, sign in enumerate(DIAGONAL):
        swing = sign * sin(2.0 * np.pi / PERIOD * t)
        way = -sign * cos(2.0 * np.pi / PERIOD * t)  # -1 where a foot leaves the ground, then 1
        x = way * _within(0.25 * PERIOD * (along - 0.5 * ahead), 0.12) + _within(0.06 * ahead, 0.1)
        y = way * _within(0.25 * PERIOD * (across - 0.5 * aside), 0.12) + _within(0.06 * aside, 0.1)
        z = -0.26 + LIFT * if_positive(swing, swing, 0.0)
        dx, dy, dz = (REACH * s for s in shifts[3 * k : 3 * k + 3])
        found += leg_angles(x + dx, y + dy, z + dz)
    return found


def motors(t: Any, q: Any, v: Any, action: Any) -> Any:
    """Return the joint forces: springs and dampers towards the gait, within the torque limit."""
    targets = gait(t, v, action)
    pull = [KP * (a - x) - KD * w for a, x, w in zip(targets, q[7:], v[6:], strict=True)]
    return [0.0] * 6 + [_within(x, TORQUE) for x in pull]


def reward(t: Any, q: Any, v: Any, action: Any) -> Any:
    """Return what counts: the speed, an upright and level trunk, small shifts."""
    vx, vy = _world_speed(q, v)
    heading = 2.0 * (q[6] * q[5] + q[3] * q[4])
    missed = (vx - SPEED) ** 2 + vy**2 + 30.0 * (q[2] - HEIGHT) ** 2 + 0.5 * heading**2
    rolling = 0.05 * (v[0] ** 2 + v[1] ** 2) + 0.1 * v[2] ** 2 + 15.0 * (1.0 - _upright(q))
    return 2.0 - missed - rolling - 0.05 * sum(x * x for x in action)


def fallen(t: Any, q: Any, v: Any) -> Any:
    """Return a number above zero if the robot lies."""
    return if_positive(0.12 - q[2], 1.0, 0.3 - _upright(q))


class Push(NamedTuple):
    """A push against the trunk: force [N] in world axes, for a tenth of a second."""

    start: float
    force: tuple[float, float, float]


class Trot(NamedTuple):
    """What happened."""

    #: t, q, v, tau and contacts, as `sixfold.view` and `write_report` take them.
    motion: dict[str, Array]
    stands: bool
    speed: float  #: Mean forward speed [m/s].
    planning: float  #: Mean time of planning one action [s].


def side_pushes(count: int = 5, impulse: float = 30.0, seed: int = 0) -> list[Push]:
    """Return pushes of `impulse` N s from the left and the right in turns, every three seconds."""
    rng = np.random.default_rng(seed)
    starts = 3.0 + 3.0 * np.arange(count) + rng.uniform(0.0, PERIOD, count)
    return [Push(float(t), (0.0, 10.0 * impulse * (-1.0) ** k, 0.0)) for k, t in enumerate(starts)]


def trot(
    seconds: float = 20.0,
    *,
    pushes: Sequence[Push] = (),
    samples: int = 384,
    seed: int = 0,
    show: Callable[[float, Array], None] | None = None,
) -> Trot:
    """Let the quadruped trot, and plan every action while it does.

    Args:
        seconds: how long.
        pushes: forces against its trunk.
        samples: sequences that are tried for each action.
        seed: of the draws.
        show: called with the time and the configuration after each action.
    """
    robot = load("quadruped")
    common: dict[str, Any] = {"control": motors, "actions": 12, "bounds": (-1.0, 1.0)}
    common |= {"contacts": GROUND, "terminate": fallen}
    model = Stepper(robot, dt=5e-3, substeps=4, reward=reward, dtype="float32", **common)
    draws: dict[str, Any] = {"noise": 0.4, "knots": 5, "temperature": 0.2, "seed": seed}
    plan = MPPI(model, horizon=20, samples=samples, **draws)
    f_ext = np.zeros((robot.nb, 6))
    real = Stepper(robot, dt=2.5e-3, substeps=8, f_ext=f_ext, **common)
    q = neutral(robot)
    q[2], q[7:] = 0.2987, STAND * 4
    real.reset(q)
    rows: list[tuple[Any, ...]] = []
    spent, over = 0.0, 0.0
    while real.t < seconds - 0.5 * ACTION_TIME and not over > 0:
        began = time.perf_counter()
        action = plan(real.q, real.v, t=float(real.t))
        spent += time.perf_counter() - began
        push = sum(np.array(p.force) for p in pushes if p.start <= real.t < p.start + 0.1)
        wrench = point_force(robot, real.q, "trunk", push) if np.any(push) else 0.0
        real.f_ext[:] = wrench  # type: ignore[index]
        rows.append((float(real.t), real.q.copy(), real.v.copy(), action))
        over = float(real.step(action)[0])
        if show is not None:
            show(float(real.t), real.q)
    motion = _record(robot, rows)
    away = motion["q"][-1, 0] - motion["q"][0, 0]
    return Trot(motion, not over > 0, float(away / motion["t"][-1]), spent / len(rows))


def _record(robot: Any, rows: Sequence[tuple[Any, ...]]) -> dict[str, Array]:
    """Return a motion with its joint forces and contacts."""
    t, q, v, action = (np.array(column) for column in zip(*rows, strict=True))
    law = compile(motors, robot, inputs={"t": (), "action": 12})
    tau = law(t, q, v, action)
    found = contact_forces(robot, q, v, tau, contacts=GROUND)
    return {
        "t": t,
        "q": q,
        "v": v,
        "tau": tau,
        "contact_forces": found.forces,
        "contact_points": found.points,
        "contact_gaps": found.gaps,
        "contact_friction": np.full(found.gaps.shape[-1], GROUND.friction),
    }
