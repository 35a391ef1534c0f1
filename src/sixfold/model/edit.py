"""Make a new model from others: attach, lock joints, rename, replace inertias, add a payload.

Each function takes a model and returns a new one; the given model stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from functools import reduce
from itertools import islice
from typing import Any, TypeVar

from sixfold.errors import ModelError, UnknownNameError, quote
from sixfold.model.body import Body, Coupling, Frame, Numbers
from sixfold.model.constraint import Constraint, Distance, Gear
from sixfold.model.geometry import Geometry, Link
from sixfold.model.model import Model, require_model
from sixfold.model.validate import MAX_BODIES, inertia_of, numbers_of, placement_of
from sixfold.scalar import exact, plain
from sixfold.spatial import Inertia, Transform, Vector3


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

    Returns:
        A new Model; the given one stays as it is.

    Raises:
        UnknownNameError: if the model has no such body or frame.
        ModelError: if a name is taken, or if both have friction with different speeds.

    Example:
        >>> import sixfold as sf
        >>> cart, arm = sf.load("cart_pendulum"), sf.load("double_pendulum")
        >>> both = sf.attach(cart, arm, "cart", (0.2, 0, 0), prefix="arm_")
        >>> both
        <Model 'cart_pendulum': nb=4, nq=4, nv=4, 4.5 kg>
        >>> both.joint_names
        ('slide', 'hinge', 'arm_shoulder', 'arm_elbow')
    """
    require_model("attach", model)
    require_model("attach", other, "second argument")
    where = f"attaching '{other.name}' to '{model.name}'"
    carrier, placed = model.locate(to)
    X = (placement_of(where, placement) @ placed).map(exact)
    added = add_prefix(other, prefix)
    refuse_clashes(where, model, added)

    # bodies of the other keep their order behind those of the model
    shift = model.nb
    attachments: dict[int, Attachment] = {
        k: (k + shift, Transform.identity()) for k in range(other.nb)
    }
    attachments[-1] = (carrier, X)
    bodies = list(model.bodies)
    weight = _base_inertia(other) if base_inertia is None else inertia_of(where, base_inertia)
    if carrier >= 0 and weight != Inertia.zero():
        bodies[carrier] = add_load(bodies[carrier], weight, X)
    # bodies on the other's base move to the carrier; the rest keep their placement
    for body in added.bodies:
        at, Y = attachments[body.parent]
        here = (body.placement @ Y).map(exact) if body.parent < 0 else body.placement
        bodies.append(replace(body, parent=at, placement=here))
    return replace(
        model,
        bodies=tuple(bodies),
        frames=(
            *model.frames,
            Frame(added.base_name, carrier, X),
            *(carry_over(frame, attachments) for frame in added.frames),
        ),
        couplings=(*model.couplings, *(renumber_coupling(c, attachments) for c in added.couplings)),
        constraints=(
            *model.constraints,
            *(reattach_constraint(each, attachments) for each in added.constraints),
        ),
        geometries=(*model.geometries, *(carry_over(g, attachments) for g in added.geometries)),
    )


def _base_inertia(model: Model) -> Inertia:
    """Return what the links weigh that the model's file puts on its base."""
    links = model.origin.links if model.origin is not None else ()
    moved = (
        link.placement.T @ link.inertia @ link.placement
        for link in links
        if link.body < 0 and link.inertia is not None
    )
    return reduce(Inertia.__add__, moved, Inertia.zero())


Position = float | Sequence[float]


