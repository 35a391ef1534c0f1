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
        friction: Coulomb's coefficient; the ground's if left out.
    """

    first: ContactPoint
    second: ContactPoint | ContactCapsule
    friction: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no pair."""
        owner = "ContactPair"
        if not isinstance(self.first, ContactPoint):
            raise OptionError(owner, "first", "a ContactPoint", self.first)
        if not isinstance(self.second, (ContactPoint, ContactCapsule)):
            raise OptionError(owner, "second", "a ContactPoint or a ContactCapsule", self.second)
        if not self.first.radius and not self.second.radius:
            raise OptionError(owner, "first", "a sphere with a radius > 0", "two points")
        if self.friction is not None:
            friction = checks.not_negative(owner, "friction", self.friction)
            object.__setattr__(self, "friction", friction)
