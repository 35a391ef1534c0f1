"""Change the names in a model, and keep two models' names apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sixfold.errors import ArgumentError, ModelError, UnknownNameError, shown
from sixfold.model.model import Model

Naming = Callable[[str], str]


def rename(
    model: Model,
    names: Mapping[str, str] | None = None,
    *,
    joints: Mapping[str, str] | None = None,
    bodies: Mapping[str, str] | None = None,
) -> Model:
    """Return the model with other names, {old: new}; all change at once, so two may be swapped.

    Constraints keep their names, and hold the same bodies and joints as before.

    Args:
        model: the robot.
        names: names of joints, bodies, frames or the base.
        joints: names of joints only, for a name that a joint shares with a body or frame.
        bodies: names of bodies, frames or the base only.

    Returns:
        A new Model; the given one stays as it is.

    Raises:
        UnknownNameError: if there is no such name.
        ModelError: if a new name is taken, or if an old one means a joint and a body at once.

    Example:
        >>> import sixfold as sf
        >>> model = sf.rename(sf.load("cart_pendulum"), {"bob": "pole", "hinge": "pivot"})
        >>> model.body_names, model.joint_names
        (('cart', 'pole'), ('slide', 'pivot'))
    """
    checked("rename", model)
    where = f"renaming in model '{model.name}'"
    for given in (names, joints, bodies):
        if not isinstance(given, Mapping | None):
            raise ModelError(where, f"got {type(given).__name__}", "pass {old name: new name}")
    of_joints, of_bodies = dict(joints or {}), dict(bodies or {})
    known_joints = set(model.joint_names)
    known_bodies = {*model.body_names, *model.frame_names, model.base_name}
    for old, new in dict(names or {}).items():
        if old in known_joints and old in known_bodies:
            what = f"'{old}' is a joint and also a body or frame"
            raise ModelError(where, what, "say which: rename(model, joints=...) or bodies=...")
        (of_joints if old in known_joints else of_bodies)[old] = new
    for kind, changes, known in (
        ("joint", of_joints, known_joints),
        ("body, frame or joint" if names else "body or frame", of_bodies, known_bodies),
    ):
        for old, new in changes.items():
            if old not in known:
                raise UnknownNameError(kind, old, sorted(known), where=where)
            if not isinstance(new, str) or not new:
                raise ModelError(where, f"'{old}' becomes {shown(new)}", "give a text, not empty")
        _refuse_doubles(where, kind, [changes.get(name, name) for name in known])
    return _named(
        model, lambda name: of_joints.get(name, name), lambda name: of_bodies.get(name, name)
    )


def checked(function: str, model: Any) -> None:
    """Refuse what is no Model."""
    if not isinstance(model, Model):
        raise ArgumentError(
            f"{function}: a model is expected",
            "a sixfold.Model",
            model,
            "load one with sixfold.load(...), and pass it first",
        )


def prefixed(model: Model, prefix: str) -> Model:
    """Return the model with a text before each of its names."""
    if not isinstance(prefix, str):
        raise ModelError("attach", f"prefix is {shown(prefix)}", "give a text")
    if not prefix:
        return model
    named = _named(model, prefix.__add__, prefix.__add__)
    constraints = tuple(replace(each, name=prefix + each.name) for each in model.constraints)
    return replace(named, constraints=constraints)


def _named(model: Model, joint: Naming, body: Naming) -> Model:
    """Return the model with each name changed by a function; the file's places move along."""
    origin = model.origin
    if origin is not None:
        origin = replace(
            origin,
            links=tuple(replace(link, name=body(link.name)) for link in origin.links),
            joint_lines={joint(name): line for name, line in origin.joint_lines.items()},
        )
    return replace(
        model,
        base_name=body(model.base_name),
        bodies=tuple(
            replace(b, name=body(b.name), joint_name=joint(b.joint_name)) for b in model.bodies
        ),
        frames=tuple(replace(frame, name=body(frame.name)) for frame in model.frames),
        geometries=tuple(replace(g, link=body(g.link) if g.link else "") for g in model.geometries),
        origin=origin,
    )


def refuse_clashes(where: str, model: Model, added: Model) -> None:
    """Refuse two models that share a name."""
    kinds = (
        ("joint", model.joint_names, added.joint_names),
        (
            "body or frame",
            (*model.body_names, *model.frame_names, model.base_name),
            (*added.body_names, *added.frame_names, added.base_name),
        ),
        ("constraint", *([each.name for each in m.constraints] for m in (model, added))),
    )
    for kind, taken, new in kinds:
        both = sorted(set(taken) & set(new))
        if both:
            more = f" and {len(both) - 1} more" if len(both) > 1 else ""
            what = f"{kind} name '{both[0]}'{more} is in both"
            raise ModelError(where, what, "pass prefix=..., or rename first")


def _refuse_doubles(where: str, kind: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ModelError(where, f"two would be named '{name}' ({kind})", "give another name")
        seen.add(name)
