"""Two stiff legs walk down a slope by themselves: the compass gait (Goswami et al., 1998).

Between steps the stance foot is a hinge; where the swing foot strikes, it is held, the other foot
is set free, and the legs change roles.
"""

import argparse
import math

import numpy as np

import sixfold as sf

SLOPE = math.radians(3)
LEG, LEG_MASS, HIP_MASS = 1.0, 5.0, 10.0
"""[m, kg, kg]; the mass of a leg is at its middle."""
UPRIGHT = sf.Transform.from_rpy((math.pi / 2, 0, 0))
"""Joints move in their x-y plane: x is ahead, y is up."""


def walker(foot):
    """Return the two legs; the joint at the stance foot is a hinge, or leaves it free."""
    builder = sf.ModelBuilder("compass", gravity=(0.0, 0.0, -9.8))
    leg = sf.Inertia.from_mass(LEG_MASS, (0, LEG / 2, 0))
    hip = sf.Inertia.from_mass(HIP_MASS, (0, LEG, 0))
    swing = sf.Inertia.from_mass(LEG_MASS, (0, -LEG / 2, 0))
    builder.add_body("stance", joint=foot, placement=UPRIGHT, inertia=leg + hip)
    hinge = sf.Revolute("z")
    builder.add_body("swing", parent="stance", joint=hinge, placement=(0, LEG, 0), inertia=swing)
    return builder.build()


HINGED, LOOSE = walker(sf.Revolute("z")), walker(sf.Planar())
STRIKE = sf.contact.ImpactPoint(
    "swing", (0, -LEG, 0), normal=(math.sin(SLOPE), 0, math.cos(SLOPE)), friction=math.inf
)


def above(t, q, v):
    """Return an angle that falls through zero where the swing foot comes down."""
    return 2 * q[0] + q[1] + 2 * SLOPE


def change_feet(t, q, v):
    """Return the state after the swing foot has struck: q is (stance angle, swing - stance)."""
    (_, _, stance, swing), _ = sf.contact.impact(LOOSE, [0, 0, *q], [0, 0, *v], STRIKE)
    return (q[0] + q[1], -q[1]), (stance + swing, -swing)


def walk(stance, stance_rate, swing_rate, duration, steps=None):
    """Walk from just after a strike; all angles against the vertical."""
    left = [math.inf if steps is None else steps]

    def reset(t, q, v):
        left[0] -= 1
        return change_feet(t, q, v) if left[0] else None

    event = sf.Event(above, name="strike", direction=-1, reset=reset)
    q0 = (stance, -2 * SLOPE - 2 * stance)
    return sf.simulate(HINGED, q0, (stance_rate, swing_rate - stance_rate), duration, events=event)


def one_step(start):
    """Return stance angle and both rates after one step, and how long it takes."""
    run = walk(*start, duration=2.0, steps=1)
    q, v = change_feet(run.t[-1], run.q[-1], run.v[-1])
    return np.array([q[0], v[0], v[0] + v[1]]), run.t[-1]


def limit_cycle(start, rounds=6):
    """Return the state after impact that repeats, its period, and the multipliers of the gait."""
    x, width = np.array(start), 1e-6
    for _ in range(rounds):
        end, period = one_step(x)
        columns = [one_step(x + d)[0] - one_step(x - d)[0] for d in width * np.eye(3)]
        P = np.array(columns).T / (2 * width)
        x = x + np.linalg.solve(np.eye(3) - P, end - x)
    return x, period, np.linalg.eigvals(P)


def draw(run, path):
    """Draw the phase plane of one leg."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5))
    # a leg is the stance leg in every other step; both sides of a strike have one time
    odd = np.cumsum(np.diff(run.t, prepend=-1) == 0) % 2 == 1
    angle = np.where(odd, run.q[:, 0] + run.q[:, 1], run.q[:, 0])
    rate = np.where(odd, run.v[:, 0] + run.v[:, 1], run.v[:, 0])
    axes.plot(np.degrees(angle), rate, lw=0.8)
    axes.set(xlabel="angle of one leg [deg]", ylabel="rate [rad/s]")
    axes.set_title("a compass walker finds its gait")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments=()):
    """Walk from a rough start, then find the gait that repeats."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", default="", help="where to draw the phase plane of a leg")
    options = parser.parse_args(arguments)
    rough = (0.2, -1.05, -0.35)
    run = walk(*rough, duration=15.0)
    times = np.array([event.t for event in run.events])
    print(f"{len(times)} steps in {run.duration:g} s; the last one took {np.diff(times)[-1]:.6f} s")
    state, period, multipliers = limit_cycle((0.2187, -1.09, -0.377))
    stance, stance_rate, swing_rate = state
    print(f"the gait that repeats takes {period:.12f} s a step; after impact")
    print(f"  stance {stance:.12f} rad, swing {-2 * SLOPE - stance:.12f} rad")
    print(f"  rates {stance_rate:.12f} and {swing_rate:.12f} rad/s")
    print(f"  a disturbance shrinks to {np.abs(multipliers).max():.3f} of itself in a step")
    if options.picture:
        draw(run, options.picture)
    return {
        "run": run,
        "state": np.array([stance, -2 * SLOPE - stance, stance_rate, swing_rate]),
        "period": period,
        "multipliers": multipliers,
        "last": np.diff(times)[-1],
    }


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
