"""Models from Pinocchio (`pip install pin`), which this module reads but does not import."""

from __future__ import annotations

from collections.abc import Sequence
from sys import float_info
from typing import Any

from sixfold.errors import NotApplicableError
from sixfold.model import Free, Joint, Model, ModelBuilder, Prismatic, Revolute, Spherical
from sixfold.spatial import Inertia, Transform

_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def from_pinocchio(robot: Any, name: str | None = None) -> Model:
    """Return the tree of a `pinocchio.Model`: joints, placements, inertias, frames and gravity.

    Joints keep Pinocchio's order and names.  A continuous joint has one coordinate here and two
    (cosine and sine) there.  Joint damping, friction and rotor inertia, which Pinocchio stores but
    leaves out of its dynamics, are left out here as well.
    """
    gravity = tuple(float(x) for x in robot.gravity.linear)
    builder = ModelBuilder(name or robot.name, gravity=gravity, base_name="universe")
    names = list(robot.names)
    # Pinocchio's bodies have no names of their own
    bodies = ["universe", *(f"{joint}_body" for joint in names[1:])]
    for j in range(1, robot.njoints):
        builder.add_body(
            bodies[j],
            parent=bodies[robot.parents[j]],
            joint=_joint(robot.joints[j], names[j]),
            joint_name=names[j],
            placement=_transform(robot.jointPlacements[j]),
            inertia=_inertia(robot.inertias[j]),
        )
    taken = {"universe", *bodies}
    for frame in robot.frames:
        if frame.name not in taken:
            taken.add(frame.name)
            parent = bodies[frame.parentJoint]
            builder.add_frame(frame.name, parent, _transform(frame.placement))
    return builder.build()


def _joint(joint: Any, name: str) -> Joint:
    kind = joint.shortname().removeprefix("JointModel")
    if kind == "FreeFlyer":
        return Free()
    if kind == "Spherical":
        return Spherical()
    for prefix, make in (
        ("RevoluteUnaligned", Revolute),
        ("RevoluteUnboundedUnaligned", Revolute),
        ("PrismaticUnaligned", Prismatic),
    ):
        if kind == prefix:
            return make(_axis(joint))
    for prefix, make in (("RUB", Revolute), ("R", Revolute), ("P", Prismatic)):
        if kind.startswith(prefix) and kind[len(prefix) :] in _AXES:
            return make(_AXES[kind[len(prefix) :]])
    raise NotApplicableError(
        "from_pinocchio", f"joint '{name}' of type {joint.shortname()}", "lock the joint first"
    )


def _axis(joint: Any) -> Sequence[float]:
    holder = joint.extract() if hasattr(joint, "extract") else joint
    return [float(x) for x in holder.axis]


def _transform(placement: Any) -> Transform:
    rotation = [[_clean(float(x)) for x in row] for row in placement.rotation]
    return Transform.from_pose(rotation, [float(x) for x in placement.translation])


def _clean(x: float) -> float:
    """Return 0, 1 or -1 for a direction cosine that differs from it by rounding only."""
    nearest = float(round(x))
    return nearest if abs(x - nearest) < 4 * float_info.epsilon else x


def _inertia(inertia: Any) -> Inertia:
    rotational = [[float(x) for x in row] for row in inertia.inertia]
    symmetric = [[rotational[min(r, c)][max(r, c)] for c in range(3)] for r in range(3)]
    return Inertia.from_mass(float(inertia.mass), [float(x) for x in inertia.lever], symmetric)
