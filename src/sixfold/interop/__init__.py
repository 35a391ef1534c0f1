"""The same robot in Pinocchio and MuJoCo: models, states, and how far results differ."""

from sixfold.interop.compare import Comparison, Difference, compare_with
from sixfold.interop.coordinates import Converter, convert
from sixfold.interop.mujoco import from_mujoco, to_mujoco
from sixfold.interop.pinocchio import from_pinocchio, pinocchio_constraints, to_pinocchio

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
