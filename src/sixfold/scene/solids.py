"""Surfaces of simple solids about their centre, with the axis along z where there is one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sixfold.scene.triangles import Array, Triangles, joined

AROUND = 28
"""Corners of a circle."""


def box(size: ArrayLike) -> Triangles:
    """Return a box with full side lengths."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    sides = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    # each side has corners of its own, so that its shading is flat
    vertices = corners[np.array(sides)].reshape(-1, 3) * (np.asarray(size, float) / 2)
    start = np.arange(0, 24, 4)[:, None]
    faces = np.concatenate([start + np.array(corner) for corner in ((0, 1, 2), (0, 2, 3))])
    return Triangles(vertices, faces)


def turned(profile: Sequence[tuple[float, float]], around: int = AROUND) -> Triangles:
    """Return the surface that a line of points (radius, z), from bottom to top, sweeps about z."""
    angle = 2 * np.pi * np.arange(around) / around
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = [np.column_stack([ring * r, np.full(around, z)]) for r, z in profile]
    k = np.arange(around)
    after = (k + 1) % around
    faces = []
    for row in range(len(profile) - 1):
        low, high = row * around, (row + 1) * around
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
    bottom = turned([(0.0, -h), (below, -h)], around)
    side = turned([(below, -h), (above, h)], around)
    top = turned([(above, h), (0.0, h)], around)
    return joined([bottom, side, top])


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
    return turned(profile)


def ellipsoid(radii: ArrayLike) -> Triangles:
    """Return an ellipsoid with half axes."""
    ball = sphere(1.0)
    return Triangles(ball.vertices * np.asarray(radii, float), ball.faces)


def rod(start: Array, end: Array, below: float, above: float | None = None) -> Triangles:
    """Return a rod between two points, tapered when the two radii differ."""
    above = below if above is None else above
    length = float(np.linalg.norm(end - start))
    solid = frustum(below, above, length, 20)
    return solid.moved(pose_along(end - start, (start + end) / 2))


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
