"""Surfaces from mesh files, read by the trimesh package; nothing else on disk is opened."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.errors import RobotFileError
from sixfold.files import read_regular
from sixfold.optional import optional
from sixfold.scene.colors import Color
from sixfold.scene.triangles import Triangles

LARGEST = 256 * 1024 * 1024
FORMATS = (".stl", ".dae", ".obj", ".ply", ".glb", ".off")
COLORED = (".dae", ".ply", ".glb")
"""Formats that hold their colours in the same file."""


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
        fix = "check the path; a large mesh can be simplified"
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
        pose, name = scene.graph[node]
        geometry = scene.geometry[name]
        faces = getattr(geometry, "faces", None)
        if faces is None or not len(faces):
            continue
        vertices = np.array(geometry.vertices, float)
        if not np.isfinite(vertices).all():
            raise ValueError("a vertex is not finite")
        surface = Triangles(vertices, np.array(faces, np.int64)).moved(np.asarray(pose, float))
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
