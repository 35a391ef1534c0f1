"""A linear-quadratic regulator balances a double pendulum and a cart-pole upright.

Both have one motor fewer than joints: the double pendulum (an acrobot) has it at the elbow, the
cart-pole at the cart.

python lqr_balance.py --picture balance.png
"""

import argparse

import numpy as np

import sixfold as sf

UPRIGHT = {"double_pendulum": [np.pi, 0.0], "cart_pendulum": [0.0, np.pi]}
MOTOR = {"double_pendulum": "elbow", "cart_pendulum": "slide"}
START = {"double_pendulum": np.radians([8.0, -12.0]), "cart_pendulum": [0.5, np.radians(25.0)]}
DURATION = 8.0


def regulator(model, upright, motor, dt=None):
    """Return the feedback law of an LQR that moves one joint, and its closed-loop eigenvalues."""
    rest = np.zeros(model.nv)
    integrator = None if dt is None else "rk4"
    A, B = sf.control.linearize(model, upright, rest, rest, dt, integrator)
    column = model.coordinates.v_slice(motor)
    best = sf.control.lqr(A, B[:, column], Q=[10.0, 10.0, 1.0, 1.0], R=0.1, dt=dt)
    gains = np.zeros((model.nv, 2 * model.nv))
    gains[column] = best.K
    upright = np.array(upright)

    def law(t, q, v):
        return -gains @ np.concatenate([sf.difference(model, upright, q), v])

    return law, best.eigenvalues


def balance(name, dt=None):
    """Let go beside the upright position, and from fifty random places near it."""
    model = sf.load(name)
    upright = np.array(UPRIGHT[name])
    law, eigenvalues = regulator(model, upright, MOTOR[name], dt)
    digital = dt is not None
    options = {"control": law, "integrator": "rk4", "hold": digital}

    h = dt or 1e-3
    run = sf.simulate(model, upright + START[name], None, DURATION, dt=h, **options)
    assert run.notes == ()  # the law is compiled
    rng = np.random.default_rng(1)
    errors = rng.uniform(-0.5, 0.5, (50, 2)) * START[name]
    q, v = sf.rollout(
        model, upright + errors, None, dt=h, steps=round(DURATION / h), every=10, **options
    )
    left = np.abs(np.concatenate([q - upright, v], -1)).max(axis=-1)  # one for each time

    clock = "continuous" if dt is None else f"digital, {1 / dt:.0f} Hz"
    slowest = np.abs(eigenvalues).max() if digital else eigenvalues.real.max()
    print(f"{name}: motor at '{MOTOR[name]}', {clock}")
    print(f"  slowest closed-loop eigenvalue {slowest:.3f}{'' if digital else ' 1/s'}")
    print(f"  largest torque or force {np.abs(run.tau).max():.1f}")
    print(f"  error after {DURATION:.0f} s: {np.abs(run.q[-1] - upright).max():.1e}")
    print(f"  balanced from {(left[:, -1] < 1e-3).sum()} of 50 random errors")
    return {"run": run, "upright": upright, "error": left, "slowest": slowest}


def main(arguments=()):
    """Balance both; `--picture out.png` draws how they come to rest."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="draw the motions into this file (needs matplotlib)")
    picture = parser.parse_args(arguments).picture
    found = {
        "double_pendulum": balance("double_pendulum"),
        "cart_pendulum": balance("cart_pendulum", dt=0.02),
    }
    if picture:
        draw(found, picture)
    return found


def draw(found, path):
    """Draw the joints of both against time, and how fast fifty random errors die out."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10, 6), sharex=True, constrained_layout=True)
    for column, (name, one) in zip(axes.T, found.items(), strict=True):
        run = one["run"]
        for k, joint in enumerate(sf.load(name).coordinates.q_names):
            column[0].plot(run.t, run.q[:, k] - one["upright"][k], label=joint)
        column[0].set(title=name, ylabel="away from upright [rad or m]")
        column[0].legend()
        times = np.linspace(0.0, DURATION, one["error"].shape[1] + 1)[1:]
        column[1].semilogy(times, one["error"].T, color="tab:blue", alpha=0.3, linewidth=0.7)
        column[1].set(xlabel="time [s]", ylabel="largest error, 50 starts")
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
