"""The inertia tensor as a sum over particles, the parallel-axis theorem, physical consistency.

Source: Khatib, Stanford lecture on dynamics (inertia tensor, parallel axes, the cube).
"""

import math

import numpy as np
import pytest
from hypothesis import given

from sixfold.scalar import ZERO
from sixfold.spatial import (
    Inertia,
    Matrix3,
    Motion,
    Symmetric3,
    Transform,
    Vector3,
    outer,
    physical_consistency,
    products,
    skew,
)
from sixfold.spatial.solids import box
from tests.spatial.support import (
    array,
    assert_close,
    inertias,
    law,
    numbers,
    of_particles,
    own,
    particles,
    size,
    vectors,
)

# Khatib: the inertia tensor as a sum over particles


@law
@given(vectors)
def test_minus_the_square_of_the_cross_product_matrix_is_khatibs_integrand(p):
    found = -(skew(p) @ skew(p))
    x, y, z = p
    want = [
        [y * y + z * z, -x * y, -x * z],
        [-x * y, z * z + x * x, -y * z],
        [-x * z, -y * z, x * x + y * y],
    ]
    assert_close(found, want, size(p) ** 2)
    one = Matrix3.of(np.eye(3).tolist())
    assert_close(found, one * p.dot(p) - outer(p, p), size(p) ** 2)


@law
@given(particles)
def test_the_inertia_tensor_is_the_sum_of_mass_times_minus_p_cross_p_cross(points):
    want = sum(m * array(-(skew(p) @ skew(p))) for m, p in points)
    assert_close(of_particles(points).I.matrix(), want, size(want) * len(points))


@law
@given(particles, vectors)
def test_angular_momentum_is_the_sum_of_p_cross_m_omega_cross_p(points, omega):
    want = sum(np.cross(p, m * np.cross(omega, p)) for m, p in points)
    momentum = of_particles(points) @ Motion(omega, Vector3(0.0, 0.0, 0.0))
    scale = size(of_particles(points).I) * size(omega) * len(points)
    assert_close(momentum.ang, want, scale)
    assert_close(of_particles(points).I @ omega, want, scale)


@law
@given(particles)
def test_moments_and_products_of_inertia_are_khatibs_sums(points):
    m = np.array([m for m, _ in points])
    x, y, z = np.array([p for _, p in points]).T
    moments = [m @ (y**2 + z**2), m @ (z**2 + x**2), m @ (x**2 + y**2)]
    elements = products(m @ (x * y), m @ (x * z), m @ (y * z))
    found = of_particles(points).I
    assert_close(found, (*moments, *elements), size(found) * len(points))
    # the matrix holds the products with a minus
    h = (m @ x, m @ y, m @ z)
    I = Inertia.from_parameters((m.sum(), *h, *moments, *elements)).I.matrix()
    xy, xz, yz = m @ (x * y), m @ (x * z), m @ (y * z)
    printed = [[moments[0], -xy, -xz], [-xy, moments[1], -yz], [-xz, -yz, moments[2]]]
    assert_close(I, printed, size(found) * len(points))


@law
@given(numbers, numbers, numbers)
def test_a_product_of_inertia_is_the_negative_of_the_matrix_element(a, b, c):
    assert products(a, b, c) == (-a, -b, -c)
    assert products(*products(a, b, c)) == (a, b, c)


@law
@given(inertias(), vectors)
def test_the_parallel_axis_theorem_moves_the_inertia_outward_to_any_point(I, A):
    m, c, Ic = own(I)
    p = c - array(A)
    want = Ic + m * (p @ p * np.eye(3) - np.outer(p, p))
    assert_close(I.about(A).matrix(), want, size(I.I) + m * size(A) ** 2, eps=16)
    assert_close(I.about((0.0, 0.0, 0.0)).matrix(), I.I.matrix(), size(I.I))


@law
@given(inertias(), vectors)
def test_the_parallel_axis_theorem_moves_the_inertia_inward_to_the_centre(I, A):
    m, c, _ = own(I)
    p = c - array(A)
    back = array(I.about(A).matrix()) - m * (p @ p * np.eye(3) - np.outer(p, p))
    scale = size(I.I) + m * size(A) ** 2
    assert_close(back, I.about_center.matrix(), scale, eps=32)


