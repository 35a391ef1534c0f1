"""Triangles, colours and solids, and the surfaces of mesh files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sixfold.errors import RobotFileError
from sixfold.files import read_regular
from sixfold.lazy import optional

Array = NDArray[Any]
CREASE = np.radians(35.0)  #: Faces that meet at a larger angle do not share their shading.


@dataclass(frozen=True, eq=False)
class Triangles:
    """A surface: vertices (V, 3) [m] and faces (F, 3), counter-clockwise seen from outside."""

    vertices: Array
    faces: Array

    def transform(self, pose: Array) -> Triangles:
        """Return the surface under a 4 x 4 pose, which may mirror or stretch."""
        vertices = self.vertices @ pose[:3, :3].T + pose[:3, 3]
        mirrored = np.linalg.det(pose[:3, :3]) < 0
        return Triangles(vertices, self.faces[:, ::-1] if mirrored else self.faces)

    @property
    def corners(self) -> Array:
        """The three corners of each face, shape (F, 3, 3)."""
        return self.vertices[self.faces]


def join_surfaces(surfaces: Sequence[Triangles]) -> Triangles:
    """Return several surfaces as one."""
    if not surfaces:
        return Triangles(np.zeros((0, 3)), np.zeros((0, 3), np.int64))
    # faces count vertices from the start of their own surface
    starts = np.cumsum([0, *(len(s.vertices) for s in surfaces)])
    return Triangles(
        np.concatenate([s.vertices for s in surfaces]),
        np.concatenate([s.faces + start for s, start in zip(surfaces, starts, strict=False)]),
    )


def tidy(surface: Triangles, grain: float = 1e-6) -> Triangles:
    """Return the surface without vertices that repeat, faces without area and faces that repeat.

    Vertices closer than a grain, as a share of the surface's extent, count as one.
    """
    extent = float(np.ptp(surface.vertices, axis=0).max(initial=0.0))
    # vertices in one grain are one
    keys = np.round(surface.vertices / (extent * grain or 1.0)).astype(np.int64)
    first, where = _distinct(keys)
    return Triangles(surface.vertices[first], _proper(where[surface.faces]))


def merge_cells(surface: Triangles, cell: float) -> Triangles:
    """Return the surface with all vertices of a cubic cell drawn together in their mean."""
    _, where = _distinct(np.floor(surface.vertices / cell).astype(np.int64))
    # vertex clustering: the mean of all vertices of a cell stands for them
    sums = np.stack([np.bincount(where, surface.vertices[:, k]) for k in range(3)], axis=1)
    return Triangles(sums / np.bincount(where)[:, None], _proper(where[surface.faces]))


def split_creases(surface: Triangles, angle: float = CREASE) -> Triangles:
    """Return the surface with vertices doubled along sharp edges, so that shading breaks there."""
    normals = face_normals(surface)
    first, second = _neighbours(surface.faces)
    # faces that meet at a small angle belong to one smooth group
    soft = np.einsum("ij,ij->i", normals[first], normals[second]) > np.cos(angle)
    groups = _components(len(surface.faces), first[soft], second[soft])
    # a vertex for each group that it belongs to
    corners = surface.faces.reshape(-1)
    kept, faces = _distinct(np.stack([corners, np.repeat(groups, 3)], axis=1))
    return Triangles(surface.vertices[corners[kept]], faces.reshape(-1, 3))


def face_normals(surface: Triangles) -> Array:
    """Return the unit normal of each face, shape (F, 3)."""
    a, b, c = np.moveaxis(surface.corners, 1, 0)
    normal = np.cross(b - a, c - a)
    return normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)


def _proper(faces: Array) -> Array:
    """Return the faces with three different corners, each once."""
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    once, _ = _distinct(np.sort(faces, axis=1))
    return faces[np.sort(once)]


def _distinct(rows: Array) -> tuple[Array, Array]:
    """Return where each different row of whole numbers first stands, and which one each row is."""
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    # one number for each row: far quicker to sort
    spans = np.ptp(rows, axis=0) + 1
    code = np.zeros(len(rows), np.int64)
    for column, low, span in zip(rows.T, rows.min(axis=0), spans, strict=True):
        code = code * span + (column - low)
    _, first, where = np.unique(code, return_index=True, return_inverse=True)
    return first, where.reshape(-1)


def _neighbours(faces: Array) -> tuple[Array, Array]:
    """Return pairs of faces that share an edge."""
    # edges as sorted pairs: the same edge of two faces has the same code
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    owner = np.repeat(np.arange(len(faces)), 3)
    code = edges[:, 0] * (int(faces.max(initial=0)) + 1) + edges[:, 1]
    order = np.argsort(code, kind="stable")
    code, owner = code[order], owner[order]
    same = code[1:] == code[:-1]
    return owner[:-1][same], owner[1:][same]


def _components(count: int, first: Array, second: Array) -> Array:
    """Return for each of count things the smallest one that pairs connect it with."""
    label = np.arange(count)
    while True:
        # labels fall to the smallest number that pairs connect them with
        low = np.minimum(label[first], label[second])
        after = label.copy()
        np.minimum.at(after, first, low)
        np.minimum.at(after, second, low)
        # a label points at a smaller one of the same set: follow it
        after = after[after]
        if np.array_equal(after, label):
            return label
        label = after


Color = tuple[int, int, int]

BASE: Color = (74, 85, 99)
BODY: Color = (205, 212, 220)
LINK: Color = (122, 142, 166)
TIP: Color = (226, 98, 52)
RAIL: Color = (163, 174, 188)
#: One colour for each kind of joint.
JOINTS: dict[str, Color] = {
    "revolute": (238, 146, 62),
    "prismatic": (46, 160, 143),
    "helical": (196, 132, 48),
    "cylindrical": (70, 146, 190),
    "planar": (98, 168, 92),
    "universal": (214, 96, 116),
    "spherical": (146, 104, 196),
    "translational": (46, 148, 170),
    "free": (110, 120, 200),
    "customjoint": (120, 120, 128),
}
VELOCITY: Color = (32, 128, 214)
ACCELERATION: Color = (150, 84, 200)
FORCE: Color = (214, 60, 60)
LOOP: Color = (204, 92, 168)
CONTACT: Color = (230, 92, 8)
OPEN: Color = (168, 178, 190)
CONE: Color = (64, 150, 214)
MASS: Color = (250, 196, 40)

# the ends and middle of a scale that stays readable for most kinds of colour blindness
_RAMP = np.array([[53, 92, 167], [76, 163, 190], [157, 206, 140], [247, 205, 94], [226, 98, 52]])
#: Colours of lines in plots, taken in turn.
SERIES = ("#2f6fde", "#e2622f", "#2a9d6f", "#9b59c9", "#d1a000", "#1aa0b8", "#d6457a", "#6b7787")


def ramp(x: Array) -> Array:
    """Return colours (..., 3) from 0 to 255 for numbers from 0 to 1."""
    at = np.linspace(0.0, 1.0, len(_RAMP))
    return np.stack([np.interp(x, at, _RAMP[:, k]) for k in range(3)], axis=-1)


def rgb(color: Sequence[float]) -> Color:
    """Return a colour with elements from 0 to 1 as numbers from 0 to 255."""
    r, g, b = (round(255 * min(1.0, max(0.0, float(x)))) for x in color[:3])
    return r, g, b


@dataclass(frozen=True, eq=False)
class Part:
    """One surface in body coordinates."""

    body: int  #: Index of the body, -1 for the base.
    surface: Triangles
    color: Color
    opacity: float = 1.0


def merge_parts(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts with all surfaces of one body and colour as one."""
    groups: dict[tuple[int, Color, float], list[Triangles]] = {}
    for part in parts:
        groups.setdefault((part.body, part.color, part.opacity), []).append(part.surface)
    return tuple(
        Part(body, join_surfaces(surfaces), color, opacity)
        for (body, color, opacity), surfaces in groups.items()
    )


