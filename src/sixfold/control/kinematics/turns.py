"""Whole turns: angles that put a joint where it was, and the turn that is meant."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from sixfold.arrays import Array
from sixfold.model import Joint, Model
from sixfold.scalar import plain
from sixfold.spatial import Column

TURN = 2 * math.pi
SAME_POSE = 1e-6
"""Largest difference of two poses of a joint that are one."""


def turning(model: Model, but: Collection[int] = ()) -> Array:
    """Return the places in q of angles: a turn of such a coordinate puts its joint where it was.

    Args:
        model: the robot.
        but: velocity coordinates that do not count.
    """
    leaders = {master for coupling in model.couplings for master, _ in coupling.terms}
    places: list[int] = []
    for free in model.coordinates.free:
        if not free.joint.velocity_is_rate or free.body in leaders:
            continue
        at = [0.3 + 0.1 * k for k in range(free.joint.nq)]
        for k in range(free.joint.nq):
            turned = [x + TURN * (i == k) for i, x in enumerate(at)]
            same = np.abs(_pose(free.joint, turned) - _pose(free.joint, at)).max() < SAME_POSE
            if same and free.v.start + k not in but:
                places.append(free.q.start + k)
    return np.array(places, int)


def unwound(model: Model, q: Array, at: Array, about: Array | float, bounded: bool) -> Array:
    """Return configurations with angles as near to some as their limits allow.

    Args:
        model: the robot.
        q: configurations, shape (n, nq).
        at: places of the angles, as `turning` gives them.
        about: configurations to be near to, shape (n, nq), or one angle for all.
        bounded: keep to the limits of joints; an angle beyond them stays where it is.
    """
    q = q.copy()
    angles = q[:, at]
    near = angles - TURN * np.round((angles - np.broadcast_to(about, q.shape)[:, at]) / TURN)
    if bounded:
        low, high = model.lower_position[at], model.upper_position[at]
        short, long = np.maximum(low - near, 0.0), np.maximum(near - high, 0.0)
        near = near + TURN * (np.ceil(short / TURN) - np.ceil(long / TURN))
        near = np.where((near >= low) & (near <= high), near, angles)
    q[:, at] = near
    return q


def _pose(joint: Joint, q: list[float]) -> Array:
    X = joint.calc(Column(q), Column.zero(joint.nv)).XJ
    return np.array([[float(plain(x)) for x in row] for row in X.pose()])
