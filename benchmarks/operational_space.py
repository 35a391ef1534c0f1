"""Operational-space inertia of many states, next to a loop over Pinocchio.

Run with `python -m benchmarks.operational_space`.  Pinocchio's loop builds Lambda as its users do:
from `computeMinverse`, the frame's Jacobian and NumPy's inverse of the 6 x 6 matrix.  Both get the
same states; results are compared before anything is timed; the two take turns, and the best round
of each counts.
"""

import numpy as np

import sixfold as sf
from benchmarks.bench.clock import interleaved
from sixfold.interop.pinocchio import pinocchio_package, to_pinocchio

STATES, LOOPED, ROUNDS = 4096, 128, 30
ROBOTS = {
    "puma560": "link6",
    "panda": "panda_link7",
    "baxter": "left_wrist",
    "talos_full": "arm_left_7_link",
}


def pinocchio_loop(model, frame, q):
    """Return a function that computes Lambda of the first states one by one."""
    pin = pinocchio_package()
    robot = to_pinocchio(model)
    data, rows = robot.createData(), list(q)
    joint = robot.getJointId(model.joint_names[model.body_index(frame)])

    def loop():
        found = []
        for x in rows:
            inverse = pin.computeMinverse(robot, data, x)
            inverse = np.triu(inverse) + np.triu(inverse, 1).T
            pin.computeJointJacobians(robot, data, x)
            J = pin.getJointJacobian(robot, data, joint, pin.LOCAL_WORLD_ALIGNED)
            found.append(np.linalg.inv(J @ inverse @ J.T))
        return found

    return loop


def main():
    sf.set_threads(1)
    print(f"{'robot':<12}{'dof':>5}{'sixfold':>14}{'pin loop':>14}{'ratio':>8}   median")
    for name, frame in ROBOTS.items():
        model = sf.load(name).without(damping=True, friction=True, armature=True, springs=True)
        # Pinocchio's model has no couplings: fingers that follow others are locked
        leaders = {model.joint_names[k] for each in model.couplings for k, _ in each.terms}
        model = sf.lock_joints(model, sorted(leaders))
        q, _ = sf.random_state(model, STATES, seed=1)
        out = np.empty((STATES, 6, 6))
        loop = pinocchio_loop(model, frame, q[:LOOPED])
        swap = [3, 4, 5, 0, 1, 2]  # Pinocchio has the linear rows first
        with np.errstate(all="ignore"):
            ours = sf.control.operational_space_inertia(model, q[:LOOPED], frame)
            theirs = np.array(loop())[:, swap][:, :, swap]
        size = np.abs(ours).max(axis=(1, 2))
        regular = size < 1e4 * np.median(size)
        worst = np.abs(ours - theirs).max(axis=(1, 2))[regular] / size[regular]
        assert worst.max() < 1e-8, f"{name}: the two disagree by {worst.max():.1e}"

        def batch(model=model, q=q, frame=frame, out=out):
            sf.control.operational_space_inertia(model, q, frame, out=out)

        times = interleaved([batch, loop], ROUNDS)
        own, other = (np.array(x) / n * 1e9 for x, n in zip(times, (STATES, LOOPED), strict=True))
        ratio, median = other.min() / own.min(), np.median(other) / np.median(own)
        best = f"{own.min():>11.0f} ns{other.min():>11.0f} ns{ratio:>8.0f}{median:>9.0f}"
        print(f"{name:<12}{model.nv:>5}{best}")


if __name__ == "__main__":
    main()
