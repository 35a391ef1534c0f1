"""Models to and from Pinocchio (`pip install pin`), and its own results for a comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from sys import float_info
from typing import Any

import numpy as np

from sixfold.arrays import Array
from sixfold.errors import ArgumentError, NotApplicableError, UnknownNameError
from sixfold.interop.model_parts import floats, rotational_inertia, split_loop
from sixfold.lazy import missing, optional
from sixfold.model import (
    Cylindrical,
    Free,
    Helical,
    Joint,
    Model,
    ModelBuilder,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Translational,
    Universal,
)
from sixfold.model.validate import check_name
from sixfold.runtime import require_model
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
    differ from the model's; `sixfold.interop.convert` matches them by name.  Armature goes with
    them. Damping, friction and springs do not: Pinocchio has no springs, and stores damping and
    friction without using them.  Joints that follow others become free.  Pinocchio keeps
    constraints apart from its models: `pinocchio_constraints` makes them.

    Args:
        model: the robot.

    Returns:
        A `pinocchio.Model`.

    Raises:
        NotApplicableError: for a user-defined joint, or if Pinocchio is not installed.
        ArgumentError: if `model` is not a `Model`.

    Example:
        >>> import numpy as np, pinocchio, sixfold as sf
        >>> arm, q = sf.load("double_pendulum"), np.array([0.1, 0.2])
        >>> robot = sf.interop.to_pinocchio(arm)
        >>> list(robot.names)
        ['universe', 'shoulder', 'elbow']
        >>> M = pinocchio.crba(robot, robot.createData(), q)
        >>> np.allclose(M, sf.mass_matrix(arm, q))
        True
    """
    pin = pinocchio_package()
    require_model("to_pinocchio", model)
    robot = pin.Model()
    robot.name = model.name
    robot.gravity = pin.Motion(np.array(model.gravity), np.zeros(3))
    # joints and bodies, parents first
    number = {-1: 0}
    order = _depth_first(model)
    for k in order:
        body = model.bodies[k]
        joint = _joint_model(pin, body.joint, body.joint_name)
        place = se3_of(pin, body.placement)
        j = number[k] = robot.addJoint(number[body.parent], joint, place, body.joint_name)
        robot.appendBodyToJoint(j, _inertia_model(pin, body.inertia), pin.SE3.Identity())
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


def _joint_model(pin: Any, joint: Joint, name: str) -> Any:
    match joint:
        case Revolute():
            return pin.JointModelRevoluteUnaligned(floats(joint.axis))
        case Prismatic():
            return pin.JointModelPrismaticUnaligned(floats(joint.axis))
        case Helical():
            return pin.JointModelHelicalUnaligned(floats(joint.axis), float(joint.pitch))
        case Spherical():
            return pin.JointModelSpherical()
        case Translational():
            return pin.JointModelTranslation()
        case Free():
            return pin.JointModelFreeFlyer()
        case Cylindrical():
            axis = floats(joint.axis)
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


def se3_of(pin: Any, X: Transform) -> Any:
    """Return a placement as a `pinocchio.SE3`."""
    return pin.SE3(floats(X.E.T), floats(X.r))


def _inertia_model(pin: Any, inertia: Inertia) -> Any:
    return pin.Inertia(float(inertia.m), floats(inertia.center), rotational_inertia(inertia))


def pinocchio_constraints(model: Model, robot: Any) -> list[Any]:
    """Return the constraints of a model as Pinocchio takes them, apart from its model.

    Args:
        model: the robot here.
        robot: the `pinocchio.Model` of it, as `to_pinocchio` makes it.

    Returns:
        `RigidConstraintModel` objects for `pinocchio.constraintDynamics`: CONTACT_3D for a point,
        two of them on the axis of a hinge, CONTACT_6D for a weld.  A hinge has one row more than
        here, so give the solver a small mu.

    Raises:
        NotApplicableError: for other constraints, by name, or if Pinocchio is not installed.
        ArgumentError: if an argument is of another type.
        UnknownNameError: if the robot lacks a joint of the model.

    Example:
        >>> import sixfold as sf
        >>> leg = sf.load("four_bar_leg")
        >>> robot = sf.interop.to_pinocchio(leg)
        >>> [each.name for each in sf.interop.pinocchio_constraints(leg, robot)]
        ['knee rod']
    """
    pin = pinocchio_package()
    if not isinstance(model, Model):
        fix = "use sixfold.load"
        raise ArgumentError("pinocchio_constraints: argument 'model'", "a Model", model, fix)
    if not hasattr(robot, "getJointId"):
        fix = "pass the result of to_pinocchio"
        where = "pinocchio_constraints: argument 'robot'"
        raise ArgumentError(where, "a pinocchio.Model", robot, fix)
    found = []
    for each in model.constraints:
        for pair in split_loop("pinocchio_constraints", each):
            kind = pin.ContactType.CONTACT_6D if pair.weld else pin.ContactType.CONTACT_3D
            # a contact joins two joints at frames of theirs
            ends = [(pair.body_a, pair.at_a), (pair.body_b, pair.at_b)]
            if pair.body_a < 0:
                ends.reverse()  # the universe goes second there
            (i, a), (j, b) = ((_joint_id(model, robot, k), se3_of(pin, X)) for k, X in ends)
            found.append(pin.RigidConstraintModel(kind, robot, i, a, j, b, pin.LOCAL))
            found[-1].name = pair.name
    return found


