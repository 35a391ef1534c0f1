"""Elements of URDF: <origin>, <inertial>, <joint>, <visual> and <collision>."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from sys import float_info
from typing import Any, NamedTuple, NoReturn

from sixfold.errors import RobotFileError, near_names
from sixfold.formats.xml import NONE, Fields, Notes, excerpt
from sixfold.model import (
    Box,
    Capsule,
    ContactOptions,
    Cylinder,
    Ellipsoid,
    Fixed,
    Free,
    Joint,
    Mesh,
    Planar,
    Prismatic,
    Revolute,
    Shape,
    Sphere,
    Spherical,
)
from sixfold.model.body import JOINT_PROPERTIES
from sixfold.model.geometry import CONTACT_NUMBERS
from sixfold.scalar import exact
from sixfold.spatial import IDENTITY3, Inertia, Transform, Vector3
from sixfold.spatial.rotations import exact_rotation, matrix_of_rotation, rpy_to_rotation
from sixfold.spatial.vectors import Symmetric3

Numbers = tuple[float, ...]
WRITE = 'write <mass value="..."/> [kg] and <inertia ixx="..." .../> [kg m^2]'
NOTHING = (0.0, 0.0, 0.0)
AT_REST = Transform.identity()
AGREES = 1e-9
ORIGIN = frozenset({"xyz", "rpy", "sixfold_rotation"})
INERTIAL = frozenset({"origin", "mass", "inertia"})
TENSOR = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
VALUE, SIX, INERTIAL_OWN = (
    frozenset({"value"}),
    frozenset(TENSOR),
    frozenset({"sixfold_parameters"}),
)


def origin(element: Fields | None, notes: Notes) -> Transform:
    """Return the transform to the coordinates of an <origin> from those around it."""
    if element is None:
        return AT_REST
    element.open(notes, ORIGIN)
    # R = Rz(yaw) Ry(pitch) Rx(roll)
    xyz, rpy = element.numbers("xyz", 3, NOTHING), element.numbers("rpy", 3, NOTHING)
    E = rpy_to_rotation(rpy)
    # our own matrix has the exact bits; it must be the rotation of rpy
    if "sixfold_rotation" in element.element.attributes:
        nine = element.numbers("sixfold_rotation", 9)
        if max(abs(x - y) for x, y in zip(nine, matrix_of_rotation(E), strict=True)) > AGREES:
            element.fail(
                "rpy and sixfold_rotation are not the same rotation",
                "remove sixfold_rotation after changing rpy",
                expected=f"agreement to {AGREES:g}",
            )
        E = exact_rotation(nine)
    return Transform(E, Vector3(*map(exact, xyz)))


def inertia(inertial: Fields, notes: Notes) -> Inertia | None:
    """Return mass, first moment and rotational inertia about the link's origin, in its axes."""
    inside = inertial.open(notes, INERTIAL_OWN, INERTIAL)
    place = origin(inside.get("origin"), notes)
    # a link without inertia is massless
    if "mass" not in inside:
        if "inertia" in inside:
            inertial.fail("has no <mass>", WRITE)
        inertial.repair("has neither <mass> nor <inertia>", "the link has no inertia", WRITE)
        return None
    inside["mass"].open(notes, VALUE)
    mass = inside["mass"].number("value")
    if mass < 0:
        inside["mass"].fail(
            "the mass is negative",
            "give the mass of the link [kg]",
            expected=">= 0",
            got=f"{mass!r}",
        )
    # <inertia> is about the centre of mass, in the axes of <origin>
    found = inertia_from_center(mass, place, _six(inertial, inside.get("inertia"), notes))
    if "sixfold_parameters" not in inertial.element.attributes:
        return found
    # our own ten parameters are exact; they must agree with the elements
    ten = inertial.numbers("sixfold_parameters", 10)
    given = [float(x) for x in found.parameters()]
    if not all(
        _parameters_agree(ten[part], given[part]) for part in (slice(1), slice(1, 4), slice(4, 10))
    ):
        inertial.fail(
            "its elements and sixfold_parameters are not the same inertia",
            "remove sixfold_parameters after changing mass, origin or inertia",
            expected=f"agreement to {AGREES:g}",
        )
    return Inertia.from_parameters(ten)


