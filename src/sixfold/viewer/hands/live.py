"""A simulation that runs while one looks at it, and feels the mouse."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np

from sixfold.control.controllers import without_base_forces
from sixfold.errors import NotApplicableError, OptionError
from sixfold.evaluate import difference, gravity_force, inverse_mass_matrix
from sixfold.model import Model
from sixfold.scene.triangles import Array
from sixfold.simulation import Stepper
from sixfold.viewer.hands.pull import Pull
from sixfold.viewer.overlays import State
from sixfold.viewer.player import Player

STEP, SUBSTEPS = 1e-3, 2
"""Steps of the simulation that the window makes itself [s], and how many under one force."""
HOLD_RATE = 12.0
"""How fast its motors bring a joint back [rad/s], damped critically."""
MAX_BACKLOG = 0.1
"""Simulated time that is made up for after a delay [s]."""
BUDGET = 0.025
"""Seconds of computing for one picture; a simulation that needs more falls behind."""


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
    def commanded(self) -> Array:
        """The configuration that hands have set: the motors', or where the robot is."""
        return self.target if self.holds else self.q

    def advance(self, seconds: float) -> None:
        """Let simulated time pass."""
        if not self.playing:
            return
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
        stepper.f_ext[:] = 0.0
        if self.pull is not None:
            frame = stepper.f_ext_frame
            stepper.f_ext[self.pull.body] = self.pull.wrench(self.q, before, frame)
        stepper.step(self._action())
        q, v = np.array(stepper.q, float), np.array(stepper.v, float)
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

    def grabbed(self, pull: Pull | None) -> None:
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
    felt = 1.0 / np.diagonal(inverse_mass_matrix(model, q))
    kp, kd = felt * HOLD_RATE**2, 2.0 * felt * HOLD_RATE

    def holding(t: Any, q: Any, v: Any, action: Any) -> Any:
        tau = kp * difference(model, q, action[1:]) - kd * v + gravity_force(model, q)
        return action[0] * without_base_forces(model, tau)

    return holding
