"""Model to URDF.  What the format has no words for goes into <sixfold> elements of our own.

Other readers skip those; ours takes them, so that nothing is lost and every number comes back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from sys import float_info
from typing import Any
from xml.sax.saxutils import quoteattr

from sixfold.errors import NotApplicableError
from sixfold.formats.urdf_elements import LIMITS, inertia_from_center
from sixfold.model import (
    Body,
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Free,
    Geometry,
    Joint,
    Mesh,
    Model,
    Planar,
    Prismatic,
    Revolute,
    Shape,
)
from sixfold.model.body import JOINT_PROPERTIES
from sixfold.scalar import exact
from sixfold.spatial import IDENTITY3, Inertia, Transform, Vector3
from sixfold.spatial.rotations import matrix_of_rotation, rotation_to_rpy, rpy_to_rotation

Lines = Iterator[str]
GRAVITY = (0.0, 0.0, -9.81)


def to_urdf(model: Model) -> str:
    """Return the text of the file: the base, the bodies in order, then frames as fixed links.

    Raises:
        NotApplicableError: if a joint has no counterpart in URDF.
    """
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<robot {_attributes(name=model.name)}>"]
    own: dict[str, str] = {}
    if repr(model.gravity) != repr(GRAVITY):
        own["gravity"] = _numbers(model.gravity)
    if own:
        lines.append(f"  <sixfold {_attributes(**own)}/>")
    # links: the base, bodies, frames
    shapes = _by_body(model.geometries)
    lines += _link(model.base_name, None, shapes.get(-1, ()))
    for k, body in enumerate(model.bodies):
        lines += _link(body.name, body.inertia, shapes.get(k, ()))
    lines += [f"  <link {_attributes(name=frame.name)}/>" for frame in model.frames]
    # joints: of bodies, then fixed ones that carry the frames
    laws = {coupling.follower: coupling for coupling in model.couplings}
    for k, body in enumerate(model.bodies):
        lines += _joint(model, body, laws.get(k))
    taken = {body.joint_name for body in model.bodies}
    for frame in model.frames:
        name = _free(f"{frame.name}_fixed", taken)
        parent = model.bodies[frame.body].name if frame.body >= 0 else model.base_name
        lines += [f"  <joint {_attributes(name=name, type='fixed')}>"]
        lines += _ends(parent, frame.name, frame.placement)
        lines += ["  </joint>"]
    return "\n".join([*lines, "</robot>", ""])


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


# -- links

Shapes = list[tuple[Geometry, int]]


def _by_body(geometries: tuple[Geometry, ...]) -> dict[int, Shapes]:
    """Return the shapes of each body with their places, 0 for all when they go by bodies."""
    bodies = [geometry.body for geometry in geometries]
    counted = bodies != sorted(bodies)
    found: dict[int, Shapes] = {}
    for k, geometry in enumerate(geometries, 1):
        found.setdefault(geometry.body, []).append((geometry, k if counted else 0))
    return found


def _link(name: str, inertia: Inertia | None, shapes: Iterable[tuple[Geometry, int]]) -> Lines:
    inside = [*_inertial(inertia), *(line for item in shapes for line in _picture(name, *item))]
    if not inside:
        yield f"  <link {_attributes(name=name)}/>"
        return
    yield f"  <link {_attributes(name=name)}>"
    yield from inside
    yield "  </link>"


def _inertial(inertia: Inertia | None) -> Lines:
    if inertia is None or not any(inertia.parameters()):
        return
    # URDF wants moments about the centre; what rounding changes is written exactly as well
    m = float(inertia.m)
    center = Vector3(*(exact(float(x)) for x in inertia.center))
    about = tuple(float(x) for x in inertia.about_center)
    back = inertia_from_center(m, Transform(IDENTITY3, center), about)
    exactly = {} if _bits(back) == _bits(inertia) else {"sixfold_parameters": _bits(inertia)}
    yield f"    <inertial {_attributes(**exactly)}>" if exactly else "    <inertial>"
    yield f"      <origin {_attributes(xyz=_numbers(center))}/>"
    yield f"      <mass {_attributes(value=_numbers([m]))}/>"
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    tensor = {key: _numbers([x]) for key, x in zip(names, about, strict=True)}
    yield f"      <inertia {_attributes(**tensor)}/>"
    yield "    </inertial>"


def _bits(inertia: Inertia) -> str:
    return _numbers(inertia.parameters())


def _picture(link: str, shape: Geometry, index: int) -> Lines:
    tag = "collision" if shape.collides else "visual"
    name = {"name": shape.name} if shape.name else {}
    yield f"    <{tag} {_attributes(**name)}>" if name else f"    <{tag}>"
    # what URDF has no attribute for
    own = {"link": shape.link} if shape.link != link else {}
    own |= {"index": str(index)} if index else {}
    if shape.contact is not None:
        own["contact"] = _numbers(shape.contact.numbers())
    if own:
        yield f"      <sixfold {_attributes(**own)}/>"
    yield f"      {_origin(shape.placement)}"
    yield f"      <geometry>{_shape(shape.shape)}</geometry>"
    if shape.material or shape.color is not None:
        inside = (
            '<sixfold color="none"/>'
            if shape.color is None
            else f"<color {_attributes(rgba=_numbers(shape.color))}/>"
        )
        yield f"      <material {_attributes(name=shape.material)}>{inside}</material>"
    yield f"    </{tag}>"


def _shape(shape: Shape) -> str:
    if isinstance(shape, Box):
        return f"<box {_attributes(size=_numbers(shape.size))}/>"
    if isinstance(shape, Mesh):
        return f"<mesh {_attributes(filename=shape.file, scale=_numbers(shape.scale))}/>"
    # other readers see a cylinder instead of a capsule
    if isinstance(shape, (Cylinder, Capsule)):
        sizes = {"radius": _numbers([shape.radius]), "length": _numbers([shape.length])}
        round_ends = '<sixfold shape="capsule"/>' if isinstance(shape, Capsule) else ""
        return f"<cylinder {_attributes(**sizes)}/>{round_ends}"
    # other readers see the ball around an ellipsoid
    if isinstance(shape, Ellipsoid):
        ball = _attributes(radius=_numbers([max(shape.radii)]))
        return f"<sphere {ball}/><sixfold {_attributes(radii=_numbers(shape.radii))}/>"
    return f"<sphere {_attributes(radius=_numbers([shape.radius]))}/>"


# -- joints


def _joint(model: Model, body: Body, law: Any) -> Lines:
    kind = _kind(body)
    parent = model.bodies[body.parent].name if body.parent >= 0 else model.base_name
    yield f"  <joint {_attributes(name=body.joint_name, type=kind)}>"
    yield from _ends(parent, body.name, body.placement)
    # what a reader of URDF understands, then the rest in our own element
    own: dict[str, str] = {}
    if isinstance(body.joint, (Revolute, Prismatic)):
        yield f"    <axis {_attributes(xyz=_numbers(body.joint.axis))}/>"
        yield from _limit(kind, body, own)
        if body.damping[0] or body.friction[0]:
            both = {"damping": _numbers(body.damping), "friction": _numbers(body.friction)}
            yield f"    <dynamics {_attributes(**both)}/>"
    elif kind == "planar":
        yield '    <axis xyz="0 0 1"/>'
    _unsaid(body, own)
    terms: list[str] = []
    if law is not None:
        # <mimic> has one master; sums of several are our own
        names = model.joint_names
        pairs = [(names[m], _numbers([ratio])) for m, ratio in law.terms]
        offset = _numbers([law.offset])
        if len(pairs) == 1:
            follows = _attributes(joint=pairs[0][0], multiplier=pairs[0][1], offset=offset)
            yield f"    <mimic {follows}/>"
        else:
            own["offset"] = offset
            terms = [f"<term {_attributes(joint=name, ratio=ratio)}/>" for name, ratio in pairs]
    if own:
        end = f">{''.join(terms)}</sixfold>" if terms else "/>"
        yield f"    <sixfold {_attributes(**own)}{end}"
    yield "  </joint>"


def _kind(body: Body) -> str:
    kinds: Mapping[type[Joint], str] = {
        Revolute: "revolute",
        Prismatic: "prismatic",
        Planar: "planar",
        Free: "floating",
    }
    if type(body.joint) not in kinds:
        raise NotApplicableError(
            "URDF",
            f"joint '{body.joint_name}', which is {body.joint.kind}",
            'save the model as JSON: sixfold.save(model, "robot.json")',
        )
    # a hinge without limits is 'continuous'
    unlimited = (body.lower, body.upper) == ((-math.inf,), (math.inf,))
    kind = kinds[type(body.joint)]
    return "continuous" if kind == "revolute" and unlimited else kind


def _limit(kind: str, body: Body, own: dict[str, str]) -> Lines:
    """Write limits; the largest number stands for none, and our own element says which."""
    numbers = {"effort": body.effort_limit[0], "velocity": body.velocity_limit[0]}
    ours = {"effort": "effort_limit", "velocity": "velocity_limit"}
    if kind == "continuous" and all(map(math.isinf, numbers.values())):
        return
    if kind != "continuous":
        numbers = {"lower": body.lower[0], "upper": body.upper[0], **numbers}
    for name, x in numbers.items():
        if math.isinf(x):
            own[ours.get(name, name)] = _numbers([x])
            numbers[name] = math.copysign(float_info.max, x)
    yield f"    <limit {_attributes(**{name: _numbers([x]) for name, x in numbers.items()})}/>"


def _unsaid(body: Body, own: dict[str, str]) -> None:
    """Add what differs from the value that a reader assumes."""
    nv = body.joint.nv
    assumed: dict[str, tuple[float, ...]] = {
        "rest": body.joint.neutral(),
        "lower": (-math.inf,) * body.joint.nq,
        "upper": (math.inf,) * body.joint.nq,
        "velocity_limit": (math.inf,) * nv,
        "effort_limit": (math.inf,) * nv,
        "friction_negative": body.friction,
    }
    said = {"damping", "friction", *LIMITS} if nv == 1 else set()
    for name in JOINT_PROPERTIES:
        value = getattr(body, name)
        if name not in said and repr(value) != repr(assumed.get(name, (0.0,) * nv)):
            own[name] = _numbers(value)


def _ends(parent: str, child: str, placement: Transform) -> Lines:
    yield f"    <parent {_attributes(link=parent)}/>"
    yield f"    <child {_attributes(link=child)}/>"
    yield f"    {_origin(placement)}"


def _origin(X: Transform) -> str:
    rpy = rotation_to_rpy(X.E) if X.E != IDENTITY3 else (0.0, 0.0, 0.0)
    given = {"xyz": _numbers(X.r), "rpy": _numbers(rpy)}
    # the matrix itself where rpy would change its bits
    nine = matrix_of_rotation(X.E)
    if nine != matrix_of_rotation(rpy_to_rotation(rpy)):
        given["sixfold_rotation"] = _numbers(nine)
    return f"<origin {_attributes(**given)}/>"


# -- text


def _attributes(**values: str) -> str:
    return " ".join(f"{key}={quoteattr(value)}" for key, value in values.items())


def _numbers(values: Iterable[Any]) -> str:
    """Return numbers that read back to the same bits; whole ones without a point."""
    return " ".join(_number(float(x)) for x in values)


def _number(x: float) -> str:
    return repr(x).removesuffix(".0") if abs(x) < 1e6 else repr(x)
