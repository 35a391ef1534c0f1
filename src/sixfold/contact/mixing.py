"""The contact parameters of two shapes that meet, by MuJoCo's rules.

MuJoCo 4.0, engine_collision_driver.c (mj_contactParam, getMargin) and engine_core_constraint.c
(getsolparam).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sixfold.dynamics.contact.scene import Law
from sixfold.model import ContactOptions

SLIDING = 3
"""Condim of a contact with friction along its two tangents; more adds torsion and rolling."""
MIN_FRICTION = 1e-5
"""MuJoCo's least coefficient of a contact with friction."""
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
