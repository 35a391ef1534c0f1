"""A `pinocchio.Model` from a Model."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.errors import NotApplicableError
from sixfold.model import (
    Cylindrical,
    Free,
    Helical,
    Joint,
    Model,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Translational,
    Universal,
)
from sixfold.optional import missing, optional
from sixfold.spatial import Inertia, Transform

X, Y, Z = np.eye(3)


def pinocchio_package() -> Any:
    """Return Pinocchio, imported on first use."""
    pin = optional("pinocchio", "the comparison")
    if not hasattr(pin, "Model"):  # another package of that name
        raise missing("pinocchio", "the comparison")
    return pin


def to_pinocchio(model: Model) -> Any:
    """Return the robot as a `pinocchio.Model`: joints, placements, inertias, frames, gravity.

    Joints are numbered depth first, as Pinocchio's mass matrix needs them, so their order may
    differ from the model's; `sixfold.convert` matches them by name.  Armature goes with them.
    Damping, friction and springs do not: Pinocchio has no springs, and stores damping and friction
    without using them.  Joints that follow others become free.  Pinocchio keeps constraints apart
    from its models: `pinocchio_constraints` makes them.

    Raises:
        NotApplicableError: for a user-defined joint, or if Pinocchio is missing.
    """
    pin = pinocchio_package()
    robot = pin.Model()
    robot.name = model.name
    robot.gravity = pin.Motion(np.array(model.gravity), np.zeros(3))
    number = {-1: 0}
    order = _depth_first(model)
    for k in order:
        body = model.bodies[k]
        joint = _joint(pin, body.joint, body.joint_name)
        place = se3_of(pin, body.placement)
        j = number[k] = robot.addJoint(number[body.parent], joint, place, body.joint_name)
        robot.appendBodyToJoint(j, _inertia(pin, body.inertia), pin.SE3.Identity())
        robot.addBodyFrame(body.name, j, pin.SE3.Identity(), 0)
    for frame in model.frames:
        robot.addBodyFrame(frame.name, number[frame.body], se3_of(pin, frame.placement), 0)
    robot.armature = np.array([x for k in order for x in model.bodies[k].armature], float)
    return robot


def _depth_first(model: Model) -> list[int]:
    """Return the bodies so that each subtree is one run."""
    children: dict[int, list[int]] = {}
    for k, parent in enumerate(model.parent):
        children.setdefault(parent, []).append(k)
    order, todo = [], [*reversed(children.get(-1, []))]
    while todo:
        k = todo.pop()
        order.append(k)
        todo.extend(reversed(children.get(k, [])))
    return order


def _joint(pin: Any, joint: Joint, name: str) -> Any:
    match joint:
        case Revolute():
            return pin.JointModelRevoluteUnaligned(_vector(joint.axis))
        case Prismatic():
            return pin.JointModelPrismaticUnaligned(_vector(joint.axis))
        case Helical():
            return pin.JointModelHelicalUnaligned(_vector(joint.axis), float(joint.pitch))
        case Spherical():
            return pin.JointModelSpherical()
        case Translational():
            return pin.JointModelTranslation()
        case Free():
            return pin.JointModelFreeFlyer()
        case Cylindrical():
            axis = _vector(joint.axis)
            parts = [pin.JointModelRevoluteUnaligned(axis), pin.JointModelPrismaticUnaligned(axis)]
        case Planar():
            parts = [pin.JointModelPX(), pin.JointModelPY(), pin.JointModelRZ()]
        case Universal():
            parts = [pin.JointModelRX(), pin.JointModelRY()]
        case _:
            raise NotApplicableError(
                "to_pinocchio", f"joint '{name}' of kind {joint.kind}", "lock the joint first"
            )
    whole = pin.JointModelComposite(len(parts))
    for part in parts:
        whole.addJoint(part)
    return whole


def _vector(axis: Any) -> Any:
    return np.array([float(x) for x in axis])


def se3_of(pin: Any, X: Transform) -> Any:
    """Return a placement as a `pinocchio.SE3`."""
    rotation = np.array([[float(x) for x in row] for row in X.E.T])
    return pin.SE3(rotation, np.array([float(x) for x in X.r]))


def _inertia(pin: Any, inertia: Inertia) -> Any:
    center = np.array([float(x) for x in inertia.center])
    xx, yy, zz, xy, xz, yz = (float(x) for x in inertia.about_center)
    rotational = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return pin.Inertia(float(inertia.m), center, rotational)
