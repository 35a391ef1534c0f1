"""Make a new model out of others: lock joints, attach, replace inertias, add a payload.

Each function takes a model and returns a new one; the model given stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice
from typing import Any, TypeVar

from sixfold.errors import ModelError, UnknownNameError, shown
from sixfold.model.body import Body, Coupling, Frame, Numbers
from sixfold.model.edit.rename import checked, prefixed, refuse_clashes
from sixfold.model.geometry import Geometry
from sixfold.model.model import Model
from sixfold.model.source_file import Link
from sixfold.model.values import MOST_BODIES, inertia_of, numbers_of, placement_of
from sixfold.scalar import exact
from sixfold.spatial import Inertia, Transform

Position = float | Sequence[float]
Seat = tuple[int, Transform]
"""A body, -1 for the base, and the transform from its coordinates to those of what sits on it."""
Placed = TypeVar("Placed", Frame, Geometry, Link)
_BASE: Seat = (-1, Transform.identity())


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

    Raises:
        UnknownNameError: if there is no joint of that name.
        ModelError: if a position does not fit the joint, or if the joint follows others.
    """
    checked("lock_joints", model)
    positions = _positions(model, joints)
    couplings = [_with_masters_at(positions, coupling) for coupling in model.couplings]
    for c in couplings:
        if c.follower in positions or (not c.terms and c not in model.couplings):
            positions[c.follower] = (c.offset,)

    # bodies that stay keep their order; the others sit on the nearest one below
    seats: dict[int, Seat] = {-1: _BASE}
    bodies: list[Body] = []
    frames: list[Frame] = []
    for k, body in enumerate(model.bodies):
        carrier, X = seats[body.parent]
        X = (body.placement @ X).over(exact)
        if k not in positions:
            seats[k] = (len(bodies), Transform.identity())
            bodies.append(replace(body, parent=carrier, placement=X))
            continue
        seats[k] = (carrier, _across(body, positions[k]) @ X)
        frames.append(Frame(body.name, *seats[k]))
        if carrier >= 0:
            bodies[carrier] = _loaded(bodies[carrier], body.inertia, seats[k][1])
    return _reseated(
        replace(
            model,
            bodies=tuple(bodies),
            frames=(*frames, *(_moved(frame, seats) for frame in model.frames)),
            couplings=tuple(
                _renumbered(c, seats) for c in couplings if c.follower not in positions
            ),
        ),
        seats,
    )


def attach(
    model: Model,
    other: Model,
    to: str,
    placement: Transform | Sequence[float] | None = None,
    *,
    prefix: str = "",
    base_inertia: Inertia | None = None,
) -> Model:
    """Return the model with another one grafted on it: a hand on an arm, an arm on a vehicle.

    The base of the other is fixed to a body or frame of the model.  Its bodies, joints and frames
    keep their names behind the prefix, and its base becomes a frame.  Name and gravity are the
    model's.

    Args:
        model: the robot that carries.
        other: the robot to carry.
        to: body or frame of the model, or its base.
        placement: transform from there to the other's base, or the base's position there.
        prefix: put before every name of the other.
        base_inertia: what the other's base weighs, in its own coordinates: a fixed base has no
            inertia in a model.  When left out, the links that the other's file puts there.

    Raises:
        UnknownNameError: if the model has no such body or frame.
        ModelError: if a name is taken, or if both have friction with different speeds.
    """
    checked("attach", model)
    checked("attach", other)
    where = f"attaching '{other.name}' to '{model.name}'"
    carrier, seat = model.locate(to)
    X = (placement_of(where, placement) @ seat).over(exact)
    added = prefixed(other, prefix)
    refuse_clashes(where, model, added)

    shift = model.nb
    seats: dict[int, Seat] = {k: (k + shift, Transform.identity()) for k in range(other.nb)}
    seats[-1] = (carrier, X)
    bodies = list(model.bodies)
    weight = _base_inertia(other) if base_inertia is None else inertia_of(where, base_inertia)
    if carrier >= 0 and weight != Inertia.zero():
        bodies[carrier] = _loaded(bodies[carrier], weight, X)
    for body in added.bodies:
        at, Y = seats[body.parent]
        here = (body.placement @ Y).over(exact) if body.parent < 0 else body.placement
        bodies.append(replace(body, parent=at, placement=here))
    return replace(
        model,
        bodies=tuple(bodies),
        frames=(
            *model.frames,
            Frame(added.base_name, carrier, X),
            *(_moved(frame, seats) for frame in added.frames),
        ),
        couplings=(*model.couplings, *(_renumbered(c, seats) for c in added.couplings)),
        friction_speed=_friction_speed(where, model, other),
        geometries=(*model.geometries, *(_moved(g, seats) for g in added.geometries)),
    )


