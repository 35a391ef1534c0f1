"""Where a body's mass lies: its centre and the box or ellipsoid of the same inertia."""

from __future__ import annotations

import numpy as np

from sixfold.model import Body
from sixfold.scene.triangles import Array


def center(body: Body) -> Array:
    """Return the centre of mass in body coordinates; the origin for a body without mass."""
    if not float(body.inertia.m):
        return np.zeros(3)
    return np.array([float(x) for x in body.inertia.center])


def principal(body: Body) -> tuple[Array, Array] | None:
    """Return the pose of the principal axes and the mean squares of distance along each [m^2].

    None for a body without mass.  A moment no mass could have counts as a square of zero.
    """
    mass = float(body.inertia.m)
    if not mass > 0.0:
        return None
    xx, yy, zz, xy, xz, yz = (float(x) for x in body.inertia.about_center)
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    moments, axes = np.linalg.eigh(I)
    if np.linalg.det(axes) < 0:
        axes = -axes
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = axes, center(body)
    return pose, np.maximum(moments.sum() / 2 - moments, 0.0) / mass


def box_sides(squares: Array) -> Array:
    """Return the full sides of a uniform box: the mean square along a side is side^2 / 12."""
    return np.sqrt(12.0 * squares)


def ellipsoid_radii(squares: Array) -> Array:
    """Return the half axes of a uniform ellipsoid: the mean square along one is radius^2 / 5."""
    return np.sqrt(5.0 * squares)
