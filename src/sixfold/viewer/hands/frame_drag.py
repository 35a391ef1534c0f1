"""A handle on a frame of the robot: the mouse drags it, inverse kinematics follows."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from sixfold.control import inverse_kinematics, targets
from sixfold.errors import NotApplicableError
from sixfold.evaluate import frame_pose
from sixfold.model import Model
from sixfold.scene.poses import wxyz
from sixfold.scene.triangles import Array

FULL_POSE = 6
"""Freedoms below the frame from which a position and a rotation can be asked for."""
TOLERANCE = 1e-6
"""What inverse kinematics may leave [m and rad]: less than a picture shows."""
FARTHEST = 1e6
"""Coordinates that a page may send [m]."""


class FrameDrag:
    """Arrows and rings about a frame, and where the mouse has pulled them.

    Attributes:
        frame: the frame that has the handle; None for none.
        held: whether the mouse has hold of it.
        converged: whether the last place was reached.
    """

    def __init__(self, scene: Any, model: Model, size: float, changed: Any) -> None:
        """Prepare; nothing shows before `choose`.

        Args:
            scene: of viser.
            model: the robot.
            size: of the robot [m].
            changed: is called when the mouse has moved the handle.
        """
        self.scene, self.model, self.size, self.changed = scene, model, size, changed
        self.frame: str | None = None
        self.held, self.converged = False, True
        self.node: Any = None
        self._wanted: Array | None = None
        # the thread that draws must not write to a handle that a hand takes away
        self._lock = threading.Lock()

    def choose(self, frame: str | None, q: Array) -> None:
        """Put the handle on a frame of a robot at q; None takes it away."""
        with self._lock:
            self._replace(frame, q)

    def _replace(self, frame: str | None, q: Array) -> None:
        if self.node is not None:
            self.node.remove()
        self.frame, self.node, self.held, self._wanted = frame, None, False, None
        if frame is None:
            return
        pose = frame_pose(self.model, q, frame)
        self.node = self.scene.add_transform_controls(
            "/handle",
            scale=0.22 * self.size,
            disable_rotations=not self._turns(frame),
            depth_test=False,
            position=pose[:3, 3],
            wxyz=wxyz(pose[:3, :3]),
        )
        self.node.on_update(self.moved)

    async def moved(self, event: Any) -> None:
        """Take note of where the mouse has pulled the handle; phases come in order."""
        node = event.target
        if node is not self.node:
            return
        self.held = event.phase != "end"
        pose = pose_from(node.position, node.wxyz)
        if event.phase == "update" and pose is not None:
            self._wanted = pose
        self.changed()

    def follow(self, q: Array) -> Array | None:
        """Return the configuration that brings the frame to the handle; None if nobody moved it.

        Where the handle is out of reach, the nearest one.
        """
        pose, self._wanted = self._wanted, None
        if pose is None or self.frame is None:
            return None
        goal: Any = targets.Position(self.frame, pose[:3, 3])
        if self._turns(self.frame):
            goal = targets.Pose(self.frame, pose)
        found = inverse_kinematics(self.model, [goal], q, tolerance=TOLERANCE, starts=1)
        self.converged = bool(found.converged)
        return found.q

    def draw(self, q: Array) -> None:
        """Keep the handle at its frame while the mouse lets it be."""
        with self._lock:
            if self.node is None or self.frame is None or self.held or self._wanted is not None:
                return
            pose = frame_pose(self.model, q, self.frame)
            turn = wxyz(pose[:3, :3])
            near = np.abs(self.node.position - pose[:3, 3]).max() < 1e-9
            if not (near and abs(float(self.node.wxyz @ turn)) > 1 - 1e-12):
                self.node.position, self.node.wxyz = pose[:3, 3], turn

    def _turns(self, frame: str) -> bool:
        """Return whether the joints below a frame can turn it as well as move it."""
        body, _ = self.model.locate(frame)
        if body < 0:
            return False
        names = self.model.support(self.model.body_names[body])
        bodies = [self.model.bodies[self.model.body_index(name)] for name in names]
        return sum(each.joint.nv for each in bodies) >= FULL_POSE


def movable_frames(model: Model) -> list[str]:
    """Return the frames that a handle can be put on: those of tools first, then bodies from tips.

    None of a model with constraints, which inverse kinematics does not close.
    """
    if model.constraints:
        return []
    frames = [frame.name for frame in model.frames if frame.body >= 0]
    return [*reversed(frames), *reversed(model.body_names)]


def check_frame(function: str, model: Model, frame: Any) -> None:
    """Refuse a frame that no handle can be put on."""
    model.locate(frame)
    if frame not in movable_frames(model):
        what = f"{function}: dragging frame '{frame}'"
        where = f"model '{model.name}', whose joints cannot follow it by inverse kinematics"
        raise NotApplicableError(what, where, "name a frame of a body, of a model without loops")


def pose_from(position: Any, turn: Any) -> Array | None:
    """Return the pose (4, 4) of a position and a quaternion (w, x, y, z); None if it is none."""
    p, (w, x, y, z) = np.asarray(position, float), np.asarray(turn, float)
    square = w * w + x * x + y * y + z * z
    if not (np.abs(p).max() < FARTHEST and 0.25 < square < 4.0):
        return None
    pose = np.eye(4)
    pose[:3, :3] -= (2.0 / square) * np.array(
        [
            [y * y + z * z, w * z - x * y, -w * y - x * z],
            [-w * z - x * y, x * x + z * z, w * x - y * z],
            [w * y - x * z, -w * x - y * z, x * x + y * y],
        ]
    )
    pose[:3, 3] = p
    return pose
