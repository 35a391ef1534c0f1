"""The panel beside the picture: playback, joint sliders, dynamics, and what to show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sixfold.constraints import assemble
from sixfold.errors import StateError, visible
from sixfold.evaluate import gravity_force, kinetic_energy, mass_matrix, potential_energy
from sixfold.model import Model
from sixfold.scene.triangles import Array
from sixfold.viewer.controls import LENGTH, TURN, Control, controls, unit_of
from sixfold.viewer.hands import LivePlayer
from sixfold.viewer.hands.frame_drag import movable_frames
from sixfold.viewer.overlays import State
from sixfold.viewer.player import Player
from sixfold.viewer.readouts import bars, facts, matrix

SPEEDS = ("0.1x", "0.25x", "0.5x", "1x", "2x", "4x")
MAX_SLIDERS = 80
NO_FRAME = "none"
"""Choice of no frame to drag."""
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
        self.shown: dict[str, Any] = {}
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
        self.scrub.on_update(self._scrubbed)
        self.speed.on_update(self._sped)

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
                self.motors.on_update(lambda event: self._switched(player, event))
            self.clock = self.gui.add_html("")
        self.play.on_click(lambda _: self.toggle())
        again.on_click(lambda _: self._restarted(player))
        self.speed.on_update(self._sped)

    def _add_frames(self) -> Any:
        """Add the choice of a frame that the mouse drags; None for a model that has none."""
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
            control.shown(self.player.q),
            hint=f"{control.lower:.4g} to {control.upper:.4g} {control.unit}",
        )
        slider.on_update(lambda event: self._moved(control, event))
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
            slider.on_update(lambda event, k=k: self._pushed(k, event))
        return made

    def _add_toggles(self) -> None:
        for name, hint in OVERLAYS.items():
            self.shown[name] = self.gui.add_checkbox(name, name == "ghosts", hint=hint)
            self.shown[name].on_update(lambda _: self.changed())
        self.shown["dark"] = self.gui.add_checkbox("dark", False)
        self.shown["dark"].on_update(lambda _: self.changed())
        self.tables = self.gui.add_html("")

    # -- hands

    def toggle(self, on: bool | None = None) -> None:
        """Play or pause."""
        self.player.playing = (not self.player.playing) if on is None else on
        self.player.posed = self.player.posed and not self.player.playing
        self.changed()

    def _scrubbed(self, event: Any) -> None:
        if event.client_id is not None:
            self.player.playing = False
            self.player.seek(_within(event.target))
            self.changed()

    def _sped(self, event: Any) -> None:
        if event.target.value in SPEEDS:
            self.player.speed = float(event.target.value.rstrip("x"))
            self.changed()

    def _switched(self, player: LivePlayer, event: Any) -> None:
        if event.client_id is not None:
            player.hold(bool(event.target.value))
            self.changed()

    def _restarted(self, player: LivePlayer) -> None:
        player.restart()
        self.changed()

    def _moved(self, control: Control, event: Any) -> None:
        # a slider that the window itself has set says nothing new
        if event.client_id is not None:
            v = self.player.v if self.player.posed else None
            value = _within(event.target) / self._scale(control)
            q = closed(self.model, control.write(self.player.commanded, value), control)
            self.player.pose(self.player.commanded if q is None else q, v)
            self.changed()

    def _scale(self, control: Control) -> float:
        """Return the number on a slider for each unit of its coordinate."""
        return control.degrees if self.degrees.value else 1.0

    def _rescale(self) -> None:
        """Show angles in degrees or in radians."""
        for control, slider in zip(self.controls, self.sliders, strict=True):
            scale, shown = self._scale(control), control.shown(self.player.commanded)
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

    def _pushed(self, k: int, event: Any) -> None:
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
        return bool(self.shown[name].value)

    def refresh(self, state: State) -> None:
        """Bring numbers and sliders up to date."""
        model, live = self.model, isinstance(self.player, LivePlayer)
        held = self.player.commanded if live else state.q
        for control, slider in zip(self.controls, self.sliders, strict=True):
            scale = self._scale(control)
            value = scale * control.shown(held)
            if abs(value - slider.value) > 0.6 * scale * control.step:
                slider.value = value
        if self.player.record is not None and len(self.player.record.t) > 1:
            self.scrub.value = self.player.time
            self.play.label = "Pause" if self.player.playing else "Play"
        if isinstance(self.player, LivePlayer):
            self.play.label = "Pause" if self.player.playing else "Run"
            self.clock.content = _clock(self.player)
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


def closed(model: Model, q: Array, moved: Control | None = None) -> Array | None:
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
