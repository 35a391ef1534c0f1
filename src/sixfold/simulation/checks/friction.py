"""Joints at rest that dry friction shakes."""

from __future__ import annotations

import numpy as np

from sixfold.arrays import Array
from sixfold.model import Model

REVERSALS = 8
"""Samples with the opposite speed of both neighbours that count as shaking."""


def friction_notes(model: Model, v: Array) -> tuple[str, ...]:
    """Return a note for the joints whose speed flips from sample to sample by dry friction.

    A step cannot end where friction f sign(v) holds a joint: it overshoots by up to h f / M.
    """
    bodies = (model.bodies[joint.body] for joint in model.coordinates.free)
    rows = (
        row
        for b in bodies
        for row in zip(b.friction, b.friction_negative, b.friction_speed, strict=True)
    )
    rubs = np.array([bool(more or less) and not speed for more, less, speed in rows], bool)
    if not rubs.any() or v.shape[-2] < 3:
        return ()
    flips = v[..., 1:, :] * v[..., :-1, :] < 0
    peaks = (flips[..., 1:, :] & flips[..., :-1, :]).sum(axis=-2).reshape(-1, model.nv).max(axis=0)
    shaken = np.flatnonzero((peaks >= REVERSALS) & rubs)
    if not len(shaken):
        return ()
    names = model.coordinates.v_names
    listed = ", ".join(f"'{names[k]}'" for k in shaken[:4])
    more = f" and {len(shaken) - 4} more" if len(shaken) > 4 else ""
    fix = "model.with_friction_speed(0.01) smooths it"
    return (f"dry friction that jumps at rest shakes {listed}{more}: {fix}",)
