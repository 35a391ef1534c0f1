"""What is drawn: the robot, ghosts, screws of motions and forces, the centre of mass, contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sixfold.display.scene.figure import (
    Stage,
    center,
    ellipsoid_radii,
    force_arrows,
    pose_of,
    principal,
    usual_force,
    wxyz,
)
from sixfold.display.scene.record import Contacts, Record
from sixfold.display.scene.surfaces import (
    ACCELERATION,
    CONE,
    CONTACT,
    FORCE,
    LOOP,
    MASS,
    OPEN,
    VELOCITY,
    Array,
    Color,
    Part,
    ellipsoid,
    pose_along,
    ramp,
    revolve,
    sphere,
)
from sixfold.errors import visible
from sixfold.model import Distance, Gear, Loop, Model, Rolling
from sixfold.quantities.constraints import constrained_dynamics, constraint_wrenches
from sixfold.quantities.energies import center_of_mass
from sixfold.quantities.kinematics import body_accelerations, body_poses, body_velocities
from sixfold.quantities.wrenches import joint_wrenches

TURNS = 5.0  #: Most turns of a coil; a smaller pitch would fill it in.
CORNERS = 20  #: Straight pieces of one turn.
NOTHING = np.zeros((0, 2, 3))


class Screw(NamedTuple):
    """A spatial vector by its axis.  For a motion, `size` turns; for a force, it pushes."""

    direction: Array
    point: Array  #: A point of the axis, the nearest to the reference point.
    size: float  #: Length of the part along the axis that gives it: omega, or f.
    #: Advance over turn [m/rad], or moment over force [m]; inf for a pure translation or couple.
    pitch: float


def screw(line: Array, moment: Array, near: Array) -> Screw | None:
    """Return the screw of a line vector and its moment about the origin; None for zero.

    For a motion these are omega and the velocity at the origin, for a force f and its moment.

    Args:
        line: the part that has an axis, shape (3,).
        moment: the other part, about the world origin, shape (3,).
        near: the point of the axis nearest to this is returned, or this itself without an axis.
    """
    size = float(np.linalg.norm(line))
    rest = float(np.linalg.norm(moment))
    scale = max(1.0, float(np.linalg.norm(near)))
    if size <= 1e-9 * rest / scale or size < 1e-12:
        # no axis of its own: a translation or a couple, wherever it is drawn
        return Screw(moment / rest, near, rest, np.inf) if rest > 1e-12 else None
    direction = line / size
    # the axis passes through w x m / w^2; pitch = w.m / w^2
    foot = np.cross(line, moment) / size**2
    foot = foot + direction * float((near - foot) @ direction)
    return Screw(direction, foot, size, float(line @ moment) / size**2)


def arrow(s: Screw, length: float) -> Array:
    """Return start and end of a screw's arrow, (2, 3), centred on its point."""
    return np.stack([s.point - s.direction * length / 2, s.point + s.direction * length / 2])


def coil(s: Screw, length: float, radius: float) -> Array:
    """Return the pieces (n, 2, 3) of a coil about a screw's axis.

    It advances by the pitch: a ring for a pure rotation, steeper the larger the pitch, turning the
    other way for a negative one; nothing for a pure translation.
    """
    if not np.isfinite(s.pitch):
        return NOTHING
    # a full turn advances by 2 pi times the pitch
    lead = 2 * np.pi * abs(s.pitch)
    turns = 1.0 if lead * TURNS < 0.02 * length else float(np.clip(length / lead, 0.05, TURNS))
    rise = min(lead * turns, length)
    angle = np.linspace(0.0, 2 * np.pi * turns, max(4, int(np.ceil(CORNERS * turns))) + 1)
    hand = -1.0 if s.pitch < 0 else 1.0
    height = np.linspace(-rise / 2, rise / 2, len(angle))
    # a helix about z, left-handed for negative pitch, put onto the axis
    local = np.stack([radius * np.cos(angle), hand * radius * np.sin(angle), height], axis=1)
    pose = pose_along(s.direction, s.point)
    points = local @ pose[:3, :3].T + pose[:3, 3]
    return np.stack([points[:-1], points[1:]], axis=1)


