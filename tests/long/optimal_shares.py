"""How many random problems of optimal control are solved: cart-pole, acrobot, panda.

    python -m tests.long.optimal_shares --starts 100

Cart-pole and acrobot swing up from rest, from random guesses of their one motor.  Panda moves its
tool to random places within one second, by both methods, within its torque limits.
"""

import argparse
import sys
from typing import Any

import numpy as np

import sixfold as sf
from sixfold.learn.tasks import TASKS

UPRIGHT = 0.999
"""Least cosine of every angle from the upright pose at the end."""
NEAR = 0.01
"""Largest distance of panda's tool from its place at the end [m]."""
LEAST_SHARE = 0.95


def cart_pole(count: int) -> float:
    """Return the share of guesses that end upright."""
    guess = np.zeros((count, 80, 2))
    guess[..., 0] = np.random.default_rng(0).normal(size=(count, 80)) * 3
    plan = sf.control.optimal_control(
        sf.load("cart_pendulum"),
        *(None, None, guess),
        dt=0.025,
        steps=80,
        cost=lambda t, q, v, tau: 1e-3 * tau[0] ** 2 + 0.01 * v @ v,
        final_cost=lambda q, v: 200 * (2 + 2 * np.cos(q[1]) + 0.1 * v @ v + q[0] ** 2),
        joints=["slide"],
    )
    return float((-np.cos(plan.q[:, -1, 1]) > UPRIGHT).mean())


def acrobot(count: int) -> float:
    """Return the share of guesses that end upright."""
    guess = np.zeros((count, 200, 2))
    guess[..., 1] = np.repeat(np.random.default_rng(0).normal(size=(count, 20)), 10, axis=1)

    def final(q: Any, v: Any) -> Any:
        return 100.0 * (2 + 2 * np.cos(q[0]) + 2 - 2 * np.cos(q[1]) + 0.1 * v @ v)

    plan = sf.control.optimal_control(
        sf.load("double_pendulum"),
        *(None, None, guess),
        dt=0.02,
        steps=200,
        cost=lambda t, q, v, tau: 1e-3 * tau[1] ** 2 + 1e-3 * v @ v,
        final_cost=final,
        joints=["elbow"],
        iterations=400,
    )
    up = np.minimum(-np.cos(plan.q[:, -1, 0]), np.cos(plan.q[:, -1, 1]))
    return float((up > UPRIGHT).mean())


def panda(count: int, method: Any) -> float:
    """Return the share of places that the tool comes near to."""
    arm = TASKS["reacher"]().model
    tool, home = arm.frame_names[-1], np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
    q, _ = sf.random_state(arm, 2 * count, seed=0)
    start, goal = 0.5 * (q[:count] + home), 0.5 * (q[count:] + home)
    place = sf.frame_pose(arm, goal, tool)[:, :3, 3]

    def running(t: Any, q: Any, v: Any, tau: Any, place: Any) -> Any:
        return 1e-5 * tau @ tau + 1e-2 * v @ v

    def final(q: Any, v: Any, place: Any) -> Any:
        apart = sf.frame_pose(arm, q, tool)[:3, 3] - place
        return 1e3 * apart @ apart + 10 * v @ v

    plan = sf.control.optimal_control(
        *(arm, start, None, sf.gravity_force(arm, start)[:, None]),
        **{"dt": 0.01, "steps": 100, "cost": running, "final_cost": final},
        cost_parameters=place,
        method=method,
        iterations=400,
    )
    ends = sf.frame_pose(arm, plan.q[:, -1], tool)[:, :3, 3]
    assert (np.abs(plan.tau) <= arm.effort_limit).all(), "a torque limit is exceeded"
    return float((np.linalg.norm(ends - place, axis=-1) < NEAR).mean())


def main() -> int:
    """Print the shares; 1 if one is too low."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=100)
    count = parser.parse_args().starts
    shares = {"cart-pole swings up": cart_pole(count), "acrobot swings up": acrobot(count)}
    for method in ("ilqr", "ddp"):
        shares[f"panda within 1 cm, {method}"] = panda(count, method)
    for name, share in shares.items():
        print(f"{name}: {share:.0%} of {count}")
    return int(min(shares.values()) < LEAST_SHARE)


if __name__ == "__main__":
    sys.exit(main())
