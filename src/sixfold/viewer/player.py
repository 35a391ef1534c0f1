"""The clock of a window: which moment is shown, and how time passes."""

from __future__ import annotations

import numpy as np

from sixfold.model import Model
from sixfold.scene import Record
from sixfold.scene.triangles import Array
from sixfold.viewer.overlays import State


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
    def commanded(self) -> Array:
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
