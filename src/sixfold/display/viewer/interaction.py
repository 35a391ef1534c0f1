"""Playback, a live simulation, and what the mouse drags and pulls."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixfold.control import targets
from sixfold.control.controllers import without_base_forces
from sixfold.control.ik import inverse_kinematics
from sixfold.display.scene.figure import wxyz
from sixfold.display.scene.record import Record
from sixfold.display.scene.surfaces import FORCE, Array
from sixfold.display.viewer.drawing import State, add_arrows
from sixfold.errors import NotApplicableError, OptionError
from sixfold.model import Model
from sixfold.quantities.configurations import difference
from sixfold.quantities.dynamics import gravity_force, inverse_mass_matrix
from sixfold.quantities.kinematics import body_poses, body_velocities, frame_pose, jacobian
from sixfold.simulation.stepper import Stepper
from sixfold.spatial.rotations import quaternions_to_matrices


class Player:
    """A moment of a recorded motion, or a pose that hands have set.

    Attributes:
        time: the moment [s].
        playing: whether time passes.
        speed: seconds of motion for each second of the clock.
        posed: whether sliders rule instead of the record.
    """

    def __init__(self, model: Model, q: Array, record: Record | None) -> None:
        """Start at the first row of a record, or at a pose."""
        self.model, self.record = model, record
        self.time = float(record.t[0]) if record is not None else 0.0
        self.speed, self.playing, self.posed = 1.0, False, record is None
        self.q = q
        self.v = np.zeros(model.nv)

    @property
    def setpoint(self) -> Array:
        """The configuration that hands change."""
        return self.q

    def advance(self, seconds: float) -> None:
        """Let time pass; after the end the motion begins again."""
        if self.record is None or not self.playing:
            return
        start, span = float(self.record.t[0]), self.record.duration
        gone = self.time - start + seconds * self.speed
        self.time = start + (gone % span if span > 0 else 0.0)

    def seek(self, time: float) -> None:
        """Go to a moment of the record."""
        self.time, self.posed = time, False

    def pose(self, q: Array, v: Array | None = None) -> None:
        """Hold a configuration, with a velocity, instead of the record."""
        self.q, self.posed, self.playing = q, True, False
        self.v = np.zeros(self.model.nv) if v is None else v

    def state(self) -> State:
        """Return the moment of the record, or the pose with its velocity and nothing else."""
        if self.posed or self.record is None:
            return State(self.q, self.v, np.zeros(self.model.nv))
        record, time = self.record, self.time
        self.q = record.positions(time)[0]
        v, a = record.velocity(time), record.acceleration(time)
        return State(self.q, v, a, record.force(time), record.contacts(time))


RATE = 10.0  #: Of the spring [rad/s]: a point that is held back by nothing else swings so fast.


@dataclass
class Pull:
    """The mouse has hold of a point of a body and pulls it to where the pointer is.

    The spring is as stiff as the mass that is felt at the point allows, and damped critically.
    """

    model: Model
    body: int
    point: Array  #: In the body's axes [m].
    pointer: Array  #: In the world [m].
    mass: float  #: Felt at the point, mean of three directions [kg].
    longest: float  #: Stretch beyond which the force grows no more [m].

    def force(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the force on the point in the world [N], and where the point is [m]."""
        # velocity of the point in the world: v + w x r
        pose = body_poses(self.model, q)[self.body]
        moving = body_velocities(self.model, q, v, frame="world")[self.body]
        at = pose[:3, :3] @ self.point + pose[:3, 3]
        velocity = moving[3:] + np.cross(moving[:3], at)
        # f = m (w^2 stretch - 2 w velocity): critically damped, limited in stretch
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
    # mass felt at the point: 3 / tr(J M^-1 J^T)
    J = jacobian(model, q, model.body_names[body], point=point)[3:]
    mobility = float(np.trace(J @ inverse_mass_matrix(model, q) @ J.T))
    # a point that cannot move feels no spring
    mass = 3.0 / mobility if mobility > 1e-12 else 0.0
    return Pull(model, body, point, np.array(at, float), mass, longest)


#: Steps of the simulation that the window makes itself [s], and how many under one force.
STEP, SUBSTEPS = 1e-3, 2
HOLD_RATE = 12.0  #: How fast its motors bring a joint back [rad/s], damped critically.
MAX_BACKLOG = 0.1  #: Simulated time that is made up for after a delay [s].
BUDGET = 0.025  #: Seconds of computing for one picture; a simulation that needs more falls behind.


