"""Every quantity as a function of flat lists of numbers: the meeting of a model and an algorithm.

A function takes the numbers of one state and returns the numbers of the result, row by row.  It
runs on whatever numbers it is given; nothing here knows about arrays.
"""

from sixfold.evaluate.scalar_functions.derivatives import (
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from sixfold.evaluate.scalar_functions.dynamics import (
    METHODS,
    bias_force,
    center_of_mass,
    centroidal_momentum,
    constraint_forces,
    coriolis_matrix,
    external_forces,
    forward_dynamics,
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

__all__ = [
    "METHODS",
    "bias_force",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "center_of_mass",
    "centroidal_momentum",
    "constraint_forces",
    "coriolis_matrix",
    "difference",
    "express",
    "external_forces",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_pose",
    "frame_velocity",
    "gravity_force",
    "integrate",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_mass_matrix",
    "jacobian",
    "jacobian_bias",
    "joint_wrenches",
    "kinetic_energy",
    "mass_matrix",
    "momentum",
    "page",
    "pivots",
    "point_force",
    "position_rate",
    "potential_energy",
    "reduced_mass_matrix",
]
