"""The form of our JSON files: the keys of each object, in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from sixfold.model import (
    STANDARD_JOINTS,
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Fixed,
    Joint,
    Mesh,
    Shape,
    Sphere,
)

FORMAT = "sixfold model"
PLAIN_VERSION, VERSION = 1, 2
"""Files of models without constraints and contact options are what they were in version 1; the
key `constraints`, and `contact` of geometries, came with version 2."""
CONSTRAINTS_FORMAT, CONSTRAINTS_VERSION = "sixfold constraints", 1
MODEL = (
    "format",
    "version",
    "name",
    "base_name",
    "gravity",
    "bodies",
    "frames",
    "couplings",
    "geometries",
)
PER_FREEDOM = {
    "damping": "v",
    "friction": "v",
    "friction_negative": "v",
    "friction_speed": "v",
    "stiffness": "v",
    "rest": "q",
    "armature": "v",
    "lower": "q",
    "upper": "q",
    "velocity_limit": "v",
    "effort_limit": "v",
}
"""Whether a list has one number for each position or each velocity coordinate."""
NO_LIMIT = {
    "lower": -math.inf,
    "upper": math.inf,
    "velocity_limit": math.inf,
    "effort_limit": math.inf,
}
"""What null means in these lists."""
BODY = ("name", "joint_name", "parent", "joint", "placement", "inertia", *PER_FREEDOM)
CONTACT = {
    **{"friction": 3, "solref": 2, "solimp": 5, "solmix": 1, "margin": 1, "gap": 1},
    **{"condim": 0, "contype": 0, "conaffinity": 0, "priority": 0},
}
"""Keys of how a shape touches others, and how many numbers each has; 0 means a whole one."""
GEOMETRY = ("body", "placement", "shape", "color", "material", "name", "link", "collides")


def _keys(kind: type[Joint]) -> tuple[str, ...]:
    return tuple(name for name in ("axis", "pitch") if hasattr(kind, name))


Joints = Mapping[str, tuple[Callable[..., Joint], tuple[str, ...]]]
JOINTS: Joints = {kind.__name__.lower(): (kind, _keys(kind)) for kind in STANDARD_JOINTS}
"""Class of each joint type and the keys beside its type."""
CLOSING_JOINTS: Joints = {
    "fixed": (Fixed, ()),
    **{name: row for name, row in JOINTS.items() if name != "free"},
}
"""The same for joints that close loops."""
SHAPES: Mapping[str, tuple[Callable[..., Shape], Mapping[str, int]]] = {
    "box": (Box, {"size": 3}),
    "sphere": (Sphere, {"radius": 1}),
    "cylinder": (Cylinder, {"radius": 1, "length": 1}),
    "capsule": (Capsule, {"radius": 1, "length": 1}),
    "ellipsoid": (Ellipsoid, {"radii": 3}),
    "mesh": (Mesh, {"file": 0, "scale": 3}),
}
"""Class of each shape, its keys and how many numbers each has; 0 means a text."""


def shape_kind(shape: Any) -> str:
    """Return the name of a shape in the file."""
    return type(shape).__name__.lower()
