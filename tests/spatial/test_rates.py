"""Differentiation in moving coordinates, and spatial against classical acceleration.

Sources: Featherstone, Summer Screws 2024, part 1; Carius, Primer on Spatial Algebra, 2018
(eqs. 3-7, 16).  Every rate is taken twice: by dual numbers and by central differences.
"""

import pytest
from hypothesis import given

from sixfold.scalar import ZERO, cos, exp, sin
from sixfold.spatial import (
    IDENTITY3,
    Force,
    Inertia,
    Matrix3,
    Motion,
    Symmetric3,
    Transform,
    Vector3,
    classical_acceleration,
    component_rate,
    rotation,
    skew,
    spatial_acceleration,
    transform_rate,
    vector_rate,
    velocity_at,
)
from tests.spatial.support import (
    angular_velocity,
    array,
    assert_close,
    assert_differ,
    forces,
    frame_acceleration,
    frame_velocity,
    law,
    motions,
    other_pose,
    pose,
    six,
    size,
    vectors,
)

ZERO_POINT = Vector3(ZERO, ZERO, ZERO)


def vector_path(t):
    return Vector3(sin(3 * t), t * t - 0.3, 0.5 * exp(t))


def other_vector_path(t):
    return Vector3(0.2 + t, cos(t) * t, -exp(-t))


def motion_path(t):
    return Motion(vector_path(t), other_vector_path(t))


def force_path(t):
    return Force(other_vector_path(2 * t), vector_path(-t))


def matrix_path(t):
    return Matrix3(vector_path(t), other_vector_path(t), vector_path(2 * t))


def inertia_path(t):
    # any ten numbers: the product rule does not ask for a physical body
    return Inertia(1 + t * t, vector_path(t), Symmetric3(*vector_path(-t), *other_vector_path(t)))


# properties of the derivative (Featherstone, slide 'Properties')


def test_the_derivative_of_a_sum_is_the_sum_of_the_derivatives(time):
    for u, v in (
        (vector_path, other_vector_path),
        (motion_path, lambda t: motion_path(2 * t)),
        (force_path, lambda t: force_path(2 * t)),
    ):
        found = time.rate(lambda t, u=u, v=v: u(t) + v(t), time.t)
        assert_close(found, time.rate(u, time.t) + time.rate(v, time.t), 10.0)


def test_the_derivative_of_a_scaled_vector_follows_the_product_rule(time):
    def alpha(t):
        return sin(t) + 2

    for u in (vector_path, motion_path, force_path):
        found = time.rate(lambda t, u=u: u(t) * alpha(t), time.t)
        (alpha_rate,) = time.rate(lambda t: (alpha(t),), time.t)
        assert_close(found, u(time.t) * alpha_rate + time.rate(u, time.t) * alpha(time.t), 10.0)


def test_the_derivative_of_a_matrix_times_a_vector_follows_the_product_rule(time):
    for A, u in ((matrix_path, vector_path), (inertia_path, motion_path)):
        found = time.rate(lambda t, A=A, u=u: A(t) @ u(t), time.t)
        want = time.rate(A, time.t) @ u(time.t) + A(time.t) @ time.rate(u, time.t)
        assert_close(found, want, 10.0)


def test_the_derivative_of_a_scalar_product_follows_the_product_rule(time):
    for u, v in ((vector_path, other_vector_path), (motion_path, force_path)):
        (found,) = time.rate(lambda t, u=u, v=v: (u(t).dot(v(t)),), time.t)
        want = time.rate(u, time.t).dot(v(time.t)) + u(time.t).dot(time.rate(v, time.t))
        assert_close(found, want, 10.0)


# the two derivatives of a coordinate vector


def test_a_vector_in_rotating_coordinates_changes_by_its_ring_plus_omega_cross_it(time):
    t = time.t
    E = pose(t).E
    omega = E @ angular_velocity(time, pose, t)
    r = E @ vector_path(t)
    ring = time.rate(lambda s: pose(s).E @ vector_path(s), t)
    dot = E @ time.rate(vector_path, t)
    assert_close(vector_rate(ring, r, omega), dot, 10.0)
    assert_close(component_rate(dot, r, omega), ring, 10.0)
    assert_differ(dot, ring, by=0.1)


@pytest.mark.parametrize("convert", [vector_rate, component_rate])
def test_a_spatial_vector_needs_the_spatial_velocity_of_its_frame(convert):
    omega, v = Vector3(1.0, 2.0, 3.0), Motion.of([1.0] * 6)
    with pytest.raises(TypeError, match="give the velocity of the frame as a Motion"):
        convert(v, v, omega)
    with pytest.raises(TypeError, match="give the velocity of the frame as a Vector3"):
        convert(omega, omega, v)


