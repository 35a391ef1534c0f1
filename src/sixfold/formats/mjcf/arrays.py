"""From the arrays of a compiled MuJoCo model to a Model; the package itself is not needed here.

MuJoCo gives a body any number of joints; here each joint carries a body of its own.  `q` is `qpos`
but for the order of quaternions: `ref` goes into placements, so zero means the same in both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sixfold.errors import ModelError
from sixfold.formats.mjcf.equality import add_equalities
from sixfold.formats.mjcf.shapes import clean_pose, geometries, names_of, turned
from sixfold.model import (
    Fixed,
    Free,
    Joint,
    Link,
    Model,
    ModelBuilder,
    Prismatic,
    Revolute,
    SourceInfo,
    Spherical,
    Translational,
)
from sixfold.spatial import Inertia, Transform, Vector3

FREE, BALL, SLIDE, HINGE = range(4)
"""Numbers of `mjtJoint`."""
SAME, SAME_AXES = 1, 3
"""Numbers of `mjtSameFrame`: MuJoCo takes a frame within 1e-6 of the body's for the body's own."""


@dataclass(frozen=True)
class Off:
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
    off: Off | None = None,
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
    off = off or Off()
    names = names_of(m)
    gravity = [0.0 if off.gravity else float(x) for x in m.opt.gravity]
    builder = ModelBuilder(name, gravity=gravity, base_name=names.bodies[0])
    for b in range(1, m.nbody):
        _add_body(builder, m, b, names, off, floating=b == floating)
    for site, label in enumerate(names.sites):
        pose = clean_pose(m.site_pos[site], m.site_quat[site])
        builder.add_frame(label, names.bodies[int(m.site_bodyid[site])], pose)
    if not off.equality:
        add_equalities(builder, m, names, floating)
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


def _add_body(builder: ModelBuilder, m: Any, b: int, names: Any, off: Off, floating: bool) -> None:
    """Add one body of MuJoCo: a chain of as many bodies as it has joints."""
    name, parent = names.bodies[b], names.bodies[int(m.body_parentid[b])]
    pose = clean_pose(m.body_pos[b], m.body_quat[b])
    first, count = int(m.body_jntadr[b]), int(m.body_jntnum[b])
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
    anchor: Vector3
    """Where it lies in the body's coordinates."""
    properties: Mapping[str, Any]
    start: float
    """The coordinate that means no motion (`ref`)."""
    absolute: bool = False
    """Counts from the origin of the world."""

    def zero(self) -> Transform:
        """Return the transform to the joint frame where its coordinate is zero."""
        if not self.start:
            return Transform.identity()
        if isinstance(self.joint, Revolute):
            return turned(self.joint.axis, -self.start)
        return Transform.translation(self.joint.axis * -self.start)  # type: ignore[attr-defined]


def _steps(m: Any, joints: range, names: list[str], off: Off) -> Iterator[_Step]:
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
    shift = {**own, "rest": spring[:3]}
    turn = {**own, "rest": _xyzw(spring[3:])}
    yield _Step(f"{name}.translation", Translational(), none, shift, start=0.0, absolute=True)
    yield _Step(f"{name}.rotation", Spherical(), none, turn, start=0.0)


def _properties(m: Any, j: int, v: int, off: Off) -> dict[str, Any]:
    """Return what a joint does by itself; MuJoCo gives all its freedoms the same numbers."""
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
