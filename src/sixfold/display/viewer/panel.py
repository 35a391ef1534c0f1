"""The panel next to the robot: sliders, switches, playback, readouts."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import numpy as np

from sixfold.display.scene.figure import angles_of, quaternion_of
from sixfold.display.scene.record import Contacts
from sixfold.display.scene.surfaces import Array
from sixfold.display.viewer.drawing import Screw, State
from sixfold.display.viewer.interaction import LivePlayer, Player, movable_frames
from sixfold.errors import StateError, visible
from sixfold.loops import assemble
from sixfold.model import Body, FreeJoint, Model
from sixfold.quantities.configurations import neutral
from sixfold.quantities.dynamics import gravity_force, mass_matrix
from sixfold.quantities.energies import kinetic_energy, potential_energy

TURN, LENGTH = "rad", "m"
HALF_TURN = 3.1416


@dataclass(frozen=True)
class Control:
    """One slider: a number of a configuration, or an angle of one of its quaternions."""

    joint: str
    label: str
    unit: str
    lower: float
    upper: float
    index: int  #: Place in q of the number, or of the quaternion's first element.
    angle: int = -1  #: Roll, pitch or yaw of a quaternion; -1 for a plain number.

    @property
    def step(self) -> float:
        """A round number, about a thousandth of the range."""
        return float(10.0 ** np.floor(np.log10((self.upper - self.lower) / 500)))

    @property
    def degrees(self) -> float:
        """Degrees in a unit of the number, 1 for lengths."""
        return 180.0 / np.pi if self.unit == TURN else 1.0

    def title(self, degrees: bool = False) -> str:
        """Return the name with its unit."""
        return f"{self.label} [{'°' if degrees and self.unit == TURN else self.unit}]"

    def slider_value(self, q: Array) -> float:
        """Return what the slider shows at a configuration: within its range, a whole step."""
        # what a page can show: whole steps within the range
        value = round(self.read(q) / self.step) * self.step
        return float(np.clip(round(value, 9), self.lower, self.upper))

    def read(self, q: Array) -> float:
        """Return the slider's number at a configuration."""
        if self.angle < 0:
            return float(q[self.index])
        return float(angles_of(q[self.index : self.index + 4])[self.angle])

    def write(self, q: Array, value: float) -> Array:
        """Return the configuration with the slider's number changed."""
        q = q.copy()
        if self.angle < 0:
            q[self.index] = value
            return q
        angles = angles_of(q[self.index : self.index + 4])
        angles[self.angle] = value
        q[self.index : self.index + 4] = quaternion_of(angles)
        return q


def controls(model: Model, reach: float, q: Array | None = None) -> list[Control]:
    """Return the sliders of a model.

    Args:
        model: the robot.
        reach: range of lengths without limits [m], either way.
        q: configurations (..., nq) that the ranges shall hold.
    """
    # sliders reach every configuration that will be shown
    rows = (neutral(model) if q is None else q).reshape(-1, model.nq)
    low, high = rows.min(axis=0), rows.max(axis=0)
    found: list[Control] = []
    for free in model.coordinates.free:
        for control in _joint(model.bodies[free.body], free, reach):
            if control.angle < 0:
                i = control.index
                control = _widen(control, float(low[i]), float(high[i]))
            found.append(control)
    return found


def _joint(body: Body, free: FreeJoint, reach: float) -> list[Control]:
    joint, part, start = free.joint, free.joint.quaternion(), free.q.start
    # plain numbers have a slider each; a quaternion has three for its angles
    turning = range(joint.nq)[part] if part is not None else range(0)
    plain = [k for k in range(joint.nq) if k not in turning]
    found = []
    for k in plain:
        unit = LENGTH if part is not None else unit_of(body, k)
        far = round(reach, 2) if unit == LENGTH else HALF_TURN
        lower = float(body.lower[k]) if np.isfinite(body.lower[k]) else -far
        upper = float(body.upper[k]) if np.isfinite(body.upper[k]) else far
        if not lower < upper:
            lower, upper = lower - 1e-3, upper + 1e-3
        label = visible(free.q_names[k])
        found.append(Control(body.joint_name, label, unit, lower, upper, start + k))
    if part is not None:
        for angle, name in enumerate(("roll", "pitch", "yaw")):
            far = HALF_TURN / 2 if name == "pitch" else HALF_TURN
            label = f"{visible(body.joint_name)}.{name}"
            first = start + turning[0]
            found.append(Control(body.joint_name, label, TURN, -far, far, first, angle))
    return found