def _six(inertial: Fields, tensor: Fields | None, notes: Notes) -> Numbers:
    """Return the six moments; products that are left out are zero, as are all six together."""
    if tensor is None:
        inertial.repair("has no <inertia>", "the link is a point mass", WRITE)
        return (0.0,) * 6
    tensor.open(notes, SIX)
    given = tensor.element.attributes
    if not any(name in given for name in TENSOR):
        tensor.repair("has no moments", "the link is a point mass", WRITE)
        return (0.0,) * 6
    for name in TENSOR[3:]:
        if name not in given:
            tensor.repair(f"has no attribute '{name}'", "0 is read", f'write {name}="0"')
    return tuple(tensor.number(name, None if name in TENSOR[:3] else 0.0) for name in TENSOR)


def inertia_from_center(m: float, X: Transform, six: Numbers) -> Inertia:
    """Return the inertia of a body with its centre of mass at X.r.

    Args:
        m: mass.
        X: link coordinates to those of the centre of mass.
        six: Ixx, Iyy, Izz, Ixy, Ixz, Iyz about the centre of mass, in X's axes.
    """
    xx, yy, zz, xy, xz, yz = six if X.E is IDENTITY3 else _rotate(matrix_of_rotation(X.E), six)
    x, y, z = map(float, X.r)
    # parallel axes: + m (c.c 1 - c c^T)
    I = (
        *(xx + m * (y * y + z * z), yy + m * (z * z + x * x), zz + m * (x * x + y * y)),
        *(xy - m * (x * y), xz - m * (x * z), yz - m * (y * z)),
    )
    h = Vector3(exact(m * x), exact(m * y), exact(m * z))
    return Inertia(exact(m), h, Symmetric3(*map(exact, I)))


def _rotate(R: Numbers, six: Numbers) -> Numbers:
    """Return the six elements of R I R^T."""
    xx, yy, zz, xy, xz, yz = six
    rows = (R[0:3], R[3:6], R[6:9])
    half = [
        (a * xx + b * xy + c * xz, a * xy + b * yy + c * yz, a * xz + b * yz + c * zz)
        for a, b, c in rows
    ]
    return tuple(
        half[i][0] * rows[j][0] + half[i][1] * rows[j][1] + half[i][2] * rows[j][2]
        for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    )


def _parameters_agree(a: Sequence[float], b: Sequence[float]) -> bool:
    worst = max(abs(x - y) for x, y in zip(a, b, strict=True))
    return worst <= AGREES * max(map(abs, a))


TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
#: Types of other formats that leave no doubt; so does "spherical".
OTHER_NAMES = {"ball": "spherical"}
CHILDREN = frozenset({"parent", "child", "origin", "axis", "limit", "dynamics", "mimic", "sixfold"})
JOINT, LINK, XYZ = frozenset({"name", "type"}), frozenset({"link"}), frozenset({"xyz"})
LIMIT = frozenset({"lower", "upper", "effort", "velocity"})
DYNAMICS = frozenset({"damping", "friction"})
MIMIC = frozenset({"joint", "multiplier", "offset"})
TERM, TERMS = frozenset({"joint", "ratio"}), frozenset({"term"})
SHORTEST = 1e-50
LIMITS = frozenset({"lower", "upper", "velocity_limit", "effort_limit"})
OWN = frozenset({*JOINT_PROPERTIES, "offset"})
WITH_AXIS = frozenset({"revolute", "continuous", "prismatic", "planar"})
X_AXIS = Vector3.of((1.0, 0.0, 0.0))


