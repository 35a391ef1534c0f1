"""Our own JSON form of a model, read strictly: every key, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sixfold.errors import ModelError, UnknownNameError
from sixfold.formats.json import form
from sixfold.formats.json.constraints import with_constraints
from sixfold.formats.json.nodes import Document, Node
from sixfold.formats.json.parts import chosen, read_joint, read_placement, reason, version
from sixfold.formats.xml.parse import shown
from sixfold.model import ContactOptions, Geometry, Model, ModelBuilder, Shape, SourceInfo
from sixfold.spatial import Inertia


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
    # in version 1 there were no constraints
    newer = isinstance(root.value, dict) and root.value.get("version") == form.VERSION
    top = root.fields((*form.MODEL, "constraints") if newer else form.MODEL)
    version(top["version"], form.PLAIN_VERSION, form.VERSION)
    try:
        builder = ModelBuilder(
            top["name"].text(),
            base_name=top["base_name"].text(),
            gravity=top["gravity"].numbers(3),
        )
    except ModelError as error:
        root.fail(*reason(error))
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
        root.fail(*reason(error))
    optional = ("contact",) if newer else ()
    shapes = tuple(_geometry(item, known, optional) for item in top["geometries"].items())
    model = replace(model, geometries=shapes)
    return with_constraints(model, top["constraints"]) if newer else model


def _body(builder: ModelBuilder, node: Node, known: Mapping[str, int]) -> str:
    fields = node.fields(form.BODY)
    joint = read_joint(fields["joint"])
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
            placement=read_placement(fields["placement"]),
            inertia=Inertia.from_parameters(ten),
            **numbers,
        )
    except ModelError as error:
        node.fail(*reason(error))
    return name


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
    fields = node.fields(form.GEOMETRY, optional)
    color = fields["color"]
    return Geometry(
        body=known[_known(fields["body"], known)],
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
    fields = node.fields(tuple(form.CONTACT))
    values: dict[str, Any] = {}
    for key, size in form.CONTACT.items():
        values[key] = fields[key].numbers(size) if size > 1 else fields[key].number()
        if not size:
            if values[key] != int(values[key]):
                fields[key].wrong("a whole number")
            values[key] = int(values[key])
    return ContactOptions(**values)


def _shape(node: Node) -> Shape:
    make, keys = chosen(node, "shape", form.SHAPES)
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
