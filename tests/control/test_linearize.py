"""Linearisation: exact, in tangent coordinates, for every joint and every integrator."""

import sys

import numpy as np
import pytest

import sixfold as sf
from sixfold.control.linearize import step_derivatives
from sixfold.simulation import INTEGRATORS
from sixfold.simulation.equations import Equations
from tests.cases import some
from tests.evaluate.small_models import coupled_arm, spherical_tree

DT = 0.01


def many_joints():
    """A floating base with joints whose motion subspace turns with q."""
    builder = sf.ModelBuilder("many_joints", friction_speed=0.1)
    joints = (sf.Free(), sf.Universal(), sf.Planar(), sf.Spherical(), sf.Helical("z", 0.1))
    for k, joint in enumerate(joints):
        builder.add_body(
            f"b{k}",
            parent=f"b{k - 1}" if k else None,
            joint=joint,
            placement=sf.Transform.from_rpy((0.3, -0.2, 0.1 * k), (0.2, 0.1, 0.3)),
            inertia=sf.Inertia.from_mass(1.0 + k, (0.1, -0.2, 0.3), (0.2, 0.3, 0.4)),
            damping=0.1 if k else 0.0,
        )
    return builder.build()


def ball():
    """A body on a ball joint, its weight beside the joint."""
    inertia = sf.Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (1, 2, 2.5))
    return sf.ModelBuilder("ball").add_body("b", joint=sf.Spherical(), inertia=inertia).build()


MODELS = {
    "double_pendulum": lambda: sf.load("double_pendulum"),
    "floating_link": lambda: sf.load("floating_link"),
    "spherical_tree": spherical_tree,
    "coupled_arm": coupled_arm,
    "many_joints": many_joints,
}


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    model = MODELS[request.param]()
    q, v = sf.random_state(model, seed=3)
    return model, q, v, np.random.default_rng(4).normal(size=model.nv)


def columns(function, n, size):
    """Return the derivative of a function of n numbers by differences of fourth order."""
    unit = np.eye(n) * size

    def half(k):
        return np.array([function(k * row) - function(-k * row) for row in unit])

    return ((8 * half(1) - half(2)) / (12 * size)).T


def close(got, want, digits):
    np.testing.assert_allclose(got, want, rtol=0, atol=10.0**-digits * max(1, np.abs(want).max()))


def step_of(model, q, v, tau, **options):
    """Return one step as a function of (dq, dv, dtau), from where the step leads."""
    n = model.nv

    def step(x):
        start = sf.integrate(model, q, x[:n]), v + x[n : 2 * n], (tau + x[2 * n :])[None]
        return [y[-1] for y in sf.rollout(model, *start, dt=DT, **options)]

    at, speed = step(np.zeros(3 * n))

    def moved(x):
        there, faster = step(x)
        return np.concatenate([sf.difference(model, at, there), faster - speed])

    return moved


@pytest.mark.parametrize("integrator", some(INTEGRATORS, 2))
def test_a_step_agrees_with_differences_of_rollout(case, integrator):
    model, q, v, tau = case
    n = model.nv
    A, B = sf.control.linearize(model, q, v, tau, DT, integrator)
    assert A.shape == (2 * n, 2 * n) and B.shape == (2 * n, n)
    step = step_of(model, q, v, tau, steps=1, integrator=integrator)
    want = columns(step, 3 * n, 1e-3)
    close(A, want[:, : 2 * n], 8)
    close(B, want[:, 2 * n :], 8)


@pytest.mark.parametrize("integrator", some(INTEGRATORS, 2))
def test_a_step_is_the_derivative_of_its_own_program_to_rounding(integrator):
    model = ball()
    q, v = sf.random_state(model, seed=5)
    tau = np.linspace(-1, 1, model.nv)

    def step(q, v, tau, q1):
        system = Equations(model, control=lambda *_: list(tau))
        there, faster = INTEGRATORS[integrator](system, 0.0, list(q), list(v), DT)
        return np.concatenate([sf.difference(model, q1, there), faster])

    q1 = sf.rollout(model, q, v, tau[None], dt=DT, steps=1, integrator=integrator)[0][-1]
    found = [
        sf.compile(step, model, inputs={"q1": model.nq}, derivative=argument)(q, v, tau, q1)
        for argument in ("tangent", "v", "tau")
    ]
    A, B = sf.control.linearize(model, q, v, tau, DT, integrator)
    close(A, np.hstack(found[:2]), 13)
    close(B, found[2], 13)