GLASS = 0.38  #: Opacity of bodies that one can see through.
SEEN_THROUGH = 0.42  #: Opacity of ellipsoids of inertia, which often lie in each other.
MAX_NAMES = 200  #: Bodies whose names are shown; more would hide the robot.


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
        # surfaces hang on frames: moving the frame moves them all
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
                found.append(Part(k, ellipsoid(radii).transform(pose), (r, g, b), SEEN_THROUGH))
        return found


class Ghosts:
    """Many pale copies of a robot, drawn as instances of its surfaces."""

    def __init__(self, scene: Any, parts: Sequence[Part], poses: Array) -> None:
        """Add ghosts at poses (N, nb, 4, 4)."""
        self.parts = [part for part in parts if part.body >= 0]
        count = len(poses)
        # many ghosts are paler, and coloured by their number
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


@dataclass(frozen=True, eq=False)
class State:
    """A moment of a motion."""

    q: Array
    v: Array
    a: Array
    tau: Array | None = None  #: Joint forces of the controller, None if unknown.
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
    # from body coordinates to the world: f turned, n about the world's origin
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
    # one constraint at a time: the forces of all others are set to zero
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
        # wrenches on the base are not reported; what acts on the other body is the opposite
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
    # a wheel or ball touches its ground below the centre
    down = -(on_a @ pose_of(each.placement_a))[:3, 2]
    if each.disc:
        # down within the plane of the disc
        axis = frame[:3, 2]
        down = down - axis * float(down @ axis)
        down = down / max(float(np.linalg.norm(down)), 1e-12)
    return center + each.radius * down


#: How each kind of screw is found, its colour, and the unit of its size.
KINDS = {
    "velocity": (velocity_screws, VELOCITY, "rad/s"),
    "acceleration": (acceleration_screws, ACCELERATION, "rad/s²"),
    "force": (force_screws, FORCE, "N"),
    "loop force": (loop_screws, LOOP, "N"),
}


def add_arrows(
    scene: Any, name: str, color: Color, thin: float, points: Array | None = None
) -> Any:
    """Add arrows (n, 2, 3) with shafts of a radius; hidden ones if there are no points yet."""
    shape = {"shaft_radius": thin, "head_radius": 3.0 * thin, "head_length": 8.0 * thin}
    first = np.zeros((1, 2, 3), np.float32) if points is None else points
    return scene.add_arrows(name, first, color, visible=points is not None, **shape)


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
            # lengths relative to the largest so far, so that arrows can be compared over time
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
            add_arrows(self.scene, f"/screws/{self.kind}/arrows", color, thin, arrows)
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


HIDDEN = 1e-6  #: Scale of what is not shown: a surface of no size has no normals.
FAINT = 0.45  #: Scale of the ball of an open contact.


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
        # instances are made once, as many as there are contacts, and moved
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
            cone = revolve([(0.0, 0.0), (1.0, 1.0)])
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
        self.arrows = add_arrows(scene, "/contacts/forces", CONTACT, thin)

    def show(self, on: bool) -> None:
        """Show or hide all of it; arrows appear with `draw`."""
        self.balls.visible = on
        if self.cones is not None:
            self.cones.visible = on
        if not on:
            self.arrows.visible = False

    def draw(self, contacts: Contacts) -> None:
        """Draw the contacts of a moment."""
        # touching contacts are full balls with a cone, open ones small and grey
        closed = contacts.touches
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
        # forces that are far below the usual one have no arrow
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
    # radius / height = mu, radius^2 + height^2 = slant^2
    height = slant / np.sqrt(1.0 + friction**2)
    return np.stack([friction * height, friction * height, height], axis=-1)


def _floats(values: Array) -> Array:
    return np.asarray(values, np.float32)
