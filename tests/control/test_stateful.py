"""Controllers with states of their own: integrated with the motion, or advanced once a step."""

import warnings

import numpy as np
import pytest

import sixfold as sf
from sixfold.simulation import INTEGRATORS

PENDULUM = sf.load("double_pendulum")
START = ([1.0, 0.5], [0.0, 0.0])
FIXED = list(INTEGRATORS)


def slider(mass=2.0):
    builder = sf.ModelBuilder("slider", gravity=(0, 0, 0))
    builder.add_body("box", joint=sf.Prismatic("x"), inertia=sf.Inertia.from_mass(mass))
    return builder.build()


def law(t, q, v, x):
    return -20.0 * q - 5.0 * v - 30.0 * x[:2] + x[2], np.array([q[0], q[1], sf.math.cos(t) - x[2]])


def sampled(t, q, v, x):
    return -20.0 * q - 5.0 * v - 30.0 * x[:2], np.array([x[0] + 1e-3 * q[0], x[1] + 1e-3 * q[1]])


def exponential(A, t, x):
    """Return exp(A t) x for a matrix with distinct eigenvalues."""
    values, vectors = np.linalg.eig(A)
    factors = np.exp(np.outer(t, values)) * np.linalg.solve(vectors, x)
    return (factors @ vectors.T).real


@pytest.mark.parametrize("integrator", [*FIXED, "solve_ivp"])
def test_the_states_are_integrated_with_the_order_of_the_integrator(integrator):
    # 2 q'' = -8 q - 2 v - 6 x, x' = q: a linear system with a closed form
    model = slider()
    A = np.array([[0.0, 1.0, 0.0], [-4.0, -1.0, -3.0], [1.0, 0.0, 0.0]])

    def pid(t, q, v, x):
        return -8.0 * q - 2.0 * v - 6.0 * x, q

    errors = []
    for dt in (0.02, 0.01):
        run = sf.simulate(
            model, [1.0], [-0.5], 2.0, dt=dt, control=pid, x0=[0.3], integrator=integrator
        )
        found = np.concatenate([run.q, run.v, run.x], axis=-1)
        errors.append(np.abs(found - exponential(A, run.t, [1.0, -0.5, 0.3])).max())
        assert run.notes == ()
    if integrator == "solve_ivp":
        assert errors[1] < 1e-8
    else:
        order = np.log2(errors[0] / errors[1])
        assert abs(order - INTEGRATORS[integrator].order) < 0.15


