"""Our JSON form of models and of constraints: read strictly (every key, and no other), written
exactly.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sixfold.errors import ModelError, NotApplicableError, UnknownNameError
from sixfold.formats.json_nodes import Document, Node
from sixfold.formats.xml import excerpt, reason
from sixfold.model import (
    STANDARD_JOINTS,
    Body,
    Box,
    Capsule,
    Constraint,
    ContactOptions,
    CustomJoint,
    Cylinder,
    Distance,
    Ellipsoid,
    Fixed,
    Gear,
    Geometry,
    Joint,
    Mesh,
    Model,
    ModelBuilder,
    Rolling,
    Shape,
    SourceInfo,
    Sphere,
)
from sixfold.model.body import JOINT_PROPERTIES
from sixfold.model.builder import ConstraintBuilder
from sixfold.model.validate import placement_of
from sixfold.scalar import exact
from sixfold.spatial import Inertia, Transform, Vector3
from sixfold.spatial.rotations import exact_rotation, matrix_of_rotation, rpy_to_rotation

FORMAT = "sixfold model"
#: Files of models without constraints and contact options are what they were in version 1; the key
#: `constraints`, and `contact` of geometries, came with version 2.
PLAIN_VERSION, VERSION = 1, 2
CONSTRAINTS_FORMAT, CONSTRAINTS_VERSION = "sixfold constraints", 1
MODEL = (
    "format",
    "version",
    "name",
    "base_name",
    "gravity",
    "bodies",
    "frames",
    "couplings",
    "geometries",
)
#: What null means in these lists.
NO_LIMIT = {
    "lower": -math.inf,
    "upper": math.inf,
    "velocity_limit": math.inf,
    "effort_limit": math.inf,
}
BODY = ("name", "joint_name", "parent", "joint", "placement", "inertia", *JOINT_PROPERTIES)
#: Keys of how a shape touches others, and how many numbers each has; 0 means a whole one.
CONTACT = {
    **{"friction": 3, "solref": 2, "solimp": 5, "solmix": 1, "margin": 1, "gap": 1},
    **{"condim": 0, "contype": 0, "conaffinity": 0, "priority": 0},
}
GEOMETRY = ("body", "placement", "shape", "color", "material", "name", "link", "collides")


def _keys(kind: type[Joint]) -> tuple[str, ...]:
    return tuple(name for name in ("axis", "pitch") if hasattr(kind, name))


Joints = Mapping[str, tuple[Callable[..., Joint], tuple[str, ...]]]
#: Class of each joint type and its keys in addition to `type`.
JOINTS: Joints = {kind.__name__.lower(): (kind, _keys(kind)) for kind in STANDARD_JOINTS}
#: The same for joints that close loops.
CLOSING_JOINTS: Joints = {
    "fixed": (Fixed, ()),
    **{name: row for name, row in JOINTS.items() if name != "free"},
}
#: Class of each shape, its keys and how many numbers each has; 0 means a text.
SHAPES: Mapping[str, tuple[Callable[..., Shape], Mapping[str, int]]] = {
    "box": (Box, {"size": 3}),
    "sphere": (Sphere, {"radius": 1}),
    "cylinder": (Cylinder, {"radius": 1, "length": 1}),
    "capsule": (Capsule, {"radius": 1, "length": 1}),
    "ellipsoid": (Ellipsoid, {"radii": 3}),
    "mesh": (Mesh, {"file": 0, "scale": 3}),
}


def shape_kind(shape: Any) -> str:
    """Return the name of a shape in the file."""
    return type(shape).__name__.lower()


Plain = dict[str, Any]


def version(node: Node, *known: int) -> None:
    """Refuse an unknown version."""
    if node.number() not in known:
        node.fail(
            "the version is not known",
            "read it with the sixfold that wrote it",
            expected=" or ".join(map(str, known)),
            got=repr(node.value),
        )


def choose(node: Node, what: str, choices: Mapping[str, Any]) -> Any:
    """Return the choice that a node's type names."""
    kind = node.value.get("type") if isinstance(node.value, dict) else None
    if not isinstance(kind, str) or kind not in choices:
        node.fail(
            f"the {what} is not known",
            "correct its 'type'",
            expected=", ".join(choices),
            got=excerpt(repr(kind)),
        )
    return choices[kind]


