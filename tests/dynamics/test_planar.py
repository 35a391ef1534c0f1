"""The planar skeleton: planar-skeleton notes on forward dynamics, against spatial algorithms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.book.planar import (
    PlanarChain,
    skeleton,
    skeleton_bias,
    skeleton_fd,
    skeleton_id,
    skeleton_inertia,
    skeleton_jacobian,
)
from sixfold.errors import ModelError, ShapeError
from sixfold.spatial import Inertia
from tests.dynamics.support import EPS, array, error, fn, rate

G = (0.0, -9.81)
SIZES = [1, 2, 3, 5]


def rods(n):
    """The sample `planar_chain:n` as a skeleton."""
    return PlanarChain([1.0] * n, [1 / 12] * n, [1.0] * n)


def random_chain(n, seed=0):
    """Random links with centres of mass off the link line, as a skeleton and as a model."""
    rng = np.random.default_rng([n, seed])
    m, I, l = rng.uniform(0.2, 3, n), rng.uniform(0.01, 0.2, n), rng.uniform(0.3, 1.5, n)
    com = rng.uniform(-0.4, 0.4, (n, 2))
    chain = PlanarChain(m.tolist(), I.tolist(), l.tolist(), [tuple(c) for c in com.tolist()])
    builder = sf.ModelBuilder("links", gravity=(*G, 0.0))
    for k in range(n):
        solid = Inertia.from_mass(float(m[k]), (*com[k].tolist(), 0.0), (0.0, 0.0, float(I[k])))
        builder.add_body(
            f"link{k}",
            parent=f"link{k - 1}" if k else None,
            joint=sf.Revolute("z"),
            placement=(float(l[k - 1]), 0.0, 0.0) if k else None,
            inertia=solid,
        )
    return chain, builder.build()


def state(n, seed=0):
    rng = np.random.default_rng([n, seed, 1])
    return rng.uniform(-3, 3, n), rng.standard_normal(n), rng.standard_normal(n)


def close(x, y, factor=64):
    assert error(list(x), list(y)) <= factor * EPS


# -- H, b and J_E


@pytest.mark.parametrize("n", SIZES)
def test_skeleton_inertia_is_the_mass_matrix_of_the_chain(n):
    q, _, _ = state(n)
    close(skeleton_inertia(rods(n), q), fn.mass_matrix(sf.load(f"planar_chain:{n}"), q))
    chain, model = random_chain(n)
    close(skeleton_inertia(chain, q), fn.mass_matrix(model, q))


@pytest.mark.parametrize("n", SIZES)
def test_kinetic_energy_is_that_of_the_moving_links(n):
    """K = (1/2) sum of m (xdot^2 + ydot^2) + I thetadot^2, by differences of the positions."""
    chain, _ = random_chain(n)
    q, v, _ = state(n)
    speeds = rate(lambda t: skeleton(chain, q + v * t).centers)
    turning = np.cumsum(v)
    K = 0.5 * sum(
        chain.m[k] * (speeds[k] @ speeds[k]) + chain.I[k] * turning[k] ** 2 for k in range(n)
    )
    H = array(skeleton_inertia(chain, q))
    assert 0.5 * v @ H @ v == pytest.approx(K, rel=1e-11)
    np.testing.assert_allclose(
        rate(lambda t: skeleton(chain, q + v * t).theta), turning, atol=1e-11
    )


@pytest.mark.parametrize("n", SIZES)
def test_skeleton_bias_without_gravity_is_the_velocity_force_of_the_chain(n):
    q, v, _ = state(n)
    chain, model = random_chain(n)
    expected = fn.bias_force(model.without(gravity=True), q, v)
    found = array(skeleton_bias(chain, q, v))
    scale = np.abs(array(skeleton_inertia(chain, q))).max() * (v @ v)
    np.testing.assert_allclose(found, expected, rtol=0, atol=64 * EPS * scale)


@pytest.mark.parametrize("n", SIZES)
def test_skeleton_bias_with_gravity_is_the_bias_of_the_chain(n):
    q, v, _ = state(n)
    close(
        skeleton_bias(rods(n), q, v, gravity=G), fn.bias_force(sf.load(f"planar_chain:{n}"), q, v)
    )
    chain, model = random_chain(n)
    close(skeleton_bias(chain, q, v, gravity=G), fn.bias_force(model, q, v))


def test_gravity_may_point_anywhere_in_the_plane():
    chain, model = random_chain(3)
    q, v, _ = state(3)
    for gravity in ((9.81, 0.0), (-3.0, 5.0)):
        expected = fn.bias_force(model.with_gravity((*gravity, 0.0)), q, v)
        close(skeleton_bias(chain, q, v, gravity=gravity), expected)


def test_skeleton_bias_is_that_of_the_inertia_matrix_by_lagrange():
    """b = Hdot qd - (1/2) d(qd^T H qd)/dq."""
    n = 3
    chain, _ = random_chain(n)
    q, v, _ = state(n)

    def inertia(x):
        return array(skeleton_inertia(chain, x))

    Hdot = rate(lambda t: inertia(q + v * t))
    gradient = [rate(lambda t, e=e: v @ inertia(q + e * t) @ v) for e in np.eye(n)]
    np.testing.assert_allclose(
        array(skeleton_bias(chain, q, v)), Hdot @ v - 0.5 * np.array(gradient), rtol=0, atol=1e-10
    )


def test_reading_the_link_angles_as_joint_angles_gives_another_bias():
    chain, _ = random_chain(3)
    q, v, _ = state(3)
    right = array(skeleton_bias(chain, q, v))
    # rates of joint angles in place of absolute ones: what the notes leave open
    x = skeleton(chain, q)
    wrong = [
        sum(
            chain.m[k]
            * (
                (x.centers[k][1] - x.joints[i][1]) * (end[0] - x.joints[j][0])
                - (x.centers[k][0] - x.joints[i][0]) * (end[1] - x.joints[j][1])
            )
            * v[j] ** 2
            for k in range(i, 3)
            for j in range(k + 1)
            for end in [x.joints[j + 1] if j < k else x.centers[k]]
        )
        for i in range(3)
    ]
    assert np.abs(right - wrong).max() > 0.01


@pytest.mark.parametrize("link", [0, 1, 2, -1])
def test_skeleton_jacobian_is_the_rate_of_its_point(link):
    chain, model = random_chain(3)
    q, v, _ = state(3)
    point = (0.3, -0.2)
    J = array(skeleton_jacobian(chain, q, link, point))

    def place(t):
        x = skeleton(chain, q + v * t)
        k = link % 3
        c, s = math.cos(x.theta[k]), math.sin(x.theta[k])
        base = x.joints[k]
        return [base[0] + point[0] * c - point[1] * s, base[1] + point[0] * s + point[1] * c]

    np.testing.assert_allclose(J @ v, rate(place), rtol=0, atol=1e-11)
    spatial = fn.jacobian(model, q, f"link{link % 3}", (*point, 0.0))[3:5]
    close(J, spatial)


def test_skeleton_jacobian_is_that_of_the_links_end_when_no_point_is_given():
    chain, model = random_chain(3)
    q, _, _ = state(3)
    spatial = fn.jacobian(model, q, "link2", (chain.l[2], 0.0, 0.0))[3:5]
    close(skeleton_jacobian(chain, q), spatial)


# -- inverse and forward dynamics


@pytest.mark.parametrize("n", SIZES)
def test_forward_dynamics_recovers_the_acceleration_given_to_inverse_dynamics(n):
    """The consistency check of the notes, with gravity and a force at a point."""
    chain, _ = random_chain(n)
    q, v, a = state(n)
    load = {"f_E": (1.5, -2.0), "link": n - 1, "point": (0.2, 0.1), "gravity": G}
    tau = skeleton_id(chain, q, v, a, **load)
    H = array(skeleton_inertia(chain, q))
    found = skeleton_fd(chain, q, v, tau, **load)
    assert error(list(found), a) <= 64 * EPS * np.linalg.cond(H)


@pytest.mark.parametrize("n", SIZES)
def test_skeleton_equals_newton_euler_and_articulated_bodies(n):
    q, v, a = state(n)
    for chain, model in ((rods(n), sf.load(f"planar_chain:{n}")), random_chain(n)):
        tau = skeleton_id(chain, q, v, a, gravity=G)
        close(tau, fn.inverse_dynamics(model, q, v, a))
        acc = skeleton_fd(chain, q, v, a, gravity=G)
        bar = 64 * np.linalg.cond(fn.mass_matrix(model, q))
        close(acc, fn.forward_dynamics(model, q, v, a), bar)


@pytest.mark.parametrize("link", [0, 1, 2])
def test_force_at_a_point_equals_a_point_force_on_the_chain(link):
    chain, model = random_chain(3)
    q, v, a = state(3)
    force, point = (1.5, -2.0), (0.2, 0.1)
    f_ext = fn.point_force(model, q, f"link{link}", (*force, 0.0), (*point, 0.0))
    load = {"f_E": force, "link": link, "point": point, "gravity": G}
    close(skeleton_id(chain, q, v, a, **load), fn.inverse_dynamics(model, q, v, a, f_ext))
    bar = 64 * np.linalg.cond(fn.mass_matrix(model, q))
    close(skeleton_fd(chain, q, v, a, **load), fn.forward_dynamics(model, q, v, a, f_ext), bar)
    # and it matters
    free = array(skeleton_id(chain, q, v, a, gravity=G))
    assert np.abs(free - array(skeleton_id(chain, q, v, a, **load))).max() > 0.1


def test_force_at_the_tip_of_the_sample_chain():
    model = sf.load("planar_chain:4")
    q, v, a = state(4)
    f_ext = fn.point_force(model, q, "tip", (0.7, 0.4, 0.0))
    found = skeleton_id(rods(4), q, v, a, f_E=(0.7, 0.4), gravity=G)
    close(found, fn.inverse_dynamics(model, q, v, a, f_ext))


def test_skeleton_functions_are_public():
    chain, _ = random_chain(2)
    q, v, a = state(2)
    assert sf.planar.skeleton_fd(chain, q, v, a) == skeleton_fd(chain, q, v, a)
    assert sf.planar.skeleton_id(chain, q, v, a) == skeleton_id(chain, q, v, a)
    assert sf.planar.PlanarChain is PlanarChain


# -- errors


def test_chain_with_lists_of_different_lengths_is_refused():
    with pytest.raises(ModelError, match="one for each link"):
        PlanarChain([1.0, 1.0], [0.1], [1.0, 1.0])
    with pytest.raises(ModelError, match="one for each link"):
        PlanarChain([1.0], [0.1], [1.0], [(0.5, 0.0), (0.5, 0.0)])
    with pytest.raises(ModelError, match="PlanarChain"):
        PlanarChain([], [], [])


@pytest.mark.parametrize("name", ["q", "qd", "tau"])
def test_forward_dynamics_names_the_vector_of_the_wrong_length(name):
    values = {"q": [0.0] * 3, "qd": [0.0] * 3, "tau": [0.0] * 3}
    values[name] = [0.0] * 2
    with pytest.raises(ShapeError, match=f"'{name}'"):
        skeleton_fd(rods(3), **values)


def test_inverse_dynamics_names_the_vector_of_the_wrong_length():
    with pytest.raises(ShapeError, match="'qdd'"):
        skeleton_id(rods(2), [0.0] * 2, [0.0] * 2, [0.0] * 3)


def test_a_link_that_does_not_exist_is_refused():
    with pytest.raises(ModelError, match="no link 3"):
        skeleton_jacobian(rods(3), [0.0] * 3, 3)
    with pytest.raises(ModelError, match="no link -4"):
        skeleton_fd(rods(3), [0.0] * 3, [0.0] * 3, [0.0] * 3, f_E=(1.0, 0.0), link=-4)
