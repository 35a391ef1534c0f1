"""A double pendulum with one motor, at the elbow, swings up: differential dynamic programming.

Twelve random guesses of the elbow's torque are improved at once.  Each ends in a swing-up of its
own; the cheapest is kept upright by a regulator along the motion, against a push at the start.

python acrobot.py --picture acrobot.png
"""

import argparse

import numpy as np

import sixfold as sf

STEPS, DT, GUESSES = 200, 0.02, 12
UPRIGHT = np.array([np.pi, 0.0])


def running(t, q, v, tau):
    """Torque and speed cost a little."""
    return 1e-3 * tau[1] ** 2 + 1e-3 * v @ v


def final(q, v):
    """Both links should point up, at rest."""
    return 100.0 * (2 + 2 * np.cos(q[0]) + 2 - 2 * np.cos(q[1]) + 0.1 * v @ v)


def main(arguments=()):
    """Swing up; `--picture out.png` draws the motion and how the cost fell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="draw motion and costs into this file (needs matplotlib)")
    picture = parser.parse_args(arguments).picture

    model = sf.load("double_pendulum")
    rng = np.random.default_rng(0)
    guess = np.zeros((GUESSES, STEPS, 2))
    guess[..., 1] = np.repeat(rng.normal(size=(GUESSES, STEPS // 10)), 10, axis=1)
    plan = sf.control.optimal_control(
        *(model, None, None, guess),
        **{"dt": DT, "steps": STEPS, "cost": running, "final_cost": final, "joints": ["elbow"]},
        iterations=400,
    )
    up = np.cos(plan.q[:, -1] - UPRIGHT).min(axis=-1)
    best = int(np.argmin(plan.cost))
    print(plan)
    print(f"{(up > 0.999).sum()} of {GUESSES} guesses end upright")

    # a regulator along the best motion, and a start that is pushed aside
    q, v, tau = plan.q[best], plan.v[best], plan.tau[best]
    near = sf.control.linearize(model, q[:-1], v[:-1], tau, dt=DT)
    K = sf.control.tvlqr(near.A, near.B[..., 1:], [10.0, 10.0, 1.0, 1.0], 0.1).K[:, 0]
    ends = {}
    for name, use in (("without feedback", 0.0), ("with feedback", 1.0)):
        x, xd = q[0] + [0.02, -0.02], v[0]
        for k in range(STEPS):
            u = tau[k] - use * np.array([0.0, K[k] @ np.concatenate([x - q[k], xd - v[k]])])
            x, xd = (y[-1] for y in sf.rollout(model, x, xd, u, dt=DT, steps=1))
        ends[name] = float(np.abs(x - q[-1]).max())
        print(f"pushed aside, {name}: {ends[name]:.2g} rad off at the end")
    found = {"plan": plan, "best": best, "up": up, "ends": ends}
    if picture:
        draw(found, picture)
    return found


def draw(found, path):
    """Draw the best motion, its torque, and the costs of all guesses."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plan, best = found["plan"], found["best"]
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.6), constrained_layout=True)
    axes[0].plot(plan.t, plan.q[best], label=["shoulder", "elbow"])
    axes[0].axhline(np.pi, color="gray", linestyle=":")
    axes[0].set(xlabel="time [s]", ylabel="angle [rad]", title="the cheapest swing-up")
    axes[0].legend()
    axes[1].plot(plan.t[:-1], plan.tau[best, :, 1], color="tab:green")
    axes[1].set(xlabel="time [s]", ylabel="torque of the elbow [N m]")
    axes[2].semilogy(plan.history, linewidth=0.8)
    axes[2].set(xlabel="iteration", ylabel="cost", title=f"{GUESSES} guesses")
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
