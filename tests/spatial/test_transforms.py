"""Pluecker transforms of motions and forces.

Source: Carius, Primer on Spatial Algebra, 2018 (eqs. 3, 4, 11-15).
"""

import math

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

from sixfold.errors import ModelError, ShapeError
from sixfold.scalar import ZERO
from sixfold.spatial import (
    Force,
    ForceSubspace,
    Inertia,
    Motion,
    Subspace,
    Transform,
    Vector3,
    cos_sin,
    skew,
    unit,
    velocity_at,
)
from tests.spatial.support import (
    array,
    assert_close,
    assert_differ,
    forces,
    law,
    matrix,
    motions,
    numbers,
    six,
    size,
    transforms,
    vectors,
)


def reach(*transforms):
    """Return how much transforms may enlarge a vector."""
    return math.prod(1 + size(X.r) for X in transforms)


# the matrices


@law
@given(transforms)
def test_the_matrix_of_a_transform_is_a_shift_and_then_a_turn_as_in_carius_eq_11(X):
    E, r, o, one = array(X.E), array(skew(X.r)), np.zeros((3, 3)), np.eye(3)
    turn, shift = np.block([[E, o], [o, E]]), np.block([[one, o], [-r, one]])
    assert_close(X.matrix(), turn @ shift, reach(X))
    assert_close(X.matrix(), np.block([[E, o], [-E @ r, E]]), reach(X))


@law
@given(transforms, motions)
def test_a_transform_takes_motions_as_its_matrix_does_carius_eq_12(X, m):
    found = X @ m
    assert isinstance(found, Motion)
    assert_close(six(found), array(X.matrix()) @ six(m), reach(X) * size(m))


@law
@given(transforms)
def test_the_inverse_transform_has_the_blocks_of_carius_eq_13(X):
    E, r, o = array(X.E), array(skew(X.r)), np.zeros((3, 3))
    found = X.inverse().matrix()
    assert_close(found, np.block([[E.T, o], [r @ E.T, E.T]]), reach(X))
    assert_close(found, np.linalg.inv(array(X.matrix())), reach(X) ** 2)


@law
@given(transforms, motions)
def test_a_transform_and_its_inverse_cancel(X, m):
    assert_close(X.inverse() @ (X @ m), m, reach(X) ** 2 * size(m))
    assert_close(X @ (X.inverse() @ m), m, reach(X) ** 2 * size(m))
    assert_close((X @ X.inverse()).matrix(), np.eye(6), reach(X) ** 2)


@law
@given(transforms)
def test_the_force_transform_is_the_inverse_transpose_carius_eq_14(X):
    want = np.linalg.inv(array(X.matrix())).T
    assert_close(X.star_matrix(), want, reach(X) ** 2)
    columns = [six(X.star @ Force.of(row)) for row in np.eye(6).tolist()]
    assert_close(np.array(columns).T, want, reach(X) ** 2)


@law
@given(transforms, forces)
def test_the_force_transform_takes_forces_as_its_matrix_does_carius_eq_15(X, f):
    found = X.star @ f
    assert isinstance(found, Force)
    assert_close(six(found), array(X.star_matrix()) @ six(f), reach(X) * size(f))


@law
@given(transforms, forces)
def test_the_transpose_takes_a_force_back(X, f):
    found = X.T @ f
    assert isinstance(found, Force)
    assert_close(six(found), array(X.matrix()).T @ six(f), reach(X) * size(f))
    assert_close(found, X.inverse().star @ f, reach(X) * size(f))
    assert_close(X.star @ found, f, reach(X) ** 2 * size(f))


@law
@given(transforms, motions, forces)
def test_the_scalar_product_does_not_depend_on_the_coordinates(X, m, f):
    assert_close((X @ m).dot(X.star @ f), m.dot(f), reach(X) ** 2 * size(m) * size(f))


@law
@given(transforms, motions, motions)
def test_the_motion_cross_product_does_not_depend_on_the_coordinates(X, v, m):
    scale = reach(X) ** 2 * size(v) * size(m)
    assert_close(X @ v.cross(m), (X @ v).cross(X @ m), scale)


@law
@given(transforms, motions, forces)
def test_the_force_cross_product_does_not_depend_on_the_coordinates(X, v, f):
    scale = reach(X) ** 2 * size(v) * size(f)
    assert_close(X.star @ v.cross(f), (X @ v).cross(X.star @ f), scale)


# the group


@law
@given(transforms, transforms, motions)
def test_transforms_chain_like_their_matrices(X, Y, m):
    scale = reach(X, Y)
    assert_close((X @ Y).matrix(), array(X.matrix()) @ array(Y.matrix()), scale)
    assert_close((X @ Y) @ m, X @ (Y @ m), scale * size(m))


