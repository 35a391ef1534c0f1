"""Shapes that touch, and the parameters of a contact, by MuJoCo's rules.

MuJoCo 4.0, engine_collision_driver.c (mj_contactParam, getMargin) and engine_core_constraint.c
(getsolparam).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

from sixfold.dynamics.contact.scene import Law
from sixfold.errors import OptionError
from sixfold.model import ContactOptions
from sixfold.scalar import Zero


def check_number(
    owner: str, name: str, got: Any, words: str, good: Callable[[float], bool]
) -> float:
    """Return a finite number as a float, or say in words what is taken."""
    try:
        value = math.nan if isinstance(got, (bool, str)) else float(got)
    except Exception:  # the conversion may raise anything
        value = math.nan
    if not math.isfinite(value) or not good(value):
        raise OptionError(owner, name, words, got)
    return value


def check_not_negative(owner: str, name: str, got: Any, unit: str = "") -> float:
    """Return a number that is not below zero."""
    return check_number(owner, name, got, f"a number >= 0{unit}", lambda x: x >= 0)


def check_numbers(owner: str, name: str, got: Any, count: int, words: str) -> tuple[float, ...]:
    """Return a number of finite numbers."""
    try:
        listed: Sequence[Any] = list(got)
    except Exception:  # no list at all
        listed = []
    if isinstance(got, (str, bytes, Mapping, Set)) or len(listed) != count:
        raise OptionError(owner, name, words, got)
    found = []
    for x in listed:
        try:
            found.append(0.0 if isinstance(x, Zero) else check_number(owner, name, x, words, _any))
        except OptionError:
            raise OptionError(owner, name, words, got) from None
    return tuple(found)


def check_solref(owner: str, name: str, got: Any) -> tuple[float, ...]:
    """Return time constant and damping ratio, or both gains with a minus."""
    words = "(time constant, damping ratio) > 0, or (-stiffness, -damping)"
    found = check_numbers(owner, name, got, 2, words)
    if not (min(found) > 0 or max(found) < 0):
        raise OptionError(owner, name, words, got)
    return found


def check_solimp(owner: str, name: str, got: Any) -> tuple[float, ...]:
    """Return five numbers of an impedance; 1 to 4 numbers are completed by MuJoCo's defaults."""
    words = "(d0, dwidth, width, midpoint, power), finite numbers"
    usual = (0.9, 0.95, 0.001, 0.5, 2.0)
    try:
        given = len(got)
    except TypeError:
        given = 0
    if isinstance(got, str) or not 1 <= given <= 5:
        raise OptionError(owner, name, words, got)
    return (*check_numbers(owner, name, got, given, words), *usual[given:])


def check_name(owner: str, name: str, got: Any) -> str:
    """Return a name."""
    if not isinstance(got, str) or not got:
        raise OptionError(owner, name, "a name", got)
    return got


def _any(_: float) -> bool:
    return True


