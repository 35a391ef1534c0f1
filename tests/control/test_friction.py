"""No controller makes a motor chatter: dry friction follows the wanted speed, or is smoothed.

Each law drives an arm with dry friction: one whose friction is smooth about rest, and one whose
friction jumps there, so that the sign of a speed of 1e-18 rad/s decides over 25 N m.
"""

import numpy as np
import pytest

import sixfold as sf
from sixfold.control import controllers

ARM = sf.load("puma560")
JUMPING = ARM.with_friction_speed(0.0)
GOAL = np.array([0.0, 0.8, -2.4, 0.2, 1.0, 0.1])
START = np.zeros(6)
PATH = controllers.minimum_jerk(START, GOAL, 1.0)


def laws(model):
    """Return every controller of the library, for one model, by name."""
    pd = controllers.pd(model, GOAL, 400.0, 60.0)
    follow = controllers.computed_torque(model, PATH, 400.0, 40.0)
    return {
        "gravity_compensation": controllers.gravity_compensation(model),
        "pd": pd,
        "pid": controllers.pid(model, GOAL, 400.0, 100.0, 60.0),
        "computed_torque": follow,
        "operational_space": controllers.operational_space(
            model, model.body_names[-1], [0.4, 0.2, 0.9], 25.0, 10.0, rows="position"
        ),
        "saturate": controllers.saturate(model, follow),
        "filtered_velocity": controllers.filtered_velocity(model, pd, 300.0, START),
        "disturbance_observer": controllers.disturbance_observer(model, follow, 30.0),
    }


def reversals(x):
    """Return how often each column changes its sign."""
    return [int(np.count_nonzero(np.diff(np.sign(c[c != 0])))) for c in x.T]


def jumps(tau):
    """Return the largest change of each torque within one sample of 1 ms."""
    return np.abs(np.diff(tau, axis=0)).max(axis=0)


def test_every_controller_of_the_library_is_in_this_list():
    makers = {name for name in controllers.__all__ if name.islower()} - {"minimum_jerk"}
    assert set(laws(ARM)) == makers


def test_the_motors_of_the_first_example_of_the_readme_do_not_chatter():
    law = controllers.computed_torque(ARM, PATH, kp=400.0, kd=40.0)
    run = sf.simulate(ARM, START, None, 1.5, control=law)
    assert max(reversals(run.tau)) <= 4
    assert np.abs(run.tau[:, 0]).max() < 3.0  # joint 1 stays where it is
    assert jumps(run.tau).max() < 1.0
    assert np.abs(run.q[-1] - GOAL).max() < 1e-6


@pytest.mark.parametrize("name", laws(ARM))
def test_no_controller_chatters_on_a_model_with_dry_friction(name):
    run = sf.simulate(ARM, START, None, 1.5, control=laws(ARM)[name])
    assert max(reversals(run.tau)) <= 8
    assert max(reversals(np.diff(run.tau, axis=0)[5:])) <= 40
    assert jumps(run.tau[500:]).max() < 3.0  # the springs' first pull is over


@pytest.mark.parametrize("name", laws(JUMPING))
def test_torques_hardly_depend_on_the_direction_of_a_speed_that_is_none(name):
    law = laws(JUMPING)[name]
    x = () if getattr(law, "x0", None) is None else (np.array(law.x0),)
    q = START + 0.1
    for t in (0.0, 0.5, 2.0):
        ahead, back = (law(t, q, sign * np.full(6, 1e-12), *x) for sign in (1.0, -1.0))
        for one, other in zip(np.atleast_2d(ahead), np.atleast_2d(back), strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


def test_friction_that_is_fed_is_that_of_the_wanted_speed():
    for model in (ARM, JUMPING):
        follow = controllers.computed_torque(model, PATH, 0.0, 0.0)
        q, v, a = PATH(0.5)
        along = np.abs(v) > 0.05
        bare = model.without(friction=True)
        fed = follow(0.5, q, -v) - sf.inverse_dynamics(bare, q, -v, a)
        true = sf.inverse_dynamics(model, q, v, a) - sf.inverse_dynamics(bare, q, v, a)
        np.testing.assert_allclose(fed[along], true[along], rtol=0.02)
        assert fed[0] == 0.0  # joint 1 is to rest


def test_friction_of_joints_that_follow_others_is_fed_through_the_coupling():
    builder = sf.ModelBuilder("pair", gravity=(0, 0, 0), friction_speed=0.01)
    body = sf.Inertia.from_mass(1.0, rotational=(1.0, 1.0, 1.0))
    builder.add_body("a", joint=sf.Revolute("z"), joint_name="ja", inertia=body, friction=1.0)
    builder.add_body("b", joint=sf.Revolute("z"), joint_name="jb", inertia=body, friction=2.0)
    builder.couple("jb", ("ja", -3.0))
    model = builder.build()
    path = controllers.minimum_jerk([0.0], [1.0], 1.0)
    law = controllers.computed_torque(model, path, 0.0, 0.0)
    q, v, a = path(0.5)
    np.testing.assert_allclose(law(0.5, q, v), sf.inverse_dynamics(model, q, v, a), atol=1e-12)


def test_a_motion_that_dry_friction_shakes_says_so():
    law = controllers.computed_torque(JUMPING, PATH, kp=400.0, kd=40.0)
    run = sf.simulate(JUMPING, START, None, 1.5, control=law)
    assert any("friction_speed" in note and "shake" in note for note in run.notes), run.notes
    smooth = sf.simulate(
        ARM, START, None, 1.5, control=controllers.computed_torque(ARM, PATH, kp=400.0, kd=40.0)
    )
    assert smooth.notes == ()
