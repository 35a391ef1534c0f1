"""Rigid-body inertia, momentum and energy.

Sources: Featherstone, Summer Screws 2024, part 2; Carius, Primer on Spatial Algebra, 2018 (eqs.
17-21; the text at hand prints eq. 17 without the transpose of its lower left block and eq. 18 with
an inverse in its place); Khatib, Stanford lecture on dynamics (inertia tensor, parallel axes).
"""

import numpy as np
import pytest
from hypothesis import given

from sixfold.errors import ModelError, ShapeError
from sixfold.scalar import ZERO
from sixfold.spatial import (
    ArticulatedInertia,
    Force,
    Inertia,
    Motion,
    Symmetric3,
    Transform,
    Vector3,
    physical_consistency,
    skew,
    velocity_at,
)
from sixfold.spatial.solids import box
from tests.spatial.support import (
    array,
    assert_close,
    assert_differ,
    inertias,
    law,
    motions,
    of_particles,
    own,
    particles,
    positive,
    six,
    size,
    total,
    transforms,
    vectors,
)

# the matrix


@law
@given(positive, vectors, inertias())
def test_the_inertia_matrix_has_the_blocks_of_the_slide_and_of_carius_eq_17_corrected(m, c, other):
    Ic = array(other.about_center.matrix())
    cx = array(skew(c))
    IO = Ic + m * cx @ cx.T
    want = np.block([[IO, m * cx], [m * cx.T, m * np.eye(3)]])
    found = Inertia.from_mass(m, c, Ic.tolist()).matrix()
    assert_close(found, want, size(want))


@law
@given(inertias())
def test_the_lower_left_block_of_carius_eq_17_is_the_transpose_of_the_upper_right(I):
    M = array(I.matrix())
    np.testing.assert_array_equal(M, M.T)
    np.testing.assert_array_equal(M[3:, :3], -M[:3, 3:])


@law
@given(inertias())
def test_the_parallel_axis_term_of_carius_eq_18_holds_a_transpose(I):
    m, c, Ic = own(I)
    cx = array(skew(Vector3(*c)))
    assert_close(I.I.matrix(), Ic + m * cx @ cx.T, size(I.I))
    # an inverse cannot stand there: c x c = 0, so that c x has none
    assert_close(cx @ c, np.zeros(3), size(c) ** 2)


@law
@given(inertias())
def test_a_rigid_body_has_ten_parameters(I):
    parameters = I.parameters()
    assert len(parameters) == 10
    assert Inertia.from_parameters(parameters) == I


@law
@given(inertias())
def test_mass_centre_and_rotational_inertia_can_be_recovered(I):
    m, c, Ic = own(I)
    again = Inertia.from_mass(m, c, Ic.tolist())
    assert_close(again, I, size(I), eps=16)


def test_the_parameters_are_mass_first_moment_and_six_matrix_elements():
    I = Inertia.from_parameters([2, 3, 4, 5, 10, 11, 12, 0.1, 0.2, 0.3])
    want = [
        [10, 0.1, 0.2, 0, -5, 4],
        [0.1, 11, 0.3, 5, 0, -3],
        [0.2, 0.3, 12, -4, 3, 0],
        [0, 5, -4, 2, 0, 0],
        [-5, 0, 3, 0, 2, 0],
        [4, -3, 0, 0, 0, 2],
    ]
    np.testing.assert_array_equal(array(I.matrix()), want)


# momentum


@law
@given(inertias(), motions)
def test_inertia_times_velocity_is_the_matrix_product(I, v):
    found = I @ v
    assert isinstance(found, Force)
    assert_close(six(found), array(I.matrix()) @ six(v), size(I.matrix()) * size(v))


@law
@given(inertias(), motions)
def test_momentum_is_the_intrinsic_part_and_the_moment_of_linear_momentum(I, v):
    m, c, Ic = own(I)
    v_C = array(velocity_at(v, Vector3(*c)))
    h_O = Ic @ array(v.ang) + np.cross(c, m * v_C)
    scale = size(I.matrix()) * size(v) * (1 + size(c))
    assert_close(I @ v, (*h_O, *(m * v_C)), scale, eps=16)
    # a couple I_C omega, and the linear momentum as a line vector through the centre of mass
    couple = Force(I.about_center @ v.ang, Vector3(0.0, 0.0, 0.0))
    through = Force.at_point(velocity_at(v, I.center) * I.m, I.center)
    assert_close(I @ v, couple + through, scale, eps=16)
    # in a frame at the centre the line vector has no moment: what is left is h_C
    at_C = Transform.translation(I.center).star @ (I @ v)
    assert_close(at_C, (*(Ic @ array(v.ang)), *(m * v_C)), scale * (1 + size(c)), eps=16)


