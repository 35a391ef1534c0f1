"""A humanoid that stands on its two flat feet for a second, against MuJoCo step by step.

    python -m tests.long.humanoid_trajectory [--starts 5]

g1 with 29 joints lands from 1 cm on four soft spheres a foot, held by springs in its joints.  Both
take the same steps with the same soft parameters; the largest distance of the pelvis and of both
ankles within the second is compared.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import sixfold as sf
from tests.contact.scenes import Twin, soles
from tests.long.contact_states import DT, g1

SECONDS, EVERY = 1.0, 100
BOUND = 1e-3
"""Of the distance [m]."""
FRAMES = ("left_ankle_roll_link", "right_ankle_roll_link")


def main() -> int:
    """Print the distances; return 1 if one is beyond the bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=5)
    starts = parser.parse_args().starts
    robot = g1()
    model, n = robot.model, robot.model.nv - 6
    rng = np.random.default_rng(3)
    q, v = np.tile(sf.neutral(model), (starts, 1)), 0.05 * rng.standard_normal((starts, model.nv))
    q[:, 7:] = robot.goal + 0.02 * rng.standard_normal((starts, n))
    q[:, 2] = robot.height + 0.01
    stiffness, damping = robot.stiffness, robot.damping

    def law(t, q, v):
        return [0.0] * 6 + [
            float(stiffness[k]) * (float(robot.goal[k]) - q[7 + k]) - float(damping[k]) * v[6 + k]
            for k in range(n)
        ]

    steps = round(SECONDS / DT)
    options = {"dt": DT, "steps": steps, "every": EVERY, "contacts": soles()}
    found, _ = sf.rollout(model, q, v, control=law, compiled=True, **options)
    twin, worst = Twin(model, soles(), dt=DT), 0.0
    for k in range(starts):
        twin.put(q[k], v[k], np.zeros(model.nv))
        there, forces = [], []
        for step in range(1, steps + 1):
            at, fast = twin.state()
            twin.d.qfrc_applied[6:] = law(0.0, at, fast)[6:]
            twin.step()
            if step % EVERY == 0:
                there.append(twin.state()[0])
                forces.append(twin.contacts()[0].sum(axis=0)[2])
        there = np.array(there)
        apart = np.linalg.norm(found[k, :, :3] - there[:, :3], axis=1).max()
        for name in FRAMES:
            here, mine = (sf.frame_pose(model, x, name)[..., :3, 3] for x in (there, found[k]))
            apart = max(apart, np.linalg.norm(here - mine, axis=1).max())
        worst = max(worst, apart)
        print(
            f"humanoid trajectory: start {k}: pelvis from {q[k, 2]:.3f} to {there[-1, 2]:.3f} m,"
            f" feet push with {np.mean(forces):.0f} N, at most {1e3 * apart:.2e} mm apart",
            flush=True,
        )
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
