"""Shapes that touch: points and spheres, capsules, and pairs of them."""

from __future__ import annotations

from dataclasses import dataclass

from sixfold.contact import checks
from sixfold.errors import OptionError


@dataclass(frozen=True)
class ContactPoint:
    """A point or a sphere on a body.

    Args:
        body: name of a body or frame, or of the base.
        position: centre in coordinates of the body or frame [m].
        radius: of the sphere [m]; 0 for a point.
        friction: Coulomb's coefficient; that of the ground or the pair if left out.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> solid = sf.Inertia.from_mass(2.0, rotational=(8e-3, 8e-3, 8e-3))
        >>> model = sf.ModelBuilder("ball").add_body("ball", joint=sf.Free(), inertia=solid).build()
        >>> ground = sf.Ground(points=[sf.ContactPoint("ball", radius=0.1)])
        >>> high = [0, 0, 0.25, 0, 0, 0, 1]
        >>> sf.contact_forces(model, high, np.zeros(6), np.zeros(6), contacts=ground).gaps.round(3)
        array([0.15])
    """

    body: str
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    friction: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no sphere."""
        owner = "ContactPoint"
        checks.text(owner, "body", self.body)
        place = checks.numbers(owner, "position", self.position, 3, "(x, y, z) [m]")
        object.__setattr__(self, "position", place)
        object.__setattr__(
            self, "radius", checks.not_negative(owner, "radius", self.radius, " [m]")
        )
        if self.friction is not None:
            friction = checks.not_negative(owner, "friction", self.friction)
            object.__setattr__(self, "friction", friction)


@dataclass(frozen=True)
class ContactCapsule:
    """A capsule on a body: all points within a radius of a segment.

    Args:
        body: name of a body or frame, or of the base.
        start: one end of the segment in coordinates of the body or frame [m].
        end: the other end [m].
        radius: [m].

    Example:
        >>> import numpy as np, sixfold as sf
        >>> solid = sf.Inertia.from_mass(2.0, rotational=(8e-3, 8e-3, 8e-3))
        >>> model = sf.ModelBuilder("ball").add_body("ball", joint=sf.Free(), inertia=solid).build()
        >>> bar = sf.ContactCapsule("world", start=(-1, 0, 0), end=(1, 0, 0), radius=0.05)
        >>> pair = sf.ContactPair(sf.ContactPoint("ball", radius=0.1), bar)
        >>> ground, q = sf.Ground(points=[], pairs=[pair]), [0.3, 0, 0.2, 0, 0, 0, 1]
        >>> sf.contact_forces(model, q, np.zeros(6), np.zeros(6), contacts=ground).gaps.round(3)
        array([0.05])
    """

    body: str
    start: tuple[float, ...]
    end: tuple[float, ...]
    radius: float

    def __post_init__(self) -> None:
        """Refuse what is no capsule."""
        owner = "ContactCapsule"
        checks.text(owner, "body", self.body)
        for name in ("start", "end"):
            place = checks.numbers(owner, name, getattr(self, name), 3, "(x, y, z) [m]")
            object.__setattr__(self, name, place)
        radius = checks.number(owner, "radius", self.radius, "a number > 0 [m]", lambda x: x > 0)
        object.__setattr__(self, "radius", radius)
        if self.start == self.end:
            raise OptionError(owner, "end", "another point than start (else a ContactPoint)", self)


@dataclass(frozen=True)
class ContactPair:
    """A sphere against a sphere or a capsule of another body.

    Args:
        first: the sphere.
        second: what it may touch.
        friction: Coulomb's coefficient; that of the ground by default.
        solref: as in `Ground`; that of the ground by default.
        solimp: as in `Ground`; that of the ground by default.
        margin: gap below which the contact is active [m]; that of the ground by default.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> mass, builder = sf.Inertia.from_mass(1.0), sf.ModelBuilder("two", gravity=(0, 0, 0))
        >>> builder = builder.add_body("a", joint=sf.Prismatic("x"), inertia=mass)
        >>> model = builder.add_body("b", joint=sf.Prismatic("x"), inertia=mass).build()
        >>> a, b = sf.ContactPoint("a", radius=0.1), sf.ContactPoint("b", radius=0.2)
        >>> ground = sf.Ground(points=[], pairs=[sf.ContactPair(a, b, friction=0.5)])
        >>> found = sf.contact_forces(model, [0.0, 0.299], [0, 0], [0, 0], contacts=ground)
        >>> found.gaps.round(3), bool(found.a[0] < 0 < found.a[1])  # they part
        (array([-0.001]), True)
    """

    first: ContactPoint
    second: ContactPoint | ContactCapsule
    friction: float | None = None
    solref: tuple[float, ...] | None = None
    solimp: tuple[float, ...] | None = None
    margin: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no pair."""
        owner = "ContactPair"
        if not isinstance(self.first, ContactPoint):
            raise OptionError(owner, "first", "a ContactPoint", self.first)
        if not isinstance(self.second, (ContactPoint, ContactCapsule)):
            raise OptionError(owner, "second", "a ContactPoint or a ContactCapsule", self.second)
        if not self.first.radius and not self.second.radius:
            raise OptionError(owner, "first", "a sphere with a radius > 0", "two points")
        for name in ("friction", "margin"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, checks.not_negative(owner, name, given))
        for name, check in (("solref", checks.solref), ("solimp", checks.solimp)):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, check(owner, name, given))


@dataclass(frozen=True)
class JointLaw:
    """How soft the limits and the dry friction of a joint are.

    Args:
        joint: name of the joint.
        limit_solref: solref of its limits, as in `Ground`.
        limit_solimp: solimp of its limits, as in `Ground`.
        friction_solref: solref of its dry friction.
        friction_solimp: solimp of its dry friction.
        margin: distance from a limit below which it is active [rad or m].

    Example:
        >>> import sixfold as sf
        >>> soft = sf.JointLaw("elbow", limit_solref=(0.1, 1.0))
        >>> sf.Ground(limits=True, joint_laws=[soft]).joint_laws[0].joint
        'elbow'
    """

    joint: str
    limit_solref: tuple[float, ...] = (0.02, 1.0)
    limit_solimp: tuple[float, ...] = (0.9, 0.95, 0.001, 0.5, 2.0)
    friction_solref: tuple[float, ...] = (0.02, 1.0)
    friction_solimp: tuple[float, ...] = (0.9, 0.95, 0.001, 0.5, 2.0)
    margin: float = 0.0

    def __post_init__(self) -> None:
        """Check every number."""
        owner = "JointLaw"
        checks.text(owner, "joint", self.joint)
        for name in ("limit_solref", "friction_solref"):
            object.__setattr__(self, name, checks.solref(owner, name, getattr(self, name)))
        for name in ("limit_solimp", "friction_solimp"):
            object.__setattr__(self, name, checks.solimp(owner, name, getattr(self, name)))
        object.__setattr__(self, "margin", checks.not_negative(owner, "margin", self.margin))
