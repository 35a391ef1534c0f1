"""Inverse kinematics: configurations that meet targets, or say that they do not."""

from dataclasses import replace

import numpy as np
import pytest

import sixfold as sf
from sixfold.control.ik import Solver, start_table
from sixfold.control.targets import task_of
from tests.constraints.mechanisms import four_bar

ARM = sf.load("puma560")
TOOL = ARM.body_names[-1]
SNAKE = sf.load("planar_chain:5")


def poses(count, seed=1):
    q, _ = sf.random_state(ARM, count, seed=seed)
    return q, sf.frame_pose(ARM, q, TOOL)


def tight(model, low, high):
    """Return a model whose joints have limits."""
    bodies = tuple(
        replace(b, lower=(low,) * b.joint.nq, upper=(high,) * b.joint.nq) for b in model.bodies
    )
    return replace(model, bodies=bodies)


def test_reachable_poses_are_reached_to_the_tolerance():
    _, T = poses(400)
    found = sf.inverse_kinematics(ARM, {TOOL: T})
    assert found.converged.mean() > 0.995
    assert found.parts == (f"{TOOL} position", f"{TOOL} rotation")
    good = found.converged
    assert np.abs(sf.frame_pose(ARM, found.q, TOOL) - T)[good].max() < 2e-8
    assert found.error[good].max() <= 1e-8


def test_leading_axes_are_kept_and_one_pose_is_one_row():
    _, T = poses(6)
    found = sf.inverse_kinematics(ARM, targets={TOOL: T.reshape(2, 3, 4, 4)}, q0=np.zeros(6))
    assert found.q.shape == (2, 3, 6)
    assert found.error.shape == (2, 3, 2)
    assert found.converged.shape == found.starts.shape == (2, 3)
    one = sf.inverse_kinematics(ARM, {TOOL: T[0]})
    assert one.q.shape == (6,)
    assert one.converged
    assert "1 of 1 converged" in repr(one)


def test_no_rows_give_no_configurations():
    none = np.zeros((0, 4, 4))
    assert sf.inverse_kinematics(ARM, {TOOL: none}).q.shape == (0, 6)
    assert sf.control.all_solutions(ARM, {TOOL: none}).shape == (0, 0, 6)
    assert sf.control.differential_ik(ARM, np.zeros((0, 6)), {TOOL: np.zeros(6)}).shape == (0, 6)


def test_models_without_freedoms_are_refused():
    still = sf.ModelBuilder("still").add_body("body", joint=sf.Fixed()).build()
    with pytest.raises(sf.errors.NotApplicableError, match="without degrees of freedom"):
        sf.inverse_kinematics(still, {still.base_name: np.eye(4)})


def test_a_row_has_the_same_bits_in_any_batch():
    _, T = poses(50)
    whole = sf.inverse_kinematics(ARM, {TOOL: T})
    for part in (slice(0, 1), slice(7, 20)):
        again = sf.inverse_kinematics(ARM, {TOOL: T[part]})
        assert np.array_equal(again.q, whole.q[part])


def test_convergence_near_a_solution_is_quadratic():
    q, T = poses(20)
    task = task_of("test", ARM, {TOOL: T})
    step = Solver(task, False, 1e-8, start_table(ARM, 1))
    q0 = q + 1e-3
    found = step.run(q0, task.numbers)
    assert (found.starts == 1).all()
    assert found.worst.max() < 1e-11  # four steps: 1e-3, 1e-6, 1e-12


def test_limits_are_respected():
    arm = tight(ARM, -1.5, 1.5)
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (200, 6))
    T = sf.frame_pose(arm, q, TOOL)
    found = sf.inverse_kinematics(arm, {TOOL: T})
    assert found.converged.mean() > 0.97
    assert (np.abs(found.q) <= 1.5).all()
    free = sf.inverse_kinematics(arm, {TOOL: T}, limits=False)
    assert (np.abs(free.q) > 1.5).any()


