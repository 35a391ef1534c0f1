"""Contact: the ground and what may touch it, contact forces, impacts."""

from sixfold.model.geometry import ImpactPoint
from sixfold.quantities.impacts import delassus_matrix, impact
from sixfold.simulation.contact import (
    ContactCapsule,
    ContactForces,
    ContactPair,
    ContactPoint,
    Ground,
    JointLaw,
    contact_forces,
)

__all__ = [
    "ContactCapsule",
    "ContactForces",
    "ContactPair",
    "ContactPoint",
    "Ground",
    "ImpactPoint",
    "JointLaw",
    "contact_forces",
    "delassus_matrix",
    "impact",
]


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
