"""A four-bar linkage: close the loop, count its mobility, drive it, read the forces in its pins.

python four_bar.py --picture four_bar.png
"""

import argparse

import numpy as np

import sixfold as sf

GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.5, 1.2, 0.9
"""Lengths [m]; each rod weighs 1 kg/m."""
SPEED = 6.0
"""Of the crank [rad/s]."""
TURNS = 120
"""Positions around a turn."""


def rod(length):
    """Return a uniform rod along x."""
    I = length**3 / 12
    return sf.Inertia.from_mass(length, (length / 2, 0, 0), (0, I, I))


def linkage():
    """Return two chains from the base, coupled by a hinge at their ends."""
    builder = sf.ModelBuilder("four_bar", gravity=(0, -9.81, 0))
    hinge = sf.Revolute("z")
    builder.add_body("crank", joint=hinge, inertia=rod(CRANK))
    more = {"placement": (CRANK, 0, 0), "inertia": rod(COUPLER)}
    builder.add_body("coupler", parent="crank", joint=hinge, **more)
    more = {"placement": (GROUND, 0, 0), "inertia": rod(ROCKER)}
    builder.add_body("rocker", joint=hinge, **more)
    return builder.close("coupler", "rocker", hinge, (COUPLER, 0, 0), (ROCKER, 0, 0)).build()


def drive(model):
    """Return a turn at constant speed: configurations, torques of the motor, forces in the pin."""
    q = np.empty((TURNS + 1, model.nq))
    guess = [0.0, 0.6, 1.4]
    for k, angle in enumerate(np.linspace(0.0, 2 * np.pi, TURNS + 1)):
        guess[0] = angle
        q[k] = guess = sf.loops.assemble(model, guess, hold=["crank_joint"])
    # velocities and accelerations that keep the loop closed while the crank turns evenly
    J = sf.loops.constraint_jacobian(model, q)
    v = np.zeros_like(q)
    v[:, 0] = SPEED
    v[:, 1:] = -(np.linalg.pinv(J[..., 1:]) @ J[..., :1])[..., 0] * SPEED
    a = np.zeros_like(q)
    gamma = sf.loops.constraint_bias(model, q, v)
    a[:, 1:] = -(np.linalg.pinv(J[..., 1:]) @ gamma[..., None])[..., 0]
    tau, forces = sf.loops.actuator_forces(model, q, v, a, actuated=["crank_joint"])
    wrenches = sf.loops.constraint_wrenches(model, q, forces)
    pin = wrenches[:, model.body_index("rocker"), 3:5]  # world x and y
    return q, v, tau[:, 0], pin


def main(arguments=()):
    """Print what the linkage does; `--picture out.png` draws it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="draw the linkage into this file (needs matplotlib)")
    picture = parser.parse_args(arguments).picture
    model = linkage()
    can = sf.loops.mobility(model, [1.0, -0.7, 1.1])
    q, v, torque, pin = drive(model)
    energy = sf.kinetic_energy(model, q, v) + sf.potential_energy(model, q)
    work = 2 * np.pi * torque[:-1].mean()

    free = sf.simulate(model, q[0], v[0], 5.0, dt=1e-3, every=10)
    drift = free.energy_drift
    gap = np.abs(sf.loops.constraint_gaps(model, free.q)).max()

    print(can)
    print(f"rocker swings between {q[:, 2].min():.4f} and {q[:, 2].max():.4f} rad")
    print(f"torque of the motor {torque.min():.2f} to {torque.max():.2f} N m")
    print(f"work of the motor over a turn {work:.1e} J, energy {np.ptp(energy):.2f} J to and fro")
    print(f"largest force in the pin {np.linalg.norm(pin, axis=1).max():.1f} N")
    print(f"let go for 5 s: energy drifts by {drift:.1e} J, the loop gapes by {gap:.1e} m")
    if picture:
        draw(q, torque, pin, picture)
    return {"mobility": can, "q": q, "torque": torque, "pin": pin, "work": work, "drift": drift}


def draw(q, torque, pin, path):
    """Draw the linkage in twelve positions, and torque and pin force around a turn."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), constrained_layout=True)
    for k, (crank, _, rocker) in enumerate(q[:-1:10]):
        a = CRANK * np.array([np.cos(crank), np.sin(crank)])
        b = np.array([GROUND, 0]) + ROCKER * np.array([np.cos(rocker), np.sin(rocker)])
        corners = np.array([[0, 0], a, b, [GROUND, 0]])
        left.plot(*corners.T, "o-", color=plt.cm.viridis(k / 12), markersize=3)
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]")
    degrees = np.degrees(q[:, 0])
    right.plot(degrees, torque, label="motor [N m]")
    right.plot(degrees, np.linalg.norm(pin, axis=1), label="force in the pin [N]")
    right.set(xlabel="crank [deg]")
    right.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
