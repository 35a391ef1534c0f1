"""A spring between a point of a body and the mouse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sixfold.evaluate import body_poses, body_velocities, inverse_mass_matrix, jacobian
from sixfold.model import Model
from sixfold.scene.triangles import Array

RATE = 10.0
"""Of the spring [rad/s]: a point that is held back by nothing else swings so fast."""


@dataclass
class Pull:
    """The mouse has hold of a point of a body and pulls it to where the pointer is.

    The spring is as stiff as the mass that is felt at the point allows, and damped critically.
    """

    model: Model
    body: int
    point: Array
    """In the body's axes [m]."""
    pointer: Array
    """In the world [m]."""
    mass: float
    """Felt at the point, mean of three directions [kg]."""
    longest: float
    """Stretch beyond which the force grows no more [m]."""

    def force(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the force on the point in the world [N], and where the point is [m]."""
        pose = body_poses(self.model, q)[self.body]
        moving = body_velocities(self.model, q, v, frame="world")[self.body]
        at = pose[:3, :3] @ self.point + pose[:3, 3]
        velocity = moving[3:] + np.cross(moving[:3], at)
        stretch = self.pointer - at
        length = float(np.linalg.norm(stretch))
        if length > self.longest:
            stretch = stretch * (self.longest / length)
        return self.mass * (RATE * RATE * stretch - 2.0 * RATE * velocity), at

    def wrench(self, q: Array, v: Array, frame: str) -> Array:
        """Return the force as external force on its body, (6,), about the world or the body."""
        f, at = self.force(q, v)
        if frame == "world":
            return np.concatenate([np.cross(at, f), f])
        local = body_poses(self.model, q)[self.body][:3, :3].T @ f
        return np.concatenate([np.cross(self.point, local), local])


def grab(model: Model, q: Array, body: int, at: Array, longest: float) -> Pull:
    """Return a spring on the point of a body that is at a place of the world, not yet stretched.

    Args:
        model: the robot.
        q: where it is.
        body: number of the body.
        at: the point in the world [m].
        longest: stretch beyond which the force grows no more [m].
    """
    pose = body_poses(model, q)[body]
    point = pose[:3, :3].T @ (at - pose[:3, 3])
    J = jacobian(model, q, model.body_names[body], point=point)[3:]
    mobility = float(np.trace(J @ inverse_mass_matrix(model, q) @ J.T))
    # a point that cannot move feels no spring
    mass = 3.0 / mobility if mobility > 1e-12 else 0.0
    return Pull(model, body, point, np.array(at, float), mass, longest)