def test_semi_implicit_euler_is_the_closed_form():
    model = sf.load("puma560")
    q, v = sf.random_state(model, 7, seed=0)
    tau = v[::-1].copy()
    a_q, a_v, a_tau = sf.derivatives.forward_dynamics_derivatives(model, q, v, tau)
    one = np.eye(model.nv)
    want_A = np.block([[one + DT**2 * a_q, DT * (one + DT * a_v)], [DT * a_q, one + DT * a_v]])
    want_B = np.concatenate([DT**2 * a_tau, DT * a_tau], -2)
    for found in (
        sf.control.linearize(model, q, v, tau, DT),
        sf.control.linearize(model, q, v, tau, DT, "semi_implicit_euler"),
    ):
        assert found.dt == DT and found.integrator == "semi_implicit_euler"
        close(found.A, want_A, 14)
        close(found.B, want_B, 14)


def test_in_continuous_time_the_error_turns_with_the_body(case):
    model, q, v, tau = case
    n = model.nv
    A, B = sf.control.linearize(model, q, v, tau)
    a_q, a_v, a_tau = sf.derivatives.forward_dynamics_derivatives(model, q, v, tau)
    close(A[n:], np.hstack([a_q, a_v]), 14)
    np.testing.assert_array_equal(A[:n, n:], np.eye(n))
    np.testing.assert_array_equal(B, np.vstack([np.zeros((n, n)), a_tau]))

    def apart(t):
        """Return d/dx of the error after a time, by differences; both motions are parabolas."""

        def error(x):
            ends = []
            for dq, u in ((0 * x[:n], v), (x[:n], v + x[n:])):
                start = sf.integrate(model, q, dq)
                a = sf.forward_dynamics(model, start, u, tau)
                ends.append(sf.integrate(model, start, u * t + a * t * t / 2))
            return sf.difference(model, *ends)

        return columns(error, 2 * n, 1e-3)

    # not quite parabolas: an error of the order of t^2 is left
    t = 1e-4
    rate = (8 * (apart(t) - apart(-t)) - (apart(2 * t) - apart(-2 * t))) / (12 * t)
    np.testing.assert_allclose(A[:n], rate, rtol=0, atol=2e-4 * np.abs(A).max())


def test_the_upper_left_block_of_a_ball_joint_is_a_cross_product():
    w = np.array([0.3, -0.5, 0.7])
    A, _ = sf.control.linearize(ball(), [0, 0, 0, 1], w, np.zeros(3))
    want = -np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])
    np.testing.assert_array_equal(A[:3, :3], want)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_the_chain_rule_over_two_steps(case, integrator):
    model, q, v, tau = case
    n = model.nv
    first = sf.control.linearize(model, q, v, tau, DT, integrator)
    states = sf.rollout(model, q, v, tau[None], dt=DT, steps=1, integrator=integrator)
    then = sf.control.linearize(model, *(x[-1] for x in states), tau, DT, integrator)
    step = step_of(model, q, v, tau, steps=2, integrator=integrator)
    want = columns(step, 3 * n, 1e-3)
    close(then.A @ first.A, want[:, : 2 * n], 7)
    close(then.A @ first.B + then.B, want[:, 2 * n :], 7)


# -- laws of mechanics


def test_the_eigenvalues_of_a_pendulum():
    model = sf.load("pendulum")
    inertia = sf.mass_matrix(model, [0.0])[0, 0]
    torque = sf.gravity_force(model, [np.pi / 2])[0]
    rate = np.sqrt(torque / inertia)
    hanging = np.linalg.eigvals(sf.control.linearize(model, [0.0], [0.0], [0.0]).A)
    upright = np.linalg.eigvals(sf.control.linearize(model, [np.pi], [0.0], [0.0]).A)
    np.testing.assert_allclose(sorted(hanging.imag), [-rate, rate], rtol=1e-14)
    np.testing.assert_allclose(sorted(upright.real), [-rate, rate], rtol=1e-14)
    for integrator, order in (("semi_implicit_euler", 1), ("midpoint", 2), ("rk4", 4)):
        A, _ = sf.control.linearize(model, [0.0], [0.0], [0.0], DT, integrator)
        exact = np.exp(1j * rate * DT)
        error = min(abs(np.linalg.eigvals(A) - exact))
        assert error < 2 * (rate * DT) ** (order + 1)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "midpoint"])
