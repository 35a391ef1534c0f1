"""`Stepper`: steps of a rollout, one call at a time, with observation and reward in the kernel."""

import pickle

import numpy as np
import pytest

import sixfold as sf

ROWS = 37


def push(t, q, v, action):
    return [action[0], 0.0]


def seen(t, q, v):
    return [q[0], np.sin(q[1]), np.cos(q[1]), *v]


def cost(t, q, v, action):
    return -(q[0] * q[0]) - 0.1 * action[0] * action[0] + t


def states(model, rows=ROWS, seed=0):
    q, v = sf.random_state(model, rows, seed=seed)
    return q, v


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4", "lie_rk4", "midpoint"])
def test_steps_are_those_of_a_rollout(integrator):
    model = sf.load("cart_pendulum")
    q, v = states(model)
    stepper = sf.Stepper(model, ROWS, dt=0.01, integrator=integrator, control=push, actions=1)
    stepper.reset(q, v)
    actions = np.random.default_rng(1).standard_normal((ROWS, 5, 1))
    for k in range(5):
        assert stepper.step(actions[:, k]) == ()
    tau = np.concatenate([actions, np.zeros_like(actions)], axis=-1)
    there = sf.rollout(model, q, v, tau, dt=0.01, steps=5, integrator=integrator)
    np.testing.assert_allclose(stepper.q, there[0][:, -1], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(stepper.v, there[1][:, -1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(stepper.t, np.full(ROWS, 0.05))


def test_substeps_hold_the_action():
    model = sf.load("double_pendulum")
    q, v = states(model)
    tau = np.random.default_rng(0).standard_normal((ROWS, 2))
    one = sf.Stepper(model, ROWS, dt=0.002, substeps=10)
    many = sf.Stepper(model, ROWS, dt=0.002)
    one.reset(q, v)
    many.reset(q, v)
    one.step(tau)
    for _ in range(10):
        many.step(tau)
    np.testing.assert_allclose(one.q, many.q, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(one.step_counts, many.step_counts)


def test_functions_see_the_state_after_the_step():
    model = sf.load("cart_pendulum")
    stepper = sf.Stepper(
        model,
        ROWS,
        dt=0.01,
        control=push,
        actions=1,
        observe=seen,
        reward=cost,
        terminate=lambda t, q, v: q[0] - 0.5,
    )
    q, v = states(model)
    first = stepper.reset(q, v)
    np.testing.assert_array_equal(first[:, 0], q[:, 0])
    action = np.linspace(-1, 1, ROWS)[:, None]
    observation, reward, over = stepper.step(action)
    q, v = stepper.q, stepper.v
    expected = [q[:, 0], np.sin(q[:, 1]), np.cos(q[:, 1]), v[:, 0], v[:, 1]]
    np.testing.assert_allclose(observation, np.stack(expected, -1), rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(reward, -(q[:, 0] ** 2) - 0.1 * action[:, 0] ** 2 + 0.01)
    np.testing.assert_array_equal(over > 0, q[:, 0] > 0.5)


def test_rows_do_not_depend_on_the_batch():
    model = sf.load("quadruped")
    ground = sf.contact.Ground(friction=0.8)
    q, v = states(model, 19)
    q[:, :3] = 0.0, 0.0, 0.28
    q[:, 3:7] = 0.0, 0.0, 0.0, 1.0
    q[:, 7:] = np.tile([0.0, 0.8, -1.6], 4) + 0.05 * q[:, 7:]
    v *= 0.1
    tau = np.random.default_rng(2).standard_normal((19, 18))
    whole = sf.Stepper(model, 19, dt=2e-3, contacts=ground)
    part = sf.Stepper(model, 5, dt=2e-3, contacts=ground)
    single = sf.Stepper(model, dt=2e-3, contacts=ground)
    whole.reset(q, v)
    part.reset(q[7:12], v[7:12])
    single.reset(q[9], v[9])
    for _ in range(20):
        whole.step(tau)
        part.step(tau[7:12])
        single.step(tau[9])
    np.testing.assert_array_equal(whole.q[7:12], part.q)
    np.testing.assert_array_equal(whole.v[9], single.v)
    assert single.q.shape == (19,)


def test_contacts_keep_their_warm_start():
    model = sf.load("quadruped")
    ground = sf.contact.Ground(friction=0.8)
    q = sf.neutral(model)
    q[2], q[7:] = 0.2987, np.tile([0.0, 0.8, -1.6], 4)
    home = tuple(q[7:])

    def hold(t, q, v, action):
        pull = [60 * (a - x) - 2 * w for a, x, w in zip(home, q[7:], v[6:], strict=True)]
        return [0.0] * 6 + pull

    stepper = sf.Stepper(model, 3, dt=2e-3, control=hold, actions=1, contacts=ground)
    stepper.reset(q)
    for _ in range(50):
        stepper.step([0.0])
    there = sf.rollout(
        model,
        q,
        None,
        dt=2e-3,
        steps=50,
        control=lambda t, q, v: hold(t, q, v, None),
        contacts=ground,
    )
    np.testing.assert_allclose(stepper.q[1], there[0][-1], rtol=1e-11, atol=1e-11)


def test_some_rows_are_reset_and_the_others_go_on():
    model = sf.load("double_pendulum")
    stepper = sf.Stepper(model, 6, dt=0.01, observe=lambda t, q, v: [t, *q])
    q, v = states(model, 6)
    stepper.reset(q, v)
    stepper.step(np.zeros((6, 2)))
    before = stepper.q.copy()
    found = stepper.reset([0.5, 0.25], rows=[1, 4])
    np.testing.assert_array_equal(found[:, 0], [0.01, 0, 0.01, 0.01, 0, 0.01])
    np.testing.assert_array_equal(stepper.q[[1, 4]], [[0.5, 0.25]] * 2)
    others = np.array([True, False, True, True, False, True])
    np.testing.assert_array_equal(stepper.q[others], before[others])
    stepper.reset(rows=~others)
    np.testing.assert_array_equal(stepper.q[~others], np.zeros((2, 2)))


def test_parameters_inertias_and_forces_may_change_between_steps():
    model = sf.load("double_pendulum")
    own = np.array([body.inertia.array() for body in model.bodies])

    def law(t, q, v, action, parameters):
        return parameters * action

    stepper = sf.Stepper(
        model,
        2,
        dt=0.01,
        control=law,
        actions=2,
        parameters=[1.0, 2.0],
        inertias=own,
        f_ext=np.zeros((2, 6)),
    )
    q, v = states(model, 2)
    stepper.reset(q, v)
    stepper.parameters[1] = 3.0, 4.0
    stepper.inertias[1] *= 2.0
    stepper.f_ext[1, 1, 3] = 5.0
    stepper.step([1.0, 1.0])
    heavy = own * 2.0
    for row, (tau, pi, f) in enumerate([([1.0, 2.0], own, 0.0), ([3.0, 4.0], heavy, 5.0)]):
        force = np.zeros((2, 6))
        force[1, 3] = f
        there, _ = sf.rollout(
            model, q[row], v[row], tau, dt=0.01, steps=1, inertias=pi, f_ext=force
        )
        np.testing.assert_allclose(stepper.q[row], there[-1], rtol=1e-13, atol=1e-13)


def test_numbers_for_all_rows_are_kept_row_by_row():
    model = sf.load("double_pendulum")
    stepper = sf.Stepper(
        model,
        5,
        dt=0.01,
        observe=lambda t, q, v, p: q * p[0],
        parameters=[1.0, 2.0],
        f_ext=np.zeros((model.nb, 6)),
    )
    # kernels take arrays in any order, but those in C order with less overhead
    assert stepper.parameters.flags.c_contiguous and stepper.f_ext.flags.c_contiguous
    assert stepper.parameters.shape == (5, 2) and (stepper.parameters == [1.0, 2.0]).all()


def test_actions_are_clipped_to_their_bounds():
    model = sf.load("cart_pendulum")
    settings = {"dt": 0.01, "control": push, "actions": 1, "reward": lambda t, q, v, a: a[0]}
    stepper = sf.Stepper(model, 3, bounds=(-1.0, 2.0), **settings)
    (reward,) = stepper.step([[-7.0], [0.5], [7.0]])
    np.testing.assert_array_equal(reward, [-1.0, 0.5, 2.0])


def test_single_precision_is_near_double():
    model = sf.load("cart_pendulum")
    q, v = states(model)
    found = []
    for dtype in ("float64", "float32"):
        stepper = sf.Stepper(model, ROWS, dt=0.01, observe=seen, dtype=dtype)
        stepper.reset(q, v)
        (observation,) = stepper.step(np.ones((ROWS, 2)))
        assert observation.dtype == dtype
        found.append(observation)
    np.testing.assert_allclose(found[1], found[0], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_bits_are_the_same_for_every_number_of_lanes(lanes, monkeypatch):
    model = sf.load("cart_pendulum")
    q, v = states(model)

    def run():
        stepper = sf.Stepper(model, ROWS, dt=0.01, control=push, actions=1, observe=seen)
        stepper.reset(q, v)
        return stepper.step([0.3])[0].copy()

    usual = run()
    monkeypatch.setenv("SIXFOLD_LANES", str(lanes))
    np.testing.assert_array_equal(run(), usual)


def test_results_stay_for_one_more_step():
    stepper = sf.Stepper(sf.load("double_pendulum"), 4, dt=0.01, observe=lambda t, q, v: q)
    (first,) = stepper.step([1.0, 2.0])
    kept = first.copy()
    stepper.step([1.0, 2.0])
    np.testing.assert_array_equal(first, kept)


def test_models_with_loops_stay_closed():
    leg = sf.load("four_bar_leg")
    q = sf.loops.assemble(leg)
    stepper = sf.Stepper(leg, dt=1e-3)
    stepper.reset(q)
    for _ in range(20):
        stepper.step(np.zeros(leg.nv))
    assert np.abs(sf.loops.constraint_gaps(leg, stepper.q)).max() < 1e-9


class Counter:
    calls = 0

    def __call__(self, t, q, v):
        Counter.calls += 1
        return q


BAD = {
    "rows": ({"rows": 0}, sf.errors.OptionError, "rows"),
    "dt": ({"dt": -1.0}, sf.errors.OptionError, "dt"),
    "integrator": ({"integrator": "euler"}, sf.errors.OptionError, "integrator"),
    "actions missing": ({"control": push}, sf.errors.OptionError, "actions"),
    "actions idle": ({"actions": 5}, sf.errors.NotApplicableError, "actions"),
    "bounds": ({"bounds": (1.0, -1.0)}, sf.errors.OptionError, "bounds"),
    "control": ({"control": 3, "actions": 1}, sf.errors.ArgumentError, "control"),
    "observe": ({"observe": lambda t, q: q}, sf.errors.CallbackError, "observe"),
    "observed shape": ({"observe": lambda t, q, v: q[0]}, sf.errors.ShapeError, "observe"),
    "reward shape": ({"reward": lambda t, q, v, a: q}, sf.errors.ShapeError, "reward"),
    "memory": ({"observe": Counter()}, sf.errors.CallbackError, "remember"),
    "choice": (
        {"reward": lambda t, q, v, a: 1.0 if q[0] > 0 else 0.0},
        sf.errors.CallbackError,
        "reward",
    ),
    "parameters idle": ({"parameters": [1.0]}, sf.errors.NotApplicableError, "parameters"),
    "inertias": ({"inertias": np.full((2, 10), -1.0)}, sf.errors.NumberError, "mass"),
    "dtype": ({"dtype": "float16"}, sf.errors.OptionError, "dtype"),
    "leading axes": ({"f_ext": np.zeros((3, 2, 6))}, sf.errors.ShapeError, "leading"),
    "contacts": (
        {"contacts": sf.contact.Ground(), "integrator": "rk4"},
        sf.errors.SixfoldError,
        "contact|touch",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_are_named(case):
    options, error, words = BAD[case]
    settings = {"rows": 2, "dt": 0.01} | options
    with pytest.raises(error, match=words):
        sf.Stepper(sf.load("double_pendulum"), **settings)


def test_bad_calls_are_named():
    stepper = sf.Stepper(sf.load("double_pendulum"), 4, dt=0.01)
    with pytest.raises(sf.errors.ShapeError, match="action"):
        stepper.step(np.zeros((3, 2)))
    with pytest.raises(sf.errors.OptionError, match="rows"):
        stepper.reset(rows=[5])
    with pytest.raises(sf.errors.OptionError, match="rows"):
        stepper.reset(rows=0.5)
    with pytest.raises(sf.errors.ShapeError, match="leading"):
        stepper.reset(np.zeros((3, 2)), rows=[0, 1])
    with pytest.raises(sf.errors.StateError, match="finite"):
        stepper.reset([np.nan, 0.0])


def test_a_stepper_can_be_pickled():
    model = sf.load("cart_pendulum")
    stepper = sf.Stepper(model, 3, dt=0.01, control=push, actions=1, observe=seen)
    stepper.reset(*states(model, 3))
    copy = pickle.loads(pickle.dumps(stepper))
    np.testing.assert_array_equal(stepper.step([0.5])[0], copy.step([0.5])[0])
    np.testing.assert_array_equal(stepper.q, copy.q)


def test_one_row_returns_its_numbers():
    model = sf.load("cart_pendulum")
    stepper = sf.Stepper(model, dt=0.01, reward=lambda t, q, v, a: t, terminate=lambda t, q, v: -t)
    for k in range(1, 4):
        reward, over = stepper.step(np.zeros(2))
        assert float(reward) == pytest.approx(0.01 * k) and float(over) == -float(reward)


@pytest.mark.parametrize("ended", [False, True])
def test_returns_are_the_rewards_of_steps_one_by_one(ended):
    model = sf.load("cart_pendulum")
    settings = {"dt": 0.01, "substeps": 3, "control": push, "actions": 1, "bounds": (-0.5, 0.5)}
    settings |= {"reward": cost, "parameters": None}
    if ended:
        settings["terminate"] = lambda t, q, v: t - 0.2
    one = sf.Stepper(model, **settings)
    many = sf.Stepper(model, 50, **settings)
    (q,), (v,) = states(model, 1)
    one.reset(q, v)
    many.reset(q, v)
    actions = np.random.default_rng(3).standard_normal((50, 12, 1))
    total, going = np.zeros(50), np.ones(50, bool)
    for k in range(12):
        reward, *over = many.step(actions[:, k])
        total += reward * going
        if ended:
            going &= over[0] <= 0
    np.testing.assert_allclose(one.returns(actions), total, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(one.q, q)
    assert ended == (not going.any())


def test_returns_need_one_row_and_a_reward():
    model = sf.load("cart_pendulum")
    with pytest.raises(sf.errors.NotApplicableError, match="reward"):
        sf.Stepper(model, dt=0.01).returns(np.zeros((2, 3, 2)))
    with pytest.raises(sf.errors.NotApplicableError, match="rows"):
        sf.Stepper(model, 2, dt=0.01, reward=cost).returns(np.zeros((2, 3, 2)))
    with pytest.raises(sf.errors.ShapeError, match="sequences"):
        sf.Stepper(model, dt=0.01, reward=cost).returns(np.zeros((3, 2)))
