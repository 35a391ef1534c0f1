"""One <joint> of a URDF: its type, axis, limits and passive forces."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from sys import float_info
from typing import Any, NamedTuple, NoReturn

from sixfold.errors import RobotFileError
from sixfold.formats.notes import Notes
from sixfold.formats.urdf.origin import origin
from sixfold.formats.xml.fields import Fields
from sixfold.formats.xml.parse import shown
from sixfold.model import Fixed, Free, Joint, Planar, Prismatic, Revolute, Spherical
from sixfold.scalar import exact
from sixfold.spatial import Transform, Vector3

TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
OTHER_NAMES = {"ball": "spherical"}
"""Types of other formats that leave no doubt; so does "spherical"."""
CHILDREN = frozenset({"parent", "child", "origin", "axis", "limit", "dynamics", "mimic", "sixfold"})
JOINT, LINK, XYZ = frozenset({"name", "type"}), frozenset({"link"}), frozenset({"xyz"})
LIMIT = frozenset({"lower", "upper", "effort", "velocity"})
DYNAMICS = frozenset({"damping", "friction"})
MIMIC = frozenset({"joint", "multiplier", "offset"})
TERM, TERMS = frozenset({"joint", "ratio"}), frozenset({"term"})
SHORTEST = 1e-50
PER_VELOCITY = (
    *("damping", "friction", "friction_negative", "friction_speed"),
    *("stiffness", "armature"),
)
PER_POSITION = ("rest", "lower", "upper")
LIMITS = frozenset({"lower", "upper", "velocity_limit", "effort_limit"})
OWN = LIMITS | {*PER_VELOCITY, *PER_POSITION, "offset"}
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
    normal: Vector3 | None
    """For a planar joint the normal of its plane."""
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
            element=f"joint '{shown(self.name)}'",
            expected=expected,
            fix=fix,
        )


def read_joint(joint: Fields, notes: Notes) -> UrdfJoint:
    """Return what one <joint> says."""
    name = joint.named("joint")
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
    fix, listed = "choose one of the types", ", ".join(TYPES)
    if kind not in (*TYPES, "spherical"):
        joint.fail("the joint type is not known", fix, expected=listed, got=f"{shown(given)!r}")
    if given not in TYPES:
        what = f"the joint type {shown(given)!r} is not one of URDF"
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
            got=f"{shown(element.element.attributes.get('xyz', ''))!r}",
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
    """Remark numbers that have no meaning for a joint of no or several freedoms."""
    if element is None:
        return
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
    for name in sorted((OWN - {"offset"}) & ours.element.attributes.keys()):
        size = joint.nq if name in PER_POSITION else joint.nv
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