@law
@given(particles, motions)
def test_momentum_is_the_sum_over_the_particles_of_a_body(points, v):
    parts = [Force.at_point(velocity_at(v, p) * m, p) for m, p in points]
    I = of_particles(points)
    assert_close(I @ v, total(parts), size(I.matrix()) * size(v) * len(points))


@law
@given(inertias(), motions, transforms)
def test_momentum_transforms_like_a_force(I, v, X):
    # I and v in B coordinates; A sees X^T I X and the velocity moved back
    in_A = (X.T @ I @ X) @ (X.inverse() @ v)
    scale = size(I.matrix()) * size(v) * (1 + size(X.r)) ** 3
    assert_close(X.star @ in_A, I @ v, scale)


@law
@given(inertias(), inertias(), motions)
def test_the_momentum_of_a_set_of_bodies_is_the_sum_of_momenta(I, J, v):
    scale = (size(I.matrix()) + size(J.matrix())) * size(v)
    assert_close((I + J) @ v, (I @ v) + (J @ v), scale)


@law
@given(inertias(), motions, motions)
def test_inertia_is_symmetric(I, u, v):
    scale = size(I.matrix()) * size(u) * size(v)
    assert_close((I @ u).dot(v), u.dot(I @ v), scale)


@law
@given(inertias())
def test_inertia_is_positive_definite(I):
    assert np.linalg.eigvalsh(array(I.matrix())).min() > 0
    assert physical_consistency(I).physical


def test_an_inertia_that_is_not_positive_definite_is_not_physical():
    I = Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (-0.1, 1.0, 1.0))
    assert np.linalg.eigvalsh(array(I.matrix())).min() < 0
    assert not physical_consistency(I).physical


@law
@given(inertias(), motions.filter(lambda v: size(v) > 0))
def test_kinetic_energy_is_positive_in_every_motion(I, v):
    assert I.kinetic_energy(v) > 0
    want = 0.5 * six(v) @ array(I.matrix()) @ six(v)
    assert_close(I.kinetic_energy(v), want, size(I.matrix()) * size(v) ** 2)


@law
@given(particles, motions)
def test_kinetic_energy_is_the_sum_over_the_particles_of_a_body(points, v):
    velocities = [(m, velocity_at(v, p)) for m, p in points]
    want = sum(0.5 * m * u.dot(u) for m, u in velocities)
    I = of_particles(points)
    assert_close(I.kinetic_energy(v), want, size(I.matrix()) * size(v) ** 2 * len(points))


@law
@given(inertias(), motions, transforms)
def test_kinetic_energy_does_not_depend_on_the_coordinates(I, v, X):
    scale = size(I.matrix()) * size(v) ** 2 * (1 + size(X.r)) ** 4
    assert_close((X.T @ I @ X).kinetic_energy(X.inverse() @ v), I.kinetic_energy(v), scale)


# change of coordinates and composition


@law
@given(inertias(), transforms)
def test_the_change_of_coordinates_is_the_congruence_of_carius_eq_20(I, X):
    found = X.T @ I @ X
    assert isinstance(found, Inertia)
    M = array(X.matrix())
    assert_close(found.matrix(), M.T @ array(I.matrix()) @ M, size(I.matrix()) * size(M) ** 2)


@law
@given(inertias(), transforms)
def test_the_change_of_coordinates_is_that_of_the_slide_with_the_force_transform(I, X):
    # I_B = B_X_A* I_A A_X_B, from B_X_A^T back again
    back = X.inverse()
    found = (back.T @ I @ back).matrix()
    want = array(X.star_matrix()) @ array(I.matrix()) @ array(back.matrix())
    assert_close(found, want, size(I.matrix()) * size(X.matrix()) ** 2)


@law
@given(inertias(), transforms)
def test_a_congruence_preserves_symmetry_and_definiteness(I, X):
    M = array((X.T @ I @ X).matrix())
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