@law
@given(transforms, transforms, transforms)
def test_chaining_transforms_is_associative(X, Y, Z):
    assert_close((X @ Y) @ Z, X @ (Y @ Z), reach(X, Y, Z))


@law
@given(transforms)
def test_the_identity_transform_changes_nothing(X):
    one = Transform.identity()
    np.testing.assert_array_equal(array(one.matrix()), np.eye(6))
    assert one @ X == X
    assert X @ one == X


@law
@given(transforms, transforms)
def test_the_inverse_of_a_chain_is_the_chain_of_inverses(X, Y):
    assert_close((X @ Y).inverse(), Y.inverse() @ X.inverse(), reach(X, Y))


@law
@given(transforms, transforms, forces)
def test_force_transforms_chain_in_the_same_order_and_transposes_in_reverse(X, Y, f):
    scale = reach(X, Y) * size(f)
    assert_close((X @ Y).star @ f, X.star @ (Y.star @ f), scale)
    assert_close((X @ Y).T @ f, Y.T @ (X.T @ f), scale)
    assert_close((Y.T @ X.T) @ f, Y.T @ (X.T @ f), scale)


@law
@given(transforms, motions, motions, forces, forces)
def test_a_transform_moves_each_column_of_a_subspace(X, u, v, f, g):
    scale = reach(X) * max(size(u), size(v), size(f), size(g))
    S, U = X @ Subspace(u, v), X.T @ ForceSubspace(f, g)
    assert isinstance(S, Subspace) and isinstance(U, ForceSubspace)
    assert_close(matrix(S), array(X.matrix()) @ matrix(Subspace(u, v)), scale)
    assert_close(matrix(U), array(X.matrix()).T @ matrix(ForceSubspace(f, g)), scale)


# construction


@law
@given(numbers, numbers, numbers, vectors)
def test_roll_pitch_yaw_are_turns_about_fixed_axes(roll, pitch, yaw, p):
    X = Transform.from_rpy((roll, pitch, yaw), p)
    R = Rotation.from_euler("xyz", [roll, pitch, yaw]).as_matrix()
    assert_close(X.E, R.T)
    assert X.r == p


@law
@given(transforms, vectors)
def test_a_pose_has_the_axes_of_the_new_frame_as_columns(X, p):
    R = array(X.E).T
    assert Transform.from_pose(R.tolist(), p) == Transform(X.E, p)


@law
@given(vectors.filter(lambda v: size(v) > 0), numbers)
def test_a_turn_is_the_rotation_vector_of_scipy(axis, angle):
    R = Rotation.from_rotvec(array(axis) / size(axis) * angle).as_matrix()
    X = Transform.turn(axis, angle)
    assert_close(X.E, R.T, eps=16)
    assert X.r == (0, 0, 0)


def test_a_translation_leaves_the_axes():
    X = Transform.translation((1.0, 2.0, 3.0))
    np.testing.assert_array_equal(array(X.E), np.eye(3))
    assert X.r == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("quarter", range(-9, 10))
def test_cosine_and_sine_are_exact_at_quarter_turns(quarter):
    c, s = cos_sin(quarter * (math.pi / 2))
    assert (c, s) == [(1, 0), (0, 1), (-1, 0), (0, -1)][quarter % 4]


@law
@given(numbers)
def test_cosine_and_sine_of_a_constant_are_those_of_the_library(angle):
    assert cos_sin(angle) == (math.cos(angle), math.sin(angle))


def test_quarter_turns_have_exact_zeros():
    E = Transform.from_rpy((math.pi / 2, 0.0, -math.pi)).E
    assert sum(x is ZERO for row in E for x in row) == 6
    np.testing.assert_array_equal(np.abs(array(E)).sum(axis=0), [1, 1, 1])


@pytest.mark.parametrize(
    ("name", "want"), [("x", (1, 0, 0)), ("y", (0, 1, 0)), ("z", (0, 0, 1)), ("-z", (0, 0, -1))]
)
def test_an_axis_may_be_given_by_name(name, want):
    assert unit(name, "here") == want


@law
@given(vectors.filter(lambda v: size(v) > 0))
def test_an_axis_has_unit_length_and_keeps_its_direction(axis):
    found = unit(axis, "here")
    assert_close(found.norm(), 1.0)
    assert_close(found * size(axis), axis, size(axis))


@pytest.mark.parametrize("name", ["w", "", "-", "--x", "xy", "X"])
def test_an_unknown_axis_name_is_refused(name):
    with pytest.raises(ModelError, match=r"elbow: axis .* is not known\n  fix"):
        unit(name, "elbow")


