"""`lock_joints`: fix joints at a position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from sixfold.errors import ModelError, UnknownNameError, shown
from sixfold.model.body import Body, Coupling, Frame, Numbers
from sixfold.model.constraint import Constraint, Gear
from sixfold.model.edit.attachments import (
    Attachment,
    closed_again,
    moved,
    renumbered,
    with_load,
    with_placed_moved,
)
from sixfold.model.edit.rename import checked
from sixfold.model.model import Model
from sixfold.model.values import MAX_BODIES, numbers_of
from sixfold.scalar import exact
from sixfold.spatial import Transform

Position = float | Sequence[float]


def lock_joints(model: Model, joints: Iterable[str] | Mapping[str, Position]) -> Model:
    """Return the model with joints fixed: fewer freedoms, the same robot.

    The body of a locked joint merges into its parent: the inertia moves along, the body's name
    becomes a frame, and what the joint had of its own (armature, damping, friction, spring, limits)
    drops out.  What merges into the base no longer moves, so its constant potential energy drops
    out too.  A joint that follows only locked ones is locked at the value that they give it.

    Args:
        model: the robot.
        joints: names of joints to lock at their neutral position, or a mapping from names to
            positions [rad or m]: a number, or nq numbers.  Limits are not asked.

    Returns:
        A new Model without the coordinates of these joints.

    Raises:
        UnknownNameError: if there is no joint of that name.
        ModelError: if a position does not fit the joint, or if the joint follows others.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> stiff = sf.lock_joints(arm, {"joint4": 0.0, "joint5": 0.5, "joint6": 0.0})
        >>> stiff.joint_names
        ('joint1', 'joint2', 'joint3')
        >>> full = sf.mass_matrix(arm, [0.1, 0.2, 0.3, 0.0, 0.5, 0.0])
        >>> np.allclose(sf.mass_matrix(stiff, [0.1, 0.2, 0.3]), full[:3, :3])
        True
    """
    checked("lock_joints", model)
    positions = _positions(model, joints)
    couplings = [_with_masters_at(positions, coupling) for coupling in model.couplings]
    for c in couplings:
        if c.follower in positions or (not c.terms and c not in model.couplings):
            positions[c.follower] = (c.offset,)

    # bodies that stay keep their order; the others sit on the nearest one below
    attachments: dict[int, Attachment] = {-1: (-1, Transform.identity())}
    bodies: list[Body] = []
    frames: list[Frame] = []
    for k, body in enumerate(model.bodies):
        carrier, X = attachments[body.parent]
        X = (body.placement @ X).map(exact)
        if k not in positions:
            attachments[k] = (len(bodies), Transform.identity())
            bodies.append(replace(body, parent=carrier, placement=X))
            continue
        attachments[k] = (carrier, _across(body, positions[k]) @ X)
        frames.append(Frame(body.name, *attachments[k]))
        if carrier >= 0:
            bodies[carrier] = with_load(bodies[carrier], body.inertia, attachments[k][1])
    return with_placed_moved(
        replace(
            model,
            bodies=tuple(bodies),
            frames=(*frames, *(moved(frame, attachments) for frame in model.frames)),
            couplings=tuple(
                renumbered(c, attachments) for c in couplings if c.follower not in positions
            ),
            constraints=tuple(
                closed_again(_with_leaders_at(positions, each), attachments)
                for each in model.constraints
            ),
        ),
        attachments,
    )


def _positions(model: Model, joints: Any) -> dict[int, Numbers]:
    """Return the bodies whose joints are named and where to lock them."""
    if isinstance(joints, str):
        joints = (joints,)
    if not isinstance(joints, Iterable):
        fix = "pass joint names, or {joint name: position}"
        raise ModelError("lock_joints", f"got {type(joints).__name__}", fix)
    number = {name: k for k, name in enumerate(model.joint_names)}
    given: dict[str, Any] = {}
    try:
        listed = dict(joints) if isinstance(joints, Mapping) else dict.fromkeys(_listed(joints))
    except Exception:  # an iterator's own complaint, or something that cannot be a key
        fix = "pass joint names, or {joint name: position}"
        raise ModelError("lock_joints", f"got {shown(joints)}", fix) from None
    for name, position in listed.items():
        if not isinstance(name, str) or name not in number:
            raise UnknownNameError("joint", name, number, where=f"model '{model.name}'")
        given[name] = position
    for c in model.couplings:
        name = model.joint_names[c.follower]
        masters = [model.joint_names[m] for m, _ in c.terms]
        if name in given and not (given[name] is None and all(m in given for m in masters)):
            followed = " and ".join(map(repr, masters)) or "no joint"
            what = f"follows {followed} and has no position of its own"
            raise ModelError(f"joint '{name}'", what, f"lock {followed} instead")
    return {number[name]: _position(model.bodies[number[name]], q) for name, q in given.items()}


def _listed(joints: Iterable[Any]) -> list[Any]:
    """Return joint names; a list that goes on and on is cut after as many as can be."""
    return list(islice(joints, MAX_BODIES))


def _position(body: Body, q: Any) -> Numbers:
    if q is None:
        return body.joint.neutral()
    where = f"joint '{body.joint_name}'"
    values = numbers_of(where, "position", q, body.joint.nq)
    part = body.joint.quaternion()
    if part is not None and not any(values[part]):
        raise ModelError(where, "position has a quaternion of length zero", "give a rotation")
    return values


def _across(body: Body, q: Numbers) -> Transform:
    """Return the transform across a joint at rest."""
    XJ = body.joint.calc(q, (0.0,) * body.joint.nv).XJ
    numbers_of(f"joint '{body.joint_name}'", "transform", (*XJ.r, *XJ.E.a, *XJ.E.b, *XJ.E.c), 12)
    return XJ.map(exact)


def _with_leaders_at(positions: Mapping[int, Numbers], each: Constraint) -> Constraint:
    """Return a gear with the leaders that are locked taken into its offset."""
    if not isinstance(each, Gear):
        return each
    if each.follower in positions:
        what = f"constraint '{each.name}'"
        fix = "lock its leaders, or take it away: model.without(constraints=True)"
        raise ModelError(what, "gears a joint that would be locked", fix)
    held = sum(
        sum(c * positions[k][0] ** n for n, c in enumerate(powers, 1))
        for k, powers in each.terms
        if k in positions
    )
    left = tuple((k, powers) for k, powers in each.terms if k not in positions)
    return replace(each, terms=left, offset=each.offset + held)


def _with_masters_at(positions: Mapping[int, Numbers], c: Coupling) -> Coupling:
    """Return the coupling with the masters that are locked taken into its offset."""
    held = sum(ratio * positions[m][0] for m, ratio in c.terms if m in positions)
    left = tuple((m, ratio) for m, ratio in c.terms if m not in positions)
    return Coupling(c.follower, left, c.offset + held) if len(left) < len(c.terms) else c
