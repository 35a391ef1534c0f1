"""From the arrays of a compiled MuJoCo model to a Model; the package itself is not needed here.

MuJoCo gives a body any number of joints; here each joint carries a body of its own.  `q` is `qpos`
but for the order of quaternions: `ref` goes into placements, so zero means the same in both.
Equality constraints become loops and gears: MuJoCo's are soft (`solref`, `solimp`); a model's
constraints hold exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from sys import float_info
from typing import Any

from sixfold.errors import ModelError
from sixfold.model import (
    Box,
    Capsule,
    ContactOptions,
    Cylinder,
    Ellipsoid,
    Fixed,
    Free,
    Geometry,
    Joint,
    Link,
    Mesh,
    Model,
    ModelBuilder,
    Prismatic,
    Revolute,
    Shape,
    SourceInfo,
    Sphere,
    Spherical,
    Translational,
)
from sixfold.spatial import Inertia, Transform, Vector3

#: MuJoCo's viewer shows geometry groups 0 to 2; collision shapes stand by custom in group 3.
HIDDEN_GROUP = 3


@dataclass(frozen=True)
class Names:
    """A unique name for each body, joint, site and equality constraint."""

    bodies: list[str]
    joints: list[str]
    sites: list[str]
    geoms: list[str]
    materials: list[str]
    meshes: list[str]
    equalities: list[str]


def names_of(m: Any) -> Names:
    """Return the names in the model; unnamed things are called by kind and number.

    A joint is called after its body, and a site whose name a body has already gets "_site".
    """
    raw = bytes(m.names)
    bodies = _unique_names(raw, m.name_bodyadr[: m.nbody], "body")
    # frames share their names with bodies here: make site names differ
    taken = set(bodies)
    sites = []
    for label in _unique_names(raw, m.name_siteadr[: m.nsite], "site"):
        sites.append(_fresh(f"{label}_site" if label in taken else label, taken))
        taken.add(sites[-1])
    defaults = [f"{bodies[int(b)]}_joint" for b in m.jnt_bodyid[: m.njnt]]
    joints = _unique_names(raw, m.name_jntadr[: m.njnt], "joint", defaults)
    plain = [_text(raw, adr) for adr in m.name_geomadr[: m.ngeom]]
    materials = [_text(raw, adr) for adr in m.name_matadr[: m.nmat]]
    meshes = [_text(raw, adr) for adr in m.name_meshadr[: m.nmesh]]
    equalities = _unique_names(raw, m.name_eqadr[: m.neq], "equality")
    return Names(bodies, joints, sites, plain, materials, meshes, equalities)


def _unique_names(
    raw: bytes, addresses: Iterable[int], kind: str, defaults: Sequence[str] = ()
) -> list[str]:
    given = [_text(raw, adr) for adr in addresses]
    taken = {label for label in given if label}
    labels = []
    for k, label in enumerate(given):
        if not label:
            label = _fresh(defaults[k] if defaults else f"{kind}{k}", taken)
            taken.add(label)
        labels.append(label)
    return labels


def _fresh(label: str, taken: set[str]) -> str:
    if label not in taken:
        return label
    n = 2
    while f"{label}{n}" in taken:
        n += 1
    return f"{label}{n}"


def _text(raw: bytes, address: int) -> str:
    start = int(address)
    return raw[start : raw.index(b"\0", start)].decode("utf-8", "replace")


def model_name(m: Any) -> str:
    """Return the name of the model itself."""
    return _text(bytes(m.names), 0)


def clean_pose(position: Sequence[float], wxyz: Sequence[float]) -> Transform:
    """Return the transform to a frame at a position, turned by a quaternion."""
    w, x, y, z = (float(c) for c in wxyz)
    size = math.hypot(w, x, y, z)
    if not size:
        return Transform.translation([float(c) for c in position])
    # R(q) of a unit quaternion; cosines next to 0 and 1 become exact
    w, x, y, z = w / size, x / size, y / size, z / size
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    rotation = [[_clean(c) for c in row] for row in rows]
    return Transform.from_pose(rotation, [float(c) for c in position])


def turn_about(axis: Vector3, angle: float) -> Transform:
    """Return the transform to a frame turned about an axis."""
    return Transform.turn([float(c) for c in axis], angle)


def _clean(c: float) -> float:
    """Return 0, 1 or -1 for a direction cosine that differs from it by rounding only."""
    nearest = float(round(c))
    return nearest if abs(c - nearest) < 4 * float_info.epsilon else c


def geometries(m: Any, model: Model, names: Names, files: Mapping[str, str]) -> Iterator[Geometry]:
    """Yield the shapes that have a counterpart here: no planes or fields, no meshes without file.

    `files` has the path of each mesh by its name.
    """
    # where each body's name lies: on a body here, or on a frame of one
    places = {frame.name: (frame.body, frame.placement) for frame in model.frames}
    places |= {body.name: (k, Transform.identity()) for k, body in enumerate(model.bodies)}
    places[model.base_name] = (-1, Transform.identity())
    for g in range(m.ngeom):
        found = _shape(m, g, names.meshes, files)
        if found is None:
            continue
        shape, inside = found
        link = names.bodies[int(m.geom_bodyid[g])]
        body, placement = places[link]
        pose = inside @ clean_pose(m.geom_pos[g], m.geom_quat[g]) @ placement
        material = int(m.geom_matid[g])
        yield Geometry(
            body=body,
            placement=pose,
            shape=shape,
            color=_color(m, g, material),
            material=names.materials[material] if material >= 0 else "",
            name=names.geoms[g],
            link=link,
            collides=int(m.geom_group[g]) >= HIDDEN_GROUP,
            contact=contact_options(m, g),
        )


def contact_options(m: Any, g: int) -> ContactOptions | None:
    """Return how a shape touches others, None for one that touches nothing."""
    if not m.geom_contype[g] and not m.geom_conaffinity[g]:
        return None
    rows = m.geom_friction[g], m.geom_solref[g], m.geom_solimp[g]
    single = (m.geom_solmix, m.geom_margin, m.geom_gap)
    whole = (m.geom_condim, m.geom_contype, m.geom_conaffinity, m.geom_priority)
    numbers = [*(x for row in rows for x in row), *(array[g] for array in (*single, *whole))]
    return ContactOptions.of(tuple(float(x) for x in numbers))


def _color(m: Any, g: int, material: int) -> tuple[float, ...]:
    """Return the colour a viewer gives it: the material's, unless the geom has its own."""
    own = tuple(float(c) for c in m.geom_rgba[g])
    if material >= 0 and own == (0.5, 0.5, 0.5, 1.0):
        return tuple(float(c) for c in m.mat_rgba[material])
    return own


