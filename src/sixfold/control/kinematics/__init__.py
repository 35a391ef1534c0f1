"""Inverse kinematics: configurations and velocities that put frames where they should be."""

from sixfold.control.kinematics import targets
from sixfold.control.kinematics.all_solutions import all_solutions
from sixfold.control.kinematics.differential import differential_ik
from sixfold.control.kinematics.solve import InverseKinematics, inverse_kinematics

__all__ = ["InverseKinematics", "all_solutions", "differential_ik", "inverse_kinematics", "targets"]
