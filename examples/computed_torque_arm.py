"""An arm follows a smooth motion: computed torque beside springs and dampers."""

import numpy as np

import sixfold as sf
from sixfold import control as controllers


def main():
    """Move the Puma 560 through a wide arc in one second by two controllers."""
    arm = sf.load("puma560").without(friction=True)
    start = np.array([0.0, 0.8, -0.5, 0.0, 0.3, 0.0])
    goal = np.array([1.2, 0.1, 0.6, -0.8, 0.9, 1.5])
    path = controllers.minimum_jerk(start, goal, 1.0)

    # the model inside the first controller is wrong by a payload of half a kilogram
    loaded = sf.add_payload(arm, arm.body_names[-1], mass=0.5)
    laws = {
        "computed torque": controllers.computed_torque(arm, path, kp=400.0, kd=40.0),
        "springs to the goal": controllers.pd(arm, goal, kp=400.0, kd=40.0),
    }
    worst = {}
    for name, law in laws.items():
        run = sf.simulate(loaded, start, None, 1.5, control=law)
        wanted = np.array([path(t)[0] for t in run.t])
        worst[name] = float(np.abs(run.q - wanted).max())
        peak = np.abs(run.tau).max()
        print(f"{name:<20} worst error {worst[name]:.4f} rad, largest joint force {peak:.0f} N m")
    return worst


if __name__ == "__main__":
    main()
