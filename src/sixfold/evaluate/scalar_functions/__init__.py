"""Every quantity as a function of flat lists of numbers: the meeting of a model and an algorithm.

A function takes the numbers of one state and returns the numbers of the result, row by row.  It
runs on whatever numbers it is given; nothing here knows about arrays.  Those that few programs need
are imported when they are first asked for.
"""

from typing import TYPE_CHECKING

from sixfold.evaluate.scalar_functions.dynamics import (
    bias_force,
    center_of_mass,
    centroidal_momentum,
    constraint_forces,
    coriolis_matrix,
    external_forces,
    gravity_force,
    inverse_dynamics,
    inverse_mass_matrix,
    joint_wrenches,
    kinetic_energy,
    mass_matrix,
    momentum,
    pivots,
    potential_energy,
    reduced_mass_matrix,
)
from sixfold.evaluate.scalar_functions.forward import METHODS, branch_inertias, forward_dynamics
from sixfold.evaluate.scalar_functions.kinematics import (
    body_accelerations,
    body_poses,
    body_velocities,
    difference,
    express,
    frame_pose,
    frame_velocity,
    integrate,
    jacobian,
    jacobian_bias,
    point_force,
    position_rate,
)
from sixfold.evaluate.scalar_functions.page import page
from sixfold.optional import later

if TYPE_CHECKING:
    from sixfold.evaluate.scalar_functions.constraints import (
        constrained_dynamics,
        constraint_bias,
        constraint_gaps,
        constraint_jacobian,
        constraint_wrenches,
        project,
        project_velocity,
    )
    from sixfold.evaluate.scalar_functions.contact import (
        contact_dynamics,
        contact_forces,
        flat_response,
        inverse_masses,
    )
    from sixfold.evaluate.scalar_functions.derivatives import (
        forward_dynamics_derivatives,
        forward_second_derivatives,
        inverse_dynamics_derivatives,
        second_derivatives,
    )
    from sixfold.evaluate.scalar_functions.impacts import delassus_matrix, impact
    from sixfold.evaluate.scalar_functions.kinematic_derivatives import (
        center_of_mass_jacobian,
        centroidal_momentum_bias,
        centroidal_momentum_derivatives,
        centroidal_momentum_matrix,
        difference_derivatives,
        frame_velocity_derivatives,
        integrate_derivatives,
        jacobian_derivatives,
        kinetic_energy_derivatives,
        potential_energy_derivatives,
    )
    from sixfold.evaluate.scalar_functions.regressors import (
        energy_regressor,
        joint_regressor,
        regressor,
    )

_LATER = {
    "constraints": (
        "constrained_dynamics",
        "constraint_bias",
        "constraint_gaps",
        "constraint_jacobian",
        "constraint_wrenches",
        "project",
        "project_velocity",
    ),
    "contact": (
        "contact_dynamics",
        "contact_forces",
        "flat_response",
        "inverse_masses",
    ),
    "derivatives": (
        "forward_dynamics_derivatives",
        "forward_second_derivatives",
        "inverse_dynamics_derivatives",
        "second_derivatives",
    ),
    "impacts": (
        "delassus_matrix",
        "impact",
    ),
    "kinematic_derivatives": (
        "center_of_mass_jacobian",
        "centroidal_momentum_bias",
        "centroidal_momentum_derivatives",
        "centroidal_momentum_matrix",
        "difference_derivatives",
        "frame_velocity_derivatives",
        "integrate_derivatives",
        "jacobian_derivatives",
        "kinetic_energy_derivatives",
        "potential_energy_derivatives",
    ),
    "regressors": ("energy_regressor", "joint_regressor", "regressor"),
}

if not TYPE_CHECKING:  # static tools know all names, and find those that are spelled wrong
    __getattr__ = later(__name__, _LATER)


__all__ = [
    "METHODS",
    "bias_force",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "branch_inertias",
    "center_of_mass",
    "center_of_mass_jacobian",
    "centroidal_momentum",
    "centroidal_momentum_bias",
    "centroidal_momentum_derivatives",
    "centroidal_momentum_matrix",
    "constrained_dynamics",
    "constraint_bias",
    "constraint_forces",
    "constraint_gaps",
    "constraint_jacobian",
    "constraint_wrenches",
    "contact_dynamics",
    "contact_forces",
    "coriolis_matrix",
    "delassus_matrix",
    "difference",
    "difference_derivatives",
    "energy_regressor",
    "express",
    "external_forces",
    "flat_response",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_second_derivatives",
    "frame_pose",
    "frame_velocity",
    "frame_velocity_derivatives",
    "gravity_force",
    "impact",
    "integrate",
    "integrate_derivatives",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_mass_matrix",
    "inverse_masses",
    "jacobian",
    "jacobian_bias",
    "jacobian_derivatives",
    "joint_regressor",
    "joint_wrenches",
    "kinetic_energy",
    "kinetic_energy_derivatives",
    "mass_matrix",
    "momentum",
    "page",
    "pivots",
    "point_force",
    "position_rate",
    "potential_energy",
    "potential_energy_derivatives",
    "project",
    "project_velocity",
    "reduced_mass_matrix",
    "regressor",
    "second_derivatives",
]
