"""Derivatives of constrained models: compiled ones are right, those of the tree are refused."""

import numpy as np
import pytest

import sixfold as sf

BAR = sf.Inertia.from_mass(1.0, (0.2, 0.05, 0.0), (0.01, 0.03, 0.03))
TAU = np.array([0.1, -0.2, 0.3])
H = 1e-6


@pytest.fixture(scope="module")
def model():
    b = sf.ModelBuilder("fourbar", gravity=(0, -9.81, 0))
    b.add_body("crank", joint=sf.Revolute("z"), inertia=BAR)
    b.add_body(
        "coupler", parent="crank", joint=sf.Revolute("z"), placement=(0.5, 0, 0), inertia=BAR
    )
    b.add_body("rocker", joint=sf.Revolute("z"), placement=(1.0, 0, 0), inertia=BAR)
    return b.close("coupler", "rocker", sf.Revolute("z"), (1.2, 0, 0), (0.9, 0, 0)).build()


@pytest.fixture(scope="module")
def state(model):
    q = sf.loops.assemble(model, [[1.05, 0, 1.0], [0.8, 0, 0.9]])
    return sf.loops.project(model, q, np.array([1.0, 0.2, 0.3]))


def differences(f, x):
    """Return df/dx by central differences, the last axis of x last."""
    rows = [(f(x + H * e) - f(x - H * e)) / (2 * H) for e in np.eye(x.shape[-1])]
    return np.stack(rows, -1)


def test_compiled_derivatives_are_those_of_the_constrained_model(model, state):
    q, v = state
    f = sf.forward_dynamics
    want = {
        "tangent": differences(lambda x: f(model, x, v, TAU), q),
        "v": differences(lambda x: f(model, q, x, TAU), v),
        "tau": differences(lambda x: f(model, q, v, x), TAU),
    }
    for name, expected in want.items():
        got = sf.compile(f, model, derivative=name)(q, v, TAU)
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda m, q, v: sf.derivatives.forward_dynamics_second_derivatives(
            m, q, v, TAU, np.ones(3)
        ),
        lambda m, q, v: sf.control.linearize(m, q, v, TAU, dt=0.01),
        lambda m, q, v: sf.equations(m),
    ],
    ids=["second", "step", "equations"],
)
def test_functions_of_the_tree_are_refused_with_the_way_out(model, state, call):
    with pytest.raises(
        sf.errors.NotApplicableError, match="model 'fourbar' with constraints"
    ) as caught:
        call(model, *state)
    assert "model.without(constraints=True) is the tree alone" in str(caught.value)


# -- through time


def final(q, v):
    return q[0] + 2 * q[1] + 3 * q[2] + v[0] ** 2 + v[1] * v[2]


@pytest.mark.parametrize("stabilize", [None, 0, 10.0])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_gradients_of_rollouts_agree_with_differences(model, state, integrator, stabilize):
    q, v = state
    run = {"dt": 0.01, "steps": 12, "integrator": integrator, "stabilize": stabilize}

    def cost(q0, v0, tau):
        ends = sf.rollout(model, q0, v0, np.broadcast_to(tau, (12, 3)), **run)
        return np.array([final(a, b) for a, b in zip(ends[0][:, -1], ends[1][:, -1], strict=True)])

    found = sf.rollout_gradient(model, q, v, TAU, final_cost=final, **run)
    np.testing.assert_allclose(found.cost, cost(q, v, TAU), rtol=1e-12)
    want = differences(lambda tau: cost(q, v, tau), TAU)
    np.testing.assert_allclose(found.tau, want, rtol=1e-5, atol=1e-6)
    # along the one motion that the loop allows
    n = np.linalg.svd(sf.loops.constraint_jacobian(model, q))[2][:, -1]
    by_v = (cost(q, v + H * n, TAU) - cost(q, v - H * n, TAU)) / (2 * H)
    np.testing.assert_allclose((found.v0 * n).sum(-1), by_v, rtol=1e-5, atol=1e-6)
    if stabilize is None:
        there, back = (sf.loops.project(model, q + s * H * n, v) for s in (1, -1))
        by_q = (cost(*there, TAU) - cost(*back, TAU)) / (2 * H)
        along = found.q0 * (there[0] - back[0]) + found.v0 * (there[1] - back[1])
        np.testing.assert_allclose(along.sum(-1) / (2 * H), by_q, rtol=1e-5, atol=1e-5)


def test_gradients_refuse_starts_that_gape_and_options_without_effect(model):
    with pytest.raises(sf.errors.StateError, match="is open by"):
        sf.rollout_gradient(model, [1.0, 0, 0], None, dt=0.01, steps=2, final_cost=final)
    tree = model.without(constraints=True)
    with pytest.raises(sf.errors.NotApplicableError, match="stabilize"):
        sf.rollout_gradient(
            tree, None, None, dt=0.01, steps=2, final_cost=final, stabilize="project"
        )
