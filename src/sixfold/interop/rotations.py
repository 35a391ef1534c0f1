"""Rotation matrices and quaternions (x, y, z, w) of whole batches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rotation_of(xyzw: Array) -> Array:
    """Return rotation matrices of quaternions of any length."""
    x, y, z, w = np.moveaxis(xyzw / np.linalg.norm(xyzw, axis=-1, keepdims=True), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


def quaternion_of(R: Array) -> Array:
    """Return unit quaternions xyzw of rotation matrices, by the largest of four square roots."""
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    # K is 4 q q^T: its longest row is q times a number
    K = np.empty((*R.shape[:-2], 4, 4))
    K[..., 0, 0], K[..., 1, 1] = 1 + xx - yy - zz, 1 - xx + yy - zz
    K[..., 2, 2], K[..., 3, 3] = 1 - xx - yy + zz, 1 + xx + yy + zz
    for i, j, sign in ((0, 1, 1), (0, 2, 1), (1, 2, 1)):
        K[..., i, j] = K[..., j, i] = R[..., i, j] + sign * R[..., j, i]
    for i, (a, b) in enumerate(((2, 1), (0, 2), (1, 0))):
        K[..., i, 3] = K[..., 3, i] = R[..., a, b] - R[..., b, a]
    longest = np.argmax(np.einsum("...ii->...i", K), -1)
    q = np.take_along_axis(K, longest[..., None, None], -2)[..., 0, :]
    unit: Array = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return unit
