"""Swing a pendulum up by pushing its cart: gradient descent through 250 steps of the dynamics."""

import numpy as np

import sixfold as sf

STEPS, DT = 250, 0.01  # 2.5 s


def running(t, q, v, tau):
    """Charge for force, and for leaving the middle of the track."""
    return 1e-3 * (tau @ tau) + 0.1 * q[0] * q[0]


def final(q, v):
    """Charge for not standing upright and still, the hinge at half a turn, the cart in place."""
    return 100.0 * (1.0 + sf.math.cos(q[1])) + 10.0 * (v @ v) + 50.0 * q[0] * q[0]


def main(iterations=300):
    """Descend by Adam (Kingma and Ba 2015) from a slow wave of force."""
    model = sf.load("cart_pendulum")
    start = np.zeros(2), np.zeros(2)
    push = np.zeros((STEPS, 2))  # on the cart; the hinge has no motor
    push[:, 0] = np.sin(5.0 * DT * np.arange(STEPS))
    mean, square = np.zeros(STEPS), np.zeros(STEPS)
    costs = []
    for k in range(1, iterations + 1):
        found = sf.rollout_gradient(
            model, *start, push, dt=DT, steps=STEPS, cost=running, final_cost=final
        )
        costs.append(float(found.cost))
        slope = found.tau[:, 0]
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        rate = 0.5 * (1.0 - k / iterations)
        push[:, 0] -= rate * (mean / (1 - 0.9**k)) / (np.sqrt(square / (1 - 0.99**k)) + 1e-9)
        if k in (1, 10, 30, 100, iterations):
            print(f"iteration {k:4}: cost {costs[-1]:8.4f}")

    q, v = sf.rollout(model, *start, push, dt=DT, steps=STEPS)
    upright = float(np.abs(np.mod(q[-1, 1], 2 * np.pi) - np.pi))
    print(f"after {STEPS * DT} s the pendulum is {np.degrees(upright):.2f} degrees from upright,")
    print(
        f"turns at {abs(v[-1, 1]):.3f} rad/s, and the force was at most {np.abs(push).max():.1f} N"
    )
    return {"costs": costs, "upright": upright, "speed": float(np.abs(v[-1]).max()), "q": q}


if __name__ == "__main__":
    main()
