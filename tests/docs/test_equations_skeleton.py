"""The planar skeleton: H, b, J_E and the consistency check, against the same chain as a model."""

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
from sixfold.scalar import differentiate, plain

G = 9.81
DOWN = (0.0, -G)
M, I, L = (1.2, 0.7, 0.4, 0.9), (0.03, 0.02, 0.01, 0.05), (0.5, 0.4, 0.3, 0.6)
COM = ((0.2, 0.05), (0.25, -0.04), (0.1, 0.0), (0.3, 0.02))  # some off the link line
CHAIN = PlanarChain(M, I, L, COM)
N = len(M)


def floats(values):
    return np.array([float(plain(x)) for x in values])


@pytest.fixture
def state():
    rng = np.random.default_rng(9)
    return tuple(rng.uniform(-1.5, 1.5, (3, N)))


@pytest.fixture
def model():
    """The same chain built body by body, with gravity along -y."""
    builder = sf.ModelBuilder("chain", gravity=(0, -G, 0))
    for k in range(N):
        inertia = sf.Inertia.from_mass(M[k], (*COM[k], 0.0), (1.0, 1.0, I[k]))
        builder.add_body(
            f"link{k}",
            parent=f"link{k - 1}" if k else None,
            joint=sf.Revolute("z"),
            placement=(L[k - 1], 0, 0) if k else None,
            inertia=inertia,
        )
    return builder.build()


class Points:
    """Positions of joints and centres, absolute angles' rates, and the coefficients h."""

    def __init__(self, q, qd):
        x = skeleton(CHAIN, q)
        self.joints = np.array([floats(p) for p in x.joints])
        self.centers = np.array([floats(p) for p in x.centers])
        self.rates = np.cumsum(qd)  # theta_j = q_1 + ... + q_j

    def h(self, k, j):
        """(h_xkj, h_ykj): the arm from joint j-1 to joint j, to the centre for j = k."""
        if j > k:
            return np.zeros(2)
        end = self.centers[k] if j == k else self.joints[j + 1]
        return end - self.joints[j]


def test_geometric_coefficients_are_the_rates_of_the_centres(state):
    q, qd, _ = state
    at = Points(q, qd)

    def centers(angles):
        return [x for point in skeleton(CHAIN, angles).centers for x in point]

    _, rates = differentiate(centers, q, qd)
    rates = floats(rates).reshape(N, 2)
    for k in range(N):
        vx = -sum(at.h(k, j)[1] * at.rates[j] for j in range(N))
        vy = sum(at.h(k, j)[0] * at.rates[j] for j in range(N))
        assert np.allclose(rates[k], (vx, vy), atol=1e-14)


def test_kinetic_energy_of_the_links_is_half_the_quadratic_form_of_h(state):
    q, qd, _ = state
    at = Points(q, qd)

    def centers(angles):
        return [x for point in skeleton(CHAIN, angles).centers for x in point]

    _, rates = differentiate(centers, q, qd)
    v = floats(rates).reshape(N, 2)
    K = sum(M[k] * (v[k] @ v[k]) + I[k] * at.rates[k] ** 2 for k in range(N)) / 2
    H = np.array([floats(row) for row in skeleton_inertia(CHAIN, q)])
    assert np.isclose(qd @ H @ qd / 2, K, rtol=1e-13)


def test_the_inertia_matrix_is_the_printed_sum_and_that_of_the_model(state, model):
    q, qd, _ = state
    at = Points(q, qd)
    H = np.array([floats(row) for row in skeleton_inertia(CHAIN, q)])
    for i in range(N):
        for j in range(N):
            printed = sum(
                M[k] * (at.centers[k] - at.joints[i]) @ (at.centers[k] - at.joints[j]) + I[k]
                for k in range(max(i, j), N)
            )
            assert np.isclose(H[i, j], printed, rtol=1e-13)
    assert np.allclose(H, sf.mass_matrix(model, q), rtol=1e-12)


def test_the_inertia_matrix_is_symmetric_and_positive_definite(state):
    H = np.array([floats(row) for row in skeleton_inertia(CHAIN, state[0])])
    assert np.allclose(H, H.T, rtol=1e-15) and np.linalg.eigvalsh(H)[0] > 0


