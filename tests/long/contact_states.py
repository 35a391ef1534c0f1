"""Contact forces of states of simulated motions, against MuJoCo's converged ones.

    python -m tests.long.contact_states --states 1000

A quadruped and a humanoid stand, walk in place by an open-loop pattern, and fall from random
attitudes: on their feet, and with knees and trunk that touch, too.  States are drawn from those
motions; errors are those of all contact forces of a state over the norm of MuJoCo's.
"""

import argparse
import sys
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import sixfold as sf
from tests.contact.scenes import (
    LEG,
    Twin,
    feet,
    feet_and_trunk,
    humanoid,
    quadruped,
    soles,
    soles_and_trunk,
)

DT, EVERY, STEPS = 5e-4, 50, 2000
BOUND = 1e-8
"""Of the errors."""
COLLAPSING = "falling on knees and trunk"
KINDS = ("standing", "walking", "falling", COLLAPSING)
SMALLEST_FORCE = 1e-3
"""Of all contacts together; below, a state counts as one without contact [N]."""


class Robot(NamedTuple):
    """A robot, its ground and what moves it."""

    name: str
    model: sf.Model
    ground: Any
    whole: Any
    """The ground of knees and trunk besides."""
    feet: int
    """Points of the feet, which come first."""
    goal: Any
    swing: Any
    """Amplitudes of the joints [rad]; the phase of a joint is that of its leg."""
    phase: Any
    stiffness: Any
    damping: Any
    height: float


def a1() -> Robot:
    """Return the quadruped; its diagonal legs move together."""
    model = quadruped()
    legs = [name for name in model.body_names if name.endswith("calf")]
    front_left = [name[:2] in ("FL", "RR") for name in legs]
    return Robot(
        name="a1",
        model=model,
        ground=feet,
        whole=feet_and_trunk,
        feet=4,
        goal=np.tile(LEG, 4),
        swing=np.tile((0.0, 0.25, -0.5), 4),
        phase=np.repeat(np.where(front_left, 0.0, np.pi), 3),
        stiffness=np.full(12, 80.0),
        damping=np.full(12, 2.0),
        height=0.29,
    )


def g1() -> Robot:
    """Return the humanoid; its legs take turns."""
    model = humanoid()
    names = [model.joint_names[k] for k in range(1, len(model.joint_names))]
    n = model.nv - 6
    assert len(names) == n
    inertia = 1.0 / np.diag(np.linalg.inv(sf.mass_matrix(model, sf.neutral(model))))[6:]
    stiffness, damping = 900.0 * inertia, 60.0 * inertia
    goal, swing = np.zeros(n), np.zeros(n)
    for k, name in enumerate(names):
        for part, gains in {
            "hip": (200.0, 3.0),
            "knee": (200.0, 3.0),
            "ankle": (80.0, 1.0),
        }.items():
            if part in name:
                stiffness[k], damping[k] = gains
        for part, rest, most in (
            ("hip_pitch", -0.2, -0.3),
            ("knee", 0.4, 0.6),
            ("ankle_pitch", -0.2, -0.3),
        ):
            if part in name:
                goal[k], swing[k] = rest, most
    # explicit steps do not bear more damping on a light foot
    damping = np.minimum(damping, 0.3 * inertia / DT)
    left = np.array(["left" in name for name in names])
    return Robot(
        name="g1",
        model=model,
        ground=soles,
        whole=soles_and_trunk,
        feet=8,
        goal=goal,
        swing=swing,
        phase=np.where(left, 0.0, np.pi),
        stiffness=stiffness,
        damping=damping,
        height=0.76,
    )


def law(robot: Robot, t: Any, q: Any, v: Any, p: Any) -> Any:
    """Return the joint forces; p is how much of the pattern, its rate [rad/s] and its phase."""
    pull = []
    for k in range(robot.model.nv - 6):
        wave = sf.math.sin(p[1] * t + p[2] + float(robot.phase[k]))
        lift = float(robot.swing[k]) * p[0] * sf.math.if_positive(wave, wave, 0.0)
        spring = float(robot.stiffness[k]) * (float(robot.goal[k]) + lift - q[7 + k])
        pull.append(p[3] * (spring - float(robot.damping[k]) * v[6 + k]))
    return [0.0] * 6 + pull