class LivePlayer(Player):
    """The clock of a simulation: time passes by its steps.

    Attributes:
        pull: what the mouse does to a body; None if it lets it be.
        target: where the motors hold the robot.
        holds: whether they are on; None if the simulation has no such motors.
        share: simulated seconds in each second of the clock, lately.
        restarts: how often the simulation left the finite numbers and began again.
    """

    def __init__(self, model: Model, q: Array, stepper: Stepper, holds: bool | None) -> None:
        """Begin at a configuration, at rest."""
        super().__init__(model, q, None)
        self.stepper, self.start = stepper, q.copy()
        self.holds, self.target = holds, q.copy()
        self.pull: Pull | None = None
        self.share, self.restarts = 1.0, 0
        self._owed = 0.0
        self._lock = threading.RLock()
        self.a = np.zeros(model.nv)
        self._put(q, self.v)

    @property
    def setpoint(self) -> Array:
        """The configuration that hands have set: the motors', or where the robot is."""
        return self.target if self.holds else self.q

    def advance(self, seconds: float) -> None:
        """Let simulated time pass."""
        if not self.playing:
            return
        # steps that the clock owes; after a delay no more than a moment is made up for
        h = self.stepper.dt * self.stepper.substeps
        began, done = time.monotonic(), 0.0
        with self._lock, np.errstate(all="ignore"):
            self._owed = min(self._owed + seconds * self.speed, max(MAX_BACKLOG, h))
            while self._owed >= h * (1.0 - 1e-9):
                self._step(h)
                self._owed -= h
                done += h
                if time.monotonic() - began > BUDGET:
                    self._owed = 0.0
            self.time += done
        if seconds > 0:
            self.share += 0.2 * (done / (seconds * self.speed) - self.share)

    def _step(self, h: float) -> None:
        stepper, before = self.stepper, self.v
        assert stepper.f_ext is not None
        # the pull of the mouse is the only external force
        stepper.f_ext[:] = 0.0
        if self.pull is not None:
            frame = stepper.f_ext_frame
            stepper.f_ext[self.pull.body] = self.pull.wrench(self.q, before, frame)
        stepper.step(self._action())
        q, v = np.array(stepper.q, float), np.array(stepper.v, float)
        # a simulation that left the finite numbers begins again
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            self.restarts += 1
            self.pull = None
            self._put(self.start, np.zeros_like(v))
            return
        self.q, self.v, self.a = q, v, (v - before) / h

    def _action(self) -> Array:
        if self.holds is None:
            return np.zeros(self.stepper.actions, self.stepper.dtype)
        return np.concatenate([[1.0 if self.holds else 0.0], self.target])

    def pose(self, q: Array, v: Array | None = None) -> None:
        """Let the motors go to a configuration; without them, put the robot there."""
        with self._lock:
            self.target = q.copy()
            if not self.holds:
                self._put(q, np.zeros(self.model.nv) if v is None else v)

    def restart(self) -> None:
        """Begin again."""
        with self._lock:
            self.target, self.time, self.pull = self.start.copy(), 0.0, None
            self._put(self.start, np.zeros(self.model.nv))

    def hold(self, on: bool) -> None:
        """Switch the motors on, which hold the robot where it is, or off."""
        if self.holds is None:
            fix = "open the window with live=True"
            raise NotApplicableError("hold", "a simulation with its own controller", fix)
        with self._lock:
            self.holds, self.target = on, self.q.copy()

    def set_pull(self, pull: Pull | None) -> None:
        """Let the mouse take hold of a body, or let it go."""
        with self._lock:
            self.pull = pull

    def _put(self, q: Array, v: Array) -> None:
        self.stepper.put(q, v)
        self.q, self.v, self.a = np.array(q, float), np.array(v, float), np.zeros(self.model.nv)

    def state(self) -> State:
        """Return where the simulation is."""
        with self._lock:
            return State(self.q, self.v, self.a)


def live_stepper(model: Model, live: Any, q: Array) -> tuple[Stepper, bool | None]:
    """Return what steps a live window, and whether its motors are on; None if it has none.

    Args:
        model: the robot.
        live: the option: True, "hold" or a `Stepper`.
        q: where the robot begins.

    Raises:
        OptionError: if it is something else, or a stepper that the window cannot use.
    """
    if isinstance(live, Stepper):
        if live.model != model or live.q.ndim != 1 or live.f_ext is None:
            words = "a Stepper of this model with rows=None and f_ext=numpy.zeros((model.nb, 6))"
            raise OptionError("view", "live", words, live)
        return live, None
    if live is not True and live != "hold":
        raise OptionError("view", "live", ("False", "True", "'hold'", "a sixfold.Stepper"), live)
    # a stepper with joint limits, soft motors and room for the pull of the mouse
    finite = np.isfinite(model.lower_position) | np.isfinite(model.upper_position)
    additive = [i for i, _ in model.coordinates.additive]
    made = Stepper(
        model,
        dt=STEP,
        substeps=SUBSTEPS,
        control=_holding(model, q),
        actions=1 + model.nq,
        f_ext=np.zeros((model.nb, 6)),
        limits=True if finite[additive].any() else None,
        compiled=True,
    )
    return made, live == "hold"


