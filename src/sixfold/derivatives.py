"""Derivatives of dynamics, kinematics, momenta and energies, exact and along motion subspaces.

Derivatives with respect to q are along the motion subspaces of the joints, so they have nv columns
for every joint type. They are compiled and batched like the functions themselves.
"""

from sixfold.quantities.derivatives import (
    forward_dynamics_derivatives,
    forward_dynamics_second_derivatives,
    inverse_dynamics_derivatives,
    inverse_dynamics_second_derivatives,
)
from sixfold.quantities.hybrid import hybrid_dynamics_derivatives
from sixfold.quantities.kinematic_derivatives import (
    centroidal_momentum_derivatives,
    difference_derivatives,
    frame_velocity_derivatives,
    integrate_derivatives,
    jacobian_derivatives,
    kinetic_energy_derivatives,
    potential_energy_derivatives,
)

__all__ = [
    "centroidal_momentum_derivatives",
    "difference_derivatives",
    "forward_dynamics_derivatives",
    "forward_dynamics_second_derivatives",
    "frame_velocity_derivatives",
    "hybrid_dynamics_derivatives",
    "integrate_derivatives",
    "inverse_dynamics_derivatives",
    "inverse_dynamics_second_derivatives",
    "jacobian_derivatives",
    "kinetic_energy_derivatives",
    "potential_energy_derivatives",
]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