def unit_of(body: Body, k: int) -> str:
    """Return whether a velocity coordinate of a joint turns or only moves."""
    at, rest = body.joint.neutral(), (0.0,) * body.joint.nv
    # a coordinate turns if its motion subspace has an angular part
    column = body.joint.calc(at, rest).S.columns[k]
    return TURN if any(float(x) != 0.0 for x in column.ang) else LENGTH


def _widen(control: Control, low: float, high: float) -> Control:
    return replace(control, lower=min(control.lower, low), upper=max(control.upper, high))


MAX_ROWS = 40  #: Rows of a table; more would not fit.


def bars(names: Sequence[str], values: Array, limits: Array, units: Sequence[str]) -> str:
    """Return a table of numbers with bars, full at the largest or at the joint's limit."""
    largest = float(np.abs(values).max(initial=0.0)) or 1.0
    rows = []
    for name, value, limit, unit in list(zip(names, values, limits, units, strict=True))[:MAX_ROWS]:
        # rounding is not worth a number
        value = value if abs(value) > 1e-12 * largest else 0.0
        scale = limit if np.isfinite(limit) and limit > 0 else largest
        share = min(1.0, abs(value) / scale) * 50
        color = "#d63c3c" if np.isfinite(limit) and abs(value) > limit > 0 else "#e8833a"
        left = 50 - share if value < 0 else 50
        rows.append(
            f'<div style="display:flex;align-items:center;gap:.5em;height:1.45em">'
            f'<span style="flex:1.2;min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:'
            f'nowrap;opacity:.8" title="{escape(name)}">{escape(name)}</span>'
            f'<span style="flex:1.3;height:.5em;border-radius:3px;position:relative;'
            f'background:rgba(128,140,155,.18)"><span style="position:absolute;top:0;bottom:0;'
            f'left:{left:.1f}%;width:{share:.1f}%;border-radius:3px;background:{color}"></span>'
            f'</span><span style="flex:1;text-align:right;white-space:nowrap">{value:.4g} '
            f'<span style="opacity:.6">{unit}</span></span></div>'
        )
    more = f"<div>and {len(names) - MAX_ROWS} more</div>" if len(names) > MAX_ROWS else ""
    return _box("".join(rows) + more)


def matrix(M: Array) -> str:
    """Return a map of a symmetric matrix: orange for positive elements, blue for negative ones."""
    largest = float(np.abs(M).max(initial=0.0)) or 1.0
    # the cube root shows small couplings next to large inertias
    x = np.cbrt(np.clip(M / largest, -1.0, 1.0))
    ends = np.where(x[..., None] >= 0, [226, 98, 52], [47, 111, 222])
    colors = 244 + (ends - 244) * np.abs(x)[..., None]
    data = base64.b64encode(png(colors.round().astype(np.uint8))).decode("ascii")
    picture = (
        f'<img alt="mass matrix" src="data:image/png;base64,{data}" style="display:block;'
        "width:min(100%,17em);aspect-ratio:1;image-rendering:pixelated;border-radius:6px;"
        'margin:0 auto">'
    )
    low, high = np.diagonal(M).min(initial=np.inf), np.diagonal(M).max(initial=-np.inf)
    text = f"diagonal {low:.3g} to {high:.3g} · cube-root colours" if len(M) else ""
    return _box(f'{picture}<div style="text-align:center;opacity:.65;margin-top:.4em">{text}</div>')


def screw_rows(kind: str, unit: str, names: Sequence[str], screws: Sequence[Screw | None]) -> str:
    """Return a table of screws: size and pitch for each body that has one."""
    cells = [
        (escape(visible(name)), f"{s.size:.4g}", _pitch(s))
        for name, s in zip(names, screws, strict=True)
        if s is not None
    ]
    head = (f"<b>{escape(kind)}</b>", f"size [{unit}]", "pitch [m]")
    return _box("".join(_columns(row) for row in [head, *cells[:MAX_ROWS]]))


def contact_rows(contacts: Contacts) -> str:
    """Return a table of the contacts that touch: force, gap, and how much of the cone is used."""
    head = ("<b>contacts</b>", "force [N]", "gap [mm]")
    cells = []
    # a column for the use of the cone only if normals and friction are known
    used = contacts.use
    for k in np.flatnonzero(contacts.touches):
        row = (f"{k}", f"{contacts.sizes[k]:.4g}", f"{1e3 * contacts.gaps[k]:.3g}")
        cells.append(row if used is None else (*row, f"{100 * used[k]:.0f} %"))
    rows = [head if used is None else (*head, "of cone"), *cells[:MAX_ROWS]]
    return _box("".join(_columns(row) for row in rows))


