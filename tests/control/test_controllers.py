"""Ready-made controllers do what their names say, compiled and by hand."""

import numpy as np
import pytest

import sixfold as sf
from sixfold import control as controllers
from tests.simulation.support import flyer

ARM = sf.load("puma560").without(friction=True)
START = np.array([0.1, 0.6, -0.4, 0.2, 0.3, -0.2])
GOAL = np.array([0.5, 0.2, 0.3, -0.3, 0.6, 0.4])
PATH = controllers.minimum_jerk(START, GOAL, 0.5)
LAWS = {
    "gravity_compensation": controllers.gravity_compensation(ARM),
    "pd": controllers.pd(ARM, GOAL, 200.0, 30.0),
    "computed_torque": controllers.computed_torque(ARM, PATH, 100.0, 20.0),
    "operational_space": controllers.operational_space(
        ARM, ARM.body_names[-1], [0.4, 0.2, 0.9], 25.0, 10.0, rows="position"
    ),
    "saturated": controllers.saturate(ARM, controllers.pd(ARM, GOAL, 2000.0, 30.0)),
}


@pytest.mark.parametrize("name", LAWS)
def test_a_controller_compiles_and_agrees_with_a_call_by_hand(name):
    law = LAWS[name]
    run = sf.simulate(ARM, START, None, 0.05, control=law)
    assert run.notes == ()
    by_hand = [law(t, q, v) for t, q, v in zip(run.t, run.q, run.v, strict=True)]
    np.testing.assert_allclose(run.tau, by_hand, rtol=1e-9, atol=1e-9)


def test_gravity_compensation_holds_the_arm_still():
    run = sf.simulate(ARM, START, None, 0.5, control=LAWS["gravity_compensation"])
    assert np.abs(run.q - START).max() < 1e-12


def test_pd_settles_at_its_target():
    run = sf.simulate(ARM, START, None, 3.0, control=LAWS["pd"])
    assert np.abs(run.q[-1] - GOAL).max() < 1e-3


def test_pd_without_gravity_sags():
    law = controllers.pd(ARM, GOAL, 200.0, 30.0, gravity=False)
    run = sf.simulate(ARM, GOAL, None, 3.0, control=law)
    assert np.abs(run.q[-1] - GOAL).max() > 0.02


def test_computed_torque_follows_its_path():
    run = sf.simulate(ARM, START, None, 0.6, control=LAWS["computed_torque"])
    wanted = np.array([PATH(t)[0] for t in run.t])
    assert np.abs(run.q - wanted).max() < 1e-9


def test_computed_torque_makes_errors_decay_as_a_linear_spring():
    still = controllers.minimum_jerk(GOAL, GOAL, 1.0)
    law = controllers.computed_torque(ARM, still, 100.0, 20.0)
    run = sf.simulate(ARM, START, None, 0.5, control=law)
    decay = (1 + 10 * run.t) * np.exp(-10 * run.t)
    np.testing.assert_allclose(run.q, GOAL + np.outer(decay, START - GOAL), atol=1e-9)


def test_operational_space_brings_the_hand_to_the_point():
    run = sf.simulate(ARM, START, None, 6.0, control=LAWS["operational_space"], every=10)
    hand = sf.frame_pose(ARM, run.q[-1], ARM.body_names[-1])[:3, 3]
    assert np.abs(hand - [0.4, 0.2, 0.9]).max() < 1e-9


def test_saturation_cuts_at_the_effort_limits():
    builder = sf.ModelBuilder("wheel", gravity=(0, 0, 0))
    inertia = sf.Inertia.from_mass(1.0, rotational=(1.0, 1.0, 1.0))
    builder.add_body("wheel", joint=sf.Revolute("z"), inertia=inertia, effort_limit=2.0)
    wheel = builder.build()
    law = controllers.saturate(wheel, controllers.pd(wheel, [1.0], 100.0, 20.0))
    run = sf.simulate(wheel, [0.0], None, 5.0, control=law)
    assert np.abs(run.tau).max() == 2.0 and np.abs(run.tau).min() < 1.0
    assert run.q[-1, 0] == pytest.approx(1.0, abs=1e-3)