@pytest.mark.parametrize("axis", [(0, 0, 0), (math.nan, 0, 1), (math.inf, 0, 0)])
def test_an_axis_without_direction_is_refused(axis):
    with pytest.raises(ModelError, match=r"elbow: axis .* has no direction\n  fix"):
        unit(axis, "elbow")


def test_an_axis_a_translation_and_angles_need_three_numbers():
    with pytest.raises(ShapeError, match="3 numbers"):
        unit((1.0, 0.0), "elbow")
    with pytest.raises(ShapeError, match="3 numbers"):
        Transform.translation((1.0, 2.0))
    with pytest.raises(ShapeError, match="3 numbers"):
        Transform.from_rpy((1.0, 2.0))
    with pytest.raises(ShapeError, match="3 rows of 3"):
        Transform.from_pose([[1.0, 0.0, 0.0]], (0.0, 0.0, 0.0))


# the two spaces stay apart

X = Transform.from_rpy((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
MOTION = Motion.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
FORCE = Force.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def test_a_transform_refuses_a_force():
    with pytest.raises(TypeError, match=r"X.star @ f .* or X.T @ f"):
        X @ FORCE


def test_a_force_transform_refuses_a_motion():
    with pytest.raises(TypeError, match="X\\* moves forces only"):
        X.star @ MOTION


def test_a_transposed_transform_refuses_a_motion():
    with pytest.raises(TypeError, match=r"X\.inverse"):
        X.T @ MOTION


@pytest.mark.parametrize("other", [2.0, Vector3(1.0, 2.0, 3.0), Inertia.zero()])
def test_a_transform_refuses_what_is_not_a_motion(other):
    with pytest.raises(TypeError):
        X @ other


@pytest.mark.parametrize("other", [2.0, Vector3(1.0, 2.0, 3.0), X])
def test_a_transposed_transform_refuses_what_is_not_a_force_or_an_inertia(other):
    with pytest.raises(TypeError):
        X.T @ other


def test_a_moment_and_a_force_do_not_transform_like_a_motion():
    # the matrices of eqs. (11) and (14) differ by more than rounding unless r = 0
    assert_differ(X.matrix(), X.star_matrix(), by=1.0)


def test_every_number_of_a_transform_can_be_converted():
    assert X.map(lambda x: x * 2.0).r == X.r * 2.0
    assert X.map(lambda x: x * 2.0).E == X.E * 2.0


# the velocity of a body


@law
@given(vectors, vectors, transforms)
def test_the_spatial_velocity_at_a_fixed_origin_is_carius_eq_3(omega, v, X):
    r = X.r
    at_I = Motion(omega, v + r.cross(omega))
    # it is the one motion whose field has the body's velocity at the body's point
    assert_close(velocity_at(at_I, r), v, size(v) + 2 * size(r) * size(omega))
    assert_close(velocity_at(at_I, Vector3(0.0, 0.0, 0.0)), at_I.lin, size(at_I.lin))


@law
@given(vectors, vectors, transforms)
def test_the_spatial_velocity_in_the_body_frame_is_carius_eq_4(omega, v, X):
    at_I = Motion(omega, v + X.r.cross(omega))
    want = Motion(X.E @ omega, X.E @ v)
    assert_close(X @ at_I, want, size(v) + 2 * size(X.r) * size(omega))


@law
@given(motions, transforms, vectors)
def test_every_frame_sees_the_same_velocity_of_a_point(v, X, point):
    # the same point has coordinates E (p - r) in the new frame
    found = velocity_at(X @ v, X.E @ (point - X.r))
    scale = size(v) * (1 + size(X.r)) * (1 + size(point))
    assert_close(found, X.E @ velocity_at(v, point), scale)


def test_the_pose_places_points_of_the_frame_where_they_are():
    X = Transform.from_rpy((0.3, -0.8, 1.7), (0.1, 0.2, -0.4))
    T = np.array(X.pose(), float)
    assert T.shape == (4, 4) and T[3].tolist() == [0.0, 0.0, 0.0, 1.0]
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-15)
    np.testing.assert_array_equal(T[:3, 3], [0.1, 0.2, -0.4])
    back = Transform.from_pose(T[:3, :3], T[:3, 3])
    np.testing.assert_array_equal(np.array(back.matrix(), float), np.array(X.matrix(), float))
    Y = Transform.from_rpy((1.0, 0.5, 0.2), (0.3, 0.0, 0.9))
    chained = np.array((Y @ X).pose(), float)
    np.testing.assert_allclose(chained, T @ np.array(Y.pose(), float), atol=1e-15)