class Mimic(NamedTuple):
    """A joint that follows others: sum of ratio x master, + offset."""

    terms: tuple[tuple[str, float], ...]
    offset: float
    line: int


class UrdfJoint(NamedTuple):
    """A joint between two links, as the file gives it."""

    name: str
    parent: str
    child: str
    joint: Joint
    placement: Transform
    normal: Vector3 | None  #: For a planar joint the normal of its plane.
    properties: Mapping[str, Any]
    mimic: Mimic | None
    file: str
    line: int

    def fail(self, what: str, fix: str, *, line: int = 0, expected: str = "") -> NoReturn:
        """Raise an error at this joint, or at another line of it."""
        raise self.error(what, fix, line=line, expected=expected)

    def error(self, what: str, fix: str, *, line: int = 0, expected: str = "") -> RobotFileError:
        """Return an error about this joint, or about another line of it."""
        return RobotFileError(
            what,
            file=self.file,
            line=line or self.line,
            element=f"joint '{excerpt(self.name)}'",
            expected=expected,
            fix=fix,
        )


def read_joint(joint: Fields, notes: Notes) -> UrdfJoint:
    """Return what one <joint> says."""
    name = joint.read_name("joint")
    inside = joint.open(notes, JOINT, CHILDREN)
    kind = _type(joint)
    axis = _axis(inside.get("axis"), notes) if kind in WITH_AXIS else None
    made = _joint(kind, axis)
    return UrdfJoint(
        name=name,
        parent=_end(joint, "parent", inside, notes),
        child=_end(joint, "child", inside, notes),
        joint=made,
        placement=origin(inside.get("origin"), notes),
        normal=axis if kind == "planar" else None,
        properties=_properties(joint, kind, made, inside, notes),
        mimic=_mimic(kind, inside, notes),
        file=joint.file,
        line=joint.line,
    )


def _type(joint: Fields) -> str:
    """Return the type, by its usual name."""
    given = joint.text("type")
    kind = OTHER_NAMES.get(given.lower(), given.lower())
    near, listed = near_names(given, TYPES), ", ".join(TYPES)
    fix = f"did you mean {', '.join(map(repr, near))}?" if near else "correct the type"
    if kind not in (*TYPES, "spherical"):
        joint.fail("the joint type is not known", fix, expected=listed, got=f"{excerpt(given)!r}")
    if given not in TYPES:
        what = f"the joint type {excerpt(given)!r} is not one of URDF"
        joint.repair(what, f"it is read as '{kind}'", fix, expected=listed)
    return kind


def _end(joint: Fields, tag: str, inside: Mapping[str, Fields], notes: Notes) -> str:
    if tag not in inside:
        joint.fail(f"has no <{tag}>", f'write <{tag} link="..."/>')
    inside[tag].open(notes, LINK)
    return inside[tag].text("link")


@lru_cache(maxsize=1024)
def _joint(kind: str, axis: Vector3 | None) -> Joint:
    if axis is not None and kind in ("revolute", "continuous"):
        return Revolute(axis)
    if axis is not None and kind == "prismatic":
        return Prismatic(axis)
    if kind == "planar":
        return Planar()
    if kind == "spherical":
        return Spherical()
    return Free() if kind == "floating" else Fixed()


def _axis(element: Fields | None, notes: Notes) -> Vector3:
    """Return the unit vector along <axis>, the x axis when there is none."""
    if element is None:
        return X_AXIS
    element.open(notes, XYZ)
    # an axis left out is x by the rule of the format, an empty one is nothing
    xyz = element.numbers("xyz", 3) if "xyz" in element.element.attributes else (1.0, 0.0, 0.0)
    size = math.hypot(*xyz)
    if size < SHORTEST:
        element.fail(
            "the axis has no direction",
            'give a vector such as xyz="0 0 1"',
            expected="a vector that is not zero",
            got=f"{excerpt(element.element.attributes.get('xyz', ''))!r}",
        )
    # a vector of length 1 within rounding stays as the file gives it
    scale = 1.0 if abs(size - 1.0) < 1e-12 else size
    return Vector3(*(exact(x / scale) for x in xyz))


