"""The step of motions with contact: semi-implicit Euler, joint by joint.

A joint says how it is advanced: free bodies in world axes, as MuJoCo does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sixfold.model import Model
from sixfold.scalar import Scalar
from sixfold.spatial import Column

Numbers = Sequence[Scalar]


def ground_step(
    system: Any, model: Model, t: Scalar, q: Numbers, v: Numbers, h: Scalar
) -> tuple[list[Scalar], list[Scalar]]:
    """Return q and v after a step of length h; states of a controller follow the velocities."""
    a = system.acceleration(t, q, v)
    moved: list[Scalar] = list(q)
    faster = [x + y * h for x, y in zip(v, a, strict=True)]
    for free in model.coordinates.free:
        own = Column(q[free.q]), Column(v[free.v]), Column(a[free.v])
        moved[free.q], faster[free.v] = map(list, free.joint.advance(*own, h))
    return moved, faster
