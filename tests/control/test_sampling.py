"""Planners that sample: they find the best actions of problems whose answers are known."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.control.sampling import _lines


def push(t, q, v, action):
    return [10.0 * action[0], 0.0]


def upright(t, q, v, action):
    return sf.math.cos(q[1]) - 0.1 * q[0] ** 2 - 0.01 * v[1] ** 2 - 0.001 * action[0] ** 2


def cart(**options):
    model = sf.learn.tasks.cart_pole().model
    return sf.Stepper(model, dt=0.02, control=push, actions=1, bounds=(-1.0, 1.0), **options)


@pytest.mark.parametrize("planner", [sf.control.MPPI, sf.control.CrossEntropy])
def test_a_pole_is_swung_up(planner):
    plan = planner(cart(reward=upright), horizon=60, samples=600, noise=0.6, knots=12)
    real = cart()
    real.reset([0.0, np.pi])
    for _ in range(160):
        real.step(plan(real.q, real.v))
    assert np.cos(real.q[1]) > 0.97 and abs(real.q[0]) < 1.0


@pytest.mark.parametrize("planner", [sf.control.MPPI, sf.control.CrossEntropy])
def test_a_plan_nears_the_known_best(planner):
    model = sf.load("pendulum")

    def near(t, q, v, action):
        return -((action[0] - 0.4) ** 2) - (action[1] + 0.2) ** 2

    stepper = sf.Stepper(model, dt=1e-3, control=lambda t, q, v, a: [0.0], actions=2, reward=near)
    plan = planner(stepper, horizon=5, samples=400, noise=0.3, knots=1, iterations=8)
    action = plan(np.zeros(1), np.zeros(1))
    np.testing.assert_allclose(action, [0.4, -0.2], atol=0.03)
    np.testing.assert_allclose(plan.plan, np.tile(action, (5, 1)), atol=1e-12)


def test_the_same_seed_gives_the_same_plan():
    plans = [
        sf.control.MPPI(cart(reward=upright), horizon=20, samples=64, noise=0.5, seed=4)
        for _ in "ab"
    ]
    actions = [plan([0.1, 3.0], [0.0, 0.0]) for plan in plans]
    np.testing.assert_array_equal(*actions)


def test_a_plan_sees_the_ground():
    robot = sf.load("quadruped")
    home = (0.0, 0.8, -1.6) * 4

    def hold(t, q, v, action):
        wanted = [a + 0.3 * b for a, b in zip(home, action, strict=True)]
        pull = [60 * (a - x) - 2 * w for a, x, w in zip(wanted, q[7:], v[6:], strict=True)]
        return [0.0] * 6 + pull

    stepper = sf.Stepper(
        robot,
        dt=5e-3,
        control=hold,
        actions=12,
        bounds=(-1.0, 1.0),
        contacts=sf.contact.Ground(friction=0.8),
        reward=lambda t, q, v, action: -((q[2] - 0.22) ** 2),
    )
    q = sf.neutral(robot)
    q[2], q[7:] = 0.2987, home
    plan = sf.control.MPPI(stepper, horizon=30, samples=128, noise=0.4, knots=2, iterations=6)
    stepper.reset(q)
    still = stepper.returns(np.zeros((1, 30, 12)))[0]
    plan(q, np.zeros(18))
    assert still < plan.best < 0  # the trunk is lowered by bending the legs, not through the floor


def test_random_sequences_are_straight_lines_between_knots():
    basis = _lines(9, 3)
    np.testing.assert_allclose(basis.sum(axis=1), 1.0)
    np.testing.assert_allclose(basis @ [0.0, 1.0, 0.0], [0, 0.25, 0.5, 0.75, 1, 0.75, 0.5, 0.25, 0])


def test_bad_arguments_are_named():
    stepper = cart(reward=upright)
    good = {"horizon": 5, "samples": 10, "noise": 0.1}
    cases = {
        "horizon": ({"horizon": 0}, sf.errors.OptionError),
        "samples": ({"samples": 1}, sf.errors.OptionError),
        "noise": ({"noise": -1.0}, sf.errors.OptionError),
        "knots": ({"knots": 6}, sf.errors.OptionError),
        "temperature": ({"temperature": 0.0}, sf.errors.OptionError),
        "start": ({"start": [1.0, 2.0]}, sf.errors.ShapeError),
        "seed": ({"seed": -1}, sf.errors.OptionError),
    }
    for name, (options, error) in cases.items():
        with pytest.raises(error, match=name):
            sf.control.MPPI(stepper, **(good | options))
    with pytest.raises(sf.errors.OptionError, match="elites"):
        sf.control.CrossEntropy(stepper, elites=11, **good)
    with pytest.raises(sf.errors.ArgumentError, match="stepper"):
        sf.control.MPPI(3, **good)
    with pytest.raises(sf.errors.NotApplicableError, match="reward"):
        sf.control.MPPI(cart(), **good)