def test_symplectic_steps_keep_areas(integrator):
    A, _ = sf.control.linearize(sf.load("pendulum"), [0.4], [1.5], [0.0], DT, integrator)
    assert abs(np.linalg.det(A) - 1.0) < 1e-13
    A, _ = sf.control.linearize(sf.load("pendulum"), [0.4], [1.5], [0.0], DT, "rk4")
    assert abs(np.linalg.det(A) - 1.0) > 1e-13


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_the_energy_near_rest_is_conserved_or_lost_by_damping(damping):
    """With the Hessian P of the energy, P A + A^T P is zero, and -2 D under damping."""
    builder = sf.ModelBuilder("arm")
    for k in range(3):
        builder.add_body(
            f"b{k}",
            parent=f"b{k - 1}" if k else None,
            joint=sf.Revolute("y" if k else "x"),
            placement=sf.Transform.from_rpy((0, 0, 0), (0, 0, -0.4)),
            inertia=sf.Inertia.from_mass(1.0, (0, 0, -0.2), (0.02, 0.03, 0.01)),
            damping=damping,
        )
    model = builder.build()
    zero = np.zeros(3)
    A, _ = sf.control.linearize(model, zero, zero, zero)
    M = sf.mass_matrix(model, zero)
    hessian = columns(lambda q: sf.gravity_force(model, q), 3, 1e-3)
    P = np.block([[hessian, np.zeros((3, 3))], [np.zeros((3, 3)), M]])
    want = np.diag([0.0] * 3 + [-2 * damping] * 3)
    np.testing.assert_allclose(P @ A + A.T @ P, want, rtol=0, atol=1e-9)


# -- batches, forces, kinds of numbers


def test_rows_of_a_batch_are_those_of_single_states():
    model = sf.load("floating_link")
    q, v = sf.random_state(model, 6, seed=1)
    tau = np.zeros(model.nv)
    for options in ({}, {"dt": DT}, {"dt": DT, "integrator": "lie_rk4"}):
        found = sf.control.linearize(
            model, q.reshape(2, 3, -1), v.reshape(2, 3, -1), tau, **options
        )
        assert found.A.shape == (2, 3, 14, 14) and found.B.shape == (2, 3, 14, 7)
        one = sf.control.linearize(model, q[4].tolist(), v[4].tolist(), tau, **options)
        np.testing.assert_array_equal(found.A[1, 1], one.A)
        np.testing.assert_array_equal(found.B[1, 1], one.B)
        chosen = found.select(1, 1)
        np.testing.assert_array_equal(chosen.A, one.A)
        np.testing.assert_array_equal(chosen.q, q[4])
        assert chosen.dt == one.dt and chosen.integrator == one.integrator


@pytest.mark.parametrize("frame", ["world", "body"])
def test_external_forces_stay_in_their_frame(frame):
    model = sf.load("floating_link")
    q, v = sf.random_state(model, seed=2)
    tau, f_ext = np.zeros(model.nv), np.random.default_rng(1).normal(size=(model.nb, 6))
    force = {"f_ext": f_ext, "f_ext_frame": frame}
    A, B = sf.control.linearize(model, q, v, tau, DT, "rk4", **force)
    step = step_of(model, q, v, tau, steps=1, integrator="rk4", **force)
    want = columns(step, 3 * model.nv, 1e-3)
    close(np.hstack([A, B]), want, 9)
    A, _ = sf.control.linearize(model, q, v, tau, **force)
    a_q, _, _ = sf.derivatives.forward_dynamics_derivatives(model, q, v, tau, **force)
    close(A[model.nv :, : model.nv], a_q, 14)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_steps_too_large_for_a_kernel_are_taken_stage_by_stage(case, integrator):
    model, q, v, tau = case
    lists = [[np.array([x, 1.0 * x]) for x in part] for part in (q, v, tau)]
    found = step_derivatives(model, model.tree, *lists, [np.array([DT, DT])], integrator=integrator)
    want = sf.control.linearize(model, q, v, tau, DT, integrator)
    flat = np.array([np.broadcast_to(x, 2)[1] for x in found])
    close(flat, np.concatenate([want.A.ravel(), want.B.ravel()]), 12)


