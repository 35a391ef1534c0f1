"""Poses as 4 x 4 matrices, quaternions and angles, for arrays of any leading shape."""

from __future__ import annotations

import numpy as np

from sixfold.model import Model
from sixfold.scene.triangles import Array
from sixfold.spatial import Transform


def pose_of(X: Transform) -> Array:
    """Return the pose of the frame that a transform leads to, in the coordinates it comes from."""
    return np.array(X.pose(), float)


def quaternions(R: Array) -> Array:
    """Return unit quaternions (x, y, z, w), w >= 0, of rotation matrices (..., 3, 3)."""
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    # four times the products of one element with all; the largest row divides safely
    diagonal = np.stack([1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz])
    xy, xz, yz = (
        R[..., 0, 1] + R[..., 1, 0],
        R[..., 0, 2] + R[..., 2, 0],
        R[..., 1, 2] + R[..., 2, 1],
    )
    xw, yw, zw = (
        R[..., 2, 1] - R[..., 1, 2],
        R[..., 0, 2] - R[..., 2, 0],
        R[..., 1, 0] - R[..., 0, 1],
    )
    d = diagonal
    rows = np.stack(
        [
            np.stack([d[0], xy, xz, xw], axis=-1),
            np.stack([xy, d[1], yz, yw], axis=-1),
            np.stack([xz, yz, d[2], zw], axis=-1),
            np.stack([xw, yw, zw, d[3]], axis=-1),
        ],
        axis=-2,
    )
    best = np.argmax(np.moveaxis(d, 0, -1), axis=-1)
    q = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.where(q[..., 3:] < 0, -q, q)


def wxyz(R: Array) -> Array:
    """Return quaternions of rotation matrices with the scalar first."""
    return np.roll(quaternions(R), 1, axis=-1)


def angles_of(q: Array) -> Array:
    """Return fixed-axis roll, pitch and yaw of a quaternion (x, y, z, w)."""
    x, y, z, w = q / np.linalg.norm(q)
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(np.clip(2 * (w * y - z * x), -1.0, 1.0))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return np.array([roll, pitch, yaw])


def quaternion_of(angles: Array) -> Array:
    """Return the quaternion (x, y, z, w) of fixed-axis roll, pitch and yaw."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(np.asarray(angles) / 2), np.sin(np.asarray(angles) / 2)
    return np.array(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ]
    )


def turn_between(a: Array, b: Array) -> Array:
    """Return the shortest rotation matrix that takes one unit vector to another."""
    v, c = np.cross(a, b), float(np.dot(a, b))
    if c < -1 + 1e-12:
        side = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        side /= np.linalg.norm(side)
        return 2 * np.outer(side, side) - np.eye(3)
    K = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + K + K @ K / (1 + c)


def within_limits(model: Model, q: Array) -> Array:
    """Return a configuration with coordinates outside their limits in the middle between them.

    With one limit only, they are put at it.
    """
    low, high = (np.asarray(x, float) for x in (model.lower_position, model.upper_position))
    both = np.isfinite(low) & np.isfinite(high)
    middle = np.where(both, (np.where(both, low, 0.0) + np.where(both, high, 0.0)) / 2, 0.0)
    nearest = np.clip(q, low, np.maximum(low, high))
    return np.where((q >= low) & (q <= high), q, np.where(both, middle, nearest))
