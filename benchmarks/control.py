"""Time inverse kinematics and optimal control, and count what is solved.

python benchmarks/control.py            # needs example-robot-data; Robotics Toolbox if installed

Times are those of one core, processor time, the least of several repeats, in one run.
"""

import argparse
import time

import numpy as np

import sixfold as sf
from sixfold.control.optimal import solve
from sixfold.formats import bundled
from sixfold.interop.examples import FILES

TOOL = {"panda": "panda_link8", "ur5": "tool0"}


def robot(name):
    """Return a robot of example-robot-data, its fingers locked."""
    model = sf.load(str(bundled.folder() / FILES[name][0]))
    fingers = [joint for joint in model.joint_names if "finger_joint1" in joint]
    return sf.lock_joints(model, dict.fromkeys(fingers, 0.0)) if fingers else model


def least(function, repeats):
    """Return the least processor time of a call [s]."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        found.append(time.process_time() - start)
    return min(found)


def poses(count):
    """Solve poses of panda within its limits, beside Robotics Toolbox."""
    arm, tool = robot("panda"), TOOL["panda"]
    q, _ = sf.random_state(arm, count, seed=1)
    T = sf.frame_pose(arm, q, tool)
    found = sf.inverse_kinematics(arm, {tool: T})
    each = least(lambda: sf.inverse_kinematics(arm, {tool: T}), 5) / count
    print(
        f"panda: {found.converged.mean():.3%} of {count:,} poses to 1e-8, {each * 1e6:.2f} us each"
    )
    far = T[:1000].copy()
    far[:, :3, 3] *= 3.0
    away = sf.inverse_kinematics(arm, {tool: far})
    print(f"  of 1,000 poses three times as far: {away.converged.sum()} converged")
    try:
        import roboticstoolbox as rtb
    except ImportError:
        print("  Robotics Toolbox is not installed: pip install roboticstoolbox-python")
        return
    ets = rtb.models.Panda().ets()
    goals = np.array([ets.eval(x) for x in q[:2000]])

    def theirs():
        return [ets.ik_LM(goal, joint_limits=True, tol=1e-16) for goal in goals]

    end = np.array([ets.eval(one.q) for one in theirs()])
    good = (np.abs(end - goals).max((1, 2)) < 1e-8).mean()
    other = least(theirs, 3) / len(goals)
    print(f"  Robotics Toolbox ik_LM: {good:.2%} to 1e-8, {other * 1e6:.0f} us each, ", end="")
    print(f"{other / each:.0f} times as long")


def solutions(count):
    """Count the solutions of ur5."""
    arm, tool = robot("ur5"), TOOL["ur5"]
    q, _ = sf.random_state(arm, count, seed=5)
    T = sf.frame_pose(arm, q, tool)
    standard, many = (
        np.isfinite(sf.all_solutions(arm, {tool: T}, **options)[..., 0]).sum(-1)
        for options in ({}, {"starts": 1000})
    )
    regular = many == many.max()
    share = (standard[regular] == many[regular]).mean()
    print(f"ur5: {regular.sum()} of {count:,} poses have {many.max()} solutions (1,000 starts);")
    print(f"  all of them are found in {share:.2%} by default")


def effort(t, q, v, tau, goal):
    """Running cost."""
    return 1e-5 * tau @ tau + 1e-2 * v @ v


def motions(count):
    """Reach with panda under its torque limits, and time one iteration."""
    arm, tool = robot("panda"), TOOL["panda"]
    home = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7])
    q, goal = (0.5 * (sf.random_state(arm, count, seed=k)[0] + home) for k in (0, 1))
    places = sf.frame_pose(arm, goal, tool)[:, :3, 3]

    def final(q, v, goal):
        apart = sf.frame_pose(arm, q, tool)[:3, 3] - goal
        return 1e3 * apart @ apart + 10 * v @ v

    given = {"dt": 0.01, "steps": 100, "cost": effort, "final_cost": final}
    tau = sf.gravity_force(arm, q)[:, None]
    found = sf.optimal_control(arm, q, None, tau, cost_parameters=places, **given)
    end = sf.frame_pose(arm, found.q[:, -1], tool)[:, :3, 3]
    reached = (np.linalg.norm(end - places, axis=-1) < 0.01).mean()
    held = bool((np.abs(found.tau) <= arm.effort_limit).all())
    print(f"panda: {reached:.0%} of {count} places reached to 1 cm, torque limits held: {held}")
    for method in ("ilqr", "ddp"):
        sweeps, state = _begun(arm, q[0], tau[0], places[0], method, given)

        def again(sweeps=sweeps, state=state):
            state.done[:] = state.converged[:] = False
            state.mu[:] = 0.0
            sweeps.iterate(state, 1e-30)

        again()
        print(f"  one iteration of {method}, 100 nodes: {least(again, 30) * 1e3:.2f} ms")


def _begun(arm, q, tau, place, method, given):
    """Return the sweeps and the state of a problem before its first iteration."""
    kept = []
    minimise = solve._minimise
    solve._minimise = lambda sweeps, state, tolerance, most: kept.append((sweeps, state))
    try:
        sf.optimal_control(arm, q, None, tau, cost_parameters=place, method=method, **given)
    finally:
        solve._minimise = minimise
    return kept[0]


def main():
    """Run all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--poses", type=int, default=100_000)
    parser.add_argument("--motions", type=int, default=100)
    options = parser.parse_args()
    sf.set_threads(1)
    poses(options.poses)
    solutions(1000)
    motions(options.motions)


if __name__ == "__main__":
    main()
