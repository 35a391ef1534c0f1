"""Surfaces to stand on: where a ball meets them, over any kind of number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sixfold.dynamics.contact.scene import Numbers3
from sixfold.scalar import ZERO, Scalar, differentiate, if_positive, sqrt
from sixfold.spatial import Vector3


class Frame(NamedTuple):
    """A contact frame in world axes: the normal, then two tangents."""

    n: Vector3
    t: Vector3
    s: Vector3


@dataclass(frozen=True)
class Plane:
    """A half-space: points x with normal . x < height are inside."""

    normal: Numbers3 = (0.0, 0.0, 1.0)
    height: float = 0.0

    def meet(self, p: Vector3) -> tuple[Scalar, Frame]:
        """Return the distance of a point from the surface, and the frame there."""
        n = Vector3.of(self.normal)
        return n.dot(p) - self.height, Frame(n, *tangents(n))


@dataclass(frozen=True)
class Heights:
    """The ground below z = h(x, y); distances are those to the tangent plane below a point."""

    function: Callable[[Any, Any], Any] = field(repr=False)
    digest: str = ""
    """Of the program of the function: two functions with one digest compute the same."""

    def meet(self, p: Vector3) -> tuple[Scalar, Frame]:
        """Return the distance of a point from the surface, and the frame there."""
        return _below(lambda x, y: self.function(x, y), p)

    def __hash__(self) -> int:
        """Hash by what is computed."""
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        """Compare what is computed."""
        return isinstance(other, Heights) and self.digest == other.digest


@dataclass(frozen=True)
class Grid:
    """Heights on a grid, linear between its lines, level beyond its edges."""

    corner: tuple[float, float]
    """Where the first height is [m]."""
    spacing: tuple[float, float]
    """Distance of lines along x and y [m]."""
    heights: tuple[tuple[float, ...], ...]
    """Row k holds the heights along y at the k-th line along x [m]."""

    def meet(self, p: Vector3) -> tuple[Scalar, Frame]:
        """Return the distance of a point from the surface, and the frame there."""
        return _below(self.height, p)

    def height(self, x: Scalar, y: Scalar) -> Scalar:
        """Return the height at a place."""
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


def _below(height: Callable[[Scalar, Scalar], Scalar], p: Vector3) -> tuple[Scalar, Frame]:
    def at(xy: Any) -> tuple[Scalar, ...]:
        return (height(*xy) + ZERO,)

    (h,), (a,) = differentiate(at, (p.x, p.y), (1.0, ZERO))
    _, (b,) = differentiate(at, (p.x, p.y), (ZERO, 1.0))
    scale = 1.0 / sqrt(a * a + b * b + 1.0)
    n = Vector3(-a * scale, -b * scale, scale)
    along = 1.0 / sqrt(a * a + 1.0)
    t = Vector3(along, ZERO, a * along)
    return (p.z - h) * scale, Frame(n, t, n.cross(t))


def tangents(n: Vector3) -> tuple[Vector3, Vector3]:
    """Return two unit vectors across a unit vector, smooth but at (0, 0, -1).

    Duff et al., Building an Orthonormal Basis, Revisited, JCGT 6(1), 2017.
    """
    s = if_positive(n.z, 1.0, -1.0)
    a = -1.0 / (s + n.z)
    b = n.x * n.y * a
    return Vector3(1.0 + s * n.x * n.x * a, s * b, -(s * n.x)), Vector3(b, s + n.y * n.y * a, -n.y)
