"""Numbers of a model that are hardly meant: limits in degrees, inertias that no body has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sixfold.model.body import Body
from sixfold.spatial import Inertia

MANY_TURNS = 4 * math.pi
"""Angles [rad] of a joint with limits are at most two turns."""
MOST_DEGREES = 720.0
"""Larger limits stand for none."""
ROUNDING = 1e-6
"""Fraction of the largest moment that a tensor of few digits may be off by."""
MEASURED = 0.1
"""Fraction of the largest moment by which measured moments miss the triangle inequality."""


def degree_limits(body: Body) -> Iterator[tuple[int, float, float]]:
    """Yield (coordinate, lower, upper) of limits that look like degrees.

    They are multiples of 5 beyond two turns: 90, 180, 270.
    """
    for k in _angles(body):
        low, high = body.lower[k], body.upper[k]
        given = [x for x in (low, high) if x and math.isfinite(x)]
        largest = max(map(abs, given), default=0.0)
        if MANY_TURNS < largest <= MOST_DEGREES and all(x % 5 == 0 for x in given):
            yield k, low, high


def beyond_turns(body: Body, q: Sequence[float]) -> Iterator[tuple[int, float]]:
    """Yield (coordinate, angle) of angles outside of a joint's limits by more than two turns."""
    for k in _angles(body):
        low, high = body.lower[k], body.upper[k]
        if math.isfinite(high - low) and max(low - q[k], q[k] - high) > MANY_TURNS:
            yield k, float(q[k])


def impossible(inertias: Sequence[Inertia]) -> Iterator[tuple[int, str]]:
    """Yield (number, reason) of inertias that no body has.

    Two moments that are exactly zero are taken for those of a planar problem, which has one.
    """
    tensors = [inertia.about_center if inertia.m else inertia.I for inertia in inertias]
    if not tensors:
        return
    stack = np.array([np.array(tensor.matrix(), float) for tensor in tensors])
    usable = np.isfinite(stack).all(axis=(1, 2)) & stack.any(axis=(1, 2))
    moments = np.zeros((len(stack), 3))
    moments[usable] = np.linalg.eigvalsh(stack[usable])
    size = np.abs(moments).max(axis=1)
    # what moving a tensor to the centre of mass may have cost
    lever = np.array([_lever(inertia) for inertia in inertias])
    slack = ROUNDING * (size + lever)
    negative = moments[:, 0] < -slack
    excess = moments[:, 2] - moments[:, 0] - moments[:, 1] > MEASURED * size + slack
    planar = (moments[:, 0] == 0) & (moments[:, 1] == 0)
    for k in np.flatnonzero(negative | (excess & ~planar)):
        listed = ", ".join(f"{x:.4g}" for x in moments[k])
        why = "one is negative" if negative[k] else "the last exceeds the sum of the others"
        yield int(k), f"principal moments {listed} kg m^2: {why}"


def _lever(inertia: Inertia) -> float:
    """Return m c^2."""
    m = float(inertia.m)
    return sum(float(x) * float(x) for x in inertia.h) / m if m else 0.0


def _angles(body: Body) -> Iterator[int]:
    """Yield the coordinates of a joint that are angles; a joint of the user's own may have any."""
    joint = body.joint
    turns = joint.quaternion()
    if joint.is_code:
        return
    for k, far in enumerate(joint.reach()):
        if far == math.pi and not (turns is not None and turns.start <= k < turns.stop):
            yield k
