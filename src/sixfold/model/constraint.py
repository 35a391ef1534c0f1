"""Motion constraints beside the tree's joints, as frozen data: loops, rods, gears, rolling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sixfold.errors import ModelError
from sixfold.model.joint.joint import Joint
from sixfold.scalar import absolute, is_plain, plain
from sixfold.spatial import Matrix3, Transform

if TYPE_CHECKING:
    from sixfold.model.body import Body

Numbers = tuple[float, ...]
FLAT = 1e-12
"""Cosine, less than one, of a disc that is parallel to its plane."""


@dataclass(frozen=True)
class Loop:
    """A joint that closes a loop: what it forbids between two bodies, it forbids."""

    name: str
    body_a: int
    """Index of the body that plays the joint's parent, -1 for the base."""
    placement_a: Transform
    """Body A's coordinates to the closing frame on A."""
    body_b: int
    placement_b: Transform
    """Body B's coordinates to the closing frame on B, which the joint carries."""
    joint: Joint

    @property
    def rows(self) -> int:
        """How many motions it forbids."""
        return 6 - self.joint.nv

    @property
    def kind(self) -> str:
        """Its name in lists."""
        return {"fixed": "weld", "spherical": "point"}.get(self.joint.kind, self.joint.kind)


@dataclass(frozen=True)
class Distance:
    """A massless rod between two points: their distance stays the same."""

    name: str
    body_a: int
    point_a: Numbers
    """In coordinates of body A [m]."""
    body_b: int
    point_b: Numbers
    length: float
    rows: ClassVar[int] = 1
    kind: ClassVar[str] = "distance"


@dataclass(frozen=True)
class Gear:
    """One joint follows others by polynomials: q = offset + sum of c1 q_m + c2 q_m^2 + ...

    Unlike a `Coupling` it keeps all coordinates, and the force in the gear is a result.
    """

    name: str
    follower: int
    """Index of the body whose joint follows."""
    terms: tuple[tuple[int, Numbers], ...]
    """Leading joints, each with coefficients of its first, second... power."""
    offset: float
    rows: ClassVar[int] = 1
    kind: ClassVar[str] = "gear"


@dataclass(frozen=True)
class Rolling:
    """A ball, or the sharp rim of a disc, rolls on a plane without slipping or lifting off."""

    name: str
    body_a: int
    """Index of the body with the plane, -1 for the base."""
    placement_a: Transform
    """Body A's coordinates to a frame on the plane, its z axis the outward normal."""
    body_b: int
    placement_b: Transform
    """Body B's coordinates to a frame at the centre; a disc turns about the z axis of it."""
    radius: float
    disc: bool
    """A disc; otherwise a ball."""
    rows: ClassVar[int] = 3
    kind: ClassVar[str] = "rolling"


Constraint = Loop | Distance | Gear | Rolling


def check_discs(bodies: Sequence[Body], constraints: Sequence[Constraint]) -> None:
    """Refuse a disc that lies flat on its plane whatever the joints do: it has no lowest point."""
    for wheel in constraints:
        if not isinstance(wheel, Rolling) or not wheel.disc:
            continue
        tilts = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            at = [body.joint.random(rng) for body in bodies]
            plane = _axes(bodies, at, wheel.body_a, wheel.placement_a)
            disc = _axes(bodies, at, wheel.body_b, wheel.placement_b)
            tilts.append(1.0 - absolute(plane.c.dot(disc.c)))
        if all(is_plain(x) and float(plain(x)) < FLAT for x in tilts):
            what = "its disc lies flat on the plane at every configuration"
            fix = "give the axis that it turns about"
            raise ModelError(f"constraint '{wheel.name}'", what, fix)


def _axes(bodies: Sequence[Body], at: Sequence[Numbers], body: int, X: Transform) -> Matrix3:
    """Return E from the world to a frame on a body: its rows are the axes of the frame."""
    E = X.E
    while body >= 0:
        each = bodies[body]
        XJ = each.joint.calc(at[body], (0.0,) * each.joint.nv).XJ
        E, body = E @ XJ.E @ each.placement.E, each.parent
    return E
