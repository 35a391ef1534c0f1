"""Controllers, linearisation, regulators, inverse kinematics, optimal and sampling control."""

from sixfold.control.controllers import (
    computed_torque,
    disturbance_observer,
    filtered_velocity,
    gravity_compensation,
    minimum_jerk,
    operational_space,
    pd,
    pid,
    saturate,
)
from sixfold.control.ik import InverseKinematics, all_solutions, differential_ik
from sixfold.control.linearize import Linearization, linearize
from sixfold.control.lqr import LQR as LQR
from sixfold.control.lqr import TVLQR as TVLQR
from sixfold.control.lqr import lqr, tvlqr
from sixfold.control.plan import plan_trajectory
from sixfold.control.sampling import MPPI, CrossEntropy
from sixfold.control.trajectory_optimization import OptimalControl, optimal_control
from sixfold.quantities.operational_space import (
    dynamically_consistent_inverse,
    null_space_projector,
    operational_space_dynamics,
    operational_space_inertia,
    operational_space_mobility,
)

__all__ = [
    "MPPI",
    "CrossEntropy",
    "InverseKinematics",
    "Linearization",
    "OptimalControl",
    "all_solutions",
    "computed_torque",
    "differential_ik",
    "disturbance_observer",
    "dynamically_consistent_inverse",
    "filtered_velocity",
    "gravity_compensation",
    "linearize",
    "lqr",
    "minimum_jerk",
    "null_space_projector",
    "operational_space",
    "operational_space_dynamics",
    "operational_space_inertia",
    "operational_space_mobility",
    "optimal_control",
    "pd",
    "pid",
    "plan_trajectory",
    "saturate",
    "tvlqr",
]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
