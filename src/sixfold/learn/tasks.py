"""Tasks that are ready to use, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.formats import load
from sixfold.learn.task import Task
from sixfold.model import Model, ModelBuilder, Prismatic, Revolute, lock_joints
from sixfold.quantities.configurations import neutral
from sixfold.quantities.dynamics import gravity_force, inverse_mass_matrix
from sixfold.quantities.kinematics import frame_pose
from sixfold.runtime import require_model
from sixfold.scalar import Scalar, cos, if_positive, sin, sqrt
from sixfold.simulation.contact.ground import Ground
from sixfold.simulation.contact.shapes import ContactPoint
from sixfold.spatial import Inertia

TRACK, TILT = 2.4, 0.2095  #: How far the cart may go [m] and the pole may lean [rad].


def cart_pole() -> Task:
    """Keep a pole upright on a cart: the masses, force and bounds of Barto, Sutton, Anderson 1983.

    The action in [-1, 1] pushes the cart with up to 10 N; an episode has up to 500 steps of 20 ms.
    """
    builder = ModelBuilder("cart_pole")
    rod = Inertia.from_mass(0.1, (0.0, 0.0, 0.5), (0.1 / 12, 0.1 / 12, 0.0))
    builder.add_body("cart", joint=Prismatic("x"), inertia=Inertia.from_mass(1.0))
    builder.add_body("pole", parent="cart", joint=Revolute("y"), inertia=rod)

    def push(t: Any, q: Any, v: Any, action: Any) -> Any:
        return [10.0 * action[0], 0.0]

    def fallen(t: Any, q: Any, v: Any) -> Any:
        return if_positive(q[0] * q[0] - TRACK**2, 1.0, q[1] * q[1] - TILT**2)

    def near(u: Array) -> tuple[Array, Array]:
        x = 0.1 * u - 0.05
        return x[:, :2], x[:, 2:]

    return Task(
        "cart_pole",
        builder.build(),
        dt=0.02,
        low=-1.0,
        high=1.0,
        control=push,
        observe=lambda t, q, v: [*q, *v],
        reward=lambda t, q, v, action: 1.0,
        terminate=fallen,
        start=near,
        draws=4,
        steps=500,
    )


def acrobot() -> Task:
    """Swing a double pendulum up with a motor of 15 N m at its elbow; the reward is its height."""

    def elbow(t: Any, q: Any, v: Any, action: Any) -> Any:
        return [0.0, 15.0 * action[0]]

    def observe(t: Any, q: Any, v: Any) -> Any:
        return [sin(q[0]), cos(q[0]), sin(q[1]), cos(q[1]), *v]

    def height(t: Any, q: Any, v: Any, action: Any) -> Any:
        tip = -(cos(q[0]) + 2.0 * cos(q[0] + q[1])) / 3.0
        return tip - 1e-3 * (v[0] * v[0] + v[1] * v[1])

    return Task(
        "acrobot",
        load("double_pendulum"),
        dt=0.01,
        low=-1.0,
        high=1.0,
        control=elbow,
        observe=observe,
        reward=height,
        start=lambda u: (0.2 * u[:, :2] - 0.1, np.zeros_like(u[:, :2])),
        draws=2,
        steps=250,
        substeps=4,
    )


def reacher(robot: str | Model = "panda", frame: str | None = None) -> Task:
    """Bring the hand of an arm to a point, in one second from its home position.

    Actions are joint torques in addition to those against gravity, in units of the inertia that a
    joint feels: 1 is 20 rad/s^2.  The point is drawn for each episode.

    Args:
        robot: an arm with limits, a name as `sixfold.load` takes it; fingers are locked.
        frame: the hand; by default the last frame or body.
    """
    arm = _arm(load(robot) if isinstance(robot, str) else require_model("reacher", robot))
    hand = frame or (arm.frame_names[-1] if arm.frame_names else arm.body_names[-1])
    bounded = np.isfinite(arm.lower_position) & np.isfinite(arm.upper_position)
    low = np.where(bounded, arm.lower_position, -1.0)
    high = np.where(bounded, arm.upper_position, 1.0)
    middle, span = (low + high) / 2, high - low
    home = tuple(middle.tolist())
    felt = tuple((1.0 / np.diagonal(inverse_mass_matrix(arm, middle))).tolist())
    n = arm.nv

    def push(t: Any, q: Any, v: Any, action: Any, target: Any) -> Any:
        weight = gravity_force(arm, q)
        each = zip(weight, felt, action, v, strict=True)
        return [w + m * (20.0 * a - 4.0 * x) for w, m, a, x in each]

    def miss(q: Any, target: Any) -> Any:
        return target - frame_pose(arm, q, hand)[:3, 3]

    def observe(t: Any, q: Any, v: Any, target: Any) -> Any:
        return [*(a - b for a, b in zip(q, home, strict=True)), *v, *miss(q, target)]

    def near(t: Any, q: Any, v: Any, action: Any, target: Any) -> Any:
        e = miss(q, target)
        return -sqrt(e @ e + 1e-6) - 1e-3 * (action @ action)

    def target(u: Array) -> dict[str, Array]:
        q = middle + 0.2 * span * (u - 0.5)
        return {"parameters": frame_pose(arm, q, hand)[:, :3, 3]}

    return Task(
        "reacher",
        arm,
        dt=0.02,
        low=-np.ones(n),
        high=np.ones(n),
        control=push,
        observe=observe,
        reward=near,
        start=lambda u: (np.broadcast_to(middle, u.shape), np.zeros_like(u)),
        draws=n,
        steps=50,
        parameters=np.zeros(3),
        randomize=target,
    )


def _arm(model: Model) -> Model:
    """Return an arm without its fingers."""
    fingers = {free.name: 0.0 for free in model.coordinates.free if "finger" in free.name}
    return lock_joints(model, fingers) if fingers else model


#: Legs of the sample robot "quadruped".
LEGS = ("front_left", "front_right", "hind_left", "hind_right")
FOOT_RADIUS = 0.02  #: Radius of its feet [m].
STAND = (0.0, 0.8, -1.6)  #: Angles of hip, thigh and knee of the standing quadruped [rad].
#: Duration of two steps of a trot [s], and how far a swinging knee folds [rad].
PERIOD, SWING = 0.4, 0.35


def quadruped_stand() -> Task:
    """Keep the quadruped on its feet; actions are changes of the joint targets, at 50 Hz."""

    def still(t: Any, q: Any, v: Any, action: Any) -> Any:
        return _upright(q) - 4.0 * (q[2] - 0.28) ** 2 - 0.05 * _square(v[:6]) - _effort(action)

    return _quadruped_task("quadruped_stand", lambda t: [0.0] * 12, still)


def quadruped_trot(speed: float = 0.5) -> Task:
    """Trot forwards at a speed [m/s]; actions are changes of the targets of a gait, at 50 Hz."""

    def forward(t: Any, q: Any, v: Any, action: Any) -> Any:
        vx, vy = _world_speed(q, v)
        off = (vx - speed) ** 2 + vy * vy + 0.2 * v[2] * v[2]
        return _upright(q) - 4.0 * (q[2] - 0.28) ** 2 - 2.0 * off - _effort(action)

    return _quadruped_task("quadruped_trot", _trot_targets, forward)


def _trot_targets(t: Scalar) -> list[Scalar]:
    """Return what a trot adds to the angles of standing: diagonal legs swing together."""
    phase = sin(2.0 * np.pi / PERIOD * t)
    found: list[Scalar] = []
    for diagonal in (phase, -phase, -phase, phase):
        lift = SWING * if_positive(diagonal, diagonal, 0.0)
        found += [0.0, lift, -2.0 * lift]
    return found


def _quadruped_task(name: str, gait: Callable[[Any], Any], reward: Any) -> Task:
    """Return a task of the quadruped: position targets of its joints under motors with limits."""
    robot = load("quadruped")
    standing = STAND * 4

    def motors(t: Any, q: Any, v: Any, action: Any) -> Any:
        wanted = zip(standing, gait(t), action, strict=True)
        pull = [
            60.0 * (a + b + 0.5 * c - x) - 2.0 * w
            for (a, b, c), x, w in zip(wanted, q[7:], v[6:], strict=True)
        ]
        return [0.0] * 6 + [_within(x, 25.0) for x in pull]

    def observe(t: Any, q: Any, v: Any) -> Any:
        turn = 2.0 * np.pi / PERIOD * t
        bent = [x - a for x, a in zip(q[7:], standing, strict=True)]
        return [q[2], *q[3:7], *bent, *v, sin(turn), cos(turn)]

    def fallen(t: Any, q: Any, v: Any) -> Any:
        return if_positive(0.15 - q[2], 1.0, 0.6 - _upright(q))

    def start(u: Array) -> tuple[Array, Array]:
        q = np.tile(neutral(robot), (len(u), 1))
        q[:, 2] = 0.2987
        q[:, 7:] = np.array(standing) + 0.2 * (u[:, :12] - 0.5)
        return q, np.concatenate([0.4 * (u[:, 12:18] - 0.5), np.zeros((len(u), 12))], axis=1)

    return Task(
        name,
        robot,
        dt=0.005,
        substeps=4,
        low=-np.ones(12),
        high=np.ones(12),
        control=motors,
        observe=observe,
        reward=reward,
        terminate=fallen,
        start=start,
        draws=18,
        steps=500,
        contacts=feet_on_ground(),
    )


def feet_on_ground() -> Ground:
    """Return the ground for the feet of the sample quadruped; a trunk that falls ends the task."""
    feet = [ContactPoint(f"{leg}_foot", radius=FOOT_RADIUS) for leg in LEGS]
    return Ground(friction=0.8, points=tuple(feet))


def _within(x: Scalar, most: float) -> Scalar:
    above = if_positive(x + most, x, -most)
    return if_positive(above - most, most, above)


def _upright(q: Any) -> Any:
    """Return the cosine of the trunk's lean."""
    return 1.0 - 2.0 * (q[3] * q[3] + q[4] * q[4])


def _world_speed(q: Any, v: Any) -> tuple[Any, Any]:
    """Return the trunk's velocity along the world's x and y."""
    x, y, z, w = q[3:7]
    vx, vy, vz = v[3:6]
    along = (1 - 2 * (y * y + z * z)) * vx + 2 * (x * y - z * w) * vy + 2 * (x * z + y * w) * vz
    across = 2 * (x * y + z * w) * vx + (1 - 2 * (x * x + z * z)) * vy + 2 * (y * z - x * w) * vz
    return along, across


def _square(x: Any) -> Any:
    return sum(a * a for a in x)


def _effort(action: Any) -> Any:
    return 0.01 * _square(action)


#: Tasks by name.
TASKS: dict[str, Callable[[], Task]] = {
    "cart_pole": cart_pole,
    "acrobot": acrobot,
    "reacher": reacher,
    "quadruped_stand": quadruped_stand,
    "quadruped_trot": quadruped_trot,
}

__all__ = ["acrobot", "cart_pole", "quadruped_stand", "quadruped_trot", "reacher"]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
