"""Standard solids against integrals over their volume.

Source: Khatib, Stanford lecture on dynamics (I = integral of -p^ p^ rho dv, moments and products).
Each solid is a set of quadrature points whose formulas are exact for its second moments.
"""

import math

import numpy as np
import pytest

from sixfold.errors import ModelError
from sixfold.scalar import ZERO, Dual
from sixfold.spatial import Inertia, Transform
from sixfold.spatial.solids import box, capsule, cylinder, ellipsoid, point_mass, rod, shell, sphere
from tests.spatial.support import array, assert_close, size

RHO = 7.5


def gauss(a, b, n=6):
    """Return nodes and weights on [a, b], exact up to degree 2n - 1."""
    x, w = np.polynomial.legendre.leggauss(n)
    return (a + b) / 2 + (b - a) / 2 * x, (b - a) / 2 * w


def grid(*rules):
    """Return the product of one-dimensional rules: coordinates and weights, flat."""
    nodes = np.meshgrid(*(x for x, _ in rules), indexing="ij")
    weights = np.meshgrid(*(w for _, w in rules), indexing="ij")
    return [x.ravel() for x in nodes], np.prod([w.ravel() for w in weights], axis=0)


CIRCLE = (2 * np.pi * np.arange(8) / 8, np.full(8, 2 * np.pi / 8))


def of_revolution(profile, *pieces):
    """Return the points of a solid with squared radius profile(z) over the pieces of the z axis."""
    points, weights = [], []
    for a, b in pieces:
        (z, s, phi), w = grid(gauss(a, b), gauss(0, 1), CIRCLE)
        square = profile(z)  # x^2 + y^2 = s square: area element (square / 2) ds dphi
        x, y = np.sqrt(s * square) * np.cos(phi), np.sqrt(s * square) * np.sin(phi)
        points.append((x, y, z))
        weights.append(w * square / 2)
    return np.concatenate(points, axis=1), np.concatenate(weights)


def of_points(points, weights):
    """Return the inertia of a cloud of particles: a batch, added up number by number."""
    return Inertia.from_mass(RHO * weights, points).map(np.sum)


def a_box():
    points, weights = grid(gauss(-0.3, 0.3), gauss(-0.5, 0.5), gauss(-0.7, 0.7))
    return box(0.6, 1.0, 1.4, density=RHO), (points, weights)


def a_sphere():
    return sphere(0.8, density=RHO), of_revolution(lambda z: 0.64 - z * z, (-0.8, 0.8))


def an_ellipsoid():
    (x, y, z), w = of_revolution(lambda z: 1 - z * z, (-1, 1))
    a, b, c = 0.5, 0.9, 1.3
    return ellipsoid(a, b, c, density=RHO), ((a * x, b * y, c * z), w * a * b * c)


def a_cylinder():
    return cylinder(0.4, 1.5, density=RHO), of_revolution(lambda z: 0.16 + 0 * z, (-0.75, 0.75))


def a_capsule():
    def profile(z):
        beyond = np.maximum(np.abs(z) - 0.6, 0.0)
        return 0.09 - beyond * beyond

    return capsule(0.3, 1.2, density=RHO), of_revolution(
        profile, (-0.9, -0.6), (-0.6, 0.6), (0.6, 0.9)
    )


def a_shell():
    # Archimedes: the area of a sphere between two planes is 2 pi r dz
    (z, phi), w = grid(gauss(-0.7, 0.7), CIRCLE)
    rho = np.sqrt(0.49 - z * z)
    return shell(0.7, density=RHO), ((rho * np.cos(phi), rho * np.sin(phi), z), w * 0.7)


def a_rod():
    x, w = gauss(-0.8, 0.8)
    return rod(1.6, density=RHO), ((x, 0 * x, 0 * x), w)


SOLIDS = [a_box, a_sphere, an_ellipsoid, a_cylinder, a_capsule, a_shell, a_rod]


@pytest.mark.parametrize("solid", SOLIDS, ids=lambda f: f.__name__[2:].strip("_"))
def test_the_inertia_of_a_solid_is_the_integral_over_its_mass(solid):
    found, points = solid()
    want = of_points(*points)
    assert_close(found, want, size(want), eps=16)


def test_a_particle_has_mass_and_nothing_else():
    np.testing.assert_array_equal(array(point_mass(2.5)), [2.5] + [0] * 9)


