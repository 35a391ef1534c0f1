"""Robots of the package example-robot-data, read through Pinocchio where both are installed."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from sixfold.errors import NotApplicableError, UnknownNameError

FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", ()),
    "panda": ("panda_description/urdf/panda.urdf", ("panda_finger_joint1", "panda_finger_joint2")),
    "g1_29dof": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", ()),
}
"""File of each robot under the package's folder, and the joints that are locked at zero."""


def pinocchio_example(name: str) -> tuple[Any, Any]:
    """Return Pinocchio itself and its model of an example robot."""
    if name not in FILES:
        raise UnknownNameError("example robot", name, FILES, where="sixfold.interop")
    try:
        pin = import_module("pinocchio")
    except ImportError:
        raise NotApplicableError(
            "the comparison", "a machine without Pinocchio", "pip install pin example-robot-data"
        ) from None
    path, locked = FILES[name]
    inside = "cmeel.prefix/share/example-robot-data/robots"
    found = [Path(folder) / inside / path for folder in sys.path]
    where = next((file for file in found if file.is_file()), None)
    if where is None:
        raise NotApplicableError(
            "the comparison", f"robot '{name}'", "pip install example-robot-data"
        )
    model = pin.buildModelFromUrdf(str(where))
    if locked:
        joints = [model.getJointId(joint) for joint in locked]
        model = pin.buildReducedModel(model, joints, pin.neutral(model))
    return pin, model
