"""The moving robot as data for the page: surfaces, poses at each frame, where to stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.evaluate import body_poses
from sixfold.report.encode import STEPS, base64_of, ranges, whole
from sixfold.scene import Figure, Part, Record, stage
from sixfold.scene.poses import quaternions

FRAMES = 900
"""Most frames of an animation; the page draws what lies between them."""
NUMBERS = 160_000
"""Most numbers that describe all poses."""
FASTEST = 60.0
"""Frames a second that are enough for the eye."""


def scene_data(record: Record, figure: Figure) -> dict[str, Any]:
    """Return the scene of a motion as plain data."""
    model = record.model
    wanted = int(min(FRAMES, NUMBERS // (7 * max(model.nb, 1)), record.duration * FASTEST + 2))
    rows = record.rows(max(wanted, 2))
    q = record.q[0, rows]
    poses = body_poses(model, q)
    place = stage(model, figure.parts, q[:: max(1, len(q) // 60)], follow=True)
    positions, turns = poses[..., :3, 3], quaternions(poses[..., :3, :3])
    low, step = ranges(positions)
    numbers = np.concatenate([whole(positions, low, step), np.round((turns + 1) / 2 * STEPS)], -1)
    return {
        "up": place.up.tolist(),
        "turn": place.turn.reshape(-1).tolist(),
        "center": place.center.tolist(),
        "radius": place.radius,
        "ground": place.ground,
        "eye": place.eye.tolist(),
        "follows": place.follows,
        "nb": model.nb,
        "times": base64_of(record.t[rows], "<f4"),
        "low": low.tolist(),
        "step": step.tolist(),
        "poses": base64_of(numbers, "<u2"),
        "parts": [_part(part) for part in figure.parts],
    }


def _part(part: Part) -> dict[str, Any]:
    low, step = ranges(part.surface.vertices)
    wide = len(part.surface.vertices) > STEPS
    return {
        "body": part.body,
        "color": list(part.color),
        "opacity": part.opacity,
        "low": low.tolist(),
        "step": step.tolist(),
        "vertices": base64_of(whole(part.surface.vertices, low, step), "<u2"),
        "faces": base64_of(part.surface.faces, "<u4" if wide else "<u2"),
        "wide": wide,
    }
