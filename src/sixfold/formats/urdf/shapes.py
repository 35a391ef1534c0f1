"""Shapes and colours of a URDF link, kept as data: no file that they name is opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sixfold.errors import RobotFileError
from sixfold.formats.notes import Notes
from sixfold.formats.urdf.origin import origin
from sixfold.formats.xml.fields import NONE, Fields
from sixfold.formats.xml.parse import shown
from sixfold.model import (
    Box,
    Capsule,
    ContactOptions,
    Cylinder,
    Ellipsoid,
    Mesh,
    Shape,
    Sphere,
)
from sixfold.model.geometry import CONTACT_NUMBERS
from sixfold.spatial import Transform

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

    placement: Transform
    """Link coordinates to the shape's own."""
    shape: Shape
    material: str
    color: Color
    by_reference: bool
    name: str
    link: str | None
    """The link of a model that was saved, where it is not the link around the shape."""
    order: float
    """Its place in a model that was saved, where shapes do not go by bodies; 0 otherwise."""
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
        what, fix = f"material '{shown(name)}' has two colours", "give each its own name"
        material.repair(what, "the first is read", fix)


def _material(element: Fields | None, notes: Notes) -> tuple[str, Color, bool]:
    """Return name, colour, and whether the colour stands elsewhere under that name."""
    if element is None:
        return "", None, False
    try:
        return _colored(element, notes)
    except RobotFileError as error:
        notes.blemish(error, "the colour is left out")
        return element.element.attributes.get("name", ""), None, False


def _colored(element: Fields, notes: Notes) -> tuple[str, Color, bool]:
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
    tags = [f"<{shown(child.tag)}>" for child in geometry.element.children]
    if not inside:
        geometry.fail(
            "has no shape that is known",
            fix,
            expected="one of " + ", ".join(f"<{kind}>" for kind in sorted(SHAPES)),
            got=", ".join(tags[:4]) or "nothing",
        )
    if len(inside) > 1:
        geometry.repair("has several shapes", "the first is read", fix, got=", ".join(tags[:4]))
    kind, shape = next(iter(inside.items()))
    shape.open(notes, SIZES)
    if ours:
        ours.open(notes, FORM, NONE)
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
