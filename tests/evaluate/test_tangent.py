"""`sf.compile(derivative="tangent")`: derivatives by q along the motion subspaces."""

import numpy as np
import pytest

import sixfold as sf
from tests.evaluate.small_models import coupled_arm, spherical_tree

MODELS = {
    "floating_link": lambda: sf.load("floating_link"),
    "spherical_tree": spherical_tree,
    "coupled_arm": coupled_arm,
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


def close(got, want, digits):
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=10.0**-digits * max(1, np.abs(want).max()))


def by_differences(model, function, q):
    """Return derivatives along the motion subspaces, by moves with `integrate`."""
    size, unit = 1e-3, np.eye(model.nv)

    def half(k):
        ends = [
            [function(sf.integrate(model, q, s * e)) for s in (k * size, -k * size)] for e in unit
        ]
        return np.stack([ahead - behind for ahead, behind in ends], -1)

    return (8 * half(1) - half(2)) / (12 * size)


def test_several_results_agree_with_differences(model):
    def quantities(q, v):
        return sf.mass_matrix(model, q), sf.kinetic_energy(model, q, v), sf.center_of_mass(model, q)

    kernel = sf.compile(quantities, model, derivative="tangent")
    q, v = sf.random_state(model, 3, seed=2)
    found = kernel(q, v)
    assert kernel.name == "quantities_by_tangent"
    for k in range(3):
        for part, got in enumerate(found):
            want = by_differences(model, lambda x, k=k, p=part: quantities(x, v[k])[p], q[k])
            close(got[k], want, 9)


def test_the_coordinates_move_with_the_velocities(model):
    q, _ = sf.random_state(model, seed=1)
    got = sf.compile(lambda q: q, model, derivative="tangent")(q)
    want = np.stack([sf.position_rate(model, q, e) for e in np.eye(model.nv)], -1)
    close(got, want, 15)


def test_forward_dynamics_agrees_with_its_own_derivatives(model):
    q, v = sf.random_state(model, 4, seed=5)
    tau = np.linspace(-1, 1, model.nv)
    want, by_v, _ = sf.derivatives.forward_dynamics_derivatives(model, q, v, tau)
    close(sf.compile(sf.forward_dynamics, model, derivative="tangent")(q, v, tau), want, 12)
    close(sf.compile(sf.forward_dynamics, model, derivative="v")(q, v, tau), by_v, 12)


def test_external_forces_may_be_included():
    model = sf.load("floating_link")
    q, v = sf.random_state(model, seed=5)
    f_ext = np.linspace(-1, 1, 6 * model.nb).reshape(model.nb, 6)
    sizes = {"f_ext": (model.nb, 6)}
    kernel = sf.compile(sf.inverse_dynamics, model, inputs=sizes, derivative="tangent")
    want = sf.derivatives.inverse_dynamics_derivatives(model, q, v, v, f_ext)[0]
    close(kernel(q, v, v, f_ext), want, 13)


def test_it_is_the_derivative_by_q_where_velocities_are_rates():
    model = sf.load("double_pendulum")
    q, v = sf.random_state(model, 3, seed=0)
    by_q, along = (
        sf.compile(sf.inverse_dynamics, model, derivative=d)(q, v, v) for d in ("q", "tangent")
    )
    np.testing.assert_array_equal(by_q, along)


def test_the_chain_rule_joins_both_derivatives():
    """d/dq by coordinates times dq/dt of each velocity is the derivative along it."""
    model = spherical_tree()
    q, v = sf.random_state(model, seed=3)
    by_q, along = (sf.compile(sf.bias_force, model, derivative=d)(q, v) for d in ("q", "tangent"))
    rate = np.stack([sf.position_rate(model, q, e) for e in np.eye(model.nv)], -1)
    assert by_q.shape == (6, 8) and along.shape == (6, 6)
    close(by_q @ rate, along, 13)


def test_an_argument_of_that_name_comes_first():
    kernel = sf.compile(lambda tangent: tangent**2, inputs={"tangent": 1}, derivative="tangent")
    np.testing.assert_array_equal(kernel(np.array([3.0])), [[6.0]])


def test_what_it_needs_is_said():
    model = sf.load("pendulum")
    with pytest.raises(sf.errors.NotApplicableError, match="without a model"):
        sf.compile(lambda x: x, inputs={"x": 1}, derivative="tangent")
    with pytest.raises(sf.errors.NotApplicableError, match="no argument q"):
        sf.compile(lambda v: v, model, derivative="tangent")
    with pytest.raises(sf.errors.ShapeError, match="'q'"):
        sf.compile(lambda q, v: q, model, inputs={"q": 3}, derivative="tangent")
    with pytest.raises(sf.errors.OptionError, match="'tangent'"):
        sf.compile(sf.inverse_dynamics, model, derivative="tau")
    with pytest.raises(sf.errors.NotApplicableError, match="form"):
        sf.compile(sf.inverse_dynamics, model, derivative="tangent", form="unrolled")
