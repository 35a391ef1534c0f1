"""Shoot a robot arm at a pose: Gauss-Newton on the forces of every step, in a few iterations.

The arm bears its own weight and has to arrive at a given place, at rest.  What it misses,
r = (q - q_goal, v), has 2 nv numbers; their derivatives by all joint forces of all steps are as
many gradients, one for each row of a batch.  Of all changes of force that make r vanish to first
order, the smallest is taken, in units of what the motors can do; a batch of shorter ones is tried
beside it (line search).
"""

import numpy as np

import sixfold as sf

STEPS, DT = 200, 0.005
LENGTHS = 0.5 ** np.arange(8)


def component(q, v, weights):
    """Return one number of the final state: each row of the batch has its own weights."""
    return weights @ np.concatenate([q, v])


def main():
    """Move the joints of the panda by 0.4 rad, its fingers by 1 cm, within a second."""
    model = sf.load("panda")
    start = 0.5 * (model.lower_position + model.upper_position)
    goal = start + np.where(np.arange(model.nq) < 7, 0.4, 0.01)
    limit, rest = model.effort_limit, np.zeros(model.nv)
    each = np.eye(2 * model.nv)  # one row for each number of the final state
    tau = np.zeros((STEPS, model.nv))
    law = sf.control.pd(model, goal, kp=0.0, kd=0.02 * limit)  # weight and damping
    options = {"dt": DT, "steps": STEPS, "control": law}

    def misses(tau):
        q, v = sf.rollout(model, start, rest, tau, **options)
        return np.concatenate([q[..., -1, :] - goal, v[..., -1, :]], -1)

    missed = []
    for k in range(20):
        r = misses(tau)
        missed.append(float(np.abs(r).max()))
        print(f"iteration {k:2}: the arm misses by {missed[-1]:.1e}")
        if missed[-1] < 1e-9:
            break
        found = sf.rollout_gradient(
            model, start, rest, tau, final_cost=component, cost_parameters=each, **options
        )
        J = (found.tau * limit).reshape(2 * model.nv, -1)  # dr / d(tau / limit)
        move = np.linalg.lstsq(J, -r, rcond=None)[0].reshape(tau.shape) * limit
        tries = tau + LENGTHS[:, None, None] * move
        tau = tries[np.argmin((misses(tries) ** 2).sum(axis=-1))]
    share = float(np.abs(tau / limit).max())
    print(f"beside the weight, the motors give at most {100 * share:.0f} % of what they can")
    return {"missed": missed, "share": share}


if __name__ == "__main__":
    main()