def _properties(
    joint: Fields, kind: str, made: Joint, inside: Mapping[str, Fields], notes: Notes
) -> dict[str, Any]:
    limit, dynamics = inside.get("limit"), inside.get("dynamics")
    if limit:
        limit.open(notes, LIMIT)
    if dynamics:
        dynamics.open(notes, DYNAMICS)
    found: dict[str, Any] = {}
    # limits and friction of URDF are those of joints with one coordinate
    if made.nv == 1:
        found |= _limits(joint, kind, limit, notes)
        if dynamics is not None:
            found["damping"] = dynamics.number("damping", 0.0)
            found["friction"] = dynamics.number("friction", 0.0)
    else:
        _useless(kind, limit, notes)
        _useless(kind, dynamics, notes)
    if "sixfold" in inside:
        found |= _own(inside["sixfold"], found, made, notes)
    return found


def _limits(joint: Fields, kind: str, limit: Fields | None, notes: Notes) -> dict[str, float]:
    if limit is None:
        if kind != "continuous":
            joint.fail(
                f"has no <limit>, which a '{kind}' joint needs",
                'write <limit lower="..." upper="..." effort="..." velocity="..."/>'
                + (" or make the joint 'continuous'" if kind == "revolute" else ""),
            )
        return {}
    found: dict[str, float] = {}
    for name, attribute in (("effort_limit", "effort"), ("velocity_limit", "velocity")):
        found[name] = _most(limit, attribute)
    lower, upper = (limit.number(name, 0.0, infinite=True) for name in ("lower", "upper"))
    # a continuous joint has no limits of position
    if kind == "continuous":
        if limit.element.attributes.keys() & {"lower", "upper"}:
            notes.say("lower and upper of a continuous joint are left out", limit.line)
        return found
    for name in ("lower", "upper"):
        if name not in limit.element.attributes:
            notes.say(f"<limit> without {name}: 0 by the rule of the format", limit.line)
    if lower > upper:
        what, fix = "the lower limit is above the upper one", "swap lower and upper"
        limit.repair(what, "they are swapped", fix, got=f"{lower!r} > {upper!r}")
        lower, upper = upper, lower
    return found | {"lower": lower, "upper": upper}


def _most(limit: Fields, attribute: str) -> float:
    """Return the limit of effort or velocity, infinity where there is no good one."""
    if attribute not in limit.element.attributes:
        limit.repair(f"has no attribute '{attribute}'", "no limit is read", f"write {attribute}")
    most = limit.number(attribute, math.inf, infinite=True)
    if most < 0:
        what, fix = f"attribute '{attribute}' is negative", "write a number >= 0"
        limit.repair(what, "no limit is read", fix, got=repr(most))
        return math.inf
    return most


def _useless(kind: str, element: Fields | None, notes: Notes) -> None:
    """Remark numbers that have no meaning for a joint of no or several degrees of freedom."""
    if element is None:
        return
    # a number that is not zero is remarked; zeros are common and mean nothing
    names = sorted((LIMIT | DYNAMICS) & element.element.attributes.keys())
    try:
        numbers = [element.number(name, 0.0, infinite=True) for name in names]
    except RobotFileError as error:
        notes.blemish(error, f"a {kind} joint does not need it")
        return
    if any(numbers):
        notes.say(f"<{element.element.tag}> of a {kind} joint is left out", element.line)


def _own(ours: Fields, found: Mapping[str, Any], joint: Joint, notes: Notes) -> dict[str, Any]:
    """Return the numbers of our own element, which say what the format has no words for."""
    ours.open(notes, OWN, many=TERMS)
    own: dict[str, Any] = {}
    # one number for each coordinate; where URDF says it as well, both must agree
    for name in sorted((OWN - {"offset"}) & ours.element.attributes.keys()):
        size = joint.nq if JOINT_PROPERTIES[name] == "q" else joint.nv
        own[name] = ours.numbers(name, size, infinite=name in LIMITS)
        if name in found and not _agree(found[name], own[name]):
            ours.fail(
                f"'{name}' and the number of URDF do not agree",
                f"remove '{name}' from <sixfold>",
                expected=f"{found[name]!r}, where {float_info.max!r} stands for inf",
                got=" ".join(map(repr, own[name])),
            )
    return own


