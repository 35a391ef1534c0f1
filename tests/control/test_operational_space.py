"""Operational-space control: decoupled errors of a frame, motions beside it, singular states."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.math import cos, sin
from tests.evaluate.small_models import held_arm
from tests.simulation.support import flyer

HAND = "panda_hand"
START = np.array([0.1, -0.4, 0.2, -2.0, 0.1, 1.8, 0.3])
RADIUS, RATE = 0.1, 2.0


@pytest.fixture(scope="module")
def panda():
    try:
        model = sf.load("panda")
    except sf.errors.UnknownNameError:
        pytest.skip("panda needs example-robot-data")
    return sf.lock_joints(model.without(friction=True), ["panda_finger_joint1"])


@pytest.fixture(scope="module")
def circle(panda):
    """A circle in a horizontal plane, the hand turned as at the start."""
    pose = sf.frame_pose(panda, START, HAND)
    x, y, z = pose[:3, 3]

    def path(t):
        c, s = RADIUS * cos(RATE * t), RADIUS * sin(RATE * t)
        place = np.array(pose, object)
        place[:3, 3] = x - RADIUS + c, y + s, z
        velocity = [0, 0, 0, -RATE * s, RATE * c, 0]
        return place, velocity, [0, 0, 0, -(RATE**2) * c, -(RATE**2) * s, 0]

    return path


def follow(panda, circle, posture):
    law = sf.control.operational_space(panda, HAND, circle, 400.0, 40.0, posture=posture)
    Jbar = sf.control.dynamically_consistent_inverse(panda, START, HAND)
    run = sf.simulate(panda, START, Jbar @ circle(0.0)[1], 4.0, dt=1e-3, control=law, every=20)
    assert run.notes == ()
    wanted = np.array([circle(t)[0] for t in run.t], float)
    return run, np.abs(sf.frame_pose(panda, run.q, HAND) - wanted).max()


def test_a_circle_is_followed_while_the_elbow_swings(panda, circle):
    """The motion of the posture is large, and the hand does not feel it."""

    def swing(t):
        away = np.array([0.0, 0.3, 0.0, 0.0, 0.3, 0.0, 0.0])
        return START + away * sin(3.0 * t), 3.0 * away * cos(3.0 * t), -9.0 * away * sin(3.0 * t)

    still, error = follow(panda, circle, START)
    assert error < 1e-6
    moved, error_too = follow(panda, circle, swing)
    assert error_too < 1e-6
    assert np.abs(moved.q - still.q).max() > 0.1


def test_a_dry_run_of_the_posture_alone_leaves_the_hand_where_it_is(panda):
    pose = sf.frame_pose(panda, START, HAND)
    posture = START + np.array([0.6, 0.0, -0.6, 0.0, 0.4, 0.0, 0.0])
    law = sf.control.operational_space(panda, HAND, pose, 100.0, 20.0, posture=posture)
    run = sf.simulate(panda, START, None, 3.0, dt=1e-3, control=law, every=20)
    assert np.abs(run.q[-1] - START).max() > 0.2
    assert np.abs(sf.frame_pose(panda, run.q, HAND) - pose).max() < 1e-6


def test_errors_of_position_and_rotation_decay_as_linear_springs(panda):
    """Each direction by itself, whatever the inertia: e'' + 20 e' + 100 e = 0."""
    goal = sf.frame_pose(panda, START, HAND)
    q0 = START + np.array([0.1, -0.1, 0.1, 0.1, 0.1, -0.1, 0.1])
    law = sf.control.operational_space(panda, HAND, goal, 100.0, 20.0)
    run = sf.simulate(panda, q0, None, 1.0, dt=1e-3, control=law, every=50)
    error = np.array([law.error(q, goal) for q in run.q])
    decay = (1 + 10 * run.t) * np.exp(-10 * run.t)
    np.testing.assert_allclose(error[:, 3:], np.outer(decay, error[0, 3:]), atol=1e-5)
    # a rotation vector is no coordinate of rotations: the law is linear to first order only
    np.testing.assert_allclose(error[:, :3], np.outer(decay, error[0, :3]), atol=2e-3)


def test_a_hand_half_a_turn_away_comes_back():
    arm = sf.load("puma560").without(friction=True)
    start = np.array([0.1, 0.6, -0.4, 0.2, 0.7, -1.5])
    goal = sf.frame_pose(arm, start + 2.9 * np.eye(6)[5], "link6")
    law = sf.control.operational_space(arm, "link6", goal, 25.0, 10.0)
    run = sf.simulate(arm, start, None, 4.0, control=law, every=50)
    assert np.abs(sf.frame_pose(arm, run.q[-1], "link6") - goal).max() < 1e-6


@pytest.mark.parametrize("bend", [0.1, 1e-3, 0.0])
def test_forces_stay_finite_near_a_stretched_elbow_and_the_lost_direction_is_reported(bend):
    arm = sf.load("double_pendulum").without(friction=True)
    q = np.array([0.4, bend])
    place = sf.frame_pose(arm, q, "tip")[:3, 3]
    along = place / np.linalg.norm(place)
    options = {"rows": (3, 5)}
    law = sf.control.operational_space(arm, "tip", place + 0.1 * along, 100.0, 20.0, **options)
    tau = law(0.0, q, np.zeros(2))
    shares, directions = law.tracked_shares(q)
    assert np.isfinite(tau).all() and np.abs(tau).max() < 1100.0  # the exact forces at 1e-3: 12,000
    assert shares[1] > 0.999 and (shares[0] > 0.99 if bend == 0.1 else shares[0] < 0.1)
    if bend < 0.1:
        assert abs(directions[:, 0] @ along[[0, 2]]) > 0.999
        # across the arm, the whole acceleration is there
        J, bias = sf.jacobian(arm, q, "tip"), sf.jacobian_bias(arm, q, 0 * q, "tip")
        across = np.array([0, 0, 0, -along[2], 0, along[0]])
        beside = sf.control.operational_space(
            arm, "tip", place + 0.1 * across[3:], 100.0, 20.0, **options
        )
        a = sf.forward_dynamics(arm, q, 0 * q, beside(0.0, q, np.zeros(2)))
        assert across @ (J @ a + bias) == pytest.approx(10.0, rel=1e-3)


def test_far_from_singular_states_the_proximal_steps_are_exact_enough(panda, circle):
    law = sf.control.operational_space(panda, HAND, circle, 400.0, 40.0)
    q = START + 0.3 * np.random.default_rng(1).standard_normal((20, 7))
    assert law.tracked_shares(q)[0].min() > 1 - 1e-4


def test_rows_of_the_orientation_alone_leave_the_position_free(panda):
    goal = sf.frame_pose(panda, START, HAND)
    q0 = START + 0.1
    law = sf.control.operational_space(panda, HAND, goal, 100.0, 20.0, rows="orientation")
    run = sf.simulate(panda, q0, None, 2.0, dt=1e-3, control=law, every=50)
    end = sf.frame_pose(panda, run.q[-1], HAND)
    assert np.abs(end[:3, :3] - goal[:3, :3]).max() < 1e-6
    assert np.abs(end[:3, 3] - goal[:3, 3]).max() > 1e-2


@pytest.mark.parametrize("model", [held_arm(), flyer()], ids=["loop", "floating"])
def test_loops_and_floating_bases_are_refused(model):
    with pytest.raises(sf.errors.NotApplicableError, match="operational_space does not apply"):
        sf.control.operational_space(model, model.body_names[-1], np.eye(4), 1.0, 1.0)
