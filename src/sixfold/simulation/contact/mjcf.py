"""The ground and the pairs of an MJCF file, for a model that was loaded from it."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sixfold.errors import RobotFileWarning, visible
from sixfold.formats.mjcf import Contacts, JointSoftness, Pair, read_contacts
from sixfold.model import Capsule, ContactOptions, Geometry, Model, Sphere
from sixfold.simulation.contact.shapes import (
    MIN_FRICTION,
    SLIDING,
    ContactCapsule,
    ContactPair,
    ContactPoint,
    JointLaw,
    can_meet,
    check_solimp,
    law_of,
    mix,
)
from sixfold.spatial import Vector3


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
    known = set(model.joint_names)
    found["joint_laws"] = tuple(_joint_law(each) for each in contacts.joints if each.joint in known)
    found["link_weights"] = contacts.weights
    pairs = []
    for pair in contacts.pairs:
        made = _pair(pair, shapes, model, contacts, left)
        if made is not None:
            pairs.append(made)
    found["pairs"] = tuple(pairs)
    if left:
        text = f"Ground.from_mjcf: {path}: left out: {'; '.join(left)}"
        warnings.warn(visible(text), RobotFileWarning, stacklevel=3)
    return found


def _joint_law(each: JointSoftness) -> JointLaw:
    """Return the law of a joint's limits and dry friction."""
    limit, friction = law_of(*each.laws[:2]), law_of(*each.laws[2:])
    both = limit.solref, limit.solimp, friction.solref, friction.solimp
    return JointLaw(each.joint, *both, each.margin)


def _line(contacts: Contacts, place: Any) -> str:
    if place is None:
        return ""
    same = place.file == str(contacts.document.path)
    return f" (line {place.line})" if same else f" ({Path(place.file).name}:{place.line})"


def _ground(contacts: Contacts, model: Model, left: list[str]) -> dict[str, Any]:
    """Return the first plane and its own options, by which shapes meet it."""
    plane, *more = contacts.planes
    left += [f"a further plane{_line(contacts, each.place)}" for each in more]
    met = [
        g.contact
        for g in model.geometries
        if g.contact is not None and g.body >= 0 and can_meet(plane.contact, g.contact)
    ]
    own = plane.contact
    most = max([own.condim, *(each.condim for each in met)])
    if most > SLIDING:
        left.append("torsional and rolling friction")
    return {
        "height": plane.height,
        "normal": plane.normal,
        "plane": own,
        "friction": float(own.friction[0]) if most >= SLIDING else 0.0,
        "solref": mix(own, own).law.solref,
        "solimp": own.solimp,
        "margin": own.margin,
    }


def _pair(
    pair: Pair, shapes: dict[str, Geometry], model: Model, contacts: Contacts, left: list[str]
) -> ContactPair | None:
    """Return a pair of a sphere with a sphere or a capsule; otherwise say why it cannot be read."""
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
    if pair.other:
        left.append(f"{where}: {', '.join(pair.other)}")
    shared = mix(*(x.contact or ContactOptions() for x in found if x is not None))
    own = pair.numbers
    friction = shared.friction
    if "condim" in own and own["condim"][0] < SLIDING:
        friction = 0.0
    elif "friction" in own or ("condim" in own and not friction):
        usual = max((x.contact or ContactOptions()).friction[0] for x in found if x is not None)
        friction = max(own.get("friction", (usual,))[0], MIN_FRICTION)
    solref = (*own.get("solref", ()), *shared.law.solref[len(own.get("solref", ())) :])
    margin = own.get("margin", (shared.margin,))[0]
    law = law_of(solref, check_solimp("pair", "solimp", own.get("solimp", shared.law.solimp)))
    return ContactPair(first, second, friction, law.solref, law.solimp, margin)


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
