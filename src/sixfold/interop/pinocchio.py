"""Models from Pinocchio (`pip install pin`), and its own results for states of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sixfold.errors import NotApplicableError
from sixfold.interop.constraints import pinocchio_constraints
from sixfold.interop.to_pinocchio import pinocchio_package
from sixfold.model import Free, Joint, Model, ModelBuilder, Prismatic, Revolute, Spherical
from sixfold.spatial import Inertia, Transform

Array = NDArray[np.float64]
Results = dict[str, Array]

PROXIMAL = (1e-14, 1e-10, 50)
"""Accuracy, mu and most steps of the constrained dynamics; redundant rows need a mu."""
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


class Pinocchio:
    """One model of Pinocchio, asked for its results."""

    name = "pinocchio"
    counts_rotors = False
    """Its kinetic energy counts armature for some joints only, though its dynamics has it all."""

    def __init__(self, robot: Any) -> None:
        """Take the model and make room for its results."""
        self.pin = pinocchio_package()
        self.version = self.pin.__version__
        self.robot = robot
        self.data = robot.createData()
        self.without_rotors = robot.copy()
        self.without_rotors.armature = np.zeros(robot.nv)
        bodies = [k for k, frame in enumerate(robot.frames) if frame.type == self.pin.BODY]
        self.numbers = bodies or list(range(robot.nframes))
        self.frames = [robot.frames[k].name for k in self.numbers]

    def results(self, q: Array, v: Array, a: Array, tau: Array) -> Results:
        """Return Pinocchio's results at one state, in its own coordinates."""
        pin, robot, data = self.pin, self.robot, self.data
        found = {"inverse dynamics": pin.rnea(robot, data, q, v, a).copy()}
        found["bias"] = pin.nonLinearEffects(robot, data, q, v).copy()
        found["forward dynamics"] = pin.aba(robot, data, q, v, tau).copy()
        upper = np.triu(pin.crba(robot, data, q))
        found["mass matrix"] = upper + np.triu(upper, 1).T
        energy = pin.computeKineticEnergy(self.without_rotors, data, q, v)
        found["kinetic energy"] = np.array(energy)
        found["potential energy"] = np.array(pin.computePotentialEnergy(robot, data, q))
        pin.framesForwardKinematics(robot, data, q)
        found["poses"] = np.array([data.oMf[k].homogeneous for k in self.numbers])
        return found

    def constrained(self, model: Model) -> Callable[[Array, Array, Array], Array]:
        """Return Pinocchio's constrained dynamics, a function of its q, v and tau."""
        pin, robot, data = self.pin, self.robot, self.robot.createData()
        contacts = pinocchio_constraints(model, robot)
        parts = [contact.createData() for contact in contacts]
        try:
            pin.initConstraintDynamics(robot, data, contacts, parts)
        except TypeError:  # before version 4
            pin.initConstraintDynamics(robot, data, contacts)
        steps = pin.ProximalSettings(*PROXIMAL)

        def solve(q: Array, v: Array, tau: Array) -> Array:
            found = pin.constraintDynamics(robot, data, q, v, tau, contacts, parts, steps)
            return np.array(found)

        return solve

    def remarks(self) -> Iterator[str]:
        """Yield what the comparison has to allow for."""
        if np.any(self.robot.armature):
            yield "armature: left out of the kinetic energy, where pinocchio has it for some joints"
