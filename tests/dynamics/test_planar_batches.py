"""The planar skeleton in batches, with gravity of its own, and as a model that moves."""

import doctest
import importlib

import numpy as np
import pytest
import sympy

import sixfold as sf

G = 9.81
RNG = np.random.default_rng(8)
COM = ((0.2, 0.05), (0.25, -0.04), (0.1, 0.0))
DATA = {"m": (1.2, 0.7, 0.4), "I": (0.03, 0.02, 0.01), "l": (0.5, 0.4, 0.3), "com": COM}
CHAIN = sf.planar.PlanarChain(**DATA, gravity=G)
F_E = (3.0, -2.0)


def states(lead):
    return RNG.uniform(-2, 2, (3, *lead, 3))


def each(function, *arrays):
    """Return the results of a function for each state, in one array."""
    lead = arrays[0].shape[:-1]
    found = [
        np.array(function(CHAIN, *(x[k].tolist() for x in arrays)), float) for k in np.ndindex(lead)
    ]
    return np.reshape(found, (*lead, *found[0].shape))


@pytest.mark.parametrize("lead", [(1,), (5,), (2, 4)])
def test_leading_axes_are_states(lead):
    q, qd, qdd = states(lead)
    for function, args in (
        (sf.planar.skeleton_id, (q, qd, qdd)),
        (sf.planar.skeleton_fd, (q, qd, qdd)),
        (sf.planar.skeleton_bias, (q, qd)),
        (sf.planar.skeleton_inertia, (q,)),
        (sf.planar.skeleton_jacobian, (q,)),
    ):
        found = function(CHAIN, *args)
        assert isinstance(found, np.ndarray)
        assert np.allclose(found, each(function, *args), rtol=1e-12, atol=1e-12)
    where = sf.planar.skeleton(CHAIN, q)
    assert where.joints.shape == (*lead, 4, 2) and where.centers.shape == (*lead, 3, 2)
    assert np.allclose(where.theta, np.cumsum(q, axis=-1))


def test_square_arrays_are_states_by_rows():
    q = states((3,))[0]
    assert np.allclose(
        sf.planar.skeleton_inertia(CHAIN, q)[1], sf.planar.skeleton_inertia(CHAIN, q[1].tolist())
    )


def test_forces_and_gravity_may_differ_by_state_and_one_state_serves_all():
    q, qd, qdd = states((4,))
    push, pull = RNG.standard_normal((2, 4, 2))
    found = sf.planar.skeleton_id(CHAIN, q, qd, qdd, f_E=push, gravity=pull)
    for k in range(4):
        one = sf.planar.skeleton_id(
            *(CHAIN, q[k], qd[k], qdd[k]), f_E=tuple(push[k]), gravity=tuple(pull[k])
        )
        assert np.allclose(found[k], one)
    assert np.allclose(sf.planar.skeleton_fd(CHAIN, q, qd, found, f_E=push, gravity=pull), qdd)
    still = sf.planar.skeleton_id(CHAIN, q, np.zeros(3), np.zeros(3))
    assert still.shape == (4, 3)
    assert sf.planar.skeleton_inertia(
        sf.planar.PlanarChain([1.0], [0.1], [1.0]), np.zeros((5, 1))
    ).shape == (5, 1, 1)


def test_the_model_of_a_chain_moves_as_the_notes_say():
    model = CHAIN.to_model()
    q, qd, qdd = states((6,))
    assert np.allclose(sf.mass_matrix(model, q), sf.planar.skeleton_inertia(CHAIN, q))
    assert np.allclose(sf.bias_force(model, q, qd), sf.planar.skeleton_bias(CHAIN, q, qd))
    pushed = sf.point_force(model, q, "end", (*F_E, 0.0))
    tau = sf.planar.skeleton_id(CHAIN, q, qd, qdd, f_E=F_E)
    assert np.allclose(sf.inverse_dynamics(model, q, qd, qdd, pushed), tau)
    found = sf.planar.skeleton_fd(CHAIN, q, qd, tau, f_E=F_E)
    assert np.allclose(found, qdd) and np.allclose(
        found, sf.forward_dynamics(model, q, qd, tau, pushed)
    )
    assert model.joint_names == ("joint1", "joint2", "joint3") and model.frame_names == ("end",)
    ends = sf.frame_pose(model, q, "end")[..., :2, 3]
    assert np.allclose(ends, sf.planar.skeleton(CHAIN, q).joints[:, -1])


