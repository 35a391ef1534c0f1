"""Our own JSON form of a model, read strictly: every key, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sixfold.errors import ModelError, UnknownNameError
from sixfold.formats.json import form
from sixfold.formats.json.nodes import Document, Node
from sixfold.formats.rotations import exact_axes
from sixfold.formats.xml.parse import shown
from sixfold.model import Geometry, Joint, Model, ModelBuilder, Shape, SourceInfo
from sixfold.scalar import exact
from sixfold.spatial import Inertia, Transform, Vector3


def read_json(data: bytes, file: str, package_dirs: tuple[str, ...] = ()) -> Model:
    """Return the model of a JSON file that `sixfold.save` wrote, or one of the same form.

    Raises:
        RobotFileError: with the path inside the file and the line.
    """
    root = Document(data, file).root()
    model = _model(root)
    return replace(model, origin=SourceInfo(file=file, package_dirs=package_dirs))


def _model(root: Node) -> Model:
    if isinstance(root.value, dict) and root.value.get("format") != form.FORMAT:
        root.fail(
            "is not a sixfold model",
            "write one with sixfold.save",
            expected=f'"format": "{form.FORMAT}"',
            got=shown(repr(root.value.get("format"))),
        )
    top = root.fields(form.MODEL)
    if top["version"].number() != form.VERSION:
        top["version"].fail(
            "the version is not known",
            "read it with the sixfold that wrote it",
            expected=str(form.VERSION),
            got=repr(top["version"].value),
        )
    try:
        builder = ModelBuilder(
            top["name"].text(),
            base_name=top["base_name"].text(),
            gravity=top["gravity"].numbers(3),
            friction_speed=top["friction_speed"].number(),
        )
    except ModelError as error:
        root.fail(*_reason(error))
    known: dict[str, int] = {builder.base_name: -1}
    for body in top["bodies"].items():
        name = _body(builder, body, known)
        known[name] = len(known) - 1
    for frame in top["frames"].items():
        _frame(builder, frame, known)
    for coupling in top["couplings"].items():
        _coupling(builder, coupling)
    try:
        model = builder.build()
    except (ModelError, UnknownNameError) as error:
        root.fail(*_reason(error))
    shapes = tuple(_geometry(item, known) for item in top["geometries"].items())
    return replace(model, geometries=shapes)


def _body(builder: ModelBuilder, node: Node, known: Mapping[str, int]) -> str:
    fields = node.fields(form.BODY)
    joint = _joint(fields["joint"])
    numbers: dict[str, tuple[float, ...]] = {}
    for key, per in form.PER_FREEDOM.items():
        size = joint.nq if per == "q" else joint.nv
        numbers[key] = fields[key].numbers(size, none=form.NO_LIMIT.get(key))
    name = fields["name"].text()
    parent = _known(fields["parent"], known)
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
            placement=_placement(fields["placement"]),
            inertia=Inertia.from_parameters(ten),
            **numbers,
        )
    except ModelError as error:
        node.fail(*_reason(error))
    return name


def _chosen(node: Node, what: str, choices: Mapping[str, Any]) -> Any:
    """Return the choice that a node's type names."""
    kind = node.value.get("type") if isinstance(node.value, dict) else None
    if not isinstance(kind, str) or kind not in choices:
        node.fail(
            f"the {what} is not known",
            f"choose one of the {what}s",
            expected=", ".join(choices),
            got=shown(repr(kind)),
        )
    return choices[kind]


def _joint(node: Node) -> Joint:
    make, keys = _chosen(node, "joint type", form.JOINTS)
    fields = node.fields(("type", *keys))
    values: dict[str, Any] = {}
    if "axis" in keys:
        values["axis"] = Vector3(*map(exact, fields["axis"].numbers(3)))
    if "pitch" in keys:
        values["pitch"] = fields["pitch"].number()
    try:
        return make(**values)
    except ModelError as error:
        node.fail(*_reason(error))


def _placement(node: Node) -> Transform:
    fields = node.fields(("rotation", "translation"))
    rows = [row.numbers(3) for row in fields["rotation"].items(3)]
    r = fields["translation"].numbers(3)
    return Transform(exact_axes(tuple(x for row in rows for x in row)), Vector3(*map(exact, r)))


def _known(node: Node, known: Mapping[str, int]) -> str:
    name = node.text()
    if name not in known:
        node.fail(
            f"there is no body '{shown(name)}' before this place",
            "name the base or a body that stands earlier",
        )
    return name


def _frame(builder: ModelBuilder, node: Node, known: Mapping[str, int]) -> None:
    fields = node.fields(("name", "body", "placement"))
    try:
        body = _known(fields["body"], known)
        builder.add_frame(fields["name"].text(), body, _placement(fields["placement"]))
    except ModelError as error:
        node.fail(*_reason(error))


def _coupling(builder: ModelBuilder, node: Node) -> None:
    fields = node.fields(("follower", "terms", "offset"))
    terms = []
    for item in fields["terms"].items():
        pair = item.fields(("joint", "ratio"))
        terms.append((pair["joint"].text(), pair["ratio"].number()))
    builder.couple(fields["follower"].text(), *terms, offset=fields["offset"].number())


def _geometry(node: Node, known: Mapping[str, int]) -> Geometry:
    fields = node.fields(form.GEOMETRY)
    color = fields["color"]
    return Geometry(
        body=known[_known(fields["body"], known)],
        placement=_placement(fields["placement"]),
        shape=_shape(fields["shape"]),
        color=None if color.value is None else color.numbers(4),
        material=fields["material"].text(),
        name=fields["name"].text(),
        link=fields["link"].text(),
        collides=fields["collides"].truth(),
    )


def _shape(node: Node) -> Shape:
    make, keys = _chosen(node, "shape", form.SHAPES)
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


def _reason(error: Exception) -> tuple[str, str]:
    what, _, fix = str(error).partition("\n  fix: ")
    return what, fix or "correct the file"