def test_a_pose_out_of_reach_gives_the_nearest_configuration():
    arm = sf.load("planar_chain:3")
    tip = arm.body_names[-1]
    far = np.array([[5.0, 0.0, 0.0], [0.0, -9.0, 0.0]])
    found = sf.inverse_kinematics(arm, [sf.targets.Position(tip, far, point=(1.0, 0.0, 0.0))])
    assert not found.converged.any()
    assert found.error[:, 0] == pytest.approx([2.0, 6.0], abs=1e-6)  # three links of 1 m


def test_targets_of_every_kind_are_met():
    q, _ = sf.random_state(ARM, 30, seed=3)
    T = sf.frame_pose(ARM, q, TOOL)
    axis = T[:, :3, 0]
    t = sf.targets
    for targets in (
        [t.Position(TOOL, T[:, :3, 3])],
        [t.Direction(TOOL, 3.0 * axis, axis=(1, 0, 0))],
        [t.Position(TOOL, T[:, :3, 3]), t.Direction(TOOL, axis, axis=(1, 0, 0))],
        [t.LookAt(TOOL, T[:, :3, 3] + 0.7 * axis, axis=(1, 0, 0)), t.Position(TOOL, T[:, :3, 3])],
        [t.CenterOfMass(sf.center_of_mass(ARM, q))],
        [t.Joints(q)],
        [t.Joints(q, joints=ARM.joint_names[:3]), t.Position(TOOL, T[:, :3, 3], weight=2.0)],
        t.Pose(TOOL, T, rotation_weight=0.3),
    ):
        found = sf.inverse_kinematics(ARM, targets)
        assert found.converged.mean() > 0.96, (targets, found)


def test_an_axis_that_points_the_wrong_way_round_is_not_aligned():
    T = sf.frame_pose(ARM, np.zeros(6), TOOL)
    target = sf.targets.Direction(TOOL, -T[:3, 2])
    error = sf.inverse_kinematics(ARM, target, np.zeros(6), starts=1)
    assert error.converged
    end = sf.frame_pose(ARM, error.q, TOOL)
    assert end[:3, 2] @ T[:3, 2] == pytest.approx(-1.0)


def test_lower_priorities_use_the_freedom_that_is_left():
    tip = SNAKE.body_names[-1]
    goal = sf.targets.Position(tip, [1.5, 1.0, 0.0], point=(1.0, 0.0, 0.0))
    posture = np.array([0.4, 0.3, -0.2, 0.1, 0.5])
    found = sf.inverse_kinematics(SNAKE, [goal, sf.targets.Joints(posture, priority=1)], posture)
    assert found.converged
    assert found.error[0] <= 1e-8
    J = sf.jacobian(SNAKE, found.q, tip, point=[1.0, 0.0, 0.0])[3:5]
    left = posture - found.q
    along = left - np.linalg.pinv(J) @ (J @ left)
    assert np.abs(along).max() < 1e-6  # nothing more to gain without moving the tip
    equal = sf.inverse_kinematics(SNAKE, [goal, sf.targets.Joints(posture)], posture)
    assert not equal.converged


def test_spherical_and_free_joints_move_on_their_manifolds():
    body = sf.load("floating_link")
    name = body.body_names[-1]
    q, _ = sf.random_state(body, 20, seed=2)
    found = sf.inverse_kinematics(body, {name: sf.frame_pose(body, q, name)})
    assert found.converged.all()
    assert np.linalg.norm(found.q[:, 3:7], axis=-1) == pytest.approx(1.0)
    whole = sf.inverse_kinematics(body, sf.targets.Joints(q))
    assert whole.converged.all()


