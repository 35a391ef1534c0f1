"""The ground and the pairs of an MJCF file, for a model that was loaded from it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sixfold.contact.shapes import ContactCapsule, ContactPair, ContactPoint
from sixfold.errors import RobotFileWarning, visible
from sixfold.formats.mjcf.contacts import Contacts, Pair, read_contacts
from sixfold.model import Capsule, ContactOptions, Geometry, Model, Sphere
from sixfold.spatial import Vector3

Law = tuple[tuple[float, ...], tuple[float, ...], float]
"""Solref, solimp and margin."""
SLIDING = 3
"""Condim of a contact with friction along its two tangents; more twist and roll."""


def ground_options(
    path: str | Path, model: Model, package_dirs: Iterable[str | Path] = ()
) -> dict[str, Any]:
    """Return arguments of `Ground`; what has no counterpart is said in one warning."""
    contacts = read_contacts(Path(path), package_dirs)
    left: list[str] = []
    found: dict[str, Any] = {"impratio": contacts.impratio}
    shapes = {g.name: g for g in model.geometries if g.name}
    if contacts.planes:
        found |= _ground(contacts, model, left)
    else:
        found |= {"points": ()}
    if contacts.moving:
        left.append(f"{contacts.moving} planes of bodies")
    law = tuple(found.get(name) for name in ("solref", "solimp", "margin"))
    pairs = []
    for pair in contacts.pairs:
        made = _pair(pair, shapes, model, law, contacts, left)
        if made is not None:
            pairs.append(made)
    found["pairs"] = tuple(pairs)
    if left:
        text = f"Ground.from_mjcf: {path}: left out: {'; '.join(left)}"
        warnings.warn(visible(text), RobotFileWarning, stacklevel=3)
    return {name: value for name, value in found.items() if value is not None}


def _line(contacts: Contacts, place: Any) -> str:
    if place is None:
        return ""
    same = place.file == str(contacts.document.path)
    return f" (line {place.line})" if same else f" ({Path(place.file).name}:{place.line})"


def _ground(contacts: Contacts, model: Model, left: list[str]) -> dict[str, Any]:
    """Return the first plane, and the law by which most shapes meet it."""
    plane, *more = contacts.planes
    left += [f"a further plane{_line(contacts, each.place)}" for each in more]
    met = [
        g.contact
        for g in model.geometries
        if g.contact is not None and g.body >= 0 and _meet(plane.contact, g.contact)
    ]
    laws = Counter(_mixed(plane.contact, each) for each in met)
    solref, solimp, margin = laws.most_common(1)[0][0] if laws else _mixed(plane.contact, None)
    others = sum(laws.values()) - laws[solref, solimp, margin] if laws else 0
    if others:
        left.append(f"solref, solimp or margin of {others} shapes that differ from the others'")
    most = max([plane.contact.condim, *(each.condim for each in met)])
    if most > SLIDING:
        left.append("torsional and rolling friction")
    return {
        "height": plane.height,
        "normal": plane.normal,
        "friction": float(plane.contact.friction[0]) if most >= SLIDING else 0.0,
        "solref": solref,
        "solimp": solimp,
        "margin": margin,
    }


def _meet(a: ContactOptions, b: ContactOptions) -> bool:
    """Tell whether the bits of two shapes let them touch."""
    return bool((a.contype & b.conaffinity) or (b.contype & a.conaffinity))


def _mixed(a: ContactOptions, b: ContactOptions | None) -> Law:
    """Return the law of two shapes: that of the higher priority, or the mean by `solmix`."""
    if b is None or a.priority > b.priority:
        return tuple(a.solref), tuple(a.solimp), a.margin - a.gap
    margin = max(a.margin, b.margin) - max(a.gap, b.gap)
    if b.priority > a.priority:
        return tuple(b.solref), tuple(b.solimp), margin
    both = a.solmix + b.solmix
    share = a.solmix / both if both else 0.5

    def mean(x: Iterable[float], y: Iterable[float]) -> tuple[float, ...]:
        return tuple(share * p + (1.0 - share) * r for p, r in zip(x, y, strict=True))

    soft = min(*a.solref, *b.solref) > 0
    lowest = tuple(min(x, y) for x, y in zip(a.solref, b.solref, strict=True))
    return mean(a.solref, b.solref) if soft else lowest, mean(a.solimp, b.solimp), margin


def _pair(
    pair: Pair,
    shapes: dict[str, Geometry],
    model: Model,
    law: tuple[Any, ...],
    contacts: Contacts,
    left: list[str],
) -> ContactPair | None:
    """Return a pair of a sphere with a sphere or a capsule; otherwise say why there is none."""
    where = f"pair of '{pair.geoms[0]}' and '{pair.geoms[1]}'{_line(contacts, pair.place)}"
    found = [shapes.get(name) for name in pair.geoms]
    if any(x is None for x in found):
        planes = {plane.name for plane in contacts.planes}
        why = "its plane meets all shapes" if planes & set(pair.geoms) else "no such shape"
        left.append(f"{where}: {why}")
        return None
    made = [_touching(x, model) for x in found if x is not None]
    made.sort(key=lambda x: not isinstance(x, ContactPoint))
    first, second = made
    if not isinstance(first, ContactPoint) or second is None:
        left.append(f"{where}: spheres touch spheres and capsules only")
        return None
    if first.body == second.body:
        left.append(f"{where}: both are on one body")
        return None
    friction, own = _friction(pair, [x for x in found if x is not None]), []
    for name, k in (("solref", 0), ("solimp", 1), ("margin", 2)):
        given = pair.numbers.get(name)
        usual = law[k] if isinstance(law[k], tuple) else (law[k],)
        if given is not None and law[k] is not None and given != usual[: len(given)]:
            own.append(name)
    if own or pair.other:
        left.append(f"{where}: {', '.join((*own, *pair.other))} of its own")
    return ContactPair(first, second, friction)


def _touching(shape: Geometry, model: Model) -> ContactPoint | ContactCapsule | None:
    """Return a sphere or a capsule on its body; None for other shapes."""
    body = model.bodies[shape.body].name if shape.body >= 0 else model.base_name
    E, r = shape.placement

    def at(z: float) -> tuple[float, ...]:
        return tuple(float(x) for x in r + E.T @ Vector3(0.0, 0.0, z))

    match shape.shape:
        case Sphere(radius):
            return ContactPoint(body, at(0.0), float(radius))
        case Capsule(radius, length):
            half = 0.5 * float(length)
            return ContactCapsule(body, at(-half), at(half), float(radius))
        case _:
            return None


def _friction(pair: Pair, shapes: list[Geometry]) -> float:
    """Return the coefficient: of the pair, or by MuJoCo's rule of its shapes."""
    options = [x.contact or ContactOptions() for x in shapes]
    condim = pair.numbers.get("condim", (float(max(x.condim for x in options)),))[0]
    if condim < SLIDING:
        return 0.0
    if given := pair.numbers.get("friction"):
        return given[0]
    first, second = options
    if first.priority != second.priority:
        return float(max(options, key=lambda x: x.priority).friction[0])
    return float(max(x.friction[0] for x in options))