def replace_inertias(model: Model, inertias: Mapping[str, Inertia]) -> Model:
    """Return the model with other inertias, {body name: Inertia in body coordinates}.

    Raises:
        UnknownNameError: if there is no body of that name; frames have no inertia of their own.
        ModelError: if an inertia does not consist of ten finite numbers.
    """
    checked("replace_inertias", model)
    if not isinstance(inertias, Mapping):
        fix = "pass {body name: Inertia}"
        raise ModelError("replace_inertias", f"got {type(inertias).__name__}", fix)
    bodies = list(model.bodies)
    for name, inertia in inertias.items():
        if isinstance(name, str) and name in model.frame_names:
            k, _ = model.locate(name)
            carrier = model.body_names[k] if k >= 0 else model.base_name
            raise ModelError(
                f"frame '{name}'",
                f"is fixed to '{carrier}' and has no inertia of its own",
                "give the inertia of the whole body, or use add_payload",
            )
        k = model.body_index(name)
        bodies[k] = replace(bodies[k], inertia=inertia_of(f"body '{name}'", inertia))
    return replace(model, bodies=tuple(bodies))


def add_payload(
    model: Model,
    frame: str,
    *,
    mass: float | None = None,
    com: Sequence[float] = (0.0, 0.0, 0.0),
    inertia: Inertia | Sequence[float] | Sequence[Sequence[float]] = (0.0, 0.0, 0.0),
    placement: Transform | Sequence[float] | None = None,
) -> Model:
    """Return the model with a load fixed to a body or frame.

    Args:
        model: the robot.
        frame: the body or frame that carries the load; it must move.
        mass: mass of the load [kg]; left out when `inertia` is an Inertia.
        com: centre of mass of the load [m], in the load's coordinates.
        inertia: rotational inertia about the centre of mass [kg m^2], 3x3 or its diagonal (none
            when left out: a point mass), or the whole load as an Inertia.
        placement: transform from the frame to the load's coordinates, or their origin there.

    Raises:
        UnknownNameError: if there is no such body or frame.
        ModelError: if the frame is fixed to the base, or if the load is not given by finite
            numbers.
    """
    checked("add_payload", model)
    carrier, seat = model.locate(frame)
    where = f"payload at '{frame}'"
    if carrier < 0:
        fix = "name a frame that moves; to count the load of a floating base, load it as floating"
        raise ModelError(where, "the frame is fixed to the base, where a load does nothing", fix)
    X = placement_of(where, placement) @ seat
    bodies = list(model.bodies)
    bodies[carrier] = _loaded(bodies[carrier], _load(where, mass, com, inertia), X)
    return replace(model, bodies=tuple(bodies))


# -- positions and couplings


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
        listed = dict(joints) if isinstance(joints, Mapping) else dict.fromkeys(joints_of(joints))
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


def joints_of(joints: Iterable[Any]) -> list[Any]:
    """Return joint names; a list that goes on and on is cut after as many as can be."""
    return list(islice(joints, MOST_BODIES))


def _position(body: Body, q: Any) -> Numbers:
    if q is None:
        return body.joint.neutral()
    where = f"joint '{body.joint_name}'"
    one = not isinstance(q, Iterable) or getattr(q, "ndim", 1) == 0
    if one and body.joint.nq > 1:
        raise ModelError(where, f"position = {shown(q)}", f"give {body.joint.nq} numbers")
    values = numbers_of(where, "position", q, body.joint.nq)
    part = body.joint.quaternion()
    if part is not None and not any(values[part]):
        raise ModelError(where, "position has a quaternion of length zero", "give a rotation")
    return values


