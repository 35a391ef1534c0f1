"""Colours of robots that bring none of their own, and of what is drawn on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sixfold.scene.triangles import Array

Color = tuple[int, int, int]

BASE: Color = (74, 85, 99)
BODY: Color = (205, 212, 220)
LINK: Color = (122, 142, 166)
TIP: Color = (226, 98, 52)
RAIL: Color = (163, 174, 188)
JOINTS: dict[str, Color] = {
    "revolute": (238, 146, 62),
    "prismatic": (46, 160, 143),
    "helical": (196, 132, 48),
    "cylindrical": (70, 146, 190),
    "planar": (98, 168, 92),
    "universal": (214, 96, 116),
    "spherical": (146, 104, 196),
    "translational": (46, 148, 170),
    "free": (110, 120, 200),
    "customjoint": (120, 120, 128),
}
"""One colour for each kind of joint."""
VELOCITY: Color = (32, 128, 214)
ACCELERATION: Color = (150, 84, 200)
FORCE: Color = (214, 60, 60)
LOOP: Color = (204, 92, 168)
CONTACT: Color = (230, 92, 8)
OPEN: Color = (168, 178, 190)
CONE: Color = (64, 150, 214)
MASS: Color = (250, 196, 40)

# the ends and middle of a scale that stays readable for most kinds of colour blindness
_RAMP = np.array([[53, 92, 167], [76, 163, 190], [157, 206, 140], [247, 205, 94], [226, 98, 52]])
SERIES = ("#2f6fde", "#e2622f", "#2a9d6f", "#9b59c9", "#d1a000", "#1aa0b8", "#d6457a", "#6b7787")
"""Colours of lines in plots, taken in turn."""


def ramp(x: Array) -> Array:
    """Return colours (..., 3) from 0 to 255 for numbers from 0 to 1."""
    at = np.linspace(0.0, 1.0, len(_RAMP))
    return np.stack([np.interp(x, at, _RAMP[:, k]) for k in range(3)], axis=-1)


def rgb(color: Sequence[float]) -> Color:
    """Return a colour with elements from 0 to 1 as numbers from 0 to 255."""
    r, g, b = (round(255 * min(1.0, max(0.0, float(x)))) for x in color[:3])
    return r, g, b
