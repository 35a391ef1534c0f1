"""The window: what it shows, the thread that updates it, and how it is opened."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import threading
import time
import warnings
import webbrowser
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sixfold.choices import MotionInput
from sixfold.display.scene.figure import figure, stage, stick_figure, within_limits, wxyz
from sixfold.display.scene.record import Record, check_quaternions, finite, record
from sixfold.display.scene.surfaces import Array
from sixfold.display.viewer.drawing import KINDS, ContactLayer, Ghosts, MassLayer, Robot, ScrewLayer
from sixfold.display.viewer.guard import Keys, guard_server, log_errors_quietly
from sixfold.display.viewer.interaction import (
    FrameDrag,
    Grip,
    LivePlayer,
    Player,
    check_frame,
    live_stepper,
)
from sixfold.display.viewer.panel import NO_FRAME, Panel, close_loops, contact_rows, screw_rows
from sixfold.errors import NotApplicableError, OptionError, RobotFileWarning, ShapeError, visible
from sixfold.lazy import optional
from sixfold.model import Gear, Model
from sixfold.progress import working
from sixfold.quantities.configurations import neutral
from sixfold.quantities.kinematics import body_poses
from sixfold.runtime import require_model
from sixfold.simulation.stepper import Stepper

MAX_GHOSTS = 2000  #: Ghosts that are drawn of a batch; more are thinned out evenly.


@dataclass(frozen=True, eq=False)
class Scenario:
    """Checked arrays."""

    q: Array  #: Where the solid robot begins, (nq,).
    motion: Record | None  #: Its motion; the others of a batch are ghosts that move.
    poses: Array  #: Ghosts at rest, (N, nq).

    def ghosts(self, time: float | None = None) -> Array:
        """Return the configurations of the ghosts, (n, nq), at a time or at the start."""
        if self.motion is None or len(self.motion.q) == 1:
            return self.poses[_spread(len(self.poses))]
        if time is None:
            return self.motion.q[1:, 0][_spread(len(self.motion.q) - 1)]
        return self.motion.positions(time)[1:][_spread(len(self.motion.q) - 1)]

    @property
    def ghosts_move(self) -> bool:
        """Whether the ghosts have motions of their own."""
        return self.motion is not None and len(self.motion.q) > 1

    def extremes(self) -> Array:
        """Return configurations (n, nq) that the picture should hold."""
        # a few of many ghosts and moments are enough for the size of the picture
        found = [self.q[None], self.poses[_spread(len(self.poses), 200)]]
        if self.motion is not None:
            some = self.motion.q[_spread(len(self.motion.q), 50)][:, self.motion.rows(40)]
            found.append(some.reshape(-1, some.shape[-1]))
        return np.concatenate(found)


def configurations(model: Model, q: object) -> Array:
    """Return one configuration or several as rows (N, nq), or say what is wrong with them."""
    array = finite("view", "q", q, f"({model.nq},) or (N, {model.nq})")
    if array.ndim not in (1, 2) or array.shape[-1] != model.nq or not len(array):
        expected = f"({model.nq},) or (N, {model.nq})"
        fix = f"pass configurations of '{model.name}', such as sixfold.neutral(model)"
        raise ShapeError("view", "q", expected, array.shape, fix)
    rows = array.reshape(-1, model.nq)
    check_quaternions("view", model, rows)
    return rows


def _spread(count: int, most: int = MAX_GHOSTS) -> Array:
    """Return at most `most` of the numbers below count, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


RATE = 30.0  #: Pictures a second.
SWITCHES = (
    "centre of mass",
    "frames",
    "names",
    "inertia",
    "sticks",
    "see-through",
    "ghosts",
    "dark",
)
#: Overlays that lie inside the bodies, which then are drawn as glass.
IMPLIED = {"see-through": ("centre of mass", "inertia", "sticks", "contacts")}
SLOW = 0.12  #: Seconds between updates of the panel while a motion plays.


