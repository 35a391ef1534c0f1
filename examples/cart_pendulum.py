"""A pendulum on a cart (Concurrent Dynamics, example 2): nothing pushes sideways."""

import numpy as np

import sixfold as sf


def main():
    """Let go of the pendulum and watch what must not change."""
    model = sf.load("cart_pendulum")
    run = sf.simulate(model, [0.0, np.radians(90)], [0.0, 0.0], 10.0)

    # gravity acts along -y: momentum along x and the centre of mass along x stay
    sideways = np.abs(sf.momentum(model, run.q, run.v)[:, 3]).max()
    wander = np.ptp(sf.center_of_mass(model, run.q)[:, 0])
    travel = np.ptp(run.q[:, 0])
    print(f"the cart travels {travel:.4f} m to and fro (exact: {2 * 0.5 * 0.4 / 2.5:.4f} m)")
    print(f"the centre of mass moves {wander:.1e} m sideways, momentum {sideways:.1e} kg m/s")
    print(f"the energy changes by {run.energy_drift:.1e} J")
    return {"travel": travel, "wander": wander, "momentum": sideways, "energy": run.energy_drift}


if __name__ == "__main__":
    main()
