"""Names, poses and shapes from the arrays of a compiled MuJoCo model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from sys import float_info
from typing import Any

from sixfold.model import (
    Box,
    Capsule,
    ContactOptions,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    Model,
    Shape,
    Sphere,
)
from sixfold.spatial import Transform, Vector3

HIDDEN_GROUP = 3
"""MuJoCo's viewer shows geometry groups 0 to 2; collision shapes stand by custom in group 3."""


@dataclass(frozen=True)
class Names:
    """A unique name for each body, joint, site and equality constraint."""

    bodies: list[str]
    joints: list[str]
    sites: list[str]
    geoms: list[str]
    materials: list[str]
    meshes: list[str]
    equalities: list[str]


def names_of(m: Any) -> Names:
    """Return the names in the model; unnamed things are called by kind and number.

    A joint is called after its body, and a site whose name a body has already gets "_site".
    """
    raw = bytes(m.names)
    bodies = _named(raw, m.name_bodyadr[: m.nbody], "body")
    taken = set(bodies)
    sites = []
    for label in _named(raw, m.name_siteadr[: m.nsite], "site"):
        sites.append(_fresh(f"{label}_site" if label in taken else label, taken))
        taken.add(sites[-1])
    defaults = [f"{bodies[int(b)]}_joint" for b in m.jnt_bodyid[: m.njnt]]
    joints = _named(raw, m.name_jntadr[: m.njnt], "joint", defaults)
    plain = [_text(raw, adr) for adr in m.name_geomadr[: m.ngeom]]
    materials = [_text(raw, adr) for adr in m.name_matadr[: m.nmat]]
    meshes = [_text(raw, adr) for adr in m.name_meshadr[: m.nmesh]]
    equalities = _named(raw, m.name_eqadr[: m.neq], "equality")
    return Names(bodies, joints, sites, plain, materials, meshes, equalities)


def _named(
    raw: bytes, addresses: Iterable[int], kind: str, defaults: Sequence[str] = ()
) -> list[str]:
    given = [_text(raw, adr) for adr in addresses]
    taken = {label for label in given if label}
    labels = []
    for k, label in enumerate(given):
        if not label:
            label = _fresh(defaults[k] if defaults else f"{kind}{k}", taken)
            taken.add(label)
        labels.append(label)
    return labels


def _fresh(label: str, taken: set[str]) -> str:
    if label not in taken:
        return label
    n = 2
    while f"{label}{n}" in taken:
        n += 1
    return f"{label}{n}"


def _text(raw: bytes, address: int) -> str:
    start = int(address)
    return raw[start : raw.index(b"\0", start)].decode("utf-8", "replace")


def model_name(m: Any) -> str:
    """Return the name of the model itself."""
    return _text(bytes(m.names), 0)


def clean_pose(position: Sequence[float], wxyz: Sequence[float]) -> Transform:
    """Return the transform to a frame at a position, turned by a quaternion."""
    w, x, y, z = (float(c) for c in wxyz)
    size = math.hypot(w, x, y, z)
    if not size:
        return Transform.translation([float(c) for c in position])
    w, x, y, z = w / size, x / size, y / size, z / size
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    rotation = [[_clean(c) for c in row] for row in rows]
    return Transform.from_pose(rotation, [float(c) for c in position])


def turned(axis: Vector3, angle: float) -> Transform:
    """Return the transform to a frame turned about an axis."""
    return Transform.turn([float(c) for c in axis], angle)


def _clean(c: float) -> float:
    """Return 0, 1 or -1 for a direction cosine that differs from it by rounding only."""
    nearest = float(round(c))
    return nearest if abs(c - nearest) < 4 * float_info.epsilon else c


def geometries(m: Any, model: Model, names: Names, files: Mapping[str, str]) -> Iterator[Geometry]:
    """Yield the shapes that have a counterpart here: no planes or fields, no meshes without file.

    `files` has the path of each mesh by its name.
    """
    places = {frame.name: (frame.body, frame.placement) for frame in model.frames}
    places |= {body.name: (k, Transform.identity()) for k, body in enumerate(model.bodies)}
    places[model.base_name] = (-1, Transform.identity())
    for g in range(m.ngeom):
        found = _shape(m, g, names.meshes, files)
        if found is None:
            continue
        shape, inside = found
        link = names.bodies[int(m.geom_bodyid[g])]
        body, placement = places[link]
        pose = inside @ clean_pose(m.geom_pos[g], m.geom_quat[g]) @ placement
        material = int(m.geom_matid[g])
        yield Geometry(
            body=body,
            placement=pose,
            shape=shape,
            color=_color(m, g, material),
            material=names.materials[material] if material >= 0 else "",
            name=names.geoms[g],
            link=link,
            collides=int(m.geom_group[g]) >= HIDDEN_GROUP,
            contact=contact_options(m, g),
        )


def contact_options(m: Any, g: int) -> ContactOptions | None:
    """Return how a shape touches others, None for one that touches nothing."""
    if not m.geom_contype[g] and not m.geom_conaffinity[g]:
        return None
    rows = m.geom_friction[g], m.geom_solref[g], m.geom_solimp[g]
    single = (m.geom_solmix, m.geom_margin, m.geom_gap)
    whole = (m.geom_condim, m.geom_contype, m.geom_conaffinity, m.geom_priority)
    numbers = [*(x for row in rows for x in row), *(array[g] for array in (*single, *whole))]
    return ContactOptions.of(tuple(float(x) for x in numbers))


def _color(m: Any, g: int, material: int) -> tuple[float, ...]:
    """Return the colour a viewer gives it: the material's, unless the geom has its own."""
    own = tuple(float(c) for c in m.geom_rgba[g])
    if material >= 0 and own == (0.5, 0.5, 0.5, 1.0):
        return tuple(float(c) for c in m.mat_rgba[material])
    return own


def _shape(
    m: Any, g: int, meshes: Sequence[str], files: Mapping[str, str]
) -> tuple[Shape, Transform] | None:
    """Return a shape, and where the shape's own frame lies in MuJoCo's geom frame."""
    a, b, c = (float(x) for x in m.geom_size[g])
    plain: dict[int, Shape] = {
        2: Sphere(a),
        3: Capsule(a, 2 * b),
        4: Ellipsoid((a, b, c)),
        5: Cylinder(a, 2 * b),
        6: Box((2 * a, 2 * b, 2 * c)),
    }
    kind = int(m.geom_type[g])
    if kind in plain:
        return plain[kind], Transform.identity()
    mesh = int(m.geom_dataid[g])
    if kind != 7 or not (path := files.get(meshes[mesh]) or _path(m, mesh)):
        return None
    # MuJoCo moves a mesh to its centre and principal axes: go back to the axes of its file
    scale = tuple(float(x) for x in m.mesh_scale[mesh])
    moved = clean_pose(m.mesh_pos[mesh], m.mesh_quat[mesh])
    return Mesh(path, scale), moved.inverse()


def _path(m: Any, mesh: int) -> str:
    address = int(m.mesh_pathadr[mesh])
    return _text(bytes(m.paths), address) if address >= 0 else ""