def _shape(
    m: Any, g: int, meshes: Sequence[str], files: Mapping[str, str]
) -> tuple[Shape, Transform] | None:
    """Return a shape, and where the shape's own frame lies in MuJoCo's geom frame."""
    a, b, c = (float(x) for x in m.geom_size[g])
    plain: dict[int, Shape] = {
        2: Sphere(a),
        3: Capsule(a, 2 * b),
        4: Ellipsoid((a, b, c)),
        5: Cylinder(a, 2 * b),
        6: Box((2 * a, 2 * b, 2 * c)),
    }
    # numbers of `mjtGeom`; MuJoCo stores half lengths
    kind = int(m.geom_type[g])
    if kind in plain:
        return plain[kind], Transform.identity()
    # planes and fields have no counterpart, meshes need a file
    mesh = int(m.geom_dataid[g])
    if kind != 7 or not (path := files.get(meshes[mesh]) or _path(m, mesh)):
        return None
    # MuJoCo moves a mesh to its centre and principal axes: go back to the axes of its file
    scale = tuple(float(x) for x in m.mesh_scale[mesh])
    moved = clean_pose(m.mesh_pos[mesh], m.mesh_quat[mesh])
    return Mesh(path, scale), moved.inverse()


def _path(m: Any, mesh: int) -> str:
    address = int(m.mesh_pathadr[mesh])
    return _text(bytes(m.paths), address) if address >= 0 else ""


CONNECT, WELD, JOINT = range(3)  #: Numbers of `mjtEq`.
SITE = 6  #: Number of `mjtObj`.
KINDS = {CONNECT: "connect", WELD: "weld", JOINT: "joint", 3: "tendon", 7: "distance"}


def add_equalities(builder: ModelBuilder, m: Any, names: Names, floating: int = 0) -> None:
    """Close the loops of a compiled MuJoCo model; those of `skipped_equalities` are not made."""
    skipped = {k for k, _, _ in skipped_equalities(m, floating)}
    for k in range(m.neq):
        if k not in skipped:
            name = names.equalities[k]
            if int(m.eq_type[k]) == JOINT:
                _gear(builder, m, k, name, names)
            else:
                _loop(builder, m, k, name, names)


