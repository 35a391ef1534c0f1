"""Where bodies are and how they move: poses, velocities, accelerations, Jacobians, momenta."""

from __future__ import annotations

import numpy as np
import pytest

import sixfold as sf
from sixfold.dynamics.kinematics import motions
from sixfold.model import STANDARD_JOINTS
from sixfold.model.samples import RollingBall
from sixfold.scalar import differentiate
from sixfold.spatial import Column, Inertia, Transform
from tests.dynamics.support import EPS, array, error, flat, fn, rate, six, tables

SOLID = Inertia.from_mass(1.3, (0.1, -0.2, 0.15), (0.05, 0.07, 0.06))
FRAMES = ("body", "world", "aligned")
DIFFERENCES = 1e-10  # first differences with steps of 1e-3, numbers of order 10
TIGHT = 128 * EPS


def joint_of(kind):
    if kind is sf.CustomJoint:
        return sf.CustomJoint(RollingBall(0.4))
    if kind is sf.Helical:
        return sf.Helical((1.0, 2.0, -0.5), 0.2)
    return kind((1.0, -2.0, 0.5)) if "axis" in kind.__dataclass_fields__ else kind()


def pair(kind):
    """A hinge, then the joint under test, then a slide: so that it is carried and carries."""
    builder = sf.ModelBuilder(kind.__name__.lower())
    place = Transform.from_rpy((0.4, -0.7, 1.1), (0.3, -0.2, 0.5))
    builder.add_body("near", joint=sf.Revolute((0.2, 1.0, 0.3)), placement=place, inertia=SOLID)
    builder.add_body("middle", parent="near", joint=joint_of(kind), placement=place, inertia=SOLID)
    builder.add_body(
        "far", parent="middle", joint=sf.Prismatic("x"), placement=place, inertia=SOLID
    )
    builder.add_frame("tool", "far", Transform.from_rpy((1.0, 0.2, -0.5), (0.2, 0.1, -0.4)))
    return builder.build()


MODELS = {kind.__name__: pair(kind) for kind in (*STANDARD_JOINTS, sf.CustomJoint)}
MODELS |= {"tree of ten": sf.random_tree(10, 12)}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
framed = pytest.mark.parametrize("frame", FRAMES)


def values(model, seed=0):
    q, qd, qdd, _ = tables(model, seed)
    return [np.array(flat(x)) for x in (q, qd, qdd)]


def along(model, q, v, a):
    """t -> (q, v) with q(0) = q, velocity v and acceleration a at t = 0, to second order."""

    def at(t):
        return fn.integrate(model, q, v * t + a * (t * t / 2)), v + a * t

    return at


def skew(w):
    return np.cross(np.eye(3), w)


def vee(W):
    return np.array([W[2, 1], W[0, 2], W[1, 0]])


def last(model):
    return model.body_names[-1]


# -- poses and velocities


@each
def test_poses_are_rigid_and_chain_from_the_base(model):
    q, _, _ = values(model)
    for pose in fn.body_poses(model, q):
        R = pose[:3, :3]
        np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=32 * EPS)
        assert np.linalg.det(R) == pytest.approx(1.0, abs=32 * EPS)
        np.testing.assert_array_equal(pose[3], [0, 0, 0, 1])
    np.testing.assert_array_equal(fn.frame_pose(model, q, last(model)), fn.body_poses(model, q)[-1])


@each
def test_velocities_are_the_rates_of_poses(model):
    q, v, _ = values(model)
    path = along(model, q, v, np.zeros_like(v))
    poses = fn.body_poses(model, q)
    rates = rate(lambda t: fn.body_poses(model, path(t)[0]))
    found = {frame: fn.body_velocities(model, q, v, frame=frame) for frame in FRAMES}
    for k, (pose, change) in enumerate(zip(poses, rates, strict=True)):
        R, p = pose[:3, :3], pose[:3, 3]
        omega, speed = vee(change[:3, :3] @ R.T), change[:3, 3]
        expected = {
            "aligned": [*omega, *speed],
            "body": [*(R.T @ omega), *(R.T @ speed)],
            "world": [*omega, *(speed - np.cross(omega, p))],
        }
        for frame in FRAMES:
            np.testing.assert_allclose(found[frame][k], expected[frame], rtol=0, atol=DIFFERENCES)


@each
@framed
def test_spatial_accelerations_are_the_rates_of_spatial_velocities(model, frame):
    """Componentwise in a frame at rest; in body axes the frame's own motion adds v x v = 0."""
    q, v, a = values(model)
    path = along(model, q, v, a)
    found = fn.body_accelerations(model, q, v, a, frame=frame)
    if frame == "aligned":
        # world axes at the moving body point: the world's spatial acceleration, shifted
        at_origin = fn.body_accelerations(model, q, v, a, frame="world")
        for k, pose in enumerate(fn.body_poses(model, q)):
            omega_rate, lin = at_origin[k, :3], at_origin[k, 3:]
            moved = [*omega_rate, *(lin + np.cross(omega_rate, pose[:3, 3]))]
            np.testing.assert_allclose(found[k], moved, rtol=0, atol=TIGHT * np.abs(found).max())
        return
    measured = rate(lambda t: fn.body_velocities(model, *path(t), frame=frame))
    np.testing.assert_allclose(found, measured, rtol=0, atol=DIFFERENCES)