def _across(body: Body, q: Numbers) -> Transform:
    """Return the transform across a joint at rest."""
    XJ = body.joint.calc(q, (0.0,) * body.joint.nv).XJ
    numbers_of(f"joint '{body.joint_name}'", "transform", (*XJ.r, *XJ.E.a, *XJ.E.b, *XJ.E.c), 12)
    return XJ.over(exact)


def _with_masters_at(positions: Mapping[int, Numbers], c: Coupling) -> Coupling:
    """Return the coupling with the masters that are locked taken into its offset."""
    held = sum(ratio * positions[m][0] for m, ratio in c.terms if m in positions)
    left = tuple((m, ratio) for m, ratio in c.terms if m not in positions)
    return Coupling(c.follower, left, c.offset + held) if len(left) < len(c.terms) else c


def _renumbered(c: Coupling, seats: Mapping[int, Seat]) -> Coupling:
    return Coupling(
        seats[c.follower][0], tuple((seats[m][0], ratio) for m, ratio in c.terms), c.offset
    )


# -- seats and loads


def _moved(item: Placed, seats: Mapping[int, Seat]) -> Placed:
    """Return a frame, shape or link on the body that now carries its own."""
    body, X = seats[item.body]
    return replace(item, body=body, placement=(item.placement @ X).over(exact))


def _reseated(model: Model, seats: Mapping[int, Seat]) -> Model:
    """Return the model with shapes and the links of its file where their bodies went."""
    origin = model.origin
    if origin is not None:
        origin = replace(origin, links=tuple(_moved(link, seats) for link in origin.links))
    return replace(
        model, geometries=tuple(_moved(g, seats) for g in model.geometries), origin=origin
    )


def _loaded(body: Body, load: Inertia, X: Transform) -> Body:
    """Return the body with a load at X joined to its inertia."""
    total = body.inertia + (X.T @ load @ X)
    return replace(body, inertia=inertia_of(f"body '{body.name}'", total))


def _load(where: str, mass: Any, com: Any, inertia: Any) -> Inertia:
    if isinstance(inertia, Inertia):
        if mass is not None or any(numbers_of(where, "com", com, 3)):
            what = "mass and com are given beside a whole Inertia"
            raise ModelError(where, what, "give either the Inertia or mass, com and moments")
        return inertia_of(where, inertia)
    if mass is None:
        raise ModelError(where, "has no mass", "pass mass=... [kg], or inertia=Inertia(...)")
    (m,) = numbers_of(where, "mass", mass, 1)
    center = numbers_of(where, "com", com, 3)
    try:
        rows = list(islice(inertia, 4)) if isinstance(inertia, Iterable) else [inertia]
    except Exception:  # an iterator's own complaint
        rows = []
    if any(isinstance(row, Iterable) and getattr(row, "ndim", 1) for row in rows):
        rotational: Any = [numbers_of(where, "inertia", row, 3) for row in rows]
    else:
        rotational = numbers_of(where, "inertia", rows, 3)
    return inertia_of(where, Inertia.from_mass(m, center, rotational))


def _base_inertia(model: Model) -> Inertia:
    """Return what the links weigh that the model's file puts on its base."""
    links = model.origin.links if model.origin is not None else ()
    moved = (
        link.placement.T @ link.inertia @ link.placement
        for link in links
        if link.body < 0 and link.inertia is not None
    )
    return reduce(Inertia.__add__, moved, Inertia.zero())


def _friction_speed(where: str, model: Model, other: Model) -> float:
    """Return the one friction speed of both: of the one that has friction, if only one has."""

    def rubs(m: Model) -> bool:
        return any(x for b in m.bodies for x in (*b.friction, *b.friction_negative))

    if model.friction_speed == other.friction_speed or not rubs(other):
        return model.friction_speed
    if not rubs(model):
        return other.friction_speed
    raise ModelError(
        where,
        f"friction speeds differ: {model.friction_speed:g} and {other.friction_speed:g}",
        "give both one friction_speed, or take friction away with without(friction=True)",
    )