def skipped_equalities(m: Any, floating: int = 0) -> Iterator[tuple[int, str, str]]:
    """Yield number, kind and reason of each equality constraint that a model has no place for."""
    for k in range(m.neq):
        kind = int(m.eq_type[k])
        label = f"equality {KINDS.get(kind, 'flex')}"
        if kind not in (CONNECT, WELD, JOINT):
            yield k, label, "no loop is made from it"
        elif not m.eq_active0[k]:
            yield k, f"inactive {label}", "it is off when the simulation starts"
        elif kind != JOINT:
            a, b = (_carrier(m, body, floating) for body in _bodies(m, k))
            if a == b:
                yield k, label, "its bodies cannot move against each other"


def _bodies(m: Any, k: int) -> tuple[int, int]:
    """Return the numbers of the two bodies."""
    first, second = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
    if int(m.eq_objtype[k]) == SITE:
        return int(m.site_bodyid[first]), int(m.site_bodyid[second])
    return first, second


def _carrier(m: Any, body: int, floating: int) -> int:
    """Return the body that a body is fixed to, itself if it has joints."""
    while body and body != floating and not m.body_jntnum[body]:
        body = int(m.body_parentid[body])
    return body


def _loop(builder: ModelBuilder, m: Any, k: int, name: str, names: Names) -> None:
    # connect: a point; weld: all six directions
    a, b = (names.bodies[body] for body in _bodies(m, k))
    data = [float(x) for x in m.eq_data[k]]
    weld = int(m.eq_type[k]) == WELD
    # without its torque a weld holds a point only
    joint = Fixed() if weld and data[10] else Spherical()
    if int(m.eq_objtype[k]) == SITE:
        sites = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
        XA, XB = (clean_pose(m.site_pos[s], m.site_quat[s]) for s in sites)
    elif weld:
        # the point of body 1, and how body 2 is turned there; then the anchor in body 2
        XA, XB = clean_pose(data[3:6], data[6:10]), Transform.translation(data[0:3])
    else:
        XA, XB = (Transform.translation(point) for point in (data[0:3], data[3:6]))
    builder.close(a, b, joint, XA, XB, name=name)


def _gear(builder: ModelBuilder, m: Any, k: int, name: str, names: Names) -> None:
    """q1 - ref1 = c0 + c1 (q2 - ref2) + c2 (q2 - ref2)^2 + ..., in powers of q2 itself."""
    first, second = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
    # a polynomial in the distance from the reference position
    c = [float(x) for x in m.eq_data[k][:5]]
    offset = c[0] + float(m.qpos0[int(m.jnt_qposadr[first])])
    leaders: list[tuple[str, tuple[float, ...]]] = []
    if second >= 0:
        ref = float(m.qpos0[int(m.jnt_qposadr[second])])
        # expand the powers of (q2 - ref2) into powers of q2
        powers = [
            sum(c[n] * comb(n, p) * (-ref) ** (n - p) for n in range(max(p, 1), 5))
            for p in range(5)
        ]
        offset += powers[0]
        while powers and not powers[-1]:
            powers.pop()
        leaders = [(names.joints[second], tuple(powers[1:]))] if len(powers) > 1 else []
    builder.add_gear(names.joints[first], *leaders, offset=offset, name=name)


FREE, BALL, SLIDE, HINGE = range(4)  #: Numbers of `mjtJoint`.
#: Numbers of `mjtSameFrame`: MuJoCo takes a frame within 1e-6 of the body's for the body's own.
SAME, SAME_AXES = 1, 3


@dataclass(frozen=True)
class DisabledEffects:
    """What the options of a MuJoCo model switch off."""

    gravity: bool = False
    springs: bool = False
    damping: bool = False
    friction: bool = False
    equality: bool = False


@dataclass(frozen=True)
class Lines:
    """Where bodies, their inertias and joints stand in the file, by MuJoCo's numbers."""

    body: Mapping[int, int] = field(default_factory=dict)
    inertia: Mapping[int, int] = field(default_factory=dict)
    joint: Mapping[int, int] = field(default_factory=dict)


