"""The picture of the front page: an arm draws, pendulums flip, a chain falls.

The map in the middle shows 160,000 double pendulums, each let go at rest from the two angles of its
pixel; its colour is the time until the lower link first turns over, white if it does not.

python front_picture.py --picture front.png
"""

import argparse

import numpy as np

import sixfold as sf

DT, DURATION = 0.01, 12.0
LINKS = 14


def flips(size):
    """Return the time [s] of the first flip for a grid of starts; infinite if there is none."""
    model = sf.load("double_pendulum")
    angles = np.linspace(-np.pi, np.pi, size)
    first, second = np.meshgrid(angles, angles)
    q, v = np.stack([first, second - first], axis=-1), np.zeros((size, size, 2))
    when = np.full((size, size), np.inf)
    for k in range(round(DURATION / 0.1)):
        q, v = (x[..., -1, :] for x in sf.rollout(model, q, v, dt=DT, steps=10, every=10))
        over = np.abs(q.sum(axis=-1)) > np.pi  # the lower link, from the vertical
        when = np.where(over & np.isinf(when), 0.1 * (k + 1), when)
    return when


def circle():
    """Return the corners of an arm that draws a circle, (moments, points, 3)."""
    arm = sf.load("puma560")
    home, tool = np.array([0.0, 0.8, -2.4, 0.2, 1.0, 0.1]), arm.body_names[-1]
    center, shapes = sf.frame_pose(arm, home, tool), []
    q = home
    for angle in np.linspace(0.0, 2 * np.pi, 61):
        pose = center.copy()
        pose[:2, 3] += 0.2 * np.array([np.cos(angle) - 1.0, np.sin(angle)])
        q = sf.inverse_kinematics(arm, {tool: pose}, q, starts=1).q
        joints = sf.body_poses(arm, q)[:, :3, 3]
        shapes.append(np.concatenate([[[0.0, 0.0, 0.0]], joints]))
    return np.array(shapes)


def falling():
    """Return the corners of a chain that falls, (moments, points, 2)."""
    chain = sf.load(f"planar_chain:{LINKS}")
    run = sf.simulate(chain, None, None, 2.6, every=100)
    poses = sf.body_poses(chain, run.q)
    last = poses[:, -1, :2, 3] + poses[:, -1, :2, 0]  # the end of the last link
    return np.concatenate([poses[..., :2, 3], last[:, None]], axis=1)


def main(arguments=()):
    """Compute the three parts; `--picture out.png` draws them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="draw into this file (needs matplotlib)")
    parser.add_argument("--size", type=int, default=400, help="pixels of the map along a side")
    options = parser.parse_args(arguments)
    found = {"flips": flips(options.size), "circle": circle(), "falling": falling()}
    share = np.isfinite(found["flips"]).mean()
    print(f"{share:.0%} of {options.size**2:,} pendulums turn over within {DURATION:g} s")
    if options.picture:
        draw(found, options.picture)
    return found


def draw(found, path):
    """Draw the three parts side by side."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure = plt.figure(figsize=(9.6, 3.2), dpi=100)
    left = figure.add_axes((0.0, 0.0, 0.33, 1.0), projection="3d")
    shapes = found["circle"]
    left.plot([0, 0], [0, 0], [0.3, 0.67], color="0.5", lw=5)
    shapes = shapes[:, 2:]  # from the shoulder on
    for k in range(0, len(shapes), 5):
        left.plot(*shapes[k].T, color=plt.cm.viridis(k / len(shapes)), lw=1.6, alpha=0.8)
    left.plot(*shapes[:, -1].T, color="tab:red", lw=2)
    left.set_axis_off()
    left.view_init(22, -60)
    left.set_box_aspect((1, 1, 1), zoom=1.7)
    left.set_aspect("equal")
    middle = figure.add_axes((0.345, 0.04, 0.31, 0.92))
    middle.imshow(
        found["flips"], origin="lower", cmap="magma", norm="log", interpolation="bilinear"
    )
    middle.set_axis_off()
    right = figure.add_axes((0.67, 0.02, 0.32, 0.96))
    for k, line in enumerate(found["falling"]):
        right.plot(*line.T, color=plt.cm.plasma(0.9 * k / len(found["falling"])), lw=1.4)
    right.set(aspect="equal")
    right.set_axis_off()
    figure.savefig(path, pil_kwargs={"optimize": True})
    plt.close(figure)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