def test_all_eight_solutions_of_an_arm_with_a_spherical_wrist_are_found():
    q = np.array([[0.3, -0.8, 0.9, 0.7, 0.6, -0.4], [-1.0, 0.4, 0.5, -0.9, 0.8, 1.2]])
    T = sf.frame_pose(ARM, q, TOOL)
    found = sf.control.all_solutions(ARM, {TOOL: T}, limits=False)
    assert found.shape == (2, 8, 6)
    assert np.abs(sf.frame_pose(ARM, found, TOOL) - T[:, None]).max() < 1e-7
    assert (np.abs(found) <= np.pi).all()
    for row, given in zip(found, q, strict=True):
        assert np.abs(row - given).max(-1).min() < 1e-6
        apart = np.abs(row[:, None] - row).max(-1) + 9 * np.eye(8)
        assert apart.min() > 1e-3


def test_redundant_arms_have_no_list_of_solutions():
    with pytest.raises(sf.errors.NotApplicableError, match="degrees of freedom"):
        sf.control.all_solutions(SNAKE, sf.targets.Position(SNAKE.body_names[-1], [1.0, 1.0, 0.0]))


def test_velocities_move_frames_as_asked():
    q, _ = sf.random_state(ARM, (4, 5), seed=4)
    twist = np.array([0.1, -0.2, 0.3, 0.05, 0.0, -0.1])
    v = sf.control.differential_ik(ARM, q, {TOOL: twist}, damping=1e-12, limits=False)
    assert v.shape == (4, 5, 6)
    assert np.abs((sf.jacobian(ARM, q, TOOL) @ v[..., None])[..., 0] - twist).max() < 1e-6


def test_following_velocities_leads_to_the_target():
    q, T = poses(1)
    x = q[0] + 0.3
    for _ in range(60):
        x = x + 0.1 * sf.control.differential_ik(
            ARM, q=x, targets=sf.targets.Pose(TOOL, T[0]), gain=5.0, damping=1e-9, limits=False
        )
    assert np.abs(sf.frame_pose(ARM, x, TOOL) - T[0]).max() < 1e-6


def test_velocities_respect_limits():
    arm = tight(ARM, -1.0, 1.0)
    q = np.full(6, 1.0)
    v = sf.control.differential_ik(arm, q, sf.targets.Joints(np.full(6, 2.0)))
    assert (v <= 0).all()
    assert (np.abs(v) <= arm.velocity_limit).all()


@pytest.mark.parametrize(
    ("targets", "error"),
    [
        ({}, sf.errors.ArgumentError),
        ("tool", sf.errors.ArgumentError),
        ({"nowhere": np.eye(4)}, sf.errors.UnknownNameError),
        ({TOOL: np.eye(3)}, sf.errors.ShapeError),
        ({TOOL: 2 * np.eye(4)}, sf.errors.NumberError),
        ({TOOL: np.diag([1.0, 1.0, -1.0, 1.0])}, sf.errors.NumberError),
        ({TOOL: np.full((4, 4), np.nan)}, sf.errors.NumberError),
        ([sf.targets.Position(TOOL, [0, 0, 0], weight=-1)], sf.errors.OptionError),
        ([sf.targets.Position(TOOL, [0, 0, 0], priority=1.5)], sf.errors.OptionError),
        ([sf.targets.Position(TOOL, [0, 0, 0], point=(1, 2))], sf.errors.ModelError),
        ([sf.targets.Direction(TOOL, [0, 0, 0])], sf.errors.NumberError),
        ([sf.targets.Direction(TOOL, [0, 0, 1], axis=(0, 0, 0))], sf.errors.OptionError),
        ([sf.targets.Joints(np.zeros(6), joints="shoulder")], sf.errors.ArgumentError),
        ([sf.targets.Velocity(TOOL, np.zeros(6))], sf.errors.ArgumentError),
        (
            [sf.targets.Position(TOOL, np.zeros((2, 3))), sf.targets.Joints(np.zeros((3, 6)))],
            sf.errors.ShapeError,
        ),
    ],
)
def test_targets_that_make_no_sense_are_refused(targets, error):
    with pytest.raises(error):
        sf.inverse_kinematics(ARM, targets)


