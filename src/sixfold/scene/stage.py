"""Where to stand and look: up, ground, middle and reach of what a picture shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sixfold.evaluate import body_poses, neutral
from sixfold.model import Model
from sixfold.scene.parts import Part
from sixfold.scene.poses import turn_between
from sixfold.scene.sticks import up_direction
from sixfold.scene.triangles import Array

SIDE = np.radians(38.0)
HEIGHT = np.radians(17.0)
DISTANCE = 2.85
"""From the eye to the middle, in radii of the scene."""


@dataclass(frozen=True, eq=False)
class Stage:
    """The frame of a picture; all in world coordinates."""

    up: Array
    center: Array
    radius: float
    ground: float
    """Height of the ground along up [m]."""
    eye: Array
    follows: int = -1
    """A body that roams, which the eye should go along with; -1 for none."""

    @property
    def turn(self) -> Array:
        """Rotation that takes z to up."""
        return turn_between(np.array([0.0, 0.0, 1.0]), self.up)


def stage(
    model: Model,
    parts: Sequence[Part],
    q: Array,
    *,
    follow: bool = False,
    contacts: Array | None = None,
) -> Stage:
    """Return the frame that holds a robot at configurations (..., nq).

    The ground is where it lies in the world: at height 0, or at the lowest contact.  Below a robot
    that hangs from the world's origin it is at the lowest point of its rest, whatever it does.

    Args:
        model: the robot.
        parts: its surfaces.
        q: configurations.
        follow: the eye goes along with a free base, which is framed where it first is.
        contacts: points (n, 3) where the robot touches the ground.
    """
    poses = body_poses(model, q.reshape(-1, model.nq))
    corners = [_corners(part, poses) for part in parts] or [np.zeros((1, 1, 3))]
    up = up_direction(model)
    turn = turn_between(np.array([0.0, 0.0, 1.0]), up)
    local = [points @ turn for points in corners]
    roams = bool(model.nb) and model.bodies[0].joint.kind == "free"
    free = follow and roams
    # a base that roams: only the first pose tells the robot's size
    framed = np.concatenate([(x[:1] if free else x).reshape(-1, 3) for x in local])
    middle = (framed.min(axis=0) + framed.max(axis=0)) / 2
    radius = float(np.linalg.norm(framed - middle, axis=1).max()) * (1.25 if free else 1.0)
    radius = max(radius, 1e-6)
    if contacts is not None and len(contacts):
        ground = float((contacts @ turn)[:, 2].min())
    else:
        at = poses[:1] if roams else body_poses(model, neutral(model))[None]
        ground = _rest([_corners(part, at) @ turn for part in parts])
    center = turn @ middle
    eye = center + DISTANCE * radius * _gaze(model, turn, poses)
    return Stage(up, center, radius, ground, eye, 0 if free else -1)


def _rest(corners: Sequence[Array]) -> float:
    """Return height 0; the lowest point of a robot that for the greater part lies below it."""
    heights = np.concatenate([points[..., 2].reshape(-1) for points in corners] or [np.zeros(1)])
    low, high = float(heights.min()), float(heights.max())
    return low if low + high < -0.1 * (high - low) else 0.0


def _corners(part: Part, poses: Array) -> Array:
    """Return the corners of a part's box at all poses, shape (n, 8, 3)."""
    low, high = part.surface.vertices.min(axis=0), part.surface.vertices.max(axis=0)
    unit = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    corners = low + unit * (high - low)
    if part.body < 0:
        return corners[None]
    pose = poses[:, part.body]
    return np.einsum("nij,cj->nci", pose[:, :3, :3], corners) + pose[:, None, :3, 3]


def _gaze(model: Model, turn: Array, poses: Array) -> Array:
    """Return the direction from the middle to the eye: onto the plane of a planar robot."""
    side, height = SIDE, HEIGHT
    start = turn @ np.array([1.0, 0.0, 0.0])
    axis = _common_axis(model, poses[0])
    if axis is not None and abs(axis @ turn[:, 2]) < 0.1:
        # most of what moves lies across the axis: look along it, a little from the side
        start, side, height = axis, np.radians(-18.0), np.radians(9.0)
    level = start - turn[:, 2] * (start @ turn[:, 2])
    level /= np.linalg.norm(level)
    across = np.cross(turn[:, 2], level)
    return (
        np.cos(height) * (np.cos(side) * level + np.sin(side) * across)
        + np.sin(height) * turn[:, 2]
    )


def _common_axis(model: Model, poses: Array) -> Array | None:
    """Return the direction that all turning joints share."""
    axes = [
        pose[:3, :3] @ np.array([float(x) for x in body.joint.axis])  # type: ignore[attr-defined]
        for body, pose in zip(model.bodies, poses, strict=True)
        if body.joint.kind == "revolute"
    ]
    if not axes or any(body.joint.nv > 1 for body in model.bodies):
        return None
    first = axes[0] * np.sign(axes[0][np.argmax(np.abs(axes[0]))])
    return first if all(abs(axis @ first) > 0.999 for axis in axes) else None
