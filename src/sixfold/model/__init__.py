"""The kinematic tree as frozen data: joints, bodies, builder, DH tables, sample robots.

What a program that only evaluates a robot does not need is imported when it is first asked for.
"""

from typing import TYPE_CHECKING

from sixfold.model.body import Body, Coupling, Frame
from sixfold.model.constraint import Constraint, Distance, Gear, Loop, Rolling
from sixfold.model.coordinates import Coordinates, FreeJoint
from sixfold.model.joint import Joint, JointState
from sixfold.model.model import Model
from sixfold.model.standard_joints import (
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
from sixfold.model.tree import Tree
from sixfold.optional import later

if TYPE_CHECKING:
    from sixfold.model.builder import ModelBuilder
    from sixfold.model.custom_joint import CustomJoint
    from sixfold.model.edit import add_payload, attach, lock_joints, replace_inertias
    from sixfold.model.geometry import (
        Box,
        Capsule,
        ContactOptions,
        Cylinder,
        Ellipsoid,
        Geometry,
        ImpactPoint,
        Link,
        Mesh,
        Shape,
        SourceInfo,
        Sphere,
    )
    from sixfold.model.grouping import grouped
    from sixfold.model.samples import random_tree
    from sixfold.model.tables import DHRow, from_arrays, from_dh

_LATER = {
    "builder": ("ModelBuilder",),
    "custom_joint": ("CustomJoint",),
    "edit": ("add_payload", "attach", "lock_joints", "replace_inertias"),
    "geometry": (
        *("Box", "Capsule", "ContactOptions", "Cylinder", "Ellipsoid"),
        *("Geometry", "ImpactPoint", "Link", "Mesh", "Shape", "SourceInfo", "Sphere"),
    ),
    "grouping": ("grouped",),
    "tables": ("DHRow", "from_arrays", "from_dh"),
    "samples": ("random_tree",),
}

if not TYPE_CHECKING:  # static tools know all names, and find those that are spelled wrong
    __getattr__ = later(__name__, _LATER)


__all__ = [
    "STANDARD_JOINTS",
    "Body",
    "Box",
    "Capsule",
    "Constraint",
    "ContactOptions",
    "Coordinates",
    "Coupling",
    "CustomJoint",
    "Cylinder",
    "Cylindrical",
    "DHRow",
    "Distance",
    "Ellipsoid",
    "Fixed",
    "Frame",
    "Free",
    "FreeJoint",
    "Gear",
    "Geometry",
    "Helical",
    "ImpactPoint",
    "Joint",
    "JointState",
    "Link",
    "Loop",
    "Mesh",
    "Model",
    "ModelBuilder",
    "Planar",
    "Prismatic",
    "Revolute",
    "Rolling",
    "Shape",
    "SourceInfo",
    "Sphere",
    "Spherical",
    "Translational",
    "Tree",
    "Universal",
    "add_payload",
    "attach",
    "from_arrays",
    "from_dh",
    "grouped",
    "lock_joints",
    "random_tree",
    "replace_inertias",
]
