"""The ground and what may touch it: public descriptions, and contact forces."""

from sixfold.contact.ground import Ground
from sixfold.contact.scene import ContactForces, contact_forces, scene_of
from sixfold.contact.shapes import ContactCapsule, ContactPair, ContactPoint, JointLaw

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
