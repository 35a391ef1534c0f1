"""Rollouts: the compiled time loop takes the steps that NumPy takes, row by row the same bits."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.simulation.integrators import INTEGRATORS

ROBOTS = ("double_pendulum", "puma560", "floating_link", "random_tree:5:3")


def start(model, rows=5, seed=0):
    q, v = sf.random_state(model, rows, seed=seed)
    return q, 0.3 * v


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("robot", ROBOTS)
def test_the_kernel_takes_the_steps_that_numpy_takes(robot, integrator):
    model = sf.load(robot)
    q0, v0 = start(model)
    options = {"dt": 1e-3, "steps": 12, "every": 4, "integrator": integrator}
    q, v = sf.rollout(model, q0, v0, **options)
    assert q.shape == (5, 3, model.nq) and v.shape == (5, 3, model.nv)
    slow_q, slow_v = sf.rollout(model, q0, v0, **options, backend="numpy")
    np.testing.assert_allclose(q, slow_q, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(v, slow_v, rtol=1e-11, atol=1e-11 * np.abs(v).max())


def test_one_step_is_the_textbook_step():
    model = sf.load("double_pendulum")
    q0, v0 = start(model)
    q, v = sf.rollout(model, q0, v0, dt=0.01, steps=1)
    a = sf.forward_dynamics(model, q0, v0, np.zeros(2))
    np.testing.assert_allclose(v[:, 0], v0 + 0.01 * a, rtol=1e-14)
    np.testing.assert_allclose(q[:, 0], q0 + 0.01 * v[:, 0], rtol=1e-14)


def test_forces_may_differ_by_step_or_stay():
    model = sf.load("double_pendulum")
    q0, v0 = start(model, 3)
    tau = np.random.default_rng(0).standard_normal((3, 6, 2))
    q, _ = sf.rollout(model, q0, v0, tau, dt=0.01, steps=6)
    x, u = q0, v0
    for s in range(6):
        u = u + 0.01 * sf.forward_dynamics(model, x, u, tau[:, s])
        x = x + 0.01 * u
        np.testing.assert_allclose(q[:, s], x, rtol=1e-12)
    same = np.repeat(tau[:, :1], 6, 1)
    np.testing.assert_array_equal(
        sf.rollout(model, q0, v0, tau[:, :1], dt=0.01, steps=6)[0],
        sf.rollout(model, q0, v0, same, dt=0.01, steps=6)[0],
    )


def test_batches_split_and_threads_give_the_same_bits(request):
    model = sf.load("puma560")
    q0, v0 = start(model, 600)
    options = {"dt": 1e-3, "steps": 900, "every": 300}
    request.addfinalizer(lambda: sf.set_threads(None))
    sf.set_threads(1)
    q, v = sf.rollout(model, q0, v0, **options)
    sf.set_threads(3)
    np.testing.assert_array_equal(sf.rollout(model, q0, v0, **options)[0], q)
    for rows in (slice(0, 1), slice(7, 12), slice(599, 600)):
        part = sf.rollout(model, q0[rows], v0[rows], **options)
        np.testing.assert_array_equal(part[0], q[rows])
        np.testing.assert_array_equal(part[1], v[rows])


def test_a_controller_is_compiled_in_and_its_gains_are_a_batch():
    model = sf.load("puma560").without(friction=True)
    target = np.array([0.3, -0.5, 0.4, 0.2, -0.1, 0.6])

    def law(t, q, v, gains):
        push = gains[0] * (target - q) - gains[1] * v
        return sf.inverse_dynamics(model, q, v, push)

    gains = np.array([[100.0, 20.0], [25.0, 10.0]])
    q0 = np.zeros(6)
    q, _ = sf.rollout(model, q0, q0, dt=1e-3, steps=2000, control=law, parameters=gains, every=500)
    assert q.shape == (2, 4, 6)
    # computed torque: each joint follows x'' = -k x - d x' with both roots equal
    t = 0.5 * np.arange(1, 5)
    for row, rate in enumerate((10.0, 5.0)):
        exact = 1 - np.exp(-rate * t) * (1 + rate * t)
        np.testing.assert_allclose(q[row] / target, exact[:, None] * np.ones(6), atol=6e-3)
    slow, _ = sf.rollout(
        model, q0, q0, dt=1e-3, steps=20, control=law, parameters=gains[1], backend="numpy"
    )
    fast, _ = sf.rollout(model, q0, q0, dt=1e-3, steps=20, control=law, parameters=gains[1])
    np.testing.assert_allclose(fast, slow, rtol=1e-10, atol=1e-13)


def test_results_go_where_they_are_wanted():
    model = sf.load("double_pendulum")
    q0, v0 = start(model, 3)
    want = sf.rollout(model, q0, v0, dt=0.01, steps=4)
    for backend in ("native", "numpy"):
        out = (np.empty((3, 4, 2)), np.empty((3, 4, 2)))
        got = sf.rollout(model, q0, v0, dt=0.01, steps=4, out=out, backend=backend)
        assert got[0] is out[0] and got[1] is out[1]
        np.testing.assert_allclose(out, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "out",
    [
        3,
        (np.empty((3, 4, 2)),),
        (np.empty((3, 4, 2)), np.empty((3, 4, 3))),
        (np.empty((3, 4, 2)), np.empty((3, 4, 2), np.float32)),
        (np.empty((3, 4, 2)), np.empty((2, 4, 3)).T),
    ],
    ids=["number", "one", "shape", "dtype", "order"],
)
def test_results_that_do_not_fit_are_refused(out):
    model = sf.load("double_pendulum")
    q0, v0 = start(model, 3)
    with pytest.raises(sf.errors.ShapeError, match="out"):
        sf.rollout(model, q0, v0, dt=0.01, steps=4, out=out)


@pytest.mark.parametrize("forces", [False, True])
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_the_prepared_call_takes_the_same_steps(integrator, forces):
    model = sf.load("double_pendulum")
    q0, v0 = start(model, 7)
    tau = np.random.default_rng(2).standard_normal((7, 6, 2)) if forces else None
    options = {"dt": 0.01, "steps": 6, "integrator": integrator, "every": 2}
    first = sf.rollout(model, q0, v0, tau, **options)  # the general call
    again = sf.rollout(model, q0, v0, tau, **options)
    np.testing.assert_array_equal(again, first)
    out = (np.empty((7, 3, 2)), np.empty((7, 3, 2)))
    assert sf.rollout(model, q0, v0, tau, out=out, **options)[0] is out[0]
    np.testing.assert_array_equal(out, first)
    one = sf.rollout(model, q0[3], v0[3], None if tau is None else tau[3], **options)
    np.testing.assert_array_equal(one, [x[3] for x in first])
    turned = sf.rollout(model, np.asfortranarray(q0), v0.astype(">f8"), tau, **options)
    np.testing.assert_array_equal(turned, first)


def test_the_prepared_call_refuses_what_the_general_call_refuses():
    model = sf.load("double_pendulum")
    q0, v0 = start(model, 3)
    sf.rollout(model, q0, v0, dt=0.01, steps=4)
    bad = q0.copy()
    bad[1, 0] = np.nan
    with pytest.raises(sf.errors.StateError, match=r"'q0' at \[1, 0\], joint 'shoulder'"):
        sf.rollout(model, bad, v0, dt=0.01, steps=4)
    for dt in (-0.01, 0.0, np.inf):
        with pytest.raises(sf.errors.OptionError, match="dt"):
            sf.rollout(model, q0, v0, dt=dt, steps=4)
    with pytest.raises(sf.errors.ShapeError, match="q0"):
        sf.rollout(model, q0[:, :1].copy(), v0, dt=0.01, steps=4)
    with pytest.raises(sf.errors.ShapeError, match="leading axes"):
        sf.rollout(model, q0, v0[:2], dt=0.01, steps=4)
    wild = v0 + 1e200
    with pytest.warns(sf.errors.NonFiniteStateWarning, match="3 of 3"):
        sf.rollout(model, q0, wild, dt=0.01, steps=30)


def test_results_that_lie_on_arguments_or_on_each_other_are_refused():
    model = sf.load("double_pendulum")
    room = np.zeros((4, 3, 4, 2))
    for q0, v0, out in (
        (room[0, :, 0], room[1, :, 0], (room[1], room[2])),
        (room[0].reshape(-1)[:6].reshape(3, 2), np.zeros((3, 2)), (room[0], room[1])),
        (np.zeros((3, 2)), np.zeros((3, 2)), (room[0], room[0])),
    ):
        for _ in range(2):
            with pytest.raises(sf.errors.OptionError, match="share memory"):
                sf.rollout(model, q0, v0, dt=0.01, steps=4, out=out)


def test_time_reaches_the_controller():
    model = sf.load("pendulum")
    _, v = sf.rollout(model, [0.0], [0.0], dt=0.1, steps=3, control=lambda t, q, v: t + 0 * q)
    inertia = float(sf.mass_matrix(model, [0.0])[0, 0])
    first = [0.0, 0.1 * 0.1 / inertia]
    np.testing.assert_allclose(v[:2, 0], first, atol=1e-15)


def test_inertias_may_be_a_batch():
    model = sf.load("tree10")
    q0, v0 = start(model, 4)
    own = np.array([[float(x) for x in body.inertia.parameters()] for body in model.bodies])
    q, _ = sf.rollout(model, q0, v0, dt=1e-3, steps=5)
    same, _ = sf.rollout(model, q0, v0, dt=1e-3, steps=5, inertias=own)
    np.testing.assert_allclose(same, q, rtol=1e-13, atol=1e-14)
    heavier = own * np.array([1.0, 1.5, 2.0, 4.0])[:, None, None]
    many, _ = sf.rollout(model, q0, v0, dt=1e-3, steps=5, inertias=heavier)
    double = sf.replace_inertias(model, {body.name: body.inertia * 2.0 for body in model.bodies})
    one, _ = sf.rollout(double, q0[2], v0[2], dt=1e-3, steps=5)
    np.testing.assert_allclose(many[2], one, rtol=1e-12, atol=1e-13)


def test_a_trajectory_that_explodes_is_named_once_and_spoils_no_other():
    model = sf.load("double_pendulum")
    q0, v0 = start(model, 3)
    calm, _ = sf.rollout(model, q0, v0, dt=1e-3, steps=30)
    wild = v0.copy()
    wild[1] = 1e200
    with pytest.warns(sf.errors.NonFiniteStateWarning, match=r"1 of 3 trajectories.*joint"):
        q, _ = sf.rollout(model, q0, wild, dt=1e-3, steps=30)
    assert np.isnan(q[1, -1]).any()
    np.testing.assert_array_equal(q[[0, 2]], calm[[0, 2]])


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"dt": 0.0}, sf.errors.OptionError),
        ({"dt": -1e-3}, sf.errors.OptionError),
        ({"dt": np.nan}, sf.errors.OptionError),
        ({"dt": "fast"}, sf.errors.OptionError),
        ({"steps": 0}, sf.errors.OptionError),
        ({"steps": 1.5}, sf.errors.OptionError),
        ({"every": -1}, sf.errors.OptionError),
        ({"integrator": "euler"}, sf.errors.OptionError),
        ({"backend": "cuda"}, sf.errors.OptionError),
        ({"parameters": [1.0]}, sf.errors.NotApplicableError),
        ({"q0": [0.0]}, sf.errors.ShapeError),
        ({"q0": [0.0, np.nan]}, sf.errors.StateError),
        ({"v0": [0.0, np.inf]}, sf.errors.StateError),
        ({"tau": [0.0, 1.0, 2.0]}, sf.errors.ShapeError),
        ({"tau": np.zeros((4, 2))}, sf.errors.ShapeError),
        ({"inertias": np.zeros((2, 9))}, sf.errors.ShapeError),
        ({"inertias": -np.ones((2, 10))}, sf.errors.NumberError),
    ],
    ids=lambda x: str(x)[:30],
)
def test_bad_input_is_named_at_once(changes, error):
    model = sf.load("double_pendulum")
    given = {"q0": [0.1, 0.2], "v0": [0.0, 0.0], "dt": 1e-3, "steps": 3} | changes
    with pytest.raises(error, match="rollout"):
        sf.rollout(model, given.pop("q0"), given.pop("v0"), **given)


def test_a_quaternion_that_is_not_of_unit_length_is_refused():
    model = sf.load("floating_link")
    q0 = sf.neutral(model)
    q0[6] = 2.0
    with pytest.raises(sf.errors.StateError, match="joint 'free'"):
        sf.rollout(model, q0, np.zeros(model.nv), dt=1e-3, steps=1)


@pytest.mark.parametrize("dtype", ["float32", ">f8", "longdouble", "int64"])
def test_numbers_of_other_kinds_take_the_same_steps(dtype):
    model = sf.load("double_pendulum")
    q0 = np.array([[1, 0], [0, 2]])
    tau = np.ones((4, 2))
    expected = sf.rollout(model, q0.astype(float), q0 * 0.0, tau, dt=0.01, steps=4)
    found = sf.rollout(model, q0.astype(dtype), q0 * 0, tau.astype(dtype), dt=0.01, steps=4)
    np.testing.assert_array_equal(found, expected)


def test_a_position_that_overflows_alone_is_reported():
    builder = sf.ModelBuilder("slide", gravity=(0, 0, 0))
    inertia = sf.Inertia.from_parameters((1, 0, 0, 0, 1, 1, 1, 0, 0, 0))
    builder.add_body("box", joint=sf.Prismatic("x"), inertia=inertia)
    v0 = np.array([[0.0], [1e160], [0.0]])
    with pytest.warns(sf.errors.NonFiniteStateWarning, match=r"1 of 3 .*row \(1,\)"):
        q, v = sf.rollout(builder.build(), v0 * 0, v0, dt=1e150, steps=1)
    assert np.isfinite(v).all() and np.isinf(q[1]).all()
    assert np.isfinite(q[::2]).all()


@pytest.mark.parametrize("option", ["steps", "every"])
def test_more_steps_than_memory_holds_are_refused(option):
    model = sf.load("double_pendulum")
    options = {"steps": 3, "every": 1, option: 10**25}
    with pytest.raises(sf.errors.OptionError, match="from 1 to 1000000000"):
        sf.rollout(model, [0, 0], [0, 0], dt=0.01, **options)