def _joint_id(model: Model, robot: Any, body: int) -> int:
    if body < 0:
        return 0
    name = model.joint_names[body]
    if not robot.existJointName(name):
        known = list(robot.names)
        raise UnknownNameError("joint", name, known, where="pinocchio_constraints")
    return int(robot.getJointId(name))


Results = dict[str, Array]

#: Accuracy, mu and most steps of the constrained dynamics; redundant rows need a mu.
PROXIMAL = (1e-14, 1e-10, 50)
_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def from_pinocchio(robot: Any, name: str | None = None) -> Model:
    """Return the tree of a `pinocchio.Model`: joints, placements, inertias, frames and gravity.

    Joints keep Pinocchio's order and names.  A continuous joint has one coordinate here and two
    (cosine and sine) there.  Joint damping, friction and rotor inertia are skipped: Pinocchio
    stores them, but its dynamics do not use them.

    Args:
        robot: the `pinocchio.Model`.
        name: name of the model; by default Pinocchio's.

    Returns:
        The robot as a `Model`.

    Raises:
        NotApplicableError: for a joint without a counterpart.
        ArgumentError: if `robot` is not a `pinocchio.Model`.

    Example:
        >>> import numpy as np, pinocchio, sixfold as sf
        >>> robot = pinocchio.buildSampleModelManipulator()
        >>> arm = sf.interop.from_pinocchio(robot, "arm")
        >>> arm.nq, arm.joint_names[0]
        (6, 'shoulder1_joint')
        >>> M = pinocchio.crba(robot, robot.createData(), np.zeros(6))
        >>> np.allclose(sf.mass_matrix(arm, np.zeros(6)), M)
        True
    """
    if not hasattr(robot, "jointPlacements"):
        where, fix = "from_pinocchio: argument 'robot'", "build one with pinocchio"
        raise ArgumentError(where, "a pinocchio.Model", robot, fix)
    if name is not None:
        check_name("from_pinocchio: argument 'name'", name)
    gravity = tuple(float(x) for x in robot.gravity.linear)
    builder = ModelBuilder(name or robot.name, gravity=gravity, base_name="universe")
    # joint 0 is the universe
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
    # frames that are not bodies, each name once
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
    if kind.endswith("Unaligned") and kind.startswith(("Revolute", "Prismatic")):
        holder = joint.extract() if hasattr(joint, "extract") else joint
        make_joint = Revolute if kind.startswith("Revolute") else Prismatic
        return make_joint([float(x) for x in holder.axis])
    for prefix, make in (("RUB", Revolute), ("R", Revolute), ("P", Prismatic)):
        if kind.startswith(prefix) and kind[len(prefix) :] in _AXES:
            return make(_AXES[kind[len(prefix) :]])
    raise NotApplicableError(
        "from_pinocchio", f"joint '{name}' of type {joint.shortname()}", "lock the joint first"
    )


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
    #: Its kinetic energy counts armature for some joints only, though its dynamics has it all.
    counts_rotors = False

    def __init__(self, robot: Any) -> None:
        """Take the model and allocate its results."""
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
        # crba fills the upper triangle
        upper = np.triu(pin.crba(robot, data, q))
        found["mass matrix"] = upper + np.triu(upper, 1).T
        energy = pin.computeKineticEnergy(self.without_rotors, data, q, v)
        found["kinetic energy"] = np.array(energy)
        found["potential energy"] = np.array(pin.computePotentialEnergy(robot, data, q))
        pin.framesForwardKinematics(robot, data, q)
        found["poses"] = np.array([data.oMf[k].homogeneous for k in self.numbers])
        return found

    def constrained_dynamics(self, model: Model) -> Callable[[Array, Array, Array], Array]:
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