def _pitch(s: Screw) -> str:
    if not np.isfinite(s.pitch):
        return "∞"
    return f"{s.pitch:.4g}" if abs(s.pitch) > 1e-12 else "0"


def _columns(cells: Sequence[str]) -> str:
    first, *rest = cells
    name = (
        '<span style="flex:1.4;min-width:0;overflow:hidden;text-overflow:ellipsis;'
        f'white-space:nowrap">{first}</span>'
    )
    others = "".join(f'<span style="flex:1;text-align:right">{cell}</span>' for cell in rest)
    return f'<div style="display:flex;gap:.5em">{name}{others}</div>'


def facts(rows: Sequence[tuple[str, str]]) -> str:
    """Return a small table of names and values."""
    lines = "".join(
        f'<div style="display:flex;justify-content:space-between;gap:1em"><span style="opacity:.7">'
        f"{escape(name)}</span><span>{escape(value)}</span></div>"
        for name, value in rows
    )
    return _box(lines)


def png(pixels: Array) -> bytes:
    """Return pixels (h, w, 3) from 0 to 255 as a PNG file."""
    height, width, _ = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    # signature, header, zlib-compressed rows with filter 0 in front, end; each with its CRC
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines.tobytes())),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


def _box(inside: str) -> str:
    return (
        '<div style="font-size:.82em;line-height:1.4;padding:.3em .75em .6em;'
        f'font-variant-numeric:tabular-nums">{inside}</div>'
    )


SPEEDS = ("0.1x", "0.25x", "0.5x", "1x", "2x", "4x")
MAX_SLIDERS = 80
NO_FRAME = "none"  #: Choice of no frame to drag.
OVERLAYS = {
    "velocity": "each body's spatial velocity: an arrow along the screw axis, a coil of its pitch",
    "acceleration": "each body's spatial acceleration as a screw",
    "force": "the force of each parent on its body as a screw",
    "loop force": "the force of each constraint on its second body as a screw",
    "contacts": "where it touches: points, forces, and cones of friction",
    "inertia": "uniform ellipsoids with the mass and inertia of the bodies, a colour for each",
    "centre of mass": "of the whole robot, with a line down to the ground",
    "frames": "the axes of the body frames: x red, y green, z blue",
    "names": "the names of the bodies, at their centres of mass",
    "sticks": "joints and the rods between them",
    "see-through": "bodies as glass; what lies inside them also makes them so",
    "ghosts": "the other motions or poses of the batch",
}


