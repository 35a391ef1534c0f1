"""Inverse dynamics, forward dynamics and the mass matrix are three faces of one equation."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from tests.laws.backends import Calls
from tests.laws.support import MODELS, forward_bar, pushes, states

METHODS = ("aba", "crba", "operators", "operators_dense")
TIGHT = 128


def borne(fn, model, q, v, a, f_ext=None):
    return fn.joint_wrenches(model, q, v, a, f_ext)


@pytest.mark.parametrize("method", METHODS)
def test_forward_dynamics_inverts_inverse_dynamics(fn, model, state, method):
    q, v, a = state
    f_ext = pushes(model, 4)
    tau = fn.inverse_dynamics(model, q, v, a, f_ext)
    found = fn.forward_dynamics(model, q, v, tau, f_ext, method=method)
    bar = forward_bar(fn, model, q, borne(fn, model, q, v, a, f_ext), a)
    assert (np.abs(found - a).max(axis=-1) <= bar).all()


@pytest.mark.parametrize("method", METHODS)
def test_inverse_dynamics_inverts_forward_dynamics(fn, model, state, method):
    q, v, tau = state
    a = fn.forward_dynamics(model, q, v, tau, method=method)
    back = fn.inverse_dynamics(model, q, v, a)
    M = fn.mass_matrix(model, q)
    scale = np.abs(M).sum(axis=-1).max(axis=-1) * np.abs(a).max(axis=-1)
    scale += np.abs(borne(fn, model, q, v, 0 * a)).max(axis=(-2, -1)) + np.abs(tau).max(axis=-1)
    assert (np.abs(back - tau).max(axis=-1) <= 64 * fn.eps * scale).all()


@pytest.mark.parametrize("name", ["tree6", "floating_link", "rolling_ball", "tree 6 bodies"])
def test_machine_code_obeys_the_same_law(name):
    fn = Calls("numpy")
    model = MODELS[name]
    q, v, a = states(fn, model, 4)
    tau = sf.inverse_dynamics(model, q, v, a)
    bar = forward_bar(fn, model, q, borne(fn, model, q, v, a), a)
    assert (np.abs(sf.forward_dynamics(model, q, v, tau) - a).max(axis=-1) <= bar).all()
    scale = np.abs(tau).max()
    np.testing.assert_allclose(
        tau, fn.inverse_dynamics(model, q, v, a), atol=TIGHT * fn.eps * scale, rtol=0
    )


def test_derivative_of_inverse_dynamics_in_the_accelerations_is_the_mass_matrix(fn, model, state):
    q, v, _ = state
    units = np.eye(model.nv)[:, None, :]
    columns = fn.inverse_dynamics(model, q, v, units) - fn.inverse_dynamics(model, q, v, 0 * v)
    M = fn.mass_matrix(model, q)
    scale = np.abs(borne(fn, model, q, v, 0 * v)).max() + np.abs(M).max()
    np.testing.assert_allclose(np.moveaxis(columns, 0, -1), M, rtol=0, atol=TIGHT * fn.eps * scale)


def test_inverse_dynamics_is_mass_matrix_times_acceleration_plus_bias(fn, model, state):
    q, v, a = state
    tau = fn.inverse_dynamics(model, q, v, a)
    M, C = fn.mass_matrix(model, q), fn.bias_force(model, q, v)
    whole = np.einsum("...ij,...j->...i", M, a) + C
    scale = np.abs(borne(fn, model, q, v, a)).max() + np.abs(tau).max()
    np.testing.assert_allclose(whole, tau, rtol=0, atol=TIGHT * fn.eps * scale)


def test_mass_matrix_is_symmetric_and_positive_definite(fn, model, state):
    M = fn.mass_matrix(model, state.q)
    np.testing.assert_array_equal(M, np.swapaxes(M, -1, -2))
    assert (np.linalg.eigvalsh(M)[..., 0] > 0).all()


def test_inverse_mass_matrix_is_the_inverse(fn, model, state):
    M, inverse = fn.mass_matrix(model, state.q), fn.inverse_mass_matrix(model, state.q)
    condition = np.linalg.cond(M).max()
    one = np.broadcast_to(np.eye(model.nv), M.shape)
    np.testing.assert_allclose(M @ inverse, one, rtol=0, atol=16 * fn.eps * condition)


def test_all_methods_of_forward_dynamics_agree(fn, model, state):
    q, v, tau = state
    reference = fn.forward_dynamics(model, q, v, tau)
    bar = forward_bar(fn, model, q, borne(fn, model, q, v, reference), reference)
    for method in METHODS[1:]:
        other = fn.forward_dynamics(model, q, v, tau, method=method)
        assert (np.abs(other - reference).max(axis=-1) <= bar).all(), method


def test_bias_is_coriolis_plus_gravity_without_springs_and_friction(fn):
    for name in ("double_pendulum", "puma560", "floating_link", "tree 3 bodies"):
        model = MODELS[name].without(damping=True, friction=True, springs=True)
        q, v, _ = states(fn, model, 2)
        V = np.einsum("...ij,...j->...i", fn.coriolis_matrix(model, q, v), v)
        C = fn.bias_force(model, q, v)
        scale = np.abs(borne(fn, model, q, v, 0 * v)).max()
        np.testing.assert_allclose(
            V + fn.gravity_force(model, q), C, rtol=0, atol=4 * TIGHT * fn.eps * scale
        )


@pytest.mark.parametrize("name", ["cart_pendulum", "tree6", "floating_link", "tree 6 bodies"])
def test_every_formulation_agrees_by_the_librarys_own_check(name):
    report = sf.check(MODELS[name], samples=3).raise_if_bad()
    assert report.agrees
    assert len([finding for finding in report.findings if finding.error is not None]) >= 8
