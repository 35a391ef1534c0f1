"""Contact of mechanisms: closed loops hold exactly while feet touch the ground."""

import numpy as np
import pytest

import sixfold as sf

SOLE = tuple(
    sf.contact.ContactPoint("foot", (x, y, -0.04)) for x in (-0.05, 0.11) for y in (-0.04, 0.04)
)


@pytest.fixture(scope="module")
def leg():
    return sf.load("four_bar_leg")


def states(model, count):
    """Return closed states near standing, the sole a millimetre in the ground, and motor forces."""
    rng = np.random.default_rng(3)
    q = sf.integrate(
        model, np.tile(sf.neutral(model), (count, 1)), 0.1 * rng.normal(size=(count, model.nv))
    )
    q = sf.loops.assemble(model, q)
    heights = [sf.frame_pose(model, q, "sole")[..., 2, 3]]
    q[:, 2] -= heights[0] + 0.001
    v = 0.3 * rng.normal(size=(count, model.nv))
    return *sf.loops.project(model, q, v), rng.normal(size=(count, model.nv))


@pytest.mark.parametrize("points", [SOLE, SOLE[:1]], ids=["sole", "point"])
def test_the_equations_of_motion_hold_with_loops_and_contacts(leg, points):
    q, v, tau = states(leg, 32)
    found = sf.contact.contact_forces(leg, q, v, tau, contacts=sf.contact.Ground(points=points))
    M, C = sf.mass_matrix(leg, q), sf.bias_force(leg, q, v)
    J, gamma = sf.loops.constraint_jacobian(leg, q), sf.loops.constraint_bias(leg, q, v)
    assert np.abs(np.einsum("nij,nj->ni", J, found.a) + gamma).max() < 1e-9
    assert np.linalg.norm(found.forces, axis=(-2, -1)).max() > 50.0  # it does stand on the ground
    for k in range(len(q)):
        pushed = np.zeros((leg.nb, 6))
        for point, force in zip(found.points[k], found.forces[k], strict=True):
            pushed[leg.body_index("foot")] += np.r_[np.cross(point, force), force]
        touch = sf.bias_force(leg, q[k], v[k]) - sf.bias_force(leg, q[k], v[k], pushed)
        left = M[k] @ found.a[k] + C[k] - tau[k] - touch  # what the loop has to give
        force = np.linalg.lstsq(J[k].T, left, rcond=None)[0]
        assert np.abs(J[k].T @ force - left).max() < 1e-9 * (1.0 + np.abs(left).max())
        # without the ground it is the constrained motion of the leg with these forces on its foot
        a = sf.forward_dynamics(leg, q[k], v[k], tau[k], pushed)
        np.testing.assert_allclose(a, found.a[k], rtol=0, atol=1e-8 * np.abs(a).max())


def test_a_leg_with_a_loop_lands_and_its_loop_stays_closed(leg):
    q = sf.loops.assemble(leg)
    q[2] = 0.02 - sf.frame_pose(leg, q, "sole")[2, 3]
    ground = sf.contact.Ground(points=SOLE)
    run = sf.simulate(leg, q, None, 0.3, dt=5e-4, contacts=ground)
    assert np.abs(sf.loops.constraint_gaps(leg, run.q)).max() < 1e-13
    assert run.contact_gaps.min() > -0.02 and np.linalg.norm(run.contact_forces[-1]) > 50.0
    qs, _ = sf.rollout(
        leg, np.tile(q, (3, 1)), None, dt=5e-4, steps=600, every=600, contacts=ground
    )
    np.testing.assert_allclose(qs[1, -1], run.q[-1], rtol=0, atol=1e-9)
