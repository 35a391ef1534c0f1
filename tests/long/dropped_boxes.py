"""Drop boxes with random attitudes and spins: each comes to rest on a face and stays above ground.

    python -m tests.long.dropped_boxes --boxes 10000

All of them are one batch.  The lowest corner of every step is kept by the compiled controller, so
no step is missed.
"""

import argparse
import sys
import time
from typing import Any

import numpy as np

import sixfold as sf
from tests.contact.scenes import box, corners

SIZE = (0.3, 0.2, 0.1)
"""Edges [m]."""
MAX_SUNK = 0.01
"""Penetration over the shortest edge."""
MAX_SPEED, MAX_TILT = 1e-6, 1e-6
"""At the end: speeds [m/s, rad/s]; one minus the cosine of the angle between face and ground."""
PLACES = np.array([point.position for point in corners(*SIZE)])


def lowest(t: Any, q: Any, v: Any, x: Any) -> tuple[Any, Any]:
    """Return no forces, and the lowest height of a corner up to now."""
    a, b, c, d = q[3], q[4], q[5], q[6]
    row = 2.0 * (a * c - b * d), 2.0 * (b * c + a * d), 1.0 - 2.0 * (a * a + b * b)
    # a box reaches as far down as its half edges, each on the side that points down
    reach = sum(
        0.5 * edge * sf.math.if_positive(r, r, -r) for edge, r in zip(SIZE, row, strict=True)
    )
    low = q[2] - reach
    return [0.0] * 6, [sf.math.if_positive(x[0] - low, low, x[0])]


def run(boxes: int, duration: float, dt: float, fall: float, rigid: bool) -> bool:
    """Drop so many boxes with the lowest corner at a height, print and judge."""
    rng = np.random.default_rng(17)
    model = box(*SIZE)
    law = {"rigid": True} if rigid else {"solref": (2.0 * dt, 1.0)}
    ground = sf.contact.Ground(friction=0.6, points=corners(*SIZE), **law)
    turns = rng.standard_normal((boxes, 4))
    q = np.zeros((boxes, 7))
    q[:, 3:] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    down = sf.body_poses(model, q)[:, 0, 2, :3] @ PLACES.T
    q[:, 2] = fall - down.min(axis=1)
    v = rng.standard_normal((boxes, 6)) * [3.0, 3.0, 3.0, 0.3, 0.3, 0.3]
    start = time.monotonic()
    q, v, x = sf.rollout(
        model,
        q,
        v,
        dt=dt,
        steps=round(duration / dt),
        every=round(duration / dt),
        contacts=ground,
        control=lowest,
        x0=np.full((boxes, 1), 1e3),
        hold=True,
        compiled=True,
    )
    seconds = time.monotonic() - start
    sunk = -x[:, -1, 0]
    speed = np.abs(v[:, -1]).max(axis=1)
    up = np.abs(sf.body_poses(model, q[:, -1])[:, 0, 2, :3])
    tilt = 1.0 - up.max(axis=1)
    faces = np.bincount(up.argmax(axis=1), minlength=3)
    finite = np.isfinite(q[:, -1]).all(axis=1)
    moving, tilted = speed > MAX_SPEED, tilt > MAX_TILT
    deep = sunk > MAX_SUNK * min(SIZE)
    bad = ~finite | moving | tilted | deep
    print(
        f"dropped boxes: {boxes} for {duration} s in steps of {1e3 * dt} ms ({seconds:.0f} s);"
        f" penetration median {1e3 * np.median(sunk):.3f} mm, 99 % below"
        f" {1e3 * np.quantile(sunk, 0.99):.3f} mm, worst {1e3 * sunk.max():.3f} mm"
        f" = {100 * sunk.max() / min(SIZE):.2f} % of the shortest edge,"
        f" {100 * sunk.max() / max(SIZE):.2f} % of the longest; speed at the end at most"
        f" {speed.max():.1e}, tilt {tilt.max():.1e}; faces across x, y, z: {faces.tolist()};"
        f" not finite {(~finite).sum()}, moving {moving.sum()}, on no face {tilted.sum()},"
        f" too deep {deep.sum()}"
    )
    for k in np.flatnonzero(bad)[:5]:
        print(f"  box {k}: sunk {sunk[k]:.2e} m, speed {speed[k]:.2e}, tilt {tilt[k]:.2e}")
    return not bad.any()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boxes", type=int, default=10000)
    parser.add_argument("--duration", type=float, default=4.0, help="[s]")
    parser.add_argument("--dt", type=float, default=2e-4, help="[s]")
    parser.add_argument("--fall", type=float, default=0.1, help="of the lowest corner [m]")
    parser.add_argument("--rigid", action="store_true", help="a rigid ground, no soft one")
    return 0 if run(**vars(parser.parse_args())) else 1


if __name__ == "__main__":
    sys.exit(main())
