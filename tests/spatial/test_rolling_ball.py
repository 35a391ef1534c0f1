"""A cylinder or ball that rolls on a plane, in symbols.

Sources: Carius, Primer on Spatial Algebra, 2018 (eqs. 39-51; in the text at hand eqs. 45, 46 and
49 have lost an entry and eq. 47 prints the forward velocity along x); Featherstone, Summer Screws
2024 (acceleration example 3).
"""

import pytest
import sympy
from sympy import Matrix, cos, diff, simplify, sin

from sixfold.scalar import ZERO
from sixfold.spatial import (
    Motion,
    Transform,
    Vector3,
    classical_acceleration,
    component_rate,
    vector_rate,
    velocity_at,
)

v, r = sympy.symbols("v r", positive=True)
t = sympy.Symbol("t", real=True)
omega = v / r
theta = omega * t

# eqs. (39)-(43): P rolls with the contact point, Q with the centre, B with the ball itself
r_IP = (ZERO, v * t, ZERO)
r_PQ = (ZERO, ZERO, r)
R_QB = ((1, 0, 0), (0, cos(theta), sin(theta)), (0, -sin(theta), cos(theta)))

P_X_I = Transform.translation(r_IP)
Q_X_P = Transform.translation(r_PQ)
B_X_Q = Transform.from_pose(R_QB, (ZERO, ZERO, ZERO))
B_X_I = B_X_Q @ Q_X_P @ P_X_I


def motion(*values):
    return Motion.of([sympy.sympify(x) for x in values])


def assert_same(got, want):
    pairs = zip(map(sympy.sympify, flat(got)), map(sympy.sympify, flat(want)), strict=True)
    assert [simplify(a - b) for a, b in pairs] == [0] * len(flat(want))


def flat(vector):
    return [*vector.ang, *vector.lin] if isinstance(vector, Motion) else list(vector)


def rate(vector):
    return vector.map(lambda x: diff(sympy.sympify(x), t))


@pytest.fixture
def ball_in_I():
    """The velocity of the ball from its pose alone: dR/dt R^T = omega x, and eq. (3)."""
    R = Matrix(B_X_I.E.map(sympy.sympify)).T
    W = (diff(R, t) * R.T).applyfunc(simplify)
    w = Vector3(W[2, 1], W[0, 2], W[1, 0])
    place = B_X_I.r.map(lambda x: simplify(sympy.sympify(x)))
    return Motion(w, rate(place) + place.cross(w))


def test_the_transform_to_the_contact_frame_is_carius_eq_44():
    P_X_I = Transform.translation(r_IP)
    want = sympy.eye(6)
    want[3:, :3] = -Matrix([[0, 0, v * t], [0, 0, 0], [-v * t, 0, 0]])
    assert_same([x for row in P_X_I.matrix() for x in row], list(want))


def test_the_ball_turns_about_the_contact_line_carius_eq_45(ball_in_I):
    assert_same(P_X_I @ ball_in_I, motion(-v / r, 0, 0, 0, 0, 0))


def test_the_fixed_frame_sees_an_upward_velocity_at_its_origin_carius_eq_46(ball_in_I):
    assert_same(ball_in_I, motion(-v / r, 0, 0, 0, 0, v**2 * t / r))


def test_the_velocity_in_the_fixed_frame_is_the_transformed_one_carius_eq_46():
    in_P = motion(-v / r, 0, 0, 0, 0, 0)
    assert_same(P_X_I.inverse() @ in_P, motion(-v / r, 0, 0, 0, 0, v / r * v * t))


def test_the_centre_moves_forward_along_y_carius_eq_47_corrected(ball_in_I):
    assert_same(Q_X_P @ P_X_I @ ball_in_I, motion(-v / r, 0, 0, 0, v, 0))


def test_the_body_frame_sees_the_forward_velocity_turned_carius_eq_48(ball_in_I):
    found = B_X_I @ ball_in_I
    assert_same(found, motion(-v / r, 0, 0, 0, v * cos(theta), v * sin(theta)))
    assert_same(found.lin, B_X_Q.E @ Vector3(ZERO, v, ZERO))


def test_the_acceleration_in_the_fixed_frame_is_upward_carius_eq_49(ball_in_I):
    assert_same(rate(ball_in_I), motion(0, 0, 0, 0, 0, v**2 / r))


def test_the_acceleration_in_the_contact_frame_is_carius_eq_50(ball_in_I):
    in_P = (P_X_I @ ball_in_I).map(lambda x: simplify(sympy.sympify(x)))
    frame_velocity = motion(0, 0, 0, 0, v, 0)
    found = vector_rate(rate(in_P), in_P, frame_velocity)
    assert_same(rate(in_P), motion(0, 0, 0, 0, 0, 0))
    assert_same(found, motion(0, 0, 0, 0, 0, v**2 / r))
    assert_same(component_rate(found, in_P, frame_velocity), rate(in_P))


def test_both_ways_to_the_acceleration_agree_carius_eq_51(ball_in_I):
    in_P = motion(0, 0, 0, 0, 0, v**2 / r)
    assert_same(P_X_I.inverse() @ in_P, rate(ball_in_I))


def test_the_body_frame_finds_the_same_acceleration(ball_in_I):
    # the frame moves with the ball, so that both derivatives of its velocity agree
    assert_same(rate(B_X_I @ ball_in_I), B_X_I @ rate(ball_in_I))


def test_a_rolling_cylinder_accelerates_purely_linearly_by_omega_squared_r(ball_in_I):
    assert_same(rate(ball_in_I), motion(0, 0, 0, 0, 0, omega**2 * r))


def test_the_velocity_field_of_a_rolling_cylinder_changes_by_the_same_arrow_everywhere(ball_in_I):
    x, y, z = sympy.symbols("x y z")
    field = velocity_at(ball_in_I, Vector3(x, y, z))
    assert_same(rate(field), Vector3(0, 0, omega**2 * r))


def test_the_contact_point_is_at_rest_and_the_top_moves_at_twice_the_speed(ball_in_I):
    assert_same(velocity_at(ball_in_I, Vector3(ZERO, v * t, ZERO)), (0, 0, 0))
    assert_same(velocity_at(ball_in_I, Vector3(ZERO, v * t, r)), (0, v, 0))
    assert_same(velocity_at(ball_in_I, Vector3(ZERO, v * t, 2 * r)), (0, 2 * v, 0))


def test_the_centre_of_a_rolling_cylinder_has_no_classical_acceleration(ball_in_I):
    X = Q_X_P @ P_X_I
    found = classical_acceleration(X @ rate(ball_in_I), X @ ball_in_I)
    assert_same(found, motion(0, 0, 0, 0, 0, 0))


def test_the_contact_point_is_accelerated_upward_towards_the_centre(ball_in_I):
    found = classical_acceleration(P_X_I @ rate(ball_in_I), P_X_I @ ball_in_I)
    assert_same(found, motion(0, 0, 0, 0, 0, omega**2 * r))
