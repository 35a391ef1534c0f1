"""What may touch what, and by which law: data that the contact algorithms read.

Bodies are numbered as in a tree: 0 is the fixed base.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
class Law:
    """How soft a constraint is, with MuJoCo's meaning."""

    solref: tuple[float, float] = (0.02, 1.0)
    """Time constant [s] and damping ratio."""
    solimp: tuple[float, float, float, float, float] = (0.9, 0.95, 0.001, 0.5, 2.0)
    """Impedance at the surface and at depth, that depth [m], midpoint and power of the sigmoid."""


@dataclass(frozen=True)
class Touch:
    """A contact that may close: a ball against the ground (other is None), a ball or a rod."""

    ball: Ball
    other: Ball | Rod | None
    friction: float
    weight: float
    """Inverse of the mass felt at the contact at the neutral configuration [1/kg]."""
    law: Law
    margin: float
    """Gap below which the contact is active [m]."""


@dataclass(frozen=True)
class JointLimit:
    """A joint limit: places of the coordinate in q and v, limits, inverse of the inertia felt."""

    q: int
    v: int
    lower: float
    upper: float
    weight: float
    law: Law
    margin: float
    """Distance from the limit below which it is active [rad or m]."""


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

    surface: Any
    """Has `meet(point)`; see `surfaces`."""
    touches: tuple[Touch, ...]
    limits: tuple[JointLimit, ...]
    frictions: tuple[DryFriction, ...]
    impratio: float
    iterations: int
    """Rounds of the solver at the most."""
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
    def grounded(self) -> set[int]:
        """The bodies that may touch the ground."""
        return {touch.ball.body for touch in self.touches if touch.other is None}