class Panel:
    """All that hands can move; every change ends in a call of `changed`."""

    def __init__(
        self, gui: Any, model: Model, player: Player, reach: float, changed: Callable[[], None]
    ) -> None:
        """Add the playback, three tabs and their contents."""
        self.gui, self.model, self.player, self.changed = gui, model, player, changed
        self.switches: dict[str, Any] = {}
        self.controls = self._controls(reach)
        if player.record is not None and len(player.record.t) > 1:
            self._add_playback()
        if isinstance(player, LivePlayer):
            self._add_simulation(player)
        tabs = gui.add_tab_group()
        with tabs.add_tab("Joints"):
            self.frames = self._add_frames()
            self.sliders = [self._slider(control) for control in self.controls]
            self._add_buttons()
            self.speeds = self._add_velocities()
        with tabs.add_tab("Dynamics"):
            self.facts = gui.add_html("")
            with gui.add_folder("Gravity torques"):
                self.torques = gui.add_html("")
            with gui.add_folder("Mass matrix"):
                self.matrix = gui.add_html("")
        with tabs.add_tab("Show"):
            self._add_toggles()
        self.units = force_units(model)

    # -- contents

    def _controls(self, reach: float) -> list[Control]:
        record = self.player.record
        held = self.player.q if record is None else record.q[0, record.rows(2000)]
        return controls(self.model, reach, held)[:MAX_SLIDERS]

    def _add_playback(self) -> None:
        record = self.player.record
        assert record is not None
        with self.gui.add_folder("Playback"):
            self.play = self.gui.add_button("Play")
            span = record.duration
            self.scrub = self.gui.add_slider(
                "time [s]", float(record.t[0]), float(record.t[-1]), span / 1000, self.player.time
            )
            self.speed = self.gui.add_dropdown("speed", SPEEDS, initial_value="1x")
        self.play.on_click(lambda _: self.toggle())
        self.scrub.on_update(self._on_scrub)
        self.speed.on_update(self._on_speed)

    def _add_simulation(self, player: LivePlayer) -> None:
        """Add what rules a simulation that runs in the window."""
        with self.gui.add_folder("Simulation"):
            self.play = self.gui.add_button("Pause")
            again = self.gui.add_button("Start again")
            self.speed = self.gui.add_dropdown("speed", SPEEDS, initial_value="1x")
            self.motors: Any = None
            if player.holds is not None:
                hint = "soft motors hold the pose; sliders and handles move them"
                self.motors = self.gui.add_checkbox("motors", player.holds, hint=hint)
                self.motors.on_update(lambda event: self._on_motors(player, event))
            self.clock = self.gui.add_html("")
        self.play.on_click(lambda _: self.toggle())
        again.on_click(lambda _: self._on_restart(player))
        self.speed.on_update(self._on_speed)

    def _add_frames(self) -> Any:
        """Add the choice of a frame that the mouse drags; None for a model that has none."""
        # what the page shows is escaped: keep the real names by it
        names = {visible(name): name for name in movable_frames(self.model)}
        if not names:
            return None
        hint = "a handle on it: drag it, and inverse kinematics moves the joints"
        self.frame_names = {NO_FRAME: None} | names
        return self.gui.add_dropdown("drag frame", tuple(self.frame_names), hint=hint)

    def _slider(self, control: Control) -> Any:
        slider = self.gui.add_slider(
            control.title(),
            control.lower,
            control.upper,
            control.step,
            control.slider_value(self.player.q),
            hint=f"{control.lower:.4g} to {control.upper:.4g} {control.unit}",
        )
        slider.on_update(lambda event: self._on_slider(control, event))
        return slider

    def _add_buttons(self) -> None:
        start = self.player.q.copy()
        reset = self.gui.add_button("Back to the start")
        reset.on_click(lambda _: self._reset(start))
        self.degrees = self.gui.add_checkbox("degrees", False, hint="angles of the sliders above")
        self.degrees.on_update(lambda _: self._rescale())

    def _add_velocities(self) -> list[Any]:
        """Add sliders for joint velocities, which show screws of a robot that is posed."""
        names = velocity_names(self.model)[:MAX_SLIDERS]
        with self.gui.add_folder("Velocities of this pose", expand_by_default=False):
            units = [TURN if unit == "N m" else LENGTH for unit in force_units(self.model)]
            made = [
                self.gui.add_slider(f"{name} [{unit}/s]", -3.0, 3.0, 0.01, 0.0)
                for name, unit in zip(names, units, strict=False)
            ]
        for k, slider in enumerate(made):
            slider.on_update(lambda event, k=k: self._on_velocity(k, event))
        return made

    def _add_toggles(self) -> None:
        for name, hint in OVERLAYS.items():
            self.switches[name] = self.gui.add_checkbox(name, name == "ghosts", hint=hint)
            self.switches[name].on_update(lambda _: self.changed())
        self.switches["dark"] = self.gui.add_checkbox("dark", False)
        self.switches["dark"].on_update(lambda _: self.changed())
        self.tables = self.gui.add_html("")

    # -- hands

    def toggle(self, on: bool | None = None) -> None:
        """Play or pause."""
        # playing leaves a pose that was set by hand
        self.player.playing = (not self.player.playing) if on is None else on
        self.player.posed = self.player.posed and not self.player.playing
        self.changed()

    def _on_scrub(self, event: Any) -> None:
        if event.client_id is not None:
            self.player.playing = False
            self.player.seek(_within(event.target))
            self.changed()

    def _on_speed(self, event: Any) -> None:
        if event.target.value in SPEEDS:
            self.player.speed = float(event.target.value.rstrip("x"))
            self.changed()

    def _on_motors(self, player: LivePlayer, event: Any) -> None:
        if event.client_id is not None:
            player.hold(bool(event.target.value))
            self.changed()

    def _on_restart(self, player: LivePlayer) -> None:
        player.restart()
        self.changed()

    def _on_slider(self, control: Control, event: Any) -> None:
        # a slider that the window itself has set says nothing new
        if event.client_id is not None:
            v = self.player.v if self.player.posed else None
            # change one number, close the loops again, keep the velocity of the pose
            value = _within(event.target) / self._scale(control)
            q = close_loops(self.model, control.write(self.player.setpoint, value), control)
            self.player.pose(self.player.setpoint if q is None else q, v)
            self.changed()

    def _scale(self, control: Control) -> float:
        """Return the number on a slider for each unit of its coordinate."""
        return control.degrees if self.degrees.value else 1.0

    def _rescale(self) -> None:
        """Show angles in degrees or in radians."""
        for control, slider in zip(self.controls, self.sliders, strict=True):
            scale, shown = self._scale(control), control.slider_value(self.player.setpoint)
            low, high = scale * control.lower, scale * control.upper
            # a range that holds the old value and the new one, then the new range
            slider.min, slider.max = min(slider.min, low), max(slider.max, high)
            slider.step = control.step * (scale if scale == 1.0 else 10.0)
            slider.value = scale * shown
            slider.min, slider.max = low, high
            slider.label = control.title(bool(self.degrees.value))
            unit = "°" if scale != 1.0 else control.unit
            slider.hint = f"{low:.4g} to {high:.4g} {unit}"
        self.changed()

    def _on_velocity(self, k: int, event: Any) -> None:
        if event.client_id is not None:
            v = self.player.v.copy()
            v[k] = _within(event.target)
            self.player.pose(self.player.q, v)
            self.changed()

    def _reset(self, q: Array) -> None:
        self.player.pose(q.copy())
        for slider in self.speeds:
            slider.value = 0.0
        self.changed()

    # -- what it shows

    def on(self, name: str) -> bool:
        """Return whether an overlay is switched on."""
        return bool(self.switches[name].value)

    def refresh(self, state: State) -> None:
        """Bring numbers and sliders up to date."""
        model, live = self.model, isinstance(self.player, LivePlayer)
        # sliders show where the motors go; without motors where the robot is
        held = self.player.setpoint if live else state.q
        for control, slider in zip(self.controls, self.sliders, strict=True):
            scale = self._scale(control)
            value = scale * control.slider_value(held)
            if abs(value - slider.value) > 0.6 * scale * control.step:
                slider.value = value
        if self.player.record is not None and len(self.player.record.t) > 1:
            self.scrub.value = self.player.time
            self.play.label = "Pause" if self.player.playing else "Play"
        if isinstance(self.player, LivePlayer):
            self.play.label = "Pause" if self.player.playing else "Run"
            self.clock.content = _clock(self.player)
        # energies, gravity and the mass matrix of the moment
        kinetic = float(kinetic_energy(model, state.q, state.v))
        potential = float(potential_energy(model, state.q))
        self.facts.content = facts(
            [("kinetic energy", f"{kinetic:.5g} J"), ("potential energy", f"{potential:.5g} J")]
        )
        weight = gravity_force(model, state.q)
        self.torques.content = bars(velocity_names(model), weight, model.effort_limit, self.units)
        self.matrix.content = matrix(mass_matrix(model, state.q))


