"""Linear couplings q = T q_r + q_0: the reduced equations of motion."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.quantities import readings
from sixfold.spatial import Inertia, Transform
from tests.dynamics.support import rate
from tests.laws.backends import Calls
from tests.laws.support import State, force_scale, rates

METHODS = ("aba", "crba", "operators", "operators_dense")


def arm(*, coupled, properties=False):
    """A branched arm; with couplings joint 3 follows 1 and 2, joint 5 follows joint 3."""
    builder = sf.ModelBuilder("gripper")
    rng = np.random.default_rng(8)
    joints = [
        sf.Revolute("z"),
        sf.Revolute("y"),
        sf.Revolute("x"),
        sf.Spherical(),
        sf.Prismatic("x"),
    ]
    for k, (joint, parent) in enumerate(zip(joints, (0, 1, 2, 2, 3), strict=True), 1):
        sizes = rng.uniform(0.1, 0.4, 3)
        extras = {}
        if properties:
            extras = {"damping": 0.3, "stiffness": 1.5, "armature": 0.2, "friction": 0.1}
        builder.add_body(
            f"b{k}",
            parent=f"b{parent}" if parent else None,
            joint=joint,
            joint_name=f"j{k}",
            placement=Transform.from_rpy(rng.uniform(-1, 1, 3).tolist(), sizes.tolist()),
            inertia=Inertia.from_mass(1.0 + k, (sizes / 2).tolist(), (0.1, 0.12, 0.15)),
            **extras,
        )
    if coupled:
        builder.couple("j3", ("j1", 0.5), ("j2", -2.0), offset=0.3)
        builder.couple("j5", ("j3", 0.1), offset=-0.2)
    return builder.build()


FULL, REDUCED = arm(coupled=False), arm(coupled=True)
RICH_FULL, RICH = arm(coupled=False, properties=True), arm(coupled=True, properties=True)
# velocity coordinates: j1, j2, j3, j4 (3), j5 from j1, j2, j4 (3)
T = np.zeros((7, 5))
T[0, 0] = T[1, 1] = 1
T[2, :2] = [0.5, -2.0]
T[3:6, 2:] = np.eye(3)
T[6] = 0.1 * T[2]

pairs = pytest.mark.parametrize(
    ("full", "reduced"), [(FULL, REDUCED), (RICH_FULL, RICH)], ids=["bare", "with properties"]
)


def state(reduced, size=4, seed=0):
    rng = np.random.default_rng(seed)
    q, v = sf.random_state(reduced, size, seed=rng)
    return q, v, rng.standard_normal(v.shape)


def spread(q):
    """All coordinates from the free ones."""
    j3 = 0.5 * q[..., :1] - 2.0 * q[..., 1:2] + 0.3
    j5 = 0.1 * j3 - 0.2
    return np.concatenate([q[..., :2], j3, q[..., 2:], j5], axis=-1)


def test_followers_have_no_coordinates_of_their_own():
    assert (REDUCED.nq, REDUCED.nv, REDUCED.nb) == (6, 5, 5)
    assert (FULL.nq, FULL.nv) == (8, 7)
    with pytest.raises(sf.errors.ModelError, match="follows other joints"):
        REDUCED.q_slice("j3")


def test_bodies_are_where_the_full_model_has_them(fn):
    q, _, _ = state(REDUCED)
    np.testing.assert_allclose(
        fn.body_poses(REDUCED, q), fn.body_poses(FULL, spread(q)), rtol=0, atol=32 * fn.eps
    )


@pairs
def test_reduced_mass_matrix_is_t_transposed_m_t(fn, full, reduced):
    q, _, _ = state(reduced)
    expected = T.T @ fn.mass_matrix(full, spread(q)) @ T
    found = fn.mass_matrix(reduced, q)
    np.testing.assert_array_equal(found, np.swapaxes(found, -1, -2))
    np.testing.assert_allclose(found, expected, rtol=0, atol=64 * fn.eps * np.abs(expected).max())


@pairs
def test_reduced_joint_forces_are_t_transposed_tau(fn, full, reduced):
    q, v, a = state(reduced)
    full_tau = fn.inverse_dynamics(full, spread(q), v @ T.T, a @ T.T)
    found = fn.inverse_dynamics(reduced, q, v, a)
    bar = 64 * fn.eps * np.abs(full_tau).max()
    np.testing.assert_allclose(found, full_tau @ T, rtol=0, atol=bar)


@pairs
def test_forward_dynamics_inverts_inverse_dynamics_under_couplings(fn, full, reduced):
    q, v, a = state(reduced)
    f_ext = np.random.default_rng(4).standard_normal((4, reduced.nb, 6))
    tau = fn.inverse_dynamics(reduced, q, v, a, f_ext)
    found = fn.forward_dynamics(reduced, q, v, tau, f_ext)
    condition = np.linalg.cond(fn.mass_matrix(reduced, q)).max()
    load = 1 + np.abs(tau).max()
    np.testing.assert_allclose(found, a, rtol=0, atol=64 * fn.eps * condition * load)


@pairs
@pytest.mark.parametrize("method", METHODS)
def test_coupled_joints_leave_no_choice_of_method(full, reduced, method):
    q, v, a = state(reduced)
    with pytest.raises(sf.errors.NotApplicableError, match=r"'method'.*reduced mass matrix"):
        sf.forward_dynamics(reduced, q, v, a, method=method)


@pairs
def test_inverse_mass_matrix_inverts_the_reduced_mass_matrix(fn, full, reduced):
    q, _, _ = state(reduced)
    M, inverse = fn.mass_matrix(reduced, q), fn.inverse_mass_matrix(reduced, q)
    bar = 16 * fn.eps * np.linalg.cond(M).max()
    np.testing.assert_allclose(inverse @ M, np.broadcast_to(np.eye(5), M.shape), rtol=0, atol=bar)


@pairs
def test_kinetic_energy_is_that_of_the_reduced_mass_matrix(fn, full, reduced):
    q, v, _ = state(reduced)
    expected = 0.5 * np.einsum("...i,...ij,...j->...", v, fn.mass_matrix(reduced, q), v)
    np.testing.assert_allclose(fn.kinetic_energy(reduced, q, v), expected, rtol=256 * fn.eps)


@pairs
def test_rate_of_energy_is_the_power_of_reduced_forces(fn, full, reduced):
    conservative = reduced.without(damping=True, friction=True)
    q, v, tau = state(conservative)
    a = fn.forward_dynamics(conservative, q, v, tau)

    def energy(model, tree, x, speed):
        kinetic = readings.kinetic_energy(model, tree, x, speed)[0]
        return [kinetic + readings.potential_energy(model, tree, x)[0]]

    (measured,) = rates(energy, conservative, q, v, a).T
    speed = np.abs(fn.body_velocities(conservative, q, v)).max()
    bar = 512 * fn.eps * force_scale(fn, conservative, State(q, v, a)) * speed
    np.testing.assert_allclose(measured, (tau * v).sum(axis=-1), rtol=0, atol=bar)


@pytest.mark.parametrize("name", ["b3", "b5", "b4"])
def test_jacobians_are_reduced_too(fn, name):
    q, v, _ = state(REDUCED, 2)
    J = fn.jacobian(REDUCED, q, name)
    full = fn.jacobian(FULL, spread(q), name) @ T
    np.testing.assert_allclose(J, full, rtol=0, atol=64 * fn.eps)
    velocity = fn.body_velocities(REDUCED, q, v, frame="aligned")
    k = REDUCED.body_index(name)
    moved = np.einsum("...ij,...j->...i", J, v)
    np.testing.assert_allclose(moved, velocity[:, k], rtol=0, atol=64 * fn.eps * np.abs(v).max())


def test_coriolis_matrix_is_reduced_too(fn):
    q, v, _ = state(REDUCED, 2)
    C = fn.coriolis_matrix(REDUCED, q, v)
    bias = fn.bias_force(REDUCED.without(gravity=True), q, v)
    scale = np.abs(C).max() * np.abs(v).max()
    np.testing.assert_allclose(
        np.einsum("...ij,...j->...i", C, v), bias, rtol=0, atol=256 * fn.eps * scale
    )
    rates = rate(lambda t: fn.mass_matrix(REDUCED, fn.integrate(REDUCED, q, v * t)))
    N = rates - 2 * C
    np.testing.assert_allclose(N, -np.swapaxes(N, -1, -2), rtol=0, atol=1e-10 * np.abs(N).max())


def test_integrate_moves_the_free_joints_and_the_followers_follow(fn):
    q, v, _ = state(REDUCED)
    moved = fn.integrate(REDUCED, q, v, 0.3)
    assert moved.shape == (4, 6)
    np.testing.assert_allclose(
        spread(moved), fn.integrate(FULL, spread(q), v @ T.T, 0.3), rtol=0, atol=32 * fn.eps
    )
    back = fn.difference(REDUCED, q, moved)
    np.testing.assert_allclose(back, 0.3 * v, rtol=0, atol=64 * fn.eps * np.abs(v).max())


@pairs
def test_machine_code_agrees_under_couplings(full, reduced):
    fn = Calls("numpy")
    q, v, a = state(reduced)
    tau = fn.inverse_dynamics(reduced, q, v, a)
    np.testing.assert_allclose(
        sf.inverse_dynamics(reduced, q, v, a), tau, rtol=0, atol=128 * fn.eps * np.abs(tau).max()
    )
    condition = np.linalg.cond(fn.mass_matrix(reduced, q)).max()
    bar = 64 * fn.eps * condition * (1 + np.abs(tau).max())
    np.testing.assert_allclose(sf.forward_dynamics(reduced, q, v, tau), a, rtol=0, atol=bar)