def test_the_second_derivative_in_moving_coordinates_is_the_conversion_done_twice(time):
    def dot(path, velocity):
        """Return t -> coordinates of the derivative of the vector with coordinates path(t)."""

        def at(s):
            return vector_rate(time.rate(path, s), path(s), velocity(s))

        return at

    def turning(s):
        return pose(s).E @ angular_velocity(time, pose, s)

    def moving(s):
        return pose(s) @ frame_velocity(time, pose, s)

    t = time.t
    for fixed, move, velocity in (
        (vector_path, lambda s, u: pose(s).E @ u, turning),
        (motion_path, lambda s, u: pose(s) @ u, moving),
        (force_path, lambda s, u: pose(s).star @ u, moving),
    ):

        def path(s, fixed=fixed, move=move):
            return move(s, fixed(s))

        once = dot(path, velocity)
        twice = dot(once, velocity)(t)
        want = move(t, time.rate(lambda s, u=fixed: time.rate(u, s), t))
        assert_close(twice, want, 100.0, eps=64)
        componentwise = time.rate(lambda s, u=path: time.rate(u, s), t)
        assert_differ(twice, componentwise, by=0.1)


def test_the_columns_of_omega_cross_are_the_derivatives_of_the_rotating_basis(time):
    t = time.t
    E = pose(t).E
    omega = E @ angular_velocity(time, pose, t)
    for e, column in zip(IDENTITY3, skew(omega).T, strict=True):
        assert_close(E @ time.rate(lambda s, e=e: pose(s).E.T @ e, t), column, 10.0)


def test_a_motion_in_moving_coordinates_obeys_carius_eq_5(time):
    t = time.t
    X, v = pose(t), pose(t) @ frame_velocity(time, pose, t)
    ring = time.rate(lambda s: pose(s) @ motion_path(s), t)
    dot = X @ time.rate(motion_path, t)
    m = X @ motion_path(t)
    assert_close(vector_rate(ring, m, v), dot, 10.0, eps=16)
    assert_close(component_rate(dot, m, v), ring, 10.0, eps=16)
    assert_differ(dot, ring, by=0.1)


def test_a_force_in_moving_coordinates_obeys_carius_eq_5_with_the_force_cross_product(time):
    t = time.t
    X, v = pose(t), pose(t) @ frame_velocity(time, pose, t)
    ring = time.rate(lambda s: pose(s).star @ force_path(s), t)
    dot = X.star @ time.rate(force_path, t)
    f = X.star @ force_path(t)
    assert_close(vector_rate(ring, f, v), dot, 10.0, eps=16)
    assert_close(component_rate(dot, f, v), ring, 10.0, eps=16)
    assert_differ(dot, ring, by=0.1)


def test_the_columns_of_v_cross_are_the_derivatives_of_the_moving_motion_basis(time):
    t = time.t
    X, v = pose(t), pose(t) @ frame_velocity(time, pose, t)
    for k, column in enumerate(array(v.cross_matrix()).T):
        e = Motion.of([float(i == k) for i in range(6)])
        rate = time.rate(lambda s, e=e: pose(s).inverse() @ e, t)
        assert_close(six(X @ rate), column, 10.0, eps=16)


def test_the_columns_of_v_cross_star_are_the_derivatives_of_the_moving_force_basis(time):
    t = time.t
    X, v = pose(t), pose(t) @ frame_velocity(time, pose, t)
    for k, column in enumerate(array(v.cross_star_matrix()).T):
        e = Force.of([float(i == k) for i in range(6)])
        rate = time.rate(lambda s, e=e: pose(s).T @ e, t)
        assert_close(six(X.star @ rate), column, 10.0, eps=16)


@law
@given(motions, motions, forces, forces, motions)
def test_the_two_derivatives_differ_by_the_cross_product_with_the_frame_velocity(u, du, f, df, v):
    for x, dx, matrix in ((u, du, v.cross_matrix()), (f, df, v.cross_star_matrix())):
        scale = size(dx) + size(v) * size(x)
        assert_close(six(vector_rate(dx, x, v)), six(dx) + array(matrix) @ six(x), scale)
        assert_close(component_rate(vector_rate(dx, x, v), x, v), dx, scale)


