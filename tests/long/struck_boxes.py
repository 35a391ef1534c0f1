"""Random bodies that strike with several points and friction: how many impacts are left open.

    python -m tests.long.struck_boxes [--states 5000]

A state is left open if the residual of `sf.contact.impact` is above 1e-10 m/s.  The law is checked
apart from it, on velocities and impulses as they come out.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import sixfold as sf

FACE = [(x, y, -0.15) for x in (-0.05, 0.05) for y in (-0.1, 0.1)]
BODIES = {
    "box": (FACE, (0.02, 0.015, 0.01), (0.0, 0.0, 0.0)),
    "box, off centre": (FACE, (0.02, 0.015, 0.01), (0.02, 0.05, 0.03)),
    "plate": ([(4 * x, 3 * y, 0.05 * z) for x, y, z in FACE], (0.02, 0.015, 0.01), (0.0, 0.0, 0.0)),
    "needle": (FACE, (2e-4, 0.03, 0.03), (0.0, 0.0, 0.0)),
    "eight corners": ([(x, y, z * s) for x, y, z in FACE for s in (1, -1)], (0.02, 0.015, 0.01),
                      (0.0, 0.0, 0.0)),
}  # fmt: skip
OPEN = 1e-10
BOUNDS = {0.0: 0.0, 0.3: 0.0, 1.0: 5e-3, 2.0: 3e-2}
"""Share of states that may be left open, by coefficient of friction."""


def body(rotational, center):
    """Return a free body of 2 kg."""
    builder = sf.ModelBuilder("body")
    inertia = sf.Inertia.from_mass(2.0, center, rotational)
    builder.add_body("body", joint=sf.Free(), inertia=inertia)
    return builder.build()


def violation(model, q, v, points, after, impulses):
    """Return how far each state is from the law, as a share of the speeds before."""
    J = np.stack(
        [
            sf.jacobian(model, q, "body", np.array(p.position), frame="aligned")[:, 3:]
            for p in points
        ],
        axis=1,
    )
    before, now = (np.einsum("spij,sj->spi", J, x) for x in (v, after))
    scale = np.abs(before).max(axis=(1, 2))[:, None]
    gain = np.abs(impulses).max(axis=(1, 2))[:, None] / scale
    gain = np.where(gain > 0, gain, 1.0)
    e, mu = points[0].restitution, points[0].friction
    normal, tangential = impulses[..., 2], impulses[..., :2]
    closed = np.minimum(now[..., 2] + e * before[..., 2], normal / gain)
    moved = tangential - gain[..., None] * now[..., :2]
    length, reach = np.linalg.norm(moved, axis=-1), mu * normal
    nearest = moved * np.where(length > reach, reach / np.maximum(length, 1e-300), 1.0)[..., None]
    slid = np.abs(tangential - nearest).max(axis=-1) / gain
    return (np.maximum(np.abs(closed), slid) / scale).max(axis=1)


def main() -> int:
    """Print one line for each body and coefficient; return 1 if too much is left open."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--states", type=int, default=5000)
    states = parser.parse_args().states
    failed = False
    for name, (corners, rotational, center) in BODIES.items():
        model = body(rotational, center)
        q, v = sf.random_state(model, states, seed=1)
        v[:, 5] -= 2.0
        for mu, bound in BOUNDS.items():
            points = [
                sf.contact.ImpactPoint("body", c, restitution=0.3, friction=mu) for c in corners
            ]
            after, impulses, residual = sf.contact.impact(model, q, v, points, residual=True)
            wrong = violation(model, q, v, points, after, impulses)
            left = residual > OPEN
            worst = wrong[~left].max()
            bad = left.mean() > bound or worst > 1e-10
            failed |= bad
            print(
                f"{name:16} mu {mu:3.1f}: {left.sum():4d} of {states} left open, the others within "
                f"{worst:.1e} of the speeds{'   <-- beyond the bound' if bad else ''}",
                flush=True,
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
