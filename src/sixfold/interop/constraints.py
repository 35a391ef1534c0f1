"""Constraints of a model in other libraries: equality constraints of MuJoCo, and Pinocchio's own.

Both know points and welds.  A hinge is two points on its axis, one row more than it needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sixfold.errors import ArgumentError, NotApplicableError, UnknownNameError
from sixfold.interop.to_pinocchio import pinocchio_package, se3_of
from sixfold.model import Constraint, Fixed, Gear, Loop, Model, Revolute, Spherical
from sixfold.scalar import exact
from sixfold.spatial import Transform
from sixfold.spatial.rotations import matrices_to_quaternions

ARM = 1.0
"""Distance of a hinge's two points along its axis [m]."""
POLYNOMIAL = 4
"""Highest power of MuJoCo's equality between joints."""


class Held(NamedTuple):
    """Two frames that are held together, whole or by their origins."""

    name: str
    weld: bool
    body_a: int
    at_a: Transform
    body_b: int
    at_b: Transform


def held(where: str, each: Constraint) -> Iterator[Held]:
    """Yield the points or the weld that a loop is made of.

    Raises:
        NotApplicableError: for a constraint of another kind, with its name.
    """
    if not isinstance(each, Loop) or not isinstance(each.joint, (Fixed, Spherical, Revolute)):
        raise refused(where, each, "only points, hinges and welds have a counterpart there")
    frames = each.body_a, each.placement_a, each.body_b, each.placement_b
    if not isinstance(each.joint, Revolute):
        yield Held(each.name, isinstance(each.joint, Fixed), *frames)
        return
    for k, distance in enumerate((-0.5 * ARM, 0.5 * ARM)):
        along = Transform.translation([float(x) * distance for x in each.joint.axis])
        a, b = ((along @ X).map(exact) for X in (each.placement_a, each.placement_b))
        yield Held(f"{each.name}.{k}", False, each.body_a, a, each.body_b, b)


def refused(where: str, each: Constraint, why: str) -> NotApplicableError:
    """Return the error for a constraint without a counterpart."""
    what = f"constraint '{each.name}' ({each.kind}): {why}"
    return NotApplicableError(where, what, "use model.without(constraints=True)")


# -- MuJoCo


def add_equalities(mujoco: Any, spec: Any, model: Model, bodies: list[Any]) -> None:
    """Add equality constraints to a specification, between sites of their own."""
    taken = {frame.name for frame in model.frames}
    for each in model.constraints:
        if isinstance(each, Gear):
            _add_gear(mujoco, spec, model, each)
            continue
        for pair in held("to_mujoco", each):
            kind = mujoco.mjtEq.mjEQ_WELD if pair.weld else mujoco.mjtEq.mjEQ_CONNECT
            added = spec.add_equality(name=pair.name, type=kind)
            added.objtype = mujoco.mjtObj.mjOBJ_SITE
            ends = (pair.body_a, pair.at_a), (pair.body_b, pair.at_b)
            added.name1, added.name2 = (
                _site(spec, bodies, body, X, _fresh(f"{pair.name}.{side}", taken))
                for side, (body, X) in zip("ab", ends, strict=True)
            )


def _site(spec: Any, bodies: list[Any], body: int, X: Transform, name: str) -> str:
    carrier = spec.worldbody if body < 0 else bodies[body]
    rotation = np.array([[float(x) for x in row] for row in X.E.T])
    wxyz = np.roll(matrices_to_quaternions(rotation), 1)
    carrier.add_site(name=name, pos=[float(x) for x in X.r], quat=wxyz)
    return name


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _add_gear(mujoco: Any, spec: Any, model: Model, gear: Gear) -> None:
    if len(gear.terms) > 1:
        raise refused("to_mujoco", gear, "MuJoCo's follow one joint at most")
    powers = gear.terms[0][1] if gear.terms else ()
    if any(powers[POLYNOMIAL:]):
        raise refused("to_mujoco", gear, f"MuJoCo's polynomials end at power {POLYNOMIAL}")
    added = spec.add_equality(name=gear.name, type=mujoco.mjtEq.mjEQ_JOINT)
    added.objtype = mujoco.mjtObj.mjOBJ_JOINT
    added.name1 = model.joint_names[gear.follower]
    if gear.terms:
        added.name2 = model.joint_names[gear.terms[0][0]]
    numbers = [gear.offset, *powers[:POLYNOMIAL]]
    data = np.zeros(len(added.data))
    data[: len(numbers)] = numbers
    added.data = data


# -- Pinocchio


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
        NotApplicableError: for other constraints, by name, or if Pinocchio is missing.
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
        for pair in held("pinocchio_constraints", each):
            kind = pin.ContactType.CONTACT_6D if pair.weld else pin.ContactType.CONTACT_3D
            ends = [(pair.body_a, pair.at_a), (pair.body_b, pair.at_b)]
            if pair.body_a < 0:
                ends.reverse()  # the universe goes second there
            (i, a), (j, b) = ((_joint(model, robot, k), se3_of(pin, X)) for k, X in ends)
            found.append(pin.RigidConstraintModel(kind, robot, i, a, j, b, pin.LOCAL))
            found[-1].name = pair.name
    return found


def _joint(model: Model, robot: Any, body: int) -> int:
    if body < 0:
        return 0
    name = model.joint_names[body]
    if not robot.existJointName(name):
        known = list(robot.names)
        raise UnknownNameError("joint", name, known, where="pinocchio_constraints")
    return int(robot.getJointId(name))
