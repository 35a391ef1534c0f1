"""What may touch what, and by which law: data that the pages of this room read.

Bodies are numbered as in a tree: 0 is the fixed base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sixfold.model.tree import Tree

Numbers3 = tuple[float, float, float]


@dataclass(frozen=True)
class Ball:
    """A sphere on a body; a point where its radius is zero."""

    body: int
    center: Numbers3
    """In body coordinates [m]."""
    radius: float = 0.0


@dataclass(frozen=True)
class Rod:
    """A capsule on a body: all points within a radius of a segment."""

    body: int
    start: Numbers3
    end: Numbers3
    radius: float


@dataclass(frozen=True)
class Touch:
    """A contact that may close: a ball against the ground (other is None), a ball or a rod."""

    ball: Ball
    other: Ball | Rod | None
    friction: float
    weight: float
    """Inverse of the mass felt at the contact at the neutral configuration [1/kg]."""


@dataclass(frozen=True)
class Stop:
    """A joint limit: places of the coordinate in q and v, limits, inverse of the inertia felt."""

    q: int
    v: int
    lower: float
    upper: float
    weight: float


@dataclass(frozen=True)
class Drag:
    """Dry friction of a joint: place in v, most force against either direction, weight."""

    v: int
    forward: float
    backward: float
    weight: float


@dataclass(frozen=True)
class Law:
    """How a constraint gives way, with MuJoCo's meaning."""

    solref: tuple[float, float] = (0.02, 1.0)
    """Time constant [s] and damping ratio."""
    solimp: tuple[float, float, float, float, float] = (0.9, 0.95, 0.001, 0.5, 2.0)
    """Impedance at the surface and at depth, that depth [m], midpoint and power of the way."""


@dataclass(frozen=True)
class Scene:
    """All constraints of a model that may become active."""

    surface: Any
    """Has `meet(point)`; see `surfaces`."""
    touches: tuple[Touch, ...]
    stops: tuple[Stop, ...]
    drags: tuple[Drag, ...]
    law: Law
    margin: float
    """Gap below which a contact is active [m]."""
    impratio: float
    iterations: int
    newton: int
    rigid: bool
    restitution: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each constraint: contacts, stops, drags."""
        cones = [3 if touch.friction > 0 else 1 for touch in self.touches]
        return (*cones, *[1] * len(self.stops), *[1] * len(self.drags))

    def bodies(self, tree: Tree) -> set[int]:
        """Return the bodies that constraints act on, directly or by their joints."""
        freedoms = [stop.v for stop in self.stops] + [drag.v for drag in self.drags]
        at = tree.velocity_slices
        found = {i for i in tree.bodies if any(at[i].start <= k < at[i].stop for k in freedoms)}
        for touch in self.touches:
            found |= {touch.ball.body, touch.other.body if touch.other is not None else 0}
        return found

    @property
    def memory(self) -> int:
        """How many numbers the solver keeps from one step to the next."""
        return sum(self.sizes)
