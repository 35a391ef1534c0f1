"""Motions through waypoints."""

from sixfold.control.planning.plan import plan_trajectory

__all__ = ["plan_trajectory"]
