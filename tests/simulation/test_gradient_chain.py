"""The gradient of a rollout is the chain of the linearised steps."""

import numpy as np
import pytest

import sixfold as sf

STEPS, DT = 12, 0.02


def chain(model, q0, v0, tau, integrator, last):
    """Return gradients by q0, v0 and tau of `last` times the last state, step by step."""
    q, v = q0, v0
    steps = []
    for push in tau:
        steps.append(sf.control.linearize(model, q, v, push, DT, integrator))
        qs, vs = sf.rollout(model, q, v, push[None], dt=DT, steps=1, integrator=integrator)
        q, v = qs[-1], vs[-1]
    adjoint = last(q, v)
    by_tau = np.empty_like(tau)
    for k in reversed(range(len(tau))):
        by_tau[k] = adjoint @ steps[k].B
        adjoint = adjoint @ steps[k].A
    return adjoint[: model.nv], adjoint[model.nv :], by_tau


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "midpoint", "lie_rk4"])
@pytest.mark.parametrize("name", ["double_pendulum", "floating_link"])
def test_the_adjoint_sweep_is_the_chain_of_linearised_steps(name, integrator):
    model = sf.load(name)
    rng = np.random.default_rng(3)
    q0, v0 = sf.random_state(model, seed=4)
    tau = rng.standard_normal((STEPS, model.nv))
    weights = rng.standard_normal(model.nv)

    def end(q, v):
        return weights @ v

    found = sf.rollout_gradient(
        model, q0, v0, tau, dt=DT, steps=STEPS, final_cost=end, integrator=integrator
    )
    expected = chain(
        model, q0, v0, tau, integrator, lambda q, v: np.concatenate([0 * weights, weights])
    )
    for x, y in zip((found.q0, found.v0, found.tau), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * np.abs(y).max(initial=1.0))


def test_rounds_inside_controllers_and_costs_are_differentiated():
    model = sf.load("double_pendulum")

    def control(t, q, v, p):
        gain = sf.math.repeat(
            60, lambda x: x - 0.05 * (x * x * x - q[0] * q[0] - p[0]), 1.0 + 0.0 * q[0]
        )
        return -gain * q - 0.5 * v

    def cost(t, q, v, tau):
        return sf.math.repeat(50, lambda x: 0.5 * x + q[0] * q[1], tau[0])

    def gradient(gain, q):
        return sf.rollout_gradient(
            model,
            [q, 0.2],
            [0.0, 0.0],
            dt=0.01,
            steps=20,
            cost=cost,
            final_cost=lambda q, v: sf.math.repeat(40, lambda x: 0.5 * x + q[0], v[0]),
            control=control,
            parameters=np.array([gain]),
        )

    found, h = gradient(2.0, 0.3), 1e-6
    by_gain = (gradient(2.0 + h, 0.3).cost - gradient(2.0 - h, 0.3).cost) / (2 * h)
    by_q = (gradient(2.0, 0.3 + h).cost - gradient(2.0, 0.3 - h).cost) / (2 * h)
    np.testing.assert_allclose([found.parameters[0], found.q0[0]], [by_gain, by_q], rtol=1e-6)