def lock_joints(model: Model, joints: Iterable[str] | Mapping[str, Position]) -> Model:
    """Return the model with joints fixed: fewer degrees of freedom, the same robot.

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
    require_model("lock_joints", model)
    # followers of locked joints only are locked too
    positions = _positions(model, joints)
    couplings = [_absorb_locked_masters(positions, coupling) for coupling in model.couplings]
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
        attachments[k] = (carrier, _joint_transform(body, positions[k]) @ X)
        frames.append(Frame(body.name, *attachments[k]))
        if carrier >= 0:
            bodies[carrier] = add_load(bodies[carrier], body.inertia, attachments[k][1])
    return move_shapes_and_links(
        replace(
            model,
            bodies=tuple(bodies),
            frames=(*frames, *(carry_over(frame, attachments) for frame in model.frames)),
            couplings=tuple(
                renumber_coupling(c, attachments) for c in couplings if c.follower not in positions
            ),
            constraints=tuple(
                reattach_constraint(_absorb_locked_leaders(positions, each), attachments)
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
        raise ModelError("lock_joints", f"joints is {quote(joints)}", fix)
    number = {name: k for k, name in enumerate(model.joint_names)}
    given: dict[str, Any] = {}
    try:
        # names alone lock at the neutral position
        listed = (
            dict(joints) if isinstance(joints, Mapping) else dict.fromkeys(_first_names(joints))
        )
    except Exception:  # an iterator's own complaint, or something that cannot be a key
        fix = "pass joint names, or {joint name: position}"
        raise ModelError("lock_joints", f"joints is {quote(joints)}", fix) from None
    for name, position in listed.items():
        if not isinstance(name, str) or name not in number:
            raise UnknownNameError("joint", name, number, where=f"model '{model.name}'")
        given[name] = position
    # a follower has no position of its own: only its masters can be locked
    for c in model.couplings:
        name = model.joint_names[c.follower]
        masters = [model.joint_names[m] for m, _ in c.terms]
        if name in given and not (given[name] is None and all(m in given for m in masters)):
            followed = " and ".join(map(repr, masters)) or "no joint"
            what = f"follows {followed} and has no position of its own"
            raise ModelError(f"joint '{name}'", what, f"lock {followed} instead")
    return {number[name]: _position(model.bodies[number[name]], q) for name, q in given.items()}


def _first_names(joints: Iterable[Any]) -> list[Any]:
    """Return at most MAX_BODIES joint names of an iterable that may be endless."""
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


def _joint_transform(body: Body, q: Numbers) -> Transform:
    """Return the transform across a joint at rest."""
    XJ = body.joint.calc(q, (0.0,) * body.joint.nv).XJ
    numbers_of(f"joint '{body.joint_name}'", "transform", (*XJ.r, *XJ.E.a, *XJ.E.b, *XJ.E.c), 12)
    return XJ.map(exact)


def _absorb_locked_leaders(positions: Mapping[int, Numbers], each: Constraint) -> Constraint:
    """Return a gear with the leaders that are locked taken into its offset."""
    if not isinstance(each, Gear):
        return each
    if each.follower in positions:
        what = f"constraint '{each.name}'"
        fix = "lock its leaders, or take it away: model.without(constraints=True)"
        raise ModelError(what, "gears a joint that would be locked", fix)
    # leaders that no longer move are a constant
    held = sum(
        sum(c * positions[k][0] ** n for n, c in enumerate(powers, 1))
        for k, powers in each.terms
        if k in positions
    )
    left = tuple((k, powers) for k, powers in each.terms if k not in positions)
    return replace(each, terms=left, offset=each.offset + held)


def _absorb_locked_masters(positions: Mapping[int, Numbers], c: Coupling) -> Coupling:
    """Return the coupling with the masters that are locked taken into its offset."""
    held = sum(ratio * positions[m][0] for m, ratio in c.terms if m in positions)
    left = tuple((m, ratio) for m, ratio in c.terms if m not in positions)
    return Coupling(c.follower, left, c.offset + held) if len(left) < len(c.terms) else c


def replace_inertias(model: Model, inertias: Mapping[str, Inertia]) -> Model:
    """Return the model with other inertias, {body name: Inertia in body coordinates}.

    Args:
        model: the robot.
        inertias: for each body to change its name and its `Inertia`, in body coordinates.

    Returns:
        A new Model; the given one stays as it is.

    Raises:
        UnknownNameError: if there is no body of that name; frames have no inertia of their own.
        ModelError: if an inertia does not consist of ten finite numbers.

    Example:
        >>> import sixfold as sf
        >>> model = sf.load("cart_pendulum")
        >>> sf.replace_inertias(model, {"cart": sf.Inertia.from_mass(8.0)})
        <Model 'cart_pendulum': nb=2, nq=2, nv=2, 8.5 kg>
    """
    require_model("replace_inertias", model)
    if not isinstance(inertias, Mapping):
        fix = "pass {body name: Inertia}"
        raise ModelError("replace_inertias", f"inertias is {quote(inertias)}", fix)
    bodies = list(model.bodies)
    for name, inertia in inertias.items():
        # links that were merged into another body are frames now
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
            by default: a point mass), or the whole load as an Inertia.
        placement: transform from the frame to the load's coordinates, or their origin there.

    Returns:
        A new Model; the given one stays as it is.

    Raises:
        UnknownNameError: if there is no such body or frame.
        ModelError: if the frame is fixed to the base, or if the load is not given by finite
            numbers.

    Example:
        >>> import numpy as np, sixfold as sf
        >>> arm = sf.load("puma560")
        >>> heavy = sf.add_payload(arm, "dh6", mass=2.5, com=(0, 0, 0.1))
        >>> heavy
        <Model 'puma560': nb=6, nq=6, nv=6, 25.95 kg>
        >>> q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        >>> J = sf.jacobian(arm, q, "dh6", point=(0, 0, 0.1))[3:]
        >>> more = sf.gravity_force(heavy, q) - sf.gravity_force(arm, q)
        >>> np.allclose(more, -J.T @ (0, 0, -2.5 * 9.81))
        True
    """
    require_model("add_payload", model)
    # the load hangs on the body that carries the frame
    carrier, placed = model.locate(frame)
    where = f"payload at '{frame}'"
    if carrier < 0:
        fix = "name a frame that moves; to count the load of a floating base, load it as floating"
        raise ModelError(where, "the frame is fixed to the base, where a load does nothing", fix)
    # its inertia in the coordinates of that body
    X = placement_of(where, placement) @ placed
    bodies = list(model.bodies)
    bodies[carrier] = add_load(bodies[carrier], _load(where, mass, com, inertia), X)
    return replace(model, bodies=tuple(bodies))


