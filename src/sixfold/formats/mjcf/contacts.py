"""Planes and pairs of shapes that may touch, as an MJCF file gives them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from sixfold.formats.mjcf.compile import compiled
from sixfold.formats.mjcf.read import mujoco_package
from sixfold.formats.mjcf.shapes import clean_pose, contact_options, names_of
from sixfold.formats.mjcf.xml import Document, Place, read_document
from sixfold.model import ContactOptions
from sixfold.spatial import Vector3

PLANE = 0


class Plane(NamedTuple):
    """A plane of the world."""

    name: str
    normal: tuple[float, ...]
    height: float
    """Along the normal [m]."""
    contact: ContactOptions
    place: Place | None


class Pair(NamedTuple):
    """Two shapes by name, and what the file says of their contact: numbers by attribute."""

    geoms: tuple[str, str]
    numbers: dict[str, tuple[float, ...]]
    other: tuple[str, ...]
    """Attributes that are no numbers."""
    place: Place


class JointSoftness(NamedTuple):
    """How soft the limits and the dry friction of a joint are."""

    joint: str
    laws: tuple[tuple[float, ...], ...]
    """Solref and solimp of the limits, then those of dry friction."""
    margin: float


class Contacts(NamedTuple):
    """What an MJCF file says of contacts, except for its shapes."""

    planes: list[Plane]
    pairs: list[Pair]
    impratio: float
    moving: int
    """Planes that are not fixed to the world itself."""
    joints: list[JointSoftness]
    weights: tuple[tuple[str, float], ...]
    """Mean inverse mass that contacts of each body of the file feel [1/kg]."""
    document: Document


def read_contacts(path: Path, package_dirs: Iterable[str | Path] = ()) -> Contacts:
    """Return planes and pairs of a file.

    Raises:
        RobotFileError: with file and line, if the file cannot be read.
        NotApplicableError: if the mujoco package is missing.
    """
    mujoco = mujoco_package()
    document = read_document(Path(path), map(Path, package_dirs))
    m = compiled(mujoco, document)
    known = names_of(m)
    names = known.geoms
    planes = [g for g in range(m.ngeom) if int(m.geom_type[g]) == PLANE]
    fixed = [g for g in planes if int(m.geom_bodyid[g]) == 0]
    places = document.planes if len(document.planes) == len(fixed) else []
    found = []
    for k, g in enumerate(fixed):
        options = contact_options(m, g)
        if options is not None:
            found.append(_plane(m, g, names[g], options, places[k] if places else None))
    pairs = [_pair(attributes, place) for attributes, place in document.pairs]
    named = enumerate(known.bodies)
    weights = tuple((name, float(m.body_invweight0[b, 0])) for b, name in named if b)
    return Contacts(
        found,
        pairs,
        float(m.opt.impratio),
        len(planes) - len(fixed),
        [_softness(m, j, name) for j, name in enumerate(known.joints)],
        weights,
        document,
    )


def _softness(m: Any, j: int, name: str) -> JointSoftness:
    dof = int(m.jnt_dofadr[j])
    rows = m.jnt_solref[j], m.jnt_solimp[j], m.dof_solref[dof], m.dof_solimp[dof]
    laws = tuple(tuple(float(x) for x in row) for row in rows)
    return JointSoftness(name, laws, float(m.jnt_margin[j]))


def _plane(m: Any, g: int, name: str, options: ContactOptions, place: Place | None) -> Plane:
    pose = clean_pose(m.geom_pos[g], m.geom_quat[g])
    normal = pose.E.T @ Vector3(0.0, 0.0, 1.0)
    height = sum(float(n) * float(x) for n, x in zip(normal, m.geom_pos[g], strict=True))
    return Plane(name, tuple(float(x) for x in normal), height, options, place)


def _pair(attributes: dict[str, str], place: Place) -> Pair:
    numbers, other = {}, []
    for name, text in attributes.items():
        if name in ("geom1", "geom2", "name"):
            continue
        try:
            numbers[name] = tuple(float(x) for x in text.split())
        except ValueError:
            other.append(name)
    geoms = attributes.get("geom1", ""), attributes.get("geom2", "")
    return Pair(geoms, numbers, tuple(other), place)
