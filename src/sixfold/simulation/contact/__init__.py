"""The ground and what may touch it: public descriptions, and contact forces."""

from sixfold.simulation.contact.ground import Ground
from sixfold.simulation.contact.scene import ContactForces, contact_forces, scene_of
from sixfold.simulation.contact.shapes import ContactCapsule, ContactPair, ContactPoint, JointLaw

__all__ = [
    "ContactCapsule",
    "ContactForces",
    "ContactPair",
    "ContactPoint",
    "Ground",
    "JointLaw",
    "contact_forces",
    "scene_of",
]