def _agree(urdf: float, own: tuple[float, ...]) -> bool:
    """Return true for equal numbers; the largest number of all stands for infinity."""
    return own == (urdf,) or (math.isinf(own[0]) and urdf == math.copysign(float_info.max, own[0]))


def _mimic(kind: str, inside: Mapping[str, Fields], notes: Notes) -> Mimic | None:
    element, ours = inside.get("mimic"), inside.get("sixfold")
    # q = multiplier q_master + offset, or a sum of several masters
    if element is not None:
        element.open(notes, MIMIC)
        pair = (element.text("joint"), element.number("multiplier", 1.0))
        law = Mimic((pair,), element.number("offset", 0.0), element.line)
    elif ours is not None and "offset" in ours.element.attributes:
        terms = list(ours.every("term"))
        for term in terms:
            term.open(notes, TERM)
        pairs = tuple((term.text("joint"), term.number("ratio")) for term in terms)
        law = Mimic(pairs, ours.number("offset"), ours.line)
    else:
        return None
    if kind == "fixed":
        notes.say("<mimic> of a fixed joint is left out", law.line)
        return None
    if kind in ("floating", "planar", "spherical"):
        fix = "remove the <mimic> or change the type"
        (element or inside["sixfold"]).fail(f"a '{kind}' joint cannot follow another", fix)
    return law


Color = tuple[float, ...] | None
SHAPES = frozenset({"box", "sphere", "cylinder", "capsule", "mesh"})
SIZES = frozenset({"size", "radius", "length", "filename", "scale"})
NAME, COLOR, RGBA = frozenset({"name"}), frozenset({"color"}), frozenset({"rgba"})
PICTURE = frozenset({"origin", "geometry", "material", "sixfold"})
MATERIAL = frozenset({"color", "texture", "sixfold"})
GEOMETRY = SHAPES | {"sixfold"}
PLACE, FORM = frozenset({"link", "index", "contact"}), frozenset({"shape", "radii"})


class Picture(NamedTuple):
    """A shape on a link, with its colour still by name where the file says so."""

    placement: Transform  #: Link coordinates to the shape's own.
    shape: Shape
    material: str
    color: Color
    by_reference: bool
    name: str
    #: The link of a model that was saved, where it is not the link around the shape.
    link: str | None
    #: Its place in a model that was saved, where shapes do not go by bodies; 0 otherwise.
    order: float
    collides: bool
    line: int
    contact: ContactOptions | None = None


def pictures(link: Fields, notes: Notes) -> Iterator[Picture]:
    """Yield what is drawn of a link and what collides, in the order of the file.

    Dynamics needs none of it: a shape with something wrong in it is left out.
    """
    for element in link.every("visual", "collision"):
        try:
            yield _picture(element, notes)
        except RobotFileError as error:
            notes.blemish(error, "the shape is left out")


def _picture(element: Fields, notes: Notes) -> Picture:
    inside = element.open(notes, NAME, PICTURE, picture=True)
    # the shape, its colour, and what our own element adds
    geometry, ours = inside.get("geometry"), inside.get("sixfold")
    if geometry is None:
        element.fail("has no <geometry>", "write a <geometry> with a shape in it")
    material, color, by_reference = _material(inside.get("material"), notes)
    if ours:
        ours.open(notes, PLACE)
    return Picture(
        placement=origin(inside.get("origin"), notes),
        shape=_shape(geometry, notes),
        material=material,
        color=color,
        by_reference=by_reference,
        name=element.element.attributes.get("name", ""),
        link=ours.element.attributes.get("link") if ours else None,
        order=ours.number("index", 0.0) if ours else 0.0,
        collides=element.element.tag == "collision",
        line=element.line,
        contact=_contact(ours),
    )


