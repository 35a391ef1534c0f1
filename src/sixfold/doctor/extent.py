"""How far a part reaches: its shapes, and the joints and frames on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sixfold.model import Box, Capsule, Cylinder, Ellipsoid, Geometry, Model, Shape, Sphere
from sixfold.spatial import Transform

Array = NDArray[np.float64]
STAND_IN = 0.01
"""Size [m] up to which shapes are taken for stand-ins rather than for the link itself."""


@dataclass(frozen=True)
class Extent:
    """A box along the axes of the part that holds all that is known of it."""

    low: Array
    high: Array
    complete: bool
    """Every shape of the part is known: there are some, and none is a mesh or a mere stand-in."""

    @property
    def size(self) -> float:
        """Length of the diagonal [m]."""
        return float(np.hypot.reduce(self.high - self.low))

    def outside(self, point: Array) -> float:
        """Return how far a point lies outside the box, 0 inside [m]."""
        beyond = np.maximum(np.maximum(self.low - point, point - self.high), 0.0)
        return float(np.hypot.reduce(beyond))

    def reach(self, point: Array) -> float:
        """Return the distance from a point to the farthest corner [m]."""
        far = np.maximum(np.abs(self.low - point), np.abs(self.high - point))
        return float(np.hypot.reduce(far))


class Extents:
    """Measures parts of one model; what sits on each body is gathered once."""

    def __init__(self, model: Model) -> None:
        """Sort shapes, joints and frames by the body and link that carry them."""
        self._by_link: dict[str, list[Geometry]] = {}
        self._by_body: dict[int, list[Geometry]] = {}
        self._seats: dict[int, list[Array]] = {}
        for geometry in model.geometries:
            self._by_link.setdefault(geometry.link, []).append(geometry)
            self._by_body.setdefault(geometry.body, []).append(geometry)
        for child in model.bodies:
            self._seats.setdefault(child.parent, []).append(_numbers(child.placement)[1])
        for frame in model.frames:
            self._seats.setdefault(frame.body, []).append(_numbers(frame.placement)[1])

    def of(self, kind: str, name: str, body: int, placement: Transform) -> Extent:
        """Return the extent of a link or body in its own coordinates."""
        by_link = kind == "link"
        shapes = self._by_link.get(name, []) if by_link else self._by_body.get(body, [])
        on_body = [*self._seats.get(body, []), *(p for g in shapes for p in _corners(g))]
        E, r = _numbers(placement)
        points = [np.zeros(3), *(E @ (p - r) for p in on_body)]
        low, high = np.min(points, axis=0), np.max(points, axis=0)
        known = bool(shapes) and all(_half_sizes(g.shape) is not None for g in shapes)
        return Extent(low, high, known and float(np.hypot.reduce(high - low)) > STAND_IN)


def _corners(geometry: Geometry) -> Iterator[Array]:
    """Yield the corners of a box around a shape, in body coordinates; its centre for a mesh."""
    E, r = _numbers(geometry.placement)
    half = _half_sizes(geometry.shape)
    if half is None:
        yield r
        return
    for signs in product((-1, 1), repeat=3):
        yield r + E.T @ (np.array(half) * signs)


def _half_sizes(shape: Shape) -> tuple[float, ...] | None:
    match shape:
        case Box(size):
            return tuple(x / 2 for x in size)
        case Sphere(radius):
            return (radius,) * 3
        case Cylinder(radius, length):
            return (radius, radius, length / 2)
        case Capsule(radius, length):
            return (radius, radius, length / 2 + radius)
        case Ellipsoid(radii):
            return tuple(radii)
    return None


def _numbers(X: Transform) -> tuple[Array, Array]:
    E = np.array([[float(x) for x in row] for row in X.E])
    return E, np.array([float(x) for x in X.r])
