"""Cross products, scalar products and the two spaces M6 and F6.

Sources: Featherstone, Summer Screws 2024 (slides on cross product matrices);
Carius, Primer on Spatial Algebra, 2018 (eqs. 1, 2, 8, 9, 10).
"""

import numpy as np
import pytest
from hypothesis import given

from sixfold.errors import ShapeError
from sixfold.scalar import ZERO
from sixfold.spatial import (
    IDENTITY3,
    Force,
    Matrix3,
    Motion,
    Symmetric3,
    Vector3,
    outer,
    rotation,
    skew,
    steiner,
)
from tests.spatial.support import (
    array,
    assert_close,
    forces,
    inertias,
    law,
    motions,
    numbers,
    six,
    size,
    vectors,
)

# ordinary space


def test_the_cross_product_matrix_holds_its_vector_as_carius_eq_1_prints_it():
    found = array(skew(Vector3(1.0, 2.0, 3.0)))
    np.testing.assert_array_equal(found, [[0, -3, 2], [3, 0, -1], [-2, 1, 0]])


def test_the_cross_product_has_the_components_that_the_slide_prints():
    ax, ay, az, bx, by, bz = 1.5, -2.0, 3.0, 0.5, 4.0, -1.0
    found = Vector3(ax, ay, az).cross(Vector3(bx, by, bz))
    assert found == (ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


@law
@given(vectors, vectors)
def test_the_cross_product_matrix_times_a_vector_is_the_cross_product(a, b):
    assert_close(skew(a) @ b, a.cross(b), size(a) * size(b))
    assert_close(a.cross(b), np.cross(a, b), size(a) * size(b))


@law
@given(vectors)
def test_the_cross_product_matrix_is_skew_symmetric(a):
    np.testing.assert_array_equal(array(skew(a).T), array(-skew(a)))


@law
@given(vectors, vectors)
def test_the_cross_product_anticommutes_so_that_a_cross_a_vanishes(a, b):
    assert a.cross(b) == -(b.cross(a))
    assert a.cross(a) == (0, 0, 0)


@law
@given(numbers, vectors, numbers, vectors)
def test_the_cross_product_matrix_is_linear_in_its_vector(alpha, a, beta, b):
    found = skew(a * alpha + b * beta)
    assert_close(
        found, skew(a) * alpha + skew(b) * beta, abs(alpha) * size(a) + abs(beta) * size(b)
    )


@law
@given(vectors, vectors)
def test_the_matrix_of_a_cross_product_is_the_commutator_of_the_matrices(a, b):
    found = skew(a.cross(b))
    assert_close(found, skew(a) @ skew(b) - skew(b) @ skew(a), size(a) * size(b))


@law
@given(vectors, vectors)
def test_the_matrix_of_a_cross_product_is_the_difference_of_outer_products(a, b):
    assert_close(skew(a.cross(b)), outer(b, a) - outer(a, b), size(a) * size(b))


@law
@given(vectors, vectors)
def test_the_product_of_two_cross_product_matrices_is_outer_product_minus_scalar_product(a, b):
    found = skew(a) @ skew(b)
    assert_close(found, outer(b, a) - IDENTITY3 * a.dot(b), size(a) * size(b))


@law
@given(vectors, vectors, vectors)
def test_the_cross_product_in_space_obeys_the_jacobi_identity(a, b, c):
    total = a.cross(b.cross(c)) + b.cross(c.cross(a)) + c.cross(a.cross(b))
    assert_close(total, (0, 0, 0), size(a) * size(b) * size(c), eps=16)


@law
@given(vectors, vectors)
def test_length_scalar_product_and_outer_product_are_those_of_numpy(a, b):
    assert_close(a.dot(b), np.dot(a, b), size(a) * size(b))
    assert_close(a.norm(), np.linalg.norm(a), size(a))
    assert_close(outer(a, b), np.outer(a, b), size(a) * size(b))


@law
@given(vectors, vectors, vectors, vectors, numbers)
def test_matrices_of_space_compute_as_numpy_does(a, b, c, d, scale):
    M, N = Matrix3(a, b, c), Matrix3(d, a, b)
    A, B = array(M), array(N)
    assert_close(M @ N, A @ B, size(A) * size(B))
    assert_close(M @ d, A @ array(d), size(A) * size(d))
    assert_close(M + N, A + B, size(A) + size(B))
    assert_close(M - N, A - B, size(A) + size(B))
    assert_close(M * scale, A * scale, size(A) * abs(scale))
    np.testing.assert_array_equal(array(-M), -A)
    np.testing.assert_array_equal(array(M.T), A.T)


@law
@given(inertias(), inertias(), vectors, vectors, vectors, numbers)
def test_symmetric_matrices_compute_as_their_nine_elements(A, B, p, q, r, scale):
    S, R, E = A.I, B.I, Matrix3(p, q, r)
    M, N, F = array(S.matrix()), array(R.matrix()), array(E)
    np.testing.assert_array_equal(M, M.T)
    assert_close(S @ p, M @ array(p), size(M) * size(p))
    assert_close((S + R).matrix(), M + N, size(M) + size(N))
    assert_close((S - R).matrix(), M - N, size(M) + size(N))
    assert_close((S * scale).matrix(), M * scale, size(M) * abs(scale))
    assert_close(S.congruence(E).matrix(), F.T @ M @ F, size(M) * size(F) ** 2)
    assert Symmetric3.of(S.matrix()) == S


@law
@given(vectors, numbers)
def test_vectors_scale_and_divide_component_by_component(a, scale):
    assert a * scale == scale * a == tuple(x * scale for x in a)
    assert (a / 4.0) == tuple(x / 4.0 for x in a)
    assert a - a == (0, 0, 0)


@law
@given(numbers)
def test_a_rotation_matrix_is_orthogonal_and_leaves_its_axis(angle):
    axis = Vector3(2 / 3, -1 / 3, 2 / 3)
    E = rotation(axis, np.cos(angle), np.sin(angle))
    assert_close(E @ E.T, np.eye(3))
    assert_close(np.linalg.det(array(E)), 1.0)
    assert_close(E @ axis, axis)


@law
@given(vectors, numbers)
def test_the_parallel_axis_term_is_the_square_of_the_cross_product_matrix(c, m):
    found = steiner(m, c).matrix()
    assert_close(found, array(skew(c) @ skew(c).T) * m, abs(m) * size(c) ** 2)


def test_zeros_of_a_vector_are_exact_and_products_with_them_vanish():
    x_axis = Vector3.of((1.0, 0.0, 0))
    assert x_axis.y is ZERO and x_axis.z is ZERO
    assert x_axis.cross(Vector3(2.0, 3.0, 4.0)).x is ZERO
    assert Matrix3.of(np.eye(3).tolist()).a.y is ZERO


@pytest.mark.parametrize("values", [(), (1.0,), (1.0, 2.0), (1.0, 2.0, 3.0, 4.0)])
def test_a_vector_of_space_needs_three_numbers(values):
    with pytest.raises(ShapeError, match=rf"3 numbers[\s\S]*got: {len(values)}[\s\S]*fix"):
        Vector3.of(values)


@pytest.mark.parametrize("rows", [[[1.0, 2.0, 3.0]] * 2, [[1.0, 2.0]] * 3, [[1.0] * 3] * 4])
def test_a_matrix_of_space_needs_three_rows_of_three(rows):
    with pytest.raises(ShapeError):
        Matrix3.of(rows)
    with pytest.raises(ShapeError):
        Symmetric3.of(rows)


@pytest.mark.parametrize("other", [2.0, "x", [1.0, 2.0, 3.0]])
def test_matrices_of_space_multiply_vectors_and_matrices_only(other):
    with pytest.raises(TypeError):
        IDENTITY3 @ other
    with pytest.raises(TypeError):
        steiner(1.0, Vector3(1.0, 2.0, 3.0)) @ other


# spatial vectors


def test_a_motion_holds_the_angular_part_first_as_carius_eq_2_prints_it():
    v = Motion.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert v.ang == (1.0, 2.0, 3.0)
    assert v.lin == (4.0, 5.0, 6.0)


def test_a_force_holds_the_moment_first_as_carius_eq_8_prints_it():
    f = Force.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert f.ang == (1.0, 2.0, 3.0)
    assert f.lin == (4.0, 5.0, 6.0)
    # 6 N along z at (1, 2, 0) turn by (12, -6, 0) N m about the origin
    push = Force.at_point(Vector3(0.0, 0.0, 6.0), Vector3(1.0, 2.0, 0.0))
    assert six(push).tolist() == [12.0, -6.0, 0.0, 0.0, 0.0, 6.0]


@law
@given(motions, motions)
def test_motion_cross_motion_has_the_components_of_carius_eq_9(v, m):
    (w, v0), (a, b) = v, m
    found = v.cross(m)
    assert isinstance(found, Motion)
    want = (*np.cross(w, a), *(np.cross(w, b) + np.cross(v0, a)))
    assert_close(six(found), want, size(v) * size(m))


@law
@given(motions, forces)
def test_motion_cross_force_has_the_components_of_carius_eq_10(v, f):
    (w, v0), (tau, lin) = v, f
    found = v.cross(f)
    assert isinstance(found, Force)
    want = (*(np.cross(w, tau) + np.cross(v0, lin)), *np.cross(w, lin))
    assert_close(six(found), want, size(v) * size(f))


def test_the_spatial_cross_product_matrices_have_the_blocks_of_the_slide():
    v = Motion(Vector3(1.0, 2.0, 3.0), Vector3(4.0, 5.0, 6.0))
    w, v0, o = array(skew(v.ang)), array(skew(v.lin)), np.zeros((3, 3))
    np.testing.assert_array_equal(array(v.cross_matrix()), np.block([[w, o], [v0, w]]))
    np.testing.assert_array_equal(array(v.cross_star_matrix()), np.block([[w, v0], [o, w]]))


@law
@given(motions, motions, forces)
def test_the_spatial_cross_product_matrices_equal_the_operators(v, m, f):
    assert_close(array(v.cross_matrix()) @ six(m), six(v.cross(m)), size(v) * size(m))
    assert_close(array(v.cross_star_matrix()) @ six(f), six(v.cross(f)), size(v) * size(f))


@law
@given(motions)
def test_the_transposed_motion_cross_product_is_minus_the_force_cross_product(v):
    np.testing.assert_array_equal(array(v.cross_matrix()).T, -array(v.cross_star_matrix()))


@law
@given(motions, motions, forces)
def test_the_two_spatial_cross_products_are_dual_to_each_other(v, m, f):
    found = v.cross(m).dot(f) + m.dot(v.cross(f))
    assert_close(found, 0.0, size(v) * size(m) * size(f))


@law
@given(motions, motions)
def test_the_spatial_cross_product_anticommutes(u, v):
    assert_close(u.cross(v), -v.cross(u), size(u) * size(v))


@law
@given(motions)
def test_a_motion_crossed_with_itself_vanishes(v):
    assert_close(v.cross(v), Motion.zero(), size(v) ** 2)


@law
@given(numbers, motions, numbers, motions)
def test_the_motion_cross_product_matrix_is_linear(alpha, u, beta, v):
    found = (u * alpha + v * beta).cross_matrix()
    want = alpha * array(u.cross_matrix()) + beta * array(v.cross_matrix())
    assert_close(found, want, abs(alpha) * size(u) + abs(beta) * size(v))


@law
@given(numbers, motions, numbers, motions)
def test_the_force_cross_product_matrix_is_linear(alpha, u, beta, v):
    found = (u * alpha + v * beta).cross_star_matrix()
    want = alpha * array(u.cross_star_matrix()) + beta * array(v.cross_star_matrix())
    assert_close(found, want, abs(alpha) * size(u) + abs(beta) * size(v))


@law
@given(motions, motions)
def test_the_motion_matrix_of_a_cross_product_is_the_commutator(u, v):
    U, V = array(u.cross_matrix()), array(v.cross_matrix())
    assert_close(u.cross(v).cross_matrix(), U @ V - V @ U, size(u) * size(v))


@law
@given(motions, motions)
def test_the_force_matrix_of_a_cross_product_is_the_commutator(u, v):
    U, V = array(u.cross_star_matrix()), array(v.cross_star_matrix())
    assert_close(u.cross(v).cross_star_matrix(), U @ V - V @ U, size(u) * size(v))


@law
@given(motions, motions, motions)
def test_the_spatial_cross_product_obeys_the_jacobi_identity(u, v, w):
    total = u.cross(v.cross(w)) + v.cross(w.cross(u)) + w.cross(u.cross(v))
    assert_close(total, Motion.zero(), size(u) * size(v) * size(w), eps=16)


@law
@given(motions, motions, forces, forces, numbers)
def test_spatial_vectors_form_vector_spaces(u, v, f, g, alpha):
    for a, b in ((u, v), (f, g)):
        np.testing.assert_array_equal(six(a + b), six(a) + six(b))
        np.testing.assert_array_equal(six(a - b), six(a) - six(b))
        np.testing.assert_array_equal(six(a * alpha), six(a) * alpha)
        np.testing.assert_array_equal(six(alpha * a), six(a) * alpha)
        np.testing.assert_array_equal(six(-a), -six(a))
        assert a + type(a).zero() == a
        assert type(a + b) is type(a - b) is type(a * alpha) is type(-a) is type(a)


@law
@given(motions, forces)
def test_the_scalar_product_of_motion_and_force_is_the_power_from_either_side(v, f):
    assert_close(v.dot(f), six(v) @ six(f), size(v) * size(f))
    assert v.dot(f) == f.dot(v)


@law
@given(vectors, vectors, motions)
def test_the_power_of_a_force_at_a_point_is_force_times_velocity_of_that_point(force, point, v):
    point_velocity = v.lin + v.ang.cross(point)
    found = Force.at_point(force, point).dot(v)
    assert_close(found, force.dot(point_velocity), size(force) * size(v) * (1 + size(point)))


MOTION = Motion.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
FORCE = Force.of([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])


@pytest.mark.parametrize(("a", "b"), [(MOTION, FORCE), (FORCE, MOTION), (MOTION, (1, 2))])
def test_motions_and_forces_cannot_be_added_or_subtracted(a, b):
    with pytest.raises(TypeError, match="different spaces"):
        a + b
    with pytest.raises(TypeError, match="different spaces"):
        a - b


@pytest.mark.parametrize("a", [MOTION, FORCE], ids=["M6", "F6"])
def test_neither_space_has_an_inner_product_of_its_own(a):
    with pytest.raises(TypeError, match="joins a Motion and a Force"):
        a.dot(a)


@pytest.mark.parametrize("a", [MOTION, FORCE])
@pytest.mark.parametrize("b", [MOTION, FORCE])
def test_spatial_vectors_have_no_plain_product(a, b):
    with pytest.raises(TypeError, match=r"use \.dot"):
        a * b


@pytest.mark.parametrize("other", [2.0, (1.0, 2.0), Vector3(1.0, 2.0, 3.0)])
def test_the_spatial_cross_product_takes_motions_and_forces_only(other):
    with pytest.raises(TypeError, match="pass a Motion or Force"):
        MOTION.cross(other)


def test_a_force_has_no_cross_product_from_the_left():
    assert not hasattr(FORCE, "cross")


@pytest.mark.parametrize("kind", [Motion, Force])
@pytest.mark.parametrize("count", [0, 5, 7])
def test_a_spatial_vector_needs_six_numbers(kind, count):
    with pytest.raises(ShapeError, match=f"6 numbers\n  got: {count}\n  fix"):
        kind.of([1.0] * count)


@pytest.mark.parametrize("kind", [Motion, Force])
def test_every_number_of_a_spatial_vector_can_be_converted(kind):
    found = kind.of([1, 2, 3, 4, 5, 6]).map(lambda x: x * 10)
    assert type(found) is kind
    assert [*found.ang, *found.lin] == [10, 20, 30, 40, 50, 60]
