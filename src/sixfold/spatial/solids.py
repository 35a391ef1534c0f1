"""Inertias of standard solids, by mass or by density, centred at the origin."""

from __future__ import annotations

import math

from sixfold.errors import ModelError, shown
from sixfold.scalar import Scalar, number_of, together
from sixfold.spatial.inertia import Inertia


@together("box")
def box(x: Scalar, y: Scalar, z: Scalar, *, mass: Scalar = None, density: Scalar = None) -> Inertia:
    """Return the inertia of a box with edges x, y, z [m]."""
    _sizes("box", x=x, y=y, z=z)
    m = _mass("box", mass, density, x * y * z)
    k = m / 12
    return Inertia.from_mass(
        m, rotational=(k * (y * y + z * z), k * (z * z + x * x), k * (x * x + y * y))
    )


@together("sphere")
def sphere(radius: Scalar, *, mass: Scalar = None, density: Scalar = None) -> Inertia:
    """Return the inertia of a solid ball."""
    _sizes("sphere", radius=radius)
    m = _mass("sphere", mass, density, 4 * math.pi / 3 * radius * radius * radius)
    k = m * radius * radius * 0.4
    return Inertia.from_mass(m, rotational=(k, k, k))


@together("shell")
def shell(radius: Scalar, *, mass: Scalar = None, density: Scalar = None) -> Inertia:
    """Return the inertia of a thin hollow ball (density per area [kg/m^2])."""
    _sizes("shell", radius=radius)
    m = _mass("shell", mass, density, 4 * math.pi * radius * radius)
    k = m * radius * radius * 2 / 3
    return Inertia.from_mass(m, rotational=(k, k, k))


@together("ellipsoid")
def ellipsoid(
    a: Scalar, b: Scalar, c: Scalar, *, mass: Scalar = None, density: Scalar = None
) -> Inertia:
    """Return the inertia of a solid ellipsoid with half axes a, b, c along x, y, z."""
    _sizes("ellipsoid", a=a, b=b, c=c)
    m = _mass("ellipsoid", mass, density, 4 * math.pi / 3 * a * b * c)
    k = m / 5
    return Inertia.from_mass(
        m, rotational=(k * (b * b + c * c), k * (c * c + a * a), k * (a * a + b * b))
    )


@together("cylinder")
def cylinder(
    radius: Scalar, length: Scalar, *, axis: str = "z", mass: Scalar = None, density: Scalar = None
) -> Inertia:
    """Return the inertia of a solid cylinder along one axis."""
    _sizes("cylinder", radius=radius, length=length)
    m = _mass("cylinder", mass, density, math.pi * radius * radius * length)
    along = m * radius * radius / 2
    across = m * (3 * radius * radius + length * length) / 12
    return Inertia.from_mass(m, rotational=_about("cylinder", axis, along, across))


@together("capsule")
def capsule(
    radius: Scalar, length: Scalar, *, axis: str = "z", mass: Scalar = None, density: Scalar = None
) -> Inertia:
    """Return the inertia of a cylinder of this length with a half ball on each end."""
    _sizes("capsule", radius=radius, length=length)
    barrel = math.pi * radius * radius * length
    balls = 4 * math.pi / 3 * radius * radius * radius
    m = _mass("capsule", mass, density, barrel + balls)
    mc, ms = m * barrel / (barrel + balls), m * balls / (barrel + balls)
    along = mc * radius * radius / 2 + ms * radius * radius * 0.4
    across = mc * (3 * radius * radius + length * length) / 12 + ms * (
        radius * radius * 0.4 + length * length / 4 + 3 * length * radius / 8
    )
    return Inertia.from_mass(m, rotational=_about("capsule", axis, along, across))


@together("rod")
def rod(length: Scalar, *, axis: str = "x", mass: Scalar = None, density: Scalar = None) -> Inertia:
    """Return the inertia of a thin straight rod (density per length [kg/m])."""
    _sizes("rod", length=length)
    m = _mass("rod", mass, density, length)
    return Inertia.from_mass(m, rotational=_about("rod", axis, 0.0, m * length * length / 12))


def point_mass(mass: Scalar) -> Inertia:
    """Return the inertia of a particle at the origin."""
    return Inertia.from_mass(_mass("point_mass", mass, None, 1.0))


def _sizes(solid: str, **sizes: Scalar) -> None:
    for name, size in sizes.items():
        number_of(solid, name, size)


def _mass(solid: str, mass: Scalar, density: Scalar, size: Scalar) -> Scalar:
    if (mass is None) == (density is None):
        raise ModelError(solid, "needs either mass= or density=", "give exactly one of the two")
    if mass is not None:
        return number_of(solid, "mass", mass)
    return number_of(solid, "density", density) * size


def _about(solid: str, axis: str, along: Scalar, across: Scalar) -> tuple[Scalar, ...]:
    if not isinstance(axis, str) or axis not in ("x", "y", "z"):
        raise ModelError(solid, f"axis {shown(axis)} is not known", "use 'x', 'y' or 'z'")
    return tuple(along if name == axis else across for name in "xyz")