def _holding(model: Model, q: Array) -> Any:
    """Return a law that holds the robot at action[1:] if action[0] is 1, with soft motors."""
    # the inertia that each joint feels: 1 / (M^-1)_ii
    felt = 1.0 / np.diagonal(inverse_mass_matrix(model, q))
    kp, kd = felt * HOLD_RATE**2, 2.0 * felt * HOLD_RATE

    def holding(t: Any, q: Any, v: Any, action: Any) -> Any:
        tau = kp * difference(model, q, action[1:]) - kd * v + gravity_force(model, q)
        return action[0] * without_base_forces(model, tau)

    return holding


#: Degrees of freedom below the frame from which a position and a rotation can be asked for.
FULL_POSE = 6
TOLERANCE = 1e-6  #: What inverse kinematics may leave [m and rad]: less than a picture shows.
FARTHEST = 1e6  #: Largest coordinate that a page may send [m].


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
        # a handle with rings only if the arm can turn the frame
        pose = frame_pose(self.model, q, frame)
        self.node = self.scene.add_transform_controls(
            "/handle",
            scale=0.22 * self.size,
            disable_rotations=not self._turns(frame),
            depth_test=False,
            position=pose[:3, 3],
            wxyz=wxyz(pose[:3, :3]),
        )
        self.node.on_update(self.on_move)

    async def on_move(self, event: Any) -> None:
        """Take note of where the mouse has pulled the handle; phases come in order."""
        node = event.target
        if node is not self.node:
            return
        # the thread that draws solves inverse kinematics; here only the wish is kept
        self.held = event.phase != "end"
        pose = pose_from(node.position, node.wxyz)
        if event.phase == "update" and pose is not None:
            self._wanted = pose
        self.changed()

    def follow(self, q: Array) -> Array | None:
        """Return the configuration that brings the frame to the handle; None if it was not moved.

        Where the handle is out of reach, the nearest one.
        """
        pose, self._wanted = self._wanted, None
        if pose is None or self.frame is None:
            return None
        # arms with few joints follow the position alone
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
        # degrees of freedom between the base and the frame
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
    p, wxyz = np.asarray(position, float), np.asarray(turn, float)
    if not (np.abs(p).max() < FARTHEST and 0.5 < np.linalg.norm(wxyz) < 2.0):
        return None
    pose = np.eye(4)
    pose[:3, :3] = quaternions_to_matrices(np.roll(wxyz, -1))
    pose[:3, 3] = p
    return pose


class Grip:
    """Surfaces that the mouse can take hold of, and an arrow while it does."""

    def __init__(self, scene: Any, player: LivePlayer, size: float) -> None:
        """Add the arrow, hidden.

        Args:
            scene: of viser.
            player: the simulation that is pulled.
            size: of the robot [m]: the stretch beyond which the spring pulls no harder.
        """
        self.player, self.size = player, size
        thin = 0.006 * size
        self.arrow = add_arrows(scene, "/pull", FORCE, thin)

    def attach(self, surfaces: Sequence[Any], bodies: Sequence[int]) -> None:
        """Let the left button drag surfaces of bodies; those of the base stay where they are."""
        for surface, body in zip(surfaces, bodies, strict=True):
            if body >= 0:
                surface.on_drag("left")(self._drag_handler(body))

    def _drag_handler(self, body: int) -> Any:
        # viser awaits these one after the other, so that phases come in order
        async def handle(event: Any) -> None:
            self.drag(body, event.phase, event.start_position, event.end_position)

        return handle

    def drag(self, body: int, phase: str, start: Any, end: Any) -> None:
        """Take hold of a body, move the pointer, or let go.

        Args:
            body: number of the body.
            phase: "start", "update" or "end".
            start: the point of the body under the pointer when it was pressed [m].
            end: where the pointer is now [m].
        """
        player, pointer = self.player, _place(end)
        if phase == "end" or pointer is None:
            player.set_pull(None)
            return
        pull = player.pull
        if phase == "start" or pull is None:
            at = _place(start)
            if at is None:
                return
            pull = grab(player.model, player.q, body, at, self.size)
        # the spring pulls from the point of the body to the pointer
        pull.pointer = pointer
        player.set_pull(pull)

    def draw(self, state: State) -> None:
        """Draw the pull from the point to the pointer."""
        pull = self.player.pull
        self.arrow.visible = pull is not None
        if pull is not None:
            _, at = pull.force(state.q, state.v)
            self.arrow.points = np.array([[at, pull.pointer]], np.float32)


def _place(numbers: Any) -> Array | None:
    """Return a place that a page sent; None if it is none."""
    place = np.asarray(numbers, float)
    return place if place.shape == (3,) and np.abs(place).max() < FARTHEST else None
