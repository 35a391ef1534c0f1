"""Motions through waypoints: smooth, and within limits."""

import numpy as np
import pytest

import sixfold as sf
from sixfold.control.plan import smoothest_spline

ARM = sf.load("puma560")
WAY = np.array(
    [[0.0, 0, 0, 0, 0, 0], [0.5, -0.4, 0.3, 0.2, 0.6, 0.1], [1.0, 0.2, -0.3, 0.5, 0, 0.4]]
)
LIMITS = {"velocity_limit": 1.5, "acceleration_limit": 6.0, "effort_limit": 120.0}


def test_two_waypoints_give_the_minimum_jerk_polynomial():
    motion = sf.control.plan_trajectory(ARM, WAY[:2], duration=2.0)
    reference = sf.control.minimum_jerk(WAY[0], WAY[1], 2.0)
    for k in (0, 37, 100, 200):
        q, v, a = reference(motion.t[k])
        assert motion.q[k] == pytest.approx(q, abs=1e-12)
        assert motion.v[k] == pytest.approx(v, abs=1e-12)
        assert motion.a[k] == pytest.approx(a, abs=1e-11)


@pytest.mark.parametrize("spline", ["minimum_jerk", "cubic"])
def test_the_motion_passes_the_waypoints_and_rests_at_both_ends(spline):
    motion = sf.control.plan_trajectory(
        ARM, WAY, times=[0, 1, 3], duration=3.0, dt=0.01, spline=spline
    )
    assert motion.q[[0, 100, 300]] == pytest.approx(WAY, abs=1e-12)
    assert np.abs(motion.v[[0, -1]]).max() < 1e-12
    assert motion.t[-1] == 3.0
    h = motion.dt
    slope = (motion.q[2:] - motion.q[:-2]) / (2 * h)
    assert np.abs(slope - motion.v[1:-1]).max() < 1e-3
    assert motion.tau == pytest.approx(sf.inverse_dynamics(ARM, motion.q, motion.v, motion.a))


@pytest.mark.parametrize("order", [2, 3])
def test_no_other_motion_through_the_waypoints_is_smoother(order):
    rng = np.random.default_rng(0)
    s = np.linspace(0, 1, 4001)
    knots, points = np.array([0, 0.3, 0.55, 1.0]), rng.normal(size=(4, 2))
    path = smoothest_spline(knots, points, order)
    best = (path(s, order) ** 2).sum(0)
    # a bump that vanishes at all knots, with its derivatives at both ends
    bump = np.prod([(s - k) ** (order if k in (0, 1) else 1) for k in knots], axis=0)
    for _ in range(order):
        bump = np.gradient(bump, s)
    for size in (-30.0, 30.0):
        other = path(s, order) + size * bump[:, None]
        assert ((other**2).sum(0) > best).all()


@pytest.mark.parametrize("left_out", [(), ("velocity_limit",), ("effort_limit", "velocity_limit")])
def test_limits_hold_and_one_of_them_is_reached(left_out):
    limits = {name: x for name, x in LIMITS.items() if name not in left_out}
    motion = sf.control.plan_trajectory(ARM, waypoints=WAY, **limits)
    used = [np.abs(motion.a).max() / 6.0]
    if "velocity_limit" in limits:
        used.append(np.abs(motion.v).max() / 1.5)
    if "effort_limit" in limits:
        used.append(np.abs(motion.tau).max() / 120.0)
    assert max(used) <= 1 + 1e-9
    quicker = motion.duration * 0.98
    with pytest.raises(sf.errors.StateError, match="at least"):
        sf.control.plan_trajectory(ARM, WAY, duration=quicker, **limits)


def test_the_scaling_by_joint_forces_is_exact():
    free = ARM.without(friction=True)
    motion = sf.control.plan_trajectory(
        free, WAY, effort_limit=100.0, velocity_limit=np.inf, dt=1e-3
    )
    assert np.abs(motion.tau).max() == pytest.approx(100.0, rel=1e-3)
    assert "effort limit" in motion.notes[0]


def test_a_robot_too_weak_to_stand_is_told_where():
    with pytest.raises(sf.errors.StateError, match="to stand there"):
        sf.control.plan_trajectory(ARM, WAY, effort_limit=5.0)


def test_the_plan_can_be_simulated():
    model = sf.load("double_pendulum")
    motion = sf.control.plan_trajectory(model, [[0, 0], [1.0, -0.5]], duration=1.0, dt=1e-3)
    q, _ = sf.rollout(
        model, motion.q[0], motion.v[0], motion.tau[:-1], dt=motion.dt, steps=len(motion.t) - 1
    )
    assert np.abs(q[-1] - motion.q[-1]).max() < 0.02


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"waypoints": WAY[0]}, sf.errors.ShapeError),
        ({"waypoints": WAY[:, :3]}, sf.errors.ShapeError),
        ({"waypoints": WAY * np.nan}, sf.errors.NumberError),
        ({"waypoints": WAY[[0, 0]]}, sf.errors.NumberError),
        ({"times": [0, 1]}, sf.errors.ShapeError),
        ({"times": [0, 2, 1]}, sf.errors.OptionError),
        ({"times": [0, 1, 1]}, sf.errors.OptionError),
        ({"times": [0, 0, 1]}, sf.errors.OptionError),
        ({"duration": -1.0}, sf.errors.OptionError),
        ({"dt": 0.0}, sf.errors.OptionError),
        ({"spline": "quadratic"}, sf.errors.OptionError),
        ({"velocity_limit": [1.0, 2.0]}, sf.errors.ShapeError),
        ({"velocity_limit": -1.0}, sf.errors.OptionError),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, error):
    with pytest.raises(error):
        sf.control.plan_trajectory(ARM, **{"waypoints": WAY, "velocity_limit": 1.0, **options})


def test_without_limits_a_duration_is_asked_for():
    chain = sf.load("planar_chain")
    with pytest.raises(sf.errors.NotApplicableError, match="duration"):
        sf.control.plan_trajectory(chain, [[0, 0, 0], [1, 1, 1]])
    with pytest.raises(sf.errors.NotApplicableError, match="no rates"):
        sf.control.plan_trajectory(sf.load("floating_link"), np.zeros((2, 8)))