@pytest.mark.parametrize(
    "options", [{"tolerance": 0.0}, {"starts": 0}, {"limits": "no"}, {"tolerance": "small"}]
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(sf.errors.SixfoldError):
        sf.inverse_kinematics(ARM, {TOOL: np.eye(4)}, **options)


def test_models_with_loops_are_refused():
    bars = four_bar(1.0, 0.5, 1.2, 0.9, (0.5, 1.2, 0.9))
    with pytest.raises(sf.errors.NotApplicableError, match="constraints"):
        sf.inverse_kinematics(bars, {bars.body_names[0]: np.eye(4)})


def test_the_pose_of_zero_is_answered_in_the_turn_of_zero():
    arm = sf.load("puma560")
    frame = arm.body_names[-1]
    found = sf.inverse_kinematics(arm, {frame: sf.frame_pose(arm, np.zeros(6), frame)})
    assert found.converged and np.abs(found.q).max() <= np.pi


def test_angles_are_given_in_the_turn_nearest_to_the_start():
    arm = sf.load("puma560")
    frame = arm.body_names[-1]
    poses = sf.frame_pose(arm, sf.random_state(arm, 200, seed=4)[0], frame)
    for start in (np.zeros(6), np.full(6, 9.0), np.full(6, -20.0)):
        found = sf.inverse_kinematics(arm, {frame: poses}, start)
        assert found.converged.all()
        assert np.abs(found.q - start).max() <= np.pi + 1e-12
        assert np.allclose(sf.frame_pose(arm, found.q, frame), poses, atol=1e-7)
    found = sf.inverse_kinematics(arm, {frame: poses})
    assert np.abs(found.q).max() <= np.pi + 1e-12


def hinge(**properties):
    builder = sf.ModelBuilder("hinge")
    rod = sf.Inertia.from_mass(1.0, rotational=(1.0, 1.0, 1.0))
    builder.add_body("rod", joint=sf.Revolute("z"), joint_name="j", inertia=rod, **properties)
    return builder.build()


@pytest.mark.parametrize(
    ("limits", "start", "wanted"),
    [
        ((3.0, 12.0), 0.0, 0.5 + 2 * np.pi),
        ((3.0, 20.0), 19.0, 0.5 + 6 * np.pi),
        ((-12.0, -3.0), 0.0, 0.5 - 2 * np.pi),
        ((-20.0, 20.0), 0.0, 0.5),
    ],
)
def test_the_turn_that_is_given_is_within_the_limits(limits, start, wanted):
    model = hinge(lower=limits[0], upper=limits[1])
    pose = sf.frame_pose(model, [0.5], "rod")
    found = sf.inverse_kinematics(model, {"rod": pose}, [start])
    assert found.converged
    np.testing.assert_allclose(found.q, [wanted], atol=1e-7)


def test_joints_that_are_asked_for_keep_the_turn_that_is_asked_for():
    found = sf.inverse_kinematics(hinge(), [sf.targets.Joints([7.0])])
    np.testing.assert_allclose(found.q, [7.0], atol=1e-7)
    assert found.converged


def test_a_turn_of_a_joint_that_another_follows_is_kept():
    builder = sf.ModelBuilder("pair")
    rod = sf.Inertia.from_mass(1.0, rotational=(1.0, 1.0, 1.0))
    builder.add_body("a", joint=sf.Revolute("z"), joint_name="ja", inertia=rod)
    builder.add_body("b", joint=sf.Revolute("z"), joint_name="jb", inertia=rod)
    builder.couple("jb", ("ja", 0.5))
    model = builder.build()
    pose = sf.frame_pose(model, [7.0], "b")
    found = sf.inverse_kinematics(model, {"b": pose}, [6.5])
    np.testing.assert_allclose(found.q, [7.0], atol=1e-6)
