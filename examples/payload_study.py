"""Which payloads can a robot arm carry?  A Monte Carlo study over poses, speeds and payloads.

Every row draws a pose within the joint limits, a speed and a payload at the hand, and asks for the
joint forces.  How often a motor would be overloaded is a mean; the worst case has a row number, and
can be drawn again.  The same call runs on a cluster: pass a Dask client as engine.
"""

import numpy as np

import sixfold as sf

ROWS = 20_000
HAND = "panda_hand"


def study(robot):
    """Return the function of a block of rows, and what is drawn for each row."""
    limit = robot.effort_limit[:7]

    def effort(q, v, payload):
        tau = sf.inverse_dynamics(robot, q, v, np.zeros(robot.nv))
        weight = np.zeros((len(q), 3))
        weight[:, 2] = -9.81 * payload
        J = sf.jacobian(robot, q, HAND)[:, 3:]
        tau = tau - np.einsum("nij,ni->nj", J, weight)  # motors bear the payload too
        share = np.abs(tau[:, :7]) / limit
        return {"share": share, "overloaded": share.max(axis=1) > 1.0}

    draw = {
        "q": sf.sweeps.draws.configuration(robot),
        "v": sf.sweeps.draws.normal(np.zeros(robot.nv), 0.3),
        "payload": sf.sweeps.draws.uniform(0.0, 10.0),
    }
    return effort, draw


def main(engine="threads", rows=ROWS):
    """Print how much of their torque the motors need, and how often that is too much."""
    robot = sf.load("panda")
    effort, draw = study(robot)
    reduce = ["mean", "extremes", sf.sweeps.reducers.quantiles([0.5, 0.99])]
    found = sf.sweeps.sweep(
        effort, rows, seed=1, draw=draw, reduce=reduce, engine=engine, progress=True
    )
    middle, high = found["quantiles"]["share"]
    print("share of the torque limit")
    print(f"{'joint':<16}{'median':>9}{'99 %':>9}{'most':>9}{'row':>9}")
    ends = found["extremes"]["share"]
    for k, name in enumerate(robot.coordinates.v_names[:7]):
        cells = f"{middle[k]:9.2f}{high[k]:9.2f}{ends['max'][k]:9.2f}{ends['max_row'][k]:9d}"
        print(f"{name:<16}{cells}")
    print(f"overloaded: {100 * float(found['mean']['overloaded']):.1f} % of {rows:,} rows")
    return found


if __name__ == "__main__":
    main()