def printed_bias(at):
    return [
        sum(
            M[k]
            * sum(
                (
                    (at.centers[k] - at.joints[i])[1] * at.h(k, j)[0]
                    - (at.centers[k] - at.joints[i])[0] * at.h(k, j)[1]
                )
                * at.rates[j] ** 2
                for j in range(N)
            )
            for k in range(i, N)
        )
        for i in range(N)
    ]


def test_the_bias_without_gravity_is_the_printed_sum_and_that_of_the_model(state, model):
    q, qd, _ = state
    b = floats(skeleton_bias(CHAIN, q, qd))
    assert np.allclose(b, printed_bias(Points(q, qd)), rtol=1e-12)
    assert np.allclose(b, sf.bias_force(model.without(gravity=True), q, qd), rtol=1e-11)


def test_the_angles_of_the_bias_are_absolute(state, model):
    q, qd, _ = state
    wrong = Points(q, qd)
    wrong.rates = qd  # joint angles instead
    right = sf.bias_force(model.without(gravity=True), q, qd)
    assert np.abs(np.array(printed_bias(wrong)) - right).max() > 0.01


def test_gravity_adds_the_moments_of_the_weights_to_the_bias(state, model):
    q, qd, _ = state
    at = Points(q, qd)
    added = floats(skeleton_bias(CHAIN, q, qd, gravity=DOWN)) - floats(skeleton_bias(CHAIN, q, qd))
    weights = [
        sum(M[k] * G * (at.centers[k] - at.joints[i])[0] for k in range(i, N)) for i in range(N)
    ]
    assert np.allclose(added, weights, rtol=1e-11)
    b = floats(skeleton_bias(CHAIN, q, qd, gravity=DOWN))
    assert np.allclose(b, sf.bias_force(model, q, qd), rtol=1e-11)


@pytest.mark.parametrize("link", range(N))
def test_the_jacobian_is_that_of_the_point_where_the_force_acts(state, model, link):
    q = state[0]
    point = (0.15, -0.07)
    J = np.array([floats(row) for row in skeleton_jacobian(CHAIN, q, link, point)])
    expected = sf.jacobian(model, q, f"link{link}", point=(*point, 0.0))[3:5]
    assert np.allclose(J, expected, atol=1e-14)


def test_the_equation_of_motion_holds_with_an_external_force(state, model):
    q, qd, qdd = state
    push = (3.0, -2.0)
    tau = floats(skeleton_id(CHAIN, q, qd, qdd, f_E=push, gravity=DOWN))
    H = np.array([floats(row) for row in skeleton_inertia(CHAIN, q)])
    b = floats(skeleton_bias(CHAIN, q, qd, gravity=DOWN))
    J = np.array([floats(row) for row in skeleton_jacobian(CHAIN, q)])
    assert np.allclose(H @ qdd + b, tau + J.T @ push, rtol=1e-12)
    f_ext = sf.point_force(model, q, f"link{N - 1}", (*push, 0.0), (L[-1], 0.0, 0.0))
    assert np.allclose(tau, sf.inverse_dynamics(model, q, qd, qdd, f_ext), rtol=1e-11, atol=1e-12)


def test_forward_dynamics_solves_with_h_instead_of_inverting_it(state, model):
    q, qd, tau = state
    push = (3.0, -2.0)
    acc = floats(skeleton_fd(CHAIN, q, qd, tau, f_E=push, gravity=DOWN))
    H = np.array([floats(row) for row in skeleton_inertia(CHAIN, q)])
    J = np.array([floats(row) for row in skeleton_jacobian(CHAIN, q)])
    rhs = tau - floats(skeleton_bias(CHAIN, q, qd, gravity=DOWN)) + J.T @ push
    assert np.abs(acc - np.linalg.solve(H, rhs)).max() < 1e-10 * np.abs(acc).max()
    f_ext = sf.point_force(model, q, f"link{N - 1}", (*push, 0.0), (L[-1], 0.0, 0.0))
    by_model = sf.forward_dynamics(model, q, qd, tau, f_ext)
    assert np.abs(acc - by_model).max() < 1e-10 * np.abs(acc).max()


def test_forward_dynamics_recovers_the_acceleration_of_inverse_dynamics(state):
    q, qd, qdd = state
    options = {"f_E": (1.0, 2.0), "link": 1, "gravity": DOWN}
    tau = skeleton_id(CHAIN, q, qd, qdd, **options)
    back = floats(skeleton_fd(CHAIN, q, qd, tau, **options))
    assert np.abs(back - qdd).max() < 1e-11
