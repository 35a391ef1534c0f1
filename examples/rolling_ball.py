"""A ball rolls down a slope: five sevenths of the acceleration of one that slides (Carius)."""

import math

import sixfold as sf


def main():
    """Tilt gravity instead of the ground and compare with the textbook."""
    slope, radius = math.radians(20), 0.1
    tilted = (0.0, 9.81 * math.sin(slope), -9.81 * math.cos(slope))
    ball = sf.load("rolling_ball").with_gravity(tilted)
    run = sf.simulate(ball, [0.0], [0.0], 2.0, dt=1e-2)

    way = radius * abs(run.q[-1, 0])
    exact = 0.5 * (5 / 7) * 9.81 * math.sin(slope) * run.duration**2
    print(f"after {run.duration:g} s the ball has rolled {way:.12f} m")
    print(f"by the formula                {exact:.12f} m")
    print(f"the energy changes by {run.energy_drift:.1e} J")
    return {"way": way, "exact": exact, "energy": run.energy_drift}


if __name__ == "__main__":
    main()
