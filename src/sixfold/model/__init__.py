"""The kinematic tree as frozen data: joints, bodies, builder, DH tables, sample robots."""

from sixfold.model.builder import ModelBuilder
from sixfold.model.custom import CustomJoint
from sixfold.model.dh import DHRow, from_dh
from sixfold.model.edit import add_payload, attach, lock_joints, replace_inertias
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
from sixfold.model.joint import Joint, JointState
from sixfold.model.joints import (
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
from sixfold.model.model import Body, Coupling, Frame, Model
from sixfold.model.origin import Link, Origin
from sixfold.model.rename import rename
from sixfold.model.samples import SAMPLES, random_tree, sample
from sixfold.model.tree import Tree

__all__ = [
    "SAMPLES",
    "STANDARD_JOINTS",
    "Body",
    "Box",
    "Capsule",
    "Coupling",
    "CustomJoint",
    "Cylinder",
    "Cylindrical",
    "DHRow",
    "Ellipsoid",
    "Fixed",
    "Frame",
    "Free",
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
    "rename",
    "replace_inertias",
    "sample",
]