def _contact(ours: Fields | None) -> ContactOptions | None:
    if ours is None or "contact" not in ours.element.attributes:
        return None
    return ContactOptions.of(ours.numbers("contact", CONTACT_NUMBERS))


def add_color(material: Fields, colors: dict[str, Color], notes: Notes) -> None:
    """Add the colour of a material of the robot, under its name."""
    name, color, by_reference = _material(material, notes)
    if by_reference:
        return
    if colors.setdefault(name, color) != color:
        what, fix = f"material '{excerpt(name)}' has two colours", "give each its own name"
        material.repair(what, "the first is read", fix)


def _material(element: Fields | None, notes: Notes) -> tuple[str, Color, bool]:
    """Return name, colour, and whether the colour stands elsewhere under that name."""
    if element is None:
        return "", None, False
    try:
        return _read_material(element, notes)
    except RobotFileError as error:
        notes.blemish(error, "the colour is left out")
        return element.element.attributes.get("name", ""), None, False


def _read_material(element: Fields, notes: Notes) -> tuple[str, Color, bool]:
    inside = element.open(notes, NAME, MATERIAL, picture=True)
    name = element.element.attributes.get("name", "")
    if "texture" in inside:
        notes.add("the texture of a <material>", inside["texture"].line)
    if "sixfold" in inside:
        inside["sixfold"].open(notes, COLOR)
        return name, None, False
    if "color" not in inside:
        return name, None, bool(name)
    color = inside["color"]
    color.open(notes, RGBA)
    if len(color.element.attributes.get("rgba", "").split()) == 3:
        color.repair(
            "attribute 'rgba' has three numbers", "the fourth is read as 1", "add a fourth"
        )
        return name, (*color.numbers("rgba", 3), 1.0), False
    return name, color.numbers("rgba", 4), False


def _shape(geometry: Fields, notes: Notes) -> Shape:
    inside = geometry.open(notes, NAME, GEOMETRY, picture=True)
    ours = inside.pop("sixfold", None)
    fix = "write one shape; a second shape wants a <visual> or <collision> of its own"
    tags = [f"<{excerpt(child.tag)}>" for child in geometry.element.children]
    if not inside:
        geometry.fail(
            "has no shape that is known",
            fix,
            expected="one of " + ", ".join(f"<{kind}>" for kind in sorted(SHAPES)),
            got=", ".join(tags[:4]) or "nothing",
        )
    # one shape for each picture
    if len(inside) > 1:
        geometry.repair("has several shapes", "the first is read", fix, got=", ".join(tags[:4]))
    kind, shape = next(iter(inside.items()))
    shape.open(notes, SIZES)
    if ours:
        ours.open(notes, FORM, NONE)
    # spheres and cylinders of our own files may be ellipsoids and capsules
    if kind == "box":
        return Box(shape.numbers("size", 3))
    if kind == "mesh":
        return Mesh(shape.text("filename"), _scale(shape))
    if kind == "sphere":
        if ours:
            return Ellipsoid(ours.numbers("radii", 3))
        return Sphere(shape.number("radius"))
    round_ends = kind == "capsule" or (ours and ours.element.attributes.get("shape") == "capsule")
    make = Capsule if round_ends else Cylinder
    return make(shape.number("radius"), shape.number("length"))


def _scale(mesh: Fields) -> tuple[float, ...]:
    if len(mesh.element.attributes.get("scale", "").split()) == 1:
        what, fix = "attribute 'scale' has one number", "write it three times"
        mesh.repair(what, "it is read for all three axes", fix)
        return mesh.numbers("scale", 1) * 3
    return mesh.numbers("scale", 3, (1.0, 1.0, 1.0))