def motions(robot: Robot, kind: str, count: int, rng: Any) -> tuple[Any, Any, Any]:
    """Return states and joint forces of so many motions of a kind."""
    model = robot.model
    q, v = np.tile(sf.neutral(model), (count, 1)), 0.1 * rng.standard_normal((count, model.nv))
    q[:, 7:] = robot.goal + 0.05 * rng.standard_normal((count, model.nv - 6))
    q[:, 2] = robot.height + 0.02
    p = np.zeros((count, 4))
    p[:, 3] = 1.0
    tilt = 0.02
    if kind == "walking":
        p[:, 0] = rng.uniform(0.5, 1.5, count)
        p[:, 1] = 2.0 * np.pi * rng.uniform(1.0, 3.0, count)
        p[:, 2] = rng.uniform(0.0, 2.0 * np.pi, count)
    elif kind.startswith("falling"):
        tilt = 0.5
        q[:, 2] += rng.uniform(0.0, 0.3, count)
        v += rng.standard_normal((count, model.nv))
        p[:, 3] = rng.uniform(0.0, 1.0, count) ** 2
    q[:, 3:6], q[:, 6] = tilt * rng.standard_normal((count, 3)), 1.0
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    control = partial(law, robot)
    after = sf.rollout(
        model,
        q,
        v,
        dt=DT,
        steps=STEPS,
        every=EVERY,
        contacts=robot.ground(),
        control=lambda t, q, v, p: control(t, q, v, p),
        parameters=p,
        compiled=True,
    )
    t = DT * EVERY * np.arange(1, STEPS // EVERY + 1)
    forces = [law(robot, t, *(np.moveaxis(x[k], -1, 0) for x in after), p[k]) for k in range(count)]
    tau = np.array([[np.broadcast_to(x, t.shape) for x in row] for row in forces])
    states = *after, np.moveaxis(tau, 1, -1)
    return tuple(np.asarray(x).reshape(-1, x.shape[-1]) for x in states)


def draw(robot: Robot, kind: str, count: int, rng: Any) -> tuple[Any, Any, Any]:
    """Return states of a kind with some contact, at random."""
    q, v, tau = motions(
        robot, kind, max(16, count // (3 if kind.startswith("falling") else 10)), rng
    )
    gaps = sf.contact.contact_forces(robot.model, q, v, tau, contacts=robot.ground()).gaps
    lowest = 0.05 if kind == COLLAPSING else 0.3
    upright = (q[:, 2] > lowest * robot.height) & (q[:, 2] < 2.0 * robot.height)
    fit = np.flatnonzero((gaps < 0).any(axis=1) & upright & np.isfinite(tau).all(axis=1))
    some = rng.permutation(fit)[:count]
    return q[some], v[some], tau[some]


def judge(robot: Robot, kind: str, count: int) -> bool:
    """Compare, print and judge."""
    if kind == COLLAPSING:
        robot = robot._replace(ground=robot.whole)
    q, v, tau = draw(robot, kind, count, np.random.default_rng(17))
    twin = Twin(robot.model, robot.ground())
    wanted = []
    for state in zip(q, v, tau, strict=True):
        twin.put(*state)
        twin.forward()
        wanted.append(twin.contacts()[0])
    f = np.array(wanted)
    size = np.linalg.norm(f, axis=(1, 2))
    pushed = size > SMALLEST_FORCE
    touching = (f[..., 2] > 0).sum(axis=1)
    share = (f[:, robot.feet :, 2] > 0).any(axis=1).mean() if f.shape[1] > robot.feet else 0.0
    good = pushed.sum() > 0.9 * count and (kind != COLLAPSING or share > 0.3)
    print(
        f"contact states: {robot.name} {kind}: {len(q)} states, {pushed.sum()} with force,"
        f" {touching.mean():.1f} contacts on average, others than feet in {share:.0%} of the states"
    )
    found = sf.contact.contact_forces(robot.model, q, v, tau, contacts=robot.ground())
    errors = np.linalg.norm(found.forces - f, axis=(1, 2))[pushed] / size[pushed]
    above = (errors > BOUND).sum()
    print(
        f"  median {np.median(errors):.1e}, 99 % {np.quantile(errors, 0.99):.1e},"
        f" worst {errors.max():.1e}; {above} above {BOUND:.0e};"
        f" largest residual {found.residual.max():.1e}"
    )
    good = good and not above
    return bool(good)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=1000)
    parser.add_argument("--robots", nargs="+", choices=("a1", "g1"), default=("a1", "g1"))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    arguments = parser.parse_args()
    # limp wrists spin up until steps fail, here as in MuJoCo, long after the body is below ground
    warnings.simplefilter("ignore", sf.errors.NonFiniteStateWarning)
    results = [
        judge(robot, kind, arguments.states)
        for robot in (a1(), g1())
        if robot.name in arguments.robots
        for kind in arguments.kinds
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