def _load(where: str, mass: Any, com: Any, inertia: Any) -> Inertia:
    if isinstance(inertia, Inertia):
        if mass is not None or any(numbers_of(where, "com", com, 3)):
            what = "mass and com are given together with an Inertia"
            raise ModelError(where, what, "give either the Inertia or mass, com and moments")
        return inertia_of(where, inertia)
    if mass is None:
        raise ModelError(where, "has no mass", "pass mass=... [kg], or inertia=Inertia(...)")
    (m,) = numbers_of(where, "mass", mass, 1)
    center = numbers_of(where, "com", com, 3)
    # moments: three, or a 3x3 matrix
    try:
        ordered = isinstance(inertia, Iterable) and not isinstance(inertia, (Mapping, Set))
        rows = list(islice(inertia, 4)) if ordered else [inertia]
    except Exception:  # an iterator's own complaint
        rows = []
    if any(isinstance(row, Iterable) and getattr(row, "ndim", 1) for row in rows):
        rotational: Any = [numbers_of(where, "inertia", row, 3) for row in rows]
    else:
        rotational = numbers_of(where, "inertia", rows, 3)
    return inertia_of(where, Inertia.from_mass(m, center, rotational))


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
    require_model("rename", model)
    where = f"renaming in model '{model.name}'"
    for given in (names, joints, bodies):
        if not isinstance(given, Mapping | None):
            what = f"names are {quote(given)}"
            raise ModelError(where, what, "pass a dictionary {old name: new name}")
    of_joints, of_bodies = dict(joints or {}), dict(bodies or {})
    known_joints = set(model.joint_names)
    known_bodies = {*model.body_names, *model.frame_names, model.base_name}
    # a name stands for a joint or a body, unless both have it
    for old, new in dict(names or {}).items():
        if old in known_joints and old in known_bodies:
            what = f"'{old}' is a joint and also a body or frame"
            raise ModelError(where, what, "say which: rename(model, joints=...) or bodies=...")
        (of_joints if old in known_joints else of_bodies)[old] = new
    # names stay unique among joints, and among bodies and frames
    for kind, changes, known in (
        ("joint", of_joints, known_joints),
        ("body, frame or joint" if names else "body or frame", of_bodies, known_bodies),
    ):
        for old, new in changes.items():
            if old not in known:
                raise UnknownNameError(kind, old, sorted(known), where=where)
            if not isinstance(new, str) or not new:
                raise ModelError(where, f"'{old}' becomes {quote(new)}", "give a text, not empty")
        _refuse_doubles(where, kind, [changes.get(name, name) for name in known])
    return _rename_all(
        model, lambda name: of_joints.get(name, name), lambda name: of_bodies.get(name, name)
    )


