"""The moving robot as data for the page: surfaces, poses at each frame, where to stand."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.evaluate import body_poses
from sixfold.report.encode import STEPS, base64_of, ranges, whole
from sixfold.scene import Figure, Part, Record, stage
from sixfold.scene.arrows import force_arrows, usual_force
from sixfold.scene.colors import CONTACT
from sixfold.scene.poses import quaternions
from sixfold.scene.solids import sphere, turned
from sixfold.scene.triangles import Array

FRAMES = 900
"""Most frames of an animation; the page draws what lies between them."""
NUMBERS = 160_000
"""Most numbers that describe all poses."""
FASTEST = 60.0
"""Frames a second that are enough for the eye."""


def scene_data(record: Record, figure: Figure) -> dict[str, Any]:
    """Return the scene of a motion as plain data."""
    model = record.model
    count = record.given["contact_gaps"].shape[1] if record.has_contacts else 0
    numbers_a_frame = 7 * max(model.nb, 1) + 6 * count
    wanted = int(min(FRAMES, NUMBERS // numbers_a_frame, record.duration * FASTEST + 2))
    rows = record.rows(max(wanted, 2))
    q = record.q[0, rows]
    poses = body_poses(model, q)
    some = q[:: max(1, len(q) // 60)]
    place = stage(model, figure.parts, some, follow=True, contacts=record.touching())
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
        "contacts": _contacts(record, rows, figure.size) if count else None,
    }


def _contacts(record: Record, rows: Array, size: float) -> dict[str, Any]:
    """Return where contact forces act at each frame and where their arrows end."""
    forces, points = record.given["contact_forces"], record.given["contact_points"]
    usual = usual_force(forces)
    arrows = force_arrows(points[rows], forces[rows], usual, 0.2 * size)
    low, step = ranges(arrows)
    ball = sphere(1.0)
    shaft = turned([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], 12)
    head = turned([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], 16)
    return {
        "count": points.shape[1],
        "thin": 0.0045 * size,
        "low": low.tolist(),
        "step": step.tolist(),
        "arrows": base64_of(whole(arrows, low, step), "<u2"),
        "parts": [_part(Part(-1, surface, CONTACT, 1.0)) for surface in (ball, shaft, head)],
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