@each
def test_classical_accelerations_are_second_derivatives_of_positions(model):
    q, v, a = values(model)
    path = along(model, q, v, a)
    measured = rate(lambda t: fn.body_velocities(model, *path(t), frame="aligned"))
    found = fn.body_accelerations(model, q, v, a, frame="aligned", kind="classical")
    np.testing.assert_allclose(found, measured, rtol=0, atol=DIFFERENCES)
    in_body = fn.body_accelerations(model, q, v, a, frame="body", kind="classical")
    for k, pose in enumerate(fn.body_poses(model, q)):
        R = pose[:3, :3]
        turned = [*(R.T @ found[k, :3]), *(R.T @ found[k, 3:])]
        np.testing.assert_allclose(in_body[k], turned, rtol=0, atol=TIGHT * np.abs(found).max())


@each
def test_classical_and_spatial_accelerations_differ_by_omega_cross_v(model):
    q, v, a = values(model)
    for frame in ("body", "aligned"):
        velocity = fn.body_velocities(model, q, v, frame=frame)
        spatial = fn.body_accelerations(model, q, v, a, frame=frame)
        classical = fn.body_accelerations(model, q, v, a, frame=frame, kind="classical")
        extra = np.cross(velocity[:, :3], velocity[:, 3:])
        bar = TIGHT * np.abs(classical).max()
        np.testing.assert_allclose(classical[:, 3:] - spatial[:, 3:], extra, rtol=0, atol=bar)
        np.testing.assert_array_equal(classical[:, :3], spatial[:, :3])


def test_classical_acceleration_about_the_world_origin_is_refused():
    model = MODELS["Revolute"]
    q, v, a = values(model)
    with pytest.raises(sf.errors.OptionError, match="aligned"):
        fn.body_accelerations(model, q, v, a, frame="world", kind="classical")


@each
def test_every_joint_matches_its_transform_by_dual_numbers(model):
    """vJ and cJ of each joint from the derivative of its transform, with no step at all."""
    q, qd, _, _ = tables(model)
    for i in model.tree.bodies:
        joint = model.tree.joint[i]

        def pose(at, joint=joint):
            X = joint.calc(at, (0.0,) * joint.nv).XJ
            return (*X.E.a, *X.E.b, *X.E.c, *X.r)

        dq = joint.rate(q[i], qd[i])
        value, change = differentiate(pose, q[i], dq)
        E, dE = array(list(value[:9])).reshape(3, 3), array(list(change[:9])).reshape(3, 3)
        omega, speed = vee(-dE @ E.T), E @ array(list(change[9:]))
        x = joint.calc(q[i], qd[i])
        np.testing.assert_allclose(six(x.vJ), [*omega, *speed], rtol=0, atol=TIGHT)
        np.testing.assert_allclose(six(x.S @ qd[i]), six(x.vJ), rtol=0, atol=TIGHT)

        def velocity(at, joint=joint, i=i):
            m = joint.calc(at, qd[i]).S @ Column(qd[i])
            return (*m.ang, *m.lin)

        _, drift = differentiate(velocity, q[i], dq)
        np.testing.assert_allclose(six(x.cJ), array(list(drift)), rtol=0, atol=TIGHT)


# -- Jacobians


def point_velocity(model, q, v, name, point, frame):
    """Velocity of a frame's point by the rate of its pose."""
    pose = fn.frame_pose(model, q, name)
    change = rate(lambda t: fn.frame_pose(model, fn.integrate(model, q, v * t), name))
    R = pose[:3, :3]
    omega = vee(change[:3, :3] @ R.T)
    place = R @ point + pose[:3, 3]
    speed = change[:3, :3] @ point + change[:3, 3]
    if frame == "aligned":
        return np.array([*omega, *speed])
    if frame == "body":
        return np.array([*(R.T @ omega), *(R.T @ speed)])
    return np.array([*omega, *(speed - np.cross(omega, place))])


@each
@framed
def test_jacobian_times_velocity_is_the_velocity_of_the_body(model, frame):
    q, v, _ = values(model)
    for k, name in enumerate(model.body_names):
        J = fn.jacobian(model, q, name, frame=frame)
        assert J.shape == (6, model.nv)
        expected = fn.body_velocities(model, q, v, frame=frame)[k]
        np.testing.assert_allclose(J @ v, expected, rtol=0, atol=TIGHT * np.abs(expected).max())