def test_a_congruence_preserves_neither_eigenvalues_nor_eigenvectors():
    I, X = box(1.0, 2.0, 3.0, mass=4.0), Transform.translation((1.0, 0.0, 0.0))
    before, after = (array(J.matrix()) for J in (I, X.T @ I @ X))
    assert_differ(np.linalg.eigvalsh(before), np.linalg.eigvalsh(after), by=1.0)
    # an eigenvector u of I is no eigenvector of X^T I X, and neither is X^-1 u
    back = array(X.inverse().matrix())
    own = np.linalg.eigh(before)[1]
    for u in (own, back @ own):
        u = u / np.linalg.norm(u, axis=0)
        Au = after @ u
        off = np.linalg.norm(Au - u * (u * Au).sum(axis=0), axis=0)
        assert off.max() > 1.0


@law
@given(inertias(), transforms, transforms)
def test_changes_of_coordinates_chain(I, X, Y):
    XY = X @ Y
    step = X.T @ I @ X
    scale = size(I.matrix()) * size(X.matrix()) ** 2 * size(Y.matrix()) ** 2
    assert_close(Y.T @ step @ Y, XY.T @ I @ XY, scale)


@law
@given(inertias(), transforms)
def test_the_moved_body_has_the_moved_centre_and_the_turned_inertia(I, X):
    m, c, Ic = own(I)
    E, r = array(X.E), array(X.r)
    found = X.T @ I @ X
    scale = size(I.matrix()) * (1 + size(r)) ** 2
    assert found.m == I.m
    assert_close(found.h, m * (r + E.T @ c), scale)
    assert_close(found.about_center.matrix(), E.T @ Ic @ E, scale, eps=32)


@law
@given(inertias(), inertias())
def test_bodies_joined_rigidly_add_their_inertias_as_in_carius_eq_19(I, J):
    joined = I + J
    assert isinstance(joined, Inertia)
    want = array(I.matrix()) + array(J.matrix())
    assert_close(joined.matrix(), want, size(want))
    assert_close(joined - J, I, size(joined) + size(J))


@law
@given(inertias(), inertias())
def test_joined_bodies_need_no_parallel_axis_terms_but_agree_with_them(I, J):
    (m, c, Ic), (n, d, Jc) = own(I), own(J)
    center = (m * c + n * d) / (m + n)
    moved = [
        A + k * array(skew(Vector3(*p)) @ skew(Vector3(*p)).T)
        for A, k, p in ((Ic, m, c - center), (Jc, n, d - center))
    ]
    scale = size(I) + size(J)
    assert_close((I + J).center, center, 1 + size(center))
    assert_close((I + J).about_center.matrix(), sum(moved), scale, eps=32)


def test_the_inertia_of_nothing_adds_nothing():
    I = box(1.0, 2.0, 3.0, mass=4.0)
    assert Inertia.zero() + I == I
    assert Inertia.zero().center == (0, 0, 0)
    assert Inertia.zero().about_center.matrix() == ((0, 0, 0),) * 3


# what is refused

FORCE = Force.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
BODY = box(1.0, 2.0, 3.0, mass=4.0)


@pytest.mark.parametrize("I", [BODY, ArticulatedInertia.of(BODY)], ids=["rigid", "articulated"])
def test_an_inertia_refuses_a_force(I):
    with pytest.raises(TypeError, match="inertia maps motions to forces"):
        I @ FORCE


@pytest.mark.parametrize("I", [BODY, ArticulatedInertia.of(BODY)], ids=["rigid", "articulated"])
@pytest.mark.parametrize("other", [2.0, Vector3(1.0, 2.0, 3.0), (1.0,) * 6])
def test_an_inertia_refuses_what_is_not_a_motion(I, other):
    with pytest.raises(TypeError):
        I @ other


def test_a_congruence_needs_the_same_transform_on_both_sides():
    X, Y = Transform.translation((1.0, 0.0, 0.0)), Transform.translation((0.0, 1.0, 0.0))
    with pytest.raises(TypeError, match="not a change of coordinates"):
        X.T @ BODY @ Y
    with pytest.raises(TypeError, match="not a change of coordinates"):
        X.T @ BODY @ Motion.zero()


@pytest.mark.parametrize("count", [0, 6, 9, 11])
def test_a_rigid_inertia_needs_ten_parameters(count):
    with pytest.raises(ShapeError, match=f"10 numbers\n  got: {count}\n  fix"):
        Inertia.from_parameters([1.0] * count)


