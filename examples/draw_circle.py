"""An arm draws a circle: inverse kinematics along it, and the fastest smooth motion through it.

The tool of puma560 follows a circle without turning.  Each point of the circle starts
from the solution before it, so the arm does not jump to another elbow.

python draw_circle.py --picture circle.png
"""

import argparse

import numpy as np

import sixfold as sf

POINTS = 36
RADIUS = 0.15
SPEED, ACCELERATION = 2.0, 8.0


def main(arguments=()):
    """Draw the circle; `--picture out.png` shows the path and the joints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", help="draw path and joints into this file (needs matplotlib)")
    picture = parser.parse_args(arguments).picture

    arm = sf.load("puma560")
    tool = arm.body_names[-1]
    home = np.array([0.0, 0.8, -2.4, 0.2, 1.0, 0.1])
    center = sf.frame_pose(arm, home, tool)
    s = np.linspace(0.0, 1.0, POINTS + 1)
    angles = 2 * np.pi * s**3 * (10 - 15 * s + 6 * s**2)  # slow at both ends
    circle = np.tile(center, (POINTS + 1, 1, 1))
    circle[:, 0, 3] += RADIUS * (np.cos(angles) - 1.0)
    circle[:, 1, 3] += RADIUS * np.sin(angles)

    waypoints = [home]
    for pose in circle[1:]:
        found = sf.inverse_kinematics(arm, {tool: pose}, waypoints[-1], starts=1)
        assert found.converged
        waypoints.append(found.q)
    others = sf.control.all_solutions(arm, {tool: center})
    motion = sf.control.plan_trajectory(
        arm, waypoints, times=s, velocity_limit=SPEED, acceleration_limit=ACCELERATION
    )
    drawn = sf.frame_pose(arm, motion.q, tool)[:, :3, 3]
    off = np.hypot(drawn[:, 0] - center[0, 3] + RADIUS, drawn[:, 1] - center[1, 3]) - RADIUS
    print(f"{len(others)} ways to hold the tool where the circle begins")
    print(f"circle drawn in {motion.duration:.2f} s: {motion.notes[0]}")
    print(f"largest distance from the circle {np.abs(off).max() * 1e3:.2f} mm")
    found = {"motion": motion, "off": off, "ways": len(others), "drawn": drawn}
    if picture:
        draw(found, picture)
    return found


def draw(found, path):
    """Draw the path of the tool, and the joints against time."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    motion = found["motion"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    left.plot(found["drawn"][:, 0], found["drawn"][:, 1])
    left.set(aspect="equal", xlabel="x [m]", ylabel="y [m]", title="path of the tool")
    right.plot(motion.t, motion.v, linewidth=1)
    for limit in (-SPEED, SPEED):
        right.axhline(limit, color="gray", linestyle=":")
    right.set(xlabel="time [s]", ylabel="joint velocities [rad/s]", title="within the limits")
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
