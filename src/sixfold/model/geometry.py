"""Data about bodies that dynamics does not read: shapes, places in files, impact points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sixfold.errors import ModelError
from sixfold.model.validate import check_name, numbers_of
from sixfold.spatial import Inertia, Transform

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Box:
    """A box about its centre."""

    size: Numbers  #: Full lengths along x, y and z [m].


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
    length: float  #: Length of the cylinder alone, without its two caps [m].


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

    friction: Numbers = (1.0, 0.005, 0.0001)  #: Sliding, torsional [m] and rolling [m].
    #: Time constant [s] and damping ratio, or stiffness and damping with a minus.
    solref: Numbers = (0.02, 1.0)
    #: Impedance at the surface and at depth, the depth [m], midpoint and power.
    solimp: Numbers = (0.9, 0.95, 0.001, 0.5, 2.0)
    solmix: float = 1.0  #: Weight when two shapes with equal priority meet.
    margin: float = 0.0  #: Distance at which a contact is found [m].
    gap: float = 0.0  #: Part of the margin where a contact makes no force yet [m].
    condim: int = 3  #: 1 without friction, 3 sliding, 4 with torsional, 6 with rolling friction.
    contype: int = 1  #: Bits of its kind.
    conaffinity: int = 1  #: Bits of the kinds that it touches.
    priority: int = 0  #: Of two shapes the one with more decides.

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

    body: int  #: Index of the body, -1 for the base.
    placement: Transform  #: Body coordinates to the shape's own.
    shape: Shape
    color: Numbers | None = None  #: Red, green, blue and opacity, each from 0 to 1.
    material: str = ""
    name: str = ""
    link: str = ""  #: The link of the robot file that it came with.
    collides: bool = False  #: Part of the collision shape rather than of the picture.
    contact: ContactOptions | None = None  #: How it touches others, where a file says that it does.


@dataclass(frozen=True)
class Link:
    """One link as its file gives it."""

    name: str
    body: int  #: Index of the body that it became or joined, -1 for the base.
    placement: Transform  #: Body coordinates to link coordinates.
    #: In link coordinates, as the file gives it; None when the file gives none.
    inertia: Inertia | None
    line: int
    inertia_line: int  #: Line of the inertia, or of the link when it has none.


@dataclass(frozen=True)
class SourceInfo:
    """The file of a model.  It is not part of the model's content: equal models may differ in it.

    Only what the file says is kept, so that a finding can name its place; after editing a model the
    origin still speaks of the file.
    """

    file: str
    links: tuple[Link, ...] = ()
    #: Line of each joint, fixed ones included.
    joint_lines: Mapping[str, int] = field(default_factory=dict)
    package_dirs: tuple[str, ...] = ()  #: Folders under which meshes may be looked for.
    #: What the file says and the model has no counterpart for, each with its line.
    notes: tuple[str, ...] = ()
    #: What is wrong in the file but does not stop it from being read, each with its line: these are
    #: the warnings of `load`.
    blemishes: tuple[str, ...] = ()


Three = tuple[float, float, float]
_WHERE = "ImpactPoint"


@dataclass(frozen=True)
class ImpactPoint:
    """A point of a body that strikes the world or another body.

    Args:
        frame: the body, or the frame on it, that strikes.
        position: the point in the frame's coordinates [m].
        normal: away from what is struck, in the axes of `against`; any length.
        restitution: e, from 0 (plastic) to 1 (elastic): the normal velocity after the impact is at
            least -e times that before.
        friction: coefficient of Coulomb's cone in impulses; 0 without friction, infinite for a
            point that is held: its tangential velocity is zero after the impact and its normal
            impulse may also pull.
        against: the body or frame that is struck; the world by default.

    Example:
        >>> import sixfold as sf
        >>> ball, builder = sf.Inertia.from_mass(2.0), sf.ModelBuilder("ball")
        >>> model = builder.add_body("ball", joint=sf.Prismatic("z"), inertia=ball).build()
        >>> floor = sf.contact.ImpactPoint("ball", restitution=0.5)
        >>> v, impulse = sf.contact.impact(model, [0.0], [-3.0], floor)
        >>> v.round(3), impulse.round(3)  # 2 kg (1.5 + 3) m/s
        (array([1.5]), array([[0., 0., 9.]]))
    """

    frame: str
    position: Three = (0.0, 0.0, 0.0)
    normal: Three = (0.0, 0.0, 1.0)
    restitution: float = 0.0
    friction: float = 0.0
    against: str | None = None

    def __post_init__(self) -> None:
        """Check every field; make the normal a unit vector."""
        check_name(f"{_WHERE}: argument 'frame'", self.frame)
        if self.against is not None:
            check_name(f"{_WHERE}: argument 'against'", self.against)
        self._set("position", _three("position", self.position))
        normal = _three("normal", self.normal)
        length = math.hypot(*normal)
        if not 0 < length < math.inf:
            raise ModelError(
                _WHERE, f"normal {normal} has no direction", "give a vector that is not zero"
            )
        self._set("normal", tuple(x / length + 0.0 for x in normal))
        # restitution is finite and at most 1; infinite friction holds the point
        e, mu = (
            numbers_of(_WHERE, name, getattr(self, name), 1, positive=True, finite=name[0] == "r")
            for name in ("restitution", "friction")
        )
        if e[0] > 1:
            fix = "give a number from 0 to 1"
            raise ModelError(_WHERE, f"restitution {e[0]!r} would gain energy", fix)
        self._set("restitution", e[0])
        self._set("friction", mu[0])

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def sticks(self) -> bool:
        """Whether the point never slides: its friction is infinite."""
        return math.isinf(self.friction)


def _three(name: str, values: Any) -> Three:
    x, y, z = numbers_of(_WHERE, name, values, 3)
    return x, y, z