@pytest.mark.parametrize(
    ("solid", "arguments", "amount"),
    [
        (box, (0.6, 1.0, 1.4), 0.6 * 1.0 * 1.4),
        (sphere, (0.8,), 4 / 3 * math.pi * 0.8**3),
        (shell, (0.8,), 4 * math.pi * 0.8**2),
        (ellipsoid, (0.5, 0.9, 1.3), 4 / 3 * math.pi * 0.5 * 0.9 * 1.3),
        (cylinder, (0.4, 1.5), math.pi * 0.4**2 * 1.5),
        (capsule, (0.3, 1.2), math.pi * 0.3**2 * 1.2 + 4 / 3 * math.pi * 0.3**3),
        (rod, (1.6,), 1.6),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_solid_may_be_given_by_mass_or_by_density(solid, arguments, amount):
    by_density, by_mass = solid(*arguments, density=RHO), solid(*arguments, mass=RHO * amount)
    assert_close(by_density.m, RHO * amount, RHO * amount)
    assert_close(by_density, by_mass, size(by_mass))


def test_a_box_is_the_sum_of_the_two_boxes_it_is_cut_into():
    x, y, z, cut = 0.6, 1.0, 1.4, 0.25
    parts = []
    for low, high in ((-x / 2, -x / 2 + cut), (-x / 2 + cut, x / 2)):
        X = Transform.translation(((low + high) / 2, 0.0, 0.0))
        parts.append(X.T @ box(high - low, y, z, density=RHO) @ X)
    whole = box(x, y, z, density=RHO)
    assert_close(parts[0] + parts[1], whole, size(whole))


def test_a_capsule_without_length_is_a_ball():
    assert_close(capsule(0.4, 0.0, density=RHO), sphere(0.4, density=RHO), RHO)


def test_an_ellipsoid_with_equal_axes_is_a_ball():
    assert_close(ellipsoid(0.4, 0.4, 0.4, mass=2.0), sphere(0.4, mass=2.0))


def test_a_thin_box_and_a_thin_cylinder_are_rods():
    assert_close(box(1.6, 0.0, 0.0, mass=2.0), rod(1.6, mass=2.0))
    assert_close(cylinder(0.0, 1.6, axis="x", mass=2.0), rod(1.6, mass=2.0))


def test_a_shell_is_the_growth_of_a_ball_with_its_radius():
    # d/dr of the solid ball of density rho is the shell of rho per area
    growth = sphere(Dual(0.8, 1.0), density=RHO).map(lambda x: getattr(x, "dot", ZERO))
    want = shell(0.8, density=RHO)
    assert_close(growth, want, size(want))


@pytest.mark.parametrize("solid", [cylinder, capsule])
@pytest.mark.parametrize(("axis", "turn"), [("x", (0, math.pi / 2, 0)), ("y", (math.pi / 2, 0, 0))])
def test_a_solid_along_another_axis_is_the_turned_solid(solid, axis, turn):
    X = Transform.from_rpy(turn)
    turned = X.T @ solid(0.3, 1.2, mass=2.0) @ X
    assert_close(solid(0.3, 1.2, axis=axis, mass=2.0), turned)


@pytest.mark.parametrize(("axis", "index"), [("x", 0), ("y", 1), ("z", 2)])
def test_a_rod_has_no_inertia_about_its_own_axis(axis, index):
    moments = array(rod(2.0, axis=axis, mass=3.0).I)[:3]
    assert moments[index] == 0.0
    assert sorted(moments) == [0.0, 1.0, 1.0]


ARGUMENTS = {
    box: (1, 1, 1),
    sphere: (1,),
    shell: (1,),
    ellipsoid: (1, 1, 1),
    cylinder: (1, 1),
    capsule: (1, 1),
    rod: (1,),
}


@pytest.mark.parametrize("solid", ARGUMENTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("given", [{}, {"mass": 1.0, "density": 1.0}], ids=["neither", "both"])
def test_a_solid_needs_exactly_one_of_mass_and_density(solid, given):
    with pytest.raises(ModelError, match=rf"{solid.__name__}: needs either mass= or density="):
        solid(*ARGUMENTS[solid], **given)


def test_a_particle_needs_a_mass():
    with pytest.raises(ModelError, match="needs either"):
        point_mass(None)


@pytest.mark.parametrize("solid", [cylinder, capsule, rod], ids=lambda f: f.__name__)
def test_a_solid_along_an_unknown_axis_is_refused(solid):
    with pytest.raises(ModelError, match=r"axis 'w' is not known\n  fix"):
        solid(*ARGUMENTS[solid], axis="w", mass=1.0)