def limit_triangles(parts: Iterable[Part], size: float, budget: int) -> tuple[Part, ...]:
    """Return the parts thinned out until all together have at most a budget of triangles.

    Args:
        parts: surfaces as files give them.
        size: extent of the robot [m]; details far below it go first.
        budget: number of triangles.
    """
    # coarser and coarser cells until the triangles are few enough
    clean = [Part(p.body, tidy(p.surface), p.color, p.opacity) for p in parts]
    cell = size / 1500
    while sum(len(p.surface.faces) for p in clean) > budget and cell < size:
        clean = [Part(p.body, merge_cells(p.surface, cell), p.color, p.opacity) for p in clean]
        cell *= 1.3
    shaded = (Part(p.body, split_creases(p.surface), p.color, p.opacity) for p in clean)
    return tuple(p for p in shaded if len(p.surface.faces))


AROUND = 28  #: Corners of a circle.


def box(size: ArrayLike) -> Triangles:
    """Return a box with full side lengths."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    sides = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    # each side has corners of its own, so that its shading is flat
    vertices = corners[np.array(sides)].reshape(-1, 3) * (np.asarray(size, float) / 2)
    start = np.arange(0, 24, 4)[:, None]
    faces = np.concatenate([start + np.array(corner) for corner in ((0, 1, 2), (0, 2, 3))])
    return Triangles(vertices, faces)


def revolve(profile: Sequence[tuple[float, float]], around: int = AROUND) -> Triangles:
    """Return the surface that a line of points (radius, z), from bottom to top, sweeps about z."""
    # rings of points, one for each point of the profile
    angle = 2 * np.pi * np.arange(around) / around
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = [np.column_stack([ring * r, np.full(around, z)]) for r, z in profile]
    k = np.arange(around)
    after = (k + 1) % around
    faces = []
    for row in range(len(profile) - 1):
        low, high = row * around, (row + 1) * around
        # two triangles between neighbours of two rings; one where a ring is a point
        if profile[row][0] > 0:
            faces.append(np.stack([low + k, low + after, high + after], axis=1))
        if profile[row + 1][0] > 0:
            faces.append(np.stack([low + k, high + after, high + k], axis=1))
    return Triangles(np.concatenate(points), np.concatenate(faces))


def cylinder(radius: float, length: float, around: int = AROUND) -> Triangles:
    """Return a closed cylinder."""
    return frustum(radius, radius, length, around)


def frustum(below: float, above: float, length: float, around: int = AROUND) -> Triangles:
    """Return a closed cone frustum; its edges are sharp."""
    h = length / 2
    bottom = revolve([(0.0, -h), (below, -h)], around)
    side = revolve([(below, -h), (above, h)], around)
    top = revolve([(above, h), (0.0, h)], around)
    return join_surfaces([bottom, side, top])


def sphere(radius: float) -> Triangles:
    """Return a ball."""
    return capsule(radius, 0.0)


def capsule(radius: float, length: float) -> Triangles:
    """Return a cylinder of a length with half balls on both ends."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, 16)
    shift = np.where(angle < 0, -length / 2, length / 2)
    points = zip(radius * np.cos(angle), radius * np.sin(angle) + shift, strict=True)
    profile = [(float(r) if abs(z) < length / 2 + radius else 0.0, float(z)) for r, z in points]
    profile[0], profile[-1] = (0.0, profile[0][1]), (0.0, profile[-1][1])
    return revolve(profile)


