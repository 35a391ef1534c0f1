"""The kinematic tree as frozen data: joints, bodies, builder, DH tables, sample robots.

What a program that only evaluates a robot does not need is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sixfold.model.body import Body, Coupling, Frame
from sixfold.model.builder import ModelBuilder
from sixfold.model.coordinates import Coordinates, FreeJoint
from sixfold.model.joint.custom import CustomJoint
from sixfold.model.joint.joint import Joint, JointState
from sixfold.model.joint.standard import (
    STANDARD_JOINTS,
    Cylindrical,
    Fixed,
    Free,
    Helical,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Translational,
    Universal,
)
from sixfold.model.model import Model
from sixfold.model.tree import Tree

if TYPE_CHECKING:
    from sixfold.model.dh import DHRow, from_dh
    from sixfold.model.edit.edit import add_payload, attach, lock_joints, replace_inertias
    from sixfold.model.geometry import (
        Box,
        Capsule,
        Cylinder,
        Ellipsoid,
        Geometry,
        Mesh,
        Shape,
        Sphere,
    )
    from sixfold.model.grouping import grouped
    from sixfold.model.samples import SAMPLES, random_tree, sample
    from sixfold.model.source_file import Link, Origin

_LATER = {
    "dh": ("DHRow", "from_dh"),
    "edit.edit": ("add_payload", "attach", "lock_joints", "replace_inertias"),
    "geometry": (
        *("Box", "Capsule", "Cylinder", "Ellipsoid"),
        *("Geometry", "Mesh", "Shape", "Sphere"),
    ),
    "grouping": ("grouped",),
    "source_file": ("Link", "Origin"),
    "samples": ("SAMPLES", "random_tree", "sample"),
}
_HOME = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import the module that a name comes from."""
    if name not in _HOME:
        raise AttributeError(f"module 'sixfold.model' has no attribute {name!r}")
    value = getattr(import_module(f"sixfold.model.{_HOME[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "SAMPLES",
    "STANDARD_JOINTS",
    "Body",
    "Box",
    "Capsule",
    "Coordinates",
    "Coupling",
    "CustomJoint",
    "Cylinder",
    "Cylindrical",
    "DHRow",
    "Ellipsoid",
    "Fixed",
    "Frame",
    "Free",
    "FreeJoint",
    "Geometry",
    "Helical",
    "Joint",
    "JointState",
    "Link",
    "Mesh",
    "Model",
    "ModelBuilder",
    "Origin",
    "Planar",
    "Prismatic",
    "Revolute",
    "Shape",
    "Sphere",
    "Spherical",
    "Translational",
    "Tree",
    "Universal",
    "add_payload",
    "attach",
    "from_dh",
    "grouped",
    "lock_joints",
    "random_tree",
    "replace_inertias",
    "sample",
]
