"""Robots of the package example-robot-data, read through Pinocchio where both are installed."""

from __future__ import annotations

from typing import Any

from sixfold.errors import NotApplicableError, UnknownNameError
from sixfold.formats import bundled
from sixfold.interop.pinocchio import pinocchio_package

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
    pin = pinocchio_package()
    path, locked = FILES[name]
    folder = bundled.folder()
    if folder is None or not (folder / path).is_file():
        raise NotApplicableError(
            "the comparison", f"robot '{name}'", "pip install example-robot-data"
        )
    model = pin.buildModelFromUrdf(str(folder / path))
    if locked:
        joints = [model.getJointId(joint) for joint in locked]
        model = pin.buildReducedModel(model, joints, pin.neutral(model))
    return pin, model