@law
@given(motions, motions)
def test_a_frame_sees_its_own_acceleration_in_either_derivative(v, ring):
    # v x v = 0: for the velocity of the frame itself both derivatives agree
    assert_close(vector_rate(ring, v, v), ring, size(ring) + size(v) ** 2)


def test_the_derivative_of_a_transform_is_carius_eq_16(time):
    t = time.t

    def relative(s):  # B_X_A with both frames in motion
        return other_pose(s) @ pose(s).inverse()

    X = relative(t)
    v_A = other_pose(t) @ frame_velocity(time, pose, t)
    v_B = other_pose(t) @ frame_velocity(time, other_pose, t)
    want = time.rate(lambda s: relative(s).matrix(), t)
    assert_close(transform_rate(X, v_A, v_B), want, 10.0, eps=32)


def test_the_derivative_of_a_force_transform_has_the_force_cross_product(time):
    t = time.t
    v = array((-(pose(t) @ frame_velocity(time, pose, t))).cross_star_matrix())
    want = time.rate(lambda s: pose(s).star_matrix(), t)
    assert_close(v @ array(pose(t).star_matrix()), want, 10.0, eps=16)


# velocities from poses


def test_the_velocity_of_a_body_at_the_fixed_origin_is_carius_eq_3(time):
    t = time.t
    v = frame_velocity(time, pose, t)
    point = Vector3.of((0.3, -0.2, 0.7))  # fixed in the body

    def place(s):
        return pose(s).r + pose(s).E.T @ point

    assert_close(velocity_at(v, place(t)), time.rate(place, t), 10.0)


def test_the_velocity_of_a_body_in_its_own_frame_is_carius_eq_4(time):
    t = time.t
    X = pose(t)
    found = X @ frame_velocity(time, pose, t)
    omega, v = angular_velocity(time, pose, t), time.rate(lambda s: pose(s).r, t)
    assert_close(found, Motion(X.E @ omega, X.E @ v), 10.0)


# acceleration


def test_spatial_acceleration_is_classical_acceleration_minus_omega_cross_velocity(time):
    t = time.t

    def velocity(s):
        return time.rate(lambda x: pose(x).r, s)

    omega = angular_velocity(time, pose, t)
    omega_rate = time.rate(lambda s: angular_velocity(time, pose, s), t)
    rd, rdd = velocity(t), time.rate(velocity, t)
    # at a frame at rest whose origin coincides with the body's at this instant
    here = Transform.translation(pose(t).r)
    a = here @ frame_acceleration(time, pose, t)
    v = here @ frame_velocity(time, pose, t)
    assert_close(a, Motion(omega_rate, rdd - omega.cross(rd)), 10.0, eps=32)
    assert_close(classical_acceleration(a, v), Motion(omega_rate, rdd), 10.0, eps=32)
    assert_close(spatial_acceleration(Motion(omega_rate, rdd), v), a, 10.0, eps=32)
    assert_differ(a.lin, rdd, by=0.1)


@law
@given(motions, motions)
def test_classical_and_spatial_acceleration_convert_into_each_other(a, v):
    scale = size(a) + size(v) ** 2
    assert_close(spatial_acceleration(classical_acceleration(a, v), v), a, scale)


def test_spatial_acceleration_is_the_rate_of_the_velocity_streaming_through_the_origin(time):
    # Carius eq. (6): the linear part is the rate at the point fixed in space, not in the body
    t = time.t
    a = frame_acceleration(time, pose, t)
    origin = time.rate(lambda s: velocity_at(frame_velocity(time, pose, s), ZERO_POINT), t)
    assert_close(a.lin, origin, 10.0)


def test_acceleration_transforms_like_velocity(time):
    # a frame at rest elsewhere sees the transformed acceleration, with no further term
    X = Transform.from_rpy((0.3, -0.5, 0.9), (0.4, 0.2, -0.6))
    found = time.rate(lambda s: X @ frame_velocity(time, pose, s), time.t)
    assert_close(found, X @ frame_acceleration(time, pose, time.t), 10.0, eps=16)


def test_a_constant_turn_about_a_fixed_axis_has_no_spatial_acceleration(time):
    axis, speed = Vector3.of((0.6, 0.0, 0.8)), 1.7
    center, arm = Vector3.of((0.3, -0.4, 0.5)), Vector3.of((0.2, 0.9, -0.1))

    def spinning(t):
        E = rotation(axis, cos(speed * t), sin(speed * t))
        return Transform(E, center + E.T @ arm)

    t = time.t
    assert_close(frame_acceleration(time, spinning, t), Motion.zero(), 10.0)
    # and yet each point of the body is accelerated towards the axis
    here = Transform.translation(spinning(t).r)
    v = here @ frame_velocity(time, spinning, t)
    omega, r = axis * speed, spinning(t).r - center
    found = classical_acceleration(Motion.zero(), v)
    assert_close(found.lin, omega.cross(omega.cross(r)), 10.0)
    assert size(found.lin) > 0.1