def ellipsoid(radii: ArrayLike) -> Triangles:
    """Return an ellipsoid with half axes."""
    ball = sphere(1.0)
    return Triangles(ball.vertices * np.asarray(radii, float), ball.faces)


def rod(start: Array, end: Array, below: float, above: float | None = None) -> Triangles:
    """Return a rod between two points, tapered when the two radii differ."""
    above = below if above is None else above
    length = float(np.linalg.norm(end - start))
    solid = frustum(below, above, length, 20)
    return solid.transform(pose_along(end - start, (start + end) / 2))


def pose_along(direction: Array, at: Array) -> Array:
    """Return a pose at a point whose z axis has a direction."""
    pose = np.eye(4)
    z = np.asarray(direction, float)
    z = z / np.linalg.norm(z)
    side = np.eye(3)[np.argmin(np.abs(z))]
    x = np.cross(side, z)
    x /= np.linalg.norm(x)
    pose[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    pose[:3, 3] = at
    return pose


LARGEST = 256 * 1024 * 1024
FORMATS = (".stl", ".dae", ".obj", ".ply", ".glb", ".off")
COLORED = (".dae", ".ply", ".glb")  #: Formats that hold their colours in the same file.


def read_surfaces(path: Path) -> list[tuple[Triangles, Color | None]]:
    """Return the surfaces of a mesh file [m] with their colours, where it gives some.

    Raises:
        RobotFileError: if the file is none of the known formats or cannot be read.
        NotApplicableError: if trimesh is not installed.
    """
    trimesh = optional("trimesh", "mesh")
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        fix = "convert the mesh to STL, OBJ, DAE, PLY or GLB"
        raise RobotFileError(f"mesh format '{suffix}' is not known", file=path, fix=fix)
    try:
        data = read_regular(path, LARGEST)
    except OSError as error:
        fix = f"check the path and the size: at most {LARGEST >> 20} MiB are read"
        raise RobotFileError(f"cannot be read: {error.strerror}", file=path, fix=fix) from None
    try:
        # bytes and no resolver: a mesh cannot make the reader open another file
        with np.errstate(all="ignore"):
            loaded = trimesh.load_scene(io.BytesIO(data), file_type=suffix[1:])
            found = _surfaces(loaded, suffix)
    except Exception as error:
        fix = "open it in a mesh editor and export it again"
        what = f"cannot be read as a mesh: {type(error).__name__}: {error}"
        raise RobotFileError(what, file=path, fix=fix) from None
    if not found:
        raise RobotFileError("holds no triangles", file=path, fix="export it again, triangulated")
    return found


def _surfaces(scene: Any, suffix: str) -> list[tuple[Triangles, Color | None]]:
    scale = _meters(scene) if suffix == ".dae" else 1.0
    found = []
    for node in scene.graph.nodes_geometry:
        # a scene places its geometries by nodes
        pose, name = scene.graph[node]
        geometry = scene.geometry[name]
        faces = getattr(geometry, "faces", None)
        if faces is None or not len(faces):
            continue
        vertices = np.array(geometry.vertices, float)
        if not np.isfinite(vertices).all():
            raise ValueError("a vertex is not finite")
        surface = Triangles(vertices, np.array(faces, np.int64)).transform(np.asarray(pose, float))
        color = _color(geometry) if suffix in COLORED else None
        found.append((Triangles(surface.vertices * scale, surface.faces), color))
    return found


def _meters(scene: Any) -> float:
    """Return the length of a file's unit; Collada names it."""
    trimesh = optional("trimesh", "mesh")
    return float(trimesh.units.unit_conversion(scene.units, "meters")) if scene.units else 1.0


def _color(geometry: Any) -> Color | None:
    visual = geometry.visual
    if not visual.defined:
        return None
    color = getattr(getattr(visual, "material", visual), "main_color", None)
    return None if color is None else (int(color[0]), int(color[1]), int(color[2]))
