"""A point where bodies strike: where it is, which way it is hit, and how hard it bounces."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sixfold.errors import ModelError
from sixfold.model.values import check_name, numbers_of

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
        against: the body or frame that is struck; the world if left out.

    Example:
        >>> import sixfold as sf
        >>> ball, builder = sf.Inertia.from_mass(2.0), sf.ModelBuilder("ball")
        >>> model = builder.add_body("ball", joint=sf.Prismatic("z"), inertia=ball).build()
        >>> floor = sf.ImpactPoint("ball", restitution=0.5)
        >>> v, impulse = sf.impact(model, [0.0], [-3.0], floor)
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
            raise ModelError(_WHERE, f"normal {normal} has no direction", "give a vector that has")
        self._set("normal", tuple(x / length + 0.0 for x in normal))
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
    def held(self) -> bool:
        """Whether the point does not slide, whatever the impulse."""
        return math.isinf(self.friction)


def _three(name: str, values: Any) -> Three:
    x, y, z = numbers_of(_WHERE, name, values, 3)
    return x, y, z