def test_a_chain_is_simulated_as_a_model():
    q0 = np.array([0.3, -0.2, 0.5])
    model = CHAIN.to_model("swing")
    motion = sf.simulate(model, q0, np.zeros(3), 0.2, dt=1e-3, integrator="rk4")
    state = np.array([q0, np.zeros(3)])

    def rates(y):
        return np.array(
            [y[1], sf.planar.skeleton_fd(CHAIN, y[0].tolist(), y[1].tolist(), [0.0] * 3)]
        )

    for _ in range(200):
        k1 = rates(state)
        k2 = rates(state + 5e-4 * k1)
        k3 = rates(state + 5e-4 * k2)
        state = state + 1e-3 / 6 * (k1 + 2 * k2 + 2 * k3 + rates(state + 1e-3 * k3))
    assert np.allclose(motion.q[-1], state[0], atol=1e-9)
    energy = sf.kinetic_energy(model, motion.q, motion.v) + sf.potential_energy(model, motion.q)
    assert np.ptp(energy) < 1e-6


def test_gravity_is_the_chain_s_own_unless_another_is_given():
    q, qd, _ = states(())
    free = sf.planar.PlanarChain(**DATA)
    assert free.gravity == (0, 0)
    down = sf.planar.skeleton_bias(free, q, qd, gravity=(0.0, -G))
    assert np.allclose(down, sf.planar.skeleton_bias(CHAIN, q, qd))
    none = sf.planar.skeleton_bias(CHAIN, q, qd, gravity=(0.0, 0.0))
    assert np.allclose(none, sf.planar.skeleton_bias(free, q, qd))
    printed = [
        sum(
            CHAIN.m[k] * G * (at.centers[k][0] - at.joints[i][0])
            for at in [sf.planar.skeleton(CHAIN, q)]
            for k in range(i, 3)
        )
        for i in range(3)
    ]
    assert np.allclose(np.subtract(down, none), printed)
    g = sympy.Symbol("g")
    letters = sf.planar.PlanarChain([1], [0], [2], gravity=g)
    assert sf.planar.skeleton_bias(letters, [0], [0]) == [1.0 * g]
    slope = sf.planar.PlanarChain(**DATA, gravity=(1.0, -2.0))
    assert slope.to_model().gravity == (1.0, -2.0, 0.0)


@pytest.mark.parametrize("gravity", ["down", (1.0,), (1.0, 2.0, 3.0), None, ("x", 1.0)])
def test_gravity_is_a_number_or_a_pair(gravity):
    with pytest.raises(sf.errors.SixfoldError, match="gravity"):
        sf.planar.PlanarChain(**DATA, gravity=gravity)


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(sf.errors.ShapeError, match=r"argument 'q'.*\n.*\(\.\.\., 3\)"):
        sf.planar.skeleton_inertia(CHAIN, np.zeros((3, 5)))
    with pytest.raises(sf.errors.ShapeError, match="argument 'f_E'"):
        sf.planar.skeleton_fd(CHAIN, *np.zeros((3, 2, 3)), f_E=np.zeros((2, 3)))
    with pytest.raises(sf.errors.NumberError, match="cannot be combined"):
        sf.planar.skeleton_bias(CHAIN, np.zeros((2, 3)), np.zeros((4, 3)))
    with pytest.raises(sf.errors.ModelError, match="to_model"):
        sf.planar.PlanarChain([sympy.Symbol("m")], [0.1], [1.0]).to_model()


def test_the_examples_run():
    found = doctest.testmod(importlib.import_module("sixfold.dynamics.book.planar"))
    assert found.attempted and not found.failed
