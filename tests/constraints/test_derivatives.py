"""Derivatives of constrained forward dynamics: against differences, and by other ways."""

import math

import numpy as np
import pytest

import sixfold as sf
from tests.constraints.joints import CLOSING
from tests.constraints.mechanisms import GRAVITY, four_bar
from tests.constraints.robots import ROBOTS, states
from tests.constraints.support import OTHERS, SMALL, branching, closed

BY_NUMPY = {"backend": "numpy"}
H = 1e-5


def differences(model, q, v, tau, *forces, **options):
    """Return central differences of forward dynamics by q, v and tau, of one state."""
    unit = np.eye(model.nv)[:, None] * np.array([H, -H])[:, None]  # freedom, sign, nv

    def moved(q, v, tau):
        lead = (model.nv, 2)
        q, v, tau = (np.broadcast_to(x, (*lead, x.shape[-1])) for x in (q, v, tau))
        given = [np.broadcast_to(f, (*lead, *f.shape)) for f in forces]
        a = sf.forward_dynamics(model, q, v, tau, *given, **options)
        return ((a[:, 0] - a[:, 1]) / (2 * H)).T

    by_q = moved(sf.integrate(model, np.broadcast_to(q, (model.nv, 2, model.nq)), unit), v, tau)
    return by_q, moved(q, v + unit, tau), moved(q, v, tau + unit)


def agree(model, q, v, tau, *forces, tolerance=1e-7, **options):
    """Check the three matrices."""
    found = sf.derivatives.forward_dynamics_derivatives(model, q, v, tau, *forces, **options)
    expected = differences(model, q, v, tau, *forces, **options)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max()))


@pytest.mark.parametrize("name", OTHERS)
def test_rods_gears_wheels_and_couplings_are_differentiated(name):
    model = OTHERS[name]()
    q, v = closed(model)
    agree(model, q, v, np.random.default_rng(1).normal(size=model.nv), **BY_NUMPY)


@pytest.mark.parametrize("name", CLOSING)
def test_loops_of_every_joint_are_differentiated(name):
    model = branching(CLOSING[name])
    q, v = closed(model)
    agree(model, q, v, np.random.default_rng(2).normal(size=model.nv), **BY_NUMPY)


@pytest.mark.parametrize("name", SMALL)
def test_machine_code_agrees_with_the_derivative_of_the_whole_program(name):
    model = SMALL[name]()
    q, v = (np.array(x) for x in zip(*[closed(model, seed) for seed in range(6)], strict=True))
    q, v = q.reshape(3, 2, -1), v.reshape(3, 2, -1)
    tau = np.random.default_rng(3).normal(size=v.shape)
    found = sf.derivatives.forward_dynamics_derivatives(model, q, v, tau)
    for x, by in zip(found, ("tangent", "v", "tau"), strict=True):
        assert x.shape == (3, 2, model.nv, model.nv)
        kernel = sf.compile(sf.forward_dynamics, model, derivative=by)
        expected = kernel(q, v, tau)
        np.testing.assert_allclose(x, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    slow = sf.derivatives.forward_dynamics_derivatives(model, q, v, tau, **BY_NUMPY)
    for x, y in zip(found, slow, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-10 * np.abs(y).max())


@pytest.mark.parametrize("frame", ["world", "body"])
def test_external_forces_stay_in_the_world_or_turn_with_the_body(frame):
    model = SMALL["loop"]()
    q, v = closed(model)
    rng = np.random.default_rng(4)
    tau, f = rng.normal(size=model.nv), rng.normal(size=(model.nb, 6))
    agree(model, q, v, tau, f, f_ext_frame=frame)


@pytest.mark.parametrize("name", ["four_bar_leg", "gripper"])
def test_robots_with_loops_are_differentiated(name):
    model, neutral = ROBOTS[name]()
    q, v, tau = states(model, neutral, 2, seed=5)
    for k in range(2):
        agree(model, q[k], v[k], tau[k], tolerance=1e-6)


def test_no_joint_force_opens_a_loop():
    """J da/dtau = 0, also where rows are redundant."""
    model, neutral = ROBOTS["delta"]()
    q, v, tau = states(model, neutral, 1, seed=6)
    q, v, tau = q[0], v[0], tau[0]
    J = sf.loops.constraint_jacobian(model, q)
    _, _, by_tau = sf.derivatives.forward_dynamics_derivatives(model, q, v, tau)
    np.testing.assert_allclose(J @ by_tau, 0, atol=1e-9 * np.abs(by_tau).max())
    np.testing.assert_allclose(by_tau, by_tau.T, atol=1e-9 * np.abs(by_tau).max())


def test_a_parallelogram_swings_as_its_linearisation_says():
    """Two cranks of length l carry a coupler that only translates: a pendulum in closed form."""
    l, masses = 0.7, (0.5, 1.2, 0.5)
    model = four_bar(1.0, l, 1.0, l, masses)
    hanging = np.array([-math.pi / 2, math.pi / 2, -math.pi / 2])
    q = sf.loops.assemble(model, hanging)
    rest = np.zeros(3)
    near = sf.control.linearize(model, q, rest, rest)
    J = sf.loops.constraint_jacobian(model, q)
    N = np.linalg.svd(J)[2][np.linalg.matrix_rank(J, 1e-9) :].T
    assert N.shape == (3, 1)
    # cranks m l^2 / 3 each, the coupler m l^2; weights m g l / 2 each, and m g l
    inertia = (masses[0] + masses[2]) * l * l / 3 + masses[1] * l * l
    stiffness = GRAVITY * l * ((masses[0] + masses[2]) / 2 + masses[1])
    found = (N.T @ near.A[3:, :3] @ N).item()
    assert found == pytest.approx(-stiffness / inertia, rel=1e-9)
    # directions that keep the loop closed stay among themselves
    np.testing.assert_allclose(J @ near.A[3:, :3] @ N, 0, atol=1e-9)
    words = r"(?s)linearize: option 'dt'.*rollout_gradient"
    with pytest.raises(sf.errors.NotApplicableError, match=words):
        sf.control.linearize(model, q, rest, rest, dt=0.01)
