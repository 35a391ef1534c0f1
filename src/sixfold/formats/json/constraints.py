"""Constraints in JSON: of a model's own file, and of a file beside a robot file without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sixfold.errors import ModelError, UnknownNameError
from sixfold.formats.json import form
from sixfold.formats.json.nodes import Document, Node
from sixfold.formats.json.parts import (
    Plain,
    chosen,
    plain_joint,
    plain_numbers,
    plain_placement,
    read_joint,
    read_origin,
    reason,
    version,
)
from sixfold.formats.xml.parse import shown
from sixfold.model import Constraint, Distance, Gear, Model, Rolling
from sixfold.model.builder import ConstraintBuilder
from sixfold.model.validate import placement_of
from sixfold.scalar import exact
from sixfold.spatial import Transform

SHAPES = ("ball", "disc")


def read_side_file(data: bytes, file: str, model: Model) -> Model:
    """Return a model with the constraints of a file beside its own.

    Raises:
        RobotFileError: with the path inside the file and the line.
    """
    root = Document(data, file).root()
    if isinstance(root.value, dict) and root.value.get("format") != form.CONSTRAINTS_FORMAT:
        root.fail(
            "is not a file of constraints",
            "write one as docs/robots.md shows, or with sixfold.save(..., constraints=...)",
            expected=f'"format": "{form.CONSTRAINTS_FORMAT}"',
            got=shown(repr(root.value.get("format"))),
        )
    top = root.fields(("format", "version", "constraints"))
    version(top["version"], form.CONSTRAINTS_VERSION)
    return with_constraints(model, top["constraints"])


def plain_side_file(model: Model) -> Plain:
    """Return the constraints of a model as `read_side_file` reads them."""
    return {
        "format": form.CONSTRAINTS_FORMAT,
        "version": form.CONSTRAINTS_VERSION,
        "constraints": plain_constraints(model),
    }


# -- in


def with_constraints(model: Model, listed: Node) -> Model:
    """Return a model with the constraints of a list added to its own."""
    reader = _Reader(model)
    for node in listed.items():
        reader.take(node)
    return replace(model, constraints=tuple(reader.found.values()))


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
        read: Callable[[_Reader, Node], Constraint] = chosen(node, "constraint type", _READ)
        try:
            made = read(self, node)
        except (ModelError, UnknownNameError) as error:
            node.fail(*reason(error))
        if made.name in self.found:
            what = f"there is a constraint '{shown(made.name)}' already"
            node.fail(what, "give each a name of its own")
        self.found[made.name] = made

    def builder(self) -> ConstraintBuilder:
        """Return a builder of one constraint."""
        builder = ConstraintBuilder()
        builder.base_name = self.model.base_name
        return builder

    def made(self, builder: ConstraintBuilder) -> Constraint:
        """Return the constraint of a builder."""
        (made,) = builder.constraints_of(self.places, list(self.model.bodies))
        return made


def _loop(reader: _Reader, node: Node) -> Constraint:
    keys = ("type", "body_a", "body_b", "joint")
    fields = node.fields(keys, ("name", "placement_a", "placement_b"))
    builder = reader.builder().close(
        fields["body_a"].text(),
        fields["body_b"].text(),
        read_joint(fields["joint"], form.CLOSING_JOINTS),
        _placed(fields, "placement_a"),
        _placed(fields, "placement_b"),
        name=_name(fields),
    )
    return reader.made(builder)


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
    return reader.made(builder)


def _gear(reader: _Reader, node: Node) -> Constraint:
    fields = node.fields(("type", "follower", "terms"), ("name", "offset"))
    terms = []
    for item in fields["terms"].items():
        pair = item.fields(("joint", "coefficients"))
        numbers = tuple(x.number() for x in pair["coefficients"].items())
        terms.append((pair["joint"].text(), numbers))
    offset = fields["offset"].number() if "offset" in fields else None
    follower = fields["follower"].text()
    builder = reader.builder().add_gear(follower, *terms, offset=offset, name=_name(fields))
    return reader.made(builder)


def _rolling(reader: _Reader, node: Node) -> Constraint:
    keys = ("type", "body_a", "body_b", "radius", "shape")
    fields = node.fields(keys, ("name", "placement_a", "placement_b"))
    shape = fields["shape"].text()
    if shape not in SHAPES:
        got = shown(repr(shape))
        fields["shape"].fail("is not known", "choose one", expected=" or ".join(SHAPES), got=got)
    plane, body = fields["body_a"].text(), fields["body_b"].text()
    builder = reader.builder().add_rolling(
        body,
        fields["radius"].number(),
        shape=shape,
        plane=plane,
        placement=_placed(fields, "placement_a"),
        name=_name(fields),
    )
    made = reader.made(builder)
    assert isinstance(made, Rolling)
    # the frame of the wheel as the file has it, not one of many with the same axis
    X = placement_of(f"constraint '{made.name}'", _placed(fields, "placement_b"))
    return replace(made, placement_b=(X @ reader.places[body][1]).map(exact))


_READ: Mapping[str, Callable[[_Reader, Node], Constraint]] = {
    "loop": _loop,
    "rod": _rod,
    "gear": _gear,
    "rolling": _rolling,
}


def _name(fields: Mapping[str, Node]) -> str | None:
    return fields["name"].text() if "name" in fields else None


def _placed(fields: Mapping[str, Node], key: str) -> Transform | None:
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
    return {
        "type": "loop",
        **plain,
        "joint": plain_joint(each.joint, each.name, form.CLOSING_JOINTS),
    }