def read_joint(node: Node, known: Joints = JOINTS) -> Joint:
    """Return a joint by its type, axis and pitch."""
    make, keys = choose(node, "joint type", known)
    fields = node.fields(("type", *keys))
    values: dict[str, Any] = {}
    if "axis" in keys:
        values["axis"] = Vector3(*map(exact, fields["axis"].numbers(3)))
    if "pitch" in keys:
        values["pitch"] = fields["pitch"].number()
    try:
        return make(**values)
    except ModelError as error:
        node.fail(*reason(error))


def read_placement(node: Node) -> Transform:
    """Return a placement by its rotation matrix, body from frame, and its translation."""
    fields = node.fields(("rotation", "translation"))
    # the bits of the matrix are kept: they came from a transform
    rows = [row.numbers(3) for row in fields["rotation"].items(3)]
    r = fields["translation"].numbers(3)
    return Transform(exact_rotation(tuple(x for row in rows for x in row)), Vector3(*map(exact, r)))


def read_origin(node: Node) -> Transform:
    """Return a placement as URDF has it, by xyz and rpy, or as `read_placement` reads it."""
    if isinstance(node.value, dict) and node.value.keys() & {"rotation", "translation"}:
        return read_placement(node)
    # both default to zero, as in URDF
    fields = node.fields((), ("xyz", "rpy"))
    none = (0.0, 0.0, 0.0)
    xyz, rpy = (fields[key].numbers(3) if key in fields else none for key in ("xyz", "rpy"))
    return Transform(rpy_to_rotation(rpy), Vector3(*map(exact, xyz)))


def plain_joint(joint: Joint, name: str, known: Joints = JOINTS) -> Plain:
    """Return a joint as `read_joint` reads it."""
    if isinstance(joint, CustomJoint) or joint.kind not in known:
        raise NotApplicableError(
            "save",
            f"joint '{name}', which is of your own making: it is code, and a file holds data",
            "keep the Python that builds the model, or lock the joint",
        )
    plain: Plain = {"type": joint.kind}
    for key in known[joint.kind][1]:
        value = getattr(joint, key)
        plain[key] = float(value) if key == "pitch" else plain_numbers(value)
    return plain


def plain_placement(X: Transform) -> Plain:
    """Return a placement as `read_placement` reads it."""
    nine = matrix_of_rotation(X.E)
    return {
        "rotation": [list(nine[k : k + 3]) for k in (0, 3, 6)],
        "translation": plain_numbers(X.r),
    }


def plain_numbers(values: Iterable[Any]) -> list[float | None]:
    """Return plain numbers, null for infinity."""
    listed = [float(x) for x in values]
    return [None if math.isinf(x) else x for x in listed]


ROLLING_SHAPES = ("ball", "disc")


def read_side_file(data: bytes, file: str, model: Model) -> Model:
    """Return a model with the constraints of a second file added.

    Raises:
        RobotFileError: with the path inside the file and the line.
    """
    root = Document(data, file).root()
    if isinstance(root.value, dict) and root.value.get("format") != CONSTRAINTS_FORMAT:
        root.fail(
            "is not a file of constraints",
            "write one as docs/robots.md shows, or with sixfold.save(..., constraints=...)",
            expected=f'"format": "{CONSTRAINTS_FORMAT}"',
            got=excerpt(repr(root.value.get("format"))),
        )
    top = root.fields(("format", "version", "constraints"))
    version(top["version"], CONSTRAINTS_VERSION)
    return with_constraints(model, top["constraints"])


def plain_side_file(model: Model) -> Plain:
    """Return the constraints of a model as `read_side_file` reads them."""
    return {
        "format": CONSTRAINTS_FORMAT,
        "version": CONSTRAINTS_VERSION,
        "constraints": plain_constraints(model),
    }


# -- in


def with_constraints(model: Model, listed: Node) -> Model:
    """Return a model with the constraints of a list added to its own."""
    reader = _Reader(model)
    nodes = listed.items()
    for node in nodes:
        reader.take(node)
    return replace(model, constraints=tuple(reader.found.values())) if nodes else model


