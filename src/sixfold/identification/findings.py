"""What is wrong with a log, in words, with the way out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sixfold.errors import visible

Severity = Literal["error", "warning", "note"]
ORDER: tuple[Severity, ...] = ("error", "warning", "note")

# the way out of each kind of finding
FIXES = {
    "degrees": "convert angles to radians: numpy.radians(q)",
    "swapped-joints": "put the columns into the order of model.coordinates.v_names",
    "swapped-torques": "put the columns of tau into the order of model.coordinates.v_names",
    "swapped-motions": "put the columns of q, v and a into the order of the model's joints",
    "torque-sign": "multiply that column of tau by -1",
    "motion-sign": "multiply that joint's columns of q, v and a by -1",
    "joint-sign": "multiply that joint's columns of q, v, a and tau by -1",
    "unexplained": "check units, joint order and signs, the model's kinematics and gravity, and "
    "whether something touched the robot; friction=True or rotors=True may be missing",
    "constant-joint": "move that joint too, or lock it in the model with sixfold.lock_joints",
    "torque-scale": "give joint torques in N m (forces in N), after the gears; or give gains= that "
    "make them so; with a loaded model of the wrong weight this is right",
    "no-torque": "connect the sensor, or give the torques of all joints",
    "too-short": "record longer: 10 to 20 s of a motion from sixfold.identification.excitation",
    "too-slow": "move faster: sf.identification.excitation goes up to the limits of the joints",
    "saturated": "lower the amplitude, or raise the range of the sensor or amplifier",
    "nan-rows": "look for lost messages in the logger",
    "clock-jump": "log with a steady clock; stretches between jumps were used one by one",
    "repeated-times": "log with finer times, or give the time between two samples: t=dt",
    "wrapped": "nothing to do; positions that go on counting would be surer",
    "wrong-v": "give v in rad/s or m/s, in the order and with the signs of q, and t in seconds; or "
    "leave v out: it is then made from q",
    "wrong-a": "give a in rad/s^2 or m/s^2, in the order and with the signs of v; or leave a out: "
    "it is then made from v",
    "lag": "pass lag='search', or lag= with the delay that you know",
    "friction-speed": "nothing to do where the new model has them; otherwise give the loaded model "
    "these friction speeds, or a log that can be read twice",
    "hysteresis": "move faster and farther between reversals, or judge the model away from them",
    "held-at-zero": "check signs and units, and whether rotors=True or springs=True is needed",
    "outliers": "look at those samples; they count less here",
    "uncertain-gain": "give the gains that you know, or excite joints that share bodies more",
    "unseen": "use sf.identification.excitation, or keep the loaded values, as the new model does",
    "no-hold-out": "record longer, or judge the model with result.evaluate(another log)",
    "hard-problem": "give a log that can be read twice, or more exciting motions",
}


@dataclass(frozen=True)
class DataFinding:
    """One thing to know about a log."""

    severity: Severity  #: One of "error", "warning" and "note".
    code: str  #: Short name of its kind, such as "lag".
    what: str  #: What was found, in words.
    values: Mapping[str, Any] = field(default_factory=dict)  #: The numbers behind it.

    @property
    def fix(self) -> str:
        """The way out."""
        return FIXES[self.code]

    def __str__(self) -> str:
        """Print in two lines."""
        return f"{self.severity}: {visible(self.what)} [{self.code}]\n    fix: {self.fix}"


def join_names(names: list[str], most: int = 4) -> str:
    """Return names one after the other, the rest counted."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
