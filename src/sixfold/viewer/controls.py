"""Sliders of a robot: which numbers a hand may move, their ranges, and how they become q."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sixfold.errors import visible
from sixfold.evaluate import neutral
from sixfold.model import Body, FreeJoint, Model
from sixfold.scene.poses import angles_of, quaternion_of
from sixfold.scene.triangles import Array

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
    index: int
    """Place in q of the number, or of the quaternion's first element."""
    angle: int = -1
    """Roll, pitch or yaw of a quaternion; -1 for a plain number."""

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

    def shown(self, q: Array) -> float:
        """Return what the slider shows at a configuration: within its range, a whole step."""
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
    rows = (neutral(model) if q is None else q).reshape(-1, model.nq)
    low, high = rows.min(axis=0), rows.max(axis=0)
    found: list[Control] = []
    for free in model.coordinates.free:
        for control in _joint(model.bodies[free.body], free, reach):
            if control.angle < 0:
                i = control.index
                control = _widened(control, float(low[i]), float(high[i]))
            found.append(control)
    return found


def _joint(body: Body, free: FreeJoint, reach: float) -> list[Control]:
    joint, part, start = free.joint, free.joint.quaternion(), free.q.start
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
    column = body.joint.calc(at, rest).S.columns[k]
    return TURN if any(float(x) != 0.0 for x in column.ang) else LENGTH


def _widened(control: Control, low: float, high: float) -> Control:
    return replace(control, lower=min(control.lower, low), upper=max(control.upper, high))
