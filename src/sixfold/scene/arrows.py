"""Contact forces as arrows, for the window and the report."""

from __future__ import annotations

import numpy as np

from sixfold.scene.triangles import Array

LONGEST = 2.5
"""Longest arrow over that of the usual force: impacts push far harder than what stands."""


def usual_force(forces: Array) -> float:
    """Return the median size of the forces of a motion that push [N]; 1 if none does."""
    sizes = np.linalg.norm(forces, axis=-1).reshape(-1)
    sizes = sizes[sizes > 0]
    return float(np.median(sizes)) if len(sizes) else 1.0


def force_arrows(points: Array, forces: Array, usual: float, length: float) -> Array:
    """Return start and end of the arrow of each force, (..., 2, 3).

    Args:
        points: where they act [m], shape (..., 3).
        forces: in world axes [N], shape (..., 3).
        usual: force whose arrow has the length given [N]; others are as long as they are large.
        length: of its arrow [m].
    """
    share = np.linalg.norm(forces, axis=-1, keepdims=True) / usual
    cut = np.minimum(1.0, LONGEST / np.maximum(share, LONGEST))
    return np.stack([points, points + forces * (cut * length / usual)], axis=-2)
