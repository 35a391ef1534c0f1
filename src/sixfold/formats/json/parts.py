"""Joints and placements in our JSON files, in and out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from sixfold.errors import ModelError, NotApplicableError
from sixfold.formats.json import form
from sixfold.formats.json.nodes import Node
from sixfold.formats.xml.parse import shown
from sixfold.model import CustomJoint, Joint
from sixfold.scalar import exact
from sixfold.spatial import Transform, Vector3
from sixfold.spatial.rotations import exact_rotation, matrix_of_rotation, rpy_to_rotation

Plain = dict[str, Any]


def version(node: Node, *known: int) -> None:
    """Refuse a version that is none of the known ones."""
    if node.number() not in known:
        node.fail(
            "the version is not known",
            "read it with the sixfold that wrote it",
            expected=" or ".join(map(str, known)),
            got=repr(node.value),
        )


def chosen(node: Node, what: str, choices: Mapping[str, Any]) -> Any:
    """Return the choice that a node's type names."""
    kind = node.value.get("type") if isinstance(node.value, dict) else None
    if not isinstance(kind, str) or kind not in choices:
        node.fail(
            f"the {what} is not known",
            f"choose one of the {what}s",
            expected=", ".join(choices),
            got=shown(repr(kind)),
        )
    return choices[kind]


def read_joint(node: Node, known: form.Joints = form.JOINTS) -> Joint:
    """Return a joint by its type, axis and pitch."""
    make, keys = chosen(node, "joint type", known)
    fields = node.fields(("type", *keys))
    values: dict[str, Any] = {}
    if "axis" in keys:
        values["axis"] = Vector3(*map(exact, fields["axis"].numbers(3)))
    if "pitch" in keys:
        values["pitch"] = fields["pitch"].number()
    try:
        return make(**values)
    except ModelError as error:
        node.fail(*reason(error))


def read_placement(node: Node) -> Transform:
    """Return a placement by its rotation matrix, body from frame, and its translation."""
    fields = node.fields(("rotation", "translation"))
    rows = [row.numbers(3) for row in fields["rotation"].items(3)]
    r = fields["translation"].numbers(3)
    return Transform(exact_rotation(tuple(x for row in rows for x in row)), Vector3(*map(exact, r)))


def read_origin(node: Node) -> Transform:
    """Return a placement as URDF has it, by xyz and rpy, or as `read_placement` reads it."""
    if isinstance(node.value, dict) and node.value.keys() & {"rotation", "translation"}:
        return read_placement(node)
    fields = node.fields((), ("xyz", "rpy"))
    none = (0.0, 0.0, 0.0)
    xyz, rpy = (fields[key].numbers(3) if key in fields else none for key in ("xyz", "rpy"))
    return Transform(rpy_to_rotation(rpy), Vector3(*map(exact, xyz)))


def reason(error: Exception) -> tuple[str, str]:
    """Return what an error says and its fix."""
    what, _, fix = str(error).partition("\n  fix: ")
    return what, fix or "correct the file"


def plain_joint(joint: Joint, name: str, known: form.Joints = form.JOINTS) -> Plain:
    """Return a joint as `read_joint` reads it."""
    if isinstance(joint, CustomJoint) or joint.kind not in known:
        raise NotApplicableError(
            "save",
            f"joint '{name}', which is of your own making: it is code, and a file holds data",
            "keep the Python that builds the model, or lock the joint",
        )
    plain: Plain = {"type": joint.kind}
    for key in known[joint.kind][1]:
        value = getattr(joint, key)
        plain[key] = float(value) if key == "pitch" else plain_numbers(value)
    return plain


def plain_placement(X: Transform) -> Plain:
    """Return a placement as `read_placement` reads it."""
    nine = matrix_of_rotation(X.E)
    return {
        "rotation": [list(nine[k : k + 3]) for k in (0, 3, 6)],
        "translation": plain_numbers(X.r),
    }


def plain_numbers(values: Iterable[Any]) -> list[float | None]:
    """Return plain numbers, null for infinity."""
    listed = [float(x) for x in values]
    return [None if math.isinf(x) else x for x in listed]
