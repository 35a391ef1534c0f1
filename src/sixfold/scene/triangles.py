"""Surfaces as triangles: plain arrays, moved, merged, thinned out and split at sharp edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
CREASE = np.radians(35.0)
"""Faces that meet at a larger angle do not share their shading."""


@dataclass(frozen=True, eq=False)
class Triangles:
    """A surface: vertices (V, 3) [m] and faces (F, 3), counter-clockwise seen from outside."""

    vertices: Array
    faces: Array

    def moved(self, pose: Array) -> Triangles:
        """Return the surface under a 4 x 4 pose, which may mirror or stretch."""
        vertices = self.vertices @ pose[:3, :3].T + pose[:3, 3]
        mirrored = np.linalg.det(pose[:3, :3]) < 0
        return Triangles(vertices, self.faces[:, ::-1] if mirrored else self.faces)

    @property
    def corners(self) -> Array:
        """The three corners of each face, shape (F, 3, 3)."""
        return self.vertices[self.faces]


def joined(surfaces: Sequence[Triangles]) -> Triangles:
    """Return several surfaces as one."""
    if not surfaces:
        return Triangles(np.zeros((0, 3)), np.zeros((0, 3), np.int64))
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
    keys = np.round(surface.vertices / (extent * grain or 1.0)).astype(np.int64)
    first, where = _distinct(keys)
    return Triangles(surface.vertices[first], _proper(where[surface.faces]))


def thinned(surface: Triangles, cell: float) -> Triangles:
    """Return the surface with all vertices of a cubic cell drawn together in their mean."""
    _, where = _distinct(np.floor(surface.vertices / cell).astype(np.int64))
    sums = np.stack([np.bincount(where, surface.vertices[:, k]) for k in range(3)], axis=1)
    return Triangles(sums / np.bincount(where)[:, None], _proper(where[surface.faces]))


def creased(surface: Triangles, angle: float = CREASE) -> Triangles:
    """Return the surface with vertices doubled along sharp edges, so that shading breaks there."""
    normals = face_normals(surface)
    first, second = _neighbours(surface.faces)
    soft = np.einsum("ij,ij->i", normals[first], normals[second]) > np.cos(angle)
    groups = _components(len(surface.faces), first[soft], second[soft])
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
        low = np.minimum(label[first], label[second])
        after = label.copy()
        np.minimum.at(after, first, low)
        np.minimum.at(after, second, low)
        # a label points at a smaller one of the same set: follow it
        after = after[after]
        if np.array_equal(after, label):
            return label
        label = after