def test_a_floating_base_gets_no_force():
    model = flyer()
    q, v = sf.random_state(model, seed=1)
    for law in (
        controllers.gravity_compensation(model),
        controllers.pd(model, sf.neutral(model), 10.0, 1.0),
    ):
        tau = law(0.0, q, v)
        assert not tau[:6].any() and tau[6:].any()


def test_pd_turns_a_ball_joint_the_short_way():
    builder = sf.ModelBuilder("ball", gravity=(0, 0, 0))
    inertia = sf.Inertia.from_mass(1.0, rotational=(1.0, 1.5, 2.0))
    builder.add_body("ball", joint=sf.Spherical(), inertia=inertia)
    model = builder.build()
    law = controllers.pd(model, [0, 0, 0, 1], 20.0, 8.0)
    run = sf.simulate(model, [0.6, 0.0, 0.0, -0.8], None, 8.0, control=law, integrator="lie_rk4")
    assert abs(abs(run.q[-1, 3]) - 1) < 1e-6


def test_minimum_jerk_rests_at_both_ends():
    for t, goal in ((-1.0, START), (0.0, START), (0.5, GOAL), (2.0, GOAL)):
        q, v, a = PATH(t)
        np.testing.assert_allclose(q, goal, atol=1e-15)
        assert not np.abs(v).any() and not np.abs(a).any()
    h = 1e-5
    q, v, a = PATH(0.2)
    np.testing.assert_allclose((PATH(0.2 + h)[0] - PATH(0.2 - h)[0]) / (2 * h), v, rtol=1e-7)
    np.testing.assert_allclose((PATH(0.2 + h)[1] - PATH(0.2 - h)[1]) / (2 * h), a, rtol=1e-7)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: controllers.pd(ARM, [0.0], 1.0, 1.0), sf.errors.ShapeError),
        (lambda: controllers.pd(ARM, GOAL, [1.0, 2.0], 1.0), sf.errors.ShapeError),
        (lambda: controllers.pd(ARM, GOAL, -1.0, 1.0), sf.errors.OptionError),
        (lambda: controllers.pd(ARM, GOAL, np.nan, 1.0), sf.errors.StateError),
        (lambda: controllers.pd("arm", GOAL, 1.0, 1.0), sf.errors.ArgumentError),
        (lambda: controllers.computed_torque(ARM, GOAL, 1.0, 1.0), sf.errors.ArgumentError),
        (
            lambda: controllers.operational_space(ARM, "hand", [0, 0, 0], 1, 1, rows="position"),
            sf.errors.UnknownNameError,
        ),
        (
            lambda: controllers.operational_space(ARM, "link6", [0, 0], 1, 1, rows="position"),
            sf.errors.ShapeError,
        ),
        (
            lambda: controllers.operational_space(ARM, "link6", [0, 0, 0], 1, 1),
            sf.errors.ShapeError,
        ),
        (
            lambda: controllers.operational_space(ARM, "link6", 2 * np.eye(4), 1, 1),
            sf.errors.NumberError,
        ),
        (
            lambda: controllers.operational_space(ARM, "link6", lambda t: np.eye(4), 1, 1),
            sf.errors.ShapeError,
        ),
        (
            lambda: controllers.operational_space(ARM, "link6", np.eye(4), [1, 2], 1),
            sf.errors.ShapeError,
        ),
        (
            lambda: controllers.operational_space(ARM, "link6", np.eye(4), 1, -1),
            sf.errors.OptionError,
        ),
        (
            lambda: controllers.operational_space(flyer(), "body", np.eye(4), 1, 1),
            sf.errors.SixfoldError,
        ),
        (lambda: controllers.saturate(ARM, 3), sf.errors.ArgumentError),
        (lambda: controllers.minimum_jerk([0.0], [1.0, 2.0], 1.0), sf.errors.NumberError),
        (lambda: controllers.minimum_jerk([0.0], [1.0], 0.0), sf.errors.OptionError),
    ],
)
def test_controllers_refuse_what_makes_no_sense(make, kind):
    with pytest.raises(kind, match="fix: "):
        make()
