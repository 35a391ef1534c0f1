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


@dataclass(frozen=True)
class ContactOptions:
    """How a shape touches others, in MuJoCo's terms and with its defaults; data only."""

    friction: Numbers = (1.0, 0.005, 0.0001)
    """Sliding, torsional [m] and rolling [m]."""
    solref: Numbers = (0.02, 1.0)
    """Time constant [s] and damping ratio, or stiffness and damping with a minus."""
    solimp: Numbers = (0.9, 0.95, 0.001, 0.5, 2.0)
    """Impedance at the surface and at depth, the depth [m], midpoint and power."""
    solmix: float = 1.0
    """Weight when two shapes with equal priority meet."""
    margin: float = 0.0
    """Distance at which a contact is found [m]."""
    gap: float = 0.0
    """Part of the margin where a contact makes no force yet [m]."""
    condim: int = 3
    """1 without friction, 3 sliding, 4 with torsional, 6 with rolling friction."""
    contype: int = 1
    """Bits of its kind."""
    conaffinity: int = 1
    """Bits of the kinds that it touches."""
    priority: int = 0
    """Of two shapes the one with more decides."""

    def numbers(self) -> Numbers:
        """Return all numbers in a row, in the order of the fields."""
        values = vars(self).values()
        return tuple(
            float(x) for value in values for x in (value if isinstance(value, tuple) else [value])
        )

    @classmethod
    def of(cls, numbers: Numbers) -> ContactOptions:
        """Return the options of 17 numbers, as `numbers` gives them."""
        solmix, margin, gap = numbers[10:13]
        condim, contype, conaffinity, priority = (int(x) for x in numbers[13:])
        soft = numbers[:3], numbers[3:5], numbers[5:10]
        return cls(*soft, solmix, margin, gap, condim, contype, conaffinity, priority)


CONTACT_NUMBERS = len(ContactOptions().numbers())

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
    contact: ContactOptions | None = None
    """How it touches others, where a file says that it does."""