@law
@given(inertias(), vectors)
def test_the_single_elements_of_the_parallel_axis_theorem_are_khatibs(I, A):
    m, c, Ic = own(I)
    x, y, _ = c - array(A)
    found = I.about(A)
    scale = size(I.I) + m * size(A) ** 2
    assert_close(found.zz, Ic[2, 2] + m * (x * x + y * y), scale, eps=16)
    # I_xy of the lecture is a product of inertia, the negative of the matrix element
    I_Axy, _, _ = products(found.xy, found.xz, found.yz)
    I_Cxy, _, _ = products(Ic[0, 1], Ic[0, 2], Ic[1, 2])
    assert_close(I_Axy, I_Cxy + m * x * y, scale, eps=16)


@pytest.mark.parametrize(("m", "a"), [(1.0, 1.0), (2.4, 0.3)])
def test_a_cube_has_khatibs_moments_about_its_centre_and_its_corner(m, a):
    cube = box(a, a, a, mass=m)
    assert_close(cube.about_center, [m * a * a / 6] * 3 + [0] * 3, m * a * a)
    corner = cube.about((-a / 2, -a / 2, -a / 2))
    assert_close(corner[:3], [2 * m * a * a / 3] * 3, m * a * a)
    assert_close(products(*corner[3:]), [m * a * a / 4] * 3, m * a * a)
    assert_close(corner[3:], [-m * a * a / 4] * 3, m * a * a)


def test_a_cube_moved_to_its_corner_has_the_same_inertia_in_both_ways():
    m, a = 3.0, 0.5
    X = Transform.translation((a / 2, a / 2, a / 2))
    moved = X.T @ box(a, a, a, mass=m) @ X
    assert_close(moved.I, [2 / 3 * m * a * a] * 3 + [-m * a * a / 4] * 3, m * a * a)


# physical consistency


@law
@given(inertias())
def test_a_body_made_of_positive_mass_is_physical(I):
    found = physical_consistency(I)
    assert found.physical
    assert_close(
        found.principal_moments, np.linalg.eigvalsh(array(I.about_center.matrix())), size(I.I)
    )


def test_a_flat_body_is_physical_at_the_limit_of_the_triangle_inequality():
    assert physical_consistency(Inertia.from_mass(1.0, (0.3, 0, 0), (1.0, 2.0, 3.0))).physical
    assert physical_consistency(Inertia.from_mass(1.0)).physical


def test_a_moment_larger_than_the_sum_of_the_others_is_not_physical():
    found = physical_consistency(Inertia.from_mass(1.0, (0.1, 0.2, 0.3), (1.0, 1.0, 2.5)))
    assert not found.physical
    assert math.isclose(found.triangle_excess, 0.5 / 2.5, rel_tol=1e-12)
    assert found.not_positive == 0.0 and not found.negative_mass


def test_a_negative_moment_is_not_physical():
    found = physical_consistency(Inertia.from_mass(1.0, rotational=(-0.5, 1.0, 2.0)))
    assert not found.physical
    assert found.not_positive == 0.25


def test_an_inertia_below_the_parallel_axis_term_is_not_physical():
    # about the origin all moments are positive, about the centre of mass two are not
    found = physical_consistency(
        Inertia(1.0, Vector3(1.0, ZERO, ZERO), Symmetric3(*[0.5] * 3, *[0] * 3))
    )
    assert found.principal_moments == (-0.5, -0.5, 0.5)
    assert found.not_positive == 1.0


def test_a_negative_mass_is_not_physical():
    found = physical_consistency(Inertia.from_mass(-1.0, rotational=(1.0, 1.0, 1.0)))
    assert found.negative_mass and not found.physical


def test_rounding_up_to_the_tolerance_is_forgiven_and_more_is_not():
    excess = Inertia.from_mass(1.0, rotational=(1.0, 1.0, 2.0 + 2e-6))
    assert not physical_consistency(excess).physical
    assert physical_consistency(excess, tolerance=1e-5).physical