def test_single_precision_and_other_numbers():
    model = sf.load("double_pendulum")
    q, v, tau = (np.array(x, np.float32) for x in ([0.5, 0.25], [1.0, -0.5], [0.0, 1.0]))
    want = sf.control.linearize(model, *(x.astype(float) for x in (q, v, tau)), DT, "rk4")
    single = sf.control.linearize(model, q, v, tau, DT, "rk4")
    assert single.A.dtype == np.float32
    np.testing.assert_allclose(single.A, want.A, rtol=0, atol=1e-5)
    wide = sf.control.linearize(model, q.astype(np.longdouble), v, tau, DT, "rk4")
    assert wide.A.dtype == np.longdouble
    np.testing.assert_allclose(wide.A.astype(float), want.A, rtol=0, atol=1e-14)
    many = pytest.importorskip("gmpy2")
    numbers = np.array([many.mpfr(float(x)) for x in q], object)
    exact = sf.control.linearize(model, numbers, v, tau, DT, "rk4")
    assert exact.A.dtype == object
    np.testing.assert_allclose(exact.A.astype(float), want.A, rtol=0, atol=1e-14)


def test_a_model_without_joints_has_nothing_to_linearise():
    model = sf.ModelBuilder("rock").build()
    for dt in (None, DT):
        A, B = sf.control.linearize(model, [], [], [], dt)
        assert A.shape == (0, 0) and B.shape == (0, 0)


# -- the object


def test_names_and_what_is_printed():
    model = sf.load("floating_link")
    q, v = sf.random_state(model, seed=2)
    found = sf.control.linearize(model, q, v, np.zeros(7), DT, "rk4")
    assert found.state_names[:1] + found.state_names[-1:] == ("q[free.wx]", "v[hinge]")
    assert found.input_names[-1] == "tau[hinge]" and len(found.state_names) == 14
    assert repr(found).startswith("Linearization of 'floating_link' (dt=0.01, rk4): A (14, 14)")
    assert found.model is model
    np.testing.assert_array_equal(found.q, q)
    A, B = found
    assert A is found.A and B is found.B


def test_python_control_gets_the_same_system():
    control = pytest.importorskip("control")
    model = sf.load("double_pendulum")
    top = ([np.pi, 0.0], [0.0, 0.0], [0.0, 0.0])
    for dt, solve in ((None, control.lqr), (DT, control.dlqr)):
        found = sf.control.linearize(model, *top, dt)
        system = found.to_control()
        assert system.dt == (dt or 0) and system.isctime() == (dt is None)
        assert system.state_labels == system.output_labels == list(found.state_names)
        assert system.input_labels == list(found.input_names)
        K, S, _ = solve(system, np.eye(4), np.eye(2))
        own = sf.control.lqr(found, 1.0, 1.0)
        close(own.K, K, 10)
        close(own.S, S, 10)
    floating = sf.load("floating_link")
    system = sf.control.linearize(
        floating, sf.neutral(floating), np.zeros(7), np.zeros(7)
    ).to_control()
    assert system.state_labels[0] == "q[free_wx]"


def test_python_control_has_no_batches_and_may_be_missing(monkeypatch):
    model = sf.load("pendulum")
    batch = sf.control.linearize(model, [[0.0], [1.0]], [0.0], [0.0])
    with pytest.raises(
        sf.errors.NotApplicableError, match=r"batch of linearisations, shape \(2,\)"
    ):
        batch.to_control()
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(
        sf.errors.NotApplicableError, match=r"pip install control.*sixfold\[control\]"
    ):
        batch.select(0).to_control()


# -- bad input

