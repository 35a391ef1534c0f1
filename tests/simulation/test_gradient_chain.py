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
        steps.append(sf.linearize(model, q, v, push, DT, integrator))
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
