"""A robot among viser's scene nodes: surfaces hang on one frame for each body and move with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sixfold.errors import visible
from sixfold.model import Model
from sixfold.scene import Part
from sixfold.scene.colors import ramp
from sixfold.scene.masses import center, ellipsoid_radii, principal
from sixfold.scene.poses import wxyz
from sixfold.scene.solids import ellipsoid
from sixfold.scene.triangles import Array

GLASS = 0.38
"""Opacity of bodies that one can see through."""
SEEN_THROUGH = 0.42
"""Opacity of ellipsoids of inertia, which often lie in each other."""
MAX_NAMES = 200
"""Bodies whose names are shown; more would hide the robot."""


class Robot:
    """The solid robot: one frame for each body, with its surfaces below."""

    def __init__(self, scene: Any, model: Model, parts: Sequence[Part], size: float) -> None:
        """Add the frames and surfaces of a robot to a scene."""
        self.scene, self.model = scene, model
        self.frames = [
            scene.add_frame(
                f"/robot/{k}",
                show_axes=False,
                axes_length=0.09 * size,
                axes_radius=0.004 * size,
                origin_radius=0.007 * size,
            )
            for k in range(model.nb)
        ]
        self.surfaces = self.add(parts, "surface")
        self.opacities = [part.opacity for part in parts]
        self.size = size
        self.names: list[Any] = []

    def add(self, parts: Sequence[Part], label: str, **options: Any) -> list[Any]:
        """Hang more surfaces on the bodies and return their nodes."""
        return [
            self.scene.add_mesh_simple(
                f"/robot/{part.body if part.body >= 0 else 'base'}/{label}{k}",
                part.surface.vertices,
                part.surface.faces,
                color=part.color,
                opacity=part.opacity if part.opacity < 1 else None,
                side="double" if part.opacity < 1 else "front",
                **options,
            )
            for k, part in enumerate(parts)
        ]

    def move(self, poses: Array) -> None:
        """Put the bodies at poses (nb, 4, 4)."""
        turns = wxyz(poses[:, :3, :3])
        for frame, pose, turn in zip(self.frames, poses, turns, strict=True):
            frame.position = pose[:3, 3]
            frame.wxyz = turn

    def see_through(self, on: bool) -> None:
        """Draw the bodies as glass, or as they are."""
        for node, opacity in zip(self.surfaces, self.opacities, strict=True):
            node.opacity = min(GLASS, opacity) if on else (opacity if opacity < 1 else None)

    def show_axes(self, on: bool) -> None:
        """Show or hide the axes of the body frames."""
        for frame in self.frames:
            frame.show_axes = on

    def show_names(self, on: bool) -> None:
        """Show or hide the names of the bodies, each at its centre of mass."""
        for node in self.names:
            node.visible = on
        if on and not self.names:
            self.names = [
                self.scene.add_label(f"/robot/{k}/name", visible(body.name), position=center(body))
                for k, body in enumerate(self.model.bodies[:MAX_NAMES])
            ]

    def inertia_parts(self) -> list[Part]:
        """Return the uniform ellipsoids that have the bodies' inertias."""
        found = []
        colors = ramp(np.linspace(0.0, 1.0, max(self.model.nb, 1))).round().astype(int)
        for k, body in enumerate(self.model.bodies):
            mass = principal(body)
            if mass is not None:
                pose, squares = mass
                radii = np.clip(ellipsoid_radii(squares), 0.004 * self.size, self.size)
                r, g, b = (int(x) for x in colors[k])
                found.append(Part(k, ellipsoid(radii).moved(pose), (r, g, b), SEEN_THROUGH))
        return found


class Ghosts:
    """Many pale copies of a robot, drawn as instances of its surfaces."""

    def __init__(self, scene: Any, parts: Sequence[Part], poses: Array) -> None:
        """Add ghosts at poses (N, nb, 4, 4)."""
        self.parts = [part for part in parts if part.body >= 0]
        count = len(poses)
        opacity = float(np.clip(8.0 / count, 0.22, 0.55))
        colors = ramp(np.linspace(0.0, 1.0, count)).round().astype(np.uint8)
        self.nodes = []
        for k, part in enumerate(self.parts):
            turns, positions = _instances(poses, part.body)
            self.nodes.append(
                scene.add_batched_meshes_simple(
                    f"/ghosts/{k}",
                    part.surface.vertices,
                    part.surface.faces,
                    turns,
                    positions,
                    batched_colors=colors,
                    opacity=opacity,
                    cast_shadow=False,
                    receive_shadow=False,
                    lod="off",
                )
            )

    def move(self, poses: Array) -> None:
        """Put the ghosts at poses (N, nb, 4, 4)."""
        for part, node in zip(self.parts, self.nodes, strict=True):
            node.batched_wxyzs, node.batched_positions = _instances(poses, part.body)

    def show(self, on: bool) -> None:
        """Show or hide all ghosts."""
        for node in self.nodes:
            node.visible = on


def _instances(poses: Array, body: int) -> tuple[Array, Array]:
    pose = poses[:, body]
    return wxyz(pose[:, :3, :3]).astype(np.float32), pose[:, :3, 3].astype(np.float32)
