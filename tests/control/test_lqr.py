"""The linear-quadratic regulator: Riccati's equation, stability, and what is refused."""

import sys

import numpy as np
import pytest

import sixfold as sf
from sixfold.control import LQR

pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def acrobot():
    """A double pendulum upright, with a motor at the elbow."""
    model = sf.load("double_pendulum")
    A, B = sf.control.linearize(model, [np.pi, 0.0], [0.0, 0.0], [0.0, 0.0])
    return A, B[:, 1:]


def test_the_double_integrator_has_the_gains_of_the_books():
    A, B = [[0.0, 1.0], [0.0, 0.0]], [[0.0], [1.0]]
    K, S, eigenvalues = sf.control.lqr(A, B, 1.0, 1.0)
    np.testing.assert_allclose(K, [[1.0, np.sqrt(3.0)]], rtol=1e-12)
    np.testing.assert_allclose(S, [[np.sqrt(3.0), 1.0], [1.0, np.sqrt(3.0)]], rtol=1e-12)
    np.testing.assert_allclose(eigenvalues.real, -np.sqrt(3.0) / 2, rtol=1e-12)
    found = sf.control.lqr([[1.0]], [[1.0]], 1.0, 1.0, dt=0.1)
    golden = (1 + np.sqrt(5.0)) / 2  # s = s - s^2 / (1 + s) + 1
    np.testing.assert_allclose(found.S, golden, rtol=1e-12)
    np.testing.assert_allclose(found.K, golden / (1 + golden), rtol=1e-12)


def test_the_riccati_equations_hold(acrobot):
    A, B = acrobot
    Q, R = np.diag([10.0, 5.0, 1.0, 2.0]), np.array([[0.5]])
    K, S, eigenvalues = sf.control.lqr(A, B, Q, R)
    rest = A.T @ S + S @ A - S @ B @ np.linalg.solve(R, B.T @ S) + Q
    assert np.abs(rest).max() < 1e-10 * np.abs(S).max() * np.abs(A).max()
    np.testing.assert_allclose(K, np.linalg.solve(R, B.T @ S), rtol=1e-12)
    assert eigenvalues.real.max() < 0

    model = sf.load("double_pendulum")
    step = sf.control.linearize(model, [np.pi, 0.0], [0.0, 0.0], [0.0, 0.0], 0.02, "rk4")
    A, B = step
    found = sf.control.lqr(step, np.diag(Q), R=[0.5, 0.5])
    K, S, eigenvalues = found
    closed = A - B @ K
    rest = closed.T @ S @ closed + K.T @ (0.5 * K) + Q - S  # the cost is the sum of its steps
    assert np.abs(rest).max() < 1e-9 * np.abs(S).max()
    assert np.abs(eigenvalues).max() < 1 and isinstance(found, LQR)


def test_weights_as_matrices_diagonals_and_numbers_are_the_same(acrobot):
    A, B = acrobot
    want = sf.control.lqr(A, B, 2.0 * np.eye(4), [[3.0]])
    for Q, R in (([2.0] * 4, [3.0]), (2.0, 3.0), (2, np.array(3))):
        found = sf.control.lqr(A, B, Q, R)
        np.testing.assert_array_equal(found.K, want.K)


def test_a_linearisation_brings_its_own_time():
    model = sf.load("pendulum")
    for dt in (None, 0.05):
        found = sf.control.linearize(model, [np.pi], [0.0], [0.0], dt)
        want = sf.control.lqr(found.A, found.B, [1.0, 2.0], 3.0, dt=dt)
        for got in (
            sf.control.lqr(found, [1.0, 2.0], 3.0),
            sf.control.lqr(found, R=3.0, Q=[1.0, 2.0]),
        ):
            np.testing.assert_array_equal(got.K, want.K)


def test_a_batch_gives_gains_for_each_linearisation():
    model = sf.load("double_pendulum")
    q = np.array([[[np.pi, 0.0]], [[2.0, 0.3]], [[0.5, -0.2]]])
    tau = sf.gravity_force(model, q)
    batch = sf.control.linearize(model, q, np.zeros(2), tau)
    found = sf.control.lqr(batch, 1.0, 1.0)
    assert found.K.shape == (3, 1, 2, 4) and found.eigenvalues.shape == (3, 1, 4)
    one = sf.control.lqr(batch.select(1, 0), 1.0, 1.0)
    np.testing.assert_array_equal(found.K[1, 0], one.K)
    assert found.eigenvalues.real.max() < 0


def test_the_cost_of_a_simulated_motion_is_the_one_that_is_promised():
    """x^T S x is the integral of x^T Q x + u^T R u over a long motion of small size."""
    model = sf.load("pendulum")
    top = np.array([np.pi])
    K, S, _ = sf.control.lqr(sf.control.linearize(model, top, [0.0], [0.0]), 1.0, 1.0)
    size, h = 1e-4, 1e-3

    def law(t, q, v):
        return -K @ np.concatenate([q - top, v])

    q, v = sf.rollout(model, top + size, [0.0], dt=h, steps=10_000, control=law, integrator="rk4")
    x = np.concatenate([q - top, v], -1)
    cost = h * ((x**2).sum() + ((x @ K.T) ** 2).sum())
    np.testing.assert_allclose(cost, size**2 * S[0, 0], rtol=0.01)


