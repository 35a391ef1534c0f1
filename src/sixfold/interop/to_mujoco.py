"""A `mujoco.MjModel` from a Model, and from a URDF file as MuJoCo itself reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from sixfold.errors import NotApplicableError
from sixfold.formats.files import read
from sixfold.formats.mjcf import collect_warnings, mujoco_package
from sixfold.formats.xml import Element, parse
from sixfold.interop.constraints import add_equalities
from sixfold.model import (
    Body,
    Cylindrical,
    Free,
    Joint,
    Model,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Translational,
    Universal,
)
from sixfold.spatial import Inertia, Transform
from sixfold.spatial.rotations import matrices_to_quaternions

X, Y, Z = np.eye(3)
HINGE, SLIDE = "mjJNT_HINGE", "mjJNT_SLIDE"


def to_mujoco(model: Model) -> Any:
    """Return the robot as a `mujoco.MjModel` without shapes.

    Joints of several freedoms become several joints of MuJoCo, called `name.0`, `name.1`...
    Damping, dry friction, springs, armature and limits go with them.  Joints that follow others
    become free.  Points, hinges (two points on the axis), welds and gears with one leader become
    equality constraints, which are soft there (`solref`, `solimp` of MuJoCo's defaults).

    Raises:
        NotApplicableError: where MuJoCo has no counterpart (helical and user-defined joints, free
            joints that do not start at the world, other constraints) or refuses the model, with its
            words.
    """
    mujoco = mujoco_package()
    spec, bodies = robot_spec(mujoco, model)
    add_equalities(mujoco, spec, model, bodies)
    return compiled_spec(mujoco, spec, model)


def robot_spec(mujoco: Any, model: Model) -> tuple[Any, list[Any]]:
    """Return the robot as a `mujoco.MjSpec`, and its bodies there."""
    spec = mujoco.MjSpec()
    spec.modelname = model.name
    spec.option.gravity = list(model.gravity)
    spec.compiler.degree = False
    bodies: list[Any] = []
    for body in model.bodies:
        parent = spec.worldbody if body.parent < 0 else bodies[body.parent]
        bodies.append(_add_body(mujoco, parent, body))
    for frame in model.frames:
        carrier = spec.worldbody if frame.body < 0 else bodies[frame.body]
        position, wxyz = _pose(frame.placement)
        carrier.add_site(name=frame.name, pos=position, quat=wxyz)
    return spec, bodies


def compiled_spec(mujoco: Any, spec: Any, model: Model) -> Any:
    """Return the `mujoco.MjModel` of what `robot_spec` made.

    Raises:
        NotApplicableError: if MuJoCo refuses it, with its words.
    """
    try:
        with collect_warnings(mujoco, []):
            compiled = spec.compile()
    except ValueError as error:
        raise NotApplicableError(
            "to_mujoco",
            f"model '{model.name}': MuJoCo says: {' '.join(str(error).split())}",
            "change what MuJoCo refuses",
        ) from None
    _set_rests(compiled, model)
    return compiled


def _add_body(mujoco: Any, parent: Any, body: Body) -> Any:
    position, wxyz = _pose(body.placement)
    added = parent.add_body(name=body.name, pos=position, quat=wxyz)
    if isinstance(body.joint, Free):
        _check_free(body)
    _set_inertia(added, body.inertia)
    parts = _parts(body.joint, body.joint_name)
    for i, (kind, axis) in enumerate(parts):
        label = body.joint_name if len(parts) == 1 else f"{body.joint_name}.{i}"
        joint = added.add_joint(name=label, type=getattr(mujoco.mjtJoint, kind))
        joint.frictionloss = _level(body, "friction", i, len(parts))
        joint.armature = _level(body, "armature", i, len(parts))
        for effect in ("damping", "stiffness"):
            _assign(joint, effect, _level(body, effect, i, len(parts)))
        if kind in (HINGE, SLIDE):
            joint.axis, joint.springref = axis, body.rest[i]
            if np.isfinite(body.lower[i]) and np.isfinite(body.upper[i]):
                joint.range = [body.lower[i], body.upper[i]]
    return added


def _assign(joint: Any, name: str, number: float) -> None:
    """Write a number that newer versions keep with its nonlinear terms."""
    if np.ndim(getattr(joint, name)):
        getattr(joint, name)[0] = number
    else:
        setattr(joint, name, number)


def _parts(joint: Joint, name: str) -> list[tuple[str, Any]]:
    """Return the joints of MuJoCo that make one joint."""
    match joint:
        case Revolute():
            return [(HINGE, _vector(joint.axis))]
        case Prismatic():
            return [(SLIDE, _vector(joint.axis))]
        case Cylindrical():
            return [(HINGE, _vector(joint.axis)), (SLIDE, _vector(joint.axis))]
        case Planar():
            return [(SLIDE, X), (SLIDE, Y), (HINGE, Z)]
        case Universal():
            return [(HINGE, X), (HINGE, Y)]
        case Translational():
            return [(SLIDE, X), (SLIDE, Y), (SLIDE, Z)]
        case Spherical():
            return [("mjJNT_BALL", None)]
        case Free():
            return [("mjJNT_FREE", None)]
        case _:
            raise NotApplicableError(
                "to_mujoco", f"joint '{name}' of kind {joint.kind}", "lock the joint first"
            )


def _level(body: Body, effect: str, i: int, parts: int) -> float:
    """Return one number of what a joint does by itself."""
    numbers = getattr(body, effect)
    if parts > 1 or len(numbers) == 1:
        return float(numbers[i])
    if len(set(numbers)) > 1:
        raise NotApplicableError(
            "to_mujoco",
            f"joint '{body.joint_name}', whose {effect} differs by axis",
            f"use model.without({effect}=True)",
        )
    return float(numbers[0])


def _check_free(body: Body) -> None:
    identity = body.placement == Transform.identity()
    if body.parent >= 0 or not identity:
        where = f"free joint '{body.joint_name}', which does not start at the world's origin"
        raise NotApplicableError("to_mujoco", where, "place the joint at the world's origin")
    # along the body's axes here, along the world's there
    for effect in ("armature", "stiffness", "friction"):
        if any(getattr(body, effect)):
            where = f"free joint '{body.joint_name}' with {effect}"
            raise NotApplicableError("to_mujoco", where, "use model.without(...)")


def _set_inertia(body: Any, inertia: Inertia) -> None:
    """Write mass, centre and principal moments; MuJoCo's own diagonalisation has fewer digits."""
    xx, yy, zz, xy, xz, yz = (float(x) for x in inertia.about_center)
    moments, axes = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    if not any((xy, xz, yz)):
        moments, axes = np.array([xx, yy, zz]), np.eye(3)
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    body.mass = float(inertia.m)
    body.ipos = [float(x) for x in inertia.center]
    body.inertia = moments
    body.iquat = np.roll(matrices_to_quaternions(axes), 1)
    body.explicitinertial = True


def _set_rests(compiled: Any, model: Model) -> None:
    """Write the rest positions of ball springs, which a file cannot name."""
    for body in model.bodies:
        if isinstance(body.joint, Spherical) and any(body.stiffness):
            start = int(compiled.joint(body.joint_name).qposadr[0])
            rest = np.array(body.rest)
            compiled.qpos_spring[start : start + 4] = np.roll(rest / np.linalg.norm(rest), 1)


def _vector(axis: Any) -> Any:
    return np.array([float(x) for x in axis])


def _pose(X: Transform) -> tuple[Any, Any]:
    rotation = np.array([[float(x) for x in row] for row in X.E.T])
    return [float(x) for x in X.r], np.roll(matrices_to_quaternions(rotation), 1)


# -- files as MuJoCo reads them


def mujoco_from_mjcf(path: Path) -> Any:
    """Return the robot of an MJCF file as MuJoCo reads it, all of it.

    Raises:
        NotApplicableError: if MuJoCo refuses the file, with its words.
    """
    mujoco = mujoco_package()
    try:
        with collect_warnings(mujoco, []):
            return mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        words = " ".join(str(error).split())
        raise NotApplicableError(
            "MuJoCo", f"'{path}': it says: {words}", "change what MuJoCo refuses"
        ) from None


def mujoco_from_urdf(path: Path, floating_base: str | None = None) -> Any:
    """Return the robot of a URDF file as MuJoCo's own reader understands it, without shapes.

    Shapes and meshes are taken out of a copy in memory; links keep their own inertias.  A link
    called "world", which MuJoCo would take for its own, gets another name.

    Args:
        path: the file.
        floating_base: name of a free joint for the root link, if it is to have one.

    Raises:
        NotApplicableError: if MuJoCo refuses the file, with its words.
    """
    mujoco = mujoco_package()
    root = parse(read(path), str(path))
    text = _without_shapes(root)
    try:
        with collect_warnings(mujoco, []):
            spec = mujoco.MjSpec.from_string(text)
            if floating_base is not None:
                root_body = spec.worldbody.first_body()
                root_body.add_joint(name=floating_base, type=mujoco.mjtJoint.mjJNT_FREE)
            return spec.compile()
    except ValueError as error:
        words = " ".join(str(error).split())
        raise NotApplicableError(
            "MuJoCo", f"'{path}': it says: {words}", "change what MuJoCo refuses"
        ) from None


def _without_shapes(root: Element) -> str:
    """Return a URDF as text, without shapes and extensions, its static links kept apart."""
    keep = '<mujoco><compiler fusestatic="false" discardvisual="false"/></mujoco>'
    lines: list[str] = []
    todo: list[Element | str] = [root]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        if item.tag in ("visual", "collision", "gazebo", "transmission", "mujoco", "material"):
            continue
        given = dict(item.attributes)
        for key in ("name", "link"):
            if item.tag in ("link", "parent", "child") and given.get(key) == "world":
                given[key] = "urdf_world"
        text = "".join(f" {name}={quoteattr(value)}" for name, value in given.items())
        lines.append(f"<{item.tag}{text}>")
        if item is root:
            lines.append(keep)
        todo.append(f"</{item.tag}>")
        todo.extend(reversed(item.children))
    return "\n".join(lines)