def add_prefix(model: Model, prefix: str) -> Model:
    """Return the model with a text before each of its names."""
    if not isinstance(prefix, str):
        raise ModelError("attach", f"prefix is {quote(prefix)}", "give a text")
    if not prefix:
        return model
    # constraints have names of their own
    named = _rename_all(model, prefix.__add__, prefix.__add__)
    constraints = tuple(replace(each, name=prefix + each.name) for each in model.constraints)
    return replace(named, constraints=constraints)


def _rename_all(model: Model, joint: Naming, body: Naming) -> Model:
    """Return the model with each name changed by a function; the file's places move along."""
    # places in the file go by names as well
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
    # the first name of each kind that both models have
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


#: A body, -1 for the base, and the transform from its coordinates to those of what sits on it.
Attachment = tuple[int, Transform]
Placed = TypeVar("Placed", Frame, Geometry, Link)


def carry_over(item: Placed, attachments: Mapping[int, Attachment]) -> Placed:
    """Return a frame, shape or link on the body that now carries its own."""
    body, X = attachments[item.body]
    return replace(item, body=body, placement=(item.placement @ X).map(exact))


def move_shapes_and_links(model: Model, attachments: Mapping[int, Attachment]) -> Model:
    """Return the model with shapes and the links of its file where their bodies went."""
    origin = model.origin
    if origin is not None:
        origin = replace(
            origin, links=tuple(carry_over(link, attachments) for link in origin.links)
        )
    return replace(
        model, geometries=tuple(carry_over(g, attachments) for g in model.geometries), origin=origin
    )


def add_load(body: Body, load: Inertia, X: Transform) -> Body:
    """Return the body with a load at X joined to its inertia."""
    total = body.inertia + (X.T @ load @ X)
    return replace(body, inertia=inertia_of(f"body '{body.name}'", total))


def reattach_constraint(each: Constraint, attachments: Mapping[int, Attachment]) -> Constraint:
    """Return a constraint on the bodies that now carry its own."""
    drop = "take it away first: model.without(constraints=True)"
    if isinstance(each, Gear):
        # gears name joints by number
        terms = tuple((attachments[k][0], c) for k, c in each.terms)
        return replace(each, follower=attachments[each.follower][0], terms=terms)
    # a constraint within one body would hold nothing
    (a, XA), (b, XB) = attachments[each.body_a], attachments[each.body_b]
    if a == b:
        what = "would close a loop within one body"
        raise ModelError(f"constraint '{each.name}'", what, drop)
    if isinstance(each, Distance):
        # points and frames in the coordinates of the bodies that carry them now
        ends = {"point_a": (XA, each.point_a), "point_b": (XB, each.point_b)}
        points = {
            name: tuple(float(plain(x)) for x in X.r + X.E.T @ Vector3.of(p))
            for name, (X, p) in ends.items()
        }
        return replace(each, body_a=a, body_b=b, **points)  # type: ignore[arg-type]
    # loops and wheels: their frames move along
    return replace(
        each,
        body_a=a,
        placement_a=(each.placement_a @ XA).map(exact),
        body_b=b,
        placement_b=(each.placement_b @ XB).map(exact),
    )


def renumber_coupling(c: Coupling, attachments: Mapping[int, Attachment]) -> Coupling:
    """Return a coupling with the numbers that its bodies have now."""
    return Coupling(
        attachments[c.follower][0],
        tuple((attachments[m][0], ratio) for m, ratio in c.terms),
        c.offset,
    )
