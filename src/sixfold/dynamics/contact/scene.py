"""What may touch what, and by which law: data that the contact algorithms read.

Bodies are numbered as in a tree: 0 is the fixed base.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sixfold.model import Tree
from sixfold.scalar import ZERO, Scalar, differentiate, if_positive, sqrt
from sixfold.spatial import Vector3

Numbers3 = tuple[float, float, float]


@dataclass(frozen=True)
class SphereShape:
    """A sphere on a body; a point where its radius is zero."""

    body: int
    center: Numbers3  # in body coordinates [m]
    radius: float = 0.0


@dataclass(frozen=True)
class CapsuleShape:
    """A capsule on a body: all points within a radius of a segment."""

    body: int
    start: Numbers3
    end: Numbers3
    radius: float


@dataclass(frozen=True)
class Law:
    """How soft a constraint is, with MuJoCo's meaning."""

    solref: tuple[float, float] = (0.02, 1.0)  # time constant [s] and damping ratio
    # impedance at the surface and at depth, that depth [m], midpoint and power of the sigmoid
    solimp: tuple[float, float, float, float, float] = (0.9, 0.95, 0.001, 0.5, 2.0)


@dataclass(frozen=True)
class Contact:
    """A contact that may close: a ball against the ground (other is None), a ball or a rod."""

    ball: SphereShape
    other: SphereShape | CapsuleShape | None
    friction: float
    weight: float  # inverse of the mass felt at the contact at the neutral configuration [1/kg]
    law: Law
    margin: float  # gap below which the contact is active [m]


@dataclass(frozen=True)
class JointLimit:
    """A joint limit: places of the coordinate in q and v, limits, inverse of the inertia felt."""

    q: int
    v: int
    lower: float
    upper: float
    weight: float
    law: Law
    margin: float  # distance from the limit below which it is active [rad or m]


@dataclass(frozen=True)
class DryFriction:
    """Dry friction of a joint: place in v, largest force against either direction, weight."""

    v: int
    forward: float
    backward: float
    weight: float
    law: Law


@dataclass(frozen=True)
class Scene:
    """All constraints of a model that may become active."""

    surface: Any  # has `meet(point)`; see `surfaces`
    touches: tuple[Contact, ...]
    limits: tuple[JointLimit, ...]
    frictions: tuple[DryFriction, ...]
    impratio: float
    iterations: int  # rounds of the solver at the most
    rigid: bool
    restitution: float

    def bodies(self, tree: Tree) -> set[int]:
        """Return the bodies that constraints act on, directly or by their joints."""
        joints = [limit.v for limit in self.limits] + [each.v for each in self.frictions]
        at = tree.velocity_slices
        found = {i for i in tree.bodies if any(at[i].start <= k < at[i].stop for k in joints)}
        for touch in self.touches:
            found |= {touch.ball.body, touch.other.body if touch.other is not None else 0}
        return found

    def with_step(self, h: float) -> Scene:
        """Return the scene for steps of length h.

        Time constants below two steps are raised to them, as MuJoCo does: a faster spring would
        be unstable.
        """

        def slower(each: Any) -> Any:
            time, ratio = each.law.solref
            if not 0 < time < 2 * h:
                return each
            return replace(each, law=replace(each.law, solref=(2 * h, ratio)))

        return replace(
            self,
            touches=tuple(map(slower, self.touches)),
            limits=tuple(map(slower, self.limits)),
            frictions=tuple(map(slower, self.frictions)),
        )

    @property
    def ground_bodies(self) -> set[int]:
        """The bodies that may touch the ground."""
        return {touch.ball.body for touch in self.touches if touch.other is None}


class ContactFrame(NamedTuple):
    """A contact frame in world axes: the normal, then two tangents."""

    n: Vector3
    t: Vector3
    s: Vector3


@dataclass(frozen=True)
class Plane:
    """A half-space: points x with normal . x < height are inside."""

    normal: Numbers3 = (0.0, 0.0, 1.0)
    height: float = 0.0

    def meet(self, p: Vector3) -> tuple[Scalar, ContactFrame]:
        """Return the distance of a point from the surface, and the frame there."""
        n = Vector3.of(self.normal)
        return n.dot(p) - self.height, ContactFrame(n, *tangents(n))


@dataclass(frozen=True)
class Heights:
    """The ground below z = h(x, y); distances are those to the tangent plane below a point."""

    function: Callable[[Any, Any], Any] = field(repr=False)
    # of the program of the function: two functions with one digest compute the same
    digest: str = ""

    def meet(self, p: Vector3) -> tuple[Scalar, ContactFrame]:
        """Return the distance of a point from the surface, and the frame there."""
        return _below(lambda x, y: self.function(x, y), p)

    def __hash__(self) -> int:
        """Hash by what is computed."""
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        """Compare what is computed."""
        return isinstance(other, Heights) and self.digest == other.digest


@dataclass(frozen=True)
class HeightGrid:
    """Heights on a grid, linear between its lines, level beyond its edges."""

    corner: tuple[float, float]  #: Where the first height is [m].
    spacing: tuple[float, float]  #: Distance of lines along x and y [m].
    #: Row k holds the heights along y at the k-th line along x [m].
    heights: tuple[tuple[float, ...], ...]

    def meet(self, p: Vector3) -> tuple[Scalar, ContactFrame]:
        """Return the distance of a point from the surface, and the frame there."""
        return _below(self.height, p)

    def height(self, x: Scalar, y: Scalar) -> Scalar:
        """Return the height at a place."""
        # along y for each line, then along x between the results
        (x0, y0), (dx, dy) = self.corner, self.spacing
        across = [_linear(row, (y - y0) / dy) for row in self.heights]
        return _linear(across, (x - x0) / dx)


def _linear(values: Any, place: Scalar) -> Scalar:
    """Return the number at a place between values, which lie at 0, 1, 2...

    At a value the slope is that of the side behind it.
    """
    total = values[0]
    for k in range(len(values) - 1):
        s = place - k if k else place
        s = if_positive(-s, 0.0, if_positive(1.0 - s, s, 1.0))
        total = total + (values[k + 1] - values[k]) * s
    return total


def _below(height: Callable[[Scalar, Scalar], Scalar], p: Vector3) -> tuple[Scalar, ContactFrame]:
    def at(xy: Any) -> tuple[Scalar, ...]:
        return (height(*xy) + ZERO,)

    # slopes a and b of the ground below p give its tangent plane
    (h,), (a,) = differentiate(at, (p.x, p.y), (1.0, ZERO))
    _, (b,) = differentiate(at, (p.x, p.y), (ZERO, 1.0))
    scale = 1.0 / sqrt(a * a + b * b + 1.0)
    n = Vector3(-a * scale, -b * scale, scale)
    along = 1.0 / sqrt(a * a + 1.0)
    t = Vector3(along, ZERO, a * along)
    return (p.z - h) * scale, ContactFrame(n, t, n.cross(t))


def tangents(n: Vector3) -> tuple[Vector3, Vector3]:
    """Return two unit vectors across a unit vector, smooth but at (0, 0, -1).

    Duff et al., Building an Orthonormal Basis, Revisited, JCGT 6(1), 2017.
    """
    s = if_positive(n.z, 1.0, -1.0)
    a = -1.0 / (s + n.z)
    b = n.x * n.y * a
    return Vector3(1.0 + s * n.x * n.x * a, s * b, -(s * n.x)), Vector3(b, s + n.y * n.y * a, -n.y)