def model_from_arrays(
    m: Any,
    name: str,
    *,
    off: DisabledEffects | None = None,
    floating: int = 0,
    file: str = "",
    lines: Lines | None = None,
    notes: Iterable[str] = (),
    blemishes: Iterable[str] = (),
    meshes: Mapping[str, str] | None = None,
) -> Model:
    """Return the tree of a compiled MuJoCo model.

    Args:
        m: a `mujoco.MjModel`, or anything with its arrays.
        name: of the model.
        off: what the options of the file switch off.
        floating: number of a static body that gets a free joint; 0 for none.
        file: where the model came from.
        lines: lines of that file.
        notes: what the file says and the model has no counterpart for.
        blemishes: what is wrong in the file and was read all the same.
        meshes: path of each mesh by its name, where the arrays do not have it.
    """
    off = off or DisabledEffects()
    names = names_of(m)
    # bodies in MuJoCo's order: parents come first
    gravity = [0.0 if off.gravity else float(x) for x in m.opt.gravity]
    builder = ModelBuilder(name, gravity=gravity, base_name=names.bodies[0])
    for b in range(1, m.nbody):
        _add_body(builder, m, b, names, off, floating=b == floating)
    for site, label in enumerate(names.sites):
        pose = clean_pose(m.site_pos[site], m.site_quat[site])
        builder.add_frame(label, names.bodies[int(m.site_bodyid[site])], pose)
    if not off.equality:
        add_equalities(builder, m, names, floating)
    # sites become frames, equalities constraints
    model = builder.build()
    _check_finite(model)
    origin = SourceInfo(
        file=file,
        links=tuple(_links(m, model, names.bodies, lines or Lines())),
        joint_lines={names.joints[j]: n for j, n in (lines or Lines()).joint.items()},
        notes=tuple(notes),
        blemishes=tuple(blemishes),
    )
    shapes = tuple(geometries(m, model, names, meshes or {}))
    return replace(model, geometries=shapes, origin=origin if file else None)


def _check_finite(model: Model) -> None:
    """Refuse sums of static bodies and frames that leave the range of numbers."""
    placed = [(f.name, f.placement.r, ()) for f in model.frames]
    numbers = [(b.name, b.placement.r, b.inertia.parameters()) for b in model.bodies]
    for name, position, inertia in (*numbers, *placed):
        if not all(math.isfinite(float(x)) for x in (*position, *inertia)):
            where = f"body '{name}'"
            raise ModelError(where, "its numbers overflow", "give lengths in m, masses in kg")


def _add_body(
    builder: ModelBuilder, m: Any, b: int, names: Any, off: DisabledEffects, floating: bool
) -> None:
    """Add one body of MuJoCo: a chain of as many bodies as it has joints."""
    name, parent = names.bodies[b], names.bodies[int(m.body_parentid[b])]
    pose = clean_pose(m.body_pos[b], m.body_quat[b])
    first, count = int(m.body_jntadr[b]), int(m.body_jntnum[b])
    # one body here for each joint of MuJoCo's body
    steps = list(_steps(m, range(first, first + count), names.joints, off))
    if floating:
        steps = [_Step("floating_base", Free(), Vector3.of((0.0, 0.0, 0.0)), {}, start=0.0)]
    if not steps:
        still = _inertia(m, b)
        builder.add_body(name, parent=parent, joint=Fixed(), placement=pose, inertia=still)
        return
    X, at = pose, Vector3.of((0.0, 0.0, 0.0))
    for k, step in enumerate(steps):
        # move to the joint, then back to where its coordinate is zero
        X = step.zero() @ Transform.translation(step.anchor - at) @ X
        if isinstance(step.joint, Free) or step.absolute:
            X = Transform.identity()
        last = k == len(steps) - 1
        whole = last and not any(step.anchor)
        label = name if whole else f"{name}/{step.name.removesuffix('.translation')}"
        inertia = _inertia(m, b, step.anchor) if last else None
        options = {"placement": X, "inertia": inertia, **step.properties}
        builder.add_body(label, parent=parent, joint=step.joint, joint_name=step.name, **options)
        parent, X, at = label, Transform.identity(), step.anchor
    if parent != name:
        builder.add_frame(name, parent, Transform.translation(-at))


@dataclass(frozen=True)
class _Step:
    """One joint of a chain."""

    name: str
    joint: Joint
    anchor: Vector3  #: Where it lies in the body's coordinates.
    properties: Mapping[str, Any]
    start: float  #: The coordinate that means no motion (`ref`).
    absolute: bool = False  #: Counts from the origin of the world.

    def zero(self) -> Transform:
        """Return the transform to the joint frame where its coordinate is zero."""
        if not self.start:
            return Transform.identity()
        if isinstance(self.joint, Revolute):
            return turn_about(self.joint.axis, -self.start)
        return Transform.translation(self.joint.axis * -self.start)  # type: ignore[attr-defined]


