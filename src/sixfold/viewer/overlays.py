"""What is drawn over a robot: screws of its motions and forces, and the centre of mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.evaluate import (
    body_accelerations,
    body_poses,
    body_velocities,
    center_of_mass,
    constrained_dynamics,
    constraint_wrenches,
    joint_wrenches,
)
from sixfold.model import Model
from sixfold.model.constraint import Distance, Gear, Loop, Rolling
from sixfold.scene import Contacts, Stage
from sixfold.scene.colors import ACCELERATION, FORCE, LOOP, MASS, VELOCITY, Color
from sixfold.scene.masses import center
from sixfold.scene.poses import pose_of
from sixfold.scene.triangles import Array
from sixfold.viewer.screws import Screw, arrow, coil, screw


@dataclass(frozen=True, eq=False)
class State:
    """A moment of a motion."""

    q: Array
    v: Array
    a: Array
    tau: Array | None = None
    """Joint forces of the controller, None if unknown."""
    contacts: Contacts | None = None


def velocity_screws(model: Model, state: State) -> list[Screw | None]:
    """Return the velocity of each body as a screw in the world."""
    rows = body_velocities(model, state.q, state.v, frame="world")
    return _screws(model, state, rows[:, :3], rows[:, 3:])


def acceleration_screws(model: Model, state: State) -> list[Screw | None]:
    """Return the spatial acceleration of each body as a screw in the world."""
    rows = body_accelerations(model, state.q, state.v, state.a, frame="world")
    return _screws(model, state, rows[:, :3], rows[:, 3:])


def force_screws(model: Model, state: State) -> list[Screw | None]:
    """Return the force of each parent on its body as a screw in the world, near the joint."""
    rows = joint_wrenches(model, state.q, state.v, state.a)
    poses = body_poses(model, state.q)
    found = []
    for pose, (n, f) in zip(poses, rows.reshape(-1, 2, 3), strict=True):
        R, p = pose[:3, :3], pose[:3, 3]
        found.append(screw(R @ f, R @ n + np.cross(p, R @ f), p))
    return found


def loop_screws(model: Model, state: State) -> list[Screw | None]:
    """Return the force of each constraint on its body B as a screw in the world.

    It is drawn near the place where the loop closes.  A gear works on joints and has none.
    """
    tau = np.zeros(model.nv) if state.tau is None else state.tau
    _, forces = constrained_dynamics(model, state.q, state.v, tau)
    ends = np.cumsum([each.rows for each in model.constraints])
    row, count = np.arange(model.nc), len(model.constraints)
    owner = np.searchsorted(ends, row, side="right")
    alone = np.where(owner == np.arange(count)[:, None], forces, 0.0)
    wrenches = constraint_wrenches(model, np.tile(state.q, (count, 1)), alone)
    poses = body_poses(model, state.q)
    found: list[Screw | None] = []
    for each, rows in zip(model.constraints, wrenches, strict=True):
        if isinstance(each, Gear):
            found.append(None)
            continue
        # on the base nothing is told; what acts on the other body is the opposite
        n, f = (rows[each.body_b] if each.body_b >= 0 else -rows[each.body_a]).reshape(2, 3)
        found.append(screw(f, n, closing_point(each, poses)))
    return found


def closing_point(each: Loop | Distance | Rolling, poses: Array) -> Array:
    """Return where a constraint holds its body B, in the world."""
    base = np.eye(4)
    on_b = poses[each.body_b] if each.body_b >= 0 else base
    if isinstance(each, Distance):
        return np.asarray(on_b[:3, :3] @ np.array(each.point_b, float) + on_b[:3, 3])
    frame = on_b @ pose_of(each.placement_b)
    center = np.asarray(frame[:3, 3])
    if isinstance(each, Loop):
        return center
    on_a = poses[each.body_a] if each.body_a >= 0 else base
    down = -(on_a @ pose_of(each.placement_a))[:3, 2]
    if each.disc:
        # down within the plane of the disc
        axis = frame[:3, 2]
        down = down - axis * float(down @ axis)
        down = down / max(float(np.linalg.norm(down)), 1e-12)
    return center + each.radius * down


KINDS = {
    "velocity": (velocity_screws, VELOCITY, "rad/s"),
    "acceleration": (acceleration_screws, ACCELERATION, "rad/s²"),
    "force": (force_screws, FORCE, "N"),
    "loop force": (loop_screws, LOOP, "N"),
}
"""How each kind of screw is found, its colour, and the unit of its size."""


class ScrewLayer:
    """The screws of one kind, for all bodies or constraints."""

    def __init__(self, scene: Any, kind: str, size: float) -> None:
        """Prepare the nodes; nothing shows before `draw`."""
        self.scene, self.kind, self.size = scene, kind, size
        self.screws, self.color, self.unit = KINDS[kind]
        self.peaks: dict[bool, float] = {}
        self.nodes: list[Any] = []

    def names(self, model: Model) -> tuple[str, ...]:
        """Return the names of what the screws belong to."""
        if self.kind == "loop force":
            return tuple(each.name for each in model.constraints)
        return tuple(model.body_names)

    def draw(self, model: Model, state: State) -> list[Screw | None]:
        """Draw the screws of a state and return them."""
        found = self.screws(model, state)
        arrows, coils = [], []
        for s in found:
            if s is None:
                continue
            turning = bool(np.isfinite(s.pitch))
            peak = self.peaks[turning] = max(self.peaks.get(turning, 0.0), s.size)
            if s.size < 1e-3 * peak:
                continue
            length = self.size * (0.08 + 0.32 * s.size / peak)
            arrows.append(arrow(s, length))
            coils.append(coil(s, 0.8 * length, 0.035 * self.size))
        self.clear()
        if arrows:
            self._add(np.stack(arrows), np.concatenate(coils), self.color)
        return found

    def clear(self) -> None:
        """Remove what is drawn."""
        for node in self.nodes:
            node.remove()
        self.nodes = []

    def _add(self, arrows: Array, coils: Array, color: Color) -> None:
        thin = 0.0035 * self.size
        self.nodes.append(
            self.scene.add_arrows(
                f"/screws/{self.kind}/arrows",
                arrows,
                color,
                shaft_radius=thin,
                head_radius=3.2 * thin,
                head_length=9 * thin,
            )
        )
        if len(coils):
            name = f"/screws/{self.kind}/coils"
            self.nodes.append(
                self.scene.add_line_segments(name, coils, color, thickness=1.6 * thin)
            )


class MassLayer:
    """The centre of mass, with a line down to the ground."""

    def __init__(self, scene: Any, stage: Stage, size: float) -> None:
        """Add the ball and the line, hidden."""
        self.stage = stage
        radius = 0.022 * size
        self.ball = scene.add_icosphere(
            "/mass/ball", radius=radius, color=MASS, subdivisions=4, visible=False
        )
        down = np.stack([np.zeros(3), -stage.up])[None]
        self.line = scene.add_line_segments(
            "/mass/line", down, MASS, thickness=0.2 * radius, visible=False
        )

    def show(self, on: bool) -> None:
        """Show or hide it."""
        self.ball.visible = self.line.visible = on

    def draw(self, model: Model, q: Array) -> None:
        """Move it to the centre of mass of a configuration."""
        at = center_of_mass(model, q)
        self.ball.position = self.line.position = at
        self.line.scale = max(float(at @ self.stage.up) - self.stage.ground, 1e-6)


def _screws(model: Model, state: State, lines: Array, moments: Array) -> list[Screw | None]:
    poses = body_poses(model, state.q)
    return [
        screw(line, moment, pose[:3, :3] @ center(body) + pose[:3, 3])
        for line, moment, pose, body in zip(lines, moments, poses, model.bodies, strict=True)
    ]