@dataclass(frozen=True)
class ContactPoint:
    """A point or a sphere on a body.

    Args:
        body: name of a body or frame, or of the base.
        position: centre in coordinates of the body or frame [m].
        radius: of the sphere [m]; 0 for a point.
        friction: Coulomb's coefficient; by default that of the ground or the pair.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> solid = sf.Inertia.from_mass(2.0, rotational=(8e-3, 8e-3, 8e-3))
        >>> model = sf.ModelBuilder("ball").add_body("ball", joint=sf.Free(), inertia=solid).build()
        >>> ground = sf.contact.Ground(points=[sf.contact.ContactPoint("ball", radius=0.1)])
        >>> high, rest = [0, 0, 0.25, 0, 0, 0, 1], np.zeros(6)
        >>> found = sf.contact.contact_forces(model, high, rest, rest, contacts=ground)
        >>> found.gaps.round(3)
        array([0.15])
    """

    body: str
    position: tuple[float, ...] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    friction: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no sphere."""
        owner = "ContactPoint"
        check_name(owner, "body", self.body)
        place = check_numbers(owner, "position", self.position, 3, "(x, y, z) [m]")
        object.__setattr__(self, "position", place)
        object.__setattr__(self, "radius", check_not_negative(owner, "radius", self.radius, " [m]"))
        if self.friction is not None:
            friction = check_not_negative(owner, "friction", self.friction)
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
        >>> bar = sf.contact.ContactCapsule("world", start=(-1, 0, 0), end=(1, 0, 0), radius=0.05)
        >>> pair = sf.contact.ContactPair(sf.contact.ContactPoint("ball", radius=0.1), bar)
        >>> ground, q = sf.contact.Ground(points=[], pairs=[pair]), [0.3, 0, 0.2, 0, 0, 0, 1]
        >>> found = sf.contact.contact_forces(model, q, np.zeros(6), np.zeros(6), contacts=ground)
        >>> found.gaps.round(3)
        array([0.05])
    """

    body: str
    start: tuple[float, ...]
    end: tuple[float, ...]
    radius: float

    def __post_init__(self) -> None:
        """Refuse what is no capsule."""
        owner = "ContactCapsule"
        check_name(owner, "body", self.body)
        for name in ("start", "end"):
            place = check_numbers(owner, name, getattr(self, name), 3, "(x, y, z) [m]")
            object.__setattr__(self, name, place)
        radius = check_number(owner, "radius", self.radius, "a number > 0 [m]", lambda x: x > 0)
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
        >>> from sixfold.contact import ContactPair, ContactPoint, Ground
        >>> a, b = ContactPoint("a", radius=0.1), ContactPoint("b", radius=0.2)
        >>> ground = Ground(points=[], pairs=[ContactPair(a, b, friction=0.5)])
        >>> found = sf.contact.contact_forces(model, [0.0, 0.299], [0, 0], [0, 0], contacts=ground)
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
                object.__setattr__(self, name, check_not_negative(owner, name, given))
        for name, check in (("solref", check_solref), ("solimp", check_solimp)):
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
        >>> soft = sf.contact.JointLaw("elbow", limit_solref=(0.1, 1.0))
        >>> sf.contact.Ground(limits=True, joint_laws=[soft]).joint_laws[0].joint
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
        check_name(owner, "joint", self.joint)
        for name in ("limit_solref", "friction_solref"):
            object.__setattr__(self, name, check_solref(owner, name, getattr(self, name)))
        for name in ("limit_solimp", "friction_solimp"):
            object.__setattr__(self, name, check_solimp(owner, name, getattr(self, name)))
        object.__setattr__(self, "margin", check_not_negative(owner, "margin", self.margin))


#: Condim of a contact with friction along its two tangents; more adds torsion and rolling.
SLIDING = 3
MIN_FRICTION = 1e-5  #: MuJoCo's least coefficient of a contact with friction.
MIN_MIX = 1e-15
DEFAULT_SOLREF = (0.02, 1.0)


class Mixed(NamedTuple):
    """How two shapes touch."""

    friction: float
    law: Law
    margin: float


def can_meet(a: ContactOptions, b: ContactOptions) -> bool:
    """Tell whether the bits of two shapes let them touch."""
    return bool((a.contype & b.conaffinity) or (b.contype & a.conaffinity))


def mix(a: ContactOptions, b: ContactOptions) -> Mixed:
    """Return how two shapes touch: by the one of higher priority, or by both."""
    margin = a.margin + b.margin
    if a.priority != b.priority:
        first = a if a.priority > b.priority else b
        friction = _sliding(first.condim, first.friction[0])
        return Mixed(friction, law_of(first.solref, first.solimp), margin)
    share = _share(a.solmix, b.solmix)

    def mean(x: Iterable[float], y: Iterable[float]) -> tuple[float, ...]:
        return tuple(share * p + (1.0 - share) * r for p, r in zip(x, y, strict=True))

    by_time = a.solref[0] > 0 and b.solref[0] > 0
    lowest = tuple(min(x, y) for x, y in zip(a.solref, b.solref, strict=True))
    solref = mean(a.solref, b.solref) if by_time else lowest
    friction = _sliding(max(a.condim, b.condim), max(a.friction[0], b.friction[0]))
    return Mixed(friction, law_of(solref, mean(a.solimp, b.solimp)), margin)


def law_of(solref: Iterable[float], solimp: Iterable[float]) -> Law:
    """Return a law; a solref of mixed signs means the default."""
    time, ratio = solref
    if (time > 0) != (ratio > 0):
        time, ratio = DEFAULT_SOLREF
    first, last, width, midpoint, power = solimp
    return Law((time, ratio), (first, last, width, midpoint, power))


def _sliding(condim: int, friction: float) -> float:
    return max(friction, MIN_FRICTION) if condim >= SLIDING else 0.0


def _share(a: float, b: float) -> float:
    """Return the weight of the first shape."""
    if a >= MIN_MIX and b >= MIN_MIX:
        return a / (a + b)
    if a < MIN_MIX and b < MIN_MIX:
        return 0.5
    return 1.0 if a >= MIN_MIX else 0.0
