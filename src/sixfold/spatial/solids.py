"""Inertias of standard solids, by mass or by density, centred at the origin; signs of products."""

from __future__ import annotations

import math

from sixfold.errors import ModelError, quote
from sixfold.scalar import Scalar, number_of, together
from sixfold.spatial.inertia import Inertia


@together("box")
def box(x: Scalar, y: Scalar, z: Scalar, *, mass: Scalar = None, density: Scalar = None) -> Inertia:
    """Return the inertia of a box with edges x, y, z [m].

    Args:
        x: edge along x [m].
        y: edge along y [m].
        z: edge along z [m].
        mass: [kg]; give this or the density.
        density: [kg/m^3].

    Returns:
        The inertia about the origin, where the centre of mass is.

    Example:
        >>> import sixfold as sf
        >>> print(sf.spatial.box(1.0, 2.0, 3.0, mass=12.0))
        Inertia(m=12, h=(0, 0, 0), I=(13, 10, 5, 0, 0, 0))
    """
    _sizes("box", x=x, y=y, z=z)
    m = _mass("box", mass, density, x * y * z)
    k = m / 12
    return Inertia.from_mass(
        m, rotational=(k * (y * y + z * z), k * (z * z + x * x), k * (x * x + y * y))
    )


@together("sphere")
def sphere(radius: Scalar, *, mass: Scalar = None, density: Scalar = None) -> Inertia:
    """Return the inertia of a solid ball.

    Args:
        radius: [m].
        mass: [kg]; give this or the density.
        density: [kg/m^3].

    Returns:
        The inertia about the origin, where the centre of mass is.

    Example:
        >>> import sixfold as sf
        >>> print(sf.spatial.sphere(0.5, mass=10.0))
        Inertia(m=10, h=(0, 0, 0), I=(1, 1, 1, 0, 0, 0))
    """
    _sizes("sphere", radius=radius)
    m = _mass("sphere", mass, density, 4 * math.pi / 3 * radius * radius * radius)
    k = m * radius * radius * 0.4
    return Inertia.from_mass(m, rotational=(k, k, k))


@together("shell")
def shell(radius: Scalar, *, mass: Scalar = None, density: Scalar = None) -> Inertia:
    """Return the inertia of a thin hollow ball (density per area [kg/m^2]).

    Args:
        radius: [m].
        mass: [kg]; give this or the density.
        density: [kg/m^2].

    Returns:
        The inertia about the origin, where the centre of mass is.

    Example:
        >>> import sixfold as sf
        >>> print(sf.spatial.shell(0.5, mass=6.0))
        Inertia(m=6, h=(0, 0, 0), I=(1, 1, 1, 0, 0, 0))
    """
    _sizes("shell", radius=radius)
    m = _mass("shell", mass, density, 4 * math.pi * radius * radius)
    k = m * radius * radius * 2 / 3
    return Inertia.from_mass(m, rotational=(k, k, k))


@together("ellipsoid")
def ellipsoid(
    a: Scalar, b: Scalar, c: Scalar, *, mass: Scalar = None, density: Scalar = None
) -> Inertia:
    """Return the inertia of a solid ellipsoid with half axes a, b, c along x, y, z.

    Args:
        a: half axis along x [m].
        b: half axis along y [m].
        c: half axis along z [m].
        mass: [kg]; give this or the density.
        density: [kg/m^3].

    Returns:
        The inertia about the origin, where the centre of mass is.

    Example:
        >>> import sixfold as sf
        >>> print(sf.spatial.ellipsoid(1.0, 2.0, 3.0, mass=5.0))
        Inertia(m=5, h=(0, 0, 0), I=(13, 10, 5, 0, 0, 0))
    """
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
    """Return the inertia of a solid cylinder along one axis.

    Args:
        radius: [m].
        length: [m].
        axis: "x", "y" or "z".
        mass: [kg]; give this or the density.
        density: [kg/m^3].

    Returns:
        The inertia about the origin, where the centre of mass is.

    Example:
        >>> import sixfold as sf
        >>> print(sf.spatial.cylinder(1.0, 3.0, mass=2.0))
        Inertia(m=2, h=(0, 0, 0), I=(2, 2, 1, 0, 0, 0))
    """
    _sizes("cylinder", radius=radius, length=length)
    m = _mass("cylinder", mass, density, math.pi * radius * radius * length)
    along = m * radius * radius / 2
    across = m * (3 * radius * radius + length * length) / 12
    return Inertia.from_mass(m, rotational=_about("cylinder", axis, along, across))


@together("capsule")
def capsule(
    radius: Scalar, length: Scalar, *, axis: str = "z", mass: Scalar = None, density: Scalar = None
) -> Inertia:
    """Return the inertia of a cylinder of this length with a half ball on each end.

    Args:
        radius: [m].
        length: of the cylinder between the half balls [m].
        axis: "x", "y" or "z".
        mass: [kg]; give this or the density.
        density: [kg/m^3].

    Returns:
        The inertia about the origin, where the centre of mass is.

    Example:
        >>> import sixfold as sf
        >>> print(sf.spatial.capsule(0.5, 0.0, mass=10.0))
        Inertia(m=10, h=(0, 0, 0), I=(1, 1, 1, 0, 0, 0))
    """
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
    """Return the inertia of a thin straight rod (density per length [kg/m]).

    Args:
        length: [m].
        axis: "x", "y" or "z".
        mass: [kg]; give this or the density.
        density: [kg/m].

    Returns:
        The inertia about the origin, where the centre of mass is.

    Example:
        >>> import sixfold as sf
        >>> print(sf.spatial.rod(2.0, mass=3.0))
        Inertia(m=3, h=(0, 0, 0), I=(0, 1, 1, 0, 0, 0))
    """
    _sizes("rod", length=length)
    m = _mass("rod", mass, density, length)
    return Inertia.from_mass(m, rotational=_about("rod", axis, 0.0, m * length * length / 12))


def point_mass(mass: Scalar) -> Inertia:
    """Return the inertia of a particle at the origin.

    Args:
        mass: [kg].

    Returns:
        The inertia; `X.T @ inertia @ X` moves it elsewhere.

    Example:
        >>> import sixfold as sf
        >>> print(sf.spatial.point_mass(2.0))
        Inertia(m=2, h=(0, 0, 0), I=(0, 0, 0, 0, 0, 0))
    """
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
        raise ModelError(solid, f"axis {quote(axis)} is not known", "use 'x', 'y' or 'z'")
    return tuple(along if name == axis else across for name in "xyz")


def products(Ixy: Scalar, Ixz: Scalar, Iyz: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Turn products of inertia into matrix elements or back: one is the negative of the other.

    Lectures often call the integral of x y Ixy (Khatib); Sixfold and URDF the matrix element.

    Args:
        Ixy: [kg m^2].
        Ixz: [kg m^2].
        Iyz: [kg m^2].

    Returns:
        The three negatives.

    Example:
        >>> import sixfold as sf
        >>> sf.spatial.products(0.1, 0.2, 0.0)
        (-0.1, -0.2, -0.0)
    """
    given = {"Ixy": Ixy, "Ixz": Ixz, "Iyz": Iyz}
    x, y, z = (-number_of("products", name, value) for name, value in given.items())
    return x, y, z
