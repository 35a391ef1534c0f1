"""The messages of ROS 2 that a motion becomes, and what they are made of for a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sixfold.arrays import Array
from sixfold.evaluate import body_poses
from sixfold.model import Model
from sixfold.simulation.mcap.cdr import Template
from sixfold.spatial import Matrix3, Vector3
from sixfold.spatial.rotations import rotation_to_quaternion

_FIELDS = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec",
    "std_msgs/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z",
    "geometry_msgs/Quaternion": "float64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    "geometry_msgs/Transform": (
        "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation"
    ),
    "geometry_msgs/TransformStamped": (
        "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform"
    ),
}
_STAMPED = ("std_msgs/Header", "builtin_interfaces/Time")
_MOVED = ("geometry_msgs/Transform", "geometry_msgs/Vector3", "geometry_msgs/Quaternion")


def _schema(fields: str, *parts: str) -> str:
    """Return a definition, followed by those that it is made of."""
    rule = "\n" + "=" * 80 + "\n"
    return rule.join([fields, *(f"MSG: {name}\n{_FIELDS[name]}" for name in parts)])


TRANSFORMS = "tf2_msgs/msg/TFMessage"
JOINTS = "sensor_msgs/msg/JointState"
TEXT = "std_msgs/msg/String"
SCHEMAS = {
    TRANSFORMS: _schema(
        "geometry_msgs/TransformStamped[] transforms",
        "geometry_msgs/TransformStamped",
        *(*_STAMPED, *_MOVED),
    ),
    JOINTS: _schema(
        "std_msgs/Header header\n"
        "string[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort",
        *_STAMPED,
    ),
    TEXT: "string data",
}
"""Definitions of the messages, in the form of ROS 2's own files."""


def transforms(pairs: Sequence[tuple[str, str]]) -> Template:
    """Return the message of poses, seven numbers each, of children in their parents."""
    message = Template().count(len(pairs))
    for parent, child in pairs:
        message.stamp().text(parent).text(child).doubles(7)
    return message


def joint_states(names: Sequence[str], position: bool, velocity: bool, effort: bool) -> Template:
    """Return the message of joints by name; an array that is left out is empty."""
    message = Template().stamp().text("").texts(names)
    for there in (position, velocity, effort):
        message.sequence(len(names) if there else 0)
    return message


def text(data: str) -> bytes:
    """Return the message of a text."""
    return Template().text(data).filled(0, np.zeros(0))


def relative_poses(model: Model, q: Array) -> Array:
    """Return position and quaternion (x, y, z, w) of each body in its parent, (..., nb, 7)."""
    world = body_poses(model, q)
    base = np.broadcast_to(np.eye(4), (*world.shape[:-3], 1, 4, 4))
    parents = np.concatenate([base, world], axis=-3)[..., np.array(model.parent, int) + 1, :, :]
    Rt = np.swapaxes(parents[..., :3, :3], -1, -2)
    moved = world[..., :3, 3] - parents[..., :3, 3]
    return _numbers(Rt @ world[..., :3, :3], (Rt @ moved[..., None])[..., 0])


def frame_poses(model: Model) -> Array:
    """Return position and quaternion of each frame on its body, (frames, 7)."""
    found = np.array([frame.placement.pose() for frame in model.frames], float).reshape(-1, 4, 4)
    return _numbers(found[:, :3, :3], found[:, :3, 3])


def _numbers(R: Array, p: Array) -> Array:
    # rows of E, which takes parent coordinates to the body's, are columns of R
    E = Matrix3(*(Vector3(*(R[..., i, j] for i in range(3))) for j in range(3)))
    quaternion = np.stack([np.asarray(x, float) for x in rotation_to_quaternion(E)], axis=-1)
    return np.concatenate([p, quaternion], axis=-1)
