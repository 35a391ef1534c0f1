"""Contacts over a robot: where it touches, with what force, and what friction would bear."""

from __future__ import annotations

from typing import Any

import numpy as np

from sixfold.scene import Contacts, Record
from sixfold.scene.arrows import force_arrows, usual_force
from sixfold.scene.colors import CONE, CONTACT, OPEN
from sixfold.scene.poses import wxyz
from sixfold.scene.solids import pose_along, sphere, turned
from sixfold.scene.triangles import Array

HIDDEN = 1e-6
"""Scale of what is not shown: a surface of no size has no normals."""
FAINT = 0.45
"""Scale of the ball of an open contact."""


class ContactLayer:
    """Balls at the contacts, arrows of their forces and cones of friction."""

    def __init__(self, scene: Any, size: float, motion: Record) -> None:
        """Add the nodes, hidden.

        Args:
            scene: of viser.
            size: of the robot [m].
            motion: has contacts; its forces set the length of arrows.
        """
        self.size, self.usual = size, usual_force(motion.given["contact_forces"])
        first = motion.contacts(float(motion.t[0]))
        assert first is not None
        count = len(first.gaps)
        still = np.tile(np.array([1.0, 0.0, 0.0, 0.0], np.float32), (count, 1))
        options = {"visible": False, "cast_shadow": False, "receive_shadow": False, "lod": "off"}
        ball = sphere(0.013 * size)
        self.balls = scene.add_batched_meshes_simple(
            "/contacts/points", ball.vertices, ball.faces, still, _floats(first.points), **options
        )
        self.cones = None
        if first.normals is not None and first.friction is not None:
            # the tip in the origin, open along z
            cone = turned([(0.0, 0.0), (1.0, 1.0)])
            self.cones = scene.add_batched_meshes_simple(
                "/contacts/cones",
                cone.vertices,
                cone.faces,
                still,
                _floats(first.points),
                batched_colors=CONE,
                opacity=0.3,
                side="double",
                **options,
            )
        thin = 0.0045 * size
        self.arrows = scene.add_arrows(
            "/contacts/forces",
            np.zeros((1, 2, 3), np.float32),
            CONTACT,
            shaft_radius=thin,
            head_radius=2.8 * thin,
            head_length=7 * thin,
            visible=False,
        )

    def show(self, on: bool) -> None:
        """Show or hide all of it; arrows appear with `draw`."""
        self.balls.visible = on
        if self.cones is not None:
            self.cones.visible = on
        if not on:
            self.arrows.visible = False

    def draw(self, contacts: Contacts) -> None:
        """Draw the contacts of a moment."""
        closed = contacts.closed
        self.balls.batched_positions = _floats(contacts.points)
        self.balls.batched_scales = np.where(closed, 1.0, FAINT).astype(np.float32)
        self.balls.batched_colors = np.where(closed[:, None], CONTACT, OPEN).astype(np.uint8)
        if self.cones is not None and contacts.normals is not None:
            assert contacts.friction is not None
            self.cones.batched_positions = _floats(contacts.points)
            self.cones.batched_wxyzs = _floats(
                wxyz(np.stack([pose_along(n, n)[:3, :3] for n in contacts.normals]))
            )
            scales = cone_scales(contacts.friction, 0.16 * self.size)
            seen = closed & (contacts.friction > 0)
            self.cones.batched_scales = _floats(np.where(seen[:, None], scales, HIDDEN))
        arrows = force_arrows(contacts.points, contacts.forces, self.usual, 0.2 * self.size)
        arrows = arrows[contacts.sizes > 1e-3 * self.usual]
        self.arrows.visible = len(arrows) > 0
        if len(arrows):
            self.arrows.points = _floats(arrows)


def cone_scales(friction: Array, slant: float) -> Array:
    """Return what makes cones of friction of the cone with radius and height 1, shape (nc, 3).

    Args:
        friction: Coulomb's coefficients, shape (nc,): tangents of the half angles.
        slant: length of their sides [m].
    """
    height = slant / np.sqrt(1.0 + friction**2)
    return np.stack([friction * height, friction * height, height], axis=-1)


def _floats(values: Array) -> Array:
    return np.asarray(values, np.float32)
