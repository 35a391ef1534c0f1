"""Laws of the derivatives: exact directional derivatives, and identities that need no reference."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import sixfold as sf
from sixfold.quantities import readings as pages
from sixfold.scalar import differentiate, plain
from tests.cases import some
from tests.laws.backends import Calls
from tests.laws.book_pages import MODELS as JOINTS
from tests.laws.support import MODELS, pushes, states

TIGHT = 512
EPS = float(np.finfo(float).eps)


def conservative(model):
    return model.without(damping=True, friction=True)


def along(core, model, q, v, x, *more):
    """Return d core along each velocity, along each v and along each x, by dual numbers."""
    tree, nq, nv = model.tree, model.nq, model.nv

    def values(at):
        return core(model, tree, at[:nq], at[nq : nq + nv], at[nq + nv :], *more)

    at = [*q.tolist(), *v.tolist(), *x.tolist()]
    ways = []
    for unit in np.eye(nv).tolist():
        ways.append([*pages.position_rate(model, tree, q.tolist(), unit), *[0.0] * (2 * nv)])
    for k in range(2 * nv):
        ways.append([0.0] * (nq + k) + [1.0] + [0.0] * (2 * nv - k - 1))
    columns = [[float(plain(r)) for r in differentiate(values, at, way)[1]] for way in ways]
    return np.split(np.array(columns).T, 3, axis=1)


def assert_near(found, expected, bar):
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=bar * max(1.0, np.abs(y).max()))


@pytest.mark.parametrize("name", JOINTS)
def test_every_joint_type_against_the_derivative_of_the_page_itself(name):
    model = JOINTS[name]
    q, v, a = states(Calls("numpy"), model, 2, seed=5)
    f_ext = pushes(model, 2)
    cond = np.linalg.cond(sf.mass_matrix(model, q)).max()
    for k in range(2):
        given = (model, q[k], v[k], a[k])
        for frame in ("world", "body"):
            more = {"f_ext": f_ext[k].ravel().tolist(), "frame": frame}
            inverse = along(partial(pages.inverse_dynamics, **more), *given)
            forward = along(partial(pages.forward_dynamics, **more), *given)
            for backend in (None, "numpy"):
                options = {"f_ext_frame": frame, "backend": backend}
                found = sf.derivatives.inverse_dynamics_derivatives(*given, f_ext[k], **options)
                assert_near(found, inverse, TIGHT * EPS)
                found = sf.derivatives.forward_dynamics_derivatives(*given, f_ext[k], **options)
                assert_near(found, forward, TIGHT * EPS * cond)


def test_inverse_dynamics_derivatives_are_the_derivatives(fn, model, state):
    q, v, a = state
    found = fn.inverse_dynamics_derivatives(model, q, v, a)
    for k in range(2):
        expected = along(pages.inverse_dynamics, model, q[k], v[k], a[k])
        assert_near([x[k] for x in found], expected, TIGHT * fn.eps)


def test_forward_dynamics_derivatives_are_the_derivatives(fn, model, state):
    q, v, tau = state
    found = fn.forward_dynamics_derivatives(model, q, v, tau)
    a = fn.forward_dynamics(model, q, v, tau)
    M = fn.mass_matrix(model, q)
    Q, V, _ = fn.inverse_dynamics_derivatives(model, q, v, a)
    cond = np.linalg.cond(M)
    for k in range(4):
        expected = (-np.linalg.solve(M[k], Q[k]), -np.linalg.solve(M[k], V[k]), np.linalg.inv(M[k]))
        assert_near([x[k] for x in found], expected, TIGHT * fn.eps * cond[k])


def test_the_derivative_by_accelerations_is_the_mass_matrix(fn, model, state):
    q, v, a = state
    _, _, M = fn.inverse_dynamics_derivatives(model, q, v, a)
    expected = fn.mass_matrix(model, q)
    np.testing.assert_allclose(M, expected, rtol=0, atol=64 * fn.eps * np.abs(expected).max())
    np.testing.assert_array_equal(M, np.swapaxes(M, -1, -2))


def test_the_derivative_by_velocities_is_twice_the_coriolis_matrix(fn, model, state):
    """Where v = dq/dt; where it is not, along the velocity itself (Euler's theorem)."""
    model = conservative(model)
    q, v, a = state
    _, V, _ = fn.inverse_dynamics_derivatives(model, q, v, a)
    C = fn.coriolis_matrix(model, q, v)
    scale = max(1.0, np.abs(V).max(), np.abs(C).max())
    bar = TIGHT * fn.eps * scale
    if all(body.joint.velocity_is_rate for body in model.bodies):
        np.testing.assert_allclose(V, 2 * C, rtol=0, atol=bar)
    both = (np.einsum("nij,nj->ni", X, v) for X in (V, 2 * C))
    np.testing.assert_allclose(*both, rtol=0, atol=bar * model.nv)


def test_the_derivative_of_gravity_is_symmetric(fn, model, state):
    """It is a Hessian; of one ball or free joint only in its symmetric part."""
    q, v, _ = state
    still = np.zeros_like(v)
    K, _, _ = fn.inverse_dynamics_derivatives(model, q, still, still)
    for one in model.coordinates.free:
        if not one.joint.velocity_is_rate:
            K[:, one.v, one.v] = 0.0
    bar = TIGHT * fn.eps * max(1.0, np.abs(K).max())
    np.testing.assert_allclose(K, np.swapaxes(K, -1, -2), rtol=0, atol=bar)


def test_moving_a_free_base_along_changes_nothing(fn, floating_model):
    model = floating_model
    q, v, a = states(fn, model, 4)
    for matrix in (
        fn.inverse_dynamics_derivatives(model, q, v, a)[0],
        fn.forward_dynamics_derivatives(model, q, v, a)[0],
    ):
        bar = 64 * fn.eps * np.abs(matrix).max()
        np.testing.assert_allclose(matrix[:, :, 3:6], 0, rtol=0, atol=bar)


def sprung():
    """Return a ball joint and a hinge with springs, damping and smooth friction."""
    builder = sf.ModelBuilder("sprung", friction_speed=0.25)
    solid = sf.Inertia.from_mass(2.0, (0.1, -0.2, 0.3), (0.2, 0.3, 0.4))
    more = {"damping": 0.5, "friction": 0.25, "friction_negative": 0.5, "stiffness": 2.0}
    builder.add_body("ball", joint=sf.Spherical(), inertia=solid, **more)
    builder.add_body("tip", parent="ball", joint=sf.Revolute("x"), inertia=solid, **more)
    return builder.build()


SECOND = {name: MODELS[name] for name in ("double_pendulum", "puma560", "floating_link", "tree6")}
SECOND["sprung"] = sprung()


@pytest.mark.parametrize("name", SECOND)
def test_weights_contract_the_second_derivatives(fn, name):
    """Second derivatives by dual numbers of weights . first derivatives."""
    model = SECOND[name]
    q, v, a = states(fn, model, 4)
    weights = states(fn, model, 4, seed=9).v
    found = fn.inverse_dynamics_second_derivatives(model, q, v, a, weights)
    expected = _second(model, pages.inverse_dynamics_derivatives, q[1], v[1], a[1], weights[1])
    assert_near([x[1] for x in found], expected, TIGHT * fn.eps)


def _second(model, first, q, v, x, weights):
    """Return qq, qv, vv and qx of weights . y from its first derivatives, by dual numbers."""
    nv = model.nv

    def weighted(model, tree, q, v, x):
        rows = np.array([plain(n) for n in first(model, tree, q, v, x)], object)
        matrices = rows.reshape(3, nv, nv)[:2]
        return [sum(weights[r] * m[r, c] for r in range(nv)) for m in matrices for c in range(nv)]

    by_q, by_v, by_x = along(weighted, model, q, v, x)
    return by_q[:nv], by_v[:nv], by_v[nv:], by_x[:nv]


@pytest.mark.parametrize("name", some(JOINTS, 7))
def test_second_derivatives_of_every_joint_type(name):
    model = JOINTS[name]
    q, v, a = (x[0] for x in states(Calls("numpy"), model, 1, seed=6))
    w = states(Calls("numpy"), model, 1, seed=7).v[0]
    cond = np.linalg.cond(sf.mass_matrix(model, q))
    for first, second, amplified in (
        (
            pages.inverse_dynamics_derivatives,
            sf.derivatives.inverse_dynamics_second_derivatives,
            1.0,
        ),
        (
            pages.forward_dynamics_derivatives,
            sf.derivatives.forward_dynamics_second_derivatives,
            cond**2,
        ),
    ):
        expected = _second(model, first, q, v, a, w)
        for backend in (None, "numpy"):
            found = second(model, q, v, a, w, backend=backend)
            assert_near(found, expected, TIGHT * EPS * amplified)
