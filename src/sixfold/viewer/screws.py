"""Spatial vectors as screws: an axis, a size and a pitch, drawn as an arrow inside a coil."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixfold.scene.solids import pose_along
from sixfold.scene.triangles import Array

TURNS = 5.0
"""Most turns of a coil; a smaller pitch would fill it in."""
CORNERS = 20
"""Straight pieces of one turn."""
NOTHING = np.zeros((0, 2, 3))


class Screw(NamedTuple):
    """A spatial vector by its axis.  For a motion, `size` turns; for a force, it pushes."""

    direction: Array
    point: Array
    """A point of the axis, the nearest to the reference point."""
    size: float
    """Length of the part along the axis that gives it: omega, or f."""
    pitch: float
    """Advance over turn [m/rad], or moment over force [m]; inf for a pure translation or couple."""


def screw(line: Array, moment: Array, near: Array) -> Screw | None:
    """Return the screw of a line vector and its moment about the origin; None for zero.

    For a motion these are omega and the velocity at the origin, for a force f and its moment.

    Args:
        line: the part that has an axis, shape (3,).
        moment: the other part, about the world origin, shape (3,).
        near: the point of the axis nearest to this is returned, or this itself without an axis.
    """
    size = float(np.linalg.norm(line))
    rest = float(np.linalg.norm(moment))
    scale = max(1.0, float(np.linalg.norm(near)))
    if size <= 1e-9 * rest / scale or size < 1e-12:
        # no axis of its own: a translation or a couple, wherever it is drawn
        return Screw(moment / rest, near, rest, np.inf) if rest > 1e-12 else None
    direction = line / size
    foot = np.cross(line, moment) / size**2
    foot = foot + direction * float((near - foot) @ direction)
    return Screw(direction, foot, size, float(line @ moment) / size**2)


def arrow(s: Screw, length: float) -> Array:
    """Return start and end of a screw's arrow, (2, 3), centred on its point."""
    return np.stack([s.point - s.direction * length / 2, s.point + s.direction * length / 2])


def coil(s: Screw, length: float, radius: float) -> Array:
    """Return the pieces (n, 2, 3) of a coil about a screw's axis.

    It advances by the pitch: a ring for a pure rotation, steeper the larger the pitch, turning the
    other way for a negative one; nothing for a pure translation.
    """
    if not np.isfinite(s.pitch):
        return NOTHING
    lead = 2 * np.pi * abs(s.pitch)
    turns = 1.0 if lead * TURNS < 0.02 * length else float(np.clip(length / lead, 0.05, TURNS))
    rise = min(lead * turns, length)
    angle = np.linspace(0.0, 2 * np.pi * turns, max(4, int(np.ceil(CORNERS * turns))) + 1)
    hand = -1.0 if s.pitch < 0 else 1.0
    height = np.linspace(-rise / 2, rise / 2, len(angle))
    local = np.stack([radius * np.cos(angle), hand * radius * np.sin(angle), height], axis=1)
    pose = pose_along(s.direction, s.point)
    points = local @ pose[:3, :3].T + pose[:3, 3]
    return np.stack([points[:-1], points[1:]], axis=1)
