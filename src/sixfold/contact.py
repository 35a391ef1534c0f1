"""Contact: the ground and what may touch it, contact forces, impacts."""

from sixfold.model.geometry import ImpactPoint
from sixfold.quantities.impacts import delassus_matrix, impact
from sixfold.simulation.contact.ground import Ground
from sixfold.simulation.contact.scene import ContactForces, contact_forces
from sixfold.simulation.contact.shapes import ContactCapsule, ContactPair, ContactPoint, JointLaw

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
