"""Model to our own JSON form: plain data, every field, the exact numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from sixfold.errors import NotApplicableError
from sixfold.formats.json import form
from sixfold.formats.rotations import rotation_numbers
from sixfold.model import Body, CustomJoint, Geometry, Joint, Model
from sixfold.spatial import Transform

Plain = dict[str, Any]


def to_json(model: Model) -> str:
    """Return the text of the file: one key a line.

    Raises:
        NotApplicableError: if a joint is of the user's own making, which is code and not data.
    """
    names = [body.name for body in model.bodies]
    joints = [body.joint_name for body in model.bodies]

    def carrier(k: int) -> str:
        return names[k] if k >= 0 else model.base_name

    top: Plain = {
        "format": form.FORMAT,
        "version": form.VERSION,
        "name": model.name,
        "base_name": model.base_name,
        "gravity": list(model.gravity),
        "friction_speed": model.friction_speed,
        "bodies": [_body(body, carrier(body.parent)) for body in model.bodies],
        "frames": [
            {
                "name": frame.name,
                "body": carrier(frame.body),
                "placement": _placement(frame.placement),
            }
            for frame in model.frames
        ],
        "couplings": [
            {
                "follower": joints[coupling.follower],
                "terms": [{"joint": joints[m], "ratio": r} for m, r in coupling.terms],
                "offset": coupling.offset,
            }
            for coupling in model.couplings
        ],
        "geometries": [_geometry(item, carrier(item.body)) for item in model.geometries],
    }
    lines = [f"{_text(key)}: {_block(value)}" for key, value in top.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _body(body: Body, parent: str) -> Plain:
    plain = {
        "name": body.name,
        "joint_name": body.joint_name,
        "parent": parent,
        "joint": _joint(body.joint, body.joint_name),
        "placement": _placement(body.placement),
        "inertia": _numbers(body.inertia.parameters()),
    }
    return plain | {key: _numbers(getattr(body, key)) for key in form.PER_FREEDOM}


def _joint(joint: Joint, name: str) -> Plain:
    if isinstance(joint, CustomJoint) or joint.kind not in form.JOINTS:
        raise NotApplicableError(
            "save",
            f"joint '{name}', which is of your own making: it is code, and a file holds data",
            "keep the Python that builds the model, or lock the joint",
        )
    plain: Plain = {"type": joint.kind}
    for key in form.JOINTS[joint.kind][1]:
        value = getattr(joint, key)
        plain[key] = float(value) if key == "pitch" else _numbers(value)
    return plain


def _placement(X: Transform) -> Plain:
    nine = rotation_numbers(X.E)
    return {
        "rotation": [list(nine[k : k + 3]) for k in (0, 3, 6)],
        "translation": _numbers(X.r),
    }


def _geometry(item: Geometry, body: str) -> Plain:
    kind = form.shape_kind(item.shape)
    shape: Plain = {"type": kind}
    for key, size in form.SHAPES[kind][1].items():
        value = getattr(item.shape, key)
        shape[key] = value if size == 0 else float(value) if size == 1 else _numbers(value)
    return {
        "body": body,
        "placement": _placement(item.placement),
        "shape": shape,
        "color": None if item.color is None else _numbers(item.color),
        "material": item.material,
        "name": item.name,
        "link": item.link,
        "collides": item.collides,
    }


def _numbers(values: Iterable[Any]) -> list[float | None]:
    """Return plain numbers, null for infinity."""
    listed = [float(x) for x in values]
    return [None if math.isinf(x) else x for x in listed]


def _block(value: Any) -> str:
    """Return a list of objects with a line for each key; anything else on one line."""
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return _text(value)
    items = [
        "  {\n" + ",\n".join(f"    {_text(k)}: {_text(v)}" for k, v in item.items()) + "\n  }"
        for item in value
    ]
    return "[\n" + ",\n".join(items) + "\n]"


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False)