# -- what is refused

A, B = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([[0.0], [1.0]])
UNREACHED = np.diag([1.0, 2.0])
BAD = [
    (([[0.0, 1.0]], B, 1, 1), sf.errors.ShapeError, "'A'"),
    ((np.zeros((0, 0)), B, 1, 1), sf.errors.ShapeError, "'A'"),
    ((A[0], B, 1, 1), sf.errors.ShapeError, "'A'"),
    ((A, B.T, 1, 1), sf.errors.ShapeError, "'B'"),
    ((A, B[:, :0], 1, 1), sf.errors.ShapeError, "'B'"),
    ((A, [0.0, 1.0], 1, 1), sf.errors.ShapeError, "'B'"),
    ((np.stack([A] * 2), np.stack([B] * 3), 1, 1), sf.errors.ShapeError, "'A/B'"),
    ((A, B, np.eye(3), 1), sf.errors.ShapeError, "'Q'"),
    ((A, B, 1, [1.0, 2.0]), sf.errors.ShapeError, "'R'"),
    ((A * np.nan, B, 1, 1), sf.errors.NumberError, "'A' is not finite"),
    ((A, B, 1, np.inf), sf.errors.NumberError, "'R' is not finite"),
    ((A, B, [[1.0, 0.5], [0.0, 1.0]], 1), sf.errors.NumberError, "'Q' is not symmetric"),
    ((A, B, [1.0, -0.1], 1), sf.errors.NumberError, "'Q' rewards"),
    ((A, B, 1, 0.0), sf.errors.NumberError, "'R' is not positive definite"),
    ((A, B, 1, -1.0), sf.errors.NumberError, "'R' is not positive definite"),
    ((A, "B", 1, 1), sf.errors.NumberError, "'B'"),
    ((A, B, 1j, 1), sf.errors.NumberError, "'Q'"),
    ((A, B, 1, None), sf.errors.ArgumentError, "without R"),
    (
        (UNREACHED, B, 1, 1),
        sf.errors.NotApplicableError,
        "no input reaches its mode 1, seen in state",
    ),
    (
        (np.zeros((2, 2)), np.eye(2), 0, 1),
        sf.errors.NotApplicableError,
        "no solution that makes it",
    ),
]


@pytest.mark.parametrize(("arguments", "error", "words"), BAD)
def test_bad_systems_and_weights_are_refused(arguments, error, words):
    with pytest.raises(error) as caught:
        sf.control.lqr(*arguments)
    text = str(caught.value)
    assert text.startswith("lqr") and words in text and "fix: " in text


@pytest.mark.parametrize("dt", [0.0, -1.0, np.nan, "0.1", True])
def test_a_step_that_is_no_time_is_refused(dt):
    with pytest.raises(sf.errors.OptionError, match="'dt'"):
        sf.control.lqr(A, B, 1, 1, dt=dt)


def test_what_does_not_go_with_a_linearisation_is_refused():
    found = sf.control.linearize(sf.load("pendulum"), [0.0], [0.0], [0.0])
    with pytest.raises(sf.errors.NotApplicableError, match="'dt'"):
        sf.control.lqr(found, 1, 1, dt=0.1)
    for weights in ((), (1,), (1, 1, 1)):
        with pytest.raises(sf.errors.ArgumentError, match=r"lqr\(linearization, Q, R\)"):
            sf.control.lqr(found, *weights)


@pytest.mark.parametrize("function", ["lqr", "tvlqr"])
def test_matrices_that_are_missing_are_named(function):
    with pytest.raises(sf.errors.ArgumentError, match="without B and R"):
        getattr(sf.control, function)([[0.0]], Q=1.0)


def test_a_mode_that_no_motor_reaches_is_named():
    """A floating link without a force on its base cannot be held against gravity."""
    model = sf.load("floating_link")
    found = sf.control.linearize(model, sf.neutral(model), np.zeros(7), np.zeros(7))
    kept = sf.control.Linearization(found.A, found.B[:, 6:], model, found.q, found.v, found.tau)
    with pytest.raises(sf.errors.NotApplicableError, match=r"seen in state 'v\[free\.") as caught:
        sf.control.lqr(kept, 1.0, 1.0)
    assert "it is not stabilisable" in str(caught.value)
    # a stable mode may be left alone
    sf.control.lqr(np.diag([-1.0, 2.0]), B, 1, 1)
    sf.control.lqr(np.diag([0.5, 2.0]), B, 1, 1, dt=1.0)


def test_scipy_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.linalg", None)
    with pytest.raises(sf.errors.NotApplicableError, match="pip install scipy"):
        sf.control.lqr(A, B, 1, 1)
