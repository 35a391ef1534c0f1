"""A wheel without a rim rolls down a slope on its spokes, losing speed at each (McGeer, 1990)."""

import math

import numpy as np

import sixfold as sf

SPOKES, LENGTH, SLOPE = 8, 1.0, 0.08
HALF = math.pi / SPOKES
"""Half the angle between two spokes [rad]."""
TILTED = (9.81 * math.sin(SLOPE), 0.0, -9.81 * math.cos(SLOPE))
"""Gravity in axes of the slope: x down the slope, z away from it."""


def models():
    """Return the wheel on one spoke, a pendulum upside down, and the hub by itself, a point."""
    on_spoke = sf.ModelBuilder("rimless wheel", gravity=TILTED)
    mass = sf.Inertia.from_mass(1.0, (0, 0, LENGTH))
    on_spoke.add_body("spoke", joint=sf.Revolute("y"), inertia=mass)
    hub = sf.ModelBuilder("hub", gravity=TILTED)
    hub.add_body("hub", joint=sf.Translational(), inertia=sf.Inertia.from_mass(1.0))
    return on_spoke.build(), hub.build()


def roll(speed, duration):
    """Roll from just after a spoke has struck, with this speed [rad/s]."""
    wheel, hub = models()
    # the next spoke has no mass: it can push the hub along itself only
    strut = sf.contact.ImpactPoint("hub", normal=(-math.sin(HALF), 0, math.cos(HALF)))

    def next_spoke(t, q, v):
        before = LENGTH * v[0] * np.array([math.cos(q[0]), 0, -math.sin(q[0])])
        after, _ = sf.contact.impact(hub, np.zeros(3), before, strut)
        # across the new spoke
        return [-HALF], [(after[0] * math.cos(HALF) + after[2] * math.sin(HALF)) / LENGTH]

    strike = sf.Event(lambda t, q, v: q[0] - HALF, "strike", direction=1, reset=next_spoke)
    return sf.simulate(wheel, [-HALF], [speed], duration, dt=2e-3, events=strike)


def main():
    """Roll from too slow and from too fast a start; both end in the same motion."""
    exact = math.sqrt(4 * 9.81 * math.sin(HALF) * math.sin(SLOPE)) / math.tan(2 * HALF)
    found = {}
    for start in (1.0, 3.0):
        run = roll(start, 45.0)
        speeds = np.array([event.v_after[0] for event in run.events])
        off = speeds**2 - exact**2
        shrinks = off[3:9] / off[2:8]
        print(f"from {start:g} rad/s: {len(speeds)} spokes, at last {speeds[-1]:.13f} rad/s")
        print(f"  what is missing in the energy shrinks by {shrinks.mean():.9f} at each spoke")
        found[start] = {"run": run, "speeds": speeds, "shrinks": shrinks}
    print(f"by the formula                   {exact:.13f} rad/s and {math.cos(2 * HALF) ** 2:.9f}")
    return {"exact": exact, **found}


if __name__ == "__main__":
    main()
