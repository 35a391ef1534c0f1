"""The same robot in Pinocchio and MuJoCo: models, states, and how far results differ."""

from sixfold.interop.compare import Comparison, compare_with
from sixfold.interop.constraints import pinocchio_constraints
from sixfold.interop.converter import Converter
from sixfold.interop.differences import Difference
from sixfold.interop.matching import convert
from sixfold.interop.mujoco import from_mujoco
from sixfold.interop.pinocchio import from_pinocchio
from sixfold.interop.to_mujoco import to_mujoco
from sixfold.interop.to_pinocchio import to_pinocchio

__all__ = [
    "Comparison",
    "Converter",
    "Difference",
    "compare_with",
    "convert",
    "from_mujoco",
    "from_pinocchio",
    "pinocchio_constraints",
    "to_mujoco",
    "to_pinocchio",
]