def _steps(m: Any, joints: range, names: list[str], off: DisabledEffects) -> Iterator[_Step]:
    for j in joints:
        kind, q, v = int(m.jnt_type[j]), int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
        own = _properties(m, j, v, off)
        spring = [float(x) for x in m.qpos_spring[q : q + (7, 4, 1, 1)[kind]]]
        anchor = Vector3.of([float(x) for x in m.jnt_pos[j]])
        none = Vector3.of((0.0, 0.0, 0.0))
        if kind == FREE:
            yield from _free_steps(names[j], own, spring)
        elif kind == BALL:
            own["rest"] = _xyzw(spring)
            yield _Step(names[j], Spherical(), anchor, own, start=0.0)
        else:
            own["rest"] = spring
            own |= _range(m, j)
            axis = [float(x) for x in m.jnt_axis[j]]
            start = float(m.qpos0[q])
            if kind == HINGE:
                yield _Step(names[j], Revolute(axis), anchor, own, start)
            else:
                yield _Step(names[j], Prismatic(axis), none, own, start)


def _free_steps(name: str, own: dict[str, Any], spring: list[float]) -> Iterator[_Step]:
    """One free joint; a translation and a rotation where it has effects in world axes.

    Armature, stiffness and friction of MuJoCo's free joint act along the axes of the world, those
    of `Free` along the axes of the body.
    """
    none = Vector3.of((0.0, 0.0, 0.0))
    if not any(own[key] for key in ("armature", "stiffness", "friction")):
        yield _Step(name, Free(), none, own, start=0.0)
        return
    # three translations along the world's axes, then a ball joint
    shift = {**own, "rest": spring[:3]}
    turn = {**own, "rest": _xyzw(spring[3:])}
    yield _Step(f"{name}.translation", Translational(), none, shift, start=0.0, absolute=True)
    yield _Step(f"{name}.rotation", Spherical(), none, turn, start=0.0)


def _properties(m: Any, j: int, v: int, off: DisabledEffects) -> dict[str, Any]:
    """Return a joint's own properties; MuJoCo gives all its degrees of freedom the same."""
    own: dict[str, Any] = {
        "damping": 0.0 if off.damping else float(m.dof_damping[v]),
        "friction": 0.0 if off.friction else float(m.dof_frictionloss[v]),
        "stiffness": 0.0 if off.springs else float(m.jnt_stiffness[j]),
        "armature": float(m.dof_armature[v]),
    }
    if m.jnt_actfrclimited[j]:
        own["effort_limit"] = max(abs(float(x)) for x in m.jnt_actfrcrange[j])
    return own


def _range(m: Any, j: int) -> dict[str, float]:
    if not m.jnt_limited[j]:
        return {}
    lower, upper = (float(x) for x in m.jnt_range[j])
    return {"lower": lower, "upper": upper}


def _xyzw(wxyz: list[float]) -> list[float]:
    return [*wxyz[1:], wxyz[0]]


def _inertia(m: Any, b: int, origin: Vector3 | None = None) -> Inertia:
    """Return the inertia of a body about its own origin, or about a joint's."""
    # use the frame that MuJoCo itself uses
    same = int(m.body_sameframe[b])
    quat = (1.0, 0.0, 0.0, 0.0) if same in (SAME, SAME_AXES) else m.body_iquat[b]
    pose = clean_pose((0.0, 0.0, 0.0) if same == SAME else m.body_ipos[b], quat)
    principal = Inertia.from_mass(
        float(m.body_mass[b]), (0.0, 0.0, 0.0), [float(x) for x in m.body_inertia[b]]
    )
    X = pose if origin is None else Transform(pose.E, pose.r - origin)
    return X.T @ principal @ X


def inertial_offset(m: Any, b: int) -> bool:
    """Tell whether an inertial frame differs from the body's by so little that MuJoCo drops it."""
    same = int(m.body_sameframe[b])
    moved = same == SAME and any(m.body_ipos[b])
    return bool(moved or (same in (SAME, SAME_AXES) and any(m.body_iquat[b][1:])))


def _links(m: Any, model: Model, names: list[str], lines: Lines) -> Iterator[Link]:
    locate: Callable[[str], tuple[int, Transform]] = _finder(model)
    for b in range(1, m.nbody):
        k, placement = locate(names[b])
        line = lines.body.get(b, 1)
        given = _inertia(m, b) if m.body_mass[b] or any(m.body_inertia[b]) else None
        yield Link(names[b], k, placement, given, line, lines.inertia.get(b, line))


def _finder(model: Model) -> Callable[[str], tuple[int, Transform]]:
    places = {frame.name: (frame.body, frame.placement) for frame in model.frames}
    for k, body in enumerate(model.bodies):
        places[body.name] = (k, Transform.identity())
    return places.__getitem__
