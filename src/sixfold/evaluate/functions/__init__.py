"""The public quantities, one row each: a model and arrays in, an array out.

Every function takes the model first, broadcasts over leading axes, takes `out=`, and names the
argument when a shape is wrong.  `q` is (..., nq); `v`, `a` and `tau` are (..., nv); `f_ext` is
(..., nb, 6).  Float64 and float32 arrays run as machine code, compiled once for each model;
`backend="numpy"` evaluates the same page step by step in NumPy instead, as all other kinds of
numbers do.
"""

from sixfold.evaluate.functions.dynamics import (
    bias_force,
    center_of_mass,
    centroidal_momentum,
    constraint_forces,
    coriolis_matrix,
    forward_dynamics,
    gravity_force,
    inverse_dynamics,
    inverse_mass_matrix,
    joint_wrenches,
    kinetic_energy,
    mass_matrix,
    momentum,
    potential_energy,
)
from sixfold.evaluate.functions.kinematics import (
    body_accelerations,
    body_poses,
    body_velocities,
    difference,
    frame_pose,
    frame_velocity,
    integrate,
    jacobian,
    jacobian_bias,
    point_force,
    position_rate,
)

__all__ = [
    "bias_force",
    "body_accelerations",
    "body_poses",
    "body_velocities",
    "center_of_mass",
    "centroidal_momentum",
    "constraint_forces",
    "coriolis_matrix",
    "difference",
    "forward_dynamics",
    "frame_pose",
    "frame_velocity",
    "gravity_force",
    "integrate",
    "inverse_dynamics",
    "inverse_mass_matrix",
    "jacobian",
    "jacobian_bias",
    "joint_wrenches",
    "kinetic_energy",
    "mass_matrix",
    "momentum",
    "point_force",
    "position_rate",
    "potential_energy",
]