def test_a_body_on_a_moving_revolute_joint_has_the_acceleration_of_example_2(time):
    axis, place = Vector3.of((0.0, 0.6, 0.8)), Vector3.of((0.4, -0.1, 0.2))
    s_in_B1 = Motion(axis, place.cross(axis))

    def q(t):
        return sin(2 * t) + t * t

    def child(t):
        turn = Transform(rotation(axis, cos(q(t)), sin(q(t))), ZERO_POINT)
        return turn @ Transform.translation(place) @ pose(t)

    t = time.t
    s = pose(t).inverse() @ s_in_B1
    (qd,) = time.rate(lambda x: (q(x),), t)
    (qdd,) = time.rate(lambda x: time.rate(lambda y: (q(y),), x), t)
    v1, a1 = frame_velocity(time, pose, t), frame_acceleration(time, pose, t)
    v2, a2 = frame_velocity(time, child, t), frame_acceleration(time, child, t)
    assert_close(v2, v1 + s * qd, 10.0, eps=16)
    assert_close(a2, a1 + s * qdd + v1.cross(s) * qd, 10.0, eps=64)
    # because s is fixed in B1 and B1 is moving
    s_rate = time.rate(lambda x: pose(x).inverse() @ s_in_B1, t)
    assert_close(s_rate, v1.cross(s), 10.0, eps=16)


def relative_velocity(time, t):
    """Return the velocity of a body that moves by other_pose in the frame that moves by pose."""
    return pose(t).inverse() @ frame_velocity(time, other_pose, t)


def carried(t):
    return other_pose(t) @ pose(t)


def test_velocities_and_accelerations_of_a_chain_add_without_coriolis_terms(time):
    t = time.t
    v1, v2 = frame_velocity(time, pose, t), relative_velocity(time, t)
    a1 = frame_acceleration(time, pose, t)
    a2 = time.rate(lambda s: relative_velocity(time, s), t)
    assert_close(v1 + v2, frame_velocity(time, carried, t), 10.0, eps=16)
    assert_close(a1 + a2, frame_acceleration(time, carried, t), 10.0, eps=128)


def test_relative_velocity_and_acceleration_are_differences_as_in_carius_eq_7(time):
    t = time.t
    v = frame_velocity(time, carried, t) - frame_velocity(time, pose, t)
    a = frame_acceleration(time, carried, t) - frame_acceleration(time, pose, t)
    assert_close(v, relative_velocity(time, t), 10.0, eps=16)
    assert_close(a, time.rate(lambda s: relative_velocity(time, s), t), 10.0, eps=128)


def test_classical_accelerations_do_not_add(time):
    t = time.t
    v1, v2 = frame_velocity(time, pose, t), relative_velocity(time, t)
    a1 = frame_acceleration(time, pose, t)
    a2 = time.rate(lambda s: relative_velocity(time, s), t)
    total = classical_acceleration(a1 + a2, v1 + v2)
    parts = classical_acceleration(a1, v1) + classical_acceleration(a2, v2)
    # what is missing are the mixed terms, w1 x v2 + w2 x v1
    assert_close(total.lin - parts.lin, v1.ang.cross(v2.lin) + v2.ang.cross(v1.lin), 10.0, eps=32)
    assert_differ(total, parts, by=0.1)


def test_rigidly_connected_bodies_have_the_same_velocity_and_acceleration(time):
    fixed = Transform.from_rpy((0.5, -0.4, 0.3), (0.7, 0.1, -0.2))
    t = time.t
    v1, v2 = (frame_velocity(time, p, t) for p in (pose, lambda s: fixed @ pose(s)))
    a1, a2 = (frame_acceleration(time, p, t) for p in (pose, lambda s: fixed @ pose(s)))
    assert_close(v2, v1, 10.0, eps=16)
    assert_close(a2, a1, 10.0, eps=64)


@law
@given(motions, vectors)
def test_the_velocity_field_of_a_motion_is_its_velocity_at_each_point(v, p):
    want = array(v.lin) + array(skew(v.ang)) @ array(p)
    assert_close(velocity_at(v, p), want, size(v) * (1 + size(p)))