GOOD = {"q": [0.1, 0.2], "v": [0.0, 0.0], "tau": [0.0, 0.0]}
BAD = [
    ({"q": [0.1]}, sf.errors.ShapeError, "'q'"),
    ({"v": [0.1, 0.2, 0.3]}, sf.errors.ShapeError, "'v'"),
    ({"tau": "now"}, sf.errors.NumberError, "'tau'"),
    ({"tau": [1j, 0]}, sf.errors.NumberError, "'tau'"),
    ({"q": [[0.1, 0.2]] * 2, "v": [[0.1, 0.2]] * 3}, sf.errors.ShapeError, "leading axes"),
    ({"dt": 0.0}, sf.errors.OptionError, "'dt'"),
    ({"dt": -1.0}, sf.errors.OptionError, "'dt'"),
    ({"dt": float("nan")}, sf.errors.OptionError, "'dt'"),
    ({"dt": [0.1, 0.2]}, sf.errors.OptionError, "'dt'"),
    ({"dt": DT, "integrator": "euler"}, sf.errors.OptionError, "'integrator'"),
    ({"dt": DT, "integrator": "solve_ivp"}, sf.errors.OptionError, "'integrator'"),
    ({"integrator": "rk4"}, sf.errors.NotApplicableError, "'integrator'"),
    ({"f_ext_frame": "body"}, sf.errors.NotApplicableError, "'f_ext_frame'"),
    ({"dt": DT, "f_ext_frame": "body"}, sf.errors.NotApplicableError, "'f_ext_frame'"),
    ({"f_ext": np.zeros((2, 6)), "f_ext_frame": "tool"}, sf.errors.OptionError, "'f_ext_frame'"),
    ({"f_ext": np.zeros(6)}, sf.errors.ShapeError, "'f_ext'"),
]


@pytest.mark.parametrize(("wrong", "error", "words"), BAD)
def test_bad_arguments_are_refused_by_name(wrong, error, words):
    model = sf.load("double_pendulum")
    with pytest.raises(error, match=r"^linearize: ") as caught:
        sf.control.linearize(model, **{**GOOD, **wrong})
    assert words in str(caught.value) and "fix: " in str(caught.value)


def test_a_first_argument_that_is_no_model_is_refused():
    with pytest.raises(sf.errors.ArgumentError, match="linearize: the first argument"):
        sf.control.linearize([0.1], [0.1], [0.1], [0.1])


def test_nan_stays_in_its_row():
    model = sf.load("double_pendulum")
    q = np.array([[0.1, 0.2], [np.nan, 0.2], [0.3, 0.4]])
    for dt in (None, DT):
        A, _ = sf.control.linearize(model, q, [0.0, 0.0], [0.0, 0.0], dt)
        assert np.isnan(A[1]).any() and np.isfinite(A[[0, 2]]).all()


@pytest.mark.parametrize("index", [(), (2,), (0, 0), (0.5,), (True,), ("0",), (slice(1),)])
def test_a_place_that_is_not_in_the_batch_is_refused(index):
    batch = sf.control.linearize(sf.load("pendulum"), [[0.0], [1.0]], [0.0], [0.0])
    with pytest.raises(sf.errors.OptionError, match="'index'"):
        batch.select(*index)


@pytest.mark.parametrize("dt", [None, DT])
def test_joints_without_inertia_are_named(dt):
    builder = sf.ModelBuilder("light").add_body("b", joint=sf.Revolute("z"), joint_name="loose")
    with pytest.raises(sf.errors.SingularModelError, match="loose"):
        sf.control.linearize(builder.build(), [0.0], [0.0], [0.0], dt)


def test_a_quaternion_of_length_zero_is_refused_and_another_length_does_not_matter():
    model = spherical_tree()
    q, v = sf.random_state(model, seed=1)
    tau = np.zeros(model.nv)
    with pytest.raises(sf.errors.StateError, match="linearize: argument 'q'"):
        sf.control.linearize(model, np.zeros(8), v, tau, DT)
    for integrator in INTEGRATORS:
        want = sf.control.linearize(model, q, v, tau, DT, integrator)
        close(sf.control.linearize(model, 2 * q, v, tau, DT, integrator).A, want.A, 12)
