"""Joints: what one has to have, the standard ones, and those made of the user's own code."""

from sixfold.model.joint.joint import Joint, JointState

__all__ = ["Joint", "JointState"]
