"""Model to our own JSON form: plain data, every field, the exact numbers."""

from __future__ import annotations

import json
from typing import Any

from sixfold.formats.json import form
from sixfold.formats.json.constraints import plain_constraints
from sixfold.formats.json.parts import Plain, plain_joint, plain_numbers, plain_placement
from sixfold.model import Body, Geometry, Model


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
        "version": form.PLAIN_VERSION,
        "name": model.name,
        "base_name": model.base_name,
        "gravity": list(model.gravity),
        "bodies": [_body(body, carrier(body.parent)) for body in model.bodies],
        "frames": [
            {
                "name": frame.name,
                "body": carrier(frame.body),
                "placement": plain_placement(frame.placement),
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
    if model.constraints or any(item.contact is not None for item in model.geometries):
        top |= {"version": form.VERSION, "constraints": plain_constraints(model)}
    return text_of(top)


def text_of(top: Plain) -> str:
    """Return an object as text: one key a line."""
    lines = [f"{_text(key)}: {_block(value)}" for key, value in top.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _body(body: Body, parent: str) -> Plain:
    plain = {
        "name": body.name,
        "joint_name": body.joint_name,
        "parent": parent,
        "joint": plain_joint(body.joint, body.joint_name),
        "placement": plain_placement(body.placement),
        "inertia": plain_numbers(body.inertia.parameters()),
    }
    return plain | {key: plain_numbers(getattr(body, key)) for key in form.PER_FREEDOM}


def _geometry(item: Geometry, body: str) -> Plain:
    kind = form.shape_kind(item.shape)
    shape: Plain = {"type": kind}
    for key, size in form.SHAPES[kind][1].items():
        value = getattr(item.shape, key)
        shape[key] = value if size == 0 else float(value) if size == 1 else plain_numbers(value)
    plain = {
        "body": body,
        "placement": plain_placement(item.placement),
        "shape": shape,
        "color": None if item.color is None else plain_numbers(item.color),
        "material": item.material,
        "name": item.name,
        "link": item.link,
        "collides": item.collides,
    }
    if item.contact is None:
        return plain
    given = {key: getattr(item.contact, key) for key in form.CONTACT}
    listed = {k: plain_numbers(x) if isinstance(x, tuple) else x for k, x in given.items()}
    return plain | {"contact": listed}


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
