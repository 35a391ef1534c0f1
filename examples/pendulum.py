"""A pendulum (Concurrent Dynamics, example 1): how long does a wide swing take?"""

import math

import sixfold as sf


def agm(a, b):
    """Return the arithmetic-geometric mean, which gives elliptic integrals."""
    while abs(a - b) > 1e-15 * a:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return a


def main():
    """Compare the simulated period of a pendulum with the exact one."""
    pendulum = sf.load("pendulum")
    mass, length, inertia = 1.0, 0.5, 0.02
    start = math.radians(120)

    # the bob hangs at q = 0: each second crossing of q = 0 completes a period
    lowest = sf.Event(lambda t, q, v: q[0], name="lowest point")
    run = sf.simulate(pendulum, [start], [0.0], 20.0, events=lowest)
    times = [event.t for event in run.events]
    measured = (times[-1] - times[0]) / ((len(times) - 1) / 2)

    slow = math.sqrt((inertia + mass * length**2) / (mass * 9.81 * length))
    exact = 2 * math.pi * slow / agm(1.0, math.cos(start / 2))
    print(run)
    print(f"period measured {measured:.12f} s")
    print(f"period exact    {exact:.12f} s   (small swings: {2 * math.pi * slow:.4f} s)")
    return {"measured": measured, "exact": exact}


if __name__ == "__main__":
    main()