def _clock(player: LivePlayer) -> str:
    """Return the time of a simulation, and whether it keeps up."""
    rows = [("time", f"{player.time:.1f} s")]
    if player.playing and player.share < 0.9:
        rows.append(("falls behind", f"{100 * player.share:.0f} % of real time"))
    if player.restarts:
        rows.append(("left the finite numbers", f"{player.restarts} times"))
    return facts(rows)


def _within(slider: Any) -> float:
    """Return the number of a slider, inside its range whatever the page sends."""
    return min(max(float(slider.value), float(slider.min)), float(slider.max))


def close_loops(model: Model, q: Array, moved: Control | None = None) -> Array | None:
    """Return a configuration with its loops closed, the joint that a hand moves held.

    None where they cannot be closed: the hand has reached the end of the mechanism.
    """
    if not model.constraints:
        return q
    try:
        return assemble(model, q, hold=() if moved is None else (moved.joint,))
    except StateError:
        return None


def velocity_names(model: Model) -> list[str]:
    """Return a name for each coordinate of v."""
    return [visible(name) for name in model.coordinates.v_names]


def force_units(model: Model) -> list[str]:
    """Return the unit of each joint force."""
    return [
        "N m" if unit_of(model.bodies[free.body], j) == TURN else "N"
        for free in model.coordinates.free
        for j in range(free.joint.nv)
    ]
