"""What a robot looks like: its shapes, or a stick figure when it has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sixfold.errors import SixfoldError
from sixfold.formats import mesh_path
from sixfold.model import Box, Capsule, Cylinder, Ellipsoid, Geometry, Mesh, Model, Sphere
from sixfold.scene import solids
from sixfold.scene.colors import BODY, Color, rgb
from sixfold.scene.files import read_surfaces
from sixfold.scene.parts import Part, grouped, within
from sixfold.scene.poses import pose_of
from sixfold.scene.sticks import extent, stick_figure
from sixfold.scene.triangles import Triangles

SOLIDS: dict[type, Callable[[Any], Triangles]] = {
    Box: lambda s: solids.box(s.size),
    Sphere: lambda s: solids.sphere(s.radius),
    Cylinder: lambda s: solids.cylinder(s.radius, s.length),
    Capsule: lambda s: solids.capsule(s.radius, s.length),
    Ellipsoid: lambda s: solids.ellipsoid(s.radii),
}


@dataclass(frozen=True, eq=False)
class Figure:
    """The surfaces of a robot."""

    parts: tuple[Part, ...]
    size: float
    """Extent of the robot [m]."""
    notes: tuple[str, ...] = ()
    """What could not be drawn, and why."""
    is_sticks: bool = False


def figure(model: Model, *, collision: bool = False, budget: int = 300_000) -> Figure:
    """Return the picture of a robot.

    Args:
        model: the robot; its meshes are looked for as `sixfold.formats.mesh_path` allows.
        collision: draw the shapes meant for collisions instead of those for the eye.
        budget: thin out meshes until there are at most this many triangles.

    Meshes that cannot be read are left out and noted; without any shape a stick figure is drawn.
    """
    size = extent(model)
    shown = [g for g in model.geometries if g.collides == collision]
    if not shown and not collision:
        shown = [g for g in model.geometries if g.collides]
    parts, notes = _shapes(model, shown)
    if not parts:
        return Figure(stick_figure(model, size), size, notes, is_sticks=True)
    return Figure(within(grouped(parts), size, budget), size, notes)


def _shapes(model: Model, geometries: list[Geometry]) -> tuple[list[Part], tuple[str, ...]]:
    parts: list[Part] = []
    notes: list[str] = []
    known: dict[Path, list[tuple[Triangles, Color | None]]] = {}
    for geometry in geometries:
        try:
            surfaces = _surfaces(model, geometry, known)
        except SixfoldError as error:
            notes.append(str(error).splitlines()[0])
            continue
        own = rgb(geometry.color) if geometry.color else None
        opacity = float(geometry.color[3]) if geometry.color and len(geometry.color) > 3 else 1.0
        pose = pose_of(geometry.placement)
        for surface, color in surfaces:
            # a mesh with materials knows its colours better than the one that the file gives it
            shade = color or own or BODY
            parts.append(Part(geometry.body, surface.moved(pose), shade, opacity or 1.0))
    return parts, tuple(dict.fromkeys(notes))


def _surfaces(
    model: Model, geometry: Geometry, known: dict[Path, list[tuple[Triangles, Color | None]]]
) -> list[tuple[Triangles, Color | None]]:
    shape = geometry.shape
    if not isinstance(shape, Mesh):
        return [(SOLIDS[type(shape)](shape), None)]
    path = mesh_path(model, shape)
    if path not in known:
        known[path] = read_surfaces(path)
    stretch = np.diag([*(float(x) for x in shape.scale), 1.0])
    return [(surface.moved(stretch), color) for surface, color in known[path]]
