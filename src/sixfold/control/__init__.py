"""Controllers, linearisation, regulators, inverse kinematics, optimal and sampling control."""

from sixfold.control import controllers, targets
from sixfold.control.ik import InverseKinematics, all_solutions, differential_ik, inverse_kinematics
from sixfold.control.linearize import Linearization, linearize
from sixfold.control.lqr import LQR, TVLQR, lqr, tvlqr
from sixfold.control.plan import plan_trajectory
from sixfold.control.sampling import MPPI, CrossEntropy
from sixfold.control.trajectory_optimization import OptimalControl, optimal_control

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