class _Reader:
    """Makes constraints between the bodies of a model, each at its place in the file."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.places = {f.name: (f.body, f.placement) for f in model.frames}
        self.places |= {b.name: (k, Transform.identity()) for k, b in enumerate(model.bodies)}
        self.places[model.base_name] = (-1, Transform.identity())
        self.found = {each.name: each for each in model.constraints}

    def take(self, node: Node) -> None:
        """Make one constraint."""
        read: Callable[[_Reader, Node], Constraint] = choose(node, "constraint type", _READ)
        # what the builder refuses becomes an error at this place
        try:
            made = read(self, node)
        except (ModelError, UnknownNameError) as error:
            node.fail(*reason(error))
        if made.name in self.found:
            what = f"there is a constraint '{excerpt(made.name)}' already"
            node.fail(what, "give each a name of its own")
        self.found[made.name] = made

    def builder(self) -> ConstraintBuilder:
        """Return a builder of one constraint."""
        builder = ConstraintBuilder()
        builder.base_name = self.model.base_name
        return builder

    def build(self, builder: ConstraintBuilder) -> Constraint:
        """Return the constraint of a builder."""
        (made,) = builder.constraints_of(self.places, list(self.model.bodies))
        return made


def _loop(reader: _Reader, node: Node) -> Constraint:
    keys = ("type", "body_a", "body_b", "joint")
    fields = node.fields(keys, ("name", "placement_a", "placement_b"))
    # the builder checks the joint and names the constraint
    builder = reader.builder().close(
        fields["body_a"].text(),
        fields["body_b"].text(),
        read_joint(fields["joint"], CLOSING_JOINTS),
        _placement(fields, "placement_a"),
        _placement(fields, "placement_b"),
        name=_name(fields),
    )
    return reader.build(builder)


def _rod(reader: _Reader, node: Node) -> Constraint:
    keys = ("type", "body_a", "body_b", "length")
    fields = node.fields(keys, ("name", "point_a", "point_b"))
    points = {key: fields[key].numbers(3) for key in ("point_a", "point_b") if key in fields}
    builder = reader.builder().add_rod(
        fields["body_a"].text(),
        fields["body_b"].text(),
        fields["length"].number(),
        name=_name(fields),
        **points,
    )
    return reader.build(builder)


def _gear(reader: _Reader, node: Node) -> Constraint:
    fields = node.fields(("type", "follower", "terms"), ("name", "offset"))
    # powers of each leader's coordinate
    terms = []
    for item in fields["terms"].items():
        pair = item.fields(("joint", "coefficients"))
        numbers = tuple(x.number() for x in pair["coefficients"].items())
        terms.append((pair["joint"].text(), numbers))
    offset = fields["offset"].number() if "offset" in fields else None
    follower = fields["follower"].text()
    builder = reader.builder().add_gear(follower, *terms, offset=offset, name=_name(fields))
    return reader.build(builder)


def _rolling(reader: _Reader, node: Node) -> Constraint:
    keys = ("type", "body_a", "body_b", "radius", "shape")
    fields = node.fields(keys, ("name", "placement_a", "placement_b"))
    shape = fields["shape"].text()
    if shape not in ROLLING_SHAPES:
        got = excerpt(repr(shape))
        fields["shape"].fail(
            "the shape is not known",
            "correct the word",
            expected=" or ".join(ROLLING_SHAPES),
            got=got,
        )
    plane, body = fields["body_a"].text(), fields["body_b"].text()
    builder = reader.builder().add_rolling(
        body,
        fields["radius"].number(),
        shape=shape,
        plane=plane,
        placement=_placement(fields, "placement_a"),
        name=_name(fields),
    )
    made = reader.build(builder)
    assert isinstance(made, Rolling)
    # the frame of the wheel as the file has it, not one of many with the same axis
    X = placement_of(f"constraint '{made.name}'", _placement(fields, "placement_b"))
    return replace(made, placement_b=(X @ reader.places[body][1]).map(exact))


_READ: Mapping[str, Callable[[_Reader, Node], Constraint]] = {
    "loop": _loop,
    "rod": _rod,
    "gear": _gear,
    "rolling": _rolling,
}


def _name(fields: Mapping[str, Node]) -> str | None:
    return fields["name"].text() if "name" in fields else None


def _placement(fields: Mapping[str, Node], key: str) -> Transform | None:
    return read_origin(fields[key]) if key in fields else None


# -- out


def plain_constraints(model: Model) -> list[Plain]:
    """Return the constraints of a model as lists and dictionaries."""
    return [_plain(model, each) for each in model.constraints]


def _plain(model: Model, each: Constraint) -> Plain:
    if isinstance(each, Gear):
        joints = model.joint_names
        terms = [
            {"joint": joints[k], "coefficients": plain_numbers(powers)} for k, powers in each.terms
        ]
        follower = joints[each.follower]
        return {"type": "gear", "name": each.name, "follower": follower, "terms": terms} | {
            "offset": each.offset
        }
    # bodies by name, the base for -1
    bodies = {-1: model.base_name, **dict(enumerate(model.body_names))}
    plain: Plain = {"name": each.name, "body_a": bodies[each.body_a], "body_b": bodies[each.body_b]}
    if isinstance(each, Distance):
        ends = {"point_a": plain_numbers(each.point_a), "point_b": plain_numbers(each.point_b)}
        return {"type": "rod", **plain, **ends, "length": each.length}
    plain["placement_a"] = plain_placement(each.placement_a)
    plain["placement_b"] = plain_placement(each.placement_b)
    if isinstance(each, Rolling):
        shape = "disc" if each.disc else "ball"
        return {"type": "rolling", **plain, "radius": each.radius, "shape": shape}
    return {"type": "loop", **plain, "joint": plain_joint(each.joint, each.name, CLOSING_JOINTS)}


def read_json(data: bytes, file: str, package_dirs: tuple[str, ...] = ()) -> Model:
    """Return the model of a JSON file that `sixfold.save` wrote, or one of the same form.

    Raises:
        RobotFileError: with the path inside the file and the line.
    """
    model = model_of_json(data, file)
    return replace(model, origin=SourceInfo(file=file, package_dirs=package_dirs))


def model_of_json(data: bytes, file: str) -> Model:
    """Return the model of a JSON text; `file` is named in errors only."""
    root = Document(data, file).root()
    if isinstance(root.value, dict) and root.value.get("format") != FORMAT:
        root.fail(
            "is not a sixfold model",
            "write one with sixfold.save",
            expected=f'"format": "{FORMAT}"',
            got=excerpt(repr(root.value.get("format"))),
        )
    # in version 1 there were no constraints
    newer = isinstance(root.value, dict) and root.value.get("version") == VERSION
    top = root.fields((*MODEL, "constraints") if newer else MODEL)
    version(top["version"], PLAIN_VERSION, VERSION)
    try:
        builder = ModelBuilder(
            top["name"].text(), base_name=top["base_name"].text(), gravity=top["gravity"].numbers(3)
        )
    except ModelError as error:
        root.fail(*reason(error))
    # bodies parent first, then what names bodies
    known: dict[str, int] = {builder.base_name: -1}
    for body in top["bodies"].items():
        name = _body(builder, body, known)
        known[name] = len(known) - 1
    for frame in top["frames"].items():
        _frame(builder, frame, known)
    for coupling in top["couplings"].items():
        _coupling(builder, coupling)
    optional = ("contact",) if newer else ()
    shapes = tuple(_geometry(item, known, optional) for item in top["geometries"].items())
    try:
        model = builder.build(lambda _: {"geometries": shapes})
    except (ModelError, UnknownNameError) as error:
        root.fail(*reason(error))
    return with_constraints(model, top["constraints"]) if newer else model


def _body(builder: ModelBuilder, node: Node, known: Mapping[str, int]) -> str:
    fields = node.fields(BODY)
    joint = read_joint(fields["joint"])
    # one number for each coordinate or velocity; null for no limit
    numbers: dict[str, tuple[float, ...]] = {}
    for key, per in JOINT_PROPERTIES.items():
        size = joint.nq if per == "q" else joint.nv
        numbers[key] = fields[key].numbers(size, none=NO_LIMIT.get(key))
    name = fields["name"].text()
    parent = _body_name(fields["parent"], known)
    ten = fields["inertia"].numbers(10)
    if ten[0] < 0:
        fix = "give the mass of the body [kg]"
        fields["inertia"].fail("the mass is negative", fix, expected=">= 0", got=repr(ten[0]))
    try:
        builder.add_body(
            name,
            parent=parent,
            joint=joint,
            joint_name=fields["joint_name"].text(),
            placement=read_placement(fields["placement"]),
            inertia=Inertia.from_parameters(ten),
            **numbers,
        )
    except ModelError as error:
        node.fail(*reason(error))
    return name


def _body_name(node: Node, known: Mapping[str, int]) -> str:
    name = node.text()
    if name not in known:
        node.fail(
            f"there is no body '{excerpt(name)}' before this place",
            "name the base or a body that stands earlier",
        )
    return name


def _frame(builder: ModelBuilder, node: Node, known: Mapping[str, int]) -> None:
    fields = node.fields(("name", "body", "placement"))
    try:
        body = _body_name(fields["body"], known)
        builder.add_frame(fields["name"].text(), body, read_placement(fields["placement"]))
    except ModelError as error:
        node.fail(*reason(error))


def _coupling(builder: ModelBuilder, node: Node) -> None:
    fields = node.fields(("follower", "terms", "offset"))
    terms = []
    for item in fields["terms"].items():
        pair = item.fields(("joint", "ratio"))
        terms.append((pair["joint"].text(), pair["ratio"].number()))
    builder.couple(fields["follower"].text(), *terms, offset=fields["offset"].number())


def _geometry(node: Node, known: Mapping[str, int], optional: tuple[str, ...]) -> Geometry:
    fields = node.fields(GEOMETRY, optional)
    color = fields["color"]
    return Geometry(
        body=known[_body_name(fields["body"], known)],
        placement=read_placement(fields["placement"]),
        shape=_shape(fields["shape"]),
        color=None if color.value is None else color.numbers(4),
        material=fields["material"].text(),
        name=fields["name"].text(),
        link=fields["link"].text(),
        collides=fields["collides"].truth(),
        contact=_contact(fields["contact"]) if "contact" in fields else None,
    )


def _contact(node: Node) -> ContactOptions:
    fields = node.fields(tuple(CONTACT))
    values: dict[str, Any] = {}
    # lists of numbers, single numbers and whole ones
    for key, size in CONTACT.items():
        values[key] = fields[key].numbers(size) if size > 1 else fields[key].number()
        if not size:
            if values[key] != int(values[key]):
                fields[key].wrong("a whole number")
            values[key] = int(values[key])
    return ContactOptions(**values)


def _shape(node: Node) -> Shape:
    make, keys = choose(node, "shape", SHAPES)
    fields = node.fields(("type", *keys))
    values = [
        fields[key].text()
        if size == 0
        else fields[key].number()
        if size == 1
        else fields[key].numbers(size)
        for key, size in keys.items()
    ]
    return make(*values)


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
        "format": FORMAT,
        "version": PLAIN_VERSION,
        "name": model.name,
        "base_name": model.base_name,
        "gravity": list(model.gravity),
        "bodies": [_plain_body(body, carrier(body.parent)) for body in model.bodies],
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
        "geometries": [_plain_geometry(item, carrier(item.body)) for item in model.geometries],
    }
    # files without constraints and contact options stay at version 1
    if model.constraints or any(item.contact is not None for item in model.geometries):
        top |= {"version": VERSION, "constraints": plain_constraints(model)}
    return text_of(top)


def text_of(top: Plain) -> str:
    """Return an object as text: one key a line."""
    lines = [f"{_text(key)}: {_block(value)}" for key, value in top.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _plain_body(body: Body, parent: str) -> Plain:
    plain = {
        "name": body.name,
        "joint_name": body.joint_name,
        "parent": parent,
        "joint": plain_joint(body.joint, body.joint_name),
        "placement": plain_placement(body.placement),
        "inertia": plain_numbers(body.inertia.parameters()),
    }
    return plain | {key: plain_numbers(getattr(body, key)) for key in JOINT_PROPERTIES}


def _plain_geometry(item: Geometry, body: str) -> Plain:
    kind = shape_kind(item.shape)
    shape: Plain = {"type": kind}
    for key, size in SHAPES[kind][1].items():
        value = getattr(item.shape, key)
        shape[key] = value if size == 0 else float(value) if size == 1 else plain_numbers(value)
    # every key is written, in the order in which it is read
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
    given = {key: getattr(item.contact, key) for key in CONTACT}
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
