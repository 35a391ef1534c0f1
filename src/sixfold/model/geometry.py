"""What a body looks like: shapes fixed to bodies, as data for viewers, never opened here."""

from __future__ import annotations

from dataclasses import dataclass

from sixfold.spatial import Transform

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Box:
    """A box about its centre."""

    size: Numbers
    """Full lengths along x, y and z [m]."""


@dataclass(frozen=True)
class Sphere:
    """A ball about its centre."""

    radius: float


@dataclass(frozen=True)
class Cylinder:
    """A cylinder about its centre, its axis along z."""

    radius: float
    length: float


@dataclass(frozen=True)
class Capsule:
    """A cylinder along z with a half ball on either end."""

    radius: float
    length: float
    """Length of the cylinder alone, without its two caps [m]."""


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid about its centre."""

    radii: Numbers


@dataclass(frozen=True)
class Mesh:
    """A surface in a file, named as the robot file names it."""

    file: str
    scale: Numbers = (1.0, 1.0, 1.0)


Shape = Box | Sphere | Cylinder | Capsule | Ellipsoid | Mesh


@dataclass(frozen=True)
class Geometry:
    """A shape at rest on a body."""

    body: int
    """Index of the body, -1 for the base."""
    placement: Transform
    """Body coordinates to the shape's own."""
    shape: Shape
    color: Numbers | None = None
    """Red, green, blue and opacity, each from 0 to 1."""
    material: str = ""
    name: str = ""
    link: str = ""
    """The link of the robot file that it came with."""
    collides: bool = False
    """Part of the collision shape rather than of the picture."""
