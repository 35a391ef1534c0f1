"""Controllers, linearisation, regulators, inverse kinematics, optimal and sampling control."""

from sixfold.control import controllers
from sixfold.control.kinematics import (
    InverseKinematics,
    all_solutions,
    differential_ik,
    inverse_kinematics,
    targets,
)
from sixfold.control.linearize import Linearization, linearize
from sixfold.control.lqr import LQR, lqr
from sixfold.control.optimal import TVLQR, OptimalControl, optimal_control, tvlqr
from sixfold.control.planning import plan_trajectory
from sixfold.control.sampling import MPPI, CrossEntropy

__all__ = [
    "LQR",
    "MPPI",
    "TVLQR",
    "CrossEntropy",
    "InverseKinematics",
    "Linearization",
    "OptimalControl",
    "all_solutions",
    "controllers",
    "differential_ik",
    "inverse_kinematics",
    "linearize",
    "lqr",
    "optimal_control",
    "plan_trajectory",
    "targets",
    "tvlqr",
]