@pytest.mark.parametrize("rotational", [(1.0, 2.0), np.ones((2, 2)), [1.0] * 6])
def test_a_rotational_inertia_needs_three_or_nine_numbers(rotational):
    with pytest.raises(ShapeError, match="3 or 3x3 numbers"):
        Inertia.from_mass(1.0, rotational=rotational)


@pytest.mark.parametrize("width", [2, 4])
def test_a_rotational_inertia_with_rows_of_the_wrong_length_is_refused(width):
    with pytest.raises(ShapeError):
        Inertia.from_mass(1.0, rotational=[[1.0] * width] * 3)


@pytest.mark.parametrize(("i", "j"), [(0, 1), (0, 2), (1, 2)])
def test_a_rotational_inertia_that_is_not_symmetric_is_refused(i, j):
    rows = np.eye(3)
    rows[i, j] = 0.5
    with pytest.raises(ModelError, match=r"not symmetric[\s\S]*fix"):
        Inertia.from_mass(1.0, rotational=rows.tolist())


def test_a_centre_of_mass_needs_three_numbers():
    with pytest.raises(ShapeError):
        Inertia.from_mass(1.0, center=(1.0, 2.0))


def test_zeros_of_an_inertia_are_exact():
    I = Inertia.from_mass(2.0, (0.0, 0.0, 0.5), (1.0, 2.0, 3.0))
    assert all(x is ZERO for x in (I.h.x, I.h.y, I.I.xy, I.I.xz, I.I.yz))


def test_second_moments_are_the_sum_of_m_r_r():
    points = ((1.0, 0.3, -0.2, 0.5), (2.0, -0.1, 0.4, 0.2))
    total = Inertia.zero()
    for m, *r in points:
        total = total + Inertia.from_mass(m, r)
    expected = sum(m * np.outer(r, r) for m, *r in points)
    np.testing.assert_allclose(np.array(total.second_moments.matrix(), float), expected, atol=1e-15)


def test_second_moments_are_kept_as_they_were_given():
    second = Symmetric3(0.1, 0.7, ZERO, 0.2, ZERO, ZERO)
    I = Inertia.from_second_moments(2.0, Vector3(0.1, ZERO, ZERO), second)
    assert I.second_moments is second
    assert Symmetric3(0.7, 0.1, 0.1 + 0.7, -0.2, ZERO, ZERO) == I.I
    assert Inertia(*I).second_moments.zz != 0  # what rounding would make of the zero


def test_second_moments_of_a_thin_rod_lose_no_digit():
    thin = 1e-17
    I = Inertia.from_parameters((1.0, 0.0, 0.0, 0.0, thin, 1.0, 1.0, 0.0, 0.0, 0.0))
    assert I.second_moments[:3] == (1.0, thin / 2, thin / 2)


def test_a_small_moment_about_an_axis_survives_a_long_way_along_it():
    rod = Inertia.from_mass(1.0, (0.0, 0.0, 0.0), (1e-3, 1.0, 1.0))
    for far in (1e5, -1e8):
        X = Transform.translation((far, 0.0, 0.0))
        assert (X.T @ rod @ X).I.xx == 1e-3
        aside = Transform.translation((far, 0.5, 0.0))
        assert (aside.T @ rod @ aside).I.xx == 0.251
        both = rod.with_second_moments()
        assert (X.T @ both @ X).second_moments.yy == 5e-4
        assert (X.T @ both @ X).second_moments.xx == (X.T @ rod @ X).second_moments.xx


def test_second_moments_add_up_beside_moments_of_inertia():
    rods = [Inertia.from_mass(1.0, (0.0, 0.0, 0.0), (x, 1e9, 1e9)) for x in (1e-9, 3e-9)]
    total = rods[0].with_second_moments() + rods[1].with_second_moments()
    assert total.second_moments.yy == 2e-9
    assert total.map(lambda x: x * 2).second_moments.yy == 4e-9
    assert isinstance(total + ArticulatedInertia.zero(), ArticulatedInertia)


def test_the_array_of_an_inertia_holds_its_ten_parameters():
    I = Inertia.from_mass(2.0, (0.1, 0.0, -0.3), (0.02, 0.03, 0.04))
    assert I.array().dtype == np.float64 and I.array().shape == (10,)
    assert I.array().tolist() == [float(x) for x in I.parameters()]
    assert Inertia.from_parameters(I.array()) == I
