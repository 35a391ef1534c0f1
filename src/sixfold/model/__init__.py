"""The kinematic tree as frozen data: joints, bodies, builder, DH tables, sample robots.

What a program that only evaluates a robot does not need is imported when it is first asked for.
"""

from typing import TYPE_CHECKING

from sixfold.model.body import Body, Coupling, Frame
from sixfold.model.constraint import Constraint, Distance, Gear, Loop, Rolling
from sixfold.model.coordinates import Coordinates, FreeJoint
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
from sixfold.optional import later

if TYPE_CHECKING:
    from sixfold.model.builder import ModelBuilder
    from sixfold.model.edit.attach import attach
    from sixfold.model.edit.lock import lock_joints
    from sixfold.model.edit.payload import add_payload, replace_inertias
    from sixfold.model.geometry import (
        Box,
        Capsule,
        ContactOptions,
        Cylinder,
        Ellipsoid,
        Geometry,
        Mesh,
        Shape,
        Sphere,
    )
    from sixfold.model.grouping import grouped
    from sixfold.model.impact_point import ImpactPoint
    from sixfold.model.joint.custom import CustomJoint
    from sixfold.model.samples import SAMPLES, random_tree, sample
    from sixfold.model.source_file import Link, SourceInfo
    from sixfold.model.tables.dh import DHRow, from_dh
    from sixfold.model.tables.from_arrays import from_arrays

_LATER = {
    "builder": ("ModelBuilder",),
    "tables.dh": ("DHRow", "from_dh"),
    "tables.from_arrays": ("from_arrays",),
    "edit.attach": ("attach",),
    "edit.lock": ("lock_joints",),
    "edit.payload": ("add_payload", "replace_inertias"),
    "geometry": (
        *("Box", "Capsule", "ContactOptions", "Cylinder", "Ellipsoid"),
        *("Geometry", "Mesh", "Shape", "Sphere"),
    ),
    "grouping": ("grouped",),
    "impact_point": ("ImpactPoint",),
    "joint.custom": ("CustomJoint",),
    "source_file": ("Link", "SourceInfo"),
    "samples": ("SAMPLES", "random_tree", "sample"),
}

if not TYPE_CHECKING:  # static tools know all names, and find those that are spelled wrong
    __getattr__ = later(__name__, _LATER)


__all__ = [
    "SAMPLES",
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
    "sample",
]