class Viewer:
    """An open window on this machine.  Close it with `close()` or by leaving `with`.

    Attributes:
        url: where the page is; it holds a random token, without which no request is answered.
        port: the port it listens on, on 127.0.0.1 only.
    """

    def __init__(
        self,
        server: Any,
        url: str,
        model: Model,
        scenario: Scenario,
        live: LivePlayer | None = None,
    ) -> None:
        """Build scene and panel on a running server, draw the first picture and start drawing."""
        self._server, self.url, self._model = server, url, model
        self.port = int(server.get_port())
        self._wake, self._closed = threading.Event(), threading.Event()
        self._scenario = scenario
        self._has_mass = any(float(body.inertia.m) > 0 for body in model.bodies)
        self._player = live or Player(model, scenario.q.copy(), scenario.motion)
        self._build()
        self._last_panel = 0.0
        self._was: dict[str, bool] = {}
        self._draw()
        self._thread = threading.Thread(target=self._run, name="sixfold-view", daemon=True)
        self._thread.start()
        server.on_client_connect(self._step_back)

    # -- hands of a program

    @property
    def q(self) -> Array:
        """The configuration that is shown, (nq,)."""
        return self._player.q.copy()

    @property
    def time(self) -> float:
        """The moment of the motion that is shown [s]; 0 without one."""
        return self._player.time

    def play(self) -> None:
        """Let the motion or the simulation run."""
        # a robot at rest has nothing to play
        moves = self._scenario.motion is not None or isinstance(self._player, LivePlayer)
        self._panel.toggle(moves)

    def pause(self) -> None:
        """Hold the motion or the simulation."""
        self._panel.toggle(False)

    def seek(self, time: float) -> None:
        """Show a moment of the motion [s]; the nearest of its ends for any other time."""
        motion = self._scenario.motion
        if motion is None:
            raise NotApplicableError("seek", "a window without a motion", "pass a trajectory")
        # outside the motion: its nearest end
        moment = float(finite("seek", "time", time, "one number"))
        self._player.seek(float(np.clip(moment, motion.t[0], motion.t[-1])))
        self._wake.set()

    def pose(self, q: ArrayLike) -> None:
        """Show a configuration (nq,)."""
        self._player.pose(configurations(self._model, q)[0])
        self._wake.set()

    def drag(self, frame: str | None) -> None:
        """Put a handle on a frame, which the mouse drags; None takes it away.

        Inverse kinematics follows, and `q` has the configuration.
        """
        if frame is not None:
            check_frame("drag", self._model, frame)
        if self._panel.frames is not None:
            self._panel.frames.value = NO_FRAME if frame is None else visible(frame)
        self._frame.choose(frame, self._player.q)
        self._wake.set()

    def wait(self) -> None:
        """Return when the window is closed or Ctrl-C is pressed; then it is closed."""
        try:
            while not self._closed.wait(0.5):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop drawing and listening; once is enough."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._wake.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=5.0)
        # viser says so in a line of its own
        with contextlib.redirect_stdout(io.StringIO()):
            self._server.stop()

    def __enter__(self) -> Self:
        """Return the viewer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    # -- building

    def _build(self) -> None:
        model, scene, motion = self._model, self._server.scene, self._scenario.motion
        # the picture; what could not be drawn is said once
        picture = figure(model)
        if picture.notes:
            first = picture.notes[0]
            warnings.warn(
                f"view: {len(picture.notes)} shapes are not drawn, first: {first}",
                RobotFileWarning,
                stacklevel=4,
            )
        # the frame of the picture, from all configurations that will be shown
        touched = None if motion is None else motion.touch_points()
        extremes = self._scenario.extremes()
        self._stage = stage(model, picture.parts, extremes, contacts=touched)
        size = self._size = picture.size
        self._set_stage()
        self._robot = Robot(scene, model, picture.parts, size)
        self._mass = MassLayer(scene, self._stage, size)
        # overlays that this robot or motion has
        there = {
            "loop force": any(not isinstance(each, Gear) for each in model.constraints),
            "contacts": motion is not None and motion.has_contacts,
        }
        # what contacts do to the forces of loops is not recorded
        there["loop force"] &= not there["contacts"]
        # a layer for each kind of overlay that the robot or the motion has
        kinds = [kind for kind in KINDS if there.get(kind, True)]
        self._screws = {kind: ScrewLayer(scene, kind, size) for kind in kinds}
        self._contacts = None
        if motion is not None and there["contacts"]:
            self._contacts = ContactLayer(scene, size, motion)
        self._extras: dict[str, list[Any]] = {}
        self._ghosts = None
        ghosts = self._scenario.ghosts()
        if len(ghosts):
            # many copies of a heavy mesh would bring the browser down
            light = figure(model, budget=max(2000, 600_000 // len(ghosts)))
            self._ghosts = Ghosts(scene, light.parts, body_poses(model, ghosts))
        self._frame = FrameDrag(scene, model, size, self._wake.set)
        self._grip = None
        if isinstance(self._player, LivePlayer):
            bodies = [part.body for part in picture.parts]
            self._grip = Grip(scene, self._player, size)
            self._grip.attach(self._robot.surfaces, bodies)
        # the panel last: it asks the scene what there is to switch
        gui = self._server.gui
        gui.set_panel_label(visible(model.name))
        self._panel = Panel(gui, model, self._player, max(1.0, size), self._wake.set)
        if self._panel.frames is not None:
            self._panel.frames.on_update(self._on_frame_choice)
        for name, shown in (there | {"ghosts": self._ghosts is not None}).items():
            self._panel.switches[name].visible = shown

    def _on_frame_choice(self, event: Any) -> None:
        names = self._panel.frame_names
        if event.client_id is not None and event.target.value in names:
            self._frame.choose(names[event.target.value], self._player.q)
            self._wake.set()

    def _set_stage(self) -> None:
        # camera, ground and light suit the size of the robot
        s, scene, R = self._stage, self._server.scene, self._stage.radius
        scene.set_up_direction(tuple(float(x) for x in s.up))
        camera = self._server.initial_camera
        camera.position, camera.look_at, camera.up = self._eye(), s.center, s.up
        camera.near, camera.far = 0.01 * R, 400.0 * R
        camera.fov = 0.72
        # cells of a round size, a few for each radius of the scene
        power = 10.0 ** np.floor(np.log10(R))
        cell = float(power * (0.25 if R / power < 2 else 0.5 if R / power < 5 else 1.0))
        self._grid = scene.add_grid(
            "/ground",
            infinite_grid=True,
            cell_size=cell,
            section_size=4 * cell,
            fade_distance=12.0 * R,
            shadow_opacity=0.2,
            wxyz=wxyz(s.turn),
            position=s.up * s.ground,
        )
        # a plain sky: a picture of one takes weak machines many seconds to prepare
        scene.configure_environment_map(None)
        scene.add_light_hemisphere(
            "/sky", sky_color=(255, 255, 255), ground_color=(176, 186, 198), intensity=1.6
        )
        self._paint(dark=False)

    def _paint(self, dark: bool) -> None:
        self._server.gui.configure_theme(
            dark_mode=dark, show_logo=False, show_share_button=False, brand_color=(194, 83, 27)
        )
        self._grid.cell_color = (46, 54, 64) if dark else (226, 231, 236)
        self._grid.section_color = (66, 77, 90) if dark else (200, 208, 217)

    def _step_back(self, client: Any) -> None:
        """Move the eye of a narrow window back, so that the robot fits."""
        narrow = float(client.camera.aspect)
        if narrow < 1.0:
            client.camera.position = self._eye(1.0 / max(narrow, 0.3) ** 0.7)
            client.camera.look_at = self._stage.center

    def _eye(self, further: float = 1.0) -> Array:
        # a little further back than the picture needs: the panel covers a part of it
        s = self._stage
        return s.center + 1.12 * further * (s.eye - s.center)

    # -- drawing, in one thread

    def _run(self) -> None:
        before = time.monotonic()
        while not self._closed.is_set():
            # asleep until the next picture is due, or until something changes
            self._wake.wait(1.0 / RATE if self._player.playing else None)
            self._wake.clear()
            now = time.monotonic()
            self._player.advance(min(now - before, 0.2))
            before = now
            if not self._closed.is_set():
                self._draw()

    def _draw(self) -> None:
        """Draw the present moment."""
        player, panel, model = self._player, self._panel, self._model
        # inverse kinematics first: the pose follows a handle that was moved
        followed = self._frame.follow(player.setpoint)
        if followed is not None:
            player.pose(followed)
        # one moment for everything that is drawn
        state = player.state()
        # it has a lock of its own, which must not wait for that of the scene
        self._frame.draw(player.setpoint)
        # all nodes change in one message, so that no picture shows a half of them
        with self._server.atomic():
            self._robot.move(body_poses(model, state.q))
            if self._grip is not None:
                self._grip.draw(state)
            if self._ghosts is not None and self._scenario.ghosts_move and not player.posed:
                self._ghosts.move(body_poses(model, self._scenario.ghosts(player.time)))
            tables = []
            for kind, layer in self._screws.items():
                if panel.on(kind):
                    found = layer.draw(model, state)
                    tables.append(screw_rows(kind, layer.unit, layer.names(model), found))
                else:
                    layer.clear()
            if self._contacts is not None:
                on = panel.on("contacts") and state.contacts is not None
                self._contacts.show(on)
                if on and state.contacts is not None:
                    self._contacts.draw(state.contacts)
                    tables.append(contact_rows(state.contacts))
            if panel.on("centre of mass") and self._has_mass:
                self._mass.draw(model, state.q)
            self._switch()
        now = time.monotonic()
        # tables change less often than pictures: they cost the browser more
        if not player.playing or now - self._last_panel > SLOW:
            self._last_panel = now
            panel.refresh(state)
            panel.tables.content = "".join(tables)

    def _switch(self) -> None:
        """Show and hide what was switched since the last picture."""
        for name in SWITCHES:
            # only switches that have changed touch the scene
            on = any(self._panel.on(other) for other in (name, *IMPLIED.get(name, ())))
            if self._was.get(name, name == "ghosts") == on:
                continue
            self._was[name] = on
            if name == "centre of mass":
                self._mass.show(on and self._has_mass)
            elif name == "frames":
                self._robot.show_axes(on)
            elif name == "names":
                self._robot.show_names(on)
            elif name == "ghosts" and self._ghosts is not None:
                self._ghosts.show(on)
            elif name == "see-through":
                self._robot.see_through(on)
            elif name == "dark":
                self._paint(on)
            elif name in ("inertia", "sticks"):
                self._extra(name, on)

    def _extra(self, name: str, on: bool) -> None:
        """Show ellipsoids of inertia or the stick figure, made when first asked for."""
        if name not in self._extras:
            inertia = name == "inertia"
            # made at first use and kept: hiding is cheaper than removing
            parts = (
                self._robot.inertia_parts() if inertia else stick_figure(self._model, self._size)
            )
            self._extras[name] = self._robot.add(parts, name, cast_shadow=False)
        for node in self._extras[name]:
            node.visible = on


HOST = "127.0.0.1"  #: Loopback: no other machine can see the window.


def view(
    model: Model,
    trajectory: MotionInput | None = None,
    *,
    q: ArrayLike | None = None,
    t: ArrayLike | None = None,
    port: int = 0,
    open_browser: bool = False,
    block: bool = True,
    play: bool = True,
    live: bool | str | Stepper = False,
    drag: str | None = None,
) -> Viewer:
    """Show a robot in the browser, at rest or in motion.

    The page is served on 127.0.0.1 only and makes no network requests.

    Args:
        model: the robot.
        trajectory: a motion: what `sixfold.simulate` returns, or any object or mapping with t (T,)
            and q (T, nq) and, if known, v, a, tau and contacts; or q alone.  With q (N, T, nq) the
            first motion is solid and the others are ghosts.
        q: a configuration [rad or m] (nq,), or many (N, nq): the first is solid, all others are
            ghosts.
        t: times [s] of the motion, when the trajectory brings none; otherwise 60 rows a second.
        port: where to listen; 0 takes any free port.
        open_browser: also open the page.
        block: print the address and return when Ctrl-C is pressed; otherwise return at once.
        play: let a motion or a simulation run from the start.
        live: True runs a live simulation from rest at q: the mouse pulls bodies by a spring.
            "hold" begins with soft motors on, which hold the pose and which sliders move.  A
            `Stepper` with rows=None and f_ext=... runs instead, under action zero.
        drag: name of a frame that begins with a handle, which the mouse drags; inverse kinematics
            follows.  The panel has the same choice.

    Returns:
        The viewer, with `.url`, `.play()`, `.pause()`, `.seek(t)`, `.pose(q)`, `.drag(frame)` and
        `.close()`; it also closes at the end of `with`.  `.q` is the configuration that is shown.

    Raises:
        NotApplicableError: if viser is not installed, the port is taken, or a motion is live.
        OptionError: if live is none of these.
        UnknownNameError: if there is no frame of the name `drag`.
        ShapeError: if an array does not fit the model.
        StateError: if an element is not finite or times do not grow.

    Example:
        >>> import sixfold as sf
        >>> with sf.view(sf.load("pendulum"), q=[0.5], block=False) as window:
        ...     window.pose([1.0])
        ...     print(window.url.startswith("http://127.0.0.1:"), window.q)
        True [1.]
    """
    model = require_model("view", model)
    # checks first: a wrong argument must not leave a server behind
    scenario = _scenario(model, trajectory, q, t)
    player = None if live is False else _live(model, scenario, live, q is not None)
    if drag is not None:
        check_frame("view", model, drag)
    # the server first: a taken port is reported before the robot is drawn
    server, keys = _server(_port(port))
    try:
        with working(f"drawing {model.name}"):
            viewer = Viewer(server, keys.address(server.get_port()), model, scenario, player)
        viewer.drag(drag)
    except BaseException:
        server.stop()
        raise
    motion = scenario.motion
    if play and (player is not None or (motion is not None and len(motion.t) > 1)):
        viewer.play()
    if open_browser:
        webbrowser.open(keys.address(viewer.port, keys.new_ticket()))
    if block:
        print(f"{visible(model.name)} at {viewer.url} (Ctrl-C closes it)", flush=True)
        viewer.wait()
    return viewer


def _scenario(model: Model, trajectory: Any, q: ArrayLike | None, t: ArrayLike | None) -> Scenario:
    """Return what is to be shown, from checked arrays."""
    # a configuration, several, or a motion that was passed as q
    array = None if q is None else finite("view", "q", q, f"(nq,) = ({model.nq},)")
    if array is not None and array.ndim > 2 and trajectory is None:
        trajectory, array = array, None
    if t is not None and trajectory is None:
        fix = "pass the configurations as trajectory=q, or leave t out"
        raise NotApplicableError("view: argument 't'", "a robot that does not move", fix)
    motion = None if trajectory is None else record("view", model, trajectory, t)
    poses = np.zeros((0, model.nq)) if array is None else configurations(model, array)
    if motion is not None:
        if len(poses) and len(motion.q) > 1:
            fix = "pass the batch alone, or one motion with poses as ghosts"
            raise ShapeError(
                "view", "q", "none in addition to a batch of motions", poses.shape, fix
            )
        return Scenario(motion.q[0, 0], motion, poses)
    if not len(poses):
        # at rest: neutral, within the limits, loops closed if they can be
        inside = within_limits(model, neutral(model))
        start = close_loops(model, inside)
        return Scenario(inside if start is None else start, None, poses)
    return Scenario(poses[0], None, poses[1:])


def _live(model: Model, scenario: Scenario, live: Any, placed: bool) -> LivePlayer:
    """Return the simulation of a live window."""
    if scenario.motion is not None:
        fix = "leave trajectory out; q= says where the simulation begins"
        raise NotApplicableError("view: option 'live'", "a motion that is recorded", fix)
    own = isinstance(live, Stepper) and not placed
    stepper, holds = live_stepper(model, live, scenario.q)
    return LivePlayer(model, np.array(stepper.q if own else scenario.q, float), stepper, holds)


def _port(port: int) -> int:
    """Return the port if it can be had."""
    # bind once to learn whether the port is free: viser would take another one
    good = isinstance(port, (int, np.integer)) and not isinstance(port, bool)
    if not good or not 0 <= port <= 65535:
        raise OptionError("view", "port", ("0 for any free port", "a number below 65536"), port)
    with socket.socket() as probe:
        if os.name == "posix":
            # a port whose last connection is only just closed is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, int(port)))
        except OSError as error:
            where = f"port {port} ({error.strerror})"
            raise NotApplicableError("view", where, "pass port=0 for any free port") from None
    return int(port)


def _server(port: int) -> tuple[Any, Keys]:
    """Return a viser server on loopback that makes no network requests, and the keys to it."""
    viser = optional("viser", "view")
    server: Any = None
    try:
        # viser prints a box of its own
        with guard_server() as keys, contextlib.redirect_stdout(io.StringIO()):
            server = viser.ViserServer(host=HOST, port=port, verbose=False)
    except NotApplicableError:
        if server is not None:
            server.stop()
        raise
    log_errors_quietly(server)
    # a page could ask it to open a tunnel to the internet: there is none
    server.request_share_url = lambda verbose=True: None
    return server, keys