@pytest.mark.parametrize("integrator", FIXED)
@pytest.mark.parametrize(
    ("hold", "control", "x0"), [(False, law, [0, 0, 1]), (True, sampled, [0, 0])]
)
def test_all_ways_to_run_give_the_same_states(integrator, hold, control, x0):
    options = {"control": control, "x0": x0, "integrator": integrator, "hold": hold}
    run = sf.simulate(PENDULUM, *START, 0.02, **options)
    assert run.notes == () and run.x.shape == (21, len(x0))
    ways = [{"compiled": False}, {"backend": "numpy"}, {"events": lambda t, q, v: q[0] - 9}]
    for more in ways if integrator == "rk4" else ways[:1]:
        other = sf.simulate(PENDULUM, *START, 0.02, **options, **more)
        np.testing.assert_allclose(other.x, run.x, rtol=0, atol=1e-13)
        np.testing.assert_allclose(other.q, run.q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(other.tau, run.tau, rtol=0, atol=1e-12)
    for more in ({}, {"compiled": False}):
        q, v, x = sf.rollout(PENDULUM, *START, dt=1e-3, steps=20, **options, **more)
        np.testing.assert_allclose(q, run.q[1:], rtol=0, atol=1e-13)
        np.testing.assert_allclose(v, run.v[1:], rtol=0, atol=1e-12)
        np.testing.assert_allclose(x, run.x[1:], rtol=0, atol=1e-13)


def test_a_sampled_controller_is_the_python_loop_that_calls_it_once_a_step():
    run = sf.simulate(PENDULUM, *START, 0.05, control=sampled, x0=[0.1, 0.2], hold=True)
    (q, v), x = map(np.array, START), np.array([0.1, 0.2])
    for k in range(50):
        np.testing.assert_allclose(run.x[k], x, rtol=0, atol=1e-14)
        tau, x = sampled(k * 1e-3, q, v, x)
        np.testing.assert_allclose(run.tau[k], tau, rtol=0, atol=1e-12)
        (q,), (v,) = sf.rollout(PENDULUM, q, v, tau, dt=1e-3, steps=1, integrator="rk4")
    np.testing.assert_allclose(run.q[-1], q, rtol=0, atol=1e-12)


def test_starts_states_and_parameters_are_batches():
    gains = np.array([[10.0], [20.0], [30.0]])
    x0 = np.array([[0.0, 0.0], [0.1, 0.2], [0.3, -0.1]])

    def tuned(t, q, v, x, p):
        return -p[0] * q - v - 5.0 * x, q

    options = {"control": tuned, "integrator": "rk4"}
    q, _, x = sf.rollout(PENDULUM, *START, dt=1e-3, steps=30, parameters=gains, x0=x0, **options)
    runs = sf.simulate(PENDULUM, *START, 0.03, parameters=gains, x0=x0, **options)
    assert x.shape == (3, 30, 2) and runs.x.shape == (3, 31, 2)
    np.testing.assert_allclose(x, runs.x[:, 1:], rtol=0, atol=1e-13)
    for k in range(3):
        one = sf.simulate(PENDULUM, *START, 0.03, parameters=gains[k], x0=x0[k], **options)
        np.testing.assert_allclose(runs.x[k], one.x, rtol=0, atol=1e-13)
        np.testing.assert_allclose(q[k], one.q[1:], rtol=0, atol=1e-13)
    adaptive = sf.simulate(
        PENDULUM,
        *START,
        0.03,
        dt=1e-2,
        parameters=gains,
        x0=x0,
        control=tuned,
        integrator="solve_ivp",
    )
    np.testing.assert_allclose(adaptive.x, runs.x[:, ::10], rtol=0, atol=1e-9)
    out = tuple(np.empty((3, 30, 2)) for _ in range(3))
    given = sf.rollout(
        PENDULUM, *START, dt=1e-3, steps=30, parameters=gains, x0=x0, out=out, **options
    )
    assert all(a is b for a, b in zip(given, out, strict=True))
    np.testing.assert_array_equal(out[2], x)
    with pytest.raises(sf.errors.ShapeError, match="'out'"):
        sf.rollout(
            PENDULUM, *START, dt=1e-3, steps=30, parameters=gains, x0=x0, out=out[:2], **options
        )


def test_a_floating_tree_keeps_its_momentum_beside_a_state():
    from tests.simulation.support import flyer

    model = flyer().with_gravity((0, 0, 0))
    q, v = sf.random_state(model, seed=2)

    def wobble(t, q, v, x):
        zeros = [0.0 * t] * 6
        return np.array([*zeros, *(-0.2 * v[6:] + x[0])]), np.array([sf.math.cos(t) - x[0]])

    run = sf.simulate(
        model, q, 0.2 * v, 1.0, integrator="lie_rk4", control=wobble, x0=[0.0], every=50
    )
    h = sf.momentum(model, run.q, run.v)
    assert np.abs(h - h[0]).max() <= 1e-12 * np.abs(h[0]).max()
    np.testing.assert_allclose(
        run.x[:, 0], (np.sin(run.t) + np.cos(run.t) - np.exp(-run.t)) / 2, atol=1e-12
    )


def test_the_states_travel_with_a_trajectory(tmp_path):
    run = sf.simulate(PENDULUM, *START, 0.05, control=law, x0=[0, 0, 1])
    run.save(tmp_path / "run.npz")
    back = sf.Trajectory.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(back.x, run.x)
    assert run[10:20].x.shape == (10, 3) and run[10:20].q.shape == (10, 2)
    np.testing.assert_allclose(run.at([0.01]).x, run.x[10:11], atol=1e-15)
    plain = sf.simulate(PENDULUM, *START, 0.05)
    assert plain.x is None and plain[1:3].x is None
    plain.save(tmp_path / "plain.npz")
    assert sf.Trajectory.load(tmp_path / "plain.npz").x is None
    pair = sf.simulate(PENDULUM, np.ones((2, 2)), None, 0.01, control=law, x0=[0, 0, 1])
    assert pair.select(1).x.shape == (11, 3)


def test_a_state_that_runs_away_is_named():
    def grows(t, q, v, x):
        return 0.0 * q, x * x

    with pytest.raises(sf.errors.SimulationError, match=r"state x\[0\] of the controller"):
        sf.simulate(PENDULUM, *START, 2.0, control=grows, x0=[5.0], dt=1e-2)


@pytest.mark.parametrize(
    ("control", "x0", "error", "words"),
    [
        (lambda t, q, v, x: q, [0.0], sf.errors.ShapeError, ("two arrays", "control(t, q, v, x)")),
        (lambda t, q, v, x: (q, x, x), [0.0], sf.errors.ShapeError, ("two arrays",)),
        (lambda t, q, v, x: (q, q), [0.0], sf.errors.ShapeError, ("1 states", "(2,)")),
        (lambda t, q, v, x: (x, x), [0.0], sf.errors.ShapeError, ("2 joint forces", "(1,)")),
        (
            lambda t, q, v, x: None,
            [0.0],
            sf.errors.CallbackError,
            ("two arrays", "return tau, rates"),
        ),
        (lambda t, q, v: q, [0.0], sf.errors.CallbackError, ("(t, q, v, x)", "x0=")),
        (lambda t, q, v, x: (q, x), [], sf.errors.NumberError, ("'x0'",)),
        (lambda t, q, v, x: (q, x), [np.nan], sf.errors.SixfoldError, ("'x0'",)),
        (lambda t, q, v, x: (q, x), np.zeros((3, 2, 1)), None, ()),
        (None, [0.0], sf.errors.NotApplicableError, ("'x0'", "without a controller")),
    ],
)
def test_states_and_rates_that_do_not_fit_are_named(control, x0, error, words):
    calls = {
        "simulate": lambda: sf.simulate(PENDULUM, *START, 0.002, control=control, x0=x0),
        "rollout": lambda: sf.rollout(PENDULUM, *START, dt=1e-3, steps=2, control=control, x0=x0),
    }
    for name, run in calls.items():
        if error is None:
            run()
            continue
        with pytest.raises(error) as caught:
            run()
        for word in (*words, name, "fix: "):
            assert word in str(caught.value)


# -- the ready-made ones


def test_pid_removes_the_error_that_a_constant_load_leaves():
    load = np.array([3.0, -1.0])
    pd = sf.control.pd(PENDULUM, [0.3, 0.2], 60.0, 15.0)
    pid = sf.control.pid(PENDULUM, [0.3, 0.2], 60.0, 80.0, 15.0)
    options = {"dt": 1e-3, "steps": 40_000, "every": 40_000}
    q, _ = sf.rollout(PENDULUM, *START, load, control=pd, **options)
    assert np.abs(q[-1] - [0.3, 0.2]).max() > 0.01
    q, _, x = sf.rollout(PENDULUM, *START, load, control=pid, **options)
    np.testing.assert_allclose(q[-1], [0.3, 0.2], atol=1e-6)
    np.testing.assert_allclose(80.0 * x[-1], -load, atol=1e-4)  # the integral carries the load


def test_pid_of_a_slider_follows_its_closed_form():
    pid = sf.control.pid(slider(), [0.7], 8.0, 6.0, 2.0)
    run = sf.simulate(slider(), [1.0], [-0.5], 3.0, control=pid)
    A = np.array([[0.0, 1.0, 0.0], [-4.0, -1.0, -3.0], [1.0, 0.0, 0.0]])
    want = exponential(A, run.t, [0.3, -0.5, 0.0])
    np.testing.assert_allclose(run.q[:, 0] - 0.7, want[:, 0], atol=1e-10)
    np.testing.assert_allclose(-run.x[:, 0], want[:, 2], atol=1e-10)


def test_a_digital_pid_sums_errors_once_a_step():
    pid = sf.control.pid(PENDULUM, [0.0, 0.0], 60.0, 80.0, 15.0, sample_time=2e-3)
    run = sf.simulate(PENDULUM, *START, 0.2, dt=2e-3, hold=True, control=pid)
    sums = np.cumsum(-2e-3 * run.q, axis=0)
    np.testing.assert_allclose(run.x[1:], sums[:-1], atol=1e-13)
    gravity = sf.gravity_force(PENDULUM, run.q)
    np.testing.assert_allclose(
        run.tau, -60.0 * run.q + 80.0 * run.x - 15.0 * run.v + gravity, atol=1e-11
    )


@pytest.mark.parametrize(
    ("sample_time", "options"),
    [
        (None, {"hold": True}),
        (1e-3, {}),
        (2e-3, {"hold": True}),
        (1e-3, {"hold": True, "dt": 2e-3}),
    ],
)
def test_a_pid_at_another_rate_than_the_steps_is_refused(sample_time, options):
    pid = sf.control.pid(PENDULUM, [0.0, 0.0], 6.0, 8.0, 1.0, sample_time=sample_time)
    with pytest.raises(sf.errors.NotApplicableError, match=r"sample_time"):
        sf.simulate(PENDULUM, *START, 0.01, control=pid, **options)
    with pytest.raises(sf.errors.NotApplicableError, match=r"sample_time"):
        sf.rollout(PENDULUM, *START, control=pid, steps=3, **{"dt": 1e-3, **options})


def test_saturation_leaves_the_states_of_the_controller_inside():
    builder = sf.ModelBuilder("slider", gravity=(0, 0, 0))
    builder.add_body(
        "box", joint=sf.Prismatic("x"), inertia=sf.Inertia.from_mass(2.0), effort_limit=1.5
    )
    model = builder.build()
    pid = sf.control.pid(model, [0.0], 8.0, 6.0, 2.0)
    cut = sf.control.saturate(model, pid)
    run = sf.simulate(model, [1.0], [0.0], 1.0, control=cut)
    np.testing.assert_allclose(run.tau[0], [-1.5])
    free = np.clip(-8.0 * run.q + 6.0 * run.x - 2.0 * run.v, -1.5, 1.5)
    np.testing.assert_allclose(run.tau, free, atol=1e-12)
    assert run.notes == ()


@pytest.mark.parametrize("name", ["puma560", "floating_link", "tree6"])
def test_the_observer_sees_a_constant_disturbance_behind_its_filter(name):
    model = sf.load(name)
    d = np.linspace(-1.0, 1.0, model.nv)
    hold_up = sf.control.gravity_compensation(model)
    watch = sf.control.disturbance_observer(model, hold_up, 40.0, compensate=False)
    q0 = sf.random_state(model, seed=4)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q, v, x = sf.rollout(
            model, q0, np.zeros(model.nv), d, dt=1e-3, steps=150, control=watch, integrator="rk4"
        )
    t = 1e-3 * np.arange(1, 151)[:, None]
    np.testing.assert_allclose(watch.estimate(q, v, x), d * (1 - np.exp(-40.0 * t)), atol=2e-5)


def test_the_observer_takes_a_disturbance_off():
    goal = [0.3, 0.2]
    pd = sf.control.pd(PENDULUM, goal, 60.0, 15.0)
    watch = sf.control.disturbance_observer(PENDULUM, pd, 10.0)
    q, _, _ = sf.rollout(
        PENDULUM, *START, [3.0, -1.0], dt=1e-3, steps=15_000, every=15_000, control=watch
    )
    np.testing.assert_allclose(q[-1], goal, atol=1e-6)


def test_a_filtered_velocity_is_the_velocity_behind_a_low_pass():
    # a slider that coasts: the estimate is c (1 - exp(-w t))
    coast = sf.control.filtered_velocity(slider(), lambda t, q, v: 0.0 * q, 20.0, [1.0])
    run = sf.simulate(slider(), [1.0], [0.5], 0.5, control=coast)
    want = 0.5 * (1 - np.exp(-20.0 * run.t))
    np.testing.assert_allclose(coast.estimate(run.q, run.x)[:, 0], want, atol=1e-8)
    assert run.notes == ()
    pd = sf.control.pd(PENDULUM, [0.0, 0.0], 60.0, 15.0)
    blind = sf.control.filtered_velocity(PENDULUM, pd, 200.0, START[0])
    held = sf.simulate(PENDULUM, *START, 4.0, control=blind, every=100)
    assert np.abs(held.q[-1]).max() < 1e-2


def test_what_the_ready_made_ones_cannot_do_is_refused():
    c = sf.control
    pid = c.pid(PENDULUM, [0.0, 0.0], 1.0, 1.0, 1.0)
    with pytest.raises(sf.errors.NotApplicableError, match="with states"):
        c.disturbance_observer(PENDULUM, pid, 1.0)
    with pytest.raises(sf.errors.NotApplicableError, match="free joint"):
        c.filtered_velocity(sf.load("floating_link"), lambda t, q, v: v, 1.0, np.zeros(8))
    with pytest.raises(sf.errors.ArgumentError, match="'control'"):
        c.filtered_velocity(PENDULUM, 3.0, 1.0, [0.0, 0.0])
    with pytest.raises(sf.errors.OptionError, match="'sample_time'"):
        c.pid(PENDULUM, [0.0, 0.0], 1.0, 1.0, 1.0, sample_time=-1.0)