@framed
@pytest.mark.parametrize("name", ["tool", "middle"])
def test_jacobian_of_a_point_in_a_frame_gives_its_velocity(name, frame):
    model = MODELS["Free"]
    q, v, _ = values(model)
    point = np.array([0.3, -0.5, 0.2])
    given = point if frame != "world" else None  # the world's own origin
    J = fn.jacobian(model, q, name, given, frame=frame)
    np.testing.assert_allclose(
        J @ v, point_velocity(model, q, v, name, point, frame), rtol=0, atol=DIFFERENCES
    )


@each
@framed
def test_jacobian_bias_is_the_rate_of_the_jacobian_times_velocity(model, frame):
    q, v, _ = values(model)
    name = "tool" if "tool" in model.frame_names else last(model)
    point = np.array([0.3, -0.5, 0.2]) if frame != "world" else None

    def J(t):
        return fn.jacobian(model, fn.integrate(model, q, v * t), name, point, frame=frame)

    bias = fn.jacobian_bias(model, q, v, name, point, frame=frame)
    np.testing.assert_allclose(bias, rate(J) @ v, rtol=0, atol=DIFFERENCES)


@each
def test_jacobian_and_its_bias_give_the_classical_acceleration_of_the_body(model):
    q, v, a = values(model)
    for k, name in enumerate(model.body_names):
        J, bias = fn.jacobian(model, q, name), fn.jacobian_bias(model, q, v, name)
        expected = fn.body_accelerations(model, q, v, a, frame="aligned", kind="classical")[k]
        bar = TIGHT * max(np.abs(expected).max(), 1)
        np.testing.assert_allclose(J @ a + bias, expected, rtol=0, atol=bar)


def test_the_base_does_not_move():
    model = MODELS["Free"]
    q, v, _ = values(model)
    np.testing.assert_array_equal(fn.jacobian(model, q, "world"), np.zeros((6, model.nv)))
    np.testing.assert_array_equal(fn.jacobian_bias(model, q, v, "world"), np.zeros(6))
    np.testing.assert_array_equal(fn.frame_pose(model, q, "world"), np.eye(4))


def test_frame_poses_are_body_poses_with_their_placement():
    model = MODELS["Spherical"]
    q, _, _ = values(model)
    placement = Transform.from_rpy((1.0, 0.2, -0.5), (0.2, 0.1, -0.4))
    local = np.eye(4)
    local[:3, :3], local[:3, 3] = array([list(r) for r in placement.E.T]), array(list(placement.r))
    found = fn.frame_pose(model, q, "tool")
    np.testing.assert_allclose(found, fn.body_poses(model, q)[-1] @ local, rtol=0, atol=TIGHT)


# -- masses and momenta


@each
def test_centre_of_mass_is_the_mean_of_the_bodies_centres(model):
    q, _, _ = values(model)
    total, moment = 0.0, np.zeros(3)
    for body, pose in zip(model.bodies, fn.body_poses(model, q), strict=True):
        m = float(body.inertia.m)
        total += m
        moment += m * (pose[:3, :3] @ array(list(body.inertia.center)) + pose[:3, 3])
    assert error(fn.center_of_mass(model, q), moment / total) <= TIGHT


@each
def test_momentum_is_the_sum_over_bodies(model):
    q, v, a = values(model)
    vel, _ = motions(
        model.tree,
        *(
            table
            for table in (
                model.positions(q.tolist()),
                model.velocities(v.tolist()),
                model.velocities(a.tolist()),
            )
        ),
    )
    total = np.zeros(6)
    for i, pose in enumerate(fn.body_poses(model, q), 1):
        h = model.tree.inertia[i] @ vel[i]
        R, p = pose[:3, :3], pose[:3, 3]
        moment, linear = R @ array(list(h.ang)), R @ array(list(h.lin))
        total += [*(moment + np.cross(p, linear)), *linear]
    assert error(fn.momentum(model, q, v), total) <= TIGHT


@each
def test_linear_momentum_is_mass_times_velocity_of_the_centre_of_mass(model):
    q, v, _ = values(model)
    mass = sum(float(body.inertia.m) for body in model.bodies)
    speed = rate(lambda t: fn.center_of_mass(model, fn.integrate(model, q, v * t)))
    np.testing.assert_allclose(
        fn.momentum(model, q, v)[3:], mass * speed, rtol=0, atol=DIFFERENCES * mass
    )


@each
def test_centroidal_momentum_is_the_momentum_about_the_centre_of_mass(model):
    q, v, _ = values(model)
    h, c = fn.momentum(model, q, v), fn.center_of_mass(model, q)
    found = fn.centroidal_momentum(model, q, v)
    expected = [*(h[:3] - np.cross(c, h[3:])), *h[3:]]
    assert np.abs(found - expected).max() <= TIGHT * np.abs(h).max()
